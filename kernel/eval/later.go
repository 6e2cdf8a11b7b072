package eval

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"
	"sync"

	"cancha/kernel/cell"
	"cancha/kernel/eval/check"
	"cancha/kernel/eval/lower"
	"cancha/kernel/eval/native"
)

// A cell that declares functions or types need not wait for the compiler. If nothing that it declares runs in it, it has ended once it is
// checked. If its statements call functions that are plainly short, these are interpreted, once. Its package is built in the background. It
// is taken into the program when that is done, or when a cell comes that mentions what it declares; that cell waits for it. So no other
// cell ever meets an interpreted function.

// pending is a cell of the program that is still being compiled.
type pending struct {
	cell    *check.Cell
	request cell.Request
	source  *native.Source
	unit    *native.Unit
	objects map[types.Object]bool // that it declares, but for variables, which have their places already
	renewed []renewal
	moved   map[*types.Func]string // where functions that have been interpreted look for the compiled ones

	wanted  func()          // tells that a cell waits for it
	hurried context.Context // ends with that
	built   chan struct{}   // closed when the build has ended, with err
	err     error
}

// renewal is a function that takes the place of an earlier one.
type renewal struct{ old, new *types.Func }

// later are the cells that are compiled beside others. All but one is guarded by Program.building.
type later struct {
	ctx     context.Context // of the builds
	cancel  context.CancelFunc
	builds  sync.WaitGroup
	one     chan struct{} // held by the build that runs; one that a cell waits for runs without
	pending []*pending    // in the order of the cells
	failed  []*pending
	notes   []string // for the next cell
}

func (l *later) start() {
	l.ctx, l.cancel = context.WithCancel(context.Background())
	l.one = make(chan struct{}, 1)
}

// close stops the builds and waits for them.
func (l *later) close() {
	l.cancel()
	l.builds.Wait()
}

// compileLater takes a checked cell into the program and has it compiled in the background, if that is possible for this cell; ok is false
// if not.
func (p *Program) compileLater(c *check.Cell, t *task) (unit *lower.Unit, run func(), ok bool, err error) {
	if mode := p.mode.get(); !p.Only() || mode == engineNative || t.parts || !declares(c) {
		return nil, nil, false, nil
	}
	renewed, ok := renewals(c)
	switch {
	case !ok || c.Main != nil || len(c.Methods) > 0 || len(c.Dropped) > 0 || len(c.Blank) > 0 || initialises(c) || disguises(c):
		return nil, nil, false, nil
	case len(c.Body.Body.List) == 0 && !slices.ContainsFunc(c.Objects, isVariable):
		unit, run, err = p.declareLater(c, t, renewed)
	case (len(renewed) == 0 || callsNoEarlierCode(c)) && p.turn.try(t) && p.runsShortly(c): // which looks at variables, so no other cell is to change them
		unit, run, err = p.interpretFirst(c, t, renewed)
	default:
		return nil, nil, false, nil
	}
	return unit, run, err == nil || errors.Is(err, context.Canceled), err
}

func isVariable(o types.Object) bool {
	_, ok := o.(*types.Var)
	return ok
}

// initialises reports whether a cell has a func init, which runs when the cell does.
func initialises(c *check.Cell) bool {
	return slices.ContainsFunc(c.Decls, func(d ast.Decl) bool {
		f, ok := d.(*ast.FuncDecl)
		return ok && f.Recv == nil && f.Name.Name == "init"
	})
}

// renewals are the functions that a cell declares anew; ok is false where something else has its name anew, or a function cannot take
// the place of the old one, which the cell is to say.
func renewals(c *check.Cell) (list []renewal, ok bool) {
	for _, o := range c.Objects {
		before := c.Replaces(o.Name())
		if before == nil {
			continue
		}
		old, ok1 := before.(*types.Func)
		f, ok2 := o.(*types.Func)
		if !ok1 || !ok2 || !types.Identical(old.Type(), f.Type()) || f.Signature().TypeParams().Len() > 0 || recovers(c, f) {
			return nil, false
		}
		list = append(list, renewal{old, f})
	}
	return list, true
}

// runsShortly reports whether a cell declares nothing but variables and functions that are not generic, and has statements that are plainly
// short with all that they call.
func (p *Program) runsShortly(c *check.Cell) bool {
	for _, d := range c.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Recv != nil || d.Type.TypeParams != nil || d.Body == nil || check.CallsRecover(c.Info, d.Body) {
				return false
			}
		case *ast.GenDecl:
			if d.Tok == token.TYPE {
				return false
			}
		}
	}
	return !p.slow(c)
}

