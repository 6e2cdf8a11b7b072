package eval_test

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"cancha/internal/cellio"
	"cancha/kernel/cell"
	"cancha/kernel/eval"
)

// TestPanicInGoroutine reports the panic under the cell that started the goroutine and goes on.
func TestPanicInGoroutine(t *testing.T) {
	tests := []struct{ name, code, want string }{
		{"go statement", "done := make(chan bool)\ngo func() { defer close(done); var m map[string]int; m[\"a\"] = 1 }()\n<-done", "panic in goroutine: assignment to entry in nil map"},
		{"named function", "func bad() { panic(\"bad\") }\ngo bad()", "panic in goroutine: bad"},
		{"group", "var wg sync.WaitGroup\nwg.Go(func() { panic(fmt.Errorf(\"e%d\", 1)) })\nwg.Wait()", "panic in goroutine: e1"},
		{"timer", "time.AfterFunc(time.Millisecond, func() { panic(\"late\") })", "panic in goroutine: late"},
		{"group of a named function", "func named() { panic(\"named\") }\nvar ng sync.WaitGroup\nfunc start() { ng.Go(named); ng.Wait() }\nstart()", "panic in goroutine: named"},
		{"timer of a named function", "func later() { panic(\"later\") }\nfunc set() { time.AfterFunc(time.Millisecond, later) }\nset()", "panic in goroutine: later"},
	}
	n := newNotebook(t)
	n.ok("keep := 1")
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			n.t = t
			n.ok(tt.code)
			n.await("stderr", tt.want)
			n.ok("keep++")
		})
	}
	n.t = t
	n.ok("fmt.Println(keep)")
	if got := n.stream("stdout"); got != "7\n" {
		t.Errorf("got %q, want 7", got)
	}
}

// await waits until a stream has a text.
func (n *notebook) await(stream, text string) {
	n.t.Helper()
	for deadline := time.Now().Add(10 * time.Second); !strings.Contains(n.stream(stream), text); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			n.t.Fatalf("%s is %q, want %q in it", stream, n.stream(stream), text)
		}
	}
}

// TestOrderOfOutput keeps the order of everything that one cell prints, whatever it prints with.
func TestOrderOfOutput(t *testing.T) {
	once(t)
	n := newNotebook(t)
	n.ok(`log.SetFlags(0)
fmt.Println("a")
println("b")
fmt.Fprintln(os.Stdout, "c")
log.Print("d")
fmt.Fprint(os.Stderr, "e\n")
os.Stdout.WriteString("f\n")
w := bufio.NewWriter(os.Stdout)
w.WriteString("g\n")
w.Flush()
print("h\n")
slog.SetDefault(slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr { if a.Key == "time" { return slog.Attr{} }; return a }})))
slog.Info("i")
log.New(os.Stdout, "j", 0).Println()
tab := tabwriter.NewWriter(os.Stdout, 0, 8, 1, ' ', 0)
fmt.Fprintln(tab, "k")
tab.Flush()`)
	var got []string
	n.out.Flush()
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, f := range n.frames {
		var s cellio.Stream
		if f.Kind == cellio.KindStream && json.Unmarshal(f.Body, &s) == nil {
			got = append(got, s.Name[3:]+":"+strings.ReplaceAll(s.Text, "\n", ""))
		}
	}
	want := "out:a err:b out:c err:de out:fg err:hlevel=INFO msg=i out:jk"
	if text := strings.Join(got, " "); text != want {
		t.Errorf("got  %s\nwant %s", text, want)
	}
}

// TestOutputOfGoroutines gives a goroutine's output to the cell that started it, also after that cell has ended.
func TestOutputOfGoroutines(t *testing.T) {
	once(t)
	n := newNotebook(t)
	n.ok("ask := make(chan string)\ngo func() { for s := range ask { fmt.Println(s) } }()", `fmt.Println("second")`, `ask <- "first"`, "close(ask)")
	n.await("stdout", "first\n")
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, f := range n.frames {
		var s cellio.Stream
		if f.Kind != cellio.KindStream || json.Unmarshal(f.Body, &s) != nil {
			continue
		}
		if want := map[string]int64{"first\n": 1, "second\n": 2}[s.Text]; f.Cell != want {
			t.Errorf("%q is of cell %d, want %d", s.Text, f.Cell, want)
		}
	}
}

