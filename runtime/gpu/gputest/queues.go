package gputest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"testing"

	"cancha/runtime/gpu/driver"
)

// testQueues: goroutines that have a queue each work at the same time.
func testQueues(t *testing.T, d driver.Device) {
	var all sync.WaitGroup
	for i := range 4 {
		all.Go(func() {
			if err := double(d, float32(i+1)); err != nil {
				t.Errorf("queue %d: %v", i, err)
			}
		})
	}
	all.Wait()
}

// double adds numbers to themselves on a queue of its own, with memory of its own each time.
func double(d driver.Device, value float32) (err error) {
	q, err := d.NewQueue()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, q.Close()) }()
	values, got := slices.Repeat([]float32{value}, 100), make([]float32, 100)
	for range 20 {
		m, err := d.Alloc(driver.Float32, 100)
		if err != nil {
			return err
		}
		at := driver.At(m, 0)
		err = errors.Join(q.CopyIn(m, 0, values), q.Launch(driver.Launch{Func: "vector_add", Args: []driver.Arg{at, at, at, driver.Int(100)}}), q.CopyOut(got, m, 0), m.Free())
		if err != nil {
			return err
		}
		if !slices.Equal(got, slices.Repeat([]float32{2 * value}, 100)) {
			return errors.New("not what was queued")
		}
	}
	return nil
}

