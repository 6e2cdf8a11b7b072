package check

import "testing"

// FuzzAsk asks about any code at any cursor: nothing may panic, and a completion replaces a part of the code.
func FuzzAsk(f *testing.F) {
	for _, code := range []string{
		"fmt.Printl", "for i := range 3 {\n\tfmt.Println(i", "p := P{Na", "import (\n\t\"str", "x := `open", "/* open", "𝔾.", "func (p P) M() {}; p.",
		"a, b := 1, func() int { return a }()\nfunc g() int { return b }", "switch x := y.(type) {\ncase ", "L: for { break L", "type T[A any] struct{ x A }; T[",
	} {
		f.Add(code, len(code))
	}
	packages, export := library()
	f.Fuzz(func(t *testing.T, code string, cursor int) {
		s := NewScope(packages, export)
		c := s.Complete(code, cursor)
		if n := codePoints(code); len(c.Matches) > 0 && (c.Start < 0 || c.End < c.Start || c.End > n) {
			t.Errorf("replaces [%d, %d) of %d code points", c.Start, c.End, n)
		}
		s.Inspect(code, cursor, 1)
		IsComplete(code)
		if _, err := s.Check("cell 1", code); err == nil && IsComplete(code).Status == "invalid" {
			t.Error("a cell that can be checked is called invalid")
		}
	})
}

func BenchmarkComplete(b *testing.B) {
	s := NewScope(library())
	s.Check("cell 1", "fmt.Print()")
	for b.Loop() {
		s.Complete("fmt.Print", 9)
	}
}

func BenchmarkCompleteUnimported(b *testing.B) {
	s := NewScope(library())
	for b.Loop() {
		s.Complete("sta", 3)
	}
}
