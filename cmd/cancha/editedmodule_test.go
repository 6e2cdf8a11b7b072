//go:build !windows

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestLocalModules: a module of one's own is taken from its folder with what it replaces, says when it has been edited, and is had as it is
// now, while the variables stay. Its path needs no host, and it can use cgo.
func TestLocalModules(t *testing.T) {
	program := os.Getenv(programVariable)
	if program == "" {
		t.Skip("modules need a program whose engine compiles cells: ", programVariable, " names one")
	}
	dir := t.TempDir()
	for name, text := range map[string]string{
		"ed/go.mod":       "module ed\n\ngo 1.24\n\nrequire example.com/dep v0.0.0\n\nreplace example.com/dep => ../dep\n",
		"ed/ed.go":        "package ed\n\nimport \"example.com/dep\"\n\ntype T struct{ X int }\n\nfunc (T) Say() string { return \"first\" }\n\nfunc V() string { return dep.V() }\n",
		"ed/half/half.go": "package half\n\n// int half(int n) { return n / 2; }\nimport \"C\"\n\nfunc Of(n int) int { return int(C.half(C.int(n))) }\n",
		"dep/go.mod":      "module example.com/dep\n",
		"dep/dep.go":      "package dep\n\nfunc V() string { return \"one\" }\n",
	} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700); err != nil {
			t.Fatal(err)
		}
		writeFile(t, dir, name, text)
	}
	write(t, filepath.Join(dir, "n.ipynb"),
		"%get ./ed",
		"import (\n\t\"ed\"\n\t\"ed/half\"\n)\nx, n := ed.T{4}, 42\nfmt.Println(\"A\", ed.V(), x.Say(), half.Of(n))\nfunc before() string { return ed.V() }",
		"must(0, os.WriteFile(\"dep/dep.go\", []byte(\"package dep\\n\\nfunc V() string { return \\\"two\\\" }\\n\"), 0o600))\nmust(0, exec.Command(\"sed\", \"-i\", \"s/first/second/\", \"ed/ed.go\").Run())",
		"fmt.Println(\"B\", ed.V(), x.Say(), n)",
		"%get ./ed",
		"fmt.Println(\"C\", ed.V(), x.Say(), n, ed.T{5}.Say(), before(), half.Of(n))\nvar again any = x\n_, same := again.(ed.T)\nfmt.Println(\"D\", same)",
		"func before() string { return ed.V() }\nfmt.Println(\"E\", before(), ed.T(x).Say())",
	)
	c := cancha(t, dir, "run", "-o", "out.ipynb", "n.ipynb")
	c.Path, c.Env = program, append(c.Env, engineVariable+"=")
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	text, err := os.ReadFile(filepath.Join(dir, "out.ipynb"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`A one first 21\n`, `B one first 42\n`, `C two first 42 second one 21\n`, `D false\n`, `E two second\n`,
		`note: example.com/dep has been edited in `, `note: ed has been edited in `, `these have types of what it was: x\n`,
	} {
		if !strings.Contains(string(text), want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}