// TestErrorPositions points at the line and column in the cell, which are counted in bytes from 1.
func TestErrorPositions(t *testing.T) {
	tests := []struct {
		name, code, want string // want: how the traceback begins
	}{
		{"statement", "x := 1\ny := nope", "cell 1:2:6: undefined: nope\n    2 | y := nope\n      |      ^"},
		{"blank lines", "\n\n\nnope()", "cell 1:4:1: undefined: nope\n    4 | nope()\n      | ^"},
		{"comments", "// first\n/* second\nthird */ nope()", "cell 1:3:10: undefined: nope\n    3 | third */ nope()\n      |          ^"},
		{"after a raw string", "s := `a\nb\n`; nope(s)", "cell 1:3:4: undefined: nope\n    3 | `; nope(s)\n      |    ^"},
		{"tabs", "if true {\n\t\tnope()\n}", "cell 1:2:3: undefined: nope\n    2 | \t\tnope()\n      | \t\t^"},
		{"beyond ASCII", "s := \"日本\" + nope", "cell 1:1:17: undefined: nope\n    1 | s := \"日本\" + nope\n      |             ^"},
		{"declaration after statement", "x := 1\nfunc f() int {\n\treturn \"s\"\n}", "cell 1:3:9: cannot use \"s\" (untyped string constant) as int value in return statement\n    3 | \treturn \"s\"\n      | \t       ^"},
		{"missing return", "func f() int {\n}", "cell 1:2:1: missing return\n    2 | }\n      | ^"},
		{"import", "import \"fmt\"\nimport \"no/such\"", "cell 1:2:8: package no/such is not in std"},
		{"syntax", "x := 1\ny := := 2", "cell 1:2:6: syntax error:"},
		{"not closed", "f(1,\n2", "cell 1:2:2: syntax error: unexpected end of cell, ( is not closed"},
		{"several on a line", "a, b := 1, nope; c := gone", "cell 1:1:12: undefined: nope"},
		{"mismatch", "var x int = \"s\"", "cell 1:1:13: cannot use \"s\" (untyped string constant) as int value in variable declaration"},
		{"method", "type T struct{}\nT{}.M()", "cell 1:2:5: T{}.M undefined (type T has no field or method M)"},
		{"a last value that no int holds", "1 << 70", "cell 1:1:1: cannot use 1 << 70 (untyped int constant 1180591620717411303424) as int value in the cell's last line (overflows)"},
		{"one that no float holds", "1e200 * 1e200", "cell 1:1:1: cannot use 1e200 * 1e200 as float64 value in the cell's last line (overflows)"},
		{"refused construct", "\ntype F func() F", "cell 1:2:6: type F refers to itself"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if tt.name == "refused construct" && tools(t) != nil {
				t.Skip("the compiler does not refuse it")
			}
			n := newNotebook(t)
			r := n.run(tt.code)
			if r.Err == nil {
				t.Fatal("got no error")
			}
			if got := strings.Join(r.Err.Traceback, "\n"); !strings.HasPrefix(got, tt.want) {
				t.Errorf("got\n%s\nwant\n%s", got, tt.want)
			}
		})
	}
}

// TestPanicPositions names the line of the cell, and the functions between, where a cell panicked.
func TestPanicPositions(t *testing.T) {
	if raceEnabled {
		t.Skip("without lines: see raceEnabled")
	}
	n := newNotebook(t)
	n.ok("func inner(xs []int) int { return xs[3] }\nfunc outer() int { return inner(nil) }")
	r := n.run("x := 1\n\nouter()\nx++")
	got := strings.Join(r.Err.Traceback, "\n")
	for _, want := range []string{"panic: runtime error: index out of range", "in inner (cell 1:1)", "in outer (cell 1:2)", "at cell 2:3", "    1 | func inner("} {
		if !strings.Contains(got, want) {
			t.Errorf("got\n%s\nwant %q in it", got, want)
		}
	}
}

// TestRefusedFieldsWhileRunning: the same for fields that gob would not see.
func TestRefusedFieldsWhileRunning(t *testing.T) {
	if tools(t) != nil {
		t.Skip("package gob sees compiled types")
	}
	n := newNotebook(t)
	n.ok("type T struct{ A, b int }\nfunc save(v any) error { return gob.NewEncoder(os.Stdout).Encode(v) }")
	r := n.run("save([]*T{{1, 2}})")
	if r.Err == nil || r.Err.Name != "refused" || !strings.Contains(r.Err.Value, "gob.Encode does not see that field b is not exported") {
		t.Errorf("got %+v, want a refusal that names the field", r.Err)
	}
}

