package driver

import (
	"fmt"
	"slices"
	"strings"
	"sync"
)

// Func is a func that every device has. Matrices are row-major and dense. Sums run in an order that depends on the sizes
// only, so a device gives the same result each time; two devices differ by rounding.
type Func struct {
	Name   string
	Params []Param
	Doc    string // what it computes, in terms of Params
}

// Param is a parameter of a Func.
type Param struct {
	Name   string
	Kind   ArgKind
	Type   Type   // of a MemoryArg
	Access Access // to a MemoryArg, where a library brings the func
}

// Access is what a func does with the elements of a MemoryArg.
type Access uint8

// What a func may do with memory.
const (
	ReadWrite Access = iota
	Read             // they stay what they are
	Write            // all that the sizes name are written, whatever they held
)

// Funcs lists the funcs that every device has. The list is not to be changed.
var Funcs = sync.OnceValue(func() []Func {
	return []Func{
		{"fill", params("float* out", "float value", "int n"), "out[i] = value"},
		{"vector_add", params("float* out", "float* a", "float* b", "int n"), "out[i] = a[i] + b[i]"},
		{"sgemm", params("int transposeA", "int transposeB", "int m", "int n", "int k", "float alpha", "float* a", "float* b", "float beta", "float* c"),
			"c = alpha op(a) op(b) + beta c; op(a) is m × k, op(b) is k × n, c is m × n; op transposes where its int is not 0; with beta 0, c is not read"},
		{"conv2d", params("float* out", "float* in", "float* filter", "int images", "int channels", "int height", "int width", "int filters", "int fh", "int fw", "int padding"),
			"out[i][o][y][x] = Σ in[i][c][y+u-padding][x+v-padding] filter[o][c][u][v] over c, u, v, zero outside the image: cross-correlation, stride 1; out has height+2 padding-fh+1 rows and width+2 padding-fw+1 columns"},
		{"gather_rows", params("float* out", "float* x", "int* index", "int rows", "int columns"), "row i of out = row index[i] of x; NaN where x has no such row"},
		{"gather", params("int* out", "int* x", "int* index", "int n"), "out[i] = x[index[i]]; the least int where x has no such element"},
		{"bias", params("float* x", "float* bias", "int rows", "int columns"), "x[i][j] += bias[j]"},
		{"bias_relu", params("float* x", "float* bias", "int rows", "int columns"), "x[i][j] = max(0, x[i][j] + bias[j])"},
		{"relu_gradient", params("float* gradient", "float* y", "int n"), "gradient[i] = 0 where y[i], which relu gave, is 0"},
		{"column_sums", params("float* out", "float* x", "int rows", "int columns"), "out[j] = Σ x[i][j] over i"},
		{"softmax_cross_entropy", params("float* loss", "float* gradient", "float* logits", "int* label", "int rows", "int classes"),
			"loss[i] = -log softmax(logits[i])[label[i]]; gradient = d mean(loss) / d logits, so divided by rows; may be logits itself; both are NaN in a row whose label is no class"},
		{"sum", params("float* out", "float* x", "int n"), "out[0] = Σ x[i]"},
		{"adam", params("float* weight", "float* gradient", "float* m", "float* v", "int n", "float rate", "float beta1", "float beta2", "float epsilon", "float correction1", "float correction2"),
			"one step of Adam (Kingma and Ba, 2015, algorithm 1): m = beta1 m + (1-beta1) gradient, v = beta2 v + (1-beta2) gradient², weight -= rate (m/correction1) / (√(v/correction2) + epsilon); a correction is 1 - beta to the power of the step, from 1"},
	}
})

// params reads parameters written as C has them. It is for the table above only: what it does not know it panics at.
func params(declarations ...string) []Param {
	all, err := Parameters(declarations...)
	if err != nil {
		panic("driver: " + err.Error())
	}
	return all
}

// Parameters reads parameters as CUDA C++ declares them: "float* out", "const unsigned char* codes", "int rows". What is const is only
// read; before what is written whole, whatever it held, stands "out".
func Parameters(declarations ...string) ([]Param, error) {
	all := make([]Param, len(declarations))
	for i, d := range declarations {
		kind, name := "", d
		if at := strings.LastIndexByte(d, ' '); at >= 0 {
			kind, name = d[:at], d[at+1:]
		}
		p := Param{Name: name}
		if rest, ok := strings.CutPrefix(kind, "const "); ok {
			kind, p.Access = rest, Read
		} else if rest, ok := strings.CutPrefix(kind, "out "); ok {
			kind, p.Access = rest, Write
		}
		if !p.declare(kind) {
			return nil, fmt.Errorf("no parameter is declared as %q: want a name behind int, float, long long, double, or a pointer to %s", d, pointers())
		}
		all[i] = p
	}
	return all, nil
}

// declare sets kind and type as C has them. Only pointers are const or out.
func (p *Param) declare(c string) bool {
	number := map[string]ArgKind{"int": IntArg, "float": FloatArg, "long long": LongArg, "double": DoubleArg}
	if kind, ok := number[c]; ok {
		p.Kind = kind
		return p.Access == ReadWrite
	}
	of, pointer := strings.CutSuffix(c, "*")
	for t := Float32; pointer && int(t) < len(elements); t++ {
		if elements[t].c == of {
			p.Kind, p.Type = MemoryArg, t
			return p.Name != ""
		}
	}
	return false
}

// pointers lists what parameters may point to.
func pointers() string {
	names := make([]string, 0, len(elements))
	for _, e := range elements[1:] {
		names = append(names, e.c)
	}
	return strings.Join(names, ", ")
}

// Check refuses, with ErrLaunch, a launch of one of Funcs whose arguments are not of its parameters' kinds and types. That memory is
// long enough is for who launches.
func Check(l Launch) error {
	i := slices.IndexFunc(Funcs(), func(f Func) bool { return f.Name == l.Func })
	if i < 0 {
		return fmt.Errorf("launch %s: no such func: every device has %s, and what libraries bring that were loaded (Device.Load): %w", l.Func, names(), ErrLaunch)
	}
	return checkKinds(Funcs()[i].Params, l)
}

// names lists the funcs that every device has.
func names() string {
	all := make([]string, len(Funcs()))
	for i, f := range Funcs() {
		all[i] = f.Name
	}
	return strings.Join(all, ", ")
}

func checkKinds(want []Param, l Launch) error {
	if len(l.Args) != len(want) {
		return fmt.Errorf("launch %s: %d arguments for %d parameters: %w", l.Func, len(l.Args), len(want), ErrLaunch)
	}
	for i, p := range want {
		if a := l.Args[i]; a.String() != p.String() {
			return fmt.Errorf("launch %s: %s is %v, want %v: %w", l.Func, p.Name, a, p, ErrLaunch)
		}
	}
	return nil
}

// String is how the parameter is declared, without its name.
func (p Param) String() string { return declared(p.Kind, p.Type) }

// String is how a parameter that takes the argument is declared.
func (a Arg) String() string {
	if a.Kind == MemoryArg && a.Memory != nil {
		return declared(a.Kind, a.Memory.Type())
	}
	return declared(a.Kind, 0)
}

func declared(kind ArgKind, t Type) string {
	switch kind {
	case MemoryArg:
		return t.String() + "*"
	case IntArg:
		return "int"
	case FloatArg:
		return "float"
	case LongArg:
		return "long long"
	case DoubleArg:
		return "double"
	}
	return "nothing"
}
