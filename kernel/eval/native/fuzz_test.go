package native

import (
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"slices"
	"testing"

	"cancha/internal/symbols"
	"cancha/kernel/eval/check"
	"cancha/kernel/eval/evaltest"
)

// FuzzWrite writes the cells of mutated cases as packages, one after another as a session does: what the check accepts and
// Write does not refuse has to be accepted by go/types as it is written, hidden fields of other packages and unused names
// included. Nothing is built.
func FuzzWrite(f *testing.F) {
	cases, err := evaltest.Read("../testdata/cells.txt", "../testdata/programs.txt", "testdata/sessions.txt")
	if err != nil {
		f.Fatal(err)
	}
	for seed := range uint64(30) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed uint64) {
		s := newSession(t)
		for _, code := range evaltest.Mutate(cases, seed) {
			s.run(code)
		}
	})
}

// TestSessions writes the cases of sessions as they are: none is refused. What they print is the business of TestCells in package
// eval.
func TestSessions(t *testing.T) {
	cases, err := evaltest.Read("testdata/sessions.txt")
	if err != nil {
		t.Fatal(err)
	}
	for i, c := range cases {
		t.Run(fmt.Sprint(i+1), func(t *testing.T) {
			s := newSession(t)
			for _, code := range c {
				if err := s.run(code); err != nil {
					t.Errorf("%s\nrefused: %v", code, err)
				}
			}
		})
	}
}

// TestLiteralsOfParts: the function literals of all parts of a cell that has magics keep an old type.
func TestLiteralsOfParts(t *testing.T) {
	s := newSession(t)
	for _, part := range []string{"type P struct{}\nfunc f() {}", "a := func(P) {}", "b := func() { f() }"} {
		if s.cells == 2 {
			s.cells = 1 // of the same cell
		}
		if err := s.run(part); err != nil {
			t.Fatal(err)
		}
	}
	c, err := s.scope.Check("cell 3", "func (P) M() {}")
	if err != nil {
		t.Fatal(err)
	}
	if got := s.engine.Literals(c); !slices.Equal(got, []string{"cell 2"}) {
		t.Errorf("got %v, want cell 2", got)
	}
}

// session writes and checks cells one after another.
type session struct {
	t       *testing.T
	scope   *check.Scope
	engine  *Engine
	places  map[*types.Var]string
	fset    *token.FileSet
	std     types.Importer
	written map[string]*types.Package
	cells   int
}

func newSession(t *testing.T) *session {
	t.Helper()
	var packages []check.Package
	for _, p := range symbols.Packages() {
		packages = append(packages, check.Package{Path: p.Path, Name: p.Name, Standard: p.Standard})
	}
	export := func(path string) (io.ReadCloser, error) { return symbols.Export(path) }
	s := &session{
		t: t, scope: check.NewScope(packages, export), engine: New(Toolchain{}, nil), places: map[*types.Var]string{},
		fset: token.NewFileSet(), written: map[string]*types.Package{},
	}
	s.std = importer.ForCompiler(s.fset, "gc", export)
	var files []*ast.File
	for _, name := range []string{"support/support.go", "support/pieces.go", "support/escape.go"} {
		file, err := parser.ParseFile(s.fset, name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	s.check(supportPath, files...)
	return s
}

// Import is types.Importer's.
func (s *session) Import(path string) (*types.Package, error) {
	if pkg, ok := s.written[path]; ok {
		return pkg, nil
	}
	if path == "unsafe" {
		return types.Unsafe, nil
	}
	return s.std.Import(path)
}

func (s *session) check(path string, files ...*ast.File) (errs []error) {
	conf := types.Config{Importer: s, GoVersion: check.GoVersion, Error: func(err error) { errs = append(errs, err) }}
	s.written[path], _ = conf.Check(path, s.fset, files, nil) // errors are collected
	return errs
}

// run takes a cell as far as it can be taken without building it; the error is that it is refused.
func (s *session) run(code string) error {
	s.t.Helper()
	s.cells++
	c, err := s.scope.Check(fmt.Sprintf("cell %d", s.cells), code)
	if err != nil {
		return err
	}
	s.scope.Lock()
	defer s.scope.Unlock()
	s.place(c)
	source, err := s.engine.Write(c, int64(s.cells), func(v *types.Var) string { return s.places[v] })
	if err != nil {
		return err
	}
	u := &Unit{Path: fmt.Sprintf("cells/%016x", s.cells), cells: source.Cells}
	file, err := parser.ParseFile(s.fset, u.Path, source.Text, 0)
	if err != nil {
		s.t.Fatalf("%s\nis written as\n%s\nwhich cannot be read: %v", code, source.Text, err)
	}
	if errs := s.check(u.Path, file); len(errs) > 0 {
		s.t.Fatalf("%s\nis written as\n%s\nwhich is not valid: %v", code, source.Text, errs)
	}
	s.engine.take(source, u)
	for _, f := range source.Changed {
		s.engine.functions[f] = &function{}
	}
	s.scope.Commit(c)
	return nil
}

// place gives the cell's variables names, as the lowerer does.
func (s *session) place(c *check.Cell) {
	inner := map[*types.Var]*types.Var{}
	for in, out := range c.Local {
		inner[out] = in
	}
	for _, o := range c.Objects {
		v, ok := o.(*types.Var)
		if !ok {
			continue
		}
		name := fmt.Sprintf("%s%s%d", v.Name(), mark, len(s.places))
		if old, ok := c.Replaces(v.Name()).(*types.Var); ok && types.Identical(old.Type(), v.Type()) {
			name = s.places[old]
		}
		s.places[v] = name
		if in := inner[v]; in != nil {
			s.places[in] = name
		}
	}
}
