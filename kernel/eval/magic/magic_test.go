package magic

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// outline writes a cell's steps one a line: commands with their kinds, Go with blanks squeezed.
func outline(c *Cell) string {
	var b strings.Builder
	kinds := []string{"line", "cell", "shell", "help"}
	if c.Head != nil {
		fmt.Fprintf(&b, "head %s(%s)\n", c.Head.Name, c.Head.Args)
	}
	for _, s := range c.Steps {
		if k := s.Command; k != nil {
			fmt.Fprintf(&b, "%s %s(%s)", kinds[k.Kind], k.Name, k.Args)
			if k.Kind == Help {
				fmt.Fprintf(&b, "%d", k.Detail)
			}
		}
		if s.Go != "" {
			b.WriteString("go: " + strings.Join(strings.Fields(s.Go), " "))
		}
		b.WriteString("\n")
	}
	return b.String()
}

func TestParse(t *testing.T) {
	tests := []struct{ name, code, want string }{
		{"nothing", "", ""},
		{"blank", " \n\t\n", ""},
		{"only Go", "x := 1\nfmt.Println(x % 2)", "go: x := 1 fmt.Println(x % 2)\n"},
		{"line magic", "%pwd", "line pwd()\n"},
		{"arguments", "  %env  A=b c  ", "line env(A=b c)\n"},
		{"between Go", "x := 1\n%who\ny := 2", "go: x := 1\nline who()\ngo: y := 2\n"},
		{"unknown", "%tme f(x)", "line tme(f(x))\n"},
		{"no name", "% 3", "line (3)\n"},
		{"a statement", "%time f(x)\ng()", "line time()go: f(x)\ngo: g()\n"},
		{"a statement over lines", "%time for i := range 3 {\n\tf(i)\n}\ng()", "line time()go: for i := range 3 { f(i) }\ngo: g()\n"},
		{"a call over lines", "%time f(1,\n  2)\n%pwd", "line time()go: f(1, 2)\nline pwd()\n"},
		{"if and else", "%time if a {\n} else {\n\tb()\n}\n\n\nc()", "line time()go: if a { } else { b() }\ngo: c()\n"},
		{"two statements on a line", "%time a(); b()\nc()", "line time()go: a(); b()\ngo: c()\n"},
		{"a semicolon at the end", "%time a();\nc()", "line time()go: a();\ngo: c()\n"},
		{"a comment behind", "%time a() // note\nc()", "line time()go: a() // note\ngo: c()\n"},
		{"no statement", "%time\nc()", "line time()\ngo: c()\n"},
		{"options", "%timeit -n 10 -r3 f(-1)", "line timeit(-n 10 -r3)go: f(-1)\n"},
		{"a minus that is no option", "%timeit -x + y", "line timeit()go: -x + y\n"},
		{"open bracket", "%time f(", "line time()go: f(\n"},
		{"shell", "!ls -l | wc 'it\nx := 1", "shell (ls -l | wc 'it)\ngo: x := 1\n"},
		{"shell over lines", "!echo a \\\n  b\nx := 1", "shell (echo a \\\n  b)\ngo: x := 1\n"},
		{"shell, backslash at the end", "!echo a \\", "shell (echo a \\)\n"},
		{"quotes behind a shell line", "!echo \"`\nx := 1\n!echo `\"", "shell (echo \"`)\ngo: x := 1\nshell (echo `\")\n"},
		{"negation", "ok := a &&\n!b", "go: ok := a && !b\n"},
		{"remainder", "x := (7 *\n%d)", "go: x := (7 * %d)\n"},
		{"in a raw string", "s := `\n%pwd\n!ls\n?x`", "go: s := ` %pwd !ls ?x`\n"},
		{"in a comment", "/*\n%pwd\n*/ x := 1", "go: /* %pwd */ x := 1\n"},
		{"in a block", "for {\n%pwd\n}", "go: for { %pwd }\n"},
		{"behind a semicolon", "x := 1; %pwd", "go: x := 1; %pwd\n"},
		{"behind a comment", "/* a */ %pwd", "go: /* a */ %pwd\n"},
		{"behind a block", "if a {\n}\n%pwd", "go: if a { }\nline pwd()\n"},
		{"behind a raw string", "s := `\n`\n%pwd", "go: s := ` `\nline pwd()\n"},
		{"windows line ends", "x := 1\r\n%who\r\ny := 2\r\n", "go: x := 1\nline who()\ngo: y := 2\n"},
		{"help", "?fmt.Println", "help fmt.Println()0\n"},
		{"help behind", "x := 1\nx??", "go: x := 1\nhelp x()1\n"},
		{"help about a magic", "%time?", "help %time()0\n"},
		{"help about a cell magic", "?%%time", "help %%time()0\n"},
		{"help about a cell magic, behind", "%%time?", "help %%time()0\n"},
		{"help in a cell with a raw string", "s := `?x`\n?s", "go: s := `?x`\nhelp s()0\n"},
		{"no help", "x := `\ny?`", "go: x := ` y?`\n"},
		{"cell magic", "%%time\nf()\n%pwd", "head time()\ngo: f()\nline pwd()\n"},
		{"cell magic behind blank lines", "\n\n%%time\nf()", "head time()\ngo: f()\n"},
		{"cell magic without Go", "%%writefile -a a.go\nfor {\n%pwd", "head writefile(-a a.go)\n"},
		{"unknown cell magic", "%%perl -w\nprint `", "head perl(-w)\n"},
		{"cell magic further down", "f()\n%%time\ng()", "go: f()\ncell time()\ngo: g()\n"},
		{"line magic as a cell magic", "%%pwd\nf()", "head pwd()\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := Parse(tt.code)
			if got := outline(c); got != tt.want {
				t.Errorf("got\n%swant\n%s", got, tt.want)
			}
			holds(t, c)
		})
	}
}

