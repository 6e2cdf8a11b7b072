package eval

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/types"
	"os"
	"path/filepath"
	"regexp"
	"runtime/pprof"
	"slices"
	"strconv"
	"strings"
	"sync"

	"cancha/kernel/cell"
	"cancha/kernel/eval/check"
)

// An engine cannot unload a package, so a module that needs another version of one needs another engine. The kernel starts it and runs the
// cell there. That costs what the session has in memory. If there is nothing, it happens unasked, and imports, the working folder and the
// environment are carried over. Otherwise the user has to ask for it.

// errReplaced ends a cell that is to run in another engine. Nothing of it has run.
var errReplaced = errors.New("the cell is to run in another engine")

// session is what a replacement carries over, or would lose.
type session struct {
	environ []string // at the engine's start
	others  int      // goroutines of the cells of another program in this process, as tests have

	mu      sync.Mutex
	gets    []string          // modules that %get was given, a folder as absolute path
	modules []string          // their paths
	imports []string          // specs of accepted cells
	effects []string          // calls that may have left something outside of variables
	added   map[string]bool   // packages of modules
	ready   map[string]bool   // those that a cell has initialised
	broken  string            // those that were not initialised to their end
	edits   map[string]string // folder of a local package → the state of its source that a note has told of
}

// tells notes that a note tells of an edit, and is false where one has told of it.
func (s *session) tells(e Edited) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.edits[e.Dir] == e.State {
		return false
	}
	if s.edits == nil {
		s.edits = map[string]string{}
	}
	s.edits[e.Dir] = e.State
	return true
}

// add notes packages that are not the engine's.
func (s *session) add(packages []Package) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.added == nil {
		s.added = map[string]bool{}
	}
	for _, p := range packages {
		s.added[p.Path] = true
	}
}

// forget drops the imports.
func (s *session) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.imports = nil
}

// has tells such a package.
func (s *session) has(path string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.added[path]
}

// replaceFor builds an engine for a conflict and asks the kernel for it, or tells what that would cost.
func (p *Program) replaceFor(ctx context.Context, t *task, r ModuleRequest, c *Conflict, asked bool, say func(string)) error {
	if t.began {
		return fmt.Errorf("%s, so it needs another engine: import it, or %%get it, in a cell of its own", c.Reason)
	}
	if err := p.mayReplace(t, c, asked); err != nil {
		return err
	}
	folder, err := c.Build(ctx, say)
	if err != nil {
		return err
	}
	if err := p.mayReplace(t, c, asked); err != nil { // a subshell's cell has begun meanwhile, or declared something
		return err
	}
	say(fmt.Sprintf("%s: the session goes on in an engine with %s\n", c.Reason, c.Module))
	t.replacement = &cell.Replacement{Workspace: folder, Carried: p.carried(r)}
	return errReplaced
}

// mayReplace is the error of what an engine for a conflict would cost.
func (p *Program) mayReplace(t *task, c *Conflict, asked bool) error {
	if !p.alone() {
		return fmt.Errorf("%s, so it needs another engine, and other cells run: do it when they have ended", c.Reason)
	}
	if loss := p.loss(t); loss != "" && !asked {
		return fmt.Errorf("%s; an engine with it would start without %s: \"%%get -replace %s\" asks for that", c.Reason, loss, c.Module)
	}
	return nil
}

// mostNamed is how many variables are named of those that a replacement would lose.
const mostNamed = 12

// loss is what the session would lose with its engine, "" if nothing.
func (p *Program) loss(t *task) string {
	var names []string
	for _, d := range p.scope.Declared() {
		names = append(names, d.Name)
	}
	for _, w := range p.scope.Waiting() {
		names = append(names, w.Names...)
	}
	names = shortList(names)
	p.session.mu.Lock()
	effects := slices.Clone(p.session.effects)
	p.session.mu.Unlock()
	switch n := cellGoroutines(t.request.Cell) - p.session.others; {
	case len(names) > 0:
		return "what cells have declared (" + strings.Join(names, ", ") + ")"
	case n > 0:
		return fmt.Sprintf("the goroutines of cells (%d)", n)
	case len(effects) > 0:
		return "what " + strings.Join(effects, ", ") + " may have left"
	}
	return ""
}

// shortList leaves out names where there are many.
func shortList(names []string) []string {
	if n := len(names); n > mostNamed {
		return append(slices.Clone(names[:mostNamed]), fmt.Sprintf("%d more", n-mostNamed))
	}
	return names
}

var cellLabel = regexp.MustCompile(`(?m)^(\d+) @[^\n]*\n# labels: \{[^\n]*"cell":"(\d+)"`)

// cellGoroutines counts the goroutines that other cells have started.
func cellGoroutines(self int64) (n int) {
	var text bytes.Buffer
	if pprof.Lookup("goroutine").WriteTo(&text, 1) != nil {
		return 0
	}
	for _, m := range cellLabel.FindAllStringSubmatch(text.String(), -1) {
		if m[2] == strconv.FormatInt(self, 10) {
			continue
		}
		count, _ := strconv.Atoi(m[1]) // the pattern has digits only
		n += count
	}
	return n
}

