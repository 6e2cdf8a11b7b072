package check

import (
	"go/ast"
	"go/parser"
	"go/types"
	"slices"
	"strings"
	"testing"
)

// sources is an importer of packages by their source.
type sources struct {
	s    *Scope
	text map[string]string // path → source
	made map[string]*types.Package
}

func (w sources) Import(path string) (*types.Package, error) {
	if p := w.made[path]; p != nil {
		return p, nil
	}
	f, err := parser.ParseFile(w.s.fset, path, w.text[path], 0)
	if err != nil {
		return nil, err
	}
	p, err := (&types.Config{Importer: w}).Check(path, w.s.fset, []*ast.File{f}, nil)
	w.made[path] = p
	return p, err
}

// newSources returns a scope over packages that are given by their sources.
func newSources(text map[string]string) *Scope {
	s := NewScope(nil, nil)
	s.importer.(*listed).next = sources{s, text, map[string]*types.Package{}}
	for path := range text {
		if !strings.Contains(path, "~") {
			s.Add([]Package{{Path: path, Name: "ed"}})
		}
	}
	return s
}

// TestRename: what cells import by a path is what the module is now; what they have keeps its types, and errors tell them apart.
func TestRename(t *testing.T) {
	const first = "package ed\n\ntype T struct{ X int }\n\nfunc V() T { return T{} }\n"
	s := newSources(map[string]string{"m/ed": first, "m/ed~e1": first + "\nfunc W() int { return 1 }\n", "m/ed/nested": "package nested\n\nconst N = 1\n"})
	run := func(code string) string {
		c, err := s.Check("cell 1", code)
		if err != nil {
			return err.Error()
		}
		s.Lock()
		defer s.Unlock()
		s.Commit(c)
		return ""
	}
	run("import \"m/ed\"\nx := ed.V()\ntype P struct{ t []ed.T }\nfunc f(m map[string]*ed.T) {}\nn := 1\nfunc g() int { return n }")
	if got := s.Former("m/ed"); len(got) > 0 {
		t.Errorf("before: got %v", got)
	}
	s.Rename([]Renamed{{Path: "m/ed", As: "m/ed~e1"}, {Path: "m/ed/nested", As: "m/ed/nested", Exact: true}})
	s.Add([]Package{{Path: "m/ed~e1", Name: "ed"}})
	if got := s.Former("m/ed"); !slices.Equal(got, []string{"P", "f", "x"}) {
		t.Errorf("what holds its types: got %v", got)
	}
	for _, c := range []struct{ code, err string }{
		{"w := ed.W()", ""},
		{"import again \"m/ed\"\nw = again.W()", ""},
		{"import \"m/ed/nested\"\nw = nested.N", ""},
		{"x = ed.V()", "cannot use ed.V() (value of struct type ed.T) as ed.T (as it was before the edit) value in assignment"},
		{"var y ed.T = x", "cannot use x (variable of struct type ed.T (as it was before the edit)) as ed.T value in variable declaration"},
		{"y := ed.T(x)", ""},
		{"ed.None()", "undefined: ed.None"},
	} {
		if got := run(c.code); got != c.err && (c.err == "" || !strings.HasSuffix(got, c.err)) {
			t.Errorf("%s: got %q, want %q", c.code, got, c.err)
		}
	}
	c, err := s.Check("cell 2", "x.X + ed.V().X")
	if err != nil {
		t.Fatal(err)
	}
	if got := c.Uses(); !slices.Equal(got, []string{"m/ed", "m/ed~e1"}) {
		t.Errorf("uses: got %v", got)
	}
	if got := s.typeString(s.Lookup("x").Type()); got != "ed.T (as it was before the edit)" {
		t.Errorf("got %s", got)
	}
	for _, p := range s.byName["ed"] {
		if strings.Contains(p.Path, "~") {
			t.Errorf("offered: %s", p.Path)
		}
	}
	s.Rename(nil) // it was edited back
	if got := run("x = ed.T{1}"); got != "" {
		t.Errorf("got %s", got)
	}
	if got := s.Former("m/ed"); !slices.Equal(got, []string{"y"}) {
		t.Errorf("what holds its types: got %v", got)
	}
}
