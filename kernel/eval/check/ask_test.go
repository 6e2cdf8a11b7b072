package check

import (
	"slices"
	"strings"
	"testing"

	"cancha/kernel/cell"
)

// session returns a scope with some cells and a part of the library.
func session(t *testing.T, cells ...string) *Scope {
	t.Helper()
	s := libraryScope(t)
	for i, code := range cells {
		c, err := s.Check("cell "+string(rune('1'+i)), code)
		if err != nil {
			t.Fatal(err)
		}
		s.Lock()
		s.Commit(c)
		s.Unlock()
	}
	return s
}

// ask splits code at its cursor, written as ‸.
func ask(t *testing.T, code string) (text string, cursor int) {
	t.Helper()
	before, after, ok := strings.Cut(code, "‸")
	if !ok {
		t.Fatalf("no cursor in %q", code)
	}
	return before + after, len([]rune(before))
}

func texts(c cell.Completion) []string {
	var out []string
	for _, m := range c.Matches {
		out = append(out, m.Text)
	}
	return out
}

func TestComplete(t *testing.T) {
	before := []string{
		"type P struct{ Name string; age int }\nfunc (p P) Greet(to string) string { return to }\nfunc (p *P) Grow() {}",
		"type Q struct{ P; Extra []P }",
		"people := []P{{\"Ana\", 1}}\nvar team map[string]*Q",
		"func double(x int) int { return 2 * x }",
	}
	tests := []struct {
		name, code string
		want       []string // exactly these
		has        []string // at least these
		hasNot     []string
		replaced   string
	}{
		{name: "member of a package", code: "fmt.Printl‸", want: []string{"Println"}, replaced: "Printl"},
		{name: "in any case", code: "fmt.printl‸", want: []string{"Println"}, replaced: "printl"},
		{name: "after the dot", code: "strings.‸", has: []string{"Builder", "ToUpper"}, hasNot: []string{"indexFunc"}},
		{name: "after a letter of four bytes", code: "s := \"𝔾𝔾\"; fmt.Printl‸", want: []string{"Println"}, replaced: "Printl"},
		{name: "in the middle of a name", code: "fmt.Pri‸ntln", want: []string{"Print", "Printf", "Println"}, replaced: "Println"},
		{name: "fields and methods", code: "people[0].‸", want: []string{"Name", "age", "Greet", "Grow"}},
		{name: "promoted", code: "team[\"x\"].‸", want: []string{"Extra", "Name", "P", "age", "Greet", "Grow"}},
		{name: "a result", code: "strings.NewReader(\"x\").Read‸", has: []string{"Read", "ReadByte"}},
		{name: "a result of a session's function", code: "x := double(2)\nfmt.Print(x, doub‸", want: []string{"double"}, replaced: "doub"},
		{name: "what every cell knows", code: "x := mus‸", want: []string{"must"}, replaced: "mus"},
		{name: "among its arguments", code: "x := must(strconv.Ato‸", want: []string{"Atoi"}},
		{name: "a member of its value", code: "must(time.LoadLocation(\"UTC\")).Str‸", want: []string{"String"}},
		{name: "a member of a value of several", code: "_, b, _ := must(strings.Cut2()); chec‸", want: []string{"check", "checkpoint"}},
		{name: "in a list at the end", code: "x := 1\nx, fmt.Sprintl‸, 2", want: []string{"Sprintln"}, replaced: "Sprintl"},
		{name: "first in a list at the end", code: "doub‸(1), 2", want: []string{"double"}, replaced: "doub"},
		{name: "last in a list at the end", code: "double(1), doub‸", want: []string{"double"}, replaced: "doub"},
		{name: "a local", code: "for number := range 3 {\n\tfmt.Println(num‸)\n}", want: []string{"number"}},
		{name: "a local of an open block", code: "for number := range 3 {\n\tfmt.Println(num‸", want: []string{"number"}},
		{name: "a local further down", code: "fmt.Println(num‸)\nnumber := 3", want: []string{}},
		{name: "a function further down", code: "fmt.Println(trip‸)\nfunc triple(x int) int { return 3 * x }", want: []string{"triple"}},
		{name: "a parameter's member", code: "func f(q *Q) {\n\tq.Ex‸\n}", want: []string{"Extra"}},
		{name: "in a function literal", code: "slices.SortFunc(people, func(a, b P) int { return cmp.Compare(a.N‸", want: []string{"Name"}},
		{name: "fields of a literal", code: "p := P{Na‸", want: []string{"Name"}, replaced: "Na"},
		{name: "fields of a literal's key", code: "p := P{ag‸: 3}", want: []string{"age"}},
		{name: "in a condition", code: "if people[0].Na‸", want: []string{"Name"}},
		{name: "keyword", code: "fallth‸", want: []string{"fallthrough"}},
		{name: "builtin", code: "x := appe‸", want: []string{"append"}},
		{name: "package not imported yet", code: "string‸", has: []string{"string", "strings"}},
		{name: "import path", code: "import \"str‸\"", want: []string{"strconv", "strings", "structs"}, replaced: "str"},
		{name: "open import path", code: "import (\n\t\"fmt\"\n\t\"str‸", want: []string{"strconv", "strings", "structs"}, replaced: "str"},
		{name: "in a string", code: "x := \"fmt.Pr‸\"", want: []string{}},
		{name: "in an open string", code: "x := \"fmt.Pr‸", want: []string{}},
		{name: "in a comment", code: "// fmt.Pr‸", want: []string{}},
		{name: "in a number", code: "x := 12‸", want: []string{}},
		{name: "after broken code", code: "x := )\nfmt.Pr‸", want: []string{}},
		{name: "unknown package", code: "nope.‸", want: []string{}},
		{name: "nothing", code: "‸", has: []string{"people", "fmt", "for"}},
	}
	s := session(t, append(before, "fmt.Sprint()")...)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			code, cursor := ask(t, tt.code)
			c := s.Complete(code, cursor)
			got := texts(c)
			if tt.want != nil && !slices.Equal(got, tt.want) && len(got)+len(tt.want) > 0 {
				t.Errorf("offered %q, want %q", got, tt.want)
			}
			for _, name := range tt.has {
				if !slices.Contains(got, name) {
					t.Errorf("%q is not offered: %q", name, got)
				}
			}
			for _, name := range tt.hasNot {
				if slices.Contains(got, name) {
					t.Errorf("%q is offered", name)
				}
			}
			if replaced := string([]rune(code)[c.Start:c.End]); tt.replaced != "" && replaced != tt.replaced {
				t.Errorf("replaces %q, want %q", replaced, tt.replaced)
			}
		})
	}
}

