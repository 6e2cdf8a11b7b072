package eval_test

import (
	"slices"
	"strings"
	"testing"
)

// TestUnreadErrors tells of errors that a cell leaves in variables and does not look at.
func TestUnreadErrors(t *testing.T) {
	once(t)
	note := func(name, text string) string { return "note: " + name + " was set and not looked at: " + text + "\n" }
	nope := "open nope: no such file or directory"
	atoi := `strconv.Atoi: parsing "a": invalid syntax`
	tests := []struct {
		name, code, want string
	}{
		{"set", "data, err := os.ReadFile(\"nope\")", note("err", nope)},
		{"set, and the value used", "data, err := os.ReadFile(\"nope\")\nfmt.Println(len(data))", note("err", nope)},
		{"with escape sequences", "err := errors.New(\"\\x1b[31mred\")", note("err", `\x1b[31mred`)},
		{"nil", "n, err := strconv.Atoi(\"1\")", ""},
		{"alone", "err := os.Remove(\"nope\")", note("err", "remove nope: no such file or directory")},
		{"var", "var n, err = strconv.Atoi(\"a\")", note("err", atoi)},
		{"var with a type", "var err error = os.Remove(\"nope\")", note("err", "remove nope: no such file or directory")},
		{"another name", "n, problem := strconv.Atoi(\"a\")", note("problem", atoi)},
		{"compared", "n, err := strconv.Atoi(\"a\")\nif err != nil { n = 1 }", ""},
		{"passed on", "n, err := strconv.Atoi(\"a\")\nfmt.Println(n, err)", ""},
		{"its text", "n, err := strconv.Atoi(\"a\")\ns := err.Error()", ""},
		{"checked", "n, err := strconv.Atoi(\"1\")\ncheck(err)", ""},
		{"assigned to nothing", "n, err := strconv.Atoi(\"a\")\n_ = err", ""},
		{"the result to nothing", "n, _ := strconv.Atoi(\"a\")", ""},
		{"copied", "n, err := strconv.Atoi(\"a\")\nother := err", note("other", atoi)},
		{"returned by a function", "err := os.Remove(\"nope\")\nf := func() error { return err }", ""},
		{"read by a goroutine", "err := os.Remove(\"nope\")\ndone := make(chan bool)\ngo func() { fmt.Println(err); done <- true }()\n<-done", ""},
		{"read by a function of the cell", "var err = os.Remove(\"nope\")\nfunc f() { fmt.Println(err) }", ""},
		{"read by a deferred call", "var err error\ndefer func() { fmt.Println(err) }()\nerr = os.Remove(\"nope\")", ""},
		{"address taken", "var err error\np := &err\nerr = os.Remove(\"nope\")", ""},
		{"set again", "a, err := strconv.Atoi(\"a\")\nb, err := os.ReadFile(\"nope\")\nfmt.Println(a, len(b), err)", note("err", atoi)},
		{"set again, unread", "a, err := strconv.Atoi(\"a\")\nb, err := strconv.Atoi(\"1\")", note("err", atoi)},
		{"wrapped", "err := os.Remove(\"nope\")\nerr = fmt.Errorf(\"clean up: %w\", err)", note("err", "clean up: remove nope: no such file or directory")},
		{"set in a branch", "var err error\nif len(os.Args) > 0 {\n\terr = os.Remove(\"nope\")\n}", note("err", "remove nope: no such file or directory")},
		{"set in a branch and read behind", "var err error\nif len(os.Args) > 0 {\n\terr = os.Remove(\"nope\")\n}\nfmt.Println(err)", ""},
		{"looked at before a branch that is not taken", "err := os.Remove(\"nope\")\nfmt.Println(err)\nif len(os.Args) > 1000 {\n\terr = nil\n}", ""},
		{"set in a loop", "var err error\nfor _, s := range []string{\"1\", \"a\", \"a\"} {\n\t_, err = strconv.Atoi(s)\n}", note("err", atoi)},
		{"read at the beginning of a loop", "var err error\nfor i := 0; err == nil && i < 3; i++ {\n\terr = os.Remove(\"nope\")\n}", ""},
		{"set in a switch", "var err error\nswitch {\ncase len(os.Args) > 0:\n\terr = os.Remove(\"nope\")\n}", note("err", "remove nope: no such file or directory")},
		{"unused in a block", "for range 2 {\n\tdata, err := os.ReadFile(\"nope\")\n\tfmt.Println(len(data))\n}", note("err", nope)},
		{"unused in front of a condition", "if n, err := strconv.Atoi(\"a\"); n == 0 {\n\tfmt.Println(n)\n}", note("err", atoi)},
		{"unused in a function", "func f() int {\n\tn, err := strconv.Atoi(\"a\")\n\treturn n\n}\nf()", note("err", atoi)},
		{"used in front of a condition", "if _, err := strconv.Atoi(\"a\"); err != nil {\n\tfmt.Println(1)\n}", ""},
		{"last line", "n, err := strconv.Atoi(\"a\")\nn", note("err", atoi)},
		{"shown", "n, err := strconv.Atoi(\"1\")\nn, err", ""},
		{"an error to compare with", "var ErrNone = errors.New(\"none\")\nErrMany := errors.New(\"many\")", ""},
		{"an error that the cell makes", "err := errors.New(\"broken\")", note("err", "broken")},
		{"no error", "err := 3", ""},
		{"a type of its own", "type E struct{}\nfunc (E) Error() string { return \"E!\" }\nfunc f() error { return E{} }\nerr := f()", note("err", "E!")},
		{"with a function of the cell", "func twice(n int) int { return 2 * n }\nn, err := strconv.Atoi(\"a\")\nm := twice(n)", note("err", atoi)},
		{"in front of a magic", "n, err := strconv.Atoi(\"a\")\n!true", note("err", atoi)},
		{"read behind a magic", "n, err := strconv.Atoi(\"a\")\n!true\nfmt.Println(err)", ""},
		{"timed", "%time n, err := strconv.Atoi(\"a\")", note("err", atoi)},
		{"errors shown", "%errors show\nn, err := strconv.Atoi(\"a\")", note("err", atoi)},
		{"errors off", "%errors off\nn, err := strconv.Atoi(\"a\")", ""},
		{"many", "for i := range 20 {\n\terr := fmt.Errorf(\"no %d\", i)\n}", note("err", "no 0") + note("err", "no 1") + note("err", "no 2") + note("err", "no 3") + note("err", "no 4") +
			note("err", "no 5") + note("err", "no 6") + note("err", "no 7") + note("err", "no 8") + "note: more errors were set and not looked at\n"},
	}
	compiled := []string{"set", "var", "compared", "read by a function of the cell", "set again", "wrapped", "set in a branch", "set in a loop", "set in a switch", "shown"}
	for _, tt := range tests {
		for _, mode := range []string{"auto", "native"} {
			if mode == "native" && (!slices.Contains(compiled, tt.name) || tools(t) == nil) {
				continue
			}
			t.Run(tt.name+", "+mode, func(t *testing.T) {
				n := newNotebook(t)
				if err := n.program.SetEngine(mode); err != nil {
					t.Fatal(err)
				}
				n.ok(tt.code)
				if got := n.stream("stderr"); got != tt.want {
					t.Errorf("got %q, want %q", got, tt.want)
				}
			})
		}
	}
}

