package gputest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"cancha/runtime/gpu/driver"
)

// call is a launch with what it is to leave in its memory.
type call struct {
	args []any       // slices, ints and float32s, in the order of the func's parameters
	want map[int]any // by argument: a slice of float64 or of int32; what is not named stays as it is
	at   float64     // the largest error that is allowed, as a part of 1 + the size of the value
}

// testFunc launches a func on random shapes, small and odd ones first.
func testFunc(t *testing.T, d driver.Device, name string) {
	make, ok := cases()[name]
	if !ok {
		t.Fatalf("the suite has no case for %s", name)
	}
	q := queue(t, d)
	check := func(c call) {
		t.Helper()
		if err := c.check(t, d, q, name); err != nil {
			t.Fatalf("%v: %v", c.numbers(), err)
		}
	}
	for i := range 40 {
		r := rand.New(rand.NewPCG(uint64(i), 7))
		most := []int{1, 2, 3, 9, 33, 70}[min(i/4, 5)]
		check(make(r, func() int { return r.IntN(most + 1) }))
	}
	r := rand.New(rand.NewPCG(41, 7))
	large := func() int { return 129 + r.IntN(170) }
	switch name {
	case "vector_add", "sum":
		return // the product of three sizes was large already
	case "sgemm":
		check(multiplication(r, 1500, 1540, 17, 0, 1, 1, 0)) // more tiles of any size than a GPU has multiprocessors
		check(multiplication(r, 40, 1, 3000, 1, 0, 1, 2))
	case "conv2d":
		check(convolution(r, 2, 1, 70, 66, 2, 64, 65, 1)) // a filter beyond a block's shared memory
		large = func() int { return 60 + r.IntN(50) }
	}
	check(make(r, large))
}

func (c call) numbers() (all []any) {
	for _, a := range c.args {
		switch a.(type) {
		case int, float32:
			all = append(all, a)
		}
	}
	return all
}

// check launches the call, with each slice somewhere inside memory that is larger, and looks at all of it then.
func (c call) check(t *testing.T, d driver.Device, q driver.Queue, name string) error {
	const before, behind = 3, 5
	l := driver.Launch{Func: name}
	memories := map[int]driver.Memory{}
	for i, a := range c.args {
		switch a := a.(type) {
		case int:
			l.Args = append(l.Args, driver.Int(a))
		case float32:
			l.Args = append(l.Args, driver.Float(a))
		case []float32:
			memories[i] = put(t, d, q, surrounded(a, before, behind))
			l.Args = append(l.Args, driver.At(memories[i], before))
		case []int32:
			memories[i] = put(t, d, q, surrounded(a, before, behind))
			l.Args = append(l.Args, driver.At(memories[i], before))
		}
	}
	if err := q.Launch(l); err != nil {
		return err
	}
	if err := q.Wait(t.Context()); err != nil {
		return err
	}
	for i, m := range memories {
		if err := c.compare(q, m, i, before, behind); err != nil {
			return fmt.Errorf("argument %d: %w", i, err)
		}
		free(t, m)
	}
	return nil
}

func surrounded[T int32 | float32](slice []T, before, behind int) []T {
	all := make([]T, before+len(slice)+behind)
	for i := range all {
		all[i] = 77
	}
	copy(all[before:], slice)
	return all
}

// compare looks at what is in an argument's memory: what is wanted, and what was there before around it.
func (c call) compare(q driver.Queue, m driver.Memory, i, before, behind int) error {
	var got, want []float64
	bound := 0.0
	switch a := c.args[i].(type) {
	case []int32:
		raw := make([]int32, m.Len())
		if err := q.CopyOut(raw, m, 0); err != nil {
			return err
		}
		got, want = floats(raw), floats(a)
		if w, ok := c.want[i].([]int32); ok {
			want = floats(w)
		}
	case []float32:
		raw := make([]float32, m.Len())
		if err := q.CopyOut(raw, m, 0); err != nil {
			return err
		}
		got, want = floats(raw), floats(a)
		if w, ok := c.want[i].([]float64); ok {
			want, bound = w, c.at
		}
	}
	for j, g := range got {
		w := 77.0
		if at := j - before; at >= 0 && at < len(want) {
			w = want[at]
		}
		same := g == w || math.IsNaN(g) && math.IsNaN(w) || math.Abs(g-w) <= bound*(1+math.Abs(w))
		if !same {
			return fmt.Errorf("element %d of %d is %v, want %v", j-before, len(want), g, w)
		}
	}
	return nil
}

func floats[T int32 | float32](slice []T) []float64 {
	all := make([]float64, len(slice))
	for i, v := range slice {
		all[i] = float64(v)
	}
	return all
}

func normal(r *rand.Rand, n int) []float32 {
	all := make([]float32, n)
	for i := range all {
		all[i] = float32(r.NormFloat64())
	}
	return all
}

// indices returns n numbers below most.
func indices(r *rand.Rand, n, most int) []int32 {
	all := make([]int32, n)
	for i := range all {
		all[i] = r.Int32N(int32(most))
	}
	return all
}
