package operation

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"cancha/jobs/job"
	"cancha/jobs/worker"
	"cancha/ml"
	"cancha/ml/nn"
	"cancha/runtime/gpu"
)

// Funcs are the functions of a worker whose jobs compute in a session. Jobs that run at the same time share it.
func Funcs(s *gpu.Session) map[string]worker.Func {
	all := map[string]worker.Func{}
	for _, name := range job.Types() {
		all[name] = func(ctx context.Context, t *worker.Task) (any, error) { return run(ctx, s, t) }
	}
	return all
}

// Result is what a job returns. Its rates are those of the computation alone, without the copies and without the making of the data.
type Result struct {
	// Shape of what was computed, its mean, and its first numbers, four at most. Of a batch of pictures it begins with their number.
	Shape []int64   `json:"shape"`
	Mean  float64   `json:"mean"`
	First []float32 `json:"first"`
	// Seconds that the computation took, with the copies to the device and back, and without the making of the data.
	Seconds float64 `json:"seconds"`
	// Iterations is how often it was computed: products, sums, passes over each picture, epochs of a network. Batch is how many pictures or
	// rows each has; 0: the type has none.
	Iterations int64 `json:"iterations"`
	Batch      int64 `json:"batch_size,omitempty"`
	// FLOPS are floating-point operations a second, and Bandwidth bytes a second that were read and written in the device's memory.
	FLOPS     float64 `json:"flops"`
	Bandwidth float64 `json:"memory_bandwidth"`
	// Transfer is how many seconds the data took to where it is computed on, and the result back; 0: that was not measured, as of a network.
	Transfer float64 `json:"transfer_time,omitempty"`
	// Ignored are names of fields and parameters that had no effect: see job.Spec.Ignored.
	Ignored []string `json:"ignored,omitempty"`
	// Loss is that of a network after each epoch, of a hundred epochs at most.
	Loss []float64 `json:"loss,omitempty"`
}

func run(ctx context.Context, s *gpu.Session, t *worker.Task) (any, error) {
	o, err := job.ReadOperation(t.Type, t.Parameters)
	if err != nil {
		return nil, worker.Final(err)
	}
	r, err := do(ctx, s, t, o)
	if err != nil {
		return nil, err
	}
	r.Ignored = t.Ignored()
	if seconds := r.Seconds - r.Transfer; seconds > 0 {
		r.FLOPS, r.Bandwidth = o.Work().Operations/seconds, o.Work().Bytes/seconds
	}
	return r, nil
}

func do(ctx context.Context, s *gpu.Session, t *worker.Task, o job.Operation) (*Result, error) {
	switch o := o.(type) {
	case job.Matrices:
		return compute(ctx, s, multiply(o, t))
	case job.Vectors:
		return compute(ctx, s, add(o, t))
	case job.Image:
		return pictures(ctx, s, o, t)
	case job.Network:
		return train(ctx, s, o, t)
	}
	return nil, worker.Final(fmt.Errorf("%q is no operation", t.Type))
}

// plan is a computation on arrays of so many numbers.
type plan struct {
	shape   []int64
	batch   int64 // of pictures; 0: it has none
	times   int64 // that it is computed
	lengths []int64
	seed    int64
	fixed   map[int][]float32 // arrays that are not random
	// steps return the array that has the result; it is as long as the last.
	steps func(ctx context.Context, arrays []*gpu.Float32s) (*gpu.Float32s, error)
}

// compute makes the data, and times the rest.
func compute(ctx context.Context, s *gpu.Session, p plan) (*Result, error) {
	values, err := p.values(ctx)
	if err != nil {
		return nil, err
	}
	took, moved, err := p.on(ctx, s, values)
	if err != nil {
		return nil, err
	}
	return p.told(values, took, moved), nil
}

// told is the result, the last of the values.
func (p plan) told(values [][]float32, took, moved time.Duration) *Result {
	last := values[len(values)-1]
	return &Result{Shape: p.shape, Mean: mean(last), First: last[:min(len(last), 4)], Seconds: took.Seconds(), Iterations: p.times, Batch: p.batch,
		Transfer: min(moved, took).Seconds()}
}

// on computes in a session, and puts the result into the last of the values. It tells how long that took, and for how long it copied.
func (p plan) on(ctx context.Context, s *gpu.Session, values [][]float32) (took, moved time.Duration, err error) {
	begin, before := time.Now(), copied(s)
	arrays, err := load(s, values)
	moved = time.Since(begin)
	if err == nil {
		var back time.Duration
		back, err = p.result(ctx, arrays, values[len(values)-1])
		moved += back
	}
	took = time.Since(begin)
	for _, a := range arrays {
		err = errors.Join(err, a.Close())
	}
	return took, moved + copied(s) - before, err
}

