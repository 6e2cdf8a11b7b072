package simulate

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"reflect"
	"slices"
	"testing"

	"cancha/jobs/placement"
)

var remake = flag.Bool("remake", false, "write testdata/mixed.json anew")

const (
	mixedFile = "testdata/mixed.json"
	mixedSeed = 22
	mixedJobs = 1000
	mixedMade = "made by \"go test ./jobs/placement/internal/simulate -run TestMixedFile -remake\" (mixed_test.go, seed 22), which draws types, sizes and producers, and " +
		"says how; submitted in seconds; measured: seconds of a run on a CPU worker of 2 cores and on an emulated GPU"
)

// recorded is a load as its file has it: the contract's bodies of jobs, when each was submitted, and how long it took.
type recorded struct {
	Made string        `json:"made"`
	Jobs []recordedJob `json:"jobs"`
}

type recordedJob struct {
	ID         string                       `json:"job_id"`
	Type       string                       `json:"job_type"`
	PreferGPU  bool                         `json:"prefer_gpu"`
	Parameters parameters                   `json:"parameters"`
	Submitted  float64                      `json:"submitted"`
	Measured   map[placement.Device]float64 `json:"measured"`
}

type parameters struct {
	Size       float64 `json:"size,omitempty"`
	Input      float64 `json:"input_size,omitempty"`
	Hidden     float64 `json:"hidden_size,omitempty"`
	Output     float64 `json:"output_size,omitempty"`
	Batch      float64 `json:"batch_size,omitempty"`
	Epochs     float64 `json:"epochs,omitempty"`
	Width      float64 `json:"width,omitempty"`
	Height     float64 `json:"height,omitempty"`
	Operation  string  `json:"operation,omitempty"`
	Iterations float64 `json:"iterations,omitempty"`
}

func (r recordedJob) work() placement.Work {
	p := r.Parameters
	switch r.Type {
	case "matrix_multiply":
		return placement.MatrixMultiply(p.Size, p.Size, p.Size)
	case "neural_network":
		return placement.NeuralNetwork(p.Input, p.Hidden, p.Output, p.Batch, p.Epochs)
	case "vector_addition":
		return placement.VectorAddition(p.Size)
	}
	return placement.ImageProcessing(p.Width, p.Height, p.Operation, p.Iterations)
}

func (r recordedJob) job() Job {
	return Job{Submitted: r.Submitted, Seconds: r.Measured, Job: placement.Job{ID: r.ID, Type: r.Type, Work: r.work(), PreferGPU: r.PreferGPU, Priority: 5}}
}

// one draws one of some values.
func one[T any](r *rand.Rand, values ...T) T { return values[r.IntN(len(values))] }

// draw makes a load. Sizes are those of such programs: matrices from 256 to 8192, networks on pictures of 28 × 28 and 32 × 32, vectors that
// fit into caches and such that do not, photographs up to 24 megapixels. Half of the jobs are submitted in three bursts, as notebooks do
// it, the rest within 20 s.
func draw(seed uint64, n int) recorded {
	r := rand.New(rand.NewPCG(seed, 0))
	load := recorded{Made: mixedMade}
	for i := range n {
		j := recordedJob{ID: fmt.Sprintf("job-%04d", i+1)}
		switch x := r.IntN(100); {
		case x < 35:
			j.Type, j.Parameters = "matrix_multiply", parameters{Size: one(r, 256.0, 512, 1000, 1024, 2000, 2048, 3000, 4096, 6000, 8192)}
		case x < 60:
			j.Type = "neural_network"
			j.Parameters = parameters{Input: one(r, 784.0, 3072), Hidden: one(r, 128.0, 256, 512, 1024, 2048), Output: 10,
				Batch: one(r, 32.0, 64, 128, 256, 512), Epochs: one(r, 5.0, 10, 20, 50)}
		case x < 75:
			j.Type, j.Parameters = "vector_addition", parameters{Size: one(r, 1e5, 1e6, 5e6, 1e7, 5e7, 1e8)}
		default:
			j.Type = "image_processing"
			size := one(r, [2]float64{640, 480}, [2]float64{1280, 720}, [2]float64{1920, 1080}, [2]float64{3840, 2160}, [2]float64{6000, 4000})
			j.Parameters = parameters{Width: size[0], Height: size[1], Operation: one(r, "blur", "sharpen", "edges", "grayscale"),
				Iterations: one(r, 1.0, 3, 10, 30)}
		}
		j.PreferGPU = prefers(i%4, j)
		if r.IntN(2) == 0 {
			j.Submitted = one(r, 0.0, 5, 15)
		} else {
			j.Submitted = math.Round(20e3*r.Float64()) / 1e3
		}
		j.Measured = map[placement.Device]float64{
			placement.CPU: measured(r, placement.CPU, j.work()), placement.GPU: measured(r, placement.GPU, j.work()),
		}
		load.Jobs = append(load.Jobs, j)
	}
	return load
}

