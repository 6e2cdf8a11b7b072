package eval_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// embedFolder makes a folder with files and works in it.
func embedFolder(t *testing.T) {
	t.Helper()
	t.Chdir(t.TempDir())
	for name, text := range map[string]string{
		"hello.txt": "file text\n", "raw.bin": "\x00\xff", "static/a.html": "<a>", "static/b/c.html": "<c>",
		"static/.hidden": "h", "static/_draft": "d", "two words.txt": "2w", "inner/go.mod": "module inner\n", "inner/x.txt": "x", "empty/.keep": "",
	} {
		if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("hello.txt", "link.txt"); err != nil {
		t.Fatal(err)
	}
}

const listFS = `
func list(f embed.FS) string {
	var names []string
	check(fs.WalkDir(f, ".", func(name string, d fs.DirEntry, err error) error {
		if !d.IsDir() {
			names = append(names, name)
		}
		return err
	}))
	return strings.Join(names, " ")
}
`

// TestEmbed: a variable under go:embed holds what it holds in a program.
func TestEmbed(t *testing.T) {
	longCompiled(t)
	embedFolder(t)
	for _, test := range []struct{ name, code, want string }{
		{"string", "import _ \"embed\"\n//go:embed hello.txt\nvar hello string\nfmt.Printf(\"%q\\n\", hello)", `"file text\n"`},
		{"bytes", "import _ \"embed\"\n\n//go:embed raw.bin\n// a comment between\n\nvar raw []byte\nfmt.Println(raw)", "[0 255]"},
		{"own types", "type text string\ntype octets []byte\n//go:embed hello.txt\nvar a text\n//go:embed raw.bin\nvar b octets\nfmt.Printf(\"%T %q %T %v\\n\", a, a, b, b)", `main.text "file text\n" main.octets [0 255]`},
		{"group", "var (\n\tplain = 1\n\t//go:embed hello.txt\n\ta string\n\tother string\n\t//go:embed raw.bin\n\tb []byte // behind it\n)\nfmt.Printf(\"%d %q %q %v\\n\", plain, a, other, b)", `1 "file text\n" "" [0 255]`},
		{"folder", "import \"embed\"\n//go:embed static\nvar files embed.FS\n" + listFS + "fmt.Println(list(files))", "static/a.html static/b/c.html"},
		{"all of a folder", "import \"embed\"\n//go:embed all:static\nvar files embed.FS\n" + listFS + "fmt.Println(list(files))", "static/.hidden static/_draft static/a.html static/b/c.html"},
		{"patterns", "import \"embed\"\n//go:embed static/*.html \"two words.txt\"\n//go:embed `hello.txt` static/b\nvar files embed.FS\n" + listFS + "fmt.Println(list(files), string(must(files.ReadFile(\"two words.txt\"))))", "hello.txt static/a.html static/b/c.html two words.txt 2w"},
		{"under another name", "import e \"embed\"\n//go:embed hello.txt\nvar f e.FS\nfmt.Println(len(must(f.ReadDir(\".\"))))", "1"},
		{"with a dot", "import . \"embed\"\n//go:embed hello.txt\nvar f FS\nfmt.Println(len(must(f.ReadDir(\".\"))))", "1"},
		{"program", "package main\n\nimport (\n\t\"embed\"\n\t\"fmt\"\n)\n\n//go:embed hello.txt\nvar hello string\n\n//go:embed static\nvar files embed.FS\n\nvar size = len(hello)\n\nfunc main() {\n\tfmt.Println(size, hello == text(), len(must(files.ReadDir(\"static\"))))\n}\n\nfunc text() string { return hello }", "10 true 2"},
		{"windows line ends", "import _ \"embed\"\r\n//go:embed hello.txt\r\nvar hello string\r\nfmt.Printf(\"%q\\n\", hello)", `"file text\n"`},
		{"in quotes no directive", "s := `\n//go:embed nothing\nvar x string`\nfmt.Println(len(s))", "32"},
	} {
		t.Run(test.name, func(t *testing.T) {
			n := newNotebook(t)
			n.ok(test.code)
			if tools(t) != nil { // all of it compiled
				n = newNotebook(t)
				n.ok("%engine native", test.code)
			}
			got := strings.TrimPrefix(n.stream("stdout"), "native: cells are compiled, as asked for\n")
			if got = strings.TrimSuffix(got, "\n"); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

// TestEmbedAgain: a cell that is run again takes the file as it is then, from the folder that cells work in then.
func TestEmbedAgain(t *testing.T) {
	embedFolder(t)
	n := newNotebook(t)
	cell := "import _ \"embed\"\n//go:embed hello.txt\nvar hello string"
	n.ok("func show() { fmt.Print(hello) }\nvar hello string", cell, "show()")
	if err := os.WriteFile("hello.txt", []byte("changed\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	n.ok("show()", cell, "show()")
	if err := os.WriteFile("static/hello.txt", []byte("below\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	n.ok("%cd static\n"+cell+"\nshow()", "!printf made > hello.txt\n"+cell+"\nshow()")
	if got, want := n.stream("stdout"), "file text\nfile text\nchanged\n"; !strings.HasPrefix(got, want) || !strings.HasSuffix(got, "below\nmade") {
		t.Errorf("got %q, want %q and the files below", got, want)
	}
}

// TestDirectivesRefused: what cannot be done is no silent zero.
func TestDirectivesRefused(t *testing.T) {
	once(t)
	embedFolder(t)
	n := newNotebook(t)
	for _, test := range []struct{ name, code, want string }{
		{"no file", "//go:embed missing.txt\nvar s string", "cell 1:1:1: pattern missing.txt: no matching files found"},
		{"no argument", "\n//go:embed\nvar s string", "2:1: usage: //go:embed pattern..."},
		{"bad pattern", "//go:embed [\nvar s string", "pattern [: invalid pattern syntax"},
		{"outside", "//go:embed ../x\nvar s string", "pattern ../x: invalid pattern syntax"},
		{"absolute", "//go:embed /etc/passwd\nvar s string", "invalid pattern syntax"},
		{"open quote", "//go:embed \"hello.txt\nvar s string", "invalid quoted string"},
		{"link", "//go:embed link.txt\nvar s string", "cannot embed irregular file link.txt"},
		{"other module", "import \"embed\"\n//go:embed inner\nvar f embed.FS", "cannot embed directory inner: in different module"},
		{"hidden alone", "import \"embed\"\n//go:embed empty\nvar f embed.FS", "cannot embed directory empty: contains no embeddable files"},
		{"two files", "//go:embed hello.txt raw.bin\nvar s string", "invalid go:embed: multiple files for type string"},
		{"folder in a string", "//go:embed static\nvar s string", "invalid go:embed: multiple files for type string"},
		{"two variables", "//go:embed hello.txt\nvar a, b string", "go:embed cannot apply to multiple vars"},
		{"initial value", "//go:embed hello.txt\nvar a string = \"\"", "go:embed cannot apply to var with initializer"},
		{"no type", "//go:embed hello.txt\nvar a = \"\"", "go:embed cannot apply to var with initializer"},
		{"int", "//go:embed hello.txt\nvar a int", "cell 1:1:1: go:embed cannot apply to var of type int"},
		{"runes", "//go:embed hello.txt\nvar a []rune", "go:embed cannot apply to var of type []rune"},
		{"any", "//go:embed hello.txt\nvar a any", "go:embed cannot apply to var of type any"},
		{"alias of FS", "import \"embed\"\ntype F = embed.FS\n//go:embed hello.txt\nvar a F", "go:embed needs the name embed.FS itself"},
		{"unknown type", "//go:embed hello.txt\nvar a nothing", "undefined: nothing"},
		{"function", "//go:embed hello.txt\nfunc f() {}", "misplaced go:embed directive"},
		{"short variable", "//go:embed hello.txt\ns := \"\"", "misplaced go:embed directive"},
		{"group as a whole", "//go:embed hello.txt\nvar (\n\ts string\n)", "misplaced go:embed directive"},
		{"in a function", "func f() {\n\t//go:embed hello.txt\n\tvar s string\n\t_ = s\n}", "2:2: misplaced go:embed directive"},
		{"in a block", "{\n\t//go:embed hello.txt\n\tvar s string\n\t_ = s\n}", "misplaced go:embed directive"},
		{"at the end", "x := 1\n//go:embed hello.txt", "misplaced go:embed directive"},
		{"linkname", "import _ \"unsafe\"\n//go:linkname now runtime.nanotime\nvar now int64", "a cell cannot have //go:linkname"},
		{"debug", "//go:debug panicnil=1\npackage main", "a cell cannot have //go:debug: it is for a whole program: %env GODEBUG"},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := n.run(test.code)
			if r.Err == nil || !strings.Contains(strings.Join(r.Err.Traceback, "\n"), strings.TrimPrefix(test.want, "cell 1:")) {
				t.Errorf("got %+v, want %q", r.Err, test.want)
			}
			if r.Err != nil && strings.Contains(strings.Join(r.Err.Traceback, "\n"), "ᐧ") {
				t.Errorf("the error shows what was added: %q", r.Err.Traceback)
			}
		})
	}
	n.ok("fmt.Println(\"alive\")")
}
