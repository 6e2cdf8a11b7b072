package gpu

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"cancha/runtime/gpu/driver"
)

// fillJob sets n numbers to a value and reads them.
func fillJob(n int, got *[]float32) Job {
	return Job{
		Name: "fill", Size: n, Bytes: 4 * int64(n), Launches: 1, Copied: 4 * int64(n),
		Run: func(ctx context.Context, d driver.Device, q driver.Queue) error {
			m, err := d.Alloc(driver.Float32, n)
			if err != nil {
				return err
			}
			if err := q.CopyIn(m, 0, make([]float32, n)); err != nil {
				return err
			}
			if err := q.Launch(driver.Launch{Func: "fill", Args: []driver.Arg{driver.At(m, 0), driver.Float(2), driver.Int(n)}}); err != nil {
				return err
			}
			*got = make([]float32, n)
			return q.CopyOut(*got, m, 0)
		},
	}
}

func TestJob(t *testing.T) {
	for target, place := range map[Target]side{CPU: onCPU, GPU: onGPU} {
		t.Run(string(target), func(t *testing.T) {
			s := newSession(t, Config{Device: target})
			var got []float32
			if err := s.Do(t.Context(), fillJob(100, &got)); err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(got, slices.Repeat([]float32{2}, 100)) {
				t.Errorf("got %v", got)
			}
			d, m := s.Explain().Decisions, s.Metrics()
			if len(d) != 1 || d[0].Operation != "fill" || d[0].Place != place.String() || d[0].Reason != "the device is set to "+string(target) || d[0].Actual <= 0 {
				t.Errorf("got %+v", d)
			}
			if m.Operations[place] != 1 || m.Operations[1-place] != 0 {
				t.Errorf("got %+v", m)
			}
			if target == GPU && (m.Launches != 1 || m.BytesIn != 400 || m.BytesOut != 400 || m.PeakMemory != 400 || m.CopyIn <= 0 || m.CopyOut <= 0) {
				t.Errorf("got %+v", m)
			}
			if taken := s.places[place].taken; taken != 0 {
				t.Errorf("%d bytes are left", taken)
			}
		})
	}
}

// TestJobUnfit: what a GPU cannot do runs on the CPU, even where the device is set to gpu, and the reason is told.
func TestJobUnfit(t *testing.T) {
	for _, c := range []Config{{Device: GPU, Required: true}, {Device: Auto}} {
		s := newSession(t, c)
		var got []float32
		j := fillJob(100, &got)
		j.Unfit = "it has no numbers"
		if err := s.Do(t.Context(), j); err != nil {
			t.Fatal(err)
		}
		if d := s.Explain().Decisions; len(got) != 100 || len(d) != 1 || d[0].Place != "CPU" || d[0].Reason != j.Unfit || d[0].Predicted != 0 {
			t.Errorf("%+v: got %+v", c, d)
		}
	}
}

// TestJobPrepares: what a job does before its first launch, and between a copy out and the next launch, is no time of its funcs.
func TestJobPrepares(t *testing.T) {
	const long = 200 * time.Millisecond
	s := newSession(t, Config{Device: CPU})
	var got []float32
	j := fillJob(100, &got)
	run := j.Run
	j.Run = func(ctx context.Context, d driver.Device, q driver.Queue) error {
		time.Sleep(long)
		if err := run(ctx, d, q); err != nil {
			return err
		}
		time.Sleep(long)
		return run(ctx, d, q)
	}
	if err := s.Do(t.Context(), j); err != nil {
		t.Fatal(err)
	}
	if took := s.Metrics().FuncTime[onCPU]; took <= 0 || took >= long {
		t.Errorf("funcs took %v", took)
	}
}

