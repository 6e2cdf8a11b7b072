package eval_test

import (
	"strings"
	"testing"

	"cancha/kernel/cell"
)

// failure is a cell that fails with an error, and how its traceback begins.
type failure struct{ name, code, evalue, traceback string }

func (n *notebook) fails(tt failure) {
	n.t.Helper()
	r := n.run(tt.code)
	if r.Status != cell.Failed || r.Err == nil || r.Err.Name != "error" || r.Err.Value != tt.evalue {
		n.t.Fatalf("got %v %v, want the error %q", r.Status, r.Err, tt.evalue)
	}
	if got := strings.Join(r.Err.Traceback, "\n"); !strings.HasPrefix(got, tt.traceback) {
		n.t.Errorf("got traceback\n%s\nwant\n%s", got, tt.traceback)
	}
}

// TestLastError fails a cell whose last value is an error that is not nil.
func TestLastError(t *testing.T) {
	once(t)
	tests := []failure{
		{"error", "errors.New(\"no such match\")", "no such match", "error: no such match\n    at cell 1:1\n    1 | errors.New("},
		{"error variable", "x := 1\nvar err error = io.EOF\nx++\nerr", "EOF", "error: EOF\n    at cell 1:4\n    4 | err"},
		{"in parentheses", "(io.EOF)", "EOF", "error: EOF\n    at cell 1:1\n"},
		{"value and error", "strconv.Atoi(\"a\")", `strconv.Atoi: parsing "a": invalid syntax`, "error: strconv.Atoi: parsing \"a\": invalid syntax (*strconv.NumError)\n    at cell 1:1\n"},
		{"two results and an error", "func() (int, string, error) { return 1, \"a\", io.EOF }()", "EOF", "error: EOF\n    at cell 1:1\n    1 | func() (int, string, error) { return 1, \"a\", io.EOF }()\n      | ^\nwith it came 1, a"},
		{"list", "x, err := strconv.Atoi(\"a\")\nx, \"b\", err", `strconv.Atoi: parsing "a": invalid syntax`, "error: strconv.Atoi: parsing \"a\": invalid syntax (*strconv.NumError)\n    at cell 1:2\n    2 | x, \"b\", err\n      | ^\nwith it came 0, b"},
		{"timed in a loop", "x := 1\n%timeit -n 1 -r 1 strconv.Atoi(\"a\") // it", `strconv.Atoi: parsing "a": invalid syntax`, "error: strconv.Atoi: parsing \"a\": invalid syntax (*strconv.NumError)\n    at cell 1:2\n"},
		{"of a struct, timed in a loop", "type E struct{}\nfunc (E) Error() string { return \"E!\" }\nfunc f() E { return E{} }\n%timeit -n 1 -r 1 f()", "E!", "error: E! (main.E)\n    at cell 1:4\n"},
		{"of a number, timed in a loop", "func f() (int, syscall.Errno) { return 1, syscall.ENOENT }\n%timeit -n 1 -r 1 f()", "no such file or directory", "error: no such file or directory (syscall.Errno)\n    at cell 1:2\n"},
		{"cell timed in a loop", "%%timeit -n 2 -r 1\nx := io.EOF\nx", "EOF", "error: EOF\n    at cell 1:3\n"},
		{"printed into what fails", "fmt.Fprintln(broken{}, 1)\ntype broken struct{}\nfunc (broken) Write([]byte) (int, error) { return 0, io.ErrShortWrite }", "short write", "error: short write\n    at cell 1:1\n"},
		{"over several lines", "\nfmt.Errorf(\n\t\"no %s\",\n\t\"ball\")", "no ball", "error: no ball\n    at cell 1:2\n"},
		{"wrapped", "fmt.Errorf(\"read: %w\", io.EOF)", "read: EOF", "error: read: EOF\n"},
		{"of an interface", "func f() net.Error { return &net.DNSError{Err: \"gone\", Name: \"host\"} }\nf()", "lookup host: gone", "error: lookup host: gone (*net.DNSError)\n    at cell 1:2\n"},
		{"of a cell's type", "type E struct{ n int }\nfunc (e E) Error() string { return fmt.Sprint(\"E\", e.n) }\nfunc f() error { return E{3} }\nf()", "E3", "error: E3 (main.E)\n    at cell 1:4\n"},
		{"of a cell's type that a call returns", "type E struct{ n int }\nfunc (e *E) Error() string { return fmt.Sprint(\"E\", e.n) }\nfunc f() *E { return &E{3} }\nf()", "E3", "error: E3 (*main.E)\n    at cell 1:4\n"},
		{"the same beside a value", "type E struct{ n int }\nfunc (e *E) Error() string { return fmt.Sprint(\"E\", e.n) }\nfunc f() (string, *E) { return \"\", &E{3} }\nf()", "E3", "error: E3 (*main.E)\n    at cell 1:4\n"},
		{"element", "errs := []error{nil, io.EOF}\nerrs[1]", "EOF", "error: EOF\n    at cell 1:2\n"},
		{"received", "c := make(chan error, 1)\nc <- io.EOF\n<-c", "EOF", "error: EOF\n    at cell 1:3\n"},
		{"timed", "x := 1\n%time strconv.Atoi(\"a\")", `strconv.Atoi: parsing "a": invalid syntax`, "error: strconv.Atoi: parsing \"a\": invalid syntax (*strconv.NumError)\n    at cell 1:2\n"},
		{"cell timed", "%%time\nio.EOF", "EOF", "error: EOF\n    at cell 1:2\n"},
		{"behind a magic", "!true\nio.EOF", "EOF", "error: EOF\n    at cell 1:2\n"},
		{"interpreted", "%%interp\nfunc f() (int, error) { return 7, io.EOF }\nf()", "EOF", "error: EOF\n    at cell 1:3\n    3 | f()\n      | ^\nwith it came 7"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			n := newNotebook(t)
			n.fails(tt)
			if got := n.results(); len(got) != 0 {
				t.Errorf("got %q shown", got)
			}
			n.ok("1 + 1")
		})
	}
}

