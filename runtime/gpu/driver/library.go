package driver

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// Library is funcs that a room brings with it, beside those that every device has. Make one with NewLibrary; it does not change any more.
// Where it lives is CUDA's word for it too: code that belongs to no device yet, and that each device loads (Device.Load).
type Library struct {
	name   string
	source string
	ptx    string
	funcs  []LibraryFunc
	params [][]Param // of each
}

// LibraryFunc is a func of a library: how it is called, what it computes, and how each side does that. All fields are needed. Ints that it
// is called with are sizes or counts: one below 0 is refused before any of the functions sees it.
type LibraryFunc struct {
	Name   string
	Params []string // as Parameters reads them, in the order of the func in CUDA C++
	Doc    string   // what it computes, in terms of Params

	// Need is how many elements each memory must have, by the place of its argument. Whoever launches with less is refused: on a GPU
	// a func would read and write what is another's. What indices in memory lead to is for the func itself to look at.
	Need func(a Args) map[int]int64
	// Grid is over how many blocks of Threads threads a GPU runs it. With no block nothing is launched.
	Grid func(a Args, multiprocessors int) Grid
	// Work is what it has to do, for a session's choice between CPU and GPU. Only numbers count here: memory has no place yet.
	Work func(a Args) Work
	// Host does the same on the CPU. Memory comes as a slice of its Type from the argument's offset on, numbers as int32, float32, int64 and
	// float64. Results are those of a GPU to the bit, unless Doc says otherwise.
	Host func(cores Cores, a []any)
}

// Threads is how many threads a block of a library's func has: THREADS of func.cuh.
const Threads = 256

// Grid is over how many blocks a func runs, and how many bytes of shared memory a block has beyond what the func declares: up to 48 KiB.
type Grid struct {
	Blocks int64
	Shared int
}

// Each is a grid for a func that goes through n elements by EACH of func.cuh.
func Each(n int64, multiprocessors int) Grid {
	return Grid{Blocks: min((n+Threads-1)/Threads, 16*int64(multiprocessors))}
}

// Work is what a launch has to do, whoever does it.
type Work struct {
	Bytes int64   // read and written in the memory of where it runs
	Flops float64 // floating-point operations
}

// Args are the arguments of a launch.
type Args []Arg

// N is the argument at a place, which is an Int.
func (a Args) N(i int) int64 { return int64(a[i].Int) }

// Cores runs f for 0 to n-1 on the cores that a device may use, and returns when all have run.
type Cores func(n int, f func(i int))

// NewLibrary makes a library of a room's funcs. source is CUDA C++ that includes func.cuh and begins each of them with FUNC; ptx is what
// scripts/ptx.py has made of it. A func that is incomplete, that has the name of another or of one that every device has, or that ptx does
// not have with these parameters, is an error.
func NewLibrary(name, source, ptx string, funcs ...LibraryFunc) (*Library, error) {
	l := &Library{name: name, source: source, ptx: ptx, funcs: slices.Clone(funcs)}
	if name == "" || len(funcs) == 0 {
		return nil, fmt.Errorf("library %q of %d funcs: want a name, the room's, and a func at least", name, len(funcs))
	}
	for i, f := range funcs {
		params, err := f.check(ptx)
		if err == nil && slices.ContainsFunc(funcs[:i], func(other LibraryFunc) bool { return other.Name == f.Name }) {
			err = errors.New("the library has another of this name")
		}
		if err != nil {
			return nil, fmt.Errorf("library %s: func %q: %w", name, f.Name, err)
		}
		l.params = append(l.params, params)
	}
	return l, nil
}

// check refuses what can be known to be wrong before anything runs.
func (f LibraryFunc) check(ptx string) ([]Param, error) {
	switch {
	case !regexp.MustCompile(`^[a-z][a-z0-9_]*$`).MatchString(f.Name):
		return nil, errors.New("a name is of small letters, digits and underscores")
	case f.Doc == "" || f.Need == nil || f.Grid == nil || f.Work == nil || f.Host == nil:
		return nil, errors.New("want Doc, Need, Grid, Work and Host")
	case slices.ContainsFunc(Funcs(), func(of Func) bool { return of.Name == f.Name }):
		return nil, errors.New("every device has a func of this name: choose another, which begins with the room's, say")
	}
	params, err := Parameters(f.Params...)
	if err != nil {
		return nil, err
	}
	return params, inPTX(ptx, f.Name, params)
}

