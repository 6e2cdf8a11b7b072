package eval

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"reflect"
	"slices"
	"strings"

	"cancha/kernel/eval/check"
	"cancha/kernel/eval/lower"
	"cancha/kernel/eval/native"
)

// compiler is the back end for cells that are compiled, and what of the program it has to know.
type compiler struct {
	*native.Engine
	reason string                   // why there is none
	places map[string]reflect.Value // variables that the interpreter cannot hold: name → pointer
	shares map[string]*native.Cells // in folders of built cells
	mixed  bool                     // the program has types or functions that only the interpreter knows
}

// available tells whether cells can be compiled.
func (c *compiler) available() bool { return c.Engine != nil }

// share takes a share in a folder of built cells.
func (c *compiler) share(folder string) {
	if c.shares[folder] == nil {
		c.shares[folder] = native.OpenCells(folder)
	}
}

// close gives the shares back.
func (c *compiler) close() {
	for _, s := range c.shares {
		s.Close()
	}
}

// Only tells the lowerer to keep values as compiled cells do.
func (p *Program) Only() bool {
	return p.native.available() && p.mode.get() != engineInterp && !p.native.mixed
}

// compiledCells is what the lowerer asks about compiled cells.
type compiledCells struct {
	*native.Engine
	only func() bool
}

func (c compiledCells) Only() bool { return c.only() }

// errTurn tells that a cell has to be interpreted, and another one has the turn.
var errTurn = errors.New("the interpreter is in use")

// compile turns a cell into a function. Nothing is declared unless all of it succeeds. It waits for the turn where the cell needs the
// interpreter, and gives it back where it does not.
func (p *Program) compile(name, code string, t *task) (*lower.Unit, func(), error) {
	unit, run, err := p.compileNow(name, code, t)
	if errors.Is(err, errTurn) {
		if err := p.takeTurn(t); err != nil {
			return nil, nil, err
		}
		unit, run, err = p.compileNow(name, code, t)
	}
	if err == nil && t.native {
		p.turn.release(t)
	}
	return unit, run, err
}

// compileNow is compile that waits for no turn.
func (p *Program) compileNow(name, code string, t *task) (*lower.Unit, func(), error) {
	if err := p.building.lock(t.ctx); err != nil {
		return nil, nil, err
	}
	defer p.building.unlock()
	c, unit, run, err := p.compileAs(name, code, nil, t)
	if c != nil && errors.As(err, new(*check.Error)) {
		if anew := c.Reduced(); len(anew) > 0 {
			if _, unit, run, other := p.compileAs(name, code, anew, t); other == nil {
				return unit, run, nil
			}
		}
	}
	return unit, run, err
}

// compileAs is compileNow for a cell whose declarations of some types are to make new types. It returns the cell that it has checked.
func (p *Program) compileAs(name, code string, anew []string, t *task) (*check.Cell, *lower.Unit, func(), error) {
	c, err := p.scope.CheckAnew(name, code, anew)
	if err != nil {
		return nil, nil, nil, err
	}
	unit, run, err := p.takeChecked(c, t)
	if err != nil {
		return c, nil, nil, err
	}
	first, notes := p.wake(c, t)
	unit.Notes = append(unit.Notes, notes...)
	return c, unit, inOrder(first, run), nil
}

// inOrder runs one function, which may be nil, before another.
func inOrder(first, second func()) func() {
	if first == nil {
		return second
	}
	return func() { first(); second() }
}

// keeps tells whether a type of an earlier cell can stay what it is where a cell declares it again: if the cells that follow are compiled,
// or interpreted, as its own was.
func (p *Program) keeps(o *types.TypeName) bool {
	if !p.native.available() {
		return true
	}
	_, _, compiled := p.native.Symbol(o)
	if p.mode.get() == engineInterp {
		return !compiled
	}
	return compiled || slices.ContainsFunc(p.later.pending, func(d *pending) bool { return d.objects[o] })
}

// choose turns a checked cell into a function now, or has that done beside; while another cell has the turn it does without.
func (p *Program) choose(c *check.Cell, t *task) (*lower.Unit, func(), error) {
	if unit, run, ok, err := p.compileLater(c, t); ok {
		return unit, run, err
	}
	if !p.turn.try(t) {
		return p.beside(c, t)
	}
	return p.build(c, t)
}

