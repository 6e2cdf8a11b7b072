package interp

import (
	"fmt"
	"os"
	"path"
	"reflect"
	"strings"
	"weak"

	"github.com/traefik/yaegi/interp"

	"cancha/kernel/eval/lower"
)

// room is one of yaegi's interpreters.
type room struct {
	yaegi  *interp.Interpreter
	used   map[string]bool // packages taken in
	has    map[string]bool // types and imports declared
	bodies int
}

// Variables have their places in one table, and yaegi replaces it by a longer one when a cell declares more, while goroutines
// of earlier cells read it. So the table is made long enough at the start.
const (
	programSlots = 1 << 14 // variables of all cells
	bodySlots    = 1 << 8  // a few for each body
)

// reserved is a package of which only the variables matter. Yaegi counts the places of a package from the number that were
// there when the package began, so that those of the program, which began before, are counted among these; and it lengthens the
// table only beyond its end.
func reserved(slots int) string {
	return "package reservedᐧ\nvar _" + strings.Repeat(", _", slots-1) + " bool\n"
}

func (e *Engine) newRoom(slots int) (*room, error) {
	r := &room{
		yaegi: interp.New(interp.Options{Stdout: os.Stdout, Stderr: e.trace, Unrestricted: true}),
		used:  map[string]bool{},
		has:   map[string]bool{},
	}
	key := lower.RuntimePath + "/" + path.Base(lower.RuntimePath)
	if err := r.yaegi.Use(interp.Exports{key: e.primitives}); err != nil {
		return nil, fmt.Errorf("start the interpreter: %w", err)
	}
	if err := r.yaegi.Use(e.wrappers); err != nil {
		return nil, fmt.Errorf("start the interpreter: %w", err)
	}
	for _, source := range []string{lower.Prelude(), reserved(slots)} {
		if err := r.eval(source); err != nil {
			return nil, fmt.Errorf("start the interpreter: %w", err)
		}
	}
	stop := r.yaegi.Globals()[lower.StopVariable]
	if !stop.IsValid() || !stop.CanAddr() || stop.Kind() != reflect.Bool {
		return nil, fmt.Errorf("start the interpreter: its variable %s cannot be set", lower.StopVariable)
	}
	e.stopping.Lock()
	defer e.stopping.Unlock()
	e.stops = append(e.stops, weak.Make(stop.Addr().Interface().(*bool)))
	e.setStops()
	return r, nil
}

func (r *room) eval(source string) error {
	if _, err := r.yaegi.Eval(source); err != nil {
		return &Error{source, err}
	}
	return nil
}

// Error reports that the interpreter refused a text.
type Error struct {
	Source string
	Err    error
}

func (e *Error) Error() string { return "the interpreter refused the lowered cell: " + e.Err.Error() }

// Unwrap returns the interpreter's own error.
func (e *Error) Unwrap() error { return e.Err }

// use takes in a compiled package.
func (r *room) use(e *Engine, path string) error {
	key, ok := e.keys[path]
	if !ok || r.used[path] {
		return nil
	}
	if err := r.yaegi.Use(interp.Exports{key: e.symbols[key]}); err != nil {
		return fmt.Errorf("import %s: %w", path, err)
	}
	r.used[path] = true
	return nil
}

// imports adds an import to the room's declarations, by itself: yaegi keeps it also where it refuses what it came with, and
// takes none twice.
func (r *room) imports(e *Engine, d lower.Declaration) error {
	if r.has[d.Name] {
		return nil
	}
	if err := r.use(e, d.Path); err != nil {
		return err
	}
	r.has[d.Name] = true
	return r.eval("package main\n" + d.Text + "\n")
}

// body compiles a body and hands its function to the engine.
func (r *room) body(e *Engine, b *lower.Body) error {
	var text strings.Builder
	text.WriteString("package main\n")
	for _, d := range b.Uses {
		if r.has[d.Name] {
			continue
		}
		r.has[d.Name] = true
		if d.Path != "" {
			if err := r.use(e, d.Path); err != nil {
				return err
			}
		}
		text.WriteString(d.Text + "\n")
	}
	text.WriteString(b.Source + "\n" + "func init() { " + lower.Share(b.Name) + " }\n")
	r.bodies++
	return r.eval(text.String())
}

// wrappersOf are the wrappers of the interfaces of all packages: yaegi wants that of an interface whenever a parameter is one,
// imported or not. Package fmt is left out, since yaegi replaces its functions as soon as it sees it.
func wrappersOf(symbols map[string]map[string]reflect.Value) interp.Exports {
	all := interp.Exports{}
	for key, names := range symbols {
		if key == "." || key == "fmt/fmt" {
			continue
		}
		for name, v := range names {
			if !strings.HasPrefix(name, "_") {
				continue
			}
			if all[key] == nil {
				all[key] = map[string]reflect.Value{}
			}
			all[key][name] = v
		}
	}
	return all
}