// TestJobChoice: the cost model weighs a job as an operation.
func TestJobChoice(t *testing.T) {
	s := newSession(t, Config{})
	cpu, gpu := s.places[onCPU], s.places[onGPU]
	cpu.speed = speed{fixed: 1, bandwidth: 1e9, flops: 1e9, copying: 1e9}
	gpu.speed = speed{fixed: 10_000, bandwidth: 1e12, flops: 1e12, copying: 1e9}
	var got []float32
	for name, want := range map[string]struct {
		flops  float64
		copied int64
		place  string
	}{"long": {1e9, 1000, "GPU"}, "short": {1000, 1000, "CPU"}, "much to copy": {1e9, 2e9, "CPU"}} {
		j := fillJob(10, &got)
		j.Name, j.Flops, j.Copied = name, want.flops, want.copied
		if err := s.Do(t.Context(), j); err != nil {
			t.Fatal(err)
		}
		all := s.Explain().Decisions
		if d := all[len(all)-1]; d.Place != want.place || d.Predicted <= 0 || d.Operation != name {
			t.Errorf("%s: got %+v", name, d)
		}
	}
}

// TestJobMakesRoom: what a job takes counts, moves what no operation uses out of the way, and is given back whatever becomes of the job.
func TestJobMakesRoom(t *testing.T) {
	d := &second{memory: 1 << 30}
	s := newSession(t, Config{Device: GPU, Memory: 1 << 20, drivers: []driver.Driver{d}})
	before := d.taken
	a := buffer(t, s, make([]float32, 1<<17)...)
	if err := VectorAdd(t.Context(), a, a, a); err != nil {
		t.Fatal(err)
	}
	var got []float32
	if err := s.Do(t.Context(), fillJob(3<<16, &got)); err != nil {
		t.Fatal(err)
	}
	if m := s.Metrics(); m.Evicted != 1<<19 || m.Fallbacks != 0 {
		t.Errorf("got %+v", m)
	}
	failure := errors.New("failure")
	fails := fillJob(100, &got)
	run := fails.Run
	fails.Run = func(ctx context.Context, d driver.Device, q driver.Queue) error {
		return errors.Join(run(ctx, d, q), failure)
	}
	if err := s.Do(t.Context(), fails); !errors.Is(err, failure) {
		t.Errorf("got %v", err)
	}
	fails.Run = func(ctx context.Context, d driver.Device, q driver.Queue) error { _ = run(ctx, d, q); panic(failure) }
	func() {
		defer func() {
			if p := recover(); p != failure {
				t.Errorf("got %v", p)
			}
		}()
		_ = s.Do(t.Context(), fails)
	}()
	if d.taken != before || s.places[onGPU].taken != 0 {
		t.Errorf("%d bytes are left, %d by the session's count", d.taken-before, s.places[onGPU].taken)
	}
	if err := s.Do(t.Context(), fillJob(1<<20, &got)); err != nil || len(got) != 1<<20 {
		t.Errorf("a job that does not fit: %v", err)
	}
	if text := s.Explain().String(); !strings.Contains(text, "the GPU failed: ") {
		t.Errorf("not explained:\n%s", text)
	}
}

// TestJobOfLostGPU: where the GPU goes in the middle, the job begins anew on the CPU.
func TestJobOfLostGPU(t *testing.T) {
	for _, required := range []bool{false, true} {
		d := &second{memory: 1 << 30}
		s := newSession(t, Config{Device: GPU, Required: required, drivers: []driver.Driver{d}})
		var got []float32
		j := fillJob(5, &got)
		run, times := j.Run, 0
		j.Run = func(ctx context.Context, device driver.Device, q driver.Queue) error {
			if times++; times == 1 {
				d.mu.Lock()
				d.lost = true
				d.mu.Unlock()
			}
			return run(ctx, device, q)
		}
		err := s.Do(t.Context(), j)
		if required && (!errors.Is(err, driver.ErrLost) || times != 1) || !required && (err != nil || times != 2 || len(got) != 5) {
			t.Errorf("required %v: run %d times, %v", required, times, err)
		}
	}
}

