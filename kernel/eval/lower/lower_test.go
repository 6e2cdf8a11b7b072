package lower

import (
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"cancha/internal/symbols"
	"cancha/kernel/eval/check"
)

// session lowers cells one after another.
type session struct {
	t       *testing.T
	scope   *check.Scope
	lowerer *Lowerer
	cells   int64
}

func newSession(t *testing.T) *session {
	t.Helper()
	table := symbols.Table()
	var packages []check.Package
	for _, p := range symbols.Packages() {
		packages = append(packages, check.Package{Path: p.Path, Name: p.Name, Standard: p.Standard})
	}
	has := map[string]bool{}
	for key, names := range table {
		for name := range names {
			has[filepath.Dir(key)+"."+name] = true
		}
	}
	s := &session{t: t, scope: check.NewScope(packages, func(path string) (io.ReadCloser, error) { return symbols.Export(path) })}
	s.lowerer = New(Config{
		Importer: s.scope.Importer(), FileSet: s.scope.FileSet(),
		Has:      func(path, name string) bool { return has[path+"."+name] },
		Pool:     func(types.BasicKind) int { return 2 },
		Position: s.scope.Position,
		//lint:ignore SA1019 tests run where they were built
		Source: func(path string) (string, error) { return filepath.Join(runtime.GOROOT(), "src", path), nil },
	})
	return s
}

// lower returns the lowered cell with the numbers of its names, which depend on what was lowered before, taken off, and
// variables that are reached through pointers as they are elsewhere.
func (s *session) lower(code string) (*Unit, string, error) {
	s.t.Helper()
	s.cells++
	c, err := s.scope.Check("cell", code)
	if err != nil {
		s.t.Fatal(err)
	}
	s.scope.Lock()
	defer s.scope.Unlock()
	u, err := s.lowerer.Lower(c, s.cells)
	if err != nil {
		return nil, "", err
	}
	s.lowerer.Keep()
	s.scope.Commit(c)
	text := regexp.MustCompile(`ᐧ[0-9]+|//at .*\n`).ReplaceAllString(u.Source+u.Body.Source, "")
	text = regexp.MustCompile(`\{ var t .* = ((?s:.*?))\n\*(\w+) = t \}`).ReplaceAllString(text, "$2 = $1")
	return u, regexp.MustCompile(`\(\*(\w+)\)`).ReplaceAllString(text, "$1"), nil
}

// TestLower looks for the form that each construct gets.
func TestLower(t *testing.T) {
	tests := []struct{ name, code, want string }{
		{"constants are folded", "const k = 3\nx := k * 2", "x = 6\n"},
		{"names are unique", "x := 1\n{ x := x + 1; _ = x }", "var x int = (x) + 1"},
		{"methods are functions", "type T struct{ n int }\nfunc (t *T) M(k int) int { return t.n + k }\nt := T{1}\nt.M(2)", "func T_M(t *T, k int) (int) {"},
		{"methods are registered", "type T struct{ n int }\nfunc (t *T) M() {}", `.Method(new(T), "M", T_M)`},
		{"structs are marked", "type T struct{ A int }", `type T struct{ A int "cancha:\"T`},
		{"fields that are not exported are hidden from encoders", "type T struct{ a int }", `a int "json:\"-\"`},
		{"numbers have types of the pool", "type N int\nvar n N = 1", ".Int0"},
		{"slices are boxed in interfaces", "type L []int\nvar x any = L{1}", "x = L{V: []int{1}}"},
		{"interfaces are empty", "type I interface{ M() }\nvar i I", "var i interface{}"},
		{"calls through interfaces are looked up", "type I interface{ M(int) string }\nfunc f(i I) string { return i.M(1) }", `.Lookup(i, "M").(func(int) (string))(1)`},
		{"generics are instances", "func id[T any](x T) T { return x }\na, b := id(1), id(\"s\")", "func id(x string) (string) {"},
		{"loops check", "for {\n}", "for true {\nif stopᐧ { rtᐧ.Check() }"},
		{"functions check", "func f() {}", "func f() {\nif stopᐧ { rtᐧ.Enter(\"f.1\") }"},
		{"go", "func f() {}\ngo f()", "rtᐧ.GoAt(lineᐧ, func() func() { return func() { f() } }())"},
		{"defer", "func f() { defer f() }", "rtᐧ.Frame(func(d *rtᐧ.Deferred) {"},
		{"receive", "c := make(chan int)\n<-c; c = nil", "rtᐧ.Recv(c, nil)"},
		{"send", "c := make(chan int)\nc <- 1", "rtᐧ.Send(c, &v)"},
		{"select", "c := make(chan int)\nselect { case <-c: default: }", "rtᐧ.Select(true, rtᐧ.RecvCase(c, nil))"},
		{"printing", "println(1)", "rtᐧ.BuiltinPrintln(interface{}(1))"},
		{"sleep", "time.Sleep(1)", "rtᐧ.Sleep("},
		{"locks", "var mu sync.Mutex\nmu.Lock()", "rtᐧ.Lock(&(mu))"},
		{"results with names", "func f() (a, b int) { return b, a }", "return v, v"},
		{"shifted constant", "s := 3\nx := 1 << s", "x = int(1) << rtᐧ.ShiftCount(int64(s))"},
		{"map behind a pointer", "func f(m *map[string]int) { (*m)[\"a\"]++ }", "v[v] = v[v] + 1"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			u, got, err := newSession(t).lower(tt.code)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(got, tt.want) {
				t.Errorf("got\n%s\nwant %q in it", got, tt.want)
			}
			if u.Source == "" {
				u.Source = "package main\n"
			}
			if _, err := parser.ParseFile(token.NewFileSet(), "", u.Source+u.Body.Source, 0); err != nil {
				t.Errorf("the lowered cell is no Go: %v", err)
			}
		})
	}
}

