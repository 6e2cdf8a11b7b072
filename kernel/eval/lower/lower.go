package lower

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"cancha/kernel/eval/check"
)

// Config is what a lowerer needs to know of the world.
type Config struct {
	Importer types.Importer
	FileSet  *token.FileSet
	// Has tells whether the back end has a compiled package's exported name.
	Has func(path, name string) bool
	// Alias finds an exported alias of a type that the back end cannot name where it is declared, behind internal say; nil finds none.
	Alias func(path, name string) (aliasPath, aliasName string, ok bool)
	// Pool is how many distinct types of its own the back end has for declared types of a basic kind.
	Pool func(kind types.BasicKind) int
	// Compiled tells what compiled cells have declared; nil where there are none.
	Compiled Compiled
	// Position returns where something of a cell was written; ok is false for what is not from a cell.
	Position func(pos token.Pos) (cell string, line, column int, ok bool)
	// Unmarked leaves out the code that notes which line a function is at: goroutines write it without synchronisation, which the race
	// detector reports.
	Unmarked bool
	// Universe are the functions that every cell knows.
	Universe *check.Universe
	// Source returns the directory with a standard package's source, or an error that says what to do.
	Source func(path string) (dir string, err error)
}

// Lowerer lowers the cells of one program, in their order. It is used by one goroutine.
type Lowerer struct {
	cfg     Config
	context *types.Context // makes equal instances the same
	serial  int            // of the last unique name

	names   map[types.Object]string // package-level variables and functions
	ids     map[types.Object]int
	decls   map[types.Object]*decl // functions, methods and types with source
	reps    map[string]*rep        // how a declared type is represented
	funcs   map[string]string      // instance of a function → name
	helpers map[string]string
	values  map[string]string // function → the variable that holds it as a value
	aliases map[string]string // import path → name in the lowered program

	texts     map[string]Declaration     // types and imports
	variables map[string]string          // variable of the session → its type
	heads     map[string]string          // function → its type
	shared    map[string]bool            // functions that bodies can be given
	instances map[string]instance        // function → what it is one of
	earlier   map[string][]string        // function → those in whose places it is
	callers   map[string]map[string]bool // function → who mentions it, as a user calls them
	renewed   []string                   // methods that the cell declares anew

	imported map[string]bool // imports that a unit's source has

	recoverers map[*types.Func]bool // functions of compiled cells that call recover

	pool     map[types.BasicKind]int
	hidden   map[string]bool // variables that only compiled cells can use
	packages map[string]*sourcePackage

	cell  *check.Cell
	out   *writer
	queue []func() // bodies yet to be lowered
	blame blame
	at    token.Pos // of the statement that is being lowered
	undo  []func()  // what to take back if the cell is refused
}

// decl is a function, method or type whose source is known.
type decl struct {
	fn      *ast.FuncDecl
	spec    *ast.TypeSpec
	info    *types.Info
	pkg     *types.Package
	first   bool // the receiver is the first parameter
	recover bool // calls recover itself
}

// blame is the function or type of a standard package that is being lowered from its source, and where the cell uses it: what
// is refused in there is told there. The name is empty while the cell's own code is lowered.
type blame struct {
	pos  token.Pos
	name string
}

// blaming sets who is to blame while something from the source of a package is lowered, unless something is already. The
// function that it returns, to be deferred, ends that, and puts the blame into a refusal.
func (l *Lowerer) blaming(o types.Object, pos token.Pos) (end func()) {
	b := l.blame
	if !pos.IsValid() {
		pos = l.at
	}
	if b.name == "" && o.Pkg() != nil && o.Pkg().Path() != "main" {
		b = blame{pos, o.Pkg().Path() + "." + o.Name()}
	}
	return l.under(b)
}

func (l *Lowerer) under(b blame) (end func()) {
	old := l.blame
	l.blame = b
	return func() {
		l.blame = old
		p := recover()
		if p == nil {
			return
		}
		if r, ok := p.(refusal); ok && b.name != "" && !r.blamed {
			p = refusal{b.pos, fmt.Sprintf("%s is built from its source, and there %s", b.name, r.text), true}
		}
		panic(p)
	}
}

