package main

import (
	"strings"
	"testing"
)

func TestCellsOf(t *testing.T) {
	for _, test := range []struct {
		name, source string
		declarations string // of these lines
		statements   string
	}{
		{"main is taken out", "package main\n\nvar x = 1\n\n// main runs.\nfunc main() {\n\tprintln(x)\n}\n\nfunc f() {}\n",
			"package main\nvar x = 1\nfunc f() {}", "println(x)"},
		{"a variable of main that hides one of the program", "package main\nvar x = 1\nfunc main() { x := x + 1; { x := 3; _ = x }; println(x) }\n",
			"package main\nvar x = 1", "xOfMain := x + 1; { x := 3; _ = x }; println(xOfMain)"},
		{"one that hides a package", "package main\nimport \"os\"\nfunc main() { _ = os.Args; os := 1; println(os) }\n",
			"package main\nimport \"os\"", "_ = os.Args; osOfMain := 1; println(osOfMain)"},
		{"a field of that name stays", "package main\nvar x int\nfunc main() { x := struct{ x int }{x: 2}; println(x.x) }\n",
			"package main\nvar x int", "xOfMain := struct{ x int }{x: 2}; println(xOfMain.x)"},
		{"a type that hides one of the program", "package main\ntype T int\nfunc main() { type T string; println(T(\"a\")) }\n",
			"package main\ntype T int", "{\ntype T string; println(T(\"a\"))\n}"},
		{"nothing is hidden", "package main\nfunc f() { x := 1; _ = x }\nfunc main() { x := 2; println(x) }\n",
			"package main\nfunc f() { x := 1; _ = x }", "x := 2; println(x)"},
	} {
		t.Run(test.name, func(t *testing.T) {
			cells, err := cellsOf(test.source, split)
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(lines(cells[0]), "\n"); got != test.declarations {
				t.Errorf("declarations: got %q, want %q", got, test.declarations)
			}
			if got := strings.Join(lines(cells[1]), "\n"); got != test.statements {
				t.Errorf("statements: got %q, want %q", got, test.statements)
			}
		})
	}
}

// lines are those of a text that are not empty, without the space around them.
func lines(text string) (out []string) {
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			out = append(out, line)
		}
	}
	return out
}

func TestWithSentinel(t *testing.T) {
	for _, source := range []string{
		"package main\nfunc main() {}\n",
		"package main\nfunc main() { goto L; L: }\n",
		"package main\nfunc main() {\n\tprint() // last\n}\nfunc f() {}\n",
	} {
		got, err := withSentinel(source)
		if err != nil {
			t.Fatal(err)
		}
		_, file, err := parseProgram(got)
		if err != nil {
			t.Fatalf("%q: %v", got, err)
		}
		body := got[mainOf(file).Body.Pos()-1 : mainOf(file).Body.End()-1]
		if !strings.HasSuffix(strings.TrimRight(body, "}\n"), `println("`+sentinel+`")`) {
			t.Errorf("main does not end with the sentinel: %q", body)
		}
	}
	if _, err := withSentinel("package main\n"); err == nil {
		t.Error("a program without main: got no error")
	}
}

func TestMutants(t *testing.T) {
	source := `package main

func main() {
	x := 1
	if x != 1 {
		panic("x")
	}
	if x > 5 {
		x = 2
	}
	if f := func() { panic("no") }; f == nil || x == 0 {
		println("bad")
	} else if x == 3 {
		func() { panic("not itself") }()
	}
}
`
	got := mutants(source, 1)
	if len(got) != 2 {
		t.Fatalf("got %d mutants, want 2", len(got))
	}
	seen := map[string]bool{}
	for _, m := range got {
		if _, _, err := parseProgram(m); err != nil {
			t.Errorf("%q: %v", m, err)
		}
		for _, inverted := range []string{`if !(x != 1) {`, `f == nil || x == 0) {`} {
			if strings.Contains(m, inverted) && len(m) == len(source)+len("!()") {
				seen[inverted] = true
			}
		}
	}
	for _, unsettled := range []string{"\nfunc f() { go f() }\n", "\nimport \"math/rand\"\n"} {
		if got := mutants(strings.Replace(source, "\nfunc", unsettled+"\nfunc", 1), 1); got != nil {
			t.Errorf("with %q: got %d mutants, want none", unsettled, len(got))
		}
	}
	if len(seen) != 2 {
		t.Errorf("inverted: got %v, want both checks", seen)
	}
}

func TestSentinelWithoutPrintln(t *testing.T) {
	got, err := withSentinel("package main\n\nimport \"fmt\"\n\nfunc main() {\n\tprintln := fmt.Println\n\tprintln(1)\n}\n")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(got, "package main\nimport sentinelOS \"os\"\n") || !strings.Contains(got, `sentinelOS.Stderr.WriteString("`+sentinel) {
		t.Errorf("got %s", got)
	}
	if _, _, err := parseProgram(got); err != nil {
		t.Error(err)
	}
}