func TestCompleteTellsKinds(t *testing.T) {
	s := session(t, "type P struct{ Name string }\nfunc (p P) Greet(to string) string { return to }\nvar p P")
	got := map[string]cell.Match{}
	for _, m := range s.Complete("p.", 2).Matches {
		got[m.Text] = m
	}
	if m := got["Name"]; m.Type != "field" || m.Signature != "string" {
		t.Errorf("Name is offered as %+v", m)
	}
	if m := got["Greet"]; m.Type != "method" || m.Signature != "(to string) string" {
		t.Errorf("Greet is offered as %+v", m)
	}
}

func TestCompleteLeavesTheScopeAlone(t *testing.T) {
	s := session(t, "type P struct{}")
	s.Complete("func (p P) Ghost() {}\nx := 1\np := P{}\np.", 44)
	if names := s.Names(); !slices.Equal(names, []string{"P"}) {
		t.Errorf("the scope knows %q", names)
	}
	if _, err := s.Check("cell 2", "P{}.Ghost()"); err == nil {
		t.Error("a method of code that never ran can be called")
	}
}

func TestInspect(t *testing.T) {
	before := []string{
		"// P is a person.\ntype P struct{ Name string }\n\n// Greet says hello.\nfunc (p P) Greet(to string) string { return \"hello \" + to }",
		"p := P{\"Ana\"}",
	}
	tests := []struct {
		name, code string
		detail     int
		want       []string
	}{
		{"function", "fmt.Println‸", 0, []string{"func fmt.Println(a ...any) (n int, err error)", "doc of fmt.Println"}},
		{"what every cell knows", "che‸ck(err)", 0, []string{"func check(err error)", "unless err is nil"}},
		{"the same of several values", "a, b := must‸(f3())\nfunc f3() (int, int, error) { return 1, 2, nil }", 0, []string{"func must[T any](value T, err error) T", "returns what a call returned"}},
		{"among its own arguments", "must(‸", 0, []string{"func must[T any]("}},
		{"from within its name", "fmt.Pri‸ntln(1)", 0, []string{"func fmt.Println("}},
		{"among its arguments", "fmt.Println(1, ‸", 0, []string{"func fmt.Println("}},
		{"among arguments of arguments", "fmt.Println(double(‸", 0, []string{"func fmt.Println("}},
		{"method", "p.Greet‸", 0, []string{"func (P).Greet(to string) string", "cell 1, line 5", "Greet says hello."}},
		{"source", "p.Greet‸", 1, []string{`return "hello " + to`}},
		{"method of a library type", "strings.Builder.WriteString‸", 0, []string{"WriteString(s string)", "doc of strings.Builder.WriteString"}},
		{"type", "P‸", 0, []string{"type P struct {\n\tName string\n}", "Greet", "P is a person."}},
		{"hidden fields", "strings.Builder‸", 0, []string{"// and unexported fields"}},
		{"interface", "io.Reader‸", 0, []string{"interface {\n\tRead(p []byte) (n int, err error)\n}"}},
		{"variable", "p‸", 0, []string{"var p P", "cell 2, line 1"}},
		{"variable of the same cell", "\nq := 1.5\nq‸", 0, []string{"var q float64", "this cell, line 2"}},
		{"field", "p.Name‸", 0, []string{"field Name string"}},
		{"constant", "math.MaxInt8‸", 0, []string{"const math.MaxInt8 untyped int = 127"}},
		{"package", "strings‸", 0, []string{`package strings // import "strings"`, "doc of strings."}},
		{"builtin", "len‸", 0, []string{"func len(v Type) int", "doc of builtin.len"}},
		{"promoted from an unexported type", "import \"testing\"\nvar r *testing.T\nr.Log‸", 0, []string{"func (*testing.T).Log(args ...any)", "doc of T.Log"}},
		{"generic function", "slices.Max‸", 0, []string{"func slices.Max[S ~[]E, E cmp.Ordered](x S) E"}},
	}
	s := session(t, before...)
	s.Library.Docs = func(path string) map[string]string {
		return map[string]string{"": "doc of " + path + ".", "Println": "doc of fmt.Println", "Builder.WriteString": "doc of strings.Builder.WriteString", "len": "doc of builtin.len", "T.Log": "doc of T.Log"}
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			code, cursor := ask(t, tt.code)
			got := s.Inspect(code, cursor, tt.detail)
			text, _ := got.Data["text/plain"].(string)
			if !got.Found {
				t.Fatal("not found")
			}
			for _, w := range tt.want {
				if !strings.Contains(text, w) {
					t.Errorf("%q is missing in:\n%s", w, text)
				}
			}
			if got.Data["text/markdown"] == nil {
				t.Error("no text/markdown")
			}
		})
	}
	for _, unknown := range []string{"nope‸", "fmt.Nope‸", "\"fmt‸\"", "// fmt‸", "3‸", "‸", ")(‸"} {
		code, cursor := ask(t, unknown)
		if got := s.Inspect(code, cursor, 0); got.Found || len(got.Data) > 0 {
			t.Errorf("%q is found: %v", unknown, got.Data)
		}
	}
}

