package driver_test

import (
	"strings"
	"testing"

	"cancha/runtime/gpu/driver"
)

// ptx has a func as NVRTC writes it.
const ptx = `.visible .entry twice(
	.param .u64 twice_param_0,
	.param .u32 twice_param_1,
	.param .f64 twice_param_2
)
{ ret; }`

// twice is a func that is complete.
func twice() driver.LibraryFunc {
	return driver.LibraryFunc{
		Name: "twice", Params: []string{"double* x", "int n", "double by"}, Doc: "x[i] *= by",
		Need: func(a driver.Args) map[int]int64 { return map[int]int64{0: a.N(1)} },
		Grid: func(a driver.Args, multiprocessors int) driver.Grid { return driver.Each(a.N(1), multiprocessors) },
		Work: func(a driver.Args) driver.Work { return driver.Work{Bytes: 16 * a.N(1)} },
		Host: func(_ driver.Cores, a []any) {
			for i := range a[1].(int32) {
				a[0].([]float64)[i] *= a[2].(float64)
			}
		},
	}
}

func TestNewLibrary(t *testing.T) {
	l, err := driver.NewLibrary("room", "source", ptx, twice())
	if err != nil {
		t.Fatal(err)
	}
	if f := l.Funcs(); len(f) != 1 || f[0].Params[0].Access != driver.ReadWrite || l.Func("twice") == nil || l.Func("thrice") != nil {
		t.Errorf("got %+v", f)
	}
	for name, c := range map[string]struct {
		change func(f *driver.LibraryFunc)
		want   string
	}{
		"a name of every device": {func(f *driver.LibraryFunc) { f.Name = "sgemm" }, "every device has a func of this name"},
		"no name":                {func(f *driver.LibraryFunc) { f.Name = "" }, "a name is of small letters"},
		"no host":                {func(f *driver.LibraryFunc) { f.Host = nil }, "want Doc, Need, Grid, Work and Host"},
		"not in the PTX":         {func(f *driver.LibraryFunc) { f.Name = "thrice" }, "the PTX has no such func: make ptx"},
		"another parameter":      {func(f *driver.LibraryFunc) { f.Params[1] = "float n" }, "its parameters in PTX are u64, u32, f64, and the library declares u64, f32, f64"},
		"one too few":            {func(f *driver.LibraryFunc) { f.Params = f.Params[:2] }, "the library declares u64, u32"},
		"no such type":           {func(f *driver.LibraryFunc) { f.Params[0] = "char* x" }, `no parameter is declared as "char* x": want a name behind`},
		"a const number":         {func(f *driver.LibraryFunc) { f.Params[1] = "const int n" }, `declared as "const int n"`},
		"no type":                {func(f *driver.LibraryFunc) { f.Params[1] = "n" }, `declared as "n"`},
	} {
		f := twice()
		c.change(&f)
		if _, err := driver.NewLibrary("room", "source", ptx, f); err == nil || !strings.Contains(err.Error(), "library room: func ") || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want that it has %q", name, err, c.want)
		}
	}
	if _, err := driver.NewLibrary("room", "source", ptx, twice(), twice()); err == nil || !strings.Contains(err.Error(), "another of this name") {
		t.Errorf("two of one name: got %v", err)
	}
	if _, err := driver.NewLibrary("room", "source", ptx); err == nil {
		t.Error("a library without funcs was made")
	}
}

func TestParameters(t *testing.T) {
	all, err := driver.Parameters("out unsigned short* a", "const long long* b", "float* c", "long long d")
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []driver.Param{
		{Name: "a", Kind: driver.MemoryArg, Type: driver.Uint16, Access: driver.Write},
		{Name: "b", Kind: driver.MemoryArg, Type: driver.Int64, Access: driver.Read},
		{Name: "c", Kind: driver.MemoryArg, Type: driver.Float32},
		{Name: "d", Kind: driver.LongArg},
	} {
		if all[i] != want {
			t.Errorf("got %+v, want %+v", all[i], want)
		}
	}
}

// TestProduct: what is beyond all memory stays beyond it.
func TestProduct(t *testing.T) {
	for want, sizes := range map[int64][]int64{24: {2, 3, 4}, 0: {1 << 62, 1 << 62, 0}, 1: {}, 1<<63 - 1: {1 << 40, 1 << 40}} {
		if got := driver.Product(sizes...); got != want {
			t.Errorf("%v: got %d, want %d", sizes, got, want)
		}
	}
}