// New returns a lowerer with no cells yet.
func New(cfg Config) *Lowerer {
	l := &Lowerer{
		cfg:      cfg,
		context:  types.NewContext(),
		names:    map[types.Object]string{},
		ids:      map[types.Object]int{},
		decls:    map[types.Object]*decl{},
		reps:     map[string]*rep{},
		funcs:    map[string]string{},
		helpers:  map[string]string{},
		values:   map[string]string{},
		aliases:  map[string]string{},
		pool:     map[types.BasicKind]int{},
		hidden:   map[string]bool{},
		packages: map[string]*sourcePackage{},

		recoverers: map[*types.Func]bool{},

		texts:     map[string]Declaration{},
		variables: map[string]string{},
		heads:     map[string]string{},
		shared:    map[string]bool{},
		imported:  map[string]bool{},
		instances: map[string]instance{},
		earlier:   map[string][]string{},
		callers:   map[string]map[string]bool{},
	}
	if u := cfg.Universe; u != nil {
		for _, d := range u.Decls {
			l.decls[u.Info.Defs[d.Name]] = &decl{fn: d, info: u.Info, pkg: u.Pkg}
		}
	}
	return l
}

// Prelude is the program that comes before the first unit.
func Prelude() string {
	return "package main\nimport " + runtimeAlias + " \"" + RuntimePath + "\"\nvar " + StopVariable + ", " + MovedVariable + " bool\n"
}

// refusal ends the lowering of a cell; it is raised as a panic, since it comes from deep inside expressions, and caught in
// Lower.
type refusal struct {
	pos    token.Pos
	text   string
	blamed bool // pos and text tell of what was built from source
}

func refuse(pos token.Pos, format string, args ...any) {
	panic(refusal{pos: pos, text: fmt.Sprintf(format, args...)})
}

// Lower lowers a cell. serial is the cell's number, which the entry hands to the primitives. When the cell is refused the
// lowerer is as before; after success call Keep or Drop.
func (l *Lowerer) Lower(c *check.Cell, serial int64) (u *Unit, err error) {
	l.cell, l.out, l.queue, l.undo, l.blame = c, &writer{names: map[string]Function{}}, nil, nil, blame{}
	defer func() {
		p := recover()
		if p == nil {
			return
		}
		l.Drop()
		r, ok := p.(refusal)
		if !ok {
			r = refusal{pos: l.at, text: fmt.Sprintf("the interpreter cannot run this statement (%v); write it in another way", p)}
		}
		if !r.pos.IsValid() {
			r.pos = l.at
		}
		u, err = nil, c.Refuse(r.pos, "%s", r.text)
	}()
	l.renewed = nil
	l.declare()
	l.moves()
	shows, entry := l.entry(serial)
	for len(l.queue) > 0 {
		next := l.queue[0]
		l.queue = l.queue[1:]
		next()
	}
	u = l.assemble(entry)
	u.Shows = shows
	return u, nil
}

// Keep makes the last lowered cell part of the program.
func (l *Lowerer) Keep() { l.undo = nil }

// Drop forgets the last lowered cell. Its names are not used again.
func (l *Lowerer) Drop() {
	for i := len(l.undo) - 1; i >= 0; i-- {
		l.undo[i]()
	}
	l.undo = nil
}

// Forget makes the lowerer forget the functions of a kept cell that has now been compiled: no later cell may call their lowered forms. The
// cell's variables stay. The result names, for each function, the variable to put the compiled one into, for goroutines and callbacks of
// the cell that still call the lowered one.
func (l *Lowerer) Forget(c *check.Cell) map[*types.Func]string {
	moved := map[*types.Func]string{}
	for _, o := range c.Objects {
		f, ok := o.(*types.Func)
		if !ok {
			continue
		}
		key := fmt.Sprintf("f%d[", l.id(f))
		name := l.funcs[key]
		moved[f] = name + "ᐧn"
		delete(l.decls, o)
		delete(l.instances, name)
		delete(l.callers, name)
		delete(l.funcs, key)
	}
	return moved
}

// set writes an entry of one of the lowerer's maps so that Drop can take it back.
func set[K comparable, V any](l *Lowerer, m map[K]V, k K, v V) {
	old, had := m[k]
	m[k] = v
	l.undo = append(l.undo, func() {
		if had {
			m[k] = old
		} else {
			delete(m, k)
		}
	})
}

// unique returns a name that no other part of the program has.
func (l *Lowerer) unique(name string) string {
	l.serial++
	return fmt.Sprintf("%sᐧ%d", name, l.serial)
}

func (l *Lowerer) id(o types.Object) int {
	if n, ok := l.ids[o]; ok {
		return n
	}
	l.ids[o] = len(l.ids) + 1
	return l.ids[o]
}