// TestRefusedWhileRunning: what shows only then to be otherwise than in Go ends the cell, whatever it recovers.
func TestRefusedWhileRunning(t *testing.T) {
	if tools(t) != nil {
		t.Skip("package reflect sees compiled types")
	}
	n := newNotebook(t)
	n.ok("type T struct{ A int }\nvar x any = []T{{1}}")
	r := n.run("func() {\n\tdefer func() { fmt.Println(recover()) }()\n\tfmt.Println(reflect.TypeOf(x))\n}()\nfmt.Println(1)")
	if r.Err == nil || r.Err.Name != "refused" || !strings.Contains(r.Err.Value, "package reflect does not see type main.T") {
		t.Errorf("got %+v, want a refusal that names the type", r.Err)
	}
	if got := n.stream("stdout"); got != "<nil>\n" {
		t.Errorf("stdout %q, want what the deferred call has printed", got)
	}
	n.ok("fmt.Println(reflect.TypeOf(3))")
	if got := n.stream("stdout"); got != "<nil>\nint\n" {
		t.Errorf("stdout %q, want int after that", got)
	}
}

// TestRefusedCellChangesNothing leaves variables, types, functions, methods and imports as they were.
func TestRefusedCellChangesNothing(t *testing.T) {
	refused := []string{
		"x = 2\nnope()",
		"fmt.Println(\"ran\")\nvar y int = \"s\"",
		"x := \"new\"\nnope()",
		"func f() string { return \"new\" }\nnope()",
		"type T struct{ B string }\nnope()",
		"func (t T) M() int { return 2 }\nnope()",
		"func (t T) New() int { return 2 }\nnope()",
		"import f \"strings\"\nnope()",
		"z := 1\nnope()",
	}
	if tools(t) == nil { // the interpreter refuses it, the compiler does not
		refused = append(refused, "x = 3\ntype Loop []Loop")
	}
	n := newNotebook(t)
	n.ok("x := 1\ntype T struct{ A int }\nfunc f() string { return \"old\" }", "func (t T) M() int { return 1 }")
	for _, code := range refused {
		if r := n.run(code); r.Status != cell.Failed {
			t.Errorf("cell ran:\n%s", code)
		}
	}
	n.ok("fmt.Println(x, f(), T{A: 1}, T{}.M())")
	if got, want := n.stream("stdout"), "1 old {1} 1\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	for _, code := range []string{"z", "T{}.New()"} {
		if r := n.run(code); r.Err == nil || !strings.Contains(r.Err.Value, "undefined") {
			t.Errorf("%s: got %v, want it undefined", code, r.Err)
		}
	}
}

// TestImports finds packages of the standard library by name, where only one has it.
func TestImports(t *testing.T) {
	once(t)
	n := newNotebook(t)
	n.ok(`strings.ToUpper(strconv.Itoa(1) + filepath.Base("a/b"))`)
	if got := n.results(); len(got) != 1 || got[0] != "1B" {
		t.Errorf("got %v, want 1B", got)
	}
	for name, want := range map[string]string{
		"rand.Int()":         `"crypto/rand", "math/rand", "math/rand/v2"`,
		"template.New(\"\")": `"html/template", "text/template"`,
	} {
		r := n.run(name)
		if r.Err == nil || !strings.Contains(r.Err.Value, want) {
			t.Errorf("%s: got %v, want the error to name %s", name, r.Err, want)
		}
	}
	n.ok("import \"math/rand/v2\"\nrand.IntN(1)", "rand.IntN(1)", "rand := 4", "rand + 1")
	if r := n.run("nosuch.F()"); r.Err == nil || !strings.Contains(r.Err.Value, "undefined: nosuch") {
		t.Errorf("got %v, want nosuch undefined", r.Err)
	}
}

// TestHelp shows a page for a line that asks for one, and runs the rest of the cell.
func TestHelp(t *testing.T) {
	once(t)
	n := newNotebook(t)
	n.ok("// double doubles.\nfunc double(x int) int { return 2 * x }")
	for _, tt := range []struct{ code, want string }{
		{"?double", "func double(x int) int"},
		{"double?", "func double(x int) int"},
		{"??double", "return 2 * x"},
		{"?strings.Fields", "Fields(s string) []string"},
		{"?nothing", "nothing is known"},
	} {
		r := n.run("fmt.Println(1)\n" + tt.code)
		if r.Status != cell.OK || len(r.Pages) != 1 {
			t.Errorf("%s: got %+v, want one page", tt.code, r)
			continue
		}
		if got, _ := r.Pages[0]["text/plain"].(string); !strings.Contains(got, tt.want) {
			t.Errorf("%s: got %q, want %q in it", tt.code, got, tt.want)
		}
	}
	if got := n.stream("stdout"); got != strings.Repeat("1\n", 5) {
		t.Errorf("got %q, want five lines", got)
	}
}

