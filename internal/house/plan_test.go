package house

// The plan is data. A pattern is a folder of this module ("kernel/zmq"), a folder with all below it ("kernel/..."), or,
// among imports, an import path of others in the same two forms. Test files are free unless a rule says otherwise: a
// test may need the neighbour that its room must not know.

// floor says what the files of some rooms must not import.
type floor struct {
	rooms  []string
	except []string // files or rooms that the rule spares
	forbid []string
	reason string
}

func floors() []floor {
	library := []string{"runtime/...", "stream/...", "ml/...", "statsbomb/...", "spark/...", "jobs/..."}
	return []floor{
		{
			rooms: []string{"kernel/..."}, forbid: library,
			reason: "the kernel wing knows nothing of what cells import: the two wings meet in internal/cellio",
		},
		{
			rooms: library, forbid: []string{"kernel/..."},
			reason: "a library that cells import runs without a kernel: the two wings meet in internal/cellio",
		},
		{
			rooms: []string{"kernel"}, forbid: []string{"kernel/zmq", "kernel/engine/...", "kernel/eval/...", "kernel/client"},
			reason: "siblings meet in cmd: the types in their signatures live in wire and cell",
		},
		{
			rooms: []string{"kernel/zmq/..."}, forbid: []string{"kernel", "kernel/engine/...", "kernel/eval/...", "kernel/client"},
			reason: "siblings meet in cmd: the types in their signatures live in wire and cell",
		},
		{
			rooms: []string{"kernel/zmq/curve"}, forbid: []string{"kernel/..."},
			reason: "a handshake is arithmetic: who has no socket can try each of its steps",
		},
		{
			rooms: []string{"kernel/engine/..."}, forbid: []string{"kernel", "kernel/zmq", "kernel/eval/...", "kernel/client"},
			reason: "siblings meet in cmd: the types in their signatures live in wire and cell",
		},
		{
			rooms: []string{"kernel/eval/..."}, forbid: []string{"kernel", "kernel/zmq", "kernel/engine/...", "kernel/client"},
			reason: "siblings meet in cmd: the types in their signatures live in wire and cell",
		},
		{
			rooms: []string{"kernel/workspace"}, forbid: []string{"kernel", "kernel/zmq", "kernel/engine/...", "kernel/eval/...", "kernel/client"},
			reason: "siblings meet in cmd: a workspace is built from a tree of files and a list of packages, whatever they are",
		},
		{
			rooms:  []string{"kernel/...", "runtime/...", "stream/...", "statsbomb/...", "ml/...", "jobs/...", "jupyter/...", "internal/...", "bench/..."},
			forbid: []string{"."},
			reason: "the program's own sources are the program's business",
		},
		{
			rooms: []string{"kernel/client"}, forbid: []string{"kernel", "kernel/engine/...", "kernel/eval/..."},
			reason: "a client knows a kernel by its protocol only, or it could not speak to another one",
		},
		{
			rooms: []string{"stream/..."}, forbid: []string{"statsbomb/...", "ml/..."},
			reason: "streams serve any topic: what is football stands above them and uses them",
		},
		{
			rooms:  []string{"kernel/...", "runtime/...", "stream/...", "statsbomb/...", "ml/...", "cmd/...", "internal/..."},
			except: []string{"stream/parquet", "stream/postgres", "stream/avro"}, forbid: []string{"stream/parquet", "stream/postgres", "stream/avro"},
			reason: "rooms with large libraries are compiled for whom they serve, and are no part of the program built at first",
		},
		{
			rooms: []string{"kernel/...", "runtime/...", "stream/...", "statsbomb/...", "ml/...", "cmd/...", "internal/..."}, forbid: []string{"spark/..."},
			reason: "a cluster is reached from above: what runs here neither needs Spark's client nor is built with it",
		},
		{
			rooms:  []string{"jobs/queue", "jobs/local/...", "jobs/rabbitmq/...", "jobs/internal/disk"},
			forbid: []string{"jobs", "jobs/job", "jobs/placement", "jobs/store", "jobs/scheduler", "jobs/worker", "jobs/server", "runtime/...", "stream/...", "statsbomb/...", "ml/...", "spark/..."},
			reason: "brokers carry messages: what a job is, and who runs it, stands above them",
		},
		{
			rooms:  []string{"jobs/job", "jobs/placement/...", "jobs/store", "jobs/scheduler", "jobs/worker"},
			forbid: []string{"jobs", "jobs/local", "jobs/rabbitmq", "jobs/server", "jobs/operation", "runtime/...", "stream/...", "statsbomb/...", "ml/...", "spark/..."},
			reason: "jobs are whatever is asked for, on any broker: what they compute, and where they are carried, is brought by who puts them together",
		},
		{
			rooms: []string{"runtime/monitor"}, forbid: []string{"stream/...", "ml/...", "statsbomb/...", "runtime/gpu/..."},
			reason: "the page knows what runs by the list in internal/running alone",
		},
		{
			rooms: []string{"ml/..."}, forbid: []string{"stream/...", "runtime/display", "runtime/chart"},
			reason: "learning takes slices and iterators: where rows come from and how results look is others' business",
		},
		{
			rooms: []string{"ml/..."}, except: []string{"ml/nn", "ml/forest/gpu.go", "ml/forest/gpu_grow.go", "ml/forest/gpu_counter.go", "ml/forest/config.go", "ml/lwp/gpu.go"},
			forbid: []string{"runtime/gpu/..."},
			reason: "only the networks, the forest's files that say so and one of the win probability reach the GPU",
		},
		{
			rooms:  []string{"cmd/...", "jupyter/...", "kernel/...", "runtime/...", "stream/...", "statsbomb/...", "ml/...", "jobs/...", "bench/...", "internal/cellio"},
			except: []string{"cmd/cancha"}, forbid: []string{"internal/symbols/..."},
			reason: "the tables reach every room of the library wing: cmd hands them to the evaluator",
		},
		{
			rooms: []string{"jupyter/..."}, forbid: append([]string{"kernel", "kernel/zmq", "kernel/engine/...", "kernel/eval/..."}, library...),
			reason: "what belongs to Jupyter's side knows a kernel as any client does",
		},
		{
			rooms:  []string{"kernel/...", "runtime/...", "stream/...", "statsbomb/...", "ml/...", "jobs/...", "jupyter/...", "internal/..."},
			forbid: []string{"cmd/..."},
			reason: "the program is on top",
		},
		{
			rooms: []string{"cmd/bootstrap", "cmd/internal/own"}, forbid: append([]string{"kernel", "kernel/zmq", "kernel/engine/...", "kernel/eval/..."}, library...),
			reason: "it is compiled before anything else on a fresh machine, which waits for it",
		},
		{
			rooms: []string{"spark/mllib/...", "spark/internal/trees"}, forbid: []string{"kernel/...", "stream/...", "statsbomb/...", "runtime/...", "spark", "spark/internal/columns", "spark/internal/compile",
				"spark/internal/connect/...", "spark/internal/protocol"},
			reason: "Spark's models are files: who reads and writes them needs no cluster, and no stream",
		},
		{
			rooms: []string{"spark/mllib/internal/parquet"}, forbid: []string{"spark/mllib", "ml/..."},
			reason: "a file of columns knows nothing of models",
		},
	}
}