// declare registers the cell's declarations and emits those that are not generic.
func (l *Lowerer) declare() {
	c := l.cell
	for _, d := range c.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			l.register(d)
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				if ts, ok := spec.(*ast.TypeSpec); ok {
					set(l, l.decls, c.Info.Defs[ts.Name], &decl{spec: ts, info: c.Info, pkg: c.Pkg})
				}
			}
		}
	}
	for _, m := range c.Dropped {
		if l.ofCompiledCell(m.Type.Obj()) {
			refuse(token.NoPos, "a compiled cell declared type %s: an interpreted one cannot take its method %s", m.Type.Obj().Name(), m.Func.Name())
		}
	}
	if len(c.Methods)+len(c.Dropped) > 0 {
		l.context = types.NewContext() // instances that were made before have the methods of then
	}
	for _, m := range c.Methods {
		if l.ofCompiledCell(m.Type.Obj()) {
			refuse(m.Decl.Pos(), "a compiled cell declared type %s: an interpreted one cannot give it methods", m.Type.Obj().Name())
		}
		set(l, l.decls, types.Object(m.Func), &decl{fn: m.Decl, info: c.Info, pkg: c.Pkg, first: true, recover: check.CallsRecover(c.Info, m.Decl.Body)})
		for key := range l.funcs { // a method defined anew gets a function of its own
			if strings.HasPrefix(key, fmt.Sprintf("f%d[", l.id(m.Func))) {
				old := l.funcs[key]
				delete(l.funcs, key)
				l.renewed = append(l.renewed, old)
				l.undo = append(l.undo, func() { l.funcs[key] = old })
			}
		}
	}
	l.declareVariables()
	l.emitDeclared()
}

func (l *Lowerer) register(d *ast.FuncDecl) {
	o := l.cell.Info.Defs[d.Name]
	if o == nil {
		return
	}
	set(l, l.decls, o, &decl{fn: d, info: l.cell.Info, pkg: l.cell.Pkg, recover: check.CallsRecover(l.cell.Info, d.Body)})
}

// declareVariables gives each variable of the session its place. One declared anew with the type it had keeps it, so that
// functions which mention it see the new value.
func (l *Lowerer) declareVariables() {
	c := l.cell
	local := map[*types.Var]*types.Var{}
	for in, out := range c.Local {
		local[out] = in
	}
	for _, o := range c.Objects {
		v, ok := o.(*types.Var)
		if !ok {
			continue
		}
		name := ""
		if old := c.Continues(v); old != nil {
			name = l.names[old]
		}
		if name == "" {
			name = l.unique(v.Name())
			set(l, l.variables, name, l.typ(v.Type()))
			l.out.vars = append(l.out.vars, "var "+name+" "+l.variables[name])
		}
		set(l, l.names, types.Object(v), name)
		if in := local[v]; in != nil {
			set(l, l.names, types.Object(in), name)
		}
	}
}

// emitDeclared lowers the functions and methods of the cell, used or not, so that what is wrong with them is reported now.
func (l *Lowerer) emitDeclared() {
	c := l.cell
	for _, d := range c.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			f, ok := c.Info.Defs[d.Name].(*types.Func)
			if ok && d.Recv == nil && d.Type.TypeParams == nil && f.Name() != "init" && l.decls[f] != nil && !l.adopted(d) {
				l.function(f, nil, d.Pos())
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				if ts, ok := spec.(*ast.TypeSpec); ok {
					l.emitType(ts)
				}
			}
		}
	}
	for _, m := range c.Dropped {
		for _, r := range l.representations(m.Type) {
			l.setup("%s.WithoutMethod(new(%s), %q)", runtimeAlias, r.identity, m.Func.Name())
		}
	}
	for _, m := range c.Methods {
		for _, r := range l.representations(m.Type) {
			l.queueMethod(r.declared, r, m.Func)
		}
	}
	if len(c.Methods) > 0 || len(c.Dropped) > 0 {
		l.promoteAnew()
	}
}

// representations are those of a type of an earlier cell, which is lowered now if it has not been, or of the instances of a generic one,
// of which the program has no others.
func (l *Lowerer) representations(t *types.Named) (list []*rep) {
	if t.TypeParams().Len() == 0 {
		if r := l.named(t, t.Obj().Pos()); r.declared != nil {
			list = append(list, r)
		}
		return list
	}
	for _, r := range l.reps {
		if r.declared != nil && r.declared.Origin() == t {
			list = append(list, r)
		}
	}
	slices.SortFunc(list, func(a, b *rep) int { return strings.Compare(a.identity, b.identity) })
	return list
}

func (l *Lowerer) adopted(d *ast.FuncDecl) bool {
	for _, m := range l.cell.Methods {
		if m.Decl == d {
			return true
		}
	}
	return false
}

func (l *Lowerer) emitType(ts *ast.TypeSpec) {
	tn, ok := l.cell.Info.Defs[ts.Name].(*types.TypeName)
	if !ok || ts.TypeParams != nil || tn.IsAlias() {
		return
	}
	if n, ok := tn.Type().(*types.Named); ok && !isConstraint(n) {
		l.named(n, ts.Pos())
	}
}

func isConstraint(t types.Type) bool {
	i, ok := t.Underlying().(*types.Interface)
	return ok && !i.IsMethodSet()
}