// beside turns a checked cell into a function that runs beside a cell which has the turn, or returns errTurn. What is plainly short is
// interpreted, apart from the other cell; anything else is compiled, which costs 0.2 s and saves the wait.
func (p *Program) beside(c *check.Cell, t *task) (*lower.Unit, func(), error) {
	mode := p.mode.get()
	if !p.native.available() || mode == engineInterp {
		return nil, nil, errTurn
	}
	if mode != engineNative && p.Only() && !declares(c) && !disguises(c) && !p.slowBeside(c) {
		if unit, run, err := p.interpretBy(p.back.LoadApart, c, t); err == nil || errors.Is(err, context.Canceled) {
			return unit, run, err
		}
	}
	unit, run, err := p.compileNative(c, t)
	if err != nil && !errors.Is(err, context.Canceled) && !errors.As(err, new(*unready)) {
		return nil, nil, errTurn // the interpreter may take it
	}
	return unit, run, err
}

// build turns a checked cell into a function, by the back end that suits it, or by the other one where that refuses it.
func (p *Program) build(c *check.Cell, t *task) (*lower.Unit, func(), error) {
	switch mode := p.mode.get(); {
	case !p.native.available() || mode == engineInterp:
		return p.interpret(c, t)
	case mode == engineNative:
		return p.compileNative(c, t)
	}
	compiles := p.wantsCompiler(c)
	first, second := p.interpret, p.compileNative
	if compiles {
		first, second = second, first
	}
	unit, run, err := first(c, t)
	p.log.Debug("cell", "name", c.Name, "compiled", compiles, "error", err)
	if err == nil || !errors.As(err, new(*check.Error)) {
		return unit, run, err
	}
	unit, run, other := second(c, t)
	p.log.Debug("cell", "name", c.Name, "compiled", !compiles, "error", other)
	switch {
	case other == nil:
		return unit, run, nil
	case compiles:
		return nil, nil, err
	}
	return nil, nil, other
}

// interpret lowers a cell and hands it to the interpreter.
func (p *Program) interpret(c *check.Cell, t *task) (*lower.Unit, func(), error) {
	unit, run, err := p.interpretBy(func(u *lower.Unit) (func(), error) {
		run, err := p.back.Load(u)
		if p.native.available() && err == nil {
			u.Notes = append(u.Notes, p.redirect(c)...)
		}
		return run, err
	}, c, t)
	if err == nil && declares(c) {
		p.native.mixed = true
	}
	return unit, run, err
}

// interpretBy is interpret with a way to load the cell. What the cell declares is not the interpreter's alone.
func (p *Program) interpretBy(load func(*lower.Unit) (func(), error), c *check.Cell, t *task) (*lower.Unit, func(), error) {
	p.scope.Lock()
	defer p.scope.Unlock()
	t.native = false
	unit, err := p.lowerer.Lower(c, t.request.Cell)
	if err != nil {
		return nil, nil, err
	}
	run, err := load(unit)
	if err != nil {
		p.lowerer.Drop()
		p.log.Debug("back end", "cell", c.Name, "error", err, "source", unit.Source, "body", unit.Body.Source)
		at, line, text := p.refused(c.Name, err)
		return nil, nil, c.RefusePlace(at, line, "the interpreter cannot run this: %s; write it in another way", text)
	}
	if err := t.take(); err != nil {
		p.lowerer.Drop()
		return nil, nil, err
	}
	p.remember(unit)
	p.lowerer.Keep()
	p.scope.Commit(c)
	if p.native.available() {
		p.native.NoteHolders(c)
	}
	return unit, run, nil
}

