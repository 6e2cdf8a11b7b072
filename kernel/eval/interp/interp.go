// Package interp runs lowered cells in the yaegi interpreter. It is the only door to that library, and it ends there: what it
// is given is the part of Go that package lower writes, and what it gives back is a function to call.
//
// Yaegi is used in one way only: Eval takes declarations, never a statement of a cell, and the cell's function is called
// outside of it. So Eval never runs beside itself, whatever an interrupted cell still does. EvalWithContext is not used: its
// cancellation silently breaks functions that were made before.
//
// Yaegi keeps all that it has compiled. So declarations and statements go to two interpreters: the first lives as long as the
// program, the second runs the statements of some cells and is then replaced. It shares nothing with the first but what the
// functions of the cells are given: pointers to variables, and functions.
package interp

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"path"
	"reflect"
	"slices"
	"strings"
	"sync"
	"weak"

	"github.com/traefik/yaegi/interp"

	"cancha/kernel/eval/lower"
)

// Engine is an interpreter with the program so far.
type Engine struct {
	mu         sync.Mutex // Eval works alone
	symbols    map[string]map[string]reflect.Value
	keys       map[string]string       // import path → key in symbols
	aliases    map[[2]string][2]string // made when the first is asked for
	primitives map[string]reflect.Value
	wrappers   interp.Exports
	trace      io.Writer

	program    *room                    // the declarations
	statements *room                    // of the last cells
	moved      reflect.Value            // the program's variable of that name
	shared     map[string]reflect.Value // what bodies can be given
	pending    []string                 // variables that are not among them yet
	body       reflect.Value            // the last one that was compiled

	stopping sync.Mutex
	stop     bool
	stops    []weak.Pointer[bool] // the rooms' stop variables; a room goes when it has been replaced and nothing of its cells runs
}

// bodies is how many cells' statements a room runs before it is replaced. One statement takes some 30 kB; a room without any
// takes 200 kB, for the time that it lives, and 0.5 ms.
const bodies = 32

// New returns an interpreter over the compiled packages in symbols, keyed "import/path/name", and the primitives. A
// package is taken in when a cell first imports it. Traces of panics are written to trace.
func New(symbols map[string]map[string]reflect.Value, primitives map[string]reflect.Value, trace io.Writer) (*Engine, error) {
	e := &Engine{
		symbols:    symbols,
		keys:       map[string]string{},
		primitives: map[string]reflect.Value{},
		wrappers:   wrappersOf(symbols),
		trace:      trace,
		shared:     map[string]reflect.Value{},
	}
	for key := range symbols {
		if key != "." {
			e.keys[path.Dir(key)] = key
		}
	}
	for name, v := range primitives {
		e.primitives[name] = v
	}
	e.primitives[lower.ShareFunction] = reflect.ValueOf(func(name string, f any) { e.shared[name] = reflect.ValueOf(f) })
	e.primitives[lower.ShareBody] = reflect.ValueOf(func(f any) { e.body = reflect.ValueOf(f) })
	var err error
	if e.program, err = e.newRoom(programSlots); err != nil {
		return nil, err
	}
	e.moved = e.program.yaegi.Globals()[lower.MovedVariable]
	return e, nil
}

// Has tells whether a compiled package has an exported name.
func (e *Engine) Has(path, name string) bool {
	_, ok := e.symbols[e.keys[path]][name]
	return ok
}

// Alias finds an exported name, other than its own, of a type that a package declares: stream.Kind is the type Kind of a package behind
// internal. Of several it is the first in the order of paths and names.
func (e *Engine) Alias(declared, name string) (aliasPath, aliasName string, ok bool) {
	if e.aliases == nil {
		e.aliases = aliasesOf(e.symbols)
	}
	a, ok := e.aliases[[2]string{declared, name}]
	return a[0], a[1], ok
}

// aliasesOf maps types by where they are declared to names under which others export them. A type's symbol is a nil pointer to it.
func aliasesOf(symbols map[string]map[string]reflect.Value) map[[2]string][2]string {
	aliases := map[[2]string][2]string{}
	for _, key := range slices.Sorted(maps.Keys(symbols)) {
		from := path.Dir(key)
		for _, name := range slices.Sorted(maps.Keys(symbols[key])) {
			v := symbols[key][name]
			if v.Kind() != reflect.Pointer || !v.IsNil() || strings.HasPrefix(name, "_") {
				continue
			}
			declared := [2]string{v.Type().Elem().PkgPath(), v.Type().Elem().Name()}
			if _, known := aliases[declared]; !known && declared[1] != "" && declared != [2]string{from, name} {
				aliases[declared] = [2]string{from, name}
			}
		}
	}
	return aliases
}

// Stop sets the variable that makes lowered code ask whether it is to stop. It is a plain bool that is written while others read it, which
// the race detector reports. The interpreter reads it through reflect in each iteration of a loop, so no loop misses it for long, and the
// question that follows is asked under a lock. An atomic load would be a call of compiled code in each iteration.
func (e *Engine) Stop(on bool) {
	e.stopping.Lock()
	defer e.stopping.Unlock()
	e.stop = on
	e.setStops()
}

// setStops sets the stop variables of the rooms that there still are. Call it with stopping held.
func (e *Engine) setStops() {
	e.stops = slices.DeleteFunc(e.stops, func(w weak.Pointer[bool]) bool {
		s := w.Value()
		if s != nil {
			*s = e.stop
		}
		return s == nil
	})
}

