package gputest

import (
	_ "embed"
	"errors"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"cancha/runtime/gpu/driver"
)

//go:embed brought.cu
var broughtSource string

//go:embed brought.ptx
var broughtPTX string

// Library is funcs as a room brings them, with parameters of every type: the suite has each device load it.
var Library = sync.OnceValues(func() (*driver.Library, error) {
	return driver.NewLibrary("runtime/gpu/gputest", broughtSource, broughtPTX, weighFunc(), countFunc())
})

func weighFunc() driver.LibraryFunc {
	return driver.LibraryFunc{
		Name: "gputest_weigh", Doc: "out[i] = a[i] x + b[i] y + c[i] + d[i] + e[i] + f[i] + g[i] + z, each step rounded",
		Params: []string{"out double* out", "const float* a", "const double* b", "const int* c", "const unsigned char* d", "const unsigned short* e",
			"const unsigned* f", "const long long* g", "int n", "float x", "double y", "long long z"},
		Need: func(a driver.Args) map[int]int64 {
			n := a.N(8)
			return map[int]int64{0: n, 1: n, 2: n, 3: n, 4: n, 5: n, 6: n, 7: n}
		},
		Grid: func(a driver.Args, multiprocessors int) driver.Grid { return driver.Each(a.N(8), multiprocessors) },
		Work: func(a driver.Args) driver.Work { return driver.Work{Bytes: 39 * a.N(8), Flops: 9 * float64(a.N(8))} },
		Host: func(cores driver.Cores, a []any) { weigh(a) },
	}
}

// weigh converts each product, since Go may fuse what is not converted.
func weigh(a []any) {
	n, x, y, z := a[8].(int32), a[9].(float32), a[10].(float64), a[11].(int64)
	for i := range a[0].([]float64)[:n] {
		sum := float64(float32(a[1].([]float32)[i]*x)) + float64(a[2].([]float64)[i]*y)
		sum += float64(a[3].([]int32)[i])
		sum += float64(a[4].([]uint8)[i])
		sum += float64(a[5].([]uint16)[i])
		sum += float64(a[6].([]uint32)[i])
		sum += float64(a[7].([]int64)[i])
		a[0].([]float64)[i] = sum + float64(z)
	}
}

func countFunc() driver.LibraryFunc {
	return driver.LibraryFunc{
		Name: "gputest_count", Doc: "counts[x[i]] += 1",
		Params: []string{"unsigned* counts", "const unsigned char* x", "int n"},
		Need:   func(a driver.Args) map[int]int64 { return map[int]int64{0: 256, 1: a.N(2)} },
		Grid: func(a driver.Args, multiprocessors int) driver.Grid {
			g := driver.Each(a.N(2), multiprocessors)
			g.Shared = 4 * driver.Threads
			return g
		},
		Work: func(a driver.Args) driver.Work { return driver.Work{Bytes: a.N(2)} },
		Host: func(cores driver.Cores, a []any) {
			counts := a[0].([]uint32)
			for _, v := range a[1].([]uint8)[:a[2].(int32)] {
				counts[v]++
			}
		},
	}
}

// broughtCases are calls of the suite's library, with what they mean.
func broughtCases() map[string]Case {
	return map[string]Case{"gputest_weigh": weighCase, "gputest_count": countCase}
}

func weighCase(r *rand.Rand, size func() int) Call {
	n := size() * size()
	args := []any{make([]float64, n), normal(r, n), make([]float64, n), indices(r, n, 1000), make([]uint8, n), make([]uint16, n), make([]uint32, n), make([]int64, n),
		n, float32(r.NormFloat64()), r.NormFloat64(), r.Int64N(1 << 60)}
	for i := range n {
		args[2].([]float64)[i], args[4].([]uint8)[i], args[5].([]uint16)[i] = r.NormFloat64(), uint8(r.Uint32()), uint16(r.Uint32())
		args[6].([]uint32)[i], args[7].([]int64)[i] = r.Uint32(), r.Int64N(1<<60)-1<<59
	}
	want := append([]any{make([]float64, n)}, args[1:]...)
	want[8] = int32(n)
	weigh(want)
	return Call{Args: args, Want: map[int]any{0: want[0]}}
}

