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
