package workspace

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// tree writes files below a new folder.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		if err := put(filepath.Join(dir, name), text); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// secret is a module that no proxy has.
const secret = "package secret\n\nimport _ \"embed\"\n\n//go:embed data/text\nvar text string\n\nfunc F() string { return text }\n"

// TestLocal: a module in a folder is compiled as "go build" there does it, with the packages of others that count there. Each case says
// which function of which file comes into it: what is compiled in its place lacks that, so that using it fails.
func TestLocal(t *testing.T) {
	for _, c := range []struct {
		name  string
		files map[string]string
	}{
		{"replaced by a folder", map[string]string{
			"m/go.mod":   "module example.com/m\n\ngo 1.20\n\nrequire example.com/secret v0.0.0\n\nreplace example.com/secret => ../s\n",
			"m/m.go":     "package m\n\nimport \"example.com/secret\"\n\nvar V = secret.F\n",
			"s/go.mod":   "module example.com/secret\n",
			"s/s.go":     "package secret\n\nfunc F() {}\n",
			"s/m/bad.go": "package nobody asked for",
		}},
		{"one version replaced by a folder", map[string]string{
			"m/go.mod": "module example.com/m\n\ngo 1.20\n\nrequire example.com/low v1.0.0\n\nreplace (\n\texample.com/low v1.0.0 => ../s\n\texample.com/low v1.1.0 => ./none\n)\n",
			"m/m.go":   "package m\n\nimport \"example.com/low\"\n\nvar V = low.F\n",
			"s/go.mod": "module example.com/low\n",
			"s/s.go":   "package low\n\nfunc F() {}\n",
		}},
		{"replaced by another version", map[string]string{
			"m/go.mod": "module example.com/m\n\ngo 1.20\n\nrequire example.com/low v1.0.0\n\nreplace example.com/low => example.com/low v1.1.0\n",
			"m/m.go":   "package m\n\nimport \"example.com/low\"\n\nconst V = low.V\n",
		}},
		{"replaced by another module", map[string]string{
			"m/go.mod": "module example.com/m\n\ngo 1.20\n\nrequire example.com/gone v1.0.0\n\nreplace example.com/gone => example.com/low v1.1.0\n",
			"m/m.go":   "package m\n\nimport \"example.com/gone\"\n\nconst V = low.V\n",
		}},
		{"what is replaced needs what is replaced", map[string]string{
			"m/go.mod":   "module example.com/m\n\ngo 1.20\n\nrequire (\n\texample.com/a v0.1.0\n\texample.com/b v0.1.0\n)\n\nreplace (\n\texample.com/a => ./a\n\texample.com/b => ./b\n)\n",
			"m/m.go":     "package m\n\nimport \"example.com/a\"\n\nvar V = a.F\n",
			"m/a/go.mod": "module example.com/a\n\nrequire example.com/b v0.1.0\n",
			"m/a/a.go":   "package a\n\nimport \"example.com/b\"\n\nvar F = b.F\n",
			"m/b/go.mod": "module example.com/b\n",
			"m/b/b.go":   "package b\n\nfunc F() {}\n",
		}},
		{"go.work", map[string]string{
			"go.work":  "go 1.20\n\nuse (\n\t./m\n\t./s\n)\n",
			"m/go.mod": "module example.com/m\n\ngo 1.20\n\nrequire example.com/secret v1.4.0\n",
			"m/m.go":   "package m\n\nimport \"example.com/secret\"\n\nvar V = secret.F\n",
			"s/go.mod": "module example.com/secret\n",
			"s/s.go":   "package secret\n\nfunc F() {}\n",
		}},
		{"go.work with a module that nothing requires", map[string]string{
			"go.work":     "go 1.20\n\nuse ./m\nuse ./s\n",
			"m/go.mod":    "module example.com/m\n\ngo 1.20\n",
			"m/m.go":      "package m\n\nimport \"example.com/secret/deep\"\n\nvar V = deep.F\n",
			"s/go.mod":    "module example.com/secret\n",
			"s/deep/s.go": "package deep\n\nfunc F() {}\n",
		}},
		{"go.work decides what its modules replace", map[string]string{
			"go.work":  "go 1.20\n\nuse (\n\t./m\n\t./o\n)\n\nreplace example.com/secret => ./s\n",
			"m/go.mod": "module example.com/m\n\ngo 1.20\n\nrequire example.com/secret v0.0.0\n\nreplace example.com/secret => ./none\n",
			"m/m.go":   "package m\n\nimport \"example.com/secret\"\n\nvar V = secret.F\n",
			"o/go.mod": "module example.com/o\n\nreplace example.com/secret => ./neither\n",
			"s/go.mod": "module example.com/secret\n",
			"s/s.go":   "package secret\n\nfunc F() {}\n",
		}},
		{"a go.work that does not use it", map[string]string{
			"go.work":  "go 1.20\n\nuse ./o\n",
			"o/go.mod": "module example.com/low\n",
			"m/go.mod": "module example.com/m\n\ngo 1.20\n\nrequire example.com/low v1.1.0\n",
			"m/m.go":   "package m\n\nimport \"example.com/low\"\n\nconst V = low.V\n",
		}},
		{"vendored", map[string]string{
			"m/go.mod":                                 "module example.com/m\n\ngo 1.20\n\nrequire example.com/secret v1.2.3\n\nrequire example.com/secret/inner v1.0.0 // indirect\n",
			"m/m.go":                                   "package m\n\nimport \"example.com/secret\"\n\nvar V = secret.F\n",
			"m/vendor/modules.txt":                     "# example.com/secret v1.2.3\n## explicit; go 1.20\nexample.com/secret\n# example.com/secret/inner v1.0.0\n## explicit; go 1.20\nexample.com/secret/inner/p\n",
			"m/vendor/example.com/secret/s.go":         strings.Replace(secret, "import", "import _ \"example.com/secret/inner/p\"\nimport", 1),
			"m/vendor/example.com/secret/data/text":    "t",
			"m/vendor/example.com/secret/inner/p/p.go": "package p\n",
		}},
		{"vendored, of a module that names no indirect ones", map[string]string{
			"m/go.mod":                         "module example.com/m\n\ngo 1.15\n\nrequire example.com/secret v1.2.3\n",
			"m/m.go":                           "package m\n\nimport \"example.com/secret\"\n\nvar V = secret.F\n",
			"m/vendor/modules.txt":             "# example.com/secret v1.2.3\n## explicit\nexample.com/secret\n# example.com/other v1.0.0\nexample.com/other\n",
			"m/vendor/example.com/secret/s.go": "package secret\n\nimport \"example.com/other\"\n\nvar F = other.F\n",
			"m/vendor/example.com/other/s.go":  "package other\n\nfunc F() {}\n",
		}},
		{"vendored and patched", map[string]string{
			"m/go.mod":                      "module example.com/m\n\ngo 1.20\n\nrequire example.com/low v1.0.0\n",
			"m/m.go":                        "package m\n\nimport \"example.com/low\"\n\nvar V = low.Patched\n",
			"m/vendor/modules.txt":          "# example.com/low v1.0.0\n## explicit; go 1.20\nexample.com/low\n",
			"m/vendor/example.com/low/l.go": "package low\n\nvar Patched int\n",
		}},
		{"vendored as the engine has it", map[string]string{
			"m/go.mod":                        "module example.com/m\n\ngo 1.20\n\nrequire example.com/dep v1.0.0\n",
			"m/m.go":                          "package m\n\nimport \"example.com/dep\"\n\nconst V = dep.V\n",
			"m/vendor/modules.txt":            "# example.com/dep v1.0.0\n## explicit; go 1.20\nexample.com/dep\n",
			"m/vendor/example.com/dep/dep.go": modulesOfYard["example.com/dep@v1.0.0"]["dep.go"],
		}},
		{"vendored for a go.work", map[string]string{
			"go.work":                          "go 1.22\n\nuse ./m\n",
			"vendor/modules.txt":               "## workspace\n# example.com/secret v1.2.3\n## explicit; go 1.20\nexample.com/secret\n",
			"vendor/example.com/secret/s.go":   "package secret\n\nfunc F() {}\n",
			"m/go.mod":                         "module example.com/m\n\ngo 1.22\n\nrequire example.com/secret v1.2.3\n",
			"m/m.go":                           "package m\n\nimport \"example.com/secret\"\n\nvar V = secret.F\n",
			"m/vendor/modules.txt":             "# example.com/secret v1.2.3\n## explicit; go 1.20\nexample.com/secret\n",
			"m/vendor/example.com/secret/s.go": "package secret\n\nfunc NotThisOne() {}\n",
		}},
		{"of a second major version", map[string]string{
			"m/go.mod": "module example.com/m/v2\n\ngo 1.20\n\nrequire example.com/secret/v3 v3.0.1\n\nreplace example.com/secret/v3 => ../s\n",
			"m/m.go":   "package m\n\nimport \"example.com/secret/v3\"\n\nvar V = secret.F\n",
			"s/go.mod": "module example.com/secret/v3\n",
			"s/s.go":   "package secret\n\nfunc F() {}\n",
		}},
		{"without a host in its path", map[string]string{
			"m/go.mod": "module mine\n\ngo 1.20\n\nrequire its v0.0.0\n\nreplace its => ../s\n",
			"m/m.go":   "package mine\n\nimport \"its/p\"\n\nvar V = p.F\n",
			"s/go.mod": "module its\n",
			"s/p/s.go": "package p\n\nfunc F() {}\n",
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			y := useYard(t)
			s, start := y.open(t)
			dir := filepath.Join(tree(t, c.files), "m")
			asGoBuilds(t, y, dir)
			path, err := ModulePath(dir)
			if err != nil {
				t.Fatal(err)
			}
			extendTo(t, s, start, Want{Path: path, Dir: dir, Module: true})
		})
	}
}