// testOrder: what a queue is given runs in that order, however long each piece takes, and a wait that is given up stops none of it.
func testOrder(t *testing.T, d driver.Device) {
	q := queue(t, d)
	const n = 1 << 20
	m := put(t, d, q, make([]float32, n))
	at := driver.At(m, 0)
	for range 10 {
		for _, l := range []driver.Launch{
			{Func: "fill", Args: []driver.Arg{at, driver.Float(1), driver.Int(n)}},
			{Func: "vector_add", Args: []driver.Arg{at, at, at, driver.Int(n)}},
			{Func: "fill", Args: []driver.Arg{at, driver.Float(5), driver.Int(1)}},
		} {
			if err := q.Launch(l); err != nil {
				t.Fatal(err)
			}
		}
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	stop := errors.New("stop")
	var waited sync.WaitGroup
	waited.Go(func() { cancel(stop) })
	if err := q.Wait(ctx); err != nil && !errors.Is(err, stop) {
		t.Errorf("a wait that may be ended: got %v", err)
	}
	waited.Wait()
	got := make([]float32, n)
	if err := q.CopyOut(got, m, 0); err != nil || got[0] != 5 || slices.Max(got[1:]) != 2 || slices.Min(got[1:]) != 2 {
		t.Errorf("got %v…, %v, want 5, 2, 2", got[:3], err)
	}
	for i := range got {
		got[i] = 3
	}
	if err := q.CopyIn(m, 0, got); err != nil {
		t.Fatal(err)
	}
	clear(got) // it is ours again
	if err := q.CopyOut(got, m, 0); err != nil || slices.Max(got) != 3 || slices.Min(got) != 3 {
		t.Errorf("got %v…, %v, want what was copied in", got[:3], err)
	}
}

// testShort: sizes that memory does not have are refused, and nothing is written.
func testShort(t *testing.T, d driver.Device) {
	q := queue(t, d)
	m, index := put(t, d, q, []float32{1, 2, 3}), put(t, d, q, []int32{0, 0, 0})
	at, i, n, zero, one := driver.At(m, 0), driver.At(index, 0), driver.Int, driver.Float(0), driver.Float(1)
	for name, l := range map[string]driver.Launch{
		"fill":                    {Func: "fill", Args: []driver.Arg{at, zero, n(4)}},
		"behind an offset":        {Func: "fill", Args: []driver.Arg{driver.At(m, 2), zero, n(2)}},
		"sgemm":                   {Func: "sgemm", Args: []driver.Arg{n(0), n(0), n(3), n(1), n(2), one, at, at, zero, at}},
		"conv2d":                  {Func: "conv2d", Args: []driver.Arg{at, at, at, n(1), n(1), n(2), n(2), n(1), n(1), n(1), n(0)}},
		"a filter that is larger": {Func: "conv2d", Args: []driver.Arg{at, at, at, n(1), n(1), n(1), n(1), n(1), n(2), n(1), n(0)}},
		"sum":                     {Func: "sum", Args: []driver.Arg{driver.At(m, 3), at, n(0)}},
		"gather":                  {Func: "gather", Args: []driver.Arg{i, i, driver.At(index, 3), n(1)}},
	} {
		if err := q.Launch(l); !errors.Is(err, driver.ErrLaunch) || errors.Is(err, driver.ErrLost) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	holds(t, q, m, 1, 2, 3)
}

// testIndices: an index that is none makes its row NaN, or its element the least int, and no other.
func testIndices(t *testing.T, d driver.Device) {
	q := queue(t, d)
	x, classes := put(t, d, q, []float32{1, 2, 3, 4}), put(t, d, q, []int32{5, 6})
	index := put(t, d, q, []int32{1, -1, 0, 2, math.MinInt32, math.MaxInt32})
	rows, labels := put(t, d, q, make([]float32, 12)), put(t, d, q, make([]int32, 6))
	err := errors.Join(
		q.Launch(driver.Launch{Func: "gather_rows", Args: []driver.Arg{driver.At(rows, 0), driver.At(x, 0), driver.At(index, 0), driver.Int(6), driver.Int(2)}}),
		q.Launch(driver.Launch{Func: "gather", Args: []driver.Arg{driver.At(labels, 0), driver.At(classes, 0), driver.At(index, 0), driver.Int(6)}}))
	if err != nil {
		t.Fatal(err)
	}
	gotRows, gotLabels := make([]float32, 12), make([]int32, 6)
	if err := errors.Join(q.CopyOut(gotRows, rows, 0), q.CopyOut(gotLabels, labels, 0)); err != nil {
		t.Fatal(err)
	}
	const least = math.MinInt32
	if want := "[3 4 NaN NaN 1 2 NaN NaN NaN NaN NaN NaN]"; fmt.Sprint(gotRows) != want {
		t.Errorf("got %v, want %v", gotRows, want)
	}
	if want := []int32{6, least, 5, least, least, least}; !slices.Equal(gotLabels, want) {
		t.Errorf("got %v, want %v", gotLabels, want)
	}
}

// testLabels: a label that is no class makes its row NaN, and no other.
func testLabels(t *testing.T, d driver.Device) {
	q := queue(t, d)
	const rows, classes = 4, 3
	logits := put(t, d, q, make([]float32, rows*classes))
	label := put(t, d, q, []int32{0, -1, 2, classes})
	loss := put(t, d, q, make([]float32, rows))
	err := q.Launch(driver.Launch{Func: "softmax_cross_entropy", Args: []driver.Arg{
		driver.At(loss, 0), driver.At(logits, 0), driver.At(logits, 0), driver.At(label, 0), driver.Int(rows), driver.Int(classes),
	}})
	if err != nil {
		t.Fatal(err)
	}
	gotLoss, gotGradient := make([]float32, rows), make([]float32, rows*classes)
	if err := errors.Join(q.CopyOut(gotLoss, loss, 0), q.CopyOut(gotGradient, logits, 0)); err != nil {
		t.Fatal(err)
	}
	for i, v := range append(gotGradient, gotLoss...) {
		row := i / classes
		if i >= len(gotGradient) {
			row = i - len(gotGradient)
		}
		if got, want := math.IsNaN(float64(v)), row%2 == 1; got != want {
			t.Errorf("row %d: got %v", row, v)
		}
	}
	if math.Abs(float64(gotLoss[0])-math.Log(classes)) > 1e-5 || math.Abs(float64(gotGradient[1])-1.0/classes/rows) > 1e-6 {
		t.Errorf("got loss %v, gradient %v", gotLoss[0], gotGradient[:classes])
	}
}
