//go:build nvidia && linux

package emulated_test

import (
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"cancha/runtime/gpu/driver"
	"cancha/runtime/gpu/gputest"
)

// TestSizes: sizes that memory does not have, or that cannot be, are refused before anything runs.
func TestSizes(t *testing.T) {
	d := newDevice(t)
	m, zero, one := driver.At(d.memory, 0), driver.Float(0), driver.Float(1)
	index, err := d.Alloc(driver.Int32, 3)
	if err != nil {
		t.Fatal(err)
	}
	at := driver.At(index, 0)
	n := driver.Int
	for name, l := range map[string]driver.Launch{
		"fill":                    d.fill(0, 4),
		"below 0":                 d.fill(0, -1),
		"behind the offset":       {Func: "fill", Args: []driver.Arg{driver.At(d.memory, 2), zero, n(2)}},
		"vector_add":              {Func: "vector_add", Args: []driver.Arg{m, m, driver.At(d.memory, 1), n(3)}},
		"sgemm":                   {Func: "sgemm", Args: []driver.Arg{n(0), n(0), n(3), n(1), n(2), one, m, m, zero, m}},
		"sgemm of a huge size":    {Func: "sgemm", Args: []driver.Arg{n(0), n(0), n(math.MaxInt32), n(1), n(math.MaxInt32), one, m, m, zero, m}},
		"conv2d":                  {Func: "conv2d", Args: []driver.Arg{m, m, m, n(1), n(1), n(2), n(2), n(1), n(1), n(1), n(0)}},
		"a filter that is larger": {Func: "conv2d", Args: []driver.Arg{m, m, m, n(1), n(1), n(1), n(1), n(1), n(2), n(1), n(0)}},
		"conv2d of a huge size":   {Func: "conv2d", Args: []driver.Arg{m, m, m, n(math.MaxInt32), n(math.MaxInt32), n(math.MaxInt32), n(9), n(1), n(1), n(1), n(math.MaxInt32)}},
		"gather_rows":             {Func: "gather_rows", Args: []driver.Arg{m, m, at, n(2), n(2)}},
		"gather":                  {Func: "gather", Args: []driver.Arg{at, at, driver.At(index, 1), n(3)}},
		"bias":                    {Func: "bias", Args: []driver.Arg{m, m, n(2), n(2)}},
		"column_sums":             {Func: "column_sums", Args: []driver.Arg{driver.At(d.memory, 3), m, n(1), n(1)}},
		"softmax_cross_entropy":   {Func: "softmax_cross_entropy", Args: []driver.Arg{m, m, m, at, n(2), n(2)}},
		"sum":                     {Func: "sum", Args: []driver.Arg{driver.At(d.memory, 3), m, n(0)}},
		"adam":                    {Func: "adam", Args: []driver.Arg{m, m, m, m, n(4), one, one, one, one, one, one}},
	} {
		if err := d.Launch(l); !errors.Is(err, driver.ErrLaunch) || errors.Is(err, driver.ErrLost) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	d.want(t, 1, 2, 3)
}

// TestIndices: an index that is not there gives NaN, or the least int, and reads nothing.
func TestIndices(t *testing.T) {
	d := newDevice(t)
	index, err := d.Alloc(driver.Int32, 3)
	if err != nil {
		t.Fatal(err)
	}
	if err := d.CopyIn(index, 0, []int32{3, -1, 2}); err != nil {
		t.Fatal(err)
	}
	out, err := d.Alloc(driver.Float32, 3)
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Launch(driver.Launch{Func: "gather_rows", Args: []driver.Arg{driver.At(out, 0), driver.At(d.memory, 0), driver.At(index, 0), driver.Int(3), driver.Int(1)}}); err != nil {
		t.Fatal(err)
	}
	got := make([]float32, 3)
	if err := d.CopyOut(got, out, 0); err != nil || got[0] == got[0] || got[1] == got[1] || got[2] != 3 {
		t.Errorf("rows: got %v, %v", got, err)
	}
	if err := d.Launch(driver.Launch{Func: "gather", Args: []driver.Arg{driver.At(index, 0), driver.At(index, 0), driver.At(index, 0), driver.Int(3)}}); err != nil {
		t.Fatal(err)
	}
	numbers := make([]int32, 3)
	if err := d.CopyOut(numbers, index, 0); err != nil || !slices.Equal(numbers[:2], []int32{math.MinInt32, math.MinInt32}) {
		t.Errorf("elements: got %v, %v", numbers, err)
	}
}

// TestFullForExtras: without memory for them there is no pinned memory and no graph, and all else goes on.
func TestFullForExtras(t *testing.T) {
	d := newDevice(t)
	for i, fault := range []string{"pin=1", "graph=1", "alloc=1,memory=1"} {
		t.Setenv(faultVariable, fault)
		var err error
		if i == 0 {
			_, _, err = d.Device.(driver.Pinner).Pin(driver.Float32, 3)
		} else {
			_, err = d.Queue.(driver.Capturer).Capture(func() error { return d.Launch(d.fill(0, 1)) })
		}
		if !errors.Is(err, driver.ErrOutOfMemory) {
			t.Errorf("%s: got %v", fault, err)
		}
	}
	d.want(t, 1, 2, 3)
}

// TestUserSource: the emulation has the very source that the suite has compiled.
func TestUserSource(t *testing.T) {
	raw, err := os.ReadFile("source/user.cu")
	if err != nil {
		t.Fatal(err)
	}
	if _, text, _ := strings.Cut(string(raw), "\n\n"); text != gputest.UserSource {
		t.Error(fmt.Sprint("source/user.cu is not gputest.UserSource: ", text))
	}
}