// copied is for how long a session has copied to its GPU, as the first operation does that reads an array there.
func copied(s *gpu.Session) time.Duration { return s.Metrics().CopyIn }

// result computes, and tells how long the copy of the result took.
func (p plan) result(ctx context.Context, arrays []*gpu.Float32s, to []float32) (back time.Duration, err error) {
	a, err := p.steps(ctx, arrays)
	if err != nil {
		return 0, err
	}
	begin := time.Now()
	err = a.CopyTo(ctx, to)
	return time.Since(begin), err
}

// repeat does something so many times, unless the context ends, and tells how far it is.
func repeat(ctx context.Context, t *worker.Task, times int64, what string, do func() error) error {
	for i := range times {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		t.Progress(float64(i)/float64(times), what)
		if err := do(); err != nil {
			return err
		}
	}
	return nil
}

// values are the arrays, of which each that is random is made beside the others, from a seed of its own.
func (p plan) values(ctx context.Context) (all [][]float32, err error) {
	for _, n := range p.lengths {
		if n > math.MaxInt32 {
			return nil, worker.Final(fmt.Errorf("an array of %d numbers, where a device counts to %d", n, math.MaxInt32))
		}
	}
	var making sync.WaitGroup
	for i, n := range p.lengths {
		v := p.fixed[i]
		if v == nil {
			v = make([]float32, n)
		}
		if p.fixed[i] == nil && i < len(p.lengths)-1 {
			making.Go(func() { random(ctx, v, p.seed+int64(i)) })
		}
		all = append(all, v)
	}
	making.Wait()
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return all, nil
}

// random fills numbers from -0.5 to 0.5, unless the context ends.
func random(ctx context.Context, values []float32, seed int64) {
	r := rand.New(rand.NewPCG(uint64(seed), 0x6a6f62))
	for part := range slices.Chunk(values, 1<<20) {
		if ctx.Err() != nil {
			return
		}
		for i := range part {
			part[i] = r.Float32() - .5
		}
	}
}

func load(s *gpu.Session, values [][]float32) (all []*gpu.Float32s, err error) {
	for _, v := range values {
		a, err := gpu.NewFloat32s(s, v)
		if err != nil {
			return all, err
		}
		all = append(all, a)
	}
	return all, nil
}

func mean(values []float32) float64 {
	sum := 0.0
	for _, v := range values {
		sum += float64(v)
	}
	return sum / float64(max(len(values), 1))
}

// multiply computes the same product again and again.
func multiply(o job.Matrices, t *worker.Task) plan {
	m, n, k := int(o.M), int(o.N), int(o.K)
	return plan{shape: []int64{o.M, o.N}, times: o.Iterations, lengths: []int64{o.M * o.K, o.K * o.N, o.M * o.N}, seed: o.Seed,
		steps: func(ctx context.Context, a []*gpu.Float32s) (*gpu.Float32s, error) {
			return a[2], repeat(ctx, t, o.Iterations, "multiplying", func() error { return gpu.Sgemm(ctx, false, false, m, n, k, 1, a[0], a[1], 0, a[2]) })
		}}
}

// add computes the same sum again and again.
func add(o job.Vectors, t *worker.Task) plan {
	return plan{shape: []int64{o.Size}, times: o.Iterations, lengths: []int64{o.Size, o.Size, o.Size}, seed: o.Seed,
		steps: func(ctx context.Context, a []*gpu.Float32s) (*gpu.Float32s, error) {
			return a[2], repeat(ctx, t, o.Iterations, "adding", func() error { return gpu.VectorAdd(ctx, a[2], a[0], a[1]) })
		}}
}

// filter is what is summed of a point's surroundings, channel by channel.
func filter(operation string) (weights []float32, channels, size int) {
	switch operation {
	case "sharpen":
		return []float32{0, -1, 0, -1, 5, -1, 0, -1, 0}, 1, 3
	case "edges": // Laplace's operator
		return []float32{-1, -1, -1, -1, 8, -1, -1, -1, -1}, 1, 3
	case "grayscale": // luma of ITU-R BT.601
		return []float32{0.299, 0.587, 0.114}, 3, 1
	}
	const ninth = 1.0 / 9
	return []float32{ninth, ninth, ninth, ninth, ninth, ninth, ninth, ninth, ninth}, 1, 3
}

