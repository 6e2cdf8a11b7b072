package eval

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"cancha/internal/cellio"
	"cancha/kernel/eval/check"
	"cancha/kernel/eval/magic"
	"cancha/kernel/eval/tester"
)

// isTest reports whether a magic runs tests.
func isTest(name string) bool { return name == "test" || name == "bench" }

// testFlags are the flags of %test, and of %bench: that it runs all benchmarks and no tests, unless others say otherwise. Given are those
// that the command has.
func testFlags(c *magic.Command) (given, flags []string, err error) {
	given, err = quotedFields(c.Args)
	if c.Name == "bench" {
		return given, append([]string{"-run=^$", "-bench=."}, given...), err
	}
	return given, given, err
}

// quotedFields splits at white space, but for that between quotes.
func quotedFields(text string) (fields []string, err error) {
	var field strings.Builder
	var quote rune
	begun := false
	for _, r := range text {
		switch {
		case quote == 0 && (r == '\'' || r == '"'):
			quote, begun = r, true
		case r == quote:
			quote = 0
		case quote == 0 && (r == ' ' || r == '\t' || r == '\r'):
			if begun {
				fields = append(fields, field.String())
			}
			field.Reset()
			begun = false
		default:
			field.WriteRune(r)
			begun = true
		}
	}
	if quote != 0 {
		return nil, fmt.Errorf("a quote (%c) is not closed", quote)
	}
	if begun {
		fields = append(fields, field.String())
	}
	return fields, nil
}

// test prepares %test and %bench: what is declared where it stands.
func (s *steps) test(c *magic.Command) (func() error, error) {
	if mode, reason := s.Engine(); !s.native.available() || mode == engineInterp {
		return nil, fail(c, "%%%s runs compiled functions: %s", c.Name, reason)
	}
	given, flags, err := testFlags(c)
	if err != nil {
		return nil, fail(c, "%%%s: %v", c.Name, err)
	}
	found := s.chosenTests(c, given)
	all := s.scope.Waiting()
	for _, w := range all { // go test would not run the others either
		if slices.ContainsFunc(w.Names, check.IsTest) {
			return nil, fail(c, "%%%s: %s (%s) cannot be used yet: no cell declares %s", c.Name, w, w.Cell, strings.Join(w.Needs(all), ", "))
		}
	}
	if len(found) == 0 {
		return nil, fail(c, "%%%s: no cell declares a function %s", c.Name, map[string]string{"test": "TestX(t *testing.T)", "bench": "BenchmarkX(b *testing.B)"}[c.Name])
	}
	r := &testRun{steps: s, suite: tester.Suite{Name: s.name}}
	for _, t := range found {
		if err := r.add(c, t); err != nil {
			return nil, err
		}
	}
	return func() error {
		failed, err := r.suite.Run(flags, cellio.Stdout)
		s.machine.Check() // after an interrupt it does not return
		switch {
		case err != nil:
			return fail(c, "%%%s: %v", c.Name, err)
		case failed:
			return &magicError{command: c, text: r.verdict(), name: "test failure"}
		}
		return nil
	}, nil
}

// chosenTests are those of the command's own cell, or of all cells: where it has none, or names are asked for.
func (s *steps) chosenTests(c *magic.Command, flags []string) []check.Test {
	all := s.scope.Tests()
	if slices.ContainsFunc(flags, func(f string) bool {
		name, _, _ := strings.Cut(strings.TrimLeft(f, "-"), "=")
		return strings.HasPrefix(f, "-") && (name == "run" || name == "bench" || name == "list")
	}) {
		return all
	}
	own := slices.DeleteFunc(slices.Clone(all), func(t check.Test) bool { return t.Cell != s.name })
	if slices.ContainsFunc(own, func(t check.Test) bool { return (t.Kind == "Benchmark") == (c.Name == "bench") }) {
		return own
	}
	return all
}

// testNames are the names of all tests.
func (p *Program) testNames() []string {
	var names []string
	for _, t := range p.scope.Tests() {
		names = append(names, t.Func.Name())
	}
	return names
}

// testRun is one run of tests.
type testRun struct {
	*steps
	suite tester.Suite

	mu     sync.Mutex
	failed []string
}

// add adds a function to the suite.
func (r *testRun) add(c *magic.Command, t check.Test) error {
	name := t.Func.Name()
	if name == "TestMain" && t.Signature() != "" {
		return fail(c, "%%%s: TestMain (%s:%d) is not supported: call what it prepares in the tests", c.Name, t.Cell, t.Line)
	}
	if want := t.Signature(); want != "" {
		return fail(c, "%%%s: wrong signature for %s (%s:%d), must be: %s", c.Name, name, t.Cell, t.Line, want)
	}
	v, ok := r.native.Function(t.Func)
	if !ok {
		return fail(c, "%%%s: %s was declared by an interpreted cell: run %s again", c.Name, name, t.Cell)
	}
	switch t.Kind {
	case "Test":
		r.suite.Tests = append(r.suite.Tests, testing.InternalTest{Name: name, F: func(t *testing.T) {
			t.Cleanup(func() { r.note(t) }) // made last
			r.machine.Test(t, func() { call(v, t) })
		}})
	case "Benchmark":
		r.suite.Benchmarks = append(r.suite.Benchmarks, testing.InternalBenchmark{Name: name, F: func(b *testing.B) {
			defer r.note(b)
			r.machine.Test(b, func() { call(v, b) })
		}})
	case "Fuzz":
		r.suite.Fuzz = append(r.suite.Fuzz, testing.InternalFuzzTarget{Name: name, Fn: func(f *testing.F) {
			f.Cleanup(func() { r.note(f) })
			r.machine.Test(f, func() { call(v, f) })
		}})
	case "Example":
		r.addExample(t, v)
	}
	return nil
}

// addExample adds an example that says what it prints.
func (r *testRun) addExample(t check.Test, v reflect.Value) {
	code, _ := r.sources.Load(t.Cell)
	source, _ := code.(string)
	for _, e := range check.Examples(magic.Parse(source).Go) {
		if "Example"+e.Name == t.Func.Name() && (e.Output != "" || e.EmptyOutput) {
			f := func() { call(v) }
			r.suite.Examples = append(r.suite.Examples, testing.InternalExample{Name: t.Func.Name(), F: r.machine.Example(f), Output: e.Output, Unordered: e.Unordered})
		}
	}
}

// call calls a function of a cell; the benchmark's loop is inside of it.
func call(f reflect.Value, args ...any) {
	values := make([]reflect.Value, len(args))
	for i, a := range args {
		values[i] = reflect.ValueOf(a)
	}
	f.Call(values)
}

// note keeps the name of a test that has failed.
func (r *testRun) note(t testing.TB) {
	if !t.Failed() {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if !slices.Contains(r.failed, t.Name()) {
		r.failed = append(r.failed, t.Name())
	}
}

// verdict says which tests have failed.
func (r *testRun) verdict() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.failed) == 0 { // an example
		return "an example failed"
	}
	return fmt.Sprintf("%s failed", strings.Join(r.failed, ", "))
}
