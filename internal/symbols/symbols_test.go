package symbols_test

import (
	"bytes"
	"errors"
	"fmt"
	"go/constant"
	"go/importer"
	"go/token"
	"go/types"
	"io"
	"path"
	"reflect"
	"strings"
	"testing"

	"cancha/internal/symbols"

	"github.com/traefik/yaegi/interp"
)

// Every exported name that the type checker sees has a compiled value, and no value is without a name.
func TestTableAgreesWithExport(t *testing.T) {
	table := symbols.Table()
	imp := importer.ForCompiler(token.NewFileSet(), "gc", symbols.Export)
	names := 0
	for _, p := range symbols.Packages() {
		if p.Path == "unsafe" {
			continue
		}
		pkg, err := imp.Import(p.Path)
		if err != nil {
			t.Errorf("import %s: %v", p.Path, err)
			continue
		}
		if pkg.Name() != p.Name {
			t.Errorf("%s: the list calls it %q, its export data %q", p.Path, p.Name, pkg.Name())
		}
		values := table[path.Join(p.Path, p.Name)]
		for _, name := range pkg.Scope().Names() {
			o := pkg.Scope().Lookup(name)
			if !o.Exported() {
				continue
			}
			names++
			if v, ok := values[name]; ok != hasValue(o) {
				t.Errorf("%s.%s: in the table %t, want %t", p.Path, name, ok, hasValue(o))
			} else if ok {
				checkKind(t, o, v)
			}
		}
		for name := range values {
			if !strings.HasPrefix(name, "_") && pkg.Scope().Lookup(name) == nil {
				t.Errorf("%s.%s is in the table and not in the export data", p.Path, name)
			}
		}
	}
	t.Logf("%d exported names", names)
}

// hasValue tells whether a name stands for something that exists without type arguments.
func hasValue(o types.Object) bool {
	switch o := o.(type) {
	case *types.Func:
		return o.Signature().TypeParams().Len() == 0
	case *types.TypeName:
		if p, ok := o.Type().(interface{ TypeParams() *types.TypeParamList }); ok && p.TypeParams().Len() > 0 {
			return false
		}
		i, ok := o.Type().Underlying().(*types.Interface)
		return !ok || i.IsMethodSet()
	}
	return true
}

func checkKind(t *testing.T, o types.Object, v reflect.Value) {
	t.Helper()
	switch o := o.(type) {
	case *types.Var:
		if !v.CanSet() {
			t.Errorf("%s cannot be set", o)
		}
	case *types.TypeName:
		if v.Kind() != reflect.Pointer || !v.IsNil() {
			t.Errorf("%s is %s, want a nil pointer", o, v.Type())
		}
	case *types.Const:
		checkConstant(t, o, v)
	}
}

func checkConstant(t *testing.T, o *types.Const, v reflect.Value) {
	t.Helper()
	have, literal := v.Interface().(constant.Value)
	if !literal {
		return // a typed constant: the compiler has put it there
	}
	if want := o.Val(); !constant.Compare(have, token.EQL, want) && !sameFloat(have, want) {
		t.Errorf("%s: table has %s", o, have)
	}
}

// sameFloat allows for a constant that has no finite decimal form.
func sameFloat(a, b constant.Value) bool {
	d := constant.BinaryOp(constant.ToFloat(a), token.SUB, constant.ToFloat(b))
	limit := constant.BinaryOp(constant.ToFloat(b), token.QUO, constant.MakeFromLiteral("1e140", token.FLOAT, 0))
	return constant.Compare(absolute(d), token.LEQ, absolute(limit))
}

func absolute(v constant.Value) constant.Value {
	if constant.Sign(v) < 0 {
		return constant.UnaryOp(token.SUB, v, 0)
	}
	return v
}

func TestPackages(t *testing.T) {
	have := map[string]symbols.Package{}
	for _, p := range symbols.Packages() {
		if _, twice := have[p.Path]; twice {
			t.Errorf("%s is listed twice", p.Path)
		}
		have[p.Path] = p
	}
	for _, want := range []symbols.Package{
		{"fmt", "fmt", true},
		{"math/rand/v2", "rand", true},
		{"iter", "iter", true},
		{"syscall", "syscall", true},
		{"unsafe", "unsafe", true},
		{"github.com/segmentio/kafka-go", "kafka", false},
		{"gonum.org/v1/plot/vg/vgimg", "vgimg", false},
		{"gorgonia.org/gorgonia", "gorgonia", false},
	} {
		if got := have[want.Path]; got != want {
			t.Errorf("got %+v, want %+v", got, want)
		}
	}
	for p := range have {
		if p == "plugin" || strings.Contains("/"+p+"/", "/internal/") || strings.HasPrefix(p, "cancha/kernel") {
			t.Errorf("%s is listed, and no cell may import it", p)
		}
	}
}

func TestExportUnknown(t *testing.T) {
	for _, p := range []string{"no/such", "plugin", "unsafe", ""} {
		if _, err := symbols.Export(p); !errors.Is(err, symbols.ErrNoPackage) {
			t.Errorf("Export(%q): %v, want ErrNoPackage", p, err)
		}
	}
}

