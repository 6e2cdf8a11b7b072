package check

import (
	"runtime"
	"strings"
	"testing"
)

// TestBuildConstraint: a cell that Go would leave out is refused, wherever Go sees a constraint, and runs everywhere else.
func TestBuildConstraint(t *testing.T) {
	const out = "does not hold here"
	here, other := runtime.GOOS, "plan9"
	for _, test := range []struct{ name, code, want string }{ // want: of the error
		{"ignore", "//go:build ignore\n\nx := 1", "cell 2:1:1: //go:build ignore " + out},
		{"without an empty line", "//go:build ignore\nx := 1", out},
		{"above a clause", "//go:build ignore\n\npackage main\nx := 1", out},
		{"below comments", "\n/* a\nb */\n// c\n//go:build ignore\nx := 1", "cell 2:5:1: //go:build ignore"},
		{"indented", "  //go:build ignore\nx := 1", "cell 2:1:3: "},
		{"line of Windows", "//go:build ignore\r\n\r\nx := 1", "//go:build ignore does not hold"},
		{"another system", "//go:build " + other + "\nx := 1", out},
		{"not this system", "//go:build !" + here + "\nx := 1", out},
		{"a version to come", "//go:build go1.99\nx := 1", out},
		{"a tag of nobody", "//go:build integration\nx := 1", out},
		{"both", "//go:build " + here + " && ignore\nx := 1", out},
		{"old", "// +build ignore\n\nx := 1", "cell 2:1:1: // +build ignore " + out},
		{"old, without a space", "//+build ignore\n\nx := 1", out},
		{"one of the old", "// +build " + here + "\n// +build ignore\n\nx := 1", out},
		{"faulty", "//go:build a &&\nx := 1", "parsing //go:build line: unexpected end of expression"},
		{"twice", "//go:build " + here + "\n//go:build " + here + "\nx := 1", "multiple //go:build comments"},
		{"loops of before", "//go:build go1.21\nfor i := range []int{1} { _ = i }", "all turns of a loop share its variables"},
		{"loops of before, in a function", "//go:build go1.18\nfunc f() { for i := 0; i < 3; i++ { } }", "all turns of a loop share its variables"},

		{"this system", "//go:build " + here + " || ignore\nx := 1", ""},
		{"this machine", "//go:build " + runtime.GOARCH + " && gc && !ignore\nx := 1", ""},
		{"a version of before", "//go:build go1.18\nx := 1\nfor x < 3 { x++ }", ""},
		{"this version's loops", "//go:build go1.22\nfor i := range 3 { _ = i }", ""},
		{"the new line counts", "//go:build " + here + "\n// +build ignore\n\nx := 1", ""},
		{"old, right above the code", "// +build ignore\nx := 1", ""},
		{"old, faulty", "// +build a &&\n\nx := 1", "does not hold"},
		{"in a comment", "/*\n//go:build ignore\n*/\nx := 1", ""},
		{"behind a comment", "/* a */ //go:build ignore\nx := 1", ""},
		{"other words", "//go:builder ignore\n// go:build ignore\nx := 1", ""},
		{"behind the clause", "package main\n//go:build ignore\nx := 1", ""},
		{"behind code", "x := 1\n//go:build ignore\ny := 2", ""},
		{"in a text", "x := `\n//go:build ignore\n`", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := session(t).Check("cell 2", test.code)
			switch {
			case test.want == "" && err != nil:
				t.Errorf("got %v, want no error", err)
			case test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)):
				t.Errorf("got %v, want an error with %q", err, test.want)
			}
		})
	}
}