// asGoBuilds sees to it that a case is one: "go build" in the folder does it.
func asGoBuilds(t *testing.T, y *yard, dir string) {
	t.Helper()
	build := exec.Command("go", "build", "./...")
	build.Dir, build.Env = dir, replace(y.environ, "GOFLAGS=-mod=readonly", "PWD="+dir)
	if work, _, err := readWork(dir, ""); work == nil && err == nil {
		build.Env = replace(build.Env, "GOWORK=off") // one that does not use the module stops go build, too
	}
	if _, err := os.Stat(filepath.Join(dir, "vendor")); err == nil {
		build.Env = replace(build.Env, "GOFLAGS=")
	}
	out, err := build.CombinedOutput()
	if err != nil && !strings.Contains(string(out), "missing go.sum entry") {
		t.Errorf("go build: %v\n%s", err, out)
	}
}

// TestLocalIsReadAgain: what a module replaces is read each time that it is asked for, its folders too.
func TestLocalIsReadAgain(t *testing.T) {
	y := useYard(t)
	s, start := y.open(t)
	dir := tree(t, map[string]string{
		"m/go.mod": "module example.com/m\n\ngo 1.20\n\nrequire example.com/secret v0.0.0\n\nreplace example.com/secret => ../s\n",
		"m/m.go":   "package m\n\nimport \"example.com/secret\"\n\nvar V = secret.F\n",
		"s/go.mod": "module example.com/secret\n",
		"s/s.go":   "package secret\n\nfunc F() {}\n",
		"o/go.mod": "module example.com/secret\n",
		"o/s.go":   "package secret\n\nfunc F() {}\n\nfunc G() {}\n",
	})
	m := Want{Path: "example.com/m", Dir: filepath.Join(dir, "m"), Module: true}
	write := func(name, text string) {
		t.Helper()
		if err := put(filepath.Join(dir, name), text); err != nil {
			t.Fatal(err)
		}
	}
	first := extendTo(t, s, start, m)
	write("s/s.go", "package secret\n\nfunc F() {}\n\nfunc H() {}\n")
	write("m/m.go", "package m\n\nimport \"example.com/secret\"\n\nvar V = secret.H\n")
	second := extendTo(t, s, first, m)
	write("m/go.mod", "module example.com/m\n\ngo 1.20\n\nrequire example.com/secret v0.0.0\n\nreplace example.com/secret v0.0.0 => ../o\n")
	write("m/m.go", "package m\n\nimport \"example.com/secret\"\n\nvar V = secret.G\n")
	third := extendTo(t, s, second, m)
	named := extendTo(t, s, third, Want{Path: "example.com/secret", Dir: filepath.Join(dir, "o"), Module: true})
	if got := named.replaced; len(got) != 0 {
		t.Errorf("what %%get names itself is not replaced by others: got %v", got)
	}
}