// austere lists rooms that import the standard library and these rooms only.
func austere() []door {
	return []door{
		{of: []string{"kernel/wire"}, reason: "the messages are the floor on which the kernel wing stands"},
		{of: []string{"kernel/cell"}, reason: "the seam between kernel and engine is words only"},
		{of: []string{"jobs/queue"}, reason: "a seam is words only: whoever fills it or uses it brings the rest"},
		{of: []string{"internal/jsontext"}, reason: "a scanner is the floor of all that reads JSON"},
		{of: []string{"internal/webpage"}, reason: "two wings' pages stand on it, and it knows neither"},
		{of: []string{"internal/cellio"}, reason: "the hall is the floor on which both wings stand"},
		{of: []string{"internal/master"}, rooms: []string{"internal/cellio"}, reason: "settings and streams read a master alike, and neither knows the other"},
		{of: []string{"internal/running"}, rooms: []string{"internal/cellio"}, reason: "whatever runs is listed here, so the list knows nothing of what it is"},
		{of: []string{"runtime/display"}, rooms: []string{"internal/cellio"}, reason: "a cell shows a value with nothing but the hall"},
		{of: []string{"internal/symbols/listing"}, reason: "the shape of the tables is compiled before all tables"},
		{of: []string{"kernel/workspace"}, rooms: []string{"golang.org/x/mod/..."}, reason: "it runs the go command on a tree of files, and knows neither"},
		{of: []string{"jupyter/kernelspec/..."}, reason: "installing is copying files"},
	}
}

