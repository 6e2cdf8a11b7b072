package native

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"go/token"
	"go/types"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"

	"cancha/kernel/eval/native/support"
)

// Unit is a compiled cell.
type Unit struct {
	Path    string // import path of its package
	cells   []*Unit
	calls   map[*Unit]bool // of whose guarded functions it calls some directly, see escape.go
	stale   bool           // a guarded function that it calls has been declared anew
	stop    *uint32
	Symbols map[string]reflect.Value
}

// Engine compiles the cells of one program and loads them. Its methods are for one goroutine at a time, except Stop and Symbol, which any
// goroutine may call.
type Engine struct {
	tools   Toolchain
	machine support.Machine

	known     sync.RWMutex // of objects, where another goroutine than the one that compiles reads them
	objects   map[types.Object]at
	fields    map[*types.Var]fieldAt
	guarded   map[*types.Func]at
	declared  map[types.Object]*declaration
	structs   []*types.TypeName                // without a name, the newest first
	newer     map[reflect.Type]reflect.Type    // declared again
	literals  map[string]map[types.Object]bool // cell → what function literals of its statements mention
	renamed   map[string]string                // declared again: "cells/1.P" → "cells/2.P"
	instances map[string]reflect.Type          // of generic types that are made of such: "cells/2.L[cells/2.P]" → type
	dropped   dropped
	holders   map[*types.Func]map[string]bool // cells whose values and literals have a function
	successor map[*types.Func]*types.Func     // of functions that call another one of their name instead
	loaded    map[string]int                  // how many times a package of this content has been loaded

	mu        sync.Mutex
	stops     []*uint32
	units     []*Unit
	functions map[*types.Func]*function
	stopping  bool
}

// SetTools changes what later cells are compiled with: more packages, otherwise the same.
func (e *Engine) SetTools(tools Toolchain) { e.tools = tools }

// at is where an object of the cells is to be found.
type at struct {
	unit *Unit
	name string
}

// own is the name of a type in its package.
func (x at) own() string { return strings.TrimPrefix(x.name, typeExport("")) }

type fieldAt struct {
	owner *types.TypeName
	index int
}

// function is a loaded function that can be made to call another.
type function struct {
	support.Function
	value   reflect.Value // the function itself, its receiver in front
	unit    *Unit
	guarded bool
	moved   bool
}

// New returns an engine without cells.
func New(tools Toolchain, machine support.Machine) *Engine {
	return &Engine{
		tools: tools, machine: machine,
		objects: map[types.Object]at{}, fields: map[*types.Var]fieldAt{}, guarded: map[*types.Func]at{}, declared: map[types.Object]*declaration{}, newer: map[reflect.Type]reflect.Type{}, literals: map[string]map[types.Object]bool{}, dropped: dropped{}, successor: map[*types.Func]*types.Func{}, holders: map[*types.Func]map[string]bool{}, renamed: map[string]string{}, instances: map[string]reflect.Type{}, loaded: map[string]int{},
		functions: map[*types.Func]*function{},
	}
}

// Symbol returns where a compiled cell's type or function is found: its package's path and the exported name there; ok is false for
// anything else.
func (e *Engine) Symbol(o types.Object) (path, name string, ok bool) {
	e.known.RLock()
	defer e.known.RUnlock()
	x, ok := e.objects[o]
	if !ok {
		return "", "", false
	}
	return x.unit.Path, x.name, true
}

// Field returns the exported name of the function that returns the pointer to a field that is not exported ("P") or its
// value ("G").
func (e *Engine) Field(form string, v *types.Var) (path, name string, ok bool) {
	f, ok := e.fields[v.Origin()]
	if !ok {
		return "", "", false
	}
	return e.objects[f.owner].unit.Path, fieldFunc(form, e.objects[f.owner].own(), f.index), true
}

// Maker returns the exported name of the function that builds a struct with fields that are not exported.
func (e *Engine) Maker(o *types.TypeName) (path, name string) {
	return e.objects[o].unit.Path, makerName(e.objects[o].own())
}