// A package's data stand alone: a fresh importer reads it with every type it reaches.
func TestExportStandsAlone(t *testing.T) {
	for _, p := range []string{"net/http", "gonum.org/v1/plot/plotter", "gorgonia.org/gorgonia"} {
		asked := map[string]bool{}
		imp := importer.ForCompiler(token.NewFileSet(), "gc", func(path string) (io.ReadCloser, error) {
			asked[path] = true
			return symbols.Export(path)
		})
		pkg, err := imp.Import(p)
		if err != nil {
			t.Fatal(err)
		}
		if len(asked) != 1 || !pkg.Complete() {
			t.Errorf("%s: asked for %v, complete %t", p, asked, pkg.Complete())
		}
	}
}

// What the interpreter is told beside the names of packages, and the names themselves: without either, each of these prints
// something else.
func TestInterpreted(t *testing.T) {
	for _, test := range []struct{ name, src, want string }{
		{"a Stringer is seen through an empty interface", `
			type C int
			func (c C) String() string { return "see" }
			func main() { fmt.Println(C(3)) }`, "see\n"},
		{"a Reader's WriteTo is used", `
			type R struct{ n int }
			func (r *R) Read(p []byte) (int, error) { return 0, io.EOF }
			func (r *R) WriteTo(w io.Writer) (int64, error) { fmt.Println("WriteTo"); return 0, nil }
			func main() { io.Copy(os.Stdout, &R{}) }`, "WriteTo\n"},
		{"a Writer's ReadFrom is used", `
			type W struct{ n int }
			func (w *W) Write(p []byte) (int, error) { return len(p), nil }
			func (w *W) ReadFrom(r io.Reader) (int64, error) { fmt.Println("ReadFrom"); return 0, nil }
			func main() { io.Copy(&W{}, io.LimitReader(rand.Reader, 3)) }`, "ReadFrom\n"},
		{"a ResponseWriter's Hijack is seen", `
			type H struct{ n int }
			func (h *H) Header() http.Header { return nil }
			func (h *H) Write(p []byte) (int, error) { return len(p), nil }
			func (h *H) WriteHeader(status int) {}
			func (h *H) Hijack() (net.Conn, *bufio.ReadWriter, error) { fmt.Println("Hijack"); return nil, nil, nil }
			func main() { http.NewResponseController(&H{}).Hijack() }`, "Hijack\n"},
		{"a Marshaler is seen through an empty interface", `
			type M int
			func (m M) MarshalJSON() ([]byte, error) { return []byte("[7]"), nil }
			func main() { b, err := json.Marshal(M(3)); fmt.Println(string(b), err) }`, "[7] <nil>\n"},
		{"names newer than yaegi", `
			func main() { fmt.Println(len(rand.Text()), slog.DiscardHandler != nil) }`, "26 true\n"},
		{"large untyped constants", `
			func main() { fmt.Println(uint64(math.MaxUint64), math.Pi, math.SmallestNonzeroFloat64) }`,
			"18446744073709551615 3.141592653589793 5e-324\n"},
		{"a library of others", `
			func main() { fmt.Println(stat.Mean([]float64{1, 2, 6}, nil), mat.Trace(mat.NewDiagDense(2, []float64{3, 4}))) }`, "3 7\n"},
		{"a graph of gorgonia", `
			func main() {
				g := gorgonia.NewGraph()
				x := gorgonia.NewScalar(g, gorgonia.Float64, gorgonia.WithName("x"))
				y := gorgonia.NewScalar(g, gorgonia.Float64, gorgonia.WithName("y"))
				z, err := gorgonia.Add(x, y)
				if err != nil { panic(err) }
				gorgonia.Let(x, 2.0)
				gorgonia.Let(y, 2.5)
				if err := gorgonia.NewTapeMachine(g).RunAll(); err != nil { panic(err) }
				fmt.Println(z.Value())
			}`, "4.5\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := interpret(t, test.src); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func interpret(t *testing.T, body string) string {
	t.Helper()
	var out bytes.Buffer
	i := interp.New(interp.Options{Stdout: &out, Stderr: &out})
	if err := i.Use(symbols.Table()); err != nil {
		t.Fatal(err)
	}
	src := "package main\n"
	for _, p := range []string{"bufio", "crypto/rand", "encoding/json", "fmt", "io", "log/slog", "math", "net", "net/http", "os",
		"gonum.org/v1/gonum/mat", "gonum.org/v1/gonum/stat", "gorgonia.org/gorgonia"} {
		if strings.Contains(body, path.Base(p)+".") {
			src += fmt.Sprintf("import %q\n", p)
		}
	}
	if _, err := i.Eval(src + body); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func BenchmarkTable(b *testing.B) {
	for b.Loop() {
		symbols.Table()
	}
}

func BenchmarkExport(b *testing.B) {
	for b.Loop() {
		imp := importer.ForCompiler(token.NewFileSet(), "gc", symbols.Export)
		for _, p := range []string{"fmt", "strings", "time", "gonum.org/v1/plot"} {
			if _, err := imp.Import(p); err != nil {
				b.Fatal(err)
			}
		}
	}
}