// TestRefusals names the construct that cannot be lowered, and where it is.
func TestRefusals(t *testing.T) {
	tests := []struct{ name, code, want string }{
		{"type of itself", "type F func() F", "cell:1:6: type F refers to itself without a struct in between"},
		{"unsafe", "import \"unsafe\"\nvar p unsafe.Pointer", "unsafe"},
		{"source of a function", "p := new(int)\nweak.Make(p)", "cell:2:1: weak.Pointer is built from its source, and there unsafe.Pointer is not supported"},
		{"several values for a builtin", "func f() ([]int, int) { return nil, 1 }\nx := append(f())", "cell:2:6: append of a call that gives several values"},
		{"goto in a range over a function", "func f() { for range func(func() bool) {} { goto end\nend:\n} }", "goto inside of a range over a function"},
		{"range into an element", "x := make([]int, 2)\nvar i int\nfor i, x[i] = range x {\n}", "cell:3:1: a range that assigns to an element"},
		{"gob of methods", "type T struct{ A int }\nfunc (T) GobEncode() ([]byte, error) { return nil, nil }\ngob.NewEncoder(os.Stdout).Encode(T{})", "does not see method GobEncode of type T"},
		{"caller", "_, file, _, _ := runtime.Caller(0)", "cell:1:26: runtime.Caller cannot be used while the cell is interpreted: interpreted functions are not on the stack"},
		{"finalizer", "x := new(int)\nruntime.SetFinalizer(x, func(*int) {})", "the interpreter keeps values longer"},
		{"logger with file names", "log.SetFlags(log.LstdFlags | log.Lshortfile)", "log.Lshortfile and log.Llongfile cannot be used"},
		{"reflection of a type", "type T struct{ A int }\nreflect.TypeOf([]T{})", "cell:2:16: package reflect does not see type T as Go does"},
		{"reflection of fields", "reflect.ValueOf(&struct{ a int }{})", "package reflect does not see a struct with the field a as Go does"},
		{"xml of embedded", "type B struct{ A int }\ntype T struct{ B }\nxml.Marshal(T{})", "does not see that type T embeds a struct"},
		{"gob of fields", "type B struct{ a int }\ntype T struct{ M map[string][]*B }\ngob.NewEncoder(os.Stdout).Encode(&T{})", "gob.Encode does not see that field a is not exported"},
		{"binary read of fields", "var t struct{ A, b uint8 }\nbinary.Read(os.Stdin, binary.LittleEndian, &t)", "binary.Read does not see that field b is not exported"},
		{"gob as a value", "f := gob.NewEncoder(os.Stdout).Encode", "gob.Encode used as a value does not see the methods of types that cells declare"},
		{"abilities of a sink", "import \"cancha/stream\"\ntype S struct{}\nfunc (*S) Write(context.Context, int64, *stream.Rows) error { return nil }\nfunc (*S) Close() error { return nil }\nvar s stream.Sink = new(S)", "cell:5:21: stream.Sink, as which *S is used here, hides its methods of stream.Closer"},
		{"value that recovers", "func f() { recover() }\ng := f\ndefer g()", "cell:2:6: f is not interpreted as a value, since it calls recover"},
		{"literal that recovers", "f := func() { (recover)() }\ndefer f()", "cell:1:6: a function literal is not interpreted as a value, since it calls recover"},
		{"method value that recovers", "type T struct{}\nfunc (T) R() { recover() }\nf := T{}.R", "R is not interpreted as a value"},
		{"method expression that recovers", "type T struct{}\nfunc (T) R() { recover() }\ndefer T.R(T{})", "R is not interpreted as a value"},
		{"method of an interface that recovers", "type T struct{}\nfunc (T) Close() error { recover(); return nil }\nvar c io.Closer = T{}\ndefer c.Close()", "cell:4:7: defer of an interface's method Close is not interpreted"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := newSession(t)
			_, _, err := s.lower(tt.code)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Fatalf("got %v, want %q", err, tt.want)
			}
			if _, _, err := s.lower("x := 1"); err != nil {
				t.Errorf("the next cell: %v", err)
			}
		})
	}
}

// TestDrop forgets what a refused cell declared: its names are free, and nothing refers to what was never loaded.
func TestDrop(t *testing.T) {
	s := newSession(t)
	if _, _, err := s.lower("type T struct{ A int }\nfunc (t T) M() int { return slices.Max([]int{t.A}) }\ntype F func() F"); err == nil {
		t.Fatal("got no error")
	}
	_, got, err := s.lower("type T struct{ B string }\nslices.Max([]int{1})")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"type T struct{ B string", "func Max("} {
		if !strings.Contains(got, want) {
			t.Errorf("got\n%s\nwant %q in it", got, want)
		}
	}
}

// TestOverlays parses and checks our versions of standard packages.
func TestOverlays(t *testing.T) {
	files, err := os.ReadDir("overlay")
	if err != nil {
		t.Fatal(err)
	}
	s := newSession(t)
	for _, f := range files {
		path := strings.ReplaceAll(strings.TrimSuffix(f.Name(), ".go.txt"), "_", "/")
		p := s.lowerer.overlayPackage(path)
		if p == nil || len(p.decls) == 0 {
			t.Errorf("%s: nothing was read", f.Name())
			continue
		}
		for name, o := range p.objs {
			if o.Type() == nil || strings.Contains(o.Type().String(), "invalid type") {
				t.Errorf("%s: the type of %s is not known: %v", f.Name(), name, o.Type())
			}
		}
	}
}