// compileNative compiles a cell and loads it. Its variables are the interpreter's where that can hold them.
func (p *Program) compileNative(c *check.Cell, t *task) (*lower.Unit, func(), error) {
	p.scope.Lock()
	variables := p.lowerer.Variables(c)
	source, err := p.native.Write(c, t.request.Cell, p.lowerer.Place)
	if err != nil {
		p.lowerer.Drop()
		p.scope.Unlock()
		return nil, nil, err
	}
	p.scope.Unlock()
	built, err := p.native.Build(t.ctx, source)
	if err == nil {
		err = p.initialize(c, built, t)
	}
	p.scope.Lock()
	defer p.scope.Unlock()
	if err != nil {
		p.lowerer.Drop()
		return nil, nil, p.notCompiled(c, source, err)
	}
	if err := t.take(); err != nil {
		p.lowerer.Drop()
		return nil, nil, err
	}
	if err := p.back.Declare(variables); err != nil {
		t.leave()
		p.lowerer.Drop()
		return nil, nil, fmt.Errorf("declare the cell's variables: %w", err)
	}
	retypes, literals := p.native.Retypes(c), p.native.Literals(c)
	p.machine.OnPackage(built.Path)
	run, err := p.loadNative(source, built)
	if err != nil {
		t.leave()
		p.lowerer.Drop()
		return nil, nil, err
	}
	p.back.Use(built.Path, built.Symbols)
	notes := p.redirect(c)
	p.holdVariables(c, retypes)
	if retypes != nil {
		notes = append(notes, p.convert(literals)...)
	}
	p.lowerer.Keep()
	p.scope.Commit(c)
	t.native = true
	return &lower.Unit{Shows: source.Shows, Notes: notes}, run, nil
}

// notCompiled is the error of a cell that the compiler refused though the check had accepted it.
func (p *Program) notCompiled(c *check.Cell, source *native.Source, err error) error {
	var refused *native.CompileError
	switch {
	case errors.Is(err, context.Canceled), errors.As(err, new(*unready)):
		return err
	case !errors.As(err, &refused):
		return fmt.Errorf("the cell could not be compiled: %w (fix that, or write %%%%interp in its first line to have it interpreted)", err)
	}
	p.log.Debug("compiler", "cell", c.Name, "error", err, "source", source.Text)
	at, line, text := native.Position(c.Name, refused.Text)
	return c.RefusePlace(at, line, "the compiler refused this: %s", text)
}

func (p *Program) loadNative(source *native.Source, built *native.Unit) (run func(), err error) {
	defer func() {
		if fault := recover(); fault != nil {
			err = fmt.Errorf("load the compiled cell: %v", fault)
		}
	}()
	return p.native.Load(source, built, p.place)
}

// place returns the pointer to a variable of the session, which has the layout of t.
func (p *Program) place(name string, t reflect.Type) reflect.Value {
	v := p.back.Variable(name)
	if !v.IsValid() {
		at, ok := p.native.places[name]
		if !ok {
			at = reflect.New(t)
			p.native.places[name] = at
		}
		v = at.Elem()
	}
	if !native.SameLayout(v.Type(), t) {
		panic(fmt.Sprintf("variable %s is kept as %s, not as %s", name, v.Type(), t))
	}
	return v.Addr()
}

// holdVariables gives the interpreter the variables whose types it knows only now that a cell is loaded: the cell's own, and those
// of types that it has declared again.
func (p *Program) holdVariables(c *check.Cell, retypes func(types.Type) bool) {
	if retypes != nil {
		p.lowerer.Retype()
	}
	own := map[types.Object]bool{}
	for _, o := range c.Objects {
		own[o] = true
	}
	p.hold(p.lowerer.Hold(func(v *types.Var, hidden bool) bool {
		return hidden && own[v] || retypes != nil && retypes(v.Type())
	}))
}

// hold gives the interpreter variables that have a type which it knows only now.
func (p *Program) hold(names []string) {
	for _, name := range names {
		at, ok := p.native.places[name]
		if !ok {
			at = p.back.Variable(name).Addr()
		}
		t, ok := p.native.Newest(at.Type().Elem())
		if !ok {
			p.lowerer.Hide(name)
			continue
		}
		if t != at.Type().Elem() {
			at = reflect.NewAt(t, at.UnsafePointer())
		}
		p.native.places[name] = at
		p.back.Share(name, at)
	}
}

// convert gives what interfaces hold the types that a cell has declared again. The notes say what keeps the old ones.
func (p *Program) convert(literals []string) (notes []string) {
	release, ok := p.machine.Exclude()
	if ok {
		defer release()
	}
	converter := p.native.NewConverter(!ok)
	for _, name := range p.lowerer.Places() {
		if v := p.variable(name); v.IsValid() {
			converter.Convert(v)
		}
	}
	if left := converter.Left(); len(left) > 0 {
		notes = append(notes, "values that interfaces hold in these places keep the type with its old methods: "+p.machine.Sprint(strings.Join(left, ", ")))
	}
	if len(literals) > 0 {
		notes = append(notes, "function literals of earlier cells know the type with its old methods, until their cells are run again: "+strings.Join(literals, ", "))
	}
	return notes
}