// TestLocalRefused: what cannot be had says which file says so.
func TestLocalRefused(t *testing.T) {
	y := useYard(t)
	s, start := y.open(t)
	for _, c := range []struct {
		name  string
		files map[string]string
		err   string
	}{
		{"no such folder", map[string]string{
			"m/go.mod": "module example.com/m\n\ngo 1.20\n\nrequire example.com/secret v0.0.0\n\nreplace example.com/secret => ../none\n",
			"m/m.go":   "package m\n\nimport _ \"example.com/secret\"\n",
		}, "none, which replaces it, does not exist"},
		{"no module in the folder", map[string]string{
			"m/go.mod": "module example.com/m\n\ngo 1.20\n\nrequire example.com/secret v0.0.0\n\nreplace example.com/secret => ../s\n",
			"m/m.go":   "package m\n\nimport _ \"example.com/secret\"\n",
			"s/s.go":   "package secret\n",
		}, "s, which replaces it, holds no Go module"},
		{"a mistake in go.mod", map[string]string{"m/go.mod": "module example.com/m\n\nreplace example.com/secret\n"}, "go.mod:3: "},
		{"a mistake in go.work", map[string]string{"m/go.mod": "module example.com/m\n", "go.work": "go 1.20\nuse\n"}, "go.work:2: "},
		{"go.work uses what is not there", map[string]string{"m/go.mod": "module example.com/m\n", "go.work": "go 1.20\nuse ./m\nuse ./n\n"}, "uses ./n"},
		{"go.work's modules do not agree", map[string]string{
			"go.work":  "go 1.20\n\nuse ./m\nuse ./o\n",
			"m/go.mod": "module example.com/m\n\nreplace example.com/secret => ./a\n",
			"o/go.mod": "module example.com/o\n\nreplace example.com/secret => ./b\n",
		}, "a replace directive in go.work decides that"},
		{"vendored without a package", map[string]string{
			"m/go.mod":                         "module example.com/m\n\ngo 1.20\n\nrequire example.com/secret v1.2.3\n",
			"m/m.go":                           "package m\n\nimport _ \"example.com/secret/more\"\n",
			"m/vendor/modules.txt":             "# example.com/secret v1.2.3\n## explicit; go 1.20\nexample.com/secret\n",
			"m/vendor/example.com/secret/s.go": "package secret\n",
		}, "example.com/secret/more"},
	} {
		dir := filepath.Join(tree(t, c.files), "m")
		_, err := s.Extend(t.Context(), start, Want{Path: "example.com/m", Dir: dir, Module: true}, func(string) {})
		if err == nil || !strings.Contains(err.Error(), c.err) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: got %v, want a line with %q", c.name, err, c.err)
		}
	}
}

// TestLocalDisagree: two modules that replace a third in two ways cannot be had together.
func TestLocalDisagree(t *testing.T) {
	y := useYard(t)
	s, start := y.open(t)
	dir := tree(t, map[string]string{
		"m/go.mod": "module example.com/m\n\ngo 1.20\n\nrequire example.com/low v1.0.0\n\nreplace example.com/low => example.com/low v1.1.0\n",
		"m/m.go":   "package m\n\nimport _ \"example.com/low\"\n",
		"n/go.mod": "module example.com/n\n\ngo 1.20\n\nrequire example.com/low v1.0.0\n\nreplace example.com/low => example.com/low v1.0.0\n",
		"n/n.go":   "package n\n\nimport _ \"example.com/low\"\n",
	})
	m := extendTo(t, s, start, Want{Path: "example.com/m", Dir: filepath.Join(dir, "m"), Module: true})
	n := Want{Path: "example.com/n", Dir: filepath.Join(dir, "n"), Module: true}
	_, err := s.Extend(t.Context(), m, n, func(string) {})
	if want := "example.com/n replaces example.com/low with example.com/low@v1.0.0, and example.com/m replaces it with example.com/low@v1.1.0"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %q", err, want)
	}
	extendTo(t, s, start, n)
}