// carried is what a new engine is given, because of a request. What %get asks for now comes before the imports, and in the place of what it
// was given for the same module before.
func (p *Program) carried(r ModuleRequest) cell.Carried {
	p.session.mu.Lock()
	defer p.session.mu.Unlock()
	c := cell.Carried{Gets: slices.Clone(p.session.gets), Imports: slices.Clone(p.session.imports), Mode: p.mode.get(), Errors: p.errors.get()}
	c.Dir, _ = os.Getwd() // one that has gone is not gone back to
	if r.Get {
		c.Gets = withGet(c.Gets, r.Path)
	}
	now := os.Environ()
	name := func(v string) string { n, _, _ := strings.Cut(v, "="); return n }
	for _, v := range now {
		if !slices.Contains(p.session.environ, v) {
			c.Set = append(c.Set, v)
		}
	}
	for _, v := range p.session.environ {
		if !slices.ContainsFunc(now, func(w string) bool { return name(w) == name(v) }) {
			c.Unset = append(c.Unset, name(v))
		}
	}
	return c
}

// restore gives the session what the engine before has handed on.
func (p *Program) restore(t *task, c *cell.Carried) error {
	for _, v := range c.Set {
		name, value, _ := strings.Cut(v, "=")
		if err := os.Setenv(name, value); err != nil {
			return err
		}
	}
	for _, name := range c.Unset {
		_ = os.Unsetenv(name) // it was a name before
	}
	if c.Dir != "" {
		if err := os.Chdir(c.Dir); err != nil {
			return err
		}
	}
	if c.Mode != "" {
		p.mode.set(c.Mode)
	}
	if c.Errors != "" {
		p.errors.set(c.Errors)
	}
	for _, g := range c.Gets {
		if err := p.get(t.ctx, t, ModuleRequest{Path: g, Get: true}, false, progress(cellWriter{p.outlet, t.request.Cell})); err != nil {
			return err
		}
	}
	if len(c.Imports) == 0 {
		return nil
	}
	code := "import (\n\t" + strings.Join(c.Imports, "\n\t") + "\n)"
	if err := p.getImports(t, code); err != nil {
		return err
	}
	t.parts = true
	defer func() { t.parts = false }()
	_, _, err := p.compile(t.name, code, t)
	if err == nil {
		p.imported(code)
	}
	return err
}

func withoutVersion(module string) string {
	path, _, _ := strings.Cut(module, "@")
	return path
}

// got notes what %get has made ready.
func (s *session) got(module, path string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.gets = withGet(s.gets, module)
	if path != "" && !slices.Contains(s.modules, path) {
		s.modules = append(s.modules, path)
	}
}

// isOf tells a package of a module that %get has made ready: its path may have no host.
func (s *session) isOf(path string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.ContainsFunc(s.modules, func(module string) bool { return path == module || strings.HasPrefix(path, module+"/") })
}

// withGet adds a module to those that %get was given, a folder by its absolute path.
func withGet(gets []string, module string) []string {
	if strings.HasPrefix(module, ".") {
		if dir, err := filepath.Abs(module); err == nil {
			module = dir
		}
	}
	gets = slices.DeleteFunc(gets, func(g string) bool { return withoutVersion(g) == withoutVersion(module) })
	return append(gets, module)
}

// imported notes what an accepted cell has imported.
func (p *Program) imported(code string) {
	p.session.mu.Lock()
	defer p.session.mu.Unlock()
	for _, spec := range check.Imports(code) {
		text := spec.Path.Value
		if spec.Name != nil {
			text = spec.Name.Name + " " + text
		}
		p.session.imports = slices.DeleteFunc(p.session.imports, func(s string) bool { return s == text })
		p.session.imports = append(p.session.imports, text) // the last of those by a name is what it means
	}
}

// effectless are packages whose functions leave nothing in the process that is not carried over, beside what they return. Of the
// others some would do, too; but who leaves a package out costs a question, and who puts a wrong one in costs a wrong answer.
var effectless = []string{
	"bytes", "cmp", "errors", "fmt", "iter", "maps", "math", "math/big", "math/bits", "math/cmplx", "os", "path", "path/filepath", "reflect",
	"slices", "sort", "strconv", "strings", "time", "unicode", "unicode/utf16", "unicode/utf8",
}

// effects notes what a cell does to the process: calls of functions that may keep something, assignments to what a package has. A function
// of the cell counts whether it is called or not: a later cell may call it, and %reset forgets that it was there.
func (p *Program) effects(c *check.Cell) {
	if c.Body == nil {
		return
	}
	var found []string
	look := func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			if f := check.Callee(c.Info, n); f != nil && f.Pkg() != nil && f.Pkg().Path() != c.Pkg.Path() && (!slices.Contains(effectless, f.Pkg().Path()) || f.FullName() == "time.AfterFunc") {
				found = append(found, f.Pkg().Name()+"."+f.Name()+" in "+c.Name)
			}
		case *ast.AssignStmt:
			for _, x := range n.Lhs {
				if v := packageVariable(c.Info, x); v != nil {
					found = append(found, v.Pkg().Name()+"."+v.Name()+" in "+c.Name)
				}
			}
		}
		return true
	}
	ast.Inspect(c.Body, look)
	for _, d := range c.Decls {
		ast.Inspect(d, look)
	}
	if len(found) == 0 {
		return
	}
	p.session.mu.Lock()
	defer p.session.mu.Unlock()
	const enough = 3 // are named
	for _, text := range found {
		if len(p.session.effects) < enough && !slices.Contains(p.session.effects, text) {
			p.session.effects = append(p.session.effects, text)
		}
	}
}

// packageVariable is the variable of another package that an assignment changes, or something in it.
func packageVariable(info *types.Info, x ast.Expr) *types.Var {
	for {
		switch e := ast.Unparen(x).(type) {
		case *ast.SelectorExpr:
			if v, ok := info.Uses[e.Sel].(*types.Var); ok && !v.IsField() && v.Pkg() != nil {
				return v
			}
			x = e.X
		case *ast.IndexExpr:
			x = e.X
		case *ast.StarExpr:
			x = e.X
		default:
			return nil
		}
	}
}
