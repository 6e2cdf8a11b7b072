// Package cancha is the module's root: it holds the sources that the program is built from, so that the program can have
// the engine that loads compiled cells built on its user's machine (kernel/workspace). It ends at the tree of files.
package cancha

import (
	"embed"
	"io/fs"
)

// The patterns say "every Go file but tests", which a pattern cannot say in one: the names that do not end in t, those that end
// in t and not in st, and so on down to _test. One that matches nothing does not compile, so a room has those that it needs;
// the test beside this file names what is missing or too much.
//
//go:embed go.mod go.sum embed.go LICENSE
//go:embed cmd/cancha/*[^t].go cmd/cancha/*[^s]t.go
//go:embed cmd/internal/library/*[^t].go
//go:embed cmd/internal/own/*[^t].go
//go:embed internal/blas/*[^t].go internal/blas/inner_amd64.s
//go:embed internal/callback/*[^t].go
//go:embed internal/cellio/*[^t].go internal/cellio/*[^s]t.go internal/cellio/labels.s
//go:embed internal/exactjson/*[^t].go
//go:embed internal/exithook/*[^t].go
//go:embed internal/flock/*[^t].go
//go:embed internal/jsontext/*[^t].go internal/jsontext/*[^s]t.go
//go:embed internal/lastwill/*[^t].go
//go:embed internal/master/*[^t].go
//go:embed internal/running/*[^t].go
//go:embed internal/secret/*[^s]t.go
//go:embed internal/stack/*[^t].go internal/stack/used_amd64.s internal/stack/used_arm64.s
//go:embed internal/symbols/*[^t].go internal/symbols/*[^s]t.go
//go:embed internal/symbols/foreign/*[^t].go internal/symbols/foreign/*[^s]t.go internal/symbols/foreign/docs.zip internal/symbols/foreign/exports.zip
//go:embed internal/symbols/listing/*[^t].go
//go:embed internal/symbols/std/*[^t].go internal/symbols/std/*[^s]t.go internal/symbols/std/*[^e]st.go internal/symbols/std/*[^_]test.go internal/symbols/std/docs.zip internal/symbols/std/exports.zip internal/symbols/std/exports_darwin_amd64.zip internal/symbols/std/exports_darwin_arm64.zip internal/symbols/std/exports_linux_amd64.zip internal/symbols/std/exports_linux_arm64.zip
//go:embed internal/symbols/wing/*[^t].go internal/symbols/wing/*[^s]t.go internal/symbols/wing/*[^e]st.go internal/symbols/wing/*[^t]est.go internal/symbols/wing/docs.zip internal/symbols/wing/exports.zip
//go:embed internal/webpage/*[^t].go internal/webpage/palette.css
//go:embed jobs/*[^t].go jobs/client.go
//go:embed jobs/folder/*[^t].go
//go:embed jobs/internal/disk/*[^t].go
//go:embed jobs/job/*[^t].go
//go:embed jobs/local/*[^t].go jobs/local/commit.go
//go:embed jobs/operation/*[^t].go jobs/operation/forest.go
//go:embed jobs/placement/*[^t].go jobs/placement/cost.go
//go:embed jobs/queue/*[^t].go
//go:embed jobs/rabbitmq/*[^t].go
//go:embed jobs/report/*[^t].go jobs/report/text.go
//go:embed jobs/scheduler/*[^t].go jobs/scheduler/accept.go jobs/scheduler/report.go
//go:embed jobs/server/*[^t].go jobs/server/page.html jobs/server/page.css jobs/server/page.js
//go:embed jobs/store/*[^t].go
//go:embed jobs/worker/*[^t].go jobs/worker/beat.go jobs/worker/result.go jobs/worker/restart.go
//go:embed jupyter/kernelspec/*[^t].go jupyter/kernelspec/logos
//go:embed jupyter/headless/*[^t].go
//go:embed jupyter/notebook/*[^t].go
//go:embed kernel/*[^t].go kernel/*[^s]t.go kernel/*[^t]est.go
//go:embed kernel/cell/*[^t].go
//go:embed kernel/client/*[^t].go kernel/client/*[^s]t.go kernel/client/*[^t]est.go
//go:embed kernel/engine/*[^t].go kernel/engine/*[^s]t.go
//go:embed kernel/eval/*[^t].go kernel/eval/*[^s]t.go
//go:embed kernel/eval/check/*[^t].go kernel/eval/check/*[^s]t.go
//go:embed kernel/eval/check/embed/*[^t].go kernel/eval/check/vet/*[^s]t.go
//go:embed kernel/eval/interp/*[^t].go
//go:embed kernel/eval/lower/*[^t].go kernel/eval/lower/*[^s]t.go kernel/eval/lower/overlay
//go:embed kernel/eval/magic/*[^t].go kernel/eval/magic/*[^e]st.go
//go:embed kernel/eval/native/*[^t].go kernel/eval/native/*[^s]t.go
//go:embed kernel/eval/native/support/*[^t].go kernel/eval/native/support/*[^s]t.go
//go:embed kernel/eval/primitive/*[^t].go kernel/eval/primitive/*[^s]t.go
//go:embed kernel/eval/stdin/*[^t].go
//go:embed kernel/eval/tester/*[^t].go
//go:embed kernel/recursion/*[^t].go
//go:embed kernel/wire/*[^t].go
//go:embed kernel/workspace/*[^t].go kernel/workspace/*[^t]est.go
//go:embed kernel/zmq/*[^t].go
//go:embed kernel/zmq/curve/*[^t].go kernel/zmq/curve/client.go
//go:embed ml/*[^t].go ml/*[^s]t.go
//go:embed ml/forest/*[^t].go ml/forest/*[^s]t.go ml/forest/*[^t]est.go ml/forest/gpu.cu ml/forest/gpu.ptx ml/forest/walk_amd64.s
//go:embed ml/calibrate/*[^t].go ml/inspect/*[^t].go ml/onnx/*[^t].go
//go:embed ml/linear/*[^t].go
//go:embed ml/lwp/*[^t].go ml/lwp/*[^s]t.go ml/lwp/gpu.cu ml/lwp/gpu.ptx
//go:embed ml/metric/*[^t].go
//go:embed ml/modelfile/*[^t].go
//go:embed ml/nn/*[^t].go ml/nn/*[^s]t.go
//go:embed ml/tree/*[^t].go
//go:embed runtime/chart/*[^t].go runtime/chart/*[^s]t.go
//go:embed runtime/display/*[^t].go runtime/display/*[^s]t.go
//go:embed runtime/embedded/*[^t].go
//go:embed runtime/gpu/*[^t].go runtime/gpu/*[^e]st.go
//go:embed runtime/gpu/compare/*[^t].go runtime/gpu/compare/*[^s]t.go
//go:embed runtime/gpu/cuda/*[^t].go runtime/gpu/cuda/*[^s]t.go runtime/gpu/cuda/kernels.ptx runtime/gpu/cuda/kernels.cu runtime/gpu/cuda/func.cuh
//go:embed runtime/gpu/cuda/shim/*[^t].go runtime/gpu/cuda/shim/*.c runtime/gpu/cuda/shim/*.h runtime/gpu/cuda/shim/*.S
//go:embed runtime/gpu/cuda/toolkit/*[^s]t.go
//go:embed runtime/gpu/driver/*[^t].go
//go:embed runtime/gpu/host/*[^t].go
//go:embed runtime/grid/*[^t].go
//go:embed runtime/live/*[^t].go
//go:embed runtime/live/comm/*[^t].go
//go:embed runtime/live/widget/*[^t].go runtime/live/widget/*[^s]t.go
//go:embed runtime/monitor/*[^t].go runtime/monitor/page.html runtime/monitor/page.css runtime/monitor/page.js
//go:embed runtime/session/*[^t].go runtime/session/*[^s]t.go
//go:embed runtime/session/conf/*[^t].go
//go:embed runtime/table/*[^t].go
//go:embed spark/*[^t].go
//go:embed spark/internal/columns/*[^t].go
//go:embed spark/internal/compile/*[^t].go spark/internal/compile/*[^s]t.go
//go:embed spark/internal/connect/*[^t].go spark/internal/connect/*[^s]t.go
//go:embed spark/internal/protocol/*[^t].go
//go:embed spark/internal/trees/*[^t].go
//go:embed spark/mllib/*[^t].go
//go:embed spark/mllib/internal/parquet/*[^t].go spark/mllib/internal/parquet/*[^s]t.go
//go:embed statsbomb/*[^t].go statsbomb/*[^s]t.go
//go:embed statsbomb/feed/*[^t].go
//go:embed statsbomb/fetch/*[^t].go
//go:embed statsbomb/replay/*[^t].go
//go:embed statsbomb/simulate/*[^t].go statsbomb/simulate/*[^s]t.go
//go:embed statsbomb/streaming/*[^t].go
//go:embed stream/*[^t].go stream/*[^s]t.go
//go:embed stream/avro/*[^t].go stream/avro/*[^s]t.go
//go:embed stream/broker/*[^t].go
//go:embed stream/broker/internal/disk/*[^t].go
//go:embed stream/broker/internal/guard/*[^t].go
//go:embed stream/checkpoint/*[^t].go stream/checkpoint/*[^s]t.go
//go:embed stream/file/*[^t].go stream/file/*[^s]t.go
//go:embed stream/internal/aggregate/*[^t].go
//go:embed stream/internal/changelog/*[^t].go
//go:embed stream/internal/decode/*[^t].go stream/internal/decode/*[^s]t.go stream/internal/decode/run_amd64.s
//go:embed stream/internal/eval/*[^t].go
//go:embed stream/internal/files/*[^t].go
//go:embed stream/internal/flow/*[^t].go stream/internal/flow/*[^s]t.go
//go:embed stream/internal/lineage/*[^t].go
//go:embed stream/internal/value/*[^t].go
//go:embed stream/kafka/*[^t].go stream/kafka/*[^s]t.go
//go:embed stream/parquet/*[^t].go stream/parquet/*[^s]t.go
//go:embed stream/plan/*[^t].go
//go:embed stream/postgres/*[^t].go stream/postgres/*[^s]t.go
//go:embed stream/shop/*[^t].go
var sources embed.FS

// Sources returns the tree, with go.mod at its root: what building ./cmd/cancha takes on every platform, and nothing else.
func Sources() fs.FS { return sources }

// OnImport lists the rooms that bring large libraries. No engine is made of them: they are compiled beside one when a cell imports them.
// internal/symbols leaves them out, and a test of cmd/cancha compares both.
func OnImport() []string {
	return []string{"cancha/spark", "cancha/spark/mllib", "cancha/stream/avro", "cancha/stream/parquet", "cancha/stream/postgres"}
}
