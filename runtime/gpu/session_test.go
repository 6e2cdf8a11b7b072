package gpu

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"cancha/runtime/gpu/driver"
	"cancha/runtime/gpu/host"
	"cancha/runtime/session"
)

// second is a GPU for tests of sessions: the CPU under another name, with as much memory as the test says, that fails when it is told to.
type second struct {
	host.Driver
	memory int64

	mu       sync.Mutex
	taken    int64
	lost     bool
	fails    error        // of the next launch
	fill     func() error // called by each copy in
	pending  int          // copies in that were not waited for
	pins     int          // pinned memory that is not given back
	readings int          // of the sensors
	blind    error        // of the sensors
}

func (s *second) Devices(ctx context.Context) ([]driver.Info, error) {
	all, err := s.Driver.Devices(ctx)
	all[0].Name, all[0].UUID, all[0].Emulated = "second", "GPU-second", true
	return all, err
}

func (s *second) Open(ctx context.Context, index int, o driver.Options) (driver.Device, error) {
	d, err := s.Driver.Open(ctx, index, o)
	return &secondDevice{d, s}, err
}

type secondDevice struct {
	driver.Device
	of *second
}

func (d *secondDevice) Info() driver.Info {
	all, _ := d.of.Devices(context.Background())
	return all[0]
}

func (d *secondDevice) Alloc(t driver.Type, n int) (driver.Memory, error) {
	d.of.mu.Lock()
	defer d.of.mu.Unlock()
	size := int64(n) * int64(t.Size())
	switch {
	case d.of.lost:
		return nil, driver.ErrLost
	case d.of.taken+size > d.of.memory:
		return nil, fmt.Errorf("%d bytes: %w", size, driver.ErrOutOfMemory)
	}
	m, err := d.Device.Alloc(t, n)
	if err == nil {
		d.of.taken += size
	}
	return &secondMemory{m, d.of}, err
}

func (d *secondDevice) NewQueue() (driver.Queue, error) {
	q, err := d.Device.NewQueue()
	return &secondQueue{q, d.of}, err
}

func (d *secondDevice) Pin(t driver.Type, n int) (slice any, free func() error, err error) {
	d.of.mu.Lock()
	defer d.of.mu.Unlock()
	d.of.pins++
	return make([]float32, n), func() error {
		d.of.mu.Lock()
		defer d.of.mu.Unlock()
		d.of.pins--
		return nil
	}, nil
}

func (d *secondDevice) Read() (driver.Reading, error) {
	d.of.mu.Lock()
	defer d.of.mu.Unlock()
	d.of.readings++
	return driver.Reading{Utilization: .5, Memory: 3e6, Power: math.NaN(), Temperature: 40}, d.of.blind
}

type secondMemory struct {
	driver.Memory
	of *second
}

func (m *secondMemory) Free() error {
	m.of.mu.Lock()
	defer m.of.mu.Unlock()
	m.of.taken -= int64(m.Len()) * int64(m.Type().Size())
	return m.Memory.Free()
}

type secondQueue struct {
	driver.Queue
	of *second
}

func (q *secondQueue) CopyIn(dst driver.Memory, offset int, src any) error {
	q.of.mu.Lock()
	defer q.of.mu.Unlock()
	if q.of.fill != nil {
		if err := q.of.fill(); err != nil {
			return err
		}
	}
	q.of.pending++
	return q.Queue.CopyIn(dst.(*secondMemory).Memory, offset, src)
}

func (q *secondQueue) Wait(ctx context.Context) error {
	err := q.Queue.Wait(ctx)
	if err == nil {
		q.of.mu.Lock()
		defer q.of.mu.Unlock()
		q.of.pending = 0
	}
	return err
}

func (q *secondQueue) CopyOut(dst any, src driver.Memory, offset int) error {
	return q.Queue.CopyOut(dst, src.(*secondMemory).Memory, offset)
}