// inert are packages whose functions call nothing that an earlier cell has handed to the package.
var inert = map[string]bool{
	"bytes": true, "cmp": true, "errors": true, "fmt": true, "maps": true, "math": true, "math/bits": true, "math/cmplx": true, "math/rand": true,
	"math/rand/v2": true, "slices": true, "sort": true, "strconv": true, "strings": true, "time": true, "unicode": true, "unicode/utf8": true,
}

// callsNoEarlierCode reports whether a cell calls no code of earlier cells. While it runs, only the cell itself asks for the functions that
// it renews, and it has them.
func callsNoEarlierCode(c *check.Cell) bool {
	for _, o := range c.Info.Uses {
		switch pkg := o.Pkg(); {
		case pkg == nil || pkg == c.Pkg:
		case pkg.Path() != "main":
			if !inert[pkg.Path()] {
				return false
			}
			continue
		}
		switch o := o.(type) {
		case *types.Func, *types.TypeName:
			if o.Pkg() != nil && o.Pkg() != c.Pkg {
				return false
			}
		case *types.Var:
			if !isPlain(o.Type()) {
				return false
			}
		}
	}
	return true
}

// isPlain reports whether the values of t hold no code: it is made of basic types without names.
func isPlain(t types.Type) bool {
	switch t := types.Unalias(t).(type) {
	case *types.Basic:
		return true
	case *types.Slice:
		return isPlain(t.Elem())
	case *types.Array:
		return isPlain(t.Elem())
	case *types.Pointer:
		return isPlain(t.Elem())
	case *types.Map:
		return isPlain(t.Key()) && isPlain(t.Elem())
	}
	return false
}

// declareLater is compileLater for a cell of which nothing runs.
func (p *Program) declareLater(c *check.Cell, t *task, renewed []renewal) (*lower.Unit, func(), error) {
	p.scope.Lock()
	defer p.scope.Unlock()
	p.lowerer.Variables(c)
	source, err := p.native.Write(c, t.request.Cell, p.lowerer.Place)
	if err == nil {
		err = t.take()
	}
	if err != nil {
		p.lowerer.Drop()
		return nil, nil, err
	}
	p.lowerer.Keep()
	p.scope.Commit(c)
	p.buildBeside(c, t, source, renewed, nil)
	t.native = true
	return &lower.Unit{}, func() {}, nil
}

// interpretFirst is compileLater for a cell whose statements are interpreted, with the functions that they call.
func (p *Program) interpretFirst(c *check.Cell, t *task, renewed []renewal) (unit *lower.Unit, run func(), err error) {
	var source *native.Source
	unit, run, err = p.interpretBy(func(u *lower.Unit) (run func(), err error) {
		if source, err = p.native.Write(c, t.request.Cell, p.lowerer.Place); err != nil {
			return nil, err
		}
		return p.back.Load(u)
	}, c, t)
	if err != nil {
		return nil, nil, err
	}
	p.scope.Lock()
	defer p.scope.Unlock()
	p.buildBeside(c, t, source, renewed, p.lowerer.Forget(c))
	return unit, run, nil
}

// buildBeside begins to build a cell. The caller holds building.
func (p *Program) buildBeside(c *check.Cell, t *task, source *native.Source, renewed []renewal, moved map[*types.Func]string) {
	d := &pending{cell: c, request: t.request, source: source, objects: map[types.Object]bool{}, renewed: renewed, moved: moved, built: make(chan struct{})}
	for _, o := range c.Objects {
		if !isVariable(o) {
			d.objects[o] = true
		}
	}
	var build func(context.Context) error
	d.unit, build = p.native.Prepare(source)
	d.hurried, d.wanted = context.WithCancel(p.later.ctx)
	p.later.pending = append(p.later.pending, d)
	p.later.builds.Go(func() {
		d.err = p.later.inTurn(d.hurried, build)
		close(d.built)
		if p.building.lock(p.later.ctx) == nil {
			p.finish(d)
			p.building.unlock()
		}
	})
}

// inTurn builds, when no other build runs that no cell waits for, or hurried ends.
func (l *later) inTurn(hurried context.Context, build func(context.Context) error) error {
	select {
	case l.one <- struct{}{}:
		defer func() { <-l.one }()
	case <-hurried.Done():
	}
	return build(l.ctx)
}