// Load adds a lowered cell to the program and returns the function that runs it. After an error names of the cell may exist,
// but nothing refers to them.
func (e *Engine) Load(u *lower.Unit) (run func(), err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.load(u)
}

// load is Load for who holds the lock.
func (e *Engine) load(u *lower.Unit) (run func(), err error) {
	defer func() {
		if p := recover(); p != nil {
			run, err = nil, fmt.Errorf("the interpreter failed on the cell: %v", p)
		}
	}()
	if err := e.declare(u); err != nil {
		return nil, err
	}
	if run, err = e.compile(&u.Body); err == nil {
		e.move(u.Moves)
	}
	return run, err
}

// LoadApart is Load for a cell that runs beside the statements of another one: its own statements run in a scope of their own. It fails if
// they need the scope of the declarations.
func (e *Engine) LoadApart(u *lower.Unit) (run func(), err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if u.Body.Stays {
		return nil, errors.New("the statements mention a type that the program's own scope has to keep")
	}
	others := e.statements
	e.statements = nil
	defer func() { e.statements = others }()
	return e.load(u)
}

// Declare adds a unit's declarations to the program, and does not look at its body.
func (e *Engine) Declare(u *lower.Unit) (err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the interpreter failed on the declarations: %v", p)
		}
	}()
	return e.declare(u)
}

// Variable returns a variable of the program, which can be set; the zero Value where there is none by that name.
func (e *Engine) Variable(name string) reflect.Value {
	e.mu.Lock()
	defer e.mu.Unlock()
	if v := e.lookup(name); v.IsValid() {
		return v.Elem()
	}
	return reflect.Value{}
}

// lookup returns what bodies are given for a name: a pointer to a variable, or a function. Variables are looked up when
// somebody asks for one, all that are new at once, since yaegi lists those of all cells each time.
func (e *Engine) lookup(name string) reflect.Value {
	if v, ok := e.shared[name]; ok || len(e.pending) == 0 {
		return v
	}
	globals := e.program.yaegi.Globals()
	for _, n := range e.pending {
		if v := globals[n]; v.IsValid() && v.CanAddr() {
			e.shared[n] = v.Addr()
		}
	}
	e.pending = nil
	return e.shared[name]
}

// Share makes what a pointer points to a variable that statements can use.
func (e *Engine) Share(name string, pointer reflect.Value) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.shared[name] = pointer
}

// Use makes a package known that cells may import from now on, under its path and the names of its symbols.
func (e *Engine) Use(importPath string, symbols map[string]reflect.Value) {
	e.mu.Lock()
	defer e.mu.Unlock()
	key := importPath + "/cell"
	e.symbols[key], e.keys[importPath] = symbols, key
}

// declare is Declare for who holds the lock.
func (e *Engine) declare(u *lower.Unit) error {
	for _, d := range u.Imports {
		if err := e.program.imports(e, d); err != nil {
			return err
		}
	}
	if u.Source == "" {
		return nil
	}
	if err := e.program.eval(u.Source); err != nil {
		return err
	}
	e.pending = append(e.pending, u.Vars...)
	return nil
}

// Move puts a function into the variable in which a function of the program looks for its successor, and makes all functions look. It tells
// whether the variable can hold it.
func (e *Engine) Move(variable string, f reflect.Value) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	v := e.lookup(variable)
	if !v.IsValid() || !f.IsValid() || !f.Type().AssignableTo(v.Type().Elem()) {
		return false
	}
	v.Elem().Set(f)
	e.moved.SetBool(true)
	return true
}

// move makes functions take the places of earlier ones.
func (e *Engine) move(moves []lower.Move) {
	for _, m := range moves {
		e.lookup(m.Variable).Elem().Set(e.lookup(m.Function))
	}
	if len(moves) > 0 {
		e.moved.SetBool(true)
	}
}

// compile makes a function of a body.
func (e *Engine) compile(b *lower.Body) (run func(), err error) {
	if err := e.eval(b); err != nil {
		return nil, err
	}
	f := e.body
	e.body = reflect.Value{}
	if !f.IsValid() || f.Kind() != reflect.Func || f.Type().NumIn() != len(b.Params) {
		return nil, fmt.Errorf("the interpreter returned %v for the cell's function", f)
	}
	args := make([]reflect.Value, len(b.Params))
	for i, name := range b.Params {
		if name == lower.LineVariable {
			args[i] = reflect.ValueOf(b.Line)
		} else {
			args[i] = e.lookup(name)
		}
		if want := f.Type().In(i); !args[i].IsValid() || !args[i].Type().AssignableTo(want) {
			return nil, fmt.Errorf("the interpreter has %v for %s, which the cell's function wants as %v", args[i], name, want)
		}
	}
	return func() { f.Call(args) }, nil
}

func (e *Engine) eval(b *lower.Body) (err error) {
	if b.Stays {
		return e.program.body(e, b)
	}
	if e.statements == nil || e.statements.bodies >= bodies {
		if e.statements, err = e.newRoom(bodySlots); err != nil {
			return err
		}
	}
	if err := e.statements.body(e, b); err != nil {
		e.statements = nil // what of it has been declared is not known
		return err
	}
	return nil
}