// redirect makes functions that the cell declares anew take the place of the old ones. With another signature they cannot; the
// cell's author is told who keeps the old one.
func (p *Program) redirect(c *check.Cell) (notes []string) {
	for _, m := range c.Dropped {
		if users := p.native.Keepers(m.Func); len(users) > 0 {
			notes = append(notes, fmt.Sprintf("functions of earlier cells that call %s.%s keep the old one, since %s: %s", m.Type.Obj().Name(), m.Func.Name(), why(m), strings.Join(users, ", ")))
		}
	}
	for _, o := range c.Objects {
		if old, ok := c.Replaces(o.Name()).(*types.Const); ok && !isSame(old, o) {
			if users := p.native.Callers(old); len(users) > 0 {
				notes = append(notes, fmt.Sprintf("functions of earlier cells keep the old constant %s, which is %s: %s; run their cells again", o.Name(), old.Val(), strings.Join(users, ", ")))
			}
		}
		old, ok := c.Replaces(o.Name()).(*types.Func)
		if !ok || old == o {
			continue
		}
		f, _ := o.(*types.Func)
		why := p.stays(c, old, f)
		if why == "" && p.native.Redirect(old, f) {
			continue
		}
		notes = append(notes, p.keepsOld(old, cmp.Or(why, "one is compiled and the other interpreted"))...)
	}
	return notes
}

// stays says why a function stays what it was beside the one that a cell declares anew, nil where its name now means something else; "" where
// nothing but the back ends can be in the way.
func (p *Program) stays(c *check.Cell, old, f *types.Func) string {
	switch {
	case f == nil || !types.Identical(old.Type(), f.Type()):
		return "its signature changed"
	case f.Signature().TypeParams().Len() > 0:
		return "it is generic"
	}
	if variable := p.wraps(c, f); variable != "" {
		return wrapping(f, variable)
	}
	if recovers(c, f) {
		return "the new one calls recover, which only a deferred function itself can"
	}
	return ""
}

// why says what has become of a method that a type had.
func why(m check.Method) string {
	for now := range m.Type.Methods() {
		if now.Name() == m.Func.Name() {
			return "its signature changed"
		}
	}
	return "the type has it no more"
}

// isSame tells whether what takes a constant's place is the same constant.
func isSame(old *types.Const, o types.Object) bool {
	c, ok := o.(*types.Const)
	return ok && types.Identical(c.Type(), old.Type()) && c.Val().ExactString() == old.Val().ExactString()
}

// recovers tells whether a function of a cell calls recover itself.
func recovers(c *check.Cell, f *types.Func) bool {
	return slices.ContainsFunc(c.Decls, func(d ast.Decl) bool {
		decl, ok := d.(*ast.FuncDecl)
		return ok && c.Info.Defs[decl.Name] == f && check.CallsRecover(c.Info, decl.Body)
	})
}

// wantsCompiler tells whether a cell is to be compiled: it declares types or functions, or interpreting it might be slow or make other types
// than Go, or it imports a package only to have it initialized, which the engine has not linked.
func (p *Program) wantsCompiler(c *check.Cell) bool {
	return declares(c) || disguises(c) || slices.ContainsFunc(c.Blank, p.session.has) || p.slow(c)
}

// declares reports whether a cell declares functions, methods or types.
func declares(c *check.Cell) bool {
	for _, d := range c.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			return true
		case *ast.GenDecl:
			if d.Tok == token.TYPE {
				return true
			}
		}
	}
	return false
}

// startCompiler starts the back end for compiled cells, and returns what the lowerer asks it; nil where there is none.
func (p *Program) startCompiler(c Config) lower.Compiled {
	p.native.places, p.native.shares = map[string]reflect.Value{}, map[string]*native.Cells{}
	switch {
	case c.Native == nil:
		p.native.reason = c.NativeReason
	case !native.CanLoad:
		p.native.reason = "this engine cannot load compiled cells"
	case c.Native.Race:
		p.native.reason = "an engine built with -race cannot load compiled cells"
	default:
		p.native.Engine = native.New(*c.Native, p.machine)
		p.native.share(c.Native.Cache)
		return compiledCells{p.native.Engine, p.Only}
	}
	if p.native.reason == "" {
		p.native.reason = "there is no compiler for them"
	}
	return nil
}