// inPTX refuses a func that PTX has not, or has with other parameters.
func inPTX(ptx, name string, params []Param) error {
	list := regexp.MustCompile(`\.entry\s+` + regexp.QuoteMeta(name) + `\s*\(([^)]*)\)`).FindStringSubmatch(ptx)
	if list == nil {
		return errors.New("the PTX has no such func: make ptx makes it of the source, where FUNC begins it")
	}
	var has []string
	for _, m := range regexp.MustCompile(`\.param\s+\.(\w+)`).FindAllStringSubmatch(list[1], -1) {
		has = append(has, m[1])
	}
	var want []string
	for _, p := range params {
		want = append(want, map[ArgKind]string{MemoryArg: "u64", IntArg: "u32", FloatArg: "f32", LongArg: "u64", DoubleArg: "f64"}[p.Kind])
	}
	if !slices.Equal(has, want) {
		return fmt.Errorf("its parameters in PTX are %s, and the library declares %s", strings.Join(has, ", "), strings.Join(want, ", "))
	}
	return nil
}

// Name is the name of the room that brings the library.
func (l *Library) Name() string { return l.name }

// Source is the library's CUDA C++.
func (l *Library) Source() string { return l.source }

// PTX is what GPUs load.
func (l *Library) PTX() string { return l.ptx }

// Funcs lists how the funcs are called.
func (l *Library) Funcs() []Func {
	all := make([]Func, len(l.funcs))
	for i, f := range l.funcs {
		all[i] = Func{f.Name, l.params[i], f.Doc}
	}
	return all
}

// Func is a library's func of that name, ready to be launched; nil where it has none.
func (l *Library) Func(name string) *LoadedFunc {
	i := slices.IndexFunc(l.funcs, func(f LibraryFunc) bool { return f.Name == name })
	if i < 0 {
		return nil
	}
	return &LoadedFunc{LibraryFunc: l.funcs[i], Params: l.params[i]}
}

// LoadedFunc is a func of a library as a device knows it.
type LoadedFunc struct {
	LibraryFunc
	Params []Param
}

// Check refuses, with ErrLaunch, a launch whose arguments are not of the parameters' kinds and types, whose ints are below 0, or whose
// memory is shorter than they need.
func (f *LoadedFunc) Check(l Launch) error {
	if err := checkKinds(f.Params, l); err != nil {
		return err
	}
	for i, a := range l.Args {
		if a.Kind == IntArg && a.Int < 0 {
			return fmt.Errorf("launch %s: %s is %d, and sizes are not below 0: %w", f.Name, f.Params[i].Name, a.Int, ErrLaunch)
		}
		if a.Kind == MemoryArg && (a.Offset < 0 || a.Offset > a.Memory.Len()) {
			return fmt.Errorf("launch %s: %s from element %d on, of memory that has %d: %w", f.Name, f.Params[i].Name, a.Offset, a.Memory.Len(), ErrLaunch)
		}
	}
	for i, n := range f.Need(l.Args) {
		if a := l.Args[i]; int64(a.Memory.Len()-a.Offset) < n {
			return fmt.Errorf("launch %s: %s has %d elements from %d on, and the sizes want %d: %w", f.Name, f.Params[i].Name, a.Memory.Len()-a.Offset, a.Offset, n, ErrLaunch)
		}
	}
	return nil
}

// Product multiplies sizes that are not below 0, for Need and Work; it is math.MaxInt64, which no memory has, where they are more than that.
func Product(sizes ...int64) int64 {
	product := int64(1)
	for _, n := range sizes {
		switch {
		case n == 0:
			return 0
		case product > math.MaxInt64/n:
			product = math.MaxInt64
		default:
			product *= n
		}
	}
	return product
}

// Loaded are the libraries that a device knows. The zero value is none. All methods may be called from any goroutine.
type Loaded struct {
	mu        sync.RWMutex
	libraries []*Library
	funcs     map[string]*LoadedFunc
}

// Add takes a library, once load has made it ready for the device; a library that is there already is left alone. A func whose name another
// library's has is an error that names both.
func (t *Loaded) Add(l *Library, load func() error) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if l == nil {
		return errors.New("load a library that is nil: what NewLibrary has returned an error for is none")
	}
	if slices.Contains(t.libraries, l) {
		return nil
	}
	for _, f := range l.funcs {
		for _, other := range t.libraries {
			if other.Func(f.Name) != nil {
				return fmt.Errorf("load library %s: library %s has a func %s already: one of them needs another name", l.name, other.name, f.Name)
			}
		}
	}
	if err := load(); err != nil {
		return fmt.Errorf("load library %s: %w", l.name, err)
	}
	t.add(l)
	return nil
}

func (t *Loaded) add(l *Library) {
	if t.funcs == nil {
		t.funcs = map[string]*LoadedFunc{}
	}
	t.libraries = append(t.libraries, l)
	for _, f := range l.funcs {
		t.funcs[f.Name] = l.Func(f.Name)
	}
}

// Func is the func of that name that a library has brought; nil where none has.
func (t *Loaded) Func(name string) *LoadedFunc {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.funcs[name]
}
