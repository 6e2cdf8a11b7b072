package kerneltest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cancha/kernel/client"
)

// TestInitialisation: a package of a module that does not come to the end of its initialisation ends the cell that is the first to import it,
// with what has happened. The session lives, other packages can be used, and that one is refused until there is another process.
func TestInitialisation(t *testing.T) {
	program := os.Getenv(programVariable)
	if program == "" {
		t.Skip("modules need a program whose engine compiles cells: ", programVariable, " names one")
	}
	for _, tt := range []struct{ name, code, want string }{
		{"os.Exit in init", "import \"os\"\n\nfunc init() { os.Exit(3) }\n", "exit status 3"},
		{"os.Exit in a variable", "import \"os\"\n\nvar X = func() int { os.Exit(4); return 1 }()\n", "exit status 4"},
		{"log.Fatal in init", "import \"log\"\n\nfunc init() { log.Fatal(\"no\") }\n", "exit status 1"},
		{"os.Exit in a goroutine of init", "import \"os\"\n\nfunc init() { go os.Exit(5); select {} }\n", "exit status 5"},
		{"runtime.Goexit in init", "import \"runtime\"\n\nfunc init() { runtime.Goexit() }\n", "runtime.Goexit"},
		{"a panic in init", "func init() { panic(\"boom\") }\n", "panic: boom"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			for name, text := range map[string]string{
				"good/go.mod":  "module good\n\ngo 1.24\n",
				"good/good.go": "package good\n\nfunc V() string { return \"good\" }\n",
				"bad/go.mod":   "module bad\n\ngo 1.24\n",
				"bad/bad.go":   "package bad\n\n" + tt.code + "\nfunc V() string { return \"bad\" }\n",
				"bad/on/on.go": "package on\n\nimport \"bad\"\n\nfunc V() string { return bad.V() }\n",
			} {
				path := filepath.Join(dir, name)
				if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			target := Target{Config: client.Config{Argv: []string{program, "kernel", "{connection_file}"}}, Samples: goSamples()}
			s := start(t, target, target.Config)
			for _, step := range []struct{ code, want string }{
				{"keep := 41", ""},
				{"%get " + filepath.Join(dir, "good"), ""},
				{"import \"good\"\nfmt.Println(\"A\", good.V())", "A good"},
				{"%get " + filepath.Join(dir, "bad"), ""},
				{"import \"bad/on\"\nfmt.Println(\"B\", on.V())", tt.want},
				{"keep++; fmt.Println(\"C\", keep, good.V())", "C 42 good"},
				{"import \"bad\"\nfmt.Println(\"D\", bad.V())", "bad cannot be imported: the initialisation of bad/on did not come to its end"},
				{"import \"bad/on\"\nfmt.Println(\"D\", on.V())", "bad/on cannot be imported"},
				{"func later() string { return good.V() }\nfmt.Println(\"E\", keep, later())", "E 42 good"},
			} {
				r, ms := s.run(t, step.code)
				got := printed(ms, "stdout")
				if r.Err != nil {
					got = r.Err.Name + " " + r.Err.Value + "\n" + strings.Join(r.Err.Traceback, "\n")
				}
				if !strings.Contains(got, step.want) {
					t.Fatalf("cell\n%s\ngives\n%s\nwant %s", step.code, got, step.want)
				}
			}
		})
	}
}