// prefers is the habit of a producer. One asks for a GPU whatever it does, one never, one for what GPUs are known for, and one for what is large.
func prefers(producer int, j recordedJob) bool {
	switch producer {
	case 0:
		return true
	case 1:
		return false
	case 2:
		return j.Type == "matrix_multiply" || j.Type == "neural_network"
	}
	return max(j.Parameters.Size, j.Parameters.Hidden, j.Parameters.Width) > 1000
}

// measured is how long a run took: what the device can do, by how far its code for the type gets, and by chance (8 %). None of this is known to whom
// predicts, who has the rates that a worker of such a device would tell, of a matrix product and a copy.
func measured(r *rand.Rand, d placement.Device, w placement.Work) float64 {
	kind := w.Type
	if w.Type != "matrix_multiply" && w.Type != "neural_network" && w.Type != "vector_addition" {
		kind = "image_processing"
	}
	factor := map[placement.Device]map[string]float64{
		placement.CPU: {"matrix_multiply": 1.1, "neural_network": 1.7, "vector_addition": 1.3, "image_processing": 2.6},
		placement.GPU: {"matrix_multiply": 1.0, "neural_network": 1.5, "vector_addition": 1.1, "image_processing": 1.4},
	}[d][kind]
	seconds := cost(d, w) * factor * math.Exp(0.08*r.NormFloat64())
	return math.Round(seconds*1e6) / 1e6
}

// cost is the roofline with the typical rates, written down once more: what is compared must not come from what is tested.
func cost(d placement.Device, w placement.Work) float64 {
	if d == placement.GPU {
		return 2e-3 + w.Launches*2e-5 + max(w.Operations/4e12, w.Bytes/1.6e11) + w.Moved/6e9
	}
	return 1e-3 + w.Launches*1e-6 + max(w.Operations/8e10, w.Bytes/1.2e10)
}

func write(t *testing.T, load recorded) []byte {
	t.Helper()
	var b bytes.Buffer
	fmt.Fprintf(&b, "{\"made\": %q,\n\"jobs\": [\n", load.Made)
	for i, j := range load.Jobs {
		line, err := json.Marshal(j)
		if err != nil {
			t.Fatal(err)
		}
		b.Write(line)
		b.WriteString(map[bool]string{true: ",\n", false: "\n"}[i < len(load.Jobs)-1])
	}
	b.WriteString("]}\n")
	return b.Bytes()
}

