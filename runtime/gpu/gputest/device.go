package gputest

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"cancha/runtime/gpu/driver"
)

// TestDevice checks a device that open opens for each part of the suite.
func TestDevice(t *testing.T, open func(t *testing.T) driver.Device) {
	for name, test := range map[string]func(t *testing.T, d driver.Device){
		"info": testInfo, "copies": testCopies, "ranges": testRanges, "closed": testClosed, "launches refused": testRefused,
		"events": testEvents, "free": testFree, "queues": testQueues, "order": testOrder, "short memory": testShort, "labels": testLabels,
		"indices":       testIndices,
		"pinned memory": testPinned, "graph": testGraph, "compile": testCompile,
	} {
		t.Run(name, func(t *testing.T) {
			d := open(t)
			defer closeDevice(t, d)
			test(t, d)
		})
	}
	l, err := Library()
	if err != nil {
		t.Fatal(err)
	}
	t.Run("library", func(t *testing.T) { TestLibrary(t, open, l, broughtCases()) })
	for _, f := range driver.Funcs() {
		t.Run(f.Name, func(t *testing.T) {
			d := open(t)
			defer closeDevice(t, d)
			testFunc(t, d, f.Name)
		})
	}
}

func closeDevice(t *testing.T, d driver.Device) {
	if err := d.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
}

func testInfo(t *testing.T, d driver.Device) {
	if i := d.Info(); i.Name == "" || i.UUID == "" || i.Memory <= 0 || i.Cores <= 0 || i.BLAS == "" {
		t.Errorf("got %+v, want all that is known of a device", i)
	}
	free, total, err := d.Free()
	if err != nil || free <= 0 || free > total {
		t.Errorf("free: got %d of %d, %v", free, total, err)
	}
}

// queue returns a queue that is closed with the test.
func queue(t *testing.T, d driver.Device) driver.Queue {
	t.Helper()
	q, err := d.NewQueue()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = q.Close() })
	return q
}

// put returns memory that holds a slice.
func put(t *testing.T, d driver.Device, q driver.Queue, slice any) driver.Memory {
	t.Helper()
	kind, n, err := driver.SliceType(slice)
	if err != nil {
		t.Fatal(err)
	}
	m, err := d.Alloc(kind, n)
	if err != nil {
		t.Fatal(err)
	}
	if err := q.CopyIn(m, 0, slice); err != nil {
		t.Fatal(err)
	}
	return m
}

func testCopies(t *testing.T, d driver.Device) {
	q := queue(t, d)
	for _, n := range []int{0, 1, 7, 1 << 20, 3<<20 + 5} {
		copies(t, d, q, n, func(r *rand.Rand) float32 { return r.Float32() })
		copies(t, d, q, n, func(r *rand.Rand) float64 { return r.Float64() })
		copies(t, d, q, n, func(r *rand.Rand) int32 { return r.Int32() })
		copies(t, d, q, n, func(r *rand.Rand) uint8 { return uint8(r.Int()) })
		copies(t, d, q, n, func(r *rand.Rand) uint16 { return uint16(r.Int()) })
		copies(t, d, q, n, func(r *rand.Rand) uint32 { return r.Uint32() })
		copies(t, d, q, n, func(r *rand.Rand) int64 { return r.Int64() })
	}
}

// copies checks that a whole slice, and a part in its middle, come back as they went in.
func copies[T comparable](t *testing.T, d driver.Device, q driver.Queue, n int, value func(r *rand.Rand) T) {
	t.Helper()
	r := rand.New(rand.NewPCG(1, uint64(n)))
	in := make([]T, n)
	for i := range in {
		in[i] = value(r)
	}
	m := put(t, d, q, in)
	defer free(t, m)
	want := slices.Clone(in)
	clear(in) // the queue has its copy
	part := make([]T, n/3)
	for i := range part {
		part[i] = value(r)
	}
	copy(want[n/4:], part)
	if err := q.CopyIn(m, n/4, part); err != nil {
		t.Fatal(err)
	}
	got := make([]T, n)
	if err := q.CopyOut(got, m, 0); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(got, want) {
		t.Errorf("%d %s: not what was copied in", n, m.Type())
	}
	clear(part)
	if err := q.CopyOut(part, m, n/4); err != nil || !slices.Equal(part, want[n/4:][:len(part)]) {
		t.Errorf("%d %s: a part is not what was copied in: %v", n, m.Type(), err)
	}
}

func free(t *testing.T, m driver.Memory) {
	t.Helper()
	if err := m.Free(); err != nil {
		t.Errorf("free: %v", err)
	}
}