// holds checks what is true of every cell: Go stands where it was, and each byte of it belongs to one step.
func holds(t *testing.T, c *Cell) {
	t.Helper()
	var steps []string
	for _, s := range c.Steps {
		if s.Go != "" {
			steps = append(steps, s.Go)
		}
		if k := s.Command; k != nil && (k.Start < 0 || k.End < k.Start || k.End > len(c.Source) || k.ArgsStart < k.Start || k.ArgsStart > len(c.Source)) {
			t.Errorf("%+v lies outside of %q", k, c.Source)
		}
	}
	for _, text := range append(steps, c.Go) {
		if len(text) != len(c.Source) {
			t.Fatalf("%d bytes of Go for %d bytes of cell", len(text), len(c.Source))
		}
	}
	for i := range len(c.Source) {
		b := c.Go[i]
		if b != c.Source[i] && b != ' ' || c.Source[i] == '\n' && b != '\n' {
			t.Fatalf("byte %d is %q, the cell's is %q", i, b, c.Source[i])
		}
		owners := 0
		for _, s := range steps {
			if s[i] != ' ' && s[i] != '\n' {
				owners++
			}
		}
		if blank := strings.IndexByte(" \n", b) >= 0; !blank && owners != 1 && strings.TrimSpace(string(b)) != "" && b < 0x80 || blank && owners > 0 {
			t.Fatalf("byte %d, %q, belongs to %d steps of %q", i, b, owners, c.Source)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, code := range []string{
		"x := 1\n%time f(`\n`)\n!ls \"\ny?", "%%timeit -n 3\nx", "%timeit -r2 for {\n}\n%pwd", "/*\n%a*/\n?%b", "!a\\\n\\\nb", "%time }\n)\n%who", "a;\n;%b\n'\n%c",
		"\ufeff%a\x00\n%time \"", "%time a /*\n*/ + b\n%pwd",
	} {
		f.Add(code)
	}
	f.Fuzz(func(t *testing.T, code string) {
		c := Parse(code)
		holds(t, c)
		for i := range len(code) + 1 {
			c.At(i)
		}
	})
}

func TestNear(t *testing.T) {
	for name, want := range map[string][]string{
		"tme": {"%time"}, "timit": {"%time", "%timeit"}, "WHO": {"%who", "%whos"}, "writefil": {"%%writefile"}, "zzzzzz": nil, "": nil, "x": nil, "pwdd": {"%pwd"},
	} {
		if got := Near(name); !slices.Equal(got, want) {
			t.Errorf("%s: got %v, want %v", name, got, want)
		}
	}
}

func TestAll(t *testing.T) {
	if !slices.IsSortedFunc(All(), func(a, b Spec) int { return strings.Compare(a.Name, b.Name) }) {
		t.Error("the magics are not in order")
	}
	for _, s := range All() {
		for _, usage := range strings.Split(s.Usage, "\n") {
			form, _, _ := strings.Cut(usage, " ")
			if !slices.Contains(s.Forms(), form) {
				t.Errorf("%s: usage %q is not one of the forms %v", s.Name, usage, s.Forms())
			}
		}
	}
}

func TestAt(t *testing.T) {
	c := Parse("x := 1\n%time f(x)\n%cd \ny\n%time \n")
	for offset, want := range map[int]string{0: "", 6: "", 7: "time", 9: "time", 12: "time", 13: "", 17: "", 18: "cd", 21: "cd", 22: "cd", 23: "", 25: "time", 30: "time"} {
		got := ""
		if k := c.At(offset); k != nil {
			got = k.Name
		}
		if got != want {
			t.Errorf("offset %d: got %q, want %q", offset, got, want)
		}
	}
}
