package operation_test

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"cancha/jobs/job"
	"cancha/jobs/operation"
	"cancha/jobs/placement"
	"cancha/jobs/queue"
	"cancha/jobs/worker"
	"cancha/runtime/gpu"
)

// The four submissions that the contract's documents give.
const (
	matrixBody  = `{"job_type": "matrix_multiply", "size": 1000, "iterations": 10}`
	networkBody = `{"job_type": "neural_network", "epochs": 5, "batch_size": 64, "input_size": 784, "hidden_size": 256, "output_size": 10}`
	vectorBody  = `{"job_type": "vector_addition", "size": 10000000, "iterations": 100}`
	imageBody   = `{"job_type": "image_processing", "batch_size": 32, "image_size": 224, "iterations": 50}`
)

// counted is how much there is to do, by the loops that do it.
type counted struct{ operations, made float64 }

func countMatrices(n, times float64) counted {
	return counted{operations: times * n * n * (n + n), made: n*n + n*n + n*n} // a product and a sum of each n; two factors are made, one result is read
}

func countVectors(n, times float64) counted { return counted{times * n, n + n + n} }

// countImages: of each pixel nine products and eight sums.
func countImages(batch, side, times float64) counted {
	pixels := batch * side * side
	return counted{times * pixels * (9 + 8), pixels + pixels}
}

// countNetwork: forward each weight is a product and a sum of each row; backward it is two of both.
func countNetwork(epochs, batch, in, hidden, out float64) counted {
	weights := in*hidden + hidden*out
	return counted{epochs * batch * weights * (2 + 4), batch*in + weights + hidden + out}
}

// The first prediction of each submission follows from what there is to do, the making of its data among it, on a device of which nothing
// was measured.
func TestBodies(t *testing.T) {
	rates := placement.Typical(placement.CPU)
	for _, c := range []struct {
		body     string
		want     counted
		bytes    float64
		launches float64
	}{
		{matrixBody, countMatrices(1000, 10), 10 * 4 * 3e6, 10},
		{vectorBody, countVectors(1e7, 100), 100 * 4 * 3e7, 100},
		{imageBody, countImages(32, 224, 50), 50 * 4 * 2 * 32 * 224 * 224, 50},
		{networkBody, countNetwork(5, 64, 784, 256, 10), 0, 60},
	} {
		s, err := job.Read(&queue.Message{Body: []byte(c.body)})
		if err != nil {
			t.Fatal(err)
		}
		w, err := s.Work()
		if err != nil || w.Operations != c.want.operations || w.Made != c.want.made || c.bytes > 0 && w.Bytes != c.bytes || w.Launches != c.launches {
			t.Errorf("%s: got %+v, %v, want %+v, %v bytes, %v launches", c.body, w, err, c.want, c.bytes, c.launches)
		}
		want := rates.Overhead + c.want.made/rates.Make + c.launches*rates.Launch + max(c.want.operations/rates.Operations, w.Bytes/rates.Bandwidth)
		got := (&placement.History{}).Predict(w, placement.Worker{ID: "w", Device: placement.CPU}).Seconds
		if math.Abs(got/want-1) > .2 { // a prediction is a mean, and is above the cost by as much as times scatter
			t.Errorf("%s: predicted %v s, and there are %v s of work", c.body, got, want)
		}
	}
}