func (w *writer) earlier(o types.Object, pos token.Pos) at {
	x, ok := w.engine.objects[o]
	if !ok {
		refuse(pos, "%s was declared by an interpreted cell, which a compiled one cannot use: run its cell again", o.Name())
	}
	return x
}

// packageName is the name of an earlier cell's package in this one.
func (w *writer) packageName(u *Unit) string {
	if name, ok := w.cells[u]; ok {
		return name
	}
	name := fmt.Sprintf("c%d%s", len(w.cells)+1, mark)
	w.cells[u] = name
	w.cellOrder = append(w.cellOrder, u)
	return name
}

// Build compiles what Write wrote. The unit is not part of the program until Load. The error names what the compiler said.
func (e *Engine) Build(ctx context.Context, s *Source) (*Unit, error) {
	u, build := e.Prepare(s)
	return u, build(ctx)
}

// Prepare returns the unit of what Write wrote, and the function that builds it, which any goroutine may call.
func (e *Engine) Prepare(s *Source) (u *Unit, build func(context.Context) error) {
	h := sha256.New()
	fmt.Fprintf(h, "%s\n%s\n", e.tools.ImportConfig, s.Text)
	for _, u := range s.Cells {
		fmt.Fprintln(h, u.Path)
	}
	id := hex.EncodeToString(h.Sum(nil))[:16]
	e.loaded[id]++
	if n := e.loaded[id]; n > 1 {
		id = fmt.Sprintf("%s-%d", id, n)
	}
	u = &Unit{Path: "cells/" + id, cells: s.Cells, calls: s.calls}
	tools := e.tools
	return u, func(ctx context.Context) error { return tools.build(ctx, u, s.Text) }
}

// Open loads the plugin of a built unit, which initialises the packages that it is the first to import, and nothing else. Load takes it up.
func (e *Engine) Open(u *Unit) error {
	_, err := open(e.tools.plugin(u))
	if err != nil {
		return fmt.Errorf("load the compiled cell: %w", err)
	}
	return nil
}

// Load loads a built unit and makes its declarations known to later cells. Place is as in [support.Host].
func (e *Engine) Load(s *Source, u *Unit, place func(name string, t reflect.Type) reflect.Value) (run func(), err error) {
	bind, err := open(e.tools.plugin(u))
	if err != nil {
		return nil, fmt.Errorf("load the compiled cell: %w", err)
	}
	h := &support.Host{Machine: e.machine, Place: place, Symbols: map[string]reflect.Value{}, Functions: map[string]support.Function{}, Values: map[string]reflect.Value{}}
	bind(h)
	u.Symbols, u.stop = h.Symbols, h.Stop
	e.take(s, u)
	e.mu.Lock()
	defer e.mu.Unlock()
	for called := range u.calls {
		u.stale = u.stale || called.stale
	}
	e.units = append(e.units, u)
	for _, f := range s.Changed {
		_, name := s.names.switchName(f)
		_, guarded := e.guarded[f]
		loaded := &function{Function: h.Functions[name], value: h.Values[name], unit: u, guarded: guarded}
		loaded.To.Elem().SetZero()             // a process loads a plugin once, and another program of its may have had this one
		if old := e.functions[f]; old != nil { // declared again
			if err := e.redirect(old, loaded.value); err != nil {
				return nil, fmt.Errorf("function %s: %w", name, err)
			}
		}
		e.functions[f] = loaded
		e.setFunction(loaded)
	}
	e.stops = append(e.stops, u.stop)
	e.set(u.stop)
	return h.Run, nil
}

// take makes the declarations of a unit known.
func (e *Engine) take(s *Source, u *Unit) {
	e.known.Lock()
	defer e.known.Unlock()
	for _, x := range s.exports {
		if old, ok := e.objects[x.object]; ok { // declared again
			if from, to := old.unit.Symbols[old.name], u.Symbols[x.name]; from.IsValid() && to.IsValid() && from.Kind() == reflect.Pointer {
				e.newer[from.Type().Elem()] = to.Type().Elem()
			}
			if _, ok := x.object.(*types.TypeName); ok {
				e.renamed[old.unit.Path+"."+old.own()] = u.Path + "." + at{u, x.name}.own()
			}
		}
		e.objects[x.object] = at{u, x.name}
	}
	for _, x := range s.guarded {
		e.guarded[x.object.(*types.Func)] = at{u, x.name}
	}
	e.structs = append(s.structs, e.structs...)
	for _, f := range s.fields {
		e.fields[f.field] = fieldAt{f.owner, f.index}
	}
	for name, v := range u.Symbols {
		if strings.HasPrefix(name, instanceMark) {
			e.instances[fullName(v.Type().Elem())] = v.Type().Elem()
		}
	}
	e.dropped = s.names.dropped
	e.remember(s.cell)
}