// settle takes those cells into the program that a cell needs, nil for all, and waits for their builds. The caller holds building.
func (p *Program) settle(t *task, c *check.Cell) error {
	for _, d := range slices.Clone(p.later.pending) {
		if c != nil && !d.concerns(c) {
			continue
		}
		d.wanted()
		select {
		case <-d.built:
		case <-t.ctx.Done():
			return t.ctx.Err()
		}
		p.finish(d)
	}
	p.note(t.request.Cell, p.later.notes)
	p.later.notes = nil
	p.later.failed = slices.DeleteFunc(p.later.failed, p.hidden)
	for _, d := range p.later.failed {
		if c != nil && d.mentioned(c) {
			return errors.New(d.failure())
		}
	}
	return nil
}

// hidden reports whether no later cell can mention what a cell declares: all of it has been declared again, or forgotten.
func (p *Program) hidden(d *pending) bool {
	p.scope.Lock()
	defer p.scope.Unlock()
	for o := range d.objects {
		if p.scope.Lookup(o.Name()) == o {
			return false
		}
	}
	return true
}

// concerns reports whether a cell cannot be compiled, or run, before d belongs to the program. Functions that d renews may be called by any
// cell, through those of other cells. And a cell that renews something is told who keeps the old one, which may be d.
func (d *pending) concerns(c *check.Cell) bool {
	return len(d.renewed) > 0 || len(c.Methods) > 0 || len(c.Dropped) > 0 || d.mentioned(c) || slices.ContainsFunc(c.Objects, func(o types.Object) bool {
		old := c.Replaces(o.Name())
		return old != nil && !isVariable(old)
	})
}

func (d *pending) mentioned(c *check.Cell) bool {
	for _, o := range c.Info.Uses {
		if d.objects[o] {
			return true
		}
	}
	return false
}

// finish takes a cell that has been built into the program, once. The caller holds building.
func (p *Program) finish(d *pending) {
	i := slices.Index(p.later.pending, d)
	if i < 0 || errors.Is(d.err, context.Canceled) {
		return
	}
	p.later.pending = slices.Delete(p.later.pending, i, i+1)
	d.wanted() // nobody will, and its context goes
	if d.err == nil {
		d.err = p.takeIn(d)
	} else {
		d.err = p.instead(d)
	}
	if d.err != nil {
		p.later.failed = append(p.later.failed, d)
		p.later.notes = append(p.later.notes, d.failure())
		return
	}
	for _, r := range d.renewed {
		if variable := p.wraps(d.cell, r.new); variable != "" {
			p.later.notes = append(p.later.notes, p.keepsOld(r.old, wrapping(r.new, variable))...)
			continue
		}
		if !p.native.Redirect(r.old, r.new) {
			p.later.notes = append(p.later.notes, fmt.Sprintf("functions of earlier cells that call %s keep the old one", r.new.Name()))
		}
	}
}

// failure says that a cell could not be compiled.
func (d *pending) failure() string {
	var names []string
	for o := range d.objects {
		names = append(names, o.Name())
	}
	slices.Sort(names)
	return fmt.Sprintf("%s could not be compiled, and what it declares (%s) cannot be used before it is run again: %v", d.cell.Name, strings.Join(names, ", "), d.err)
}

// instead has a cell interpreted that the compiler has refused.
func (p *Program) instead(d *pending) error {
	err := p.notCompiled(d.cell, d.source, d.err)
	if errors.As(err, new(*check.Error)) {
		if _, _, other := p.interpret(d.cell, &task{request: d.request, name: d.cell.Name, ctx: p.later.ctx, cancel: func() {}}); other == nil {
			return nil
		}
	}
	return err
}

// takeIn loads a cell that has been built.
func (p *Program) takeIn(d *pending) error {
	p.scope.Lock()
	defer p.scope.Unlock()
	p.machine.OnPackage(d.unit.Path)
	if _, err := p.loadNative(d.source, d.unit); err != nil {
		return err
	}
	p.back.Use(d.unit.Path, d.unit.Symbols)
	for f, variable := range d.moved {
		_, name, _ := p.native.Symbol(f)
		if !p.back.Move(variable, d.unit.Symbols[name]) {
			p.later.notes = append(p.later.notes, fmt.Sprintf("what %s has left running keeps an interpreted %s", d.cell.Name, f.Name()))
		}
	}
	return nil
}