// TestSilentCellFails too: it shows nothing, and its reply tells.
func TestSilentCellFails(t *testing.T) {
	once(t)
	n := newNotebook(t)
	r := n.program.Run(cell.Request{Cell: 1, Count: 1, Code: "strconv.Atoi(\"a\")", Silent: true})
	if r.Status != cell.Failed || r.Err == nil || r.Err.Name != "error" {
		t.Errorf("got %v %v, want an error", r.Status, r.Err)
	}
}

// TestErrorsMagic chooses how errors are taken.
func TestErrorsMagic(t *testing.T) {
	once(t)
	n := newNotebook(t)
	n.ok("%errors")
	if got := n.stream("stdout"); !strings.HasPrefix(got, "fail: a cell whose last value is an error fails") {
		t.Errorf("got %q at first", got)
	}
	for _, mode := range []string{"show", "off"} {
		n.ok("%errors "+mode, "strconv.Atoi(\"a\")")
		got := n.results()
		if want := "error: strconv.Atoi: parsing \"a\": invalid syntax"; len(got) == 0 || got[len(got)-1] != want {
			t.Errorf("%s: got %q, want %q", mode, got, want)
		}
	}
	n.ok("%errors fail")
	n.fails(failure{code: "%errors show\n%errors fail\nio.EOF", evalue: "EOF"})
	n.ok("%errors show\n%timeit -n 1 -r 1 strconv.Atoi(\"a\")", "%errors fail")
	if r := n.run("x := 1\n%errors loud"); r.Err == nil || r.Err.Value != `%errors: there is no mode "loud" for errors: use fail, show or off` {
		t.Errorf("got %v", r.Err)
	}
	if r := n.run("x"); r.Err == nil || r.Err.Name != "compile error" {
		t.Errorf("a cell with a wrong magic declared x: got %v", r.Err)
	}
}

// TestMust fails cells with the errors that check and must are given, at the line of the call.
func TestMust(t *testing.T) {
	once(t)
	tests := []failure{
		{"check", "x := 1\ncheck(nil)\ncheck(io.EOF)\nx = 2", "EOF", "error: EOF\n    at cell 1:3\n    3 | check(io.EOF)\n      | ^"},
		{"must", "x := 1\n\ndata := must(os.ReadFile(\"nope\"))\nfmt.Println(data, x)", "open nope: no such file or directory", "error: open nope: no such file or directory (*fs.PathError)\n    at cell 1:3\n    3 | data := must("},
		{"nested", "n := must(strconv.Atoi(\n\tstring(must(io.ReadAll(strings.NewReader(\"a\"))))))\nn", `strconv.Atoi: parsing "a": invalid syntax`, "error: strconv.Atoi: parsing \"a\": invalid syntax (*strconv.NumError)\n    at cell 1:1\n"},
		{"in a function", "func load(name string) []byte {\n\treturn must(os.ReadFile(name))\n}\nload(\"nope\")", "open nope: no such file or directory", "error: open nope: no such file or directory (*fs.PathError)\n    in load (cell 1:2)\n    at cell 1:4\n    2 | \treturn must("},
		{"check in a function", "func f(err error) {\n\tcheck(err)\n}\nf(nil)\nf(io.EOF)", "EOF", "error: EOF\n    in f (cell 1:2)\n    at cell 1:5\n"},
		{"in a method", "type T struct{}\nfunc (T) Load() int {\n\treturn must(strconv.Atoi(\"a\"))\n}\nT{}.Load()", `strconv.Atoi: parsing "a": invalid syntax`, "error: strconv.Atoi: parsing \"a\": invalid syntax (*strconv.NumError)\n    in T.Load (cell 1:3)\n    at cell 1:5\n"},
		{"an error alone", "must(os.Remove(\"nope\"))", "remove nope: no such file or directory", "error: remove nope: no such file or directory (*fs.PathError)\n    at cell 1:1\n"},
		{"of a cell's type", "type E struct{ n int }\nfunc (e E) Error() string { return fmt.Sprint(\"E\", e.n) }\nfunc f() (int, error) { return 1, E{3} }\nmust(f())", "E3", "error: E3 (main.E)\n    at cell 1:4\n"},
		{"in a deferred function", "func f() {\n\tdefer func() { check(io.EOF) }()\n}\nf()", "EOF", "error: EOF\n    in f (cell 1:2)\n    at cell 1:4\n"},
		{"in a library's callback", "slices.SortFunc([]int{2, 1}, func(a, b int) int {\n\tcheck(io.EOF)\n\treturn 0\n})", "EOF", "error: EOF\n    at cell 1:2\n"},
		{"errors shown", "%errors show\ncheck(io.EOF)", "EOF", "error: EOF\n    at cell 1:2\n"},
		{"as a value", "f := check\nf(io.EOF)", "EOF", "error: EOF\n    at cell 1:2\n"},
	}
	for _, tt := range tests {
		for _, mode := range []string{"auto", "interp"} {
			t.Run(tt.name+", "+mode, func(t *testing.T) {
				n := newNotebook(t)
				if err := n.program.SetEngine(mode); err != nil {
					t.Fatal(err)
				}
				n.fails(tt)
				n.ok("1 + 1")
			})
		}
	}
}
