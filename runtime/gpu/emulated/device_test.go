//go:build cuda

package emulated_test

import (
	"context"
	"errors"
	"math"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"cancha/runtime/gpu/driver"
)

// TestSizes: sizes that memory does not have, or that cannot be, are refused before anything runs.
func TestSizes(t *testing.T) {
	d := newDevice(t)
	m, zero, one := driver.At(d.memory, 0), driver.Float(0), driver.Float(1)
	index, err := d.Alloc(driver.Int32, 3)
	if err != nil {
		t.Fatal(err)
	}
	at := driver.At(index, 0)
	n := driver.Int
	for name, l := range map[string]driver.Launch{
		"fill":                    d.fill(0, 4),
		"below 0":                 d.fill(0, -1),
		"behind the offset":       {Func: "fill", Args: []driver.Arg{driver.At(d.memory, 2), zero, n(2)}},
		"vector_add":              {Func: "vector_add", Args: []driver.Arg{m, m, driver.At(d.memory, 1), n(3)}},
		"sgemm":                   {Func: "sgemm", Args: []driver.Arg{n(0), n(0), n(3), n(1), n(2), one, m, m, zero, m}},
		"sgemm of a huge size":    {Func: "sgemm", Args: []driver.Arg{n(0), n(0), n(math.MaxInt32), n(1), n(math.MaxInt32), one, m, m, zero, m}},
		"conv2d":                  {Func: "conv2d", Args: []driver.Arg{m, m, m, n(1), n(1), n(2), n(2), n(1), n(1), n(1), n(0)}},
		"a filter that is larger": {Func: "conv2d", Args: []driver.Arg{m, m, m, n(1), n(1), n(1), n(1), n(1), n(2), n(1), n(0)}},
		"conv2d of a huge size":   {Func: "conv2d", Args: []driver.Arg{m, m, m, n(math.MaxInt32), n(math.MaxInt32), n(math.MaxInt32), n(9), n(1), n(1), n(1), n(math.MaxInt32)}},
		"gather_rows":             {Func: "gather_rows", Args: []driver.Arg{m, m, at, n(2), n(2)}},
		"gather":                  {Func: "gather", Args: []driver.Arg{at, at, driver.At(index, 1), n(3)}},
		"bias":                    {Func: "bias", Args: []driver.Arg{m, m, n(2), n(2)}},
		"column_sums":             {Func: "column_sums", Args: []driver.Arg{driver.At(d.memory, 3), m, n(1), n(1)}},
		"softmax_cross_entropy":   {Func: "softmax_cross_entropy", Args: []driver.Arg{m, m, m, at, n(2), n(2)}},
		"sum":                     {Func: "sum", Args: []driver.Arg{driver.At(d.memory, 3), m, n(0)}},
		"adam":                    {Func: "adam", Args: []driver.Arg{m, m, m, m, n(4), one, one, one, one, one, one}},
	} {
		if err := d.Launch(l); !errors.Is(err, driver.ErrLaunch) || errors.Is(err, driver.ErrLost) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	d.want(t, 1, 2, 3)
}

// TestIndices: an index that is not there gives NaN, or the least int, and reads nothing.
func TestIndices(t *testing.T) {
	d := newDevice(t)
	index, err := d.Alloc(driver.Int32, 3)
	if err != nil {
		t.Fatal(err)
	}
	if err := d.CopyIn(index, 0, []int32{3, -1, 2}); err != nil {
		t.Fatal(err)
	}
	out, err := d.Alloc(driver.Float32, 3)
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Launch(driver.Launch{Func: "gather_rows", Args: []driver.Arg{driver.At(out, 0), driver.At(d.memory, 0), driver.At(index, 0), driver.Int(3), driver.Int(1)}}); err != nil {
		t.Fatal(err)
	}
	got := make([]float32, 3)
	if err := d.CopyOut(got, out, 0); err != nil || got[0] == got[0] || got[1] == got[1] || got[2] != 3 {
		t.Errorf("rows: got %v, %v", got, err)
	}
	if err := d.Launch(driver.Launch{Func: "gather", Args: []driver.Arg{driver.At(index, 0), driver.At(index, 0), driver.At(index, 0), driver.Int(3)}}); err != nil {
		t.Fatal(err)
	}
	numbers := make([]int32, 3)
	if err := d.CopyOut(numbers, index, 0); err != nil || !slices.Equal(numbers[:2], []int32{math.MinInt32, math.MinInt32}) {
		t.Errorf("elements: got %v, %v", numbers, err)
	}
}

// TestPinned: pinned memory is copied from and to, and may be changed when the copy's call has returned.
func TestPinned(t *testing.T) {
	d := newDevice(t)
	slice, free, err := d.Device.(driver.Pinner).Pin(driver.Float32, 3)
	if err != nil {
		t.Fatal(err)
	}
	values := slice.([]float32)
	copy(values, []float32{4, 5, 6})
	if err := d.CopyIn(d.memory, 0, values); err != nil {
		t.Fatal(err)
	}
	clear(values)
	d.want(t, 4, 5, 6)
	if err := d.CopyOut(values[1:], d.memory, 0); err != nil || !slices.Equal(values, []float32{0, 4, 5}) {
		t.Errorf("got %v, %v", values, err)
	}
	if err := free(); err != nil {
		t.Error(err)
	}
	if err := free(); !errors.Is(err, driver.ErrClosed) {
		t.Errorf("freed twice: got %v", err)
	}
	t.Setenv(faultVariable, "pin=1")
	if _, _, err := d.Device.(driver.Pinner).Pin(driver.Float32, 3); !errors.Is(err, driver.ErrOutOfMemory) {
		t.Errorf("without memory: got %v", err)
	}
}

// TestGraph: what was kept runs as often as it is launched, on any queue, and beside work of the queue that it was kept on.
func TestGraph(t *testing.T) {
	d := newDevice(t)
	x, out := make([]float32, 50_000), make([]float32, 1)
	for i := range x {
		x[i] = float32(i % 7)
	}
	long, err := d.Alloc(driver.Float32, len(x))
	if err != nil {
		t.Fatal(err)
	}
	if err := d.CopyIn(long, 0, x); err != nil {
		t.Fatal(err)
	}
	add := driver.Launch{Func: "vector_add", Args: []driver.Arg{driver.At(d.memory, 0), driver.At(d.memory, 0), driver.At(d.memory, 0), driver.Int(2)}}
	sum := driver.Launch{Func: "sum", Args: []driver.Arg{driver.At(d.memory, 2), driver.At(long, 0), driver.Int(len(x))}}
	stop := errors.New("stop")
	if _, err := d.Queue.(driver.Capturer).Capture(func() error { return stop }); !errors.Is(err, stop) {
		t.Errorf("a capture that fails: got %v", err)
	}
	g, err := d.Queue.(driver.Capturer).Capture(func() error {
		if err := d.CopyOut(out, d.memory, 0); err == nil || !strings.Contains(err.Error(), "keeps launches for a graph") {
			t.Errorf("a copy: got %v", err)
		}
		return errors.Join(d.Launch(add), d.Launch(add), d.Launch(sum))
	})
	if err != nil {
		t.Fatal(err)
	}
	d.want(t, 1, 2, 3) // nothing has run
	other, err := d.NewQueue()
	if err != nil {
		t.Fatal(err)
	}
	for _, q := range []driver.Queue{d.Queue, other} {
		if err := errors.Join(g.Launch(q), q.Wait(t.Context())); err != nil {
			t.Fatal(err)
		}
	}
	want := float32(0)
	for _, v := range x {
		want += v
	}
	d.want(t, 16, 32, want)
	if err := long.Free(); err != nil {
		t.Error(err)
	}
	if err := g.Launch(other); !errors.Is(err, driver.ErrClosed) {
		t.Errorf("without its memory: got %v", err)
	}
	if err := g.Close(); err != nil {
		t.Error(err)
	}
	if err := g.Close(); !errors.Is(err, driver.ErrClosed) {
		t.Errorf("closed twice: got %v", err)
	}
	t.Setenv(faultVariable, "graph=1")
	if _, err := d.Queue.(driver.Capturer).Capture(func() error { return d.Launch(add) }); !errors.Is(err, driver.ErrOutOfMemory) {
		t.Errorf("a graph that cannot be made: got %v", err)
	}
	d.want(t, 16, 32, want)
}

// TestQueues: queues of several goroutines work at the same time, and a wait that is given up leaves the work going on.
func TestQueues(t *testing.T) {
	d := newDevice(t)
	var all sync.WaitGroup
	for i := range 4 {
		all.Go(func() { addUp(t, d.Device, float32(i+1)) })
	}
	all.Wait()
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	x, err := d.Alloc(driver.Float32, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	for range 20 {
		if err := d.Launch(driver.Launch{Func: "fill", Args: []driver.Arg{driver.At(x, 0), driver.Float(5), driver.Int(1 << 20)}}); err != nil {
			t.Fatal(err)
		}
	}
	if err := d.Wait(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a wait that takes too long: got %v", err)
	}
	got := make([]float32, 1)
	if err := d.CopyOut(got, x, 1<<20-1); err != nil || got[0] != 5 {
		t.Errorf("after it: got %v, %v", got, err)
	}
}

// addUp adds a number to itself on a queue of its own.
func addUp(t *testing.T, d driver.Device, value float32) {
	q, err := d.NewQueue()
	if err != nil {
		t.Error(err)
		return
	}
	defer q.Close()
	for range 20 {
		m, err := d.Alloc(driver.Float32, 100)
		if err != nil {
			t.Error(err)
			return
		}
		values := slices.Repeat([]float32{value}, 100)
		before, recorded := q.Record()
		got := make([]float32, 100)
		err = errors.Join(recorded, q.CopyIn(m, 0, values),
			q.Launch(driver.Launch{Func: "vector_add", Args: []driver.Arg{driver.At(m, 0), driver.At(m, 0), driver.At(m, 0), driver.Int(100)}}), q.CopyOut(got, m, 0), m.Free())
		if err != nil || got[0] != 2*value || !slices.Equal(got, slices.Repeat(got[:1], 100)) {
			t.Errorf("got %v…, %v, want %v", got[:2], err, 2*value)
		}
		after, err := q.Record()
		if err != nil {
			t.Error(err)
			return
		}
		if took, err := after.Since(before); err != nil || took <= 0 {
			t.Errorf("took %v, %v", took, err)
		}
	}
}

// TestCompile: a person's own funcs run, and what is wrong with a source names its line. NVRTC compiles without a GPU.
func TestCompile(t *testing.T) {
	if os.Getenv("CANCHA_NVRTC") == "" {
		t.Skip("CANCHA_NVRTC does not name a libnvrtc: scripts/cuda-env.sh gets one")
	}
	source, err := os.ReadFile("source/person.cu")
	if err != nil {
		t.Fatal(err)
	}
	d := newDevice(t)
	m, err := d.Device.(driver.Compiler).Compile(t.Context(), string(source))
	if err != nil {
		t.Fatal(err)
	}
	if got := m.Funcs(); !slices.Equal(got, []string{"scale", "turn"}) {
		t.Errorf("funcs: got %v", got)
	}
	whole, err := d.Alloc(driver.Int32, 6)
	if err != nil {
		t.Fatal(err)
	}
	if err := d.CopyIn(whole, 0, []int32{1, 2, 3, 4, 5, 6}); err != nil {
		t.Fatal(err)
	}
	grid, block := [3]int{1, 1, 1}, [3]int{3, 1, 1}
	scale := []driver.Arg{driver.At(d.memory, 0), driver.Float(2), driver.Int(2)}
	for _, l := range []driver.Launch{
		{Module: m, Func: "scale", Grid: grid, Block: block, Args: scale},
		{Module: m, Func: "turn", Grid: [3]int{2, 1, 1}, Block: block, Args: []driver.Arg{driver.At(whole, 0)}},
	} {
		if err := d.Launch(l); err != nil {
			t.Errorf("%s: %v", l.Func, err)
		}
	}
	d.want(t, 2, 4, 3)
	got := make([]int32, 6)
	if err := d.CopyOut(got, whole, 0); err != nil || !slices.Equal(got, []int32{3, 2, 1, 6, 5, 4}) {
		t.Errorf("turn: got %v, %v", got, err)
	}
	for name, l := range map[string]driver.Launch{
		"no such func":    {Module: m, Func: "nonsense", Grid: grid, Block: block},
		"too few":         {Module: m, Func: "scale", Grid: grid, Block: block, Args: scale[:2]},
		"int for a float": {Module: m, Func: "scale", Grid: grid, Block: block, Args: []driver.Arg{scale[0], driver.Int(1), driver.Int(1)}},
		"no grid":         {Module: m, Func: "scale", Block: block, Args: scale},
		"threads":         {Module: m, Func: "scale", Grid: grid, Block: [3]int{2048, 1, 1}, Args: scale},
	} {
		if err := d.Launch(l); !errors.Is(err, driver.ErrLaunch) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	if err := m.Close(); err != nil {
		t.Error(err)
	}
	if err := d.Launch(driver.Launch{Module: m, Func: "scale", Grid: grid, Block: block, Args: scale}); !errors.Is(err, driver.ErrClosed) {
		t.Errorf("a closed module: got %v", err)
	}
	_, err = d.Device.(driver.Compiler).Compile(t.Context(), "__global__ void f(int *x) {\n\tx[0] = y;\n}\n")
	if err == nil || !strings.Contains(err.Error(), `source.cu(2): error: identifier "y" is undefined`) {
		t.Errorf("a wrong source: got %v", err)
	}
}
