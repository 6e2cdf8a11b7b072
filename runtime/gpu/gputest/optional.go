package gputest

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"cancha/runtime/gpu/driver"
)

// UserSource is CUDA C++ as a user may write it in a cell. A device that is not real may know it in advance.
const UserSource = `extern "C" __global__ void scale(float *x, float by, int n) {
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n) x[i] *= by;
}

// Each block turns its elements around, in shared memory.
__global__ void turn(int *x) {
	__shared__ int all[64];
	int at = blockIdx.x * blockDim.x + threadIdx.x;
	all[blockDim.x - 1 - threadIdx.x] = x[at];
	__syncthreads();
	x[at] = all[threadIdx.x];
}
`

// testPinned: pinned memory is copied from and to, and may be changed when the copy's call has returned.
func testPinned(t *testing.T, d driver.Device) {
	p, ok := d.(driver.Pinner)
	if !ok {
		t.Skip("the device copies no faster from and to pinned memory")
	}
	slice, free, err := p.Pin(driver.Float32, 3)
	if err != nil {
		t.Fatal(err)
	}
	values, q := slice.([]float32), queue(t, d)
	copy(values, []float32{4, 5, 6})
	m := put(t, d, q, []float32{1, 2, 3})
	if err := q.CopyIn(m, 0, values); err != nil {
		t.Fatal(err)
	}
	clear(values)
	holds(t, q, m, 4, 5, 6)
	if err := q.CopyOut(values[1:], m, 0); err != nil || !slices.Equal(values, []float32{0, 4, 5}) {
		t.Errorf("got %v, %v", values, err)
	}
	if err := free(); err != nil {
		t.Error(err)
	}
	if err := free(); !errors.Is(err, driver.ErrClosed) {
		t.Errorf("freed twice: got %v", err)
	}
}

// holds looks at memory from its beginning on.
func holds(t *testing.T, q driver.Queue, m driver.Memory, values ...float32) {
	t.Helper()
	got := make([]float32, len(values))
	if err := q.CopyOut(got, m, 0); err != nil || !slices.Equal(got, values) {
		t.Errorf("got %v, %v, want %v", got, err, values)
	}
}

// testGraph: what was kept runs as often as it is launched, on any queue.
func testGraph(t *testing.T, d driver.Device) {
	q := queue(t, d)
	c, ok := q.(driver.Capturer)
	if !ok {
		t.Skip("the device's queues keep no launches")
	}
	x, total := make([]float32, 50_000), float32(0) // integers, so that any order of adding gives the same
	for i := range x {
		x[i] = float32(i % 7)
		total += x[i]
	}
	long, m := put(t, d, q, x), put(t, d, q, []float32{1, 2, 3})
	at := driver.At(m, 0)
	add := driver.Launch{Func: "vector_add", Args: []driver.Arg{at, at, at, driver.Int(2)}}
	sum := driver.Launch{Func: "sum", Args: []driver.Arg{driver.At(m, 2), driver.At(long, 0), driver.Int(len(x))}}
	double := driver.Launch{Func: "sgemm", Args: []driver.Arg{
		driver.Int(0), driver.Int(0), driver.Int(1), driver.Int(1), driver.Int(1), driver.Float(1), at, at, driver.Float(1), at,
	}} // m[0] += m[0]²
	stop := errors.New("stop")
	if _, err := c.Capture(func() error { return stop }); !errors.Is(err, stop) {
		t.Errorf("a capture that fails: got %v", err)
	}
	func() {
		defer func() {
			if p := recover(); p != stop {
				t.Errorf("a capture that panics: got %v", p)
			}
		}()
		_, _ = c.Capture(func() error { panic(stop) })
	}()
	g, err := c.Capture(func() error {
		if err := q.CopyOut(make([]float32, 1), m, 0); err == nil {
			t.Error("a copy was kept")
		}
		return errors.Join(q.Launch(add), q.Launch(double), q.Launch(sum))
	})
	if err != nil {
		t.Fatal(err)
	}
	holds(t, q, m, 1, 2, 3) // nothing has run
	for _, on := range []driver.Queue{q, queue(t, d)} {
		if err := errors.Join(g.Launch(on), on.Wait(t.Context())); err != nil {
			t.Fatal(err)
		}
	}
	holds(t, q, m, 156, 8, total) // 1 → 2 → 6 → 12 → 156
	free(t, long)
	if err := g.Launch(q); !errors.Is(err, driver.ErrClosed) {
		t.Errorf("without its memory: got %v", err)
	}
	if err := g.Close(); err != nil {
		t.Error(err)
	}
	if err := g.Close(); !errors.Is(err, driver.ErrClosed) {
		t.Errorf("closed twice: got %v", err)
	}
}

// testCompile: a user's own funcs run, and what is wrong with a source names its line.
func testCompile(t *testing.T, d driver.Device) {
	c, ok := d.(driver.Compiler)
	if !ok {
		t.Skip("the device takes no funcs of others")
	}
	m, err := c.Compile(t.Context(), UserSource)
	if err != nil && strings.Contains(err.Error(), "open NVRTC") {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	if got := m.Funcs(); !slices.Equal(got, []string{"scale", "turn"}) {
		t.Errorf("funcs: got %v", got)
	}
	q := queue(t, d)
	x, whole := put(t, d, q, []float32{1, 2, 3}), put(t, d, q, []int32{1, 2, 3, 4, 5, 6})
	grid, block := [3]int{1, 1, 1}, [3]int{3, 1, 1}
	scale := []driver.Arg{driver.At(x, 0), driver.Float(2), driver.Int(2)}
	for _, l := range []driver.Launch{
		{Module: m, Func: "scale", Grid: grid, Block: block, Args: scale},
		{Module: m, Func: "turn", Grid: [3]int{2, 1, 1}, Block: block, Args: []driver.Arg{driver.At(whole, 0)}},
	} {
		if err := q.Launch(l); err != nil {
			t.Errorf("%s: %v", l.Func, err)
		}
	}
	holds(t, q, x, 2, 4, 3)
	got := make([]int32, 6)
	if err := q.CopyOut(got, whole, 0); err != nil || !slices.Equal(got, []int32{3, 2, 1, 6, 5, 4}) {
		t.Errorf("turn: got %v, %v", got, err)
	}
	for name, l := range map[string]driver.Launch{
		"no such func":    {Module: m, Func: "nonsense", Grid: grid, Block: block},
		"too few":         {Module: m, Func: "scale", Grid: grid, Block: block, Args: scale[:2]},
		"int for a float": {Module: m, Func: "scale", Grid: grid, Block: block, Args: []driver.Arg{scale[0], driver.Int(1), driver.Int(1)}},
		"no grid":         {Module: m, Func: "scale", Block: block, Args: scale},
		"threads":         {Module: m, Func: "scale", Grid: grid, Block: [3]int{2048, 1, 1}, Args: scale},
	} {
		if err := q.Launch(l); !errors.Is(err, driver.ErrLaunch) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	if err := m.Close(); err != nil {
		t.Error(err)
	}
	if err := q.Launch(driver.Launch{Module: m, Func: "scale", Grid: grid, Block: block, Args: scale}); !errors.Is(err, driver.ErrClosed) {
		t.Errorf("a closed module: got %v", err)
	}
	_, err = c.Compile(t.Context(), "__global__ void f(int *x) {\n\tx[0] = y;\n}\n")
	if err == nil || !strings.Contains(err.Error(), `(2): error: identifier "y" is undefined`) {
		t.Errorf("a wrong source: got %v", err)
	}
}