// TestBufferInJob: a job makes a buffer without waiting for the turn that it has.
func TestBufferInJob(t *testing.T) {
	s := newSession(t, Config{Device: GPU, Pinned: 8})
	var made *Float32s
	err := s.Do(t.Context(), Job{Name: "buffers", Run: func(context.Context, driver.Device, driver.Queue) error {
		done := make(chan error, 1)
		go func() {
			var err error
			made, err = NewFloat32s(s, []float32{1, 2})
			done <- err
		}()
		select {
		case err := <-done:
			return err
		case <-time.After(10 * time.Second):
			return errors.New("it waits for the job")
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	want(t, made, 1, 2)
}

func TestJobRefused(t *testing.T) {
	s := newSession(t, Config{Device: GPU})
	var got []float32
	stop := errors.New("stop")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(stop)
	if err := s.Do(ctx, fillJob(1, &got)); !errors.Is(err, stop) {
		t.Errorf("an end before it begins: got %v", err)
	}
	err := s.Do(t.Context(), Job{Name: "own queue", Run: func(_ context.Context, d driver.Device, _ driver.Queue) error {
		if err := d.Close(); err == nil {
			return nil
		}
		_, err := d.NewQueue()
		return err
	}})
	if err == nil || !strings.Contains(err.Error(), "gpu: own queue: ") {
		t.Errorf("got %v", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := s.Do(t.Context(), fillJob(1, &got)); !errors.Is(err, ErrClosed) || got != nil {
		t.Errorf("a closed session: got %v", err)
	}
}

// keeping is a queue that keeps launches.
type keeping struct {
	driver.Queue
	kept []driver.Launch
	on   bool
}

func (k *keeping) Launch(l driver.Launch) error {
	if k.on {
		k.kept = append(k.kept, l)
		return nil
	}
	return k.Queue.Launch(l)
}

func (k *keeping) Capture(f func() error) (driver.Graph, error) {
	k.on = true
	defer func() { k.on = false }()
	return (*keptGraph)(k), f()
}

type keptGraph keeping

func (g *keptGraph) Launch(q driver.Queue) error {
	for _, l := range g.kept {
		if err := q.(*keeping).Launch(l); err != nil {
			return err
		}
	}
	return nil
}

func (g *keptGraph) Close() error { return nil }

// TestJobCapture: a job's queue keeps launches where the session's does; running them is one launch.
func TestJobCapture(t *testing.T) {
	s := newSession(t, Config{Device: GPU})
	free := <-s.turns
	free[onGPU] = &keeping{Queue: free[onGPU]}
	s.turns <- free
	got := make([]float32, 3)
	err := s.Do(t.Context(), Job{Name: "kept", Run: func(_ context.Context, d driver.Device, q driver.Queue) error {
		m, err := d.Alloc(driver.Float32, 3)
		if err != nil {
			return err
		}
		g, err := q.(driver.Capturer).Capture(func() error {
			one, all := driver.At(m, 1), driver.At(m, 0)
			return errors.Join(
				q.Launch(driver.Launch{Func: "fill", Args: []driver.Arg{all, driver.Float(5), driver.Int(3)}}),
				q.Launch(driver.Launch{Func: "fill", Args: []driver.Arg{one, driver.Float(6), driver.Int(1)}}))
		})
		if err != nil {
			return err
		}
		return errors.Join(q.CopyIn(m, 0, got), g.Launch(q), g.Launch(q), q.CopyOut(got, m, 0), g.Close())
	}})
	if err != nil || !slices.Equal(got, []float32{5, 6, 5}) {
		t.Errorf("got %v, %v", got, err)
	}
	if m := s.Metrics(); m.Launches != 2 {
		t.Errorf("%d launches, want 2", m.Launches)
	}
	var plain []float32
	if err := s.Do(t.Context(), fillJob(2, &plain)); err != nil {
		t.Error(err)
	}
}
