package primitive

import (
	"cmp"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"cancha/internal/cellio"
	"cancha/internal/stack"
)

// Machine holds what the primitives know: the declared types, the runs and what they show. Its methods may be called from
// any goroutine.
type Machine struct {
	flush func() // sends pending output, before the process ends
	exit  func(code int)

	out, err *os.File // what os.Stdout and os.Stderr are as long as no cell sets them

	mu       sync.RWMutex
	declared map[reflect.Type]*declared
	bound    map[methodKey]method

	declarations map[reflect.Type]declaration                      // where types were declared; guarded by mu
	origin       func(t reflect.Type) (name, cell string, ok bool) // see OnOrigin
	newest       func(name string) (cell string)                   // see OnNewest
	packages     map[string]bool                                   // of compiled cells, each with a dot behind; guarded by mu

	wrappers *wrappers

	stop       func(bool)           // sets the lowered program's stop variable
	running    sync.Map             // goroutine id → its run, of goroutines whose panics are caught
	lines      sync.Map             // goroutine id → the line of its cell's statements that it is at
	bubbles    atomic.Int32         // synctest's, that run
	unwinding  sync.Map             // goroutine id → true, while it runs deferred calls after an interrupt
	reflected  sync.Map             // goroutine id → a panic that goes on from deferred calls and is a cell's, see reflects
	kept       sync.Map             // functions of which has been told that an old form was called
	stayed     atomic.Pointer[stay] // the last goroutine that an interrupt has left alone
	tasks      map[*cellio.Run]int  // such goroutines of each run; guarded by mu
	interrupts map[*cellio.Run]bool // interrupted runs that have tasks left; guarded by mu
	left       map[*cellio.Run]bool // those whose cells have ended; guarded by mu

	guests  sync.Map                // goroutine of a library → *guest, while it calls functions of cells
	stopped int                     // guests that are to stop, and goroutines that leave their functions by os.Exit; guarded by mu
	exiting sync.Map                // goroutine → interrupted, of the latter
	exits   atomic.Int32            // how many those are
	exited  map[*cellio.Run]*Exited // guarded by mu

	calls  calls
	groups groupWaits

	depth depths

	shown map[int64][]any       // by cell; guarded by mu
	ran   map[int64]int         // by cell, see Ran; guarded by mu
	cells map[*cellio.Run]int64 // the goroutine that began each run; guarded by mu
	trace *Trace

	traceback func(head string, frames []Frame) []string
	unread    func(name, text string) // see OnUnread
}

// Config is what a machine needs.
type Config struct {
	// Symbols are the compiled packages in the interpreter's form; their wrappers are how declared types get the methods
	// of compiled interfaces.
	Symbols map[string]map[string]reflect.Value
	// Trace is where the interpreter writes the traces of panics.
	Trace *Trace
	// Traceback writes a panic down, as the error of a cell does. Default: its head.
	Traceback func(head string, frames []Frame) []string
	// Flush sends pending output; it is called before the process ends.
	Flush func()
	// Exit ends the process, where os.Exit is called outside of cells. Default os.Exit.
	Exit func(code int)
	// MaxStack is how many bytes of its stack a goroutine may use. Default: most of what Go lets it have; the rest is room for what
	// comes before it is seen, and for deferred calls.
	MaxStack int
}

// New returns a machine without declared types.
func New(c Config) *Machine {
	m := &Machine{
		flush:        c.Flush,
		exit:         c.Exit,
		out:          os.Stdout,
		err:          os.Stderr,
		declared:     map[reflect.Type]*declared{},
		bound:        map[methodKey]method{},
		declarations: map[reflect.Type]declaration{},
		packages:     map[string]bool{},
		wrappers:     newWrappers(c.Symbols),
		stop:         func(bool) {},
		trace:        c.Trace,
		traceback:    c.Traceback,

		tasks:      map[*cellio.Run]int{},
		interrupts: map[*cellio.Run]bool{},
		left:       map[*cellio.Run]bool{},
		shown:      map[int64][]any{},
		ran:        map[int64]int{},
		cells:      map[*cellio.Run]int64{},
		exited:     map[*cellio.Run]*Exited{},
	}
	if m.trace == nil {
		m.trace = &Trace{}
	}
	if m.traceback == nil {
		m.traceback = func(head string, _ []Frame) []string { return []string{head} }
	}
	m.depth.most = uintptr(cmp.Or(c.MaxStack, stack.Max/8*7))
	if m.exit == nil {
		m.exit = os.Exit
	}
	if m.flush == nil {
		m.flush = func() {}
	}
	return m
}