// Function returns a function that a compiled cell has declared; ok is false for any other, and for a generic one.
func (e *Engine) Function(f *types.Func) (value reflect.Value, ok bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if found := e.functions[f]; found != nil {
		return found.value, true
	}
	return reflect.Value{}, false
}

// Stop makes compiled code ask whether it is to stop.
func (e *Engine) Stop(on bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.stopping = on
	for _, flag := range e.stops {
		e.set(flag)
	}
	for _, f := range e.functions {
		e.setFunction(f)
	}
}

func (e *Engine) set(flag *uint32) {
	n := uint32(0)
	if e.stopping {
		n = 1
	}
	atomic.StoreUint32(flag, n)
}

func (e *Engine) setFunction(f *function) {
	if f.Flag == nil {
		return
	}
	n := uint32(0)
	if e.stopping || f.moved || f.unit.stale {
		n = 1
	}
	atomic.StoreUint32(f.Flag, n)
}

// Redirect makes old call new from now on: functions of compiled cells with the same signature. It tells whether it could.
func (e *Engine) Redirect(old, new *types.Func) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	from, to := e.functions[old], e.functions[new]
	if from == nil || to == nil || e.redirect(from, to.value) != nil {
		return false
	}
	e.successor[old] = new
	return true
}

// latest is the function that is called where f is: f, or what has been declared in its place.
func (e *Engine) latest(f *types.Func) *types.Func {
	for e.successor[f] != nil {
		f = e.successor[f]
	}
	return f
}

// IsNamed tells whether a function value is a function of compiled cells by a name.
func IsNamed(v reflect.Value, name string) bool {
	f := runtime.FuncForPC(v.Pointer())
	if f == nil {
		return false
	}
	full := f.Name()
	own := full[strings.LastIndex(full, "/")+1:]
	_, own, _ = strings.Cut(own, ".")
	if plain := strings.ReplaceAll(own, hiddenMark, ""); plain != own {
		return plain == mark+name || plain == cellType+".F"+mark+name+"-fm"
	}
	return own == ownName(name) || own == cellType+".F"+mark+name+"-fm"
}

// redirect sets what a function calls instead. Its own type may be of an earlier declaration of the same.
func (e *Engine) redirect(f *function, value reflect.Value) error {
	t := f.To.Type().Elem()
	if value.Type() != t {
		if !SameLayout(value.Type(), t) {
			return fmt.Errorf("a %s cannot take the place of a %s", value.Type(), t)
		}
		p := reflect.New(value.Type())
		p.Elem().Set(value)
		value = reflect.NewAt(t, p.UnsafePointer()).Elem()
	}
	f.To.Elem().Set(value)
	f.moved = true
	e.setFunction(f)
	if f.guarded {
		e.makeStale(f.unit)
	}
	return nil
}

// makeStale makes the functions of a unit, and of those that call it directly, keep their variables on the heap.
func (e *Engine) makeStale(u *Unit) {
	u.stale = true
	for grown := true; grown; {
		grown = false
		for _, other := range e.units {
			for called := range other.calls {
				if called.stale && !other.stale {
					other.stale, grown = true, true
				}
			}
		}
	}
	for _, f := range e.functions {
		e.setFunction(f)
	}
}

// Method is a method's name in compiled cells.
func (e *Engine) Method(m *types.Func) string { return methodName(m) }

// methodName is the name of a method in compiled cells, which have to see each other's.
func methodName(m *types.Func) string {
	if !m.Exported() && m.Name() != "_" && m.Pkg() != nil && m.Pkg().Path() == "main" {
		return hiddenMark + m.Name()
	}
	return m.Name()
}