// picture passes a filter over each picture of a batch once or several times, to and fro between two arrays; one that has become gray is
// made gray of the first again.
func picture(o job.Image, t *worker.Task) plan {
	weights, channels, size := filter(o.Operation)
	c := gpu.Conv{Images: int(o.Batch), Channels: channels, Height: int(o.Height), Width: int(o.Width), Filters: 1, FilterHeight: size,
		FilterWidth: size, Padding: size / 2}
	pixels, shape := o.Batch*o.Height*o.Width, []int64{o.Height, o.Width}
	if o.Batch > 1 {
		shape = append([]int64{o.Batch}, shape...)
	}
	return plan{shape: shape, batch: o.Batch, times: o.Iterations, lengths: []int64{int64(channels) * pixels, int64(len(weights)), pixels}, seed: o.Seed,
		fixed: map[int][]float32{1: weights}, steps: func(ctx context.Context, a []*gpu.Float32s) (*gpu.Float32s, error) {
			from, to := a[0], a[2]
			err := repeat(ctx, t, o.Iterations, o.Operation, func() error {
				err := gpu.Conv2D(ctx, to, from, a[1], c)
				if channels == 1 {
					from, to = to, from
				}
				return err
			})
			if channels == 1 {
				return from, err
			}
			return to, err
		}}
}

// together is how many bytes of pictures a CPU passes over at a time, as they are and as they become: what its caches hold. Passes over a
// batch that is larger took twice as long for each picture.
const together = 4 << 20

// pictures does the passes over a batch: on a GPU over all of it at once, on a CPU over some pictures after the others.
func pictures(ctx context.Context, s *gpu.Session, o job.Image, t *worker.Task) (*Result, error) {
	whole, each := picture(o, t), o.Batch
	values, err := whole.values(ctx)
	if err != nil {
		return nil, err
	}
	pixels := len(values[2]) / int(o.Batch)
	if _, device := s.Devices(); device == nil {
		each = min(max(together/(8*int64(pixels)), 1), o.Batch)
	}
	var took, moved time.Duration
	for from := int64(0); from < o.Batch; from += each {
		part := o
		part.Batch = min(each, o.Batch-from)
		tell := worker.NewTask(t.Spec, func(share float64, doing string) {
			t.Progress((float64(from)+share*float64(part.Batch))/float64(o.Batch), doing)
		})
		cut := func(v []float32) []float32 {
			n := len(v) / int(o.Batch)
			return v[int(from)*n : int(from+part.Batch)*n]
		}
		took1, moved1, err := picture(part, tell).on(ctx, s, [][]float32{cut(values[0]), values[1], cut(values[2])})
		if err != nil {
			return nil, err
		}
		took, moved = took+took1, moved+moved1
	}
	return whole.told(values, took, moved), nil
}

// mostLosses is of how many epochs a result tells the loss.
const mostLosses = 100

func train(ctx context.Context, s *gpu.Session, o job.Network, t *worker.Task) (*Result, error) {
	d, err := rows(ctx, o)
	if err != nil {
		return nil, worker.Final(err)
	}
	out := &Result{Shape: []int64{o.Input, o.Hidden, o.Output}, Iterations: o.Epochs, Batch: o.Batch}
	begin := time.Now()
	n, err := nn.Fit(ctx, d, nn.Config{Hidden: int(o.Hidden), Batch: int(o.Batch), Epochs: int(o.Epochs), Seed: uint64(o.Seed), Session: s,
		Progress: func(epoch, _ int, loss float64) {
			t.Progress(float64(epoch)/float64(o.Epochs), fmt.Sprintf("epoch %d of %d, loss %.4f", epoch, o.Epochs, loss))
			if len(out.Loss) < mostLosses {
				out.Loss = append(out.Loss, loss)
			}
		}})
	if err != nil {
		return nil, err
	}
	out.Seconds = time.Since(begin).Seconds()
	p, err := n.PredictProba(ctx, d.Slice(0, 1)) // of the batch the host would answer longer than a GPU learns
	if err != nil {
		return nil, err
	}
	for _, v := range p[0][:min(len(p[0]), 4)] {
		out.First = append(out.First, float32(v))
	}
	return out, nil
}

// rows are one batch of random rows, whose classes are by the sign of sums of their numbers, so that there is something to learn.
func rows(ctx context.Context, o job.Network) (*ml.Dataset, error) {
	const most = 1 << 28
	if o.Batch > most/max(o.Input, 1) || o.Output > 1<<20 || o.Hidden > 1<<20 || o.Epochs > 1_000_000 {
		return nil, fmt.Errorf("a network of %d × %d × %d on %d rows for %d epochs; at most 2^28 numbers of rows, 2^20 units and a million epochs", o.Input, o.Hidden, o.Output, o.Batch, o.Epochs)
	}
	d := &ml.Dataset{Values: make([]float32, o.Batch*o.Input)}
	random(ctx, d.Values, o.Seed)
	for i := range o.Input {
		d.Features = append(d.Features, fmt.Sprint("x", i))
	}
	for i := range o.Output {
		d.Classes = append(d.Classes, fmt.Sprint(i))
	}
	for i := range o.Batch {
		row := d.Values[i*o.Input : (i+1)*o.Input]
		d.Labels = append(d.Labels, int((mean(row)+.5)*float64(o.Output))%int(o.Output))
	}
	return d, nil
}
