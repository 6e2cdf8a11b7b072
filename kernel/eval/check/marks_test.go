package check

import (
	"fmt"
	"strings"
	"testing"
)

// TestNoMarks: nothing that a user is shown has the names by which types of several cells are told apart.
func TestNoMarks(t *testing.T) {
	s := libraryScope(t)
	s.Outside.Value = nil
	c, err := s.Check("cell 1", "type Point struct{ X int }\ntype Box[T any] struct{ v T; Of *T; M map[string]Box[T] }\nfunc (b *Box[T]) Get() T { return b.v }\ntype Two[A, B any] struct{ A A; B B }\n"+
		"box := &Box[Point]{}\ntwo := Two[Box[Point], map[string]*Two[Point, Point]]{}\nbyName := map[string]*Point{}\nfunc f(b Box[Two[Point, Point]]) []Box[Point] { return nil }")
	if err != nil {
		t.Fatal(err)
	}
	s.Lock()
	s.Commit(c)
	s.Unlock()
	for _, code := range []string{"box.", "box.G", "two.", "by", "f", "box.Of.", "box.M[\"", "byName[\""} {
		for _, m := range s.Complete(code, len(code)).Matches {
			if strings.Contains(fmt.Sprint(m), nameMark) {
				t.Errorf("completion of %s: %+v", code, m)
			}
		}
	}
	for _, code := range []string{"box", "box.Get", "two.B", "byName", "f", "Box", "box.Of", "box.M", "Two"} {
		for detail := range 2 {
			if got := fmt.Sprint(s.Inspect(code, len(code), detail)); strings.Contains(got, nameMark) {
				t.Errorf("inspection of %s: %s", code, got)
			}
		}
	}
	for _, code := range []string{"var x int = two", "var x int = f(1)", "box.Get() + 1", "two.B.C", "var x int = f"} {
		if _, err := s.Check("cell 2", code); err == nil || strings.Contains(err.Error(), nameMark) {
			t.Errorf("error of %s: %v", code, err)
		}
	}
	c, err = s.Check("cell 2", "func g() string { return \"\" }")
	if err != nil {
		t.Fatal(err)
	}
	s.Lock()
	s.Commit(c)
	s.Unlock()
	if _, err := s.Check("cell 3", "old := g\nfunc g() string { return old() }"); err == nil || !strings.Contains(err.Error(), "initialization cycle for old (g is the function that this cell declares; to keep the one before, put old := g into a cell") {
		t.Errorf("a function that wraps itself: got %v", err)
	}
}