func testRanges(t *testing.T, d driver.Device) {
	q := queue(t, d)
	m := put(t, d, q, []float32{1, 2, 3})
	for name, err := range map[string]error{
		"too long":    q.CopyIn(m, 0, make([]float32, 4)),
		"offset":      q.CopyIn(m, 2, make([]float32, 2)),
		"below 0":     q.CopyOut(make([]float32, 1), m, -1),
		"other type":  q.CopyIn(m, 0, []int32{1}),
		"no slice":    q.CopyOut(7, m, 0),
		"other slice": q.CopyOut([]string{"a"}, m, 0),
	} {
		if err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if _, err := d.Alloc(driver.Float32, -1); err == nil {
		t.Error("memory of -1 elements was given")
	}
	if _, err := d.Alloc(driver.Type(99), 1); err == nil {
		t.Error("memory of an unknown type was given")
	}
	if _, err := d.Alloc(driver.Float64, 1<<50); !errors.Is(err, driver.ErrOutOfMemory) {
		t.Errorf("2^50 float64: got %v, want %v", err, driver.ErrOutOfMemory)
	}
	got := make([]float32, 3)
	if err := q.CopyOut(got, m, 0); err != nil || !slices.Equal(got, []float32{1, 2, 3}) {
		t.Errorf("after errors: got %v, %v", got, err)
	}
}

func testClosed(t *testing.T, d driver.Device) {
	q := queue(t, d)
	m := put(t, d, q, []float32{1})
	freed := put(t, d, q, []float32{1})
	free(t, freed)
	if err := freed.Free(); err == nil {
		t.Error("memory was freed twice")
	}
	if err := q.CopyIn(freed, 0, []float32{2}); !errors.Is(err, driver.ErrClosed) {
		t.Errorf("memory that was freed: got %v", err)
	}
	second := queue(t, d)
	if err := second.Close(); err != nil {
		t.Error(err)
	}
	if err := second.CopyIn(m, 0, []float32{2}); !errors.Is(err, driver.ErrClosed) {
		t.Errorf("a closed queue: got %v", err)
	}
	closeDevice(t, d)
	if _, err := d.Alloc(driver.Float32, 1); !errors.Is(err, driver.ErrClosed) {
		t.Errorf("alloc on a closed device: got %v", err)
	}
	if _, err := d.NewQueue(); !errors.Is(err, driver.ErrClosed) {
		t.Errorf("a queue of a closed device: got %v", err)
	}
	for name, err := range map[string]error{
		"copy in": q.CopyIn(m, 0, []float32{2}), "copy out": q.CopyOut(make([]float32, 1), m, 0), "wait": q.Wait(t.Context()),
		"launch": q.Launch(driver.Launch{Func: "fill", Args: []driver.Arg{driver.At(m, 0), driver.Float(1), driver.Int(1)}}),
	} {
		if !errors.Is(err, driver.ErrClosed) {
			t.Errorf("%s on a closed device: got %v", name, err)
		}
	}
}

func testRefused(t *testing.T, d driver.Device) {
	q := queue(t, d)
	m := put(t, d, q, []float32{1, 2})
	whole := put(t, d, q, []int32{1, 2})
	for name, l := range map[string]driver.Launch{
		"no such func":    {Func: "nonsense"},
		"too few":         {Func: "fill", Args: []driver.Arg{driver.At(m, 0)}},
		"a number":        {Func: "fill", Args: []driver.Arg{driver.Int(1), driver.Float(1), driver.Int(1)}},
		"int for a float": {Func: "fill", Args: []driver.Arg{driver.At(m, 0), driver.Int(1), driver.Int(1)}},
		"memory of int32": {Func: "fill", Args: []driver.Arg{driver.At(whole, 0), driver.Float(1), driver.Int(1)}},
		"offset":          {Func: "fill", Args: []driver.Arg{driver.At(m, 3), driver.Float(1), driver.Int(1)}},
		"no memory":       {Func: "fill", Args: []driver.Arg{driver.At(nil, 0), driver.Float(1), driver.Int(1)}},
	} {
		if err := q.Launch(l); err == nil {
			t.Errorf("%s: the launch was taken", name)
		}
	}
	got := make([]float32, 2)
	if err := q.CopyOut(got, m, 0); err != nil || !slices.Equal(got, []float32{1, 2}) {
		t.Errorf("after refusals: got %v, %v", got, err)
	}
}

func testEvents(t *testing.T, d driver.Device) {
	q := queue(t, d)
	m := put(t, d, q, make([]float32, 1<<20))
	begun := time.Now()
	before, err := q.Record()
	if err != nil {
		t.Fatal(err)
	}
	if err := q.Launch(driver.Launch{Func: "fill", Args: []driver.Arg{driver.At(m, 0), driver.Float(1), driver.Int(1 << 20)}}); err != nil {
		t.Fatal(err)
	}
	after, err := q.Record()
	if err != nil {
		t.Fatal(err)
	}
	if err := q.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	if took, err := after.Since(before); err != nil || took <= 0 || took > time.Since(begun) {
		t.Errorf("a launch took %v, %v", took, err)
	}
	stop := errors.New("stop")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(stop)
	if err := q.Wait(ctx); !errors.Is(err, stop) {
		t.Errorf("a wait that was ended: got %v", err)
	}
}

// testFree: memory that was freed can be had again.
func testFree(t *testing.T, d driver.Device) {
	available, _, err := d.Free()
	if err != nil {
		t.Fatal(err)
	}
	n := int(min(available/16, 256<<20) / 4)
	for range 40 {
		m, err := d.Alloc(driver.Float32, n)
		if err != nil {
			t.Fatal(err)
		}
		free(t, m)
	}
}
