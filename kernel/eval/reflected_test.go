package eval_test

import (
	"regexp"
	"strings"
	"testing"
	"time"
)

// TestPanicOfReflect: a panic that nobody recovers has Go's text, and is not taken for the interpreter's own.
func TestPanicOfReflect(t *testing.T) {
	for code, want := range map[string]string{
		`reflect.ValueOf(1).Len()`:                                              "reflect: call of reflect.Value.Len on int Value",
		`v := reflect.ValueOf(1); v.Set(v)`:                                     "reflect: reflect.Value.Set using unaddressable value",
		`reflect.ValueOf([]int{}).Index(0)`:                                     "reflect: slice index out of range",
		`func() { defer fmt.Print("a"); var v reflect.Value; v.Interface() }()`: "reflect: call of reflect.Value.Interface on zero Value",
		`sort.Slice(1, nil)`:                                                    "reflect: call of Swapper on int Value",
		`panic("reflect: slice index out of range")`:                            "reflect: slice index out of range",
		`xs := []int{}; fmt.Println(xs[len(xs)])`:                               "runtime error: index out of range [0] with length 0",
		`var p *image.Point; fmt.Println(p.X)`:                                  "runtime error: invalid memory address or nil pointer dereference",
	} {
		t.Run(code, func(t *testing.T) {
			r := newNotebook(t).run("import (\"fmt\"; \"image\"; \"reflect\"; \"sort\")\nvar _, _, _, _ = fmt.Print, image.Pt, reflect.Copy, sort.Ints\n" + code)
			if r.Err == nil || r.Err.Name != "panic" || r.Err.Value != want {
				t.Errorf("got %+v, want the panic %q", r.Err, want)
			}
		})
	}
}