// TestMixedFile: the file is what its making gives, but for the last digit of a time, which differs between processors.
func TestMixedFile(t *testing.T) {
	made := draw(mixedSeed, mixedJobs)
	if *remake {
		if err := os.WriteFile(mixedFile, write(t, made), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	kept := read(t)
	for i, j := range kept.Jobs {
		for d, s := range j.Measured {
			if i < len(made.Jobs) && math.Abs(made.Jobs[i].Measured[d]-s) < 2e-6 {
				made.Jobs[i].Measured[d] = s
			}
		}
	}
	if !reflect.DeepEqual(kept, made) {
		t.Errorf("%s is not what is made; with -remake it is made anew", mixedFile)
	}
}

func read(t *testing.T) (load recorded) {
	t.Helper()
	text, err := os.ReadFile(mixedFile)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &load); err != nil {
		t.Fatal(err)
	}
	return load
}

// mixed reads the recorded load.
func mixed(t *testing.T) (jobs []Job) {
	t.Helper()
	for _, r := range read(t).Jobs {
		jobs = append(jobs, r.job())
	}
	return jobs
}

// cluster is two CPU workers, and a GPU that is heard of after 20 s, takes work after 30, and loads its code for each type as that comes.
func cluster() []Worker {
	return []Worker{
		{Worker: placement.Worker{ID: "cpu-1", Device: placement.CPU, Memory: 4e9}},
		{Worker: placement.Worker{ID: "cpu-2", Device: placement.CPU, Memory: 4e9}},
		{Worker: placement.Worker{ID: "gpu-1", Device: placement.GPU, Memory: 16e9}, Joins: 20, Starts: 10, First: 0.5},
	}
}

func predicted(t *testing.T, h *placement.History) *Predicted {
	t.Helper()
	p, err := NewPredicted(h, placement.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func run(t *testing.T, jobs []Job, workers []Worker, p Policy) *Result {
	t.Helper()
	r, err := Run(jobs, workers, p)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// bound is before when no schedule ends the load: jobs may be cut into pieces, nothing is ever waited for but the GPU, and what it gains
// most by is its.
func bound(jobs []Job, gpuFrom float64) float64 {
	order := slices.Clone(jobs)
	gain := func(j Job) float64 { return j.Seconds[placement.CPU] / j.Seconds[placement.GPU] }
	slices.SortFunc(order, func(a, b Job) int { return compare(gain(b), gain(a)) })
	low, high := 0.0, 1e6
	for high-low > 1e-3 {
		end := (low + high) / 2
		gpu, cpu := max(end-gpuFrom, 0), 2*end
		for _, j := range order {
			share := min(1, gpu/j.Seconds[placement.GPU])
			gpu -= share * j.Seconds[placement.GPU]
			cpu -= (1 - share) * j.Seconds[placement.CPU]
		}
		if cpu >= 0 {
			high = end
		} else {
			low = end
		}
	}
	return high
}

// TestMixed: the recorded load ends at least 1.5 times sooner than by the wish for a GPU and than in turns, though nothing is known of it
// at first, and no schedule whatever ends it 20 % sooner.
func TestMixed(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	jobs := mixed(t)
	ours := run(t, jobs, cluster(), predicted(t, &placement.History{}))
	least := bound(jobs, 30)
	t.Logf("no schedule ends before %.1f s; ours at %.1f s, mean response %.1f s, predictions typically within a factor of %.2f, bias %.2f",
		least, ours.Makespan, ours.Response, ours.Accuracy.Typical(), ours.Accuracy.Bias())
	if ours.Makespan > 1.2*least {
		t.Errorf("got %.1f s, where %.1f may be possible", ours.Makespan, least)
	}
	if e := ours.Accuracy.Typical(); e > 1.25 {
		t.Errorf("predictions are wrong by a factor of %.2f", e)
	}
	for _, c := range []struct {
		name   string
		policy Policy
		times  float64 // that ours ends sooner
	}{
		{"prefer_gpu", PreferGPU(), 1.5},
		{"round robin over workers", RoundRobin("cpu-1", "cpu-2", "gpu-1"), 1.5},
		{"round robin over queues", TwoQueues(), 1.5},
		{"one queue for all", Shared(), 1},
	} {
		theirs := run(t, jobs, cluster(), c.policy)
		times := theirs.Makespan / ours.Makespan
		t.Logf("%-25s %6.1f s, %.2f times ours; mean response %.1f s", c.name, theirs.Makespan, times, theirs.Response)
		if times < c.times {
			t.Errorf("ours ends in %.1f s, and %s in %.1f s: %.2f times, want %v", ours.Makespan, c.name, theirs.Makespan, times, c.times)
		}
		if theirs.Response < ours.Response {
			t.Errorf("%s answers a job after %.1f s in the mean, ours after %.1f s", c.name, theirs.Response, ours.Response)
		}
	}
}