// A job does as much as its iterations and its batch say, whether they stand beside the type or among the parameters, and its prediction
// grows with them.
func TestIterations(t *testing.T) {
	for _, c := range []struct {
		name, fields string
		operations   int // that the session runs
		shape        string
		batch        int64
	}{
		{job.MatrixMultiply, `"size": 8, "iterations": 7`, 7, "[8 8]", 0},
		{job.MatrixMultiply, `"size": 8`, 1, "[8 8]", 0},
		{job.VectorAddition, `"size": 9, "iterations": 5`, 5, "[9]", 0},
		{job.ImageProcessing, `"image_size": 6, "iterations": 4, "batch_size": 3`, 4, "[3 6 6]", 3},
		{job.ImageProcessing, `"image_size": 6, "operation": "grayscale", "batch_size": 2`, 1, "[2 6 6]", 2},
	} {
		for _, form := range []string{`{"job_type": %q, %s}`, `{"job_type": %q, "parameters": {%s}}`} {
			spec, err := job.Read(&queue.Message{Body: fmt.Appendf(nil, form, c.name, c.fields)})
			if err != nil {
				t.Fatal(err)
			}
			r, ran := runSpec(t, spec)
			if ran != c.operations || r.Iterations != int64(c.operations) || r.Batch != c.batch || fmt.Sprint(r.Shape) != c.shape ||
				r.Ignored != nil || !(r.FLOPS > 0 && r.Bandwidth > 0) {
				t.Errorf("%s of %s: %d operations, %+v", c.fields, c.name, ran, r)
			}
			w, err := spec.Work()
			once, _ := (&job.Spec{Type: c.name, Parameters: json.RawMessage(`{` + c.fields + `, "seed": 1}`)}).Work()
			if err != nil || w != once || w.Launches != float64(c.operations) {
				t.Errorf("%s of %s: the work is %+v, %v", c.fields, c.name, w, err)
			}
		}
	}
}

// A product is the same however often it is computed, and a picture of a batch is what it is alone.
func TestIterationsResult(t *testing.T) {
	for _, c := range []struct{ name, one, other string }{
		{job.MatrixMultiply, `{"size": 20}`, `{"size": 20, "iterations": 6}`},
		{job.VectorAddition, `{"size": 20}`, `{"size": 20, "iterations": 6}`},
		{job.ImageProcessing, `{"image_size": 20, "iterations": 3}`, `{"image_size": 20, "iterations": 3, "batch_size": 4}`},
	} {
		one, err := run(t, c.name, c.one)
		if err != nil {
			t.Fatal(err)
		}
		if other, err := run(t, c.name, c.other); err != nil || fmt.Sprint(one.First) != fmt.Sprint(other.First) {
			t.Errorf("%s: got %v, %v, want %v", c.other, other, err, one.First)
		}
	}
}

// A batch that is passed over part by part is as it is when each picture is made alone of the same numbers, up to its last one.
func TestLargeBatch(t *testing.T) {
	const side, batch = 256, 19 // 8 at a time
	r, err := run(t, job.ImageProcessing, fmt.Sprintf(`{"image_size": %d, "batch_size": %d, "iterations": 2, "operation": "sharpen", "seed": 5}`, side, batch))
	if err != nil {
		t.Fatal(err)
	}
	tall, err := run(t, job.ImageProcessing, fmt.Sprintf(`{"width": %d, "height": %d, "iterations": 2, "operation": "sharpen", "seed": 5}`, side, side))
	if err != nil || fmt.Sprint(r.First) != fmt.Sprint(tall.First) || fmt.Sprint(r.Shape) != fmt.Sprintf("[%d %d %d]", batch, side, side) || r.Batch != batch {
		t.Errorf("got %+v, want to begin with %+v, %v", r, tall, err)
	}
	random, sum := rand.New(rand.NewPCG(5, 0x6a6f62)), 0.0
	for range batch {
		from, to := make([]float64, side*side), make([]float64, side*side)
		for i := range from {
			from[i] = float64(random.Float32() - .5)
		}
		for range 2 {
			for i := range to {
				x, y := i%side, i/side
				to[i] = 5 * from[i]
				for _, d := range [4][2]int{{-1, 0}, {1, 0}, {0, -1}, {0, 1}} {
					if u, v := x+d[0], y+d[1]; u >= 0 && u < side && v >= 0 && v < side {
						to[i] -= from[v*side+u]
					}
				}
			}
			from, to = to, from
		}
		for _, v := range from {
			sum += v
		}
	}
	if want := sum / (batch * side * side); math.Abs(r.Mean-want) > 1e-5 {
		t.Errorf("the mean is %v, want %v", r.Mean, want)
	}
}

// runSpec runs a job, and tells how many operations its session has run.
func runSpec(t *testing.T, spec job.Spec) (*operation.Result, int) {
	t.Helper()
	s, err := gpu.NewSession(t.Context(), gpu.Config{Device: gpu.CPU, Cores: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	got, err := operation.Funcs(s)[spec.Type](t.Context(), worker.NewTask(spec, nil))
	if err != nil {
		t.Fatal(err)
	}
	return got.(*operation.Result), s.Metrics().Operations[0]
}