// door says which rooms may import what comes from outside; tests says whether test files may too, in any room.
type door struct {
	of     []string // import paths of others; for austere, the rooms
	rooms  []string
	tests  bool
	reason string
}

func doors() []door {
	return []door{
		{
			of: []string{"github.com/go-zeromq/..."}, rooms: []string{"kernel/zmq"},
			reason: "its own socket types die of nine bytes on a port: only the room that guards against it uses the library",
		},
		{
			of: []string{"golang.org/x/crypto/..."}, rooms: []string{"kernel/zmq/curve"},
			reason: "one room knows how boxes are sealed, and seals nothing but frames",
		},
		{
			of: []string{"github.com/traefik/yaegi/..."}, rooms: []string{"kernel/eval/interp", "internal/symbols"},
			reason: "yaegi is given generated code only, and by one room",
		},
		{
			of: []string{"github.com/segmentio/kafka-go/...", "github.com/twmb/franz-go/..."}, rooms: []string{"stream/kafka", "stream/broker/...", "internal/symbols/foreign"},
			tests: true, reason: "the rest of the house knows records and sources, not clients",
		},
		{
			of: []string{"github.com/jackc/pgx/..."}, rooms: []string{"stream/postgres"},
			reason: "PostgreSQL is one room's technique, which is compiled when a cell imports it",
		},
		{
			of: []string{"github.com/parquet-go/..."}, rooms: []string{"stream/parquet", "spark/mllib/save.go"},
			tests: true, reason: "files of columns are written by two rooms, which are compiled when a cell imports them; files of others are never read by it: it trusts what they say",
		},
		{
			of: []string{"github.com/apache/arrow-go/..."}, rooms: []string{"spark/internal/columns"},
			reason: "rows are columns of Go values everywhere else",
		},
		{
			of: []string{"github.com/rabbitmq/amqp091-go/..."}, rooms: []string{"jobs/rabbitmq"},
			reason: "what a broker over a network loses, and how it comes back, is met in one room",
		},
		{
			of: []string{"go.etcd.io/bbolt/..."}, rooms: []string{"jobs/internal/disk"},
			reason: "what a commit that has failed leaves in the file, and how a damaged one is met, is decided in one room",
		},
		{
			of: []string{"github.com/klauspost/compress/..."}, rooms: []string{"stream/file", "spark/mllib/internal/parquet"},
			tests: true, reason: "what is packed is unpacked where files are read",
		},
		{
			of: []string{"github.com/twmb/avro/..."}, rooms: []string{"stream/avro"},
			tests: true, reason: "a program whose records are JSON does not pay for Avro",
		},
		{
			of: []string{"github.com/prometheus/..."}, rooms: []string{"runtime/monitor", "jobs/server"},
			reason: "what runs is counted where it runs, and written for Prometheus where it is asked for",
		},
		{
			of: []string{"gorgonia.org/cu/..."}, rooms: []string{"runtime/gpu/cuda/..."},
			reason: "it ends the process when it finds no driver",
		},
		{
			of: []string{"gorgonia.org/...", "github.com/chewxy/..."}, rooms: []string{"ml/nn", "internal/symbols/foreign", "runtime/gpu/cuda/..."},
			reason: "networks are one room's technique",
		},
		{
			of: []string{"gonum.org/v1/plot/...", "golang.org/x/image/...", "golang.org/x/text/..."}, rooms: []string{"runtime/chart", "internal/symbols/foreign"},
			tests: true, reason: "charts are drawn in one theme",
		},
		{
			of: []string{"gonum.org/v1/gonum/..."}, rooms: []string{"runtime/chart", "runtime/table", "ml/...", "internal/blas", "internal/symbols/foreign"},
			tests: true, reason: "streams and matches need no matrices",
		},
		{
			of: []string{"google.golang.org/protobuf/..."}, rooms: []string{"ml/onnx", "spark/internal/..."},
			tests: true, reason: "a model's foreign format and Spark's protocol are their rooms' technique",
		},
		{
			of: []string{"google.golang.org/grpc/...", "google.golang.org/genproto/..."}, rooms: []string{"spark/internal/connect/..."},
			reason: "what a call may do to a session, and what of it is tried again, is decided in one room",
		},
		{
			of: []string{"github.com/compose-spec/..."}, reason: "the compose file is read by its test", tests: true,
		},
		{
			of: []string{"k8s.io/...", "sigs.k8s.io/...", "github.com/prometheus-operator/..."}, rooms: []string{"deploy/kubernetes"}, tests: true,
			reason: "manifests are read by their test, in a module of its own: these libraries take minutes to compile",
		},
		{
			of:     []string{"golang.org/x/sys/...", "golang.org/x/sync/..."},
			rooms:  []string{"kernel/...", "runtime/...", "stream/...", "statsbomb/...", "ml/...", "spark", "jobs/...", "cmd/...", "bench/...", "internal/blas", "internal/cellio"},
			reason: "they are the standard library's other half; the rooms that are data have no use for them",
		},
		{
			of: []string{"golang.org/x/mod/..."}, rooms: []string{"kernel/workspace", "kernel/eval/check/embed"},
			reason: "how modules are resolved is decided in one room, and another asks which files one may have",
		},
		{
			of: []string{"golang.org/x/tools/..."}, rooms: []string{"kernel/eval/check/vet"},
			reason: "one room knows what the analyses of go vet need, and hands out places and texts",
		},
		{
			of: []string{"unsafe"}, rooms: []string{"runtime/gpu/cuda/...", "runtime/embedded/embedded.go", "stream/internal/decode/json.go", "ml/forest/file.go", "kernel/eval/native/...", "kernel/eval/check/methodset.go", "internal/cellio/run.go", "internal/cellio/encode.go", "internal/cellio/journal.go",
				"internal/cellio/watch_linux.go", "internal/cellio/words.go", "internal/exithook", "internal/symbols/...", "spark/internal/protocol/connect.pb.go"},
			tests: true, reason: "memory behind the compiler's back is the device's, the decoder's, the model file's, a plugin's, the list of methods in go/types, a cell's stack, the label that tells whose output it is, a large text on its way to the kernel, the first number of a journal that two processes share, the system's ring of events, the runtime's last words, a hook in package os, embed.FS, and a text that protobuf's generator writes",
		},
		{
			of: []string{"C"}, rooms: []string{"runtime/gpu/cuda/..."},
			reason: "the default build is pure Go",
		},
	}
}

// forbiddenNames are names that say nothing: whatever has no place ends up in such a room.
func forbiddenNames() []string {
	return []string{"base", "common", "helper", "helpers", "misc", "models", "types", "util", "utils"}
}

// linknames lists the files that may reach unexported names of other packages.
func linknames() []exception {
	return []exception{
		{"internal/cellio/run.go", "profiling labels are the one thing that a goroutine inherits, and the runtime tells them to runtime/pprof only"},
		{"internal/cellio/words.go", "a runtime that gives up must not write to a pipe that its own process reads; the hook that it has for that is not exported"},
		{"internal/exithook/exithook.go", "os.Exit in a library that a cell calls must end the cell and not the process, and package os exports no hook"},
	}
}

// exception is a file that may do what others must not.
type exception struct{ file, reason string }