// TestUnreadErrorOfEarlierVariable is told for a variable of an earlier cell too, unless a function of one reads it.
func TestUnreadErrorOfEarlierVariable(t *testing.T) {
	once(t)
	n := newNotebook(t)
	n.ok("var err error\nvar failed error", "func report() { fmt.Println(failed) }", "err = os.Remove(\"nope\")\nfailed = err", "failed = os.Remove(\"nope\")", "err = os.Remove(\"nope\")")
	if got, want := n.stream("stderr"), "note: err was set and not looked at: remove nope: no such file or directory\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestUnreadErrorReadAcrossCells: what an earlier cell has made may read the variable, so nothing is told.
func TestUnreadErrorReadAcrossCells(t *testing.T) {
	once(t)
	for name, cells := range map[string][]string{
		"a literal": {"var err error\nshow := func() { fmt.Println(err) }", "err = io.EOF\nshow()"},
		"a pointer": {"var err error\np := &err", "err = io.EOF\nfmt.Println(*p)"},
	} {
		t.Run(name, func(t *testing.T) {
			n := newNotebook(t)
			n.ok(cells...)
			if got := n.stream("stderr"); got != "" {
				t.Errorf("got %q, want no note", got)
			}
		})
	}
}

// TestUnreadErrorBeforePanic is told though the cell fails because of it.
func TestUnreadErrorBeforePanic(t *testing.T) {
	once(t)
	n := newNotebook(t)
	r := n.run("f, err := os.Open(\"nope\")\nf.Name()[0]")
	if r.Err == nil || !strings.HasPrefix(n.stream("stderr"), "note: err was set and not looked at: open nope") {
		t.Errorf("got %v and %q", r.Err, n.stream("stderr"))
	}
}
