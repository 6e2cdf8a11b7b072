package eval_test

import (
	"testing"
)

// TestPrintRemarks: what go vet says of calls that print is a note, in its words and at the line, in either back end. Each row's cells run in
// one session; want is what its error stream gets.
func TestPrintRemarks(t *testing.T) {
	longCompiled(t)
	tests := []struct {
		name  string
		cells []string
		want  string
	}{
		{"nothing to say", []string{"fmt.Printf(\"%d %s %v\\n\", 1, \"a\", nil)\nfmt.Println(\"100%\")\nlog.SetFlags(0)"}, ""},
		{"a verb that does not fit", []string{"x := 1\nfmt.Printf(\"%d\\n\", \"x\")"}, "note: cell 1:2:13: fmt.Printf format %d has arg \"x\" of wrong type string\n"},
		{"an argument too few", []string{"fmt.Printf(\"%d %d\\n\", 1)"}, "note: cell 1:1:16: fmt.Printf format %d reads arg #2, but call has 1 arg\n"},
		{"an argument too many", []string{"fmt.Printf(\"%d\\n\", 1, 2)"}, "note: cell 1:1:1: fmt.Printf call needs 1 arg but has 2 args\n"},
		{"an unknown verb", []string{"fmt.Printf(\"%y\\n\", 1)"}, "note: cell 1:1:13: fmt.Printf format %y has unknown verb y\n"},
		{"a directive for Println", []string{"fmt.Println(\"%d\", 3)"}, "note: cell 1:1:1: fmt.Println call has possible Printf formatting directive %d\n"},
		{"a function not called", []string{"fmt.Println(os.Getpid)"}, "note: cell 1:1:1: fmt.Println arg os.Getpid is a func value, not called\n"},
		{"a format that is no constant", []string{"s := \"a%b\"\nfmt.Printf(s)"}, "note: cell 1:2:12: non-constant format string in call to fmt.Printf\n"},
		{"Sprintf as the value", []string{"fmt.Sprintf(\"%d\", \"x\")"}, "note: cell 1:1:14: fmt.Sprintf format %d has arg \"x\" of wrong type string\n"},
		{"in a list of values", []string{"1, fmt.Sprintf(\"%d\", \"x\")"}, "note: cell 1:1:17: fmt.Sprintf format %d has arg \"x\" of wrong type string\n"},
		{"Errorf", []string{"err := fmt.Errorf(\"%w\", 3)\n_ = err"}, "note: cell 1:1:20: fmt.Errorf format %w has arg 3 of wrong type int\n"},
		{"wrapping elsewhere", []string{"fmt.Println(len(fmt.Sprintf(\"%w\", io.EOF)))"}, "note: cell 1:1:30: fmt.Sprintf does not support error-wrapping directive %w\n"},
		{"a buffer", []string{"var b bytes.Buffer\nn, err := fmt.Fprintf(&b, \"%d\", \"x\")\n_, _ = n, err"}, "note: cell 1:2:28: fmt.Fprintf format %d has arg \"x\" of wrong type string\n"},
		{"log", []string{"log.SetOutput(io.Discard)\nlog.Printf(\"%d\", \"x\")"}, "note: cell 1:2:13: log.Printf format %d has arg \"x\" of wrong type string\n"},
		{"a logger", []string{"l := log.New(io.Discard, \"\", 0)\nl.Println(\"%d\", 1)"}, "note: cell 1:2:1: (*log.Logger).Println call has possible Printf formatting directive %d\n"},
		{"a test", []string{"import \"testing\"\nfunc TestA(t *testing.T) {\n\tt.Errorf(\"%d\", \"x\")\n}"}, "note: cell 1:3:12: (*testing.common).Errorf format %d has arg \"x\" of wrong type string\n"},
		{"in a function", []string{"func f() {\n\tfmt.Printf(\"%d\\n\", \"x\")\n}\nfunc g() {}"}, "note: cell 1:2:14: fmt.Printf format %d has arg \"x\" of wrong type string\n"},
		{"in a literal that nobody calls", []string{"f := func() {\n\tfmt.Printf(\"%d\\n\", \"x\")\n}"}, "note: cell 1:2:14: fmt.Printf format %d has arg \"x\" of wrong type string\n"},
		{"in a method of an earlier type", []string{"type P struct{ X int }", "func (p P) Show() {\n\tfmt.Printf(\"%s\\n\", p.X)\n}"}, "note: cell 2:2:14: fmt.Printf format %s has arg p.X of wrong type int\n"},
		{"in order", []string{"func f() { fmt.Printf(\"%d\", \"x\") }\nfmt.Print()\nfmt.Printf(\"%s\\n\", 2)\nvar n = fmt.Sprintf(\"%t\", 3)"},
			"note: cell 1:1:24: fmt.Printf format %d has arg \"x\" of wrong type string\nnote: cell 1:3:13: fmt.Printf format %s has arg 2 of wrong type int\nnote: cell 1:4:22: fmt.Sprintf format %t has arg 3 of wrong type int\n"},
		{"a type of the cell", []string{"type P struct{ X int }\nfmt.Printf(\"%t\\n\", P{1})"}, "note: cell 1:2:13: fmt.Printf format %t has arg P{1} of wrong type main.P\n"},
		{"a type of an earlier cell", []string{"type P struct{ X int }\np := P{1}", "fmt.Printf(\"%t\\n\", p)"}, "note: cell 2:1:13: fmt.Printf format %t has arg p of wrong type main.P\n"},
		{"an earlier cell's Stringer", []string{"type P struct{ X int }", "func (p P) String() string { return \"P!\" }", "fmt.Printf(\"%s\\n\", P{1})"}, ""},
		{"a wrapper of the cell", []string{"func say(format string, args ...any) { fmt.Printf(format, args...) }\nsay(\"%d\\n\", \"x\")"}, "note: cell 1:2:6: main.say format %d has arg \"x\" of wrong type string\n"},
		{"a wrapper of an earlier cell", []string{"func say(format string, args ...any) { fmt.Printf(format, args...) }", "func loud(format string, args ...any) { say(format, args...) }", "loud(\"%d\\n\", \"x\")"},
			"note: cell 3:1:7: main.loud format %d has arg \"x\" of wrong type string\n"},
		{"a wrapper that is a variable", []string{"say := func(format string, args ...any) { fmt.Printf(format, args...) }", "say(\"%d\\n\", \"x\")"}, "note: cell 2:1:6: say format %d has arg \"x\" of wrong type string\n"},
		{"a wrapper that is a method", []string{"type L struct{}\nfunc (L) Say(format string, args ...any) { fmt.Printf(format, args...) }", "L{}.Say(\"%d\\n\", \"x\")"}, "note: cell 2:1:10: (main.L).Say format %d has arg \"x\" of wrong type string\n"},
		{"a wrapper declared again as none", []string{"func say(format string, args ...any) { fmt.Printf(format, args...) }", "func say(format string, args ...any) {}", "say(\"%d\\n\", \"x\")"}, ""},
		{"a cell that is run again", []string{"fmt.Printf(\"%d\\n\", \"x\")", "fmt.Printf(\"%d\\n\", \"x\")"},
			"note: cell 1:1:13: fmt.Printf format %d has arg \"x\" of wrong type string\nnote: cell 2:1:13: fmt.Printf format %d has arg \"x\" of wrong type string\n"},
		{"behind a magic", []string{"!true\nfmt.Printf(\"%d\\n\", \"x\")"}, "note: cell 1:2:13: fmt.Printf format %d has arg \"x\" of wrong type string\n"},
		{"timed", []string{"%time fmt.Printf(\"%d\\n\", \"x\")"}, "note: cell 1:1:19: fmt.Printf format %d has arg \"x\" of wrong type string\n"},
		{"timed in a loop", []string{"%timeit -n 1 -r 1 fmt.Fprintf(io.Discard, \"%d\\n\", \"x\")"}, "note: cell 1:1:44: fmt.Fprintf format %d has arg \"x\" of wrong type string\n"},
		{"another function of that name", []string{"type F struct{}\nfunc (F) Printf(string, ...any) {}", "fmt := F{}\nfmt.Printf(\"%d\\n\", \"x\")"}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			n := newNotebook(t)
			n.ok(tt.cells...)
			if got := n.stream("stderr"); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}