// OnStop sets the function that sets the lowered program's stop variable. Call it before the first cell runs.
func (m *Machine) OnStop(set func(bool)) { m.stop = set }

// Show takes the values of a cell's last expression.
func (m *Machine) Show(cell int64, values ...any) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.shown[cell] = values
	if len(m.shown) > shownCells { // what was left behind may show a value that nobody asks for
		delete(m.shown, slices.Min(slices.Collect(maps.Keys(m.shown))))
	}
}

// shownCells is of how many cells values are kept until they are asked for: as many as there can be subshells, and more.
const shownCells = 1 << 9

// Shown returns what a cell has handed to Show, once.
func (m *Machine) Shown(cell int64) []any {
	m.mu.Lock()
	defer m.mu.Unlock()
	values := m.shown[cell]
	delete(m.shown, cell)
	return values
}

// Ran takes how far a cell has come, a number that grows from statement to statement.
func (m *Machine) Ran(cell int64, n int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.ran[cell] = max(m.ran[cell], n)
}

// HasRan returns the greatest number that a cell has handed to Ran, once; 0 without one.
func (m *Machine) HasRan(cell int64) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := m.ran[cell]
	delete(m.ran, cell)
	return n
}

// Value returns its argument. Passing through a compiled function turns a function of the interpreter into a value that
// interfaces can hold.
func (m *Machine) Value(f any) any { return f }

// Clear empties a map, keys that are not equal to themselves included.
func (m *Machine) Clear(x any) { reflect.ValueOf(x).Clear() }

// Runes returns the characters of a string and at which bytes they begin; a byte that is no UTF-8 is a character of its own.
func (m *Machine) Runes(s string) (at []int, runes []rune) {
	at, runes = make([]int, 0, len(s)), make([]rune, 0, len(s))
	for i, r := range s {
		at, runes = append(at, i), append(runes, r)
	}
	return at, runes
}

// ShiftCount checks the count of a shift and returns it.
func (m *Machine) ShiftCount(n int64) uint64 {
	if n < 0 {
		panic(runtimeError("negative shift amount"))
	}
	return uint64(n)
}

// maxAlloc is the most memory that the runtime gives for one thing, in bytes (runtime/malloc.go, 48 bits of address).
const maxAlloc = 1 << 48

// SliceLen checks the length of a slice of elements of size bytes that is to be made, and returns it.
func (m *Machine) SliceLen(n, size int) int {
	if n < 0 || size > 0 && n > maxAlloc/size {
		panic(runtimeError("makeslice: len out of range"))
	}
	return n
}

// SliceCap checks the capacity.
func (m *Machine) SliceCap(n, size int) int {
	if n < 0 || size > 0 && n > maxAlloc/size {
		panic(runtimeError("makeslice: cap out of range"))
	}
	return n
}

// Symbols returns the primitives in the interpreter's form.
func (m *Machine) Symbols() map[string]reflect.Value {
	s := map[string]reflect.Value{
		"Deferred": reflect.ValueOf((*Deferred)(nil)),
		"Case":     reflect.ValueOf((*Case)(nil)),
	}
	v := reflect.ValueOf(m)
	for i := range v.NumMethod() {
		name := v.Type().Method(i).Name
		if _, taken := s[name]; !taken && !strings.HasPrefix(name, "On") && name != "LeaveBehind" && name != "LeftBehind" && name != "Look" && name != "Looked" && name != "Overflowed" && name != "Waits" && name != "Line" && !strings.HasPrefix(name, "Exited") && name != "ExitIn" {
			s[name] = v.Method(i)
		}
	}
	for name, t := range pool() {
		s[name] = reflect.Zero(reflect.PointerTo(t))
	}
	return s
}