// TestPanicOfReflectInGoroutine: so has that of a goroutine.
func TestPanicOfReflectInGoroutine(t *testing.T) {
	n := newNotebook(t)
	n.ok("import (\"reflect\"; \"sync\")\nvar wg sync.WaitGroup\nwg.Add(1)\ngo func() { defer wg.Done(); reflect.ValueOf(1).Len() }()\nwg.Wait()\nwg.Add(0)")
	deadline := time.Now().Add(10 * time.Second)
	for n.stream("stderr") == "" && time.Now().Before(deadline) { // the goroutine tells after its deferred call
		time.Sleep(time.Millisecond) // polls; how long does not matter
	}
	if got, want := n.stream("stderr"), "panic in goroutine: reflect: call of reflect.Value.Len on int Value"; !strings.HasPrefix(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestPkgPath: cells are package main, whatever the path of their compiled package is.
func TestPkgPath(t *testing.T) {
	if tools(t) == nil {
		t.Skip("package reflect does not see types of cells that are interpreted")
	}
	n := newNotebook(t)
	n.ok("type Base struct{ n int }\nfunc (b Base) Get() int { return b.n }", "t := reflect.TypeOf(Base{})", "fmt.Println(t.PkgPath(), reflect.TypeOf(Base{}).PkgPath(), reflect.TypeOf(strings.Builder{}).PkgPath())")
	if got, want := n.stream("stdout"), "main main strings\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestFuncNames: functions are called what the cell's author has called them.
func TestFuncNames(t *testing.T) {
	if tools(t) == nil {
		t.Skip("interpreted functions are not on the stack")
	}
	n := newNotebook(t)
	n.ok("type Base struct{ n int }\nfunc (b Base) Get() int { return b.n }\nfunc (b Base) get() int { return b.n }\nfunc g() {}\nfunc Exported() {}\nfunc gen[T any]() {}\n"+
		"func name(f any) string { return runtime.FuncForPC(reflect.ValueOf(f).Pointer()).Name() }\nfmt.Println(name(g), name(Exported), name(Base.Get), name(Base.get), name(gen[int]), name(func() {}), name(strings.ToUpper))",
		"old := g",
		"%%native\nfmt.Println(name(g), name(old), name(Exported), name(Base.Get), name(gen[int]), name(func() {}))",
		"%%interp\nfmt.Println(name(g), name(old), name(Exported))",
		"func caller() string { pc, _, _, _ := runtime.Caller(1); return runtime.FuncForPC(pc).Name() }\nfmt.Println(caller())")
	want := `main.g main.Exported main.Base.Get main.Base.get main.gen[...] main.main.func1 strings.ToUpper
main.g main.g main.Exported main.Base.Get main.gen[...] main.main.func1
main.g main.g main.Exported
main.main
`
	if got := regexp.MustCompile(`func\d+`).ReplaceAllString(n.stream("stdout"), "func1"); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

// TestShownNames: fields of package reflect, frames, stacks and the runtime's errors show no name of the compiled package.
func TestShownNames(t *testing.T) {
	longCompiled(t)
	compiled := tools(t) != nil
	const base = "type Base struct{ n int }\nfunc (b Base) F() int { return b.n }\nfunc (b Base) f() int { return b.n }\ntype F interface{ F() int }\ntype small interface{ f() int }\n"
	const frames = "func caller() runtime.Frame {\n\tvar pcs [3]uintptr\n\tframes := runtime.CallersFrames(pcs[:runtime.Callers(1, pcs[:])])\n\tframes.Next()\n\tf, _ := frames.Next()\n\treturn f\n}\nfunc g() runtime.Frame { return caller() }\n"
	tests := []struct {
		name   string
		cells  []string
		stdout string
	}{
		{"field", []string{base, "f := reflect.TypeOf(Base{}).Field(0)\nfmt.Println(f.PkgPath, f.PkgPath == reflect.TypeOf(Base{}).PkgPath(), f.IsExported())"}, "main true false\n"},
		{"field in a function", []string{base + "func path(v any) string { return reflect.TypeOf(v).Field(0).PkgPath }", "fmt.Println(path(Base{}), path(strings.Builder{}))"}, "main strings\n"},
		{"assigned", []string{base, "%%native\nf := reflect.TypeOf(Base{}).Field(0)\nf.PkgPath = \"x\"\np := &f.PkgPath\n*p += \"y\"\nfmt.Println(f.PkgPath)"}, "xy\n"},
		{"assigned by the interpreter", []string{base, "f := reflect.TypeOf(Base{}).Field(0)\nf.PkgPath = \"x\"\np := &f.PkgPath\n*p += \"y\"\nfmt.Println(f.PkgPath)"}, "xy\n"},
		{"embedded", []string{base + "type field struct{ reflect.StructField }\nfunc path() string { f := field{reflect.TypeOf(Base{}).Field(0)}; return f.PkgPath }", "fmt.Println(path())"}, "main\n"},
		{"struct made of fields", []string{base, "%%native\nt := reflect.TypeOf(Base{})\nfmt.Println(reflect.StructOf([]reflect.StructField{t.Field(0)}).ConvertibleTo(t))"}, "true\n"},
		{"frame", []string{frames, "f := g()\nfmt.Println(f.Function, f.File, f.Func.Name())"}, "main.g cell 1 main.g\n"},
		{"frame of statements", []string{frames + "fmt.Println(caller().Function)"}, "main.main\n"},
		{"caller", []string{"func where() string { pc, file, line, _ := runtime.Caller(1); return fmt.Sprint(runtime.FuncForPC(pc).Name(), \" \", file, \":\", line) }\nfunc h() string {\n\treturn where()\n}", "fmt.Println(h())"}, "main.h cell 1:3\n"},
		{"stack", []string{"func trace() string { return string(debug.Stack()) }\nfunc h() string { return trace() }\nfunc cut(s string) string { return regexp.MustCompile(`(?m)^\\t.*\\n?|^goroutine.*\\n|\\(\\.*\\)`).ReplaceAllString(s, \"\") }", "%%native\nfmt.Print(cut(h()))"}, "runtime/debug.Stack\nmain.trace\nmain.h\nmain.main\n"},
		{"stack in a buffer", []string{"func trace() string { buf := make([]byte, 1000); return string(buf[:runtime.Stack(buf, false)]) }\nfunc main() { fmt.Print(regexp.MustCompile(`(?m)^\\t.*\\n?|^goroutine.*\\n|\\(\\.*\\)`).ReplaceAllString(trace(), \"\")) }"}, "main.trace\nmain.main\n"},
		{"nil receiver", []string{base + "var held F\nvar b *Base\nfunc try() { defer func() { fmt.Println(recover()) }(); held.F() }", "held = b\ntry()"}, "value method main.Base.F called using nil *Base pointer\n"},
		{"nil receiver of a hidden method", []string{base + "var held small\nvar b *Base\nfunc try() (text string) {\n\tdefer func() { err := recover().(runtime.Error); text = fmt.Sprintf(\"%v %T\", err, err) }()\n\theld.f()\n\treturn\n}", "held = b\nfmt.Println(try())"}, "value method main.Base.f called using nil *Base pointer runtime.plainError\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if !compiled {
				t.Skip("interpreted types and functions are refused")
			}
			n := newNotebook(t)
			n.ok(tt.cells...)
			if got := n.stream("stdout"); got != tt.stdout {
				t.Errorf("got  %q\nwant %q", got, tt.stdout)
			}
		})
	}
}
