package gputest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"testing"

	"cancha/runtime/gpu/driver"
)

// Call is a launch with what it is to leave in its memory.
type Call struct {
	Args []any // slices, and numbers as driver.Int, Float, Long and Double take them, in the order of the func's parameters
	// Want is what is in the slices afterwards, by argument; what is not named stays as it is. A slice of the argument's own type is to be
	// met to the bit, but that one NaN is as good as another.
	Want map[int]any
	At   float64 // where Want has float64 for an argument of float32: the largest error that is allowed, as a part of 1 + the size of the value
}

// Case makes a random call of a func. size gives the next size: small and odd ones first, 0 among them.
type Case func(r *rand.Rand, size func() int) Call

// testFunc launches a func that every device has on random shapes.
func testFunc(t *testing.T, d driver.Device, name string) {
	make, ok := cases()[name]
	if !ok {
		t.Fatalf("the suite has no case for %s", name)
	}
	large := func(r *rand.Rand) func() int { return func() int { return 129 + r.IntN(170) } }
	r, q := rand.New(rand.NewPCG(41, 7)), queue(t, d)
	switch name {
	case "vector_add", "sum":
		large = nil // the product of three sizes is large already
	case "sgemm":
		multiplication(r, 1500, 1540, 17, 0, 1, 1, 0).must(t, d, q, name) // more tiles of any size than a GPU has multiprocessors
		multiplication(r, 40, 1, 3000, 1, 0, 1, 2).must(t, d, q, name)
	case "conv2d":
		convolution(r, 2, 1, 70, 66, 2, 64, 65, 1).must(t, d, q, name) // a filter beyond a block's shared memory
		large = func(r *rand.Rand) func() int { return func() int { return 60 + r.IntN(50) } }
	}
	testCase(t, d, name, make, large)
}

// testCase launches a func on random shapes, small and odd ones first, and large ones last.
func testCase(t *testing.T, d driver.Device, name string, make Case, large func(r *rand.Rand) func() int) {
	t.Helper()
	q := queue(t, d)
	for i := range 40 {
		r := rand.New(rand.NewPCG(uint64(i), 7))
		most := []int{1, 2, 3, 9, 33, 70}[min(i/4, 5)]
		make(r, func() int { return r.IntN(most + 1) }).must(t, d, q, name)
	}
	if large != nil {
		r := rand.New(rand.NewPCG(42, 7))
		make(r, large(r)).must(t, d, q, name)
	}
}

// must ends the test where the call does not leave what it should.
func (c Call) must(t *testing.T, d driver.Device, q driver.Queue, name string) {
	t.Helper()
	if err := c.check(t, d, q, name); err != nil {
		t.Fatalf("%v: %v", c.numbers(), err)
	}
}

func (c Call) numbers() (all []any) {
	for _, a := range c.Args {
		switch a.(type) {
		case int, int64, float32, float64:
			all = append(all, a)
		}
	}
	return all
}

// Slices lie somewhere inside memory that is larger, with this around them.
const (
	before, behind = 3, 5
	around         = 77
)

// launch is the call with memory of a device, by argument.
func (c Call) launch(t *testing.T, d driver.Device, q driver.Queue, name string) (driver.Launch, map[int]driver.Memory) {
	t.Helper()
	l, all := driver.Launch{Func: name}, map[int]driver.Memory{}
	for i, a := range c.Args {
		switch a := a.(type) {
		case int:
			l.Args = append(l.Args, driver.Int(a))
		case float32:
			l.Args = append(l.Args, driver.Float(a))
		case int64:
			l.Args = append(l.Args, driver.Long(a))
		case float64:
			l.Args = append(l.Args, driver.Double(a))
		default:
			all[i] = put(t, d, q, surrounded(t, a))
			l.Args = append(l.Args, driver.At(all[i], before))
		}
	}
	return l, all
}

// check launches the call and looks at all memory then.
func (c Call) check(t *testing.T, d driver.Device, q driver.Queue, name string) error {
	t.Helper()
	l, all := c.launch(t, d, q, name)
	if err := q.Launch(l); err != nil {
		return err
	}
	if err := q.Wait(t.Context()); err != nil {
		return err
	}
	for i, m := range all {
		if err := c.compare(q, m, i); err != nil {
			return fmt.Errorf("argument %d: %w", i, err)
		}
		free(t, m)
	}
	return nil
}

// surrounded returns a slice inside a larger one.
func surrounded(t *testing.T, slice any) any {
	t.Helper()
	kind, n, err := driver.SliceType(slice)
	if err != nil {
		t.Fatal(err)
	}
	all := driver.MakeSlice(kind, before+n+behind)
	v := reflect.ValueOf(all)
	filling := reflect.ValueOf(around).Convert(v.Type().Elem())
	for i := range before + behind {
		at := i
		if i >= before {
			at += n
		}
		v.Index(at).Set(filling)
	}
	driver.Copy(driver.Part(all, before, n), slice)
	return all
}

// compare looks at what is in an argument's memory: what is wanted, and what was there before around it.
func (c Call) compare(q driver.Queue, m driver.Memory, i int) error {
	want := c.Want[i]
	if want == nil {
		want = c.Args[i]
	}
	return same(q, m, want, c.At)
}

// unchanged looks whether an argument's memory is as it was before any launch.
func (c Call) unchanged(q driver.Queue, m driver.Memory, i int) error {
	return same(q, m, c.Args[i], 0)
}

// same compares memory with a slice that it is to hold, and what is around that.
func same(q driver.Queue, m driver.Memory, slice any, at float64) error {
	raw := driver.MakeSlice(m.Type(), m.Len())
	if err := q.CopyOut(raw, m, 0); err != nil {
		return err
	}
	got, want := reflect.ValueOf(raw), reflect.ValueOf(slice)
	filling := reflect.ValueOf(around).Convert(got.Type().Elem())
	for j := range got.Len() {
		w := filling
		if at := j - before; at >= 0 && at < want.Len() {
			w = want.Index(at)
		}
		if g := got.Index(j); !equal(g, w, at) {
			return fmt.Errorf("element %d of %d is %v, want %v", j-before, want.Len(), g, w)
		}
	}
	return nil
}

// equal compares two numbers: to the bit, but where they are of different types, of which got is the less precise.
func equal(got, want reflect.Value, at float64) bool {
	if !got.CanFloat() {
		return got.Equal(want)
	}
	g, w := got.Float(), want.Float()
	switch {
	case math.IsNaN(g) || math.IsNaN(w):
		return math.IsNaN(g) && math.IsNaN(w)
	case got.Kind() == want.Kind():
		return math.Float64bits(g) == math.Float64bits(w)
	}
	return g == w || math.Abs(g-w) <= at*(1+math.Abs(w))
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