func TestIsComplete(t *testing.T) {
	tests := []struct{ code, status, indent string }{
		{"1 + 2", "complete", ""},
		{"", "complete", ""},
		{"1, \"a\"", "complete", ""},
		{"x := 1\nx, len(s), // both\n\t3;\n", "complete", ""},
		{"1, len(", "incomplete", "\t"},
		{"1, 2 +", "incomplete", ""},
		{"1, )", "invalid", ""},
		{"1, 2\n3", "invalid", ""},
		{"func double(x int) int {\n\treturn 2 * x\n}", "complete", ""},
		{"import \"fmt\"\nx := 1\nfmt.Println(x)", "complete", ""},
		{"package main\nimport \"fmt\"\nfunc main() {}", "complete", ""},
		{"/* a comment */ x := 1", "complete", ""},
		{"s := `two\nlines`", "complete", ""},
		{"for i := 0; i < 3; i++ {", "incomplete", "\t"},
		{"for {\n\tif true {", "incomplete", "\t\t"},
		{"fmt.Println(1,", "incomplete", "\t"},
		{"s := `open", "incomplete", ""},
		{"/* open", "incomplete", ""},
		{"x :=", "incomplete", ""},
		{"x := 1 +\n", "incomplete", ""},
		{"x := 1 +\n\n  ", "incomplete", ""},
		{"if x", "incomplete", ""},
		{"type T", "incomplete", ""},
		{"import", "incomplete", ""},
		{"import = 7q", "invalid", ""},
		{"x := )", "invalid", ""},
		{"s := \"open", "invalid", ""},
		{"x := = 2\ny := 3", "invalid", ""},
	}
	for _, tt := range tests {
		t.Run(tt.code, func(t *testing.T) {
			got := IsComplete(tt.code)
			if got.Status != tt.status || got.Indent != tt.indent {
				t.Errorf("%q, indent %q; want %q, %q", got.Status, got.Indent, tt.status, tt.indent)
			}
		})
	}
}

func TestUnnamedFieldsOfEarlierCells(t *testing.T) {
	s := session(t, "type P struct{ Name string; age int }\ntype pair[T any] struct{ a, b T }")
	for _, ok := range []string{`P{"Ana", 1}`, `[]P{{"Ana", 1}, {"Bo", 2}}`, `&P{"Ana", 1}`, `map[string]*P{"x": {"Ana", 1}}`, `pair[int]{1, 2}`} {
		if _, err := s.Check("cell 2", ok); err != nil {
			t.Errorf("%s: %v", ok, err)
		}
	}
	for bad, want := range map[string]string{
		`P{"Ana", "one"}`:           "cannot use \"one\"",
		`P{"Ana"}`:                  "too few values",
		`P{"Ana", age: 1}`:          "mixture of field:value and value elements",
		`P{1, nope}`:                "undefined: nope",
		`strings.Reader{"x", 0, 0}`: "unexported field",
	} {
		if _, err := s.Check("cell 2", bad); err == nil || !strings.Contains(strings.Join(err.(*Error).Lines(), "\n"), want) {
			t.Errorf("%s: got %v, want %q", bad, err, want)
		}
	}
}