func (q *secondQueue) Launch(l driver.Launch) error {
	q.of.mu.Lock()
	lost, err := q.of.lost, q.of.fails
	q.of.fails = nil
	q.of.mu.Unlock()
	if lost {
		err = driver.ErrLost
	}
	if err != nil {
		return fmt.Errorf("launch %s: %w", l.Func, err)
	}
	l.Args = slices.Clone(l.Args)
	for i, a := range l.Args {
		if m, ok := a.Memory.(*secondMemory); ok {
			l.Args[i].Memory = m.Memory
		}
	}
	return q.Queue.Launch(l)
}

func newSession(t *testing.T, c Config) *Session {
	t.Helper()
	if c.drivers == nil {
		c.drivers = []driver.Driver{&second{memory: 1 << 30}}
	}
	c.locks = t.TempDir()
	s, err := NewSession(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func buffer(t *testing.T, s *Session, values ...float32) *Float32s {
	t.Helper()
	b, err := NewFloat32s(s, values)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func want(t *testing.T, b *Float32s, values ...float32) {
	t.Helper()
	if got, err := b.Values(t.Context()); err != nil || !slices.Equal(got, values) {
		t.Errorf("got %v, %v, want %v", got, err, values)
	}
}

func TestOperationsRunWhereTheyAreTold(t *testing.T) {
	for target, reason := range map[Target]string{CPU: "the device is set to cpu", GPU: "the device is set to gpu", Auto: ""} {
		s := newSession(t, Config{Device: target})
		if gpu := s.places[onGPU]; gpu != nil {
			gpu.speed = s.places[onCPU].speed // as fast, but for the copies
		}
		a, b, out := buffer(t, s, 1, 2), buffer(t, s, 10, 20), buffer(t, s, 0, 0)
		if err := VectorAdd(t.Context(), out, a, b); err != nil {
			t.Fatal(err)
		}
		if err := VectorAdd(t.Context(), a, a, out); err != nil {
			t.Fatal(err)
		}
		want(t, out, 11, 22)
		want(t, a, 12, 24)
		d := s.Explain().Decisions
		if len(d) != 2 || d[0].Operation != "vector add" || reason != "" && d[0].Reason != reason || d[0].Actual <= 0 {
			t.Errorf("%s: got %+v", target, d)
		}
		if target == Auto && (d[0].Place != "CPU" || !strings.Contains(d[0].Reason, "break-even") && !strings.Contains(d[0].Reason, "copying")) {
			t.Errorf("two numbers that are not there went to the %s: %s", d[0].Place, d[0].Reason)
		}
	}
}

// TestFullGPU: what is not used makes room, and comes back; what cannot fit runs on the CPU, or is an error where that is asked for.
func TestFullGPU(t *testing.T) {
	fill := make([]float32, 1<<16)
	for _, required := range []bool{false, true} {
		d := &second{memory: 1 << 30}
		s := newSession(t, Config{Device: GPU, Required: required, drivers: []driver.Driver{d}})
		d.mu.Lock()
		d.memory = 1 << 20
		d.mu.Unlock()
		var all []*Float32s
		for range 6 {
			a := buffer(t, s, fill...)
			if err := VectorAdd(t.Context(), a, a, buffer(t, s, fill...)); err != nil {
				t.Fatal(err)
			}
			all = append(all, a)
		}
		for _, b := range all {
			want(t, b, fill...)
		}
		if m := s.Metrics(); m.Evicted == 0 || m.OutOfMemory == 0 || m.Fallbacks != 0 || m.PeakMemory > 1<<20 {
			t.Errorf("got %+v", m)
		}
		large := buffer(t, s, make([]float32, 1<<19)...)
		err := VectorAdd(t.Context(), large, large, large)
		if required && !errors.Is(err, driver.ErrOutOfMemory) || !required && err != nil {
			t.Errorf("required %v: got %v", required, err)
		}
		if !required && !strings.Contains(s.Explain().String(), "the GPU failed: ") {
			t.Errorf("not explained:\n%s", s.Explain())
		}
		for _, b := range append(all, large) {
			if err := b.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}

func TestLostGPU(t *testing.T) {
	d := &second{memory: 1 << 30}
	s := newSession(t, Config{Device: GPU, drivers: []driver.Driver{d}})
	a, b := buffer(t, s, 1), buffer(t, s, 2)
	there := buffer(t, s, 0)
	if err := VectorAdd(t.Context(), there, a, b); err != nil {
		t.Fatal(err)
	}
	d.mu.Lock()
	d.lost = true
	d.mu.Unlock()
	out := buffer(t, s, 0)
	for range 2 {
		if err := VectorAdd(t.Context(), out, a, b); err != nil {
			t.Fatal(err)
		}
		want(t, out, 3)
	}
	if !strings.Contains(s.Explain().String(), "the GPU is lost") {
		t.Errorf("not explained:\n%s", s.Explain())
	}
	if m := s.Metrics(); m.Fallbacks != 2 {
		t.Errorf("%d operations went to the CPU, want 2", m.Fallbacks)
	}
}

// TestLostRequiredGPU: where a GPU is required, nothing runs without it.
func TestLostRequiredGPU(t *testing.T) {
	d := &second{memory: 1 << 30}
	s := newSession(t, Config{Required: true, Device: GPU, drivers: []driver.Driver{d}})
	a := buffer(t, s, 1)
	d.mu.Lock()
	d.lost = true
	d.mu.Unlock()
	for range 3 {
		if err := VectorAdd(t.Context(), a, a, a); !errors.Is(err, driver.ErrLost) {
			t.Errorf("got %v", err)
		}
	}
	want(t, a, 1)
}

// TestRefusedLaunch: an operation that is interrupted or refused before it is launched leaves what it would have changed, and one that the
// GPU had no memory for is done from that by the CPU.
func TestRefusedLaunch(t *testing.T) {
	d := &second{memory: 1 << 30}
	s := newSession(t, Config{Device: GPU, drivers: []driver.Driver{d}})
	weight, gradient, m, v := buffer(t, s, 1), buffer(t, s, 2), buffer(t, s, 0), buffer(t, s, 0)
	adam := func(ctx context.Context) error { return AdamStep(ctx, weight, gradient, m, v, 1, Adam{Rate: .5}) }
	if err := adam(t.Context()); err != nil { // all are on the GPU, and but for the gradient nowhere else
		t.Fatal(err)
	}
	before, err := weight.Values(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	stop := errors.New("stop")
	ctx, cancel := context.WithCancelCause(t.Context())
	d.fill = func() error { cancel(stop); return nil }
	if err := gradient.Set(t.Context(), []float32{3}); err != nil { // to be copied again
		t.Fatal(err)
	}
	if err := adam(ctx); !errors.Is(err, stop) {
		t.Errorf("interrupted: got %v", err)
	}
	d.fill, d.fails = nil, driver.ErrLaunch
	if err := adam(t.Context()); !errors.Is(err, driver.ErrLaunch) {
		t.Errorf("refused: got %v", err)
	}
	want(t, weight, before...)
	one, c := buffer(t, s, 1), buffer(t, s, 0)
	for _, d.fails = range []error{nil, driver.ErrOutOfMemory} {
		if err := Sgemm(t.Context(), false, false, 1, 1, 1, 1, one, one, 1, c); err != nil {
			t.Fatal(err)
		}
	}
	want(t, c, 2)
}

// TestFailedOperationWaits: the buffers of an operation that fails are not used any more when it has returned.
func TestFailedOperationWaits(t *testing.T) {
	d := &second{memory: 1 << 30}
	s := newSession(t, Config{Device: GPU, drivers: []driver.Driver{d}})
	a, b := buffer(t, s, 1), buffer(t, s, 2)
	failure := errors.New("failure")
	d.fill = func() error {
		if d.pending > 0 {
			return failure
		}
		return nil
	}
	if err := VectorAdd(t.Context(), a, a, b); !errors.Is(err, failure) {
		t.Fatalf("got %v", err)
	}
	if d.pending != 0 {
		t.Error("a copy was still under way")
	}
	want(t, a, 1)
}

func TestWithoutGPU(t *testing.T) {
	s := newSession(t, Config{drivers: []driver.Driver{}})
	if got := s.Explain().Missing; !strings.Contains(got, "without GPU code") {
		t.Errorf("got %q", got)
	}
	_, err := NewSession(t.Context(), Config{Required: true, drivers: []driver.Driver{}})
	if !errors.Is(err, driver.ErrNoDevice) {
		t.Errorf("required: got %v", err)
	}
}

func TestConfig(t *testing.T) {
	for name, c := range map[string]Config{"device": {Device: "tpu"}, "memory": {Memory: -1}, "both": {Device: CPU, Required: true}} {
		if _, err := NewSession(t.Context(), c); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// TestConfigured: the settings of a run reach its GPU session.
func TestConfigured(t *testing.T) {
	t.Setenv("CANCHA_DEVICE", "gpu")
	t.Setenv("CANCHA_GPU_AMOUNT", "0.5")
	run, err := session.Environment()
	if err != nil {
		t.Fatal(err)
	}
	c := Configured(run)
	c.drivers = []driver.Driver{&second{memory: 1 << 30}}
	s := newSession(t, c)
	if s.target != GPU || cap(s.turns) != 2 || s.config.Cores != run.Cores {
		t.Errorf("got %+v", s.config)
	}
}

func TestSecondSession(t *testing.T) {
	first := newSession(t, Config{Notebook: "a.ipynb"})
	c := Config{drivers: first.config.drivers, locks: first.config.locks}
	s, err := NewSession(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if !strings.Contains(s.Explain().Missing, "notebook a.ipynb") {
		t.Errorf("got %q", s.Explain().Missing)
	}
	c.Required = true
	if _, err := NewSession(t.Context(), c); !errors.Is(err, ErrHeld) {
		t.Errorf("required: got %v", err)
	}
}

// other is the second GPU's neighbour.
type other struct{ *second }

func (o other) Devices(ctx context.Context) ([]driver.Info, error) {
	all, err := o.second.Devices(ctx)
	all[0].UUID = "GPU-third"
	return all, err
}

// TestWaitForAny: who waits takes whichever GPU is given back first.
func TestWaitForAny(t *testing.T) {
	first := newSession(t, Config{drivers: []driver.Driver{&second{memory: 1 << 30}, other{&second{memory: 1 << 30}}}})
	c := Config{Required: true, drivers: first.config.drivers, locks: first.config.locks}
	neighbour, err := NewSession(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	defer neighbour.Close()
	if _, err := NewSession(t.Context(), c); !errors.Is(err, ErrHeld) {
		t.Errorf("both are held: got %v", err)
	}
	given := time.AfterFunc(100*time.Millisecond, func() { _ = first.Close() })
	defer given.Stop()
	c.Wait = 10 * time.Second
	s, err := NewSession(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

func TestClosed(t *testing.T) {
	s := newSession(t, Config{Device: GPU})
	a, b := buffer(t, s, 1), buffer(t, s, 2)
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	if err := VectorAdd(t.Context(), b, a, b); !errors.Is(err, ErrClosed) {
		t.Errorf("a closed buffer: got %v", err)
	}
	other := newSession(t, Config{Device: CPU})
	if err := VectorAdd(t.Context(), b, b, buffer(t, other, 1)); err == nil {
		t.Error("a buffer of another session was taken")
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := NewFloat32s(s, []float32{1}); !errors.Is(err, ErrClosed) {
		t.Errorf("a buffer of a closed session: got %v", err)
	}
	if err := VectorAdd(t.Context(), b, b, b); !errors.Is(err, ErrClosed) {
		t.Errorf("an operation of a closed session: got %v", err)
	}
	if _, err := b.Values(t.Context()); !errors.Is(err, ErrClosed) {
		t.Errorf("values of a closed session: got %v", err)
	}
	if err := b.Close(); err != nil {
		t.Error(err)
	}
}

// TestHolderIsTheNotebook: who names none is known by the notebook that Jupyter has started the kernel for.
func TestHolderIsTheNotebook(t *testing.T) {
	t.Setenv("JPY_SESSION_NAME", "folder/05.ipynb")
	if got := (Config{}).holder().Notebook; got != "folder/05.ipynb" {
		t.Errorf("got %q", got)
	}
	if got := (Config{Notebook: "own"}).holder().Notebook; got != "own" {
		t.Errorf("got %q, want the name that was given", got)
	}
}

// TestPinned: buffers have pinned memory as long as the pool lasts, and what a closed one had is had by the next.
func TestPinned(t *testing.T) {
	d := &second{memory: 1 << 30}
	s := newSession(t, Config{Device: GPU, Pinned: 20, drivers: []driver.Driver{d}})
	pins := func(want int) {
		t.Helper()
		d.mu.Lock()
		defer d.mu.Unlock()
		if d.pins != want {
			t.Errorf("%d buffers are pinned, want %d", d.pins, want)
		}
	}
	a, b, c := buffer(t, s, 1, 2), buffer(t, s, 3, 4), buffer(t, s, 0, 0)
	pins(2)
	if err := VectorAdd(t.Context(), c, a, b); err != nil {
		t.Fatal(err)
	}
	want(t, c, 4, 6)
	want(t, a, 1, 2)
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	pins(1)
	e := buffer(t, s, 5, 6)
	pins(2)
	if err := VectorAdd(t.Context(), e, e, c); err != nil {
		t.Fatal(err)
	}
	want(t, e, 9, 12)
}

func TestSamples(t *testing.T) {
	s := newSession(t, Config{})
	if err := s.Close(); err != nil { // waits for the first reading
		t.Fatal(err)
	}
	all := s.Samples()
	if len(all.List) == 0 || all.Missing != "" {
		t.Fatalf("got %+v", all)
	}
	if got := all.Utilization()[0]; got != .5 {
		t.Errorf("utilization: got %v", got)
	}
	raw, err := json.Marshal(all.List[0])
	if err != nil || strings.Contains(string(raw), "powerWatts") || !strings.Contains(string(raw), `"temperatureCelsius":40`) {
		t.Errorf("got %s, %v, want what is known", raw, err)
	}
	text := strings.Join(strings.Fields(all.String()), " ")
	if want := "utilization, % 50 50 50 memory, MB 3 3 3 power, W temperature, °C 40 40 40"; !strings.HasSuffix(text, want) {
		t.Errorf("got %q, want the end %q", text, want)
	}
}

// TestSamplesFail: sensors that fail for a while are read again, and those that go on failing are not.
func TestSamplesFail(t *testing.T) {
	d := &second{memory: 1 << 30, blind: errors.New("busy")}
	s := newSession(t, Config{drivers: []driver.Driver{d}})
	readings := func(blind error) int {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.blind = blind
		return d.readings
	}
	time.Sleep(samplesEvery * 3 / 2)
	before := readings(nil)
	time.Sleep(samplesEvery * 3 / 2)
	if all := s.Samples(); before == 0 || len(all.List) == 0 || all.Missing != "" {
		t.Errorf("after %d that failed: got %+v", before, all)
	}
	before = readings(errors.New("gone"))
	time.Sleep(samplesEvery * (readingsFailed + 3))
	if got := readings(nil) - before; got > readingsFailed {
		t.Errorf("%d readings failed, want %d at most", got, readingsFailed)
	}
}

// TestSamplesMissing: why there are no readings is told.
func TestSamplesMissing(t *testing.T) {
	for name, c := range map[string]struct {
		config Config
		want   string
	}{
		"sensors fail": {Config{drivers: []driver.Driver{&second{memory: 1 << 30, blind: errors.New("no library")}}}, "no library"},
		"no GPU":       {Config{Device: CPU}, "the device is set to cpu"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSession(t, c.config)
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			if all := s.Samples(); len(all.List) > 0 || all.Missing != c.want {
				t.Errorf("got %+v, want %q", all, c.want)
			}
		})
	}
}

// TestConcurrentOperations: several goroutines share buffers and the GPU, and each sum is right.
func TestConcurrentOperations(t *testing.T) {
	s := newSession(t, Config{Device: GPU, Concurrent: 3})
	one, total := buffer(t, s, 1), buffer(t, s, 0)
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			for range 10 {
				if err := VectorAdd(t.Context(), total, total, one); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	want(t, total, 200)
}