func countCase(r *rand.Rand, size func() int) Call {
	n := size() * size()
	counts, x, want := make([]uint32, 256), make([]uint8, n), make([]uint32, 256)
	for i := range counts {
		counts[i] = uint32(i)
	}
	copy(want, counts)
	for i := range x {
		x[i] = uint8(r.IntN(1 + r.IntN(256)))
		want[x[i]]++
	}
	return Call{Args: []any{counts, x, n}, Want: map[int]any{0: want}}
}

// TestLibrary checks that a device that open opens runs the funcs of a library, to the bit: random calls of each, of which cases has one for
// every func, and refusals. Rooms that bring funcs call it for the CPU, for the emulation, and for a GPU.
func TestLibrary(t *testing.T, open func(t *testing.T) driver.Device, l *driver.Library, cases map[string]Case) {
	for _, f := range l.Funcs() {
		t.Run(f.Name, func(t *testing.T) {
			d := open(t)
			defer closeDevice(t, d)
			testLoad(t, d, l)
			make, ok := cases[f.Name]
			if !ok {
				t.Fatalf("there is no case for %s", f.Name)
			}
			testCase(t, d, f.Name, make, func(r *rand.Rand) func() int { return func() int { return 100 + r.IntN(200) } })
			testRefusedFunc(t, d, l.Func(f.Name), make(rand.New(rand.NewPCG(2, 3)), func() int { return 5 }))
		})
	}
}

// testLoad loads a library: its funcs are unknown before, and another library with the same names is refused.
func testLoad(t *testing.T, d driver.Device, l *driver.Library) {
	t.Helper()
	q, name := queue(t, d), l.Funcs()[0].Name
	if err := q.Launch(driver.Launch{Func: name}); !errors.Is(err, driver.ErrLaunch) || !strings.Contains(err.Error(), "no such func") {
		t.Errorf("before its library is loaded: got %v", err)
	}
	for range 2 {
		if err := d.Load(l); err != nil {
			t.Fatal(err)
		}
	}
	again := *l
	if err := d.Load(&again); err == nil || !strings.Contains(err.Error(), "already") {
		t.Errorf("another library with the same names: got %v", err)
	}
	if err := d.Load(nil); err == nil {
		t.Error("a library that is nil was loaded")
	}
}

// testRefusedFunc: arguments that are not the func's, and memory that is too short for its sizes, are refused before anything runs.
func testRefusedFunc(t *testing.T, d driver.Device, f *driver.LoadedFunc, c Call) {
	t.Helper()
	q := queue(t, d)
	l, _ := c.launch(t, d, q, f.Name)
	refuse := func(what string, l driver.Launch) {
		t.Helper()
		if err := q.Launch(l); !errors.Is(err, driver.ErrLaunch) {
			t.Errorf("%s: got %v", what, err)
		}
	}
	with := func(i int, a driver.Arg) driver.Launch {
		other := driver.Launch{Func: l.Func, Args: append([]driver.Arg(nil), l.Args...)}
		other.Args[i] = a
		return other
	}
	refuse("too few arguments", driver.Launch{Func: f.Name, Args: l.Args[1:]})
	for i, p := range f.Params {
		if p.Kind == driver.IntArg {
			refuse(p.Name+" below 0", with(i, driver.Int(-1)))
		} else {
			refuse("an int for "+p.Name, with(i, driver.Int(1)))
		}
	}
	for i, n := range f.Need(l.Args) {
		if n > 0 {
			refuse(f.Params[i].Name+" too short", with(i, driver.At(l.Args[i].Memory, l.Args[i].Memory.Len()-int(n)+1)))
		}
	}
	for i, m := range memories(l) {
		if err := c.unchanged(q, m, i); err != nil {
			t.Errorf("after refusals: argument %d: %v", i, err)
		}
	}
}

func memories(l driver.Launch) map[int]driver.Memory {
	all := map[int]driver.Memory{}
	for i, a := range l.Args {
		if a.Kind == driver.MemoryArg {
			all[i] = a.Memory
		}
	}
	return all
}
