// Package interp runs lowered cells in the yaegi interpreter. It is the only door to that library, and it ends there: what it
// is given is the part of Go that package lower writes, and what it gives back is a function to call.
//
// Yaegi is used in one way only: Eval takes declarations, never a statement of a cell, and the cell's function is called
// outside of it. So Eval never runs beside itself, whatever an interrupted cell still does. EvalWithContext is not used: its
// cancellation silently breaks functions that were made before.
package interp

import (
	"fmt"
	"io"
	"os"
	"path"
	"reflect"
	"sync"

	"github.com/traefik/yaegi/interp"

	"cancha/kernel/eval/lower"
)

// Engine is an interpreter with the program so far.
type Engine struct {
	mu      sync.Mutex // Eval works alone
	yaegi   *interp.Interpreter
	symbols map[string]map[string]reflect.Value
	keys    map[string]string // import path → key in symbols
	used    map[string]bool
	stop    reflect.Value
}

// New returns an interpreter over the compiled packages in symbols, keyed "import/path/name", and the primitives. A
// package is taken in when a cell first imports it. Traces of panics are written to trace.
func New(symbols map[string]map[string]reflect.Value, primitives map[string]reflect.Value, trace io.Writer) (*Engine, error) {
	e := &Engine{
		yaegi:   interp.New(interp.Options{Stdout: os.Stdout, Stderr: trace, Unrestricted: true}),
		symbols: symbols,
		keys:    map[string]string{},
		used:    map[string]bool{},
	}
	for key := range symbols {
		if key != "." {
			e.keys[path.Dir(key)] = key
		}
	}
	if err := e.yaegi.Use(interp.Exports{lower.RuntimePath + "/" + path.Base(lower.RuntimePath): primitives}); err != nil {
		return nil, fmt.Errorf("start the interpreter: %w", err)
	}
	if _, err := e.yaegi.Eval(lower.Prelude()); err != nil {
		return nil, fmt.Errorf("start the interpreter: %w", err)
	}
	e.stop = e.yaegi.Globals()[lower.StopVariable]
	if !e.stop.IsValid() || !e.stop.CanSet() {
		return nil, fmt.Errorf("start the interpreter: its variable %s cannot be set", lower.StopVariable)
	}
	return e, nil
}

// Has tells whether a compiled package has an exported name.
func (e *Engine) Has(path, name string) bool {
	_, ok := e.symbols[e.keys[path]][name]
	return ok
}

// Stop sets the variable that makes lowered code ask whether it is to stop. It is a plain bool, written while others read it,
// which the race detector reports: the interpreter reads it anew through reflect at each turn of a loop, so that no turn
// misses it for long, and the question that then follows is asked under a lock. An atomic load would be a call of compiled code
// in each turn.
func (e *Engine) Stop(on bool) { e.stop.SetBool(on) }

// Load adds a lowered cell to the program and returns the function that runs it. After an error names of the cell may exist,
// but nothing refers to them.
func (e *Engine) Load(u *lower.Unit) (run func(), err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	defer func() {
		if p := recover(); p != nil {
			run, err = nil, fmt.Errorf("the interpreter failed on the cell: %v", p)
		}
	}()
	if err := e.use(u.Imports); err != nil {
		return nil, err
	}
	if _, err := e.yaegi.Eval(u.Source); err != nil {
		return nil, fmt.Errorf("the interpreter refused the lowered cell: %w", err)
	}
	v, err := e.yaegi.Eval(u.Entry)
	if err != nil {
		return nil, fmt.Errorf("the interpreter refused the lowered cell: %w", err)
	}
	run, ok := v.Interface().(func())
	if !ok {
		return nil, fmt.Errorf("the interpreter returned %s for the cell's function", v.Type())
	}
	return run, nil
}

// Declare adds a unit's declarations of variables to the program.
func (e *Engine) Declare(u *lower.Unit) (err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the interpreter failed on the variables: %v", p)
		}
	}()
	if err := e.use(u.Imports); err != nil {
		return err
	}
	_, err = e.yaegi.Eval(u.Source)
	return err
}

// Variable returns a variable of the program, which can be set; the zero Value where there is none by that name.
func (e *Engine) Variable(name string) reflect.Value {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.yaegi.Globals()[name]
}

// Use makes a package known that cells may import from now on, under its path and the names of its symbols.
func (e *Engine) Use(importPath string, symbols map[string]reflect.Value) {
	e.mu.Lock()
	defer e.mu.Unlock()
	key := importPath + "/cell"
	e.symbols[key], e.keys[importPath] = symbols, key
}

func (e *Engine) use(paths []string) error {
	for _, p := range paths {
		key, ok := e.keys[p]
		if !ok || e.used[p] {
			continue
		}
		if err := e.yaegi.Use(interp.Exports{key: e.symbols[key]}); err != nil {
			return fmt.Errorf("import %s: %w", p, err)
		}
		e.used[p] = true
	}
	return nil
}