// TestStrictDecoder refuses what our decoder would leave out.
func TestStrictDecoder(t *testing.T) {
	once(t)
	if tools(t) != nil {
		t.Skip("the decoder's options reach compiled types")
	}
	n := newNotebook(t)
	n.ok("type B struct{ A int }\ntype T struct{ B }\ntype Plain struct{ A int }", "d := json.NewDecoder(strings.NewReader(`{\"A\": 1} {\"A\": 2}`))\nvar x T\nd.Decode(&x)\nx.A")
	for _, method := range []string{"DisallowUnknownFields", "UseNumber"} {
		r := n.run("d := json.NewDecoder(strings.NewReader(`{\"A\": 1}`))\nd." + method + "()\nif err := d.Decode(&x); err != nil { panic(err) }")
		if r.Err == nil || !strings.Contains(r.Err.Value, "do not reach types of cells") {
			t.Errorf("%s: got %v, want an error that says so", method, r.Err)
		}
	}
	n.ok("d := json.NewDecoder(strings.NewReader(`{\"A\": 1}`))\nd.UseNumber()\nvar p Plain\nif err := d.Decode(&p); err != nil || p.A != 1 { panic(err) }")
}

// TestUserExpressions evaluates what comes with a request; an error of one is its own.
func TestUserExpressions(t *testing.T) {
	once(t)
	n := newNotebook(t)
	r := n.program.Run(cell.Request{Cell: 1, Count: 1, Code: "x := 20", UserExpressions: map[string]string{
		"value": "x + 1", "none": "fmt.Print()", "wrong": "nope", "panics": "x / (x - 20)", "fails": "strconv.Atoi(\"a\")", "nil": "error(nil)",
		"text": "\"\\x1b[1m\"", "escapes": "errors.New(\"\\x1b[1m\")",
	}})
	if r.Status != cell.OK {
		t.Fatal(r.Err)
	}
	got := r.UserExpressions
	if data, _ := got["value"]["data"].(map[string]any); got["value"]["status"] != "ok" || data["text/plain"] != "21" {
		t.Errorf("value: got %v, want 21", got["value"])
	}
	for name, want := range map[string]string{"wrong": "compile error", "panics": "panic", "fails": "error"} {
		if got[name]["status"] != "error" || got[name]["ename"] != want {
			t.Errorf("%s: got %v, want the error %q", name, got[name], want)
		}
	}
	if text, fault := fmt.Sprint(got["text"]), fmt.Sprint(got["escapes"]); strings.Contains(text+fault, "\x1b") || !strings.Contains(fault, `\x1b[1m`) {
		t.Errorf("escape sequences: got %q and %q", text, fault)
	}
	for _, name := range []string{"none", "nil"} {
		if got[name]["status"] != "ok" {
			t.Errorf("%s: got %v, want ok", name, got[name])
		}
	}
}

// TestShown shows values with the names that the cell gave their fields.
func TestShown(t *testing.T) {
	tests := []struct{ code, want string }{
		{"type P struct { X int; name string }\nP{1, \"a\"}", "{X:1 name:a}"},
		{"[]P{{2, \"b\"}}", "[{X:2 name:b}]"},
		{"&P{3, \"c\"}", "&{X:3 name:c}"},
		{"map[string]P{\"k\": {}}", "map[k:{X:0 name:}]"},
		{"struct{ a, B int }{1, 2}", "{a:1 B:2}"},
		{"any(fmt.Errorf(\"no %d\", 1))", "no 1"},
		{"strconv.Atoi(\"7\")", "7"},
		{"strings.Cut(\"a=b\", \"=\")", "(a, b, true)"},
		{"type C int\nfunc (c C) String() string { return \"C\" }\n[]C{1}", "[C]"},
	}
	n := newNotebook(t)
	for i, tt := range tests {
		n.ok(tt.code)
		if got := n.results(); len(got) != i+1 || !strings.HasSuffix(got[i], tt.want) {
			t.Fatalf("%s: got %q, want %q", tt.code, got, tt.want)
		}
	}
}

