package support

import "io"

// Tester is what *testing.T, *testing.B and *testing.F have in common, as far as the machine needs it. Package testing itself would be
// linked into each cell's plugin.
type Tester interface {
	FailNow()
	Failed() bool
	SkipNow()
	Skipped() bool
	Output() io.Writer
}

// Test returns the function of a test, or a benchmark, as the machine runs it.
func Test[T Tester](m Machine, f func(T)) func(T) {
	if f == nil {
		return nil
	}
	return func(t T) { m.Test(t, func() { f(t) }) }
}

// Bubble is Test for synctest.Test.
func Bubble[T Tester](m Machine, f func(T)) func(T) {
	return func(t T) { m.Bubble(t, func() { f(t) }) }
}

// Cleanup is t.Cleanup(f).
func Cleanup(m Machine, t interface {
	Tester
	Cleanup(f func())
}, f func()) {
	t.Cleanup(func() { m.Test(t, f) })
}

// RunParallel is b.RunParallel(f).
func RunParallel[P any](m Machine, b interface {
	Tester
	RunParallel(f func(P))
}, f func(P)) {
	b.RunParallel(func(p P) { m.Test(b, func() { f(p) }) })
}
