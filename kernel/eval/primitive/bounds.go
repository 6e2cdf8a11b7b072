package primitive

import (
	"fmt"
	"math"
	"strings"
)

// Index checks an index and returns it.
func (m *Machine) Index(i, length int) int {
	if i < 0 || i >= length {
		panic(indexError(number(i, false), length))
	}
	return i
}

// IndexUnsigned is Index for one of an unsigned type.
func (m *Machine) IndexUnsigned(i uint64, length int) int {
	if i > math.MaxInt || int(i) >= length {
		panic(indexError(number(int(i), true), length))
	}
	return int(i)
}

// number is an index or a bound as it is written; one without a sign may be larger than an int.
func number(i int, unsigned bool) string {
	if unsigned {
		return fmt.Sprint(uint64(i))
	}
	return fmt.Sprint(i)
}

func indexError(i string, length int) boundsError {
	if strings.HasPrefix(i, "-") {
		return boundsError("index out of range [" + i + "]")
	}
	return boundsError(fmt.Sprintf("index out of range [%s] with length %d", i, length))
}

// Bounds checks the bounds of a slice expression: i of x[i:], j of x[:j], k of x[::k]; given names those that are written, in
// upper case those of unsigned types. The capacity is -1 for a string, k is -1 where it is not written.
func (m *Machine) Bounds(given string, i, j, k, length, capacity int) {
	limit, what := capacity, "capacity"
	if capacity < 0 {
		limit, what = length, "length"
	}
	text := func(n int, letter string) string { return number(n, strings.Contains(given, letter)) }
	three := strings.ContainsAny(given, "kK")
	switch {
	case three && (k < 0 || k > limit):
		panic(sliceError("[::%s]", what, text(k, "K"), limit))
	case three && (j < 0 || j > k):
		panic(crossedError("[:%s:%s]", text(j, "J"), text(k, "K")))
	case !three && strings.ContainsAny(given, "jJ") && (j < 0 || j > limit):
		panic(sliceError("[:%s]", what, text(j, "J"), limit))
	case three && (i < 0 || i > j):
		panic(crossedError("[%s:%s:]", text(i, "I"), text(j, "J")))
	case i < 0 || i > j:
		panic(crossedError("[%s:%s]", text(i, "I"), text(j, "J")))
	}
}

// sliceError is a bound beyond the end, of which form says where it is written.
func sliceError(form, what, bound string, limit int) boundsError {
	text := "slice bounds out of range " + fmt.Sprintf(form, bound)
	if strings.HasPrefix(bound, "-") {
		return boundsError(text)
	}
	return boundsError(fmt.Sprintf("%s with %s %d", text, what, limit))
}

// crossedError is a bound beyond the one behind it.
func crossedError(form, low, high string) boundsError {
	if strings.HasPrefix(low, "-") {
		form = strings.Replace(form, "%s:%s", "%s:", 1)
		return boundsError("slice bounds out of range " + fmt.Sprintf(form, low))
	}
	return boundsError("slice bounds out of range " + fmt.Sprintf(form, low, high))
}

// NilPointer panics as following a nil pointer does.
func (m *Machine) NilPointer() { panic(errNilPointer) }

// rangeFaults are the runtime's texts for the states of a range over a function in which its body cannot be called, and for a
// panic of the body that did not come through.
var rangeFaults = [...]runtimeError{
	1: "range function continued iteration after loop body panic",
	2: "range function continued iteration after function for loop body returned false",
	3: "range function continued iteration after whole loop exit",
	4: "range function recovered a loop body panic and did not resume panicking",
}

// RangeFault panics with what the state of a range over a function means, and sets the state to that of a body that has panicked.
func (m *Machine) RangeFault(state *int) {
	fault := rangeFaults[*state]
	*state = 1
	panic(fault)
}