// TestShownValuePanics is an error of the cell, and the next one runs.
func TestShownValuePanics(t *testing.T) {
	n := newNotebook(t)
	r := n.run("type E struct{}\nfunc (E) Error() string { panic(\"no text\") }\nE{}")
	if r.Err == nil || !strings.Contains(r.Err.Value, "no text") {
		t.Errorf("got %v, want the panic of the method", r.Err)
	}
	n.ok("1 + 1")
}

// TestExport writes the names, tags and embedded fields that the cell declared.
func TestExport(t *testing.T) {
	once(t)
	n := newNotebook(t)
	n.ok(`import "cancha/runtime/session"
import "cancha/runtime/table"`, "file := filepath.Join("+strconv.Quote(t.TempDir())+`, "m.json")
type Base struct{ ID int }
type Metrics struct {
	Base
	Rate float64 `+"`json:\"rate\"`"+`
	note string
}`, `err := session.Export(file, Metrics{Base{1}, 2.5, "x"})
raw, _ := os.ReadFile(file)
fmt.Println(err, strings.Join(strings.Fields(string(raw)), ""))
rows, _ := table.Of([]Metrics{{Rate: 1}})
fmt.Println(rows.Columns()[len(rows.Columns())-1])`)
	if got, want := n.stream("stdout"), "<nil> {\"ID\":1,\"rate\":2.5}\nrate\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestRecursion ends a recursion that does not end, and keeps what was there.
func TestRecursion(t *testing.T) {
	once(t)
	if testing.Short() {
		t.Skip("takes seconds")
	}
	if raceEnabled {
		t.Skip("the race detector's stacks are larger")
	}
	n := newConfiguredNotebook(t, eval.Config{Slow: time.Hour, MaxStack: 64 << 20})
	n.ok(`keep := 1
func f(n int) int { return f(n+1) + 1 }
func even(n int) bool { return odd(n+1) }
func odd(n int) bool {
	return even(n+1)
}
type T struct{}
func (t *T) M() int { defer func() { keep++ }(); return t.M() + 1 }
type Shown struct{ n int }
func (s Shown) String() string { return fmt.Sprintf("%v", s) }
type Encoded struct{ N int }
func (e Encoded) MarshalJSON() ([]byte, error) { return json.Marshal(e) }
func less() { sort.Slice([]int{2, 1}, func(i, j int) bool { less(); return i < j }) }
var literal func(int) int
`, "literal = func(n int) int { return literal(n+1) + 1 }", "cycle := map[string]any{}\ncycle[\"self\"] = cycle")
	for _, test := range []struct{ code, want string }{
		{"f(0)", "f calls itself (cell 1:2)"},
		{"even(0)", "call each other (cell 1:"},
		{"(&T{}).M()", "T.M calls itself (cell 1:8)"},
		{"fmt.Println(Shown{1})", "Shown.String calls itself by way of package fmt (cell 1:10)"},
		{"json.Marshal(Encoded{1})", "Encoded.MarshalJSON calls itself by way of package encoding/json (cell 1:12)"},
		{"less()", "less calls itself by way of package sort (cell 1:13)"},
		{"literal(0)", "a function literal calls itself (cell 2:1)"},
		{"fmt.Println(cycle)", "in package fmt: most likely a value that contains itself"},
	} {
		r := n.run(test.code)
		late := tools(t) == nil && r.Err != nil && strings.Contains(r.Err.Value, "a function of a cell calls itself") // see primitive's depth.go
		if r.Err == nil || !strings.Contains(r.Err.Value, "stack overflow: recursion without end") || !late && !strings.Contains(r.Err.Value, test.want) {
			t.Errorf("%s: got %v, want a stack overflow, %q", test.code, r.Err, test.want)
			continue
		}
		if len(r.Err.Traceback) > 15 || !strings.Contains(r.Err.Value, "variables are kept") {
			t.Errorf("%s: got %q", test.code, r.Err.Traceback)
		}
	}
	n.ok("done := make(chan bool)\ngo func() { defer close(done); f(0) }()\n<-done", "fmt.Println(keep > 1)")
	n.await("stderr", "panic in goroutine: stack overflow")
	if got := n.stream("stdout"); got != "true\n" {
		t.Errorf("got %q, want true: deferred calls run, and variables stay", got)
	}
}
