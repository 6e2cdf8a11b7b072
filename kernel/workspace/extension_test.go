package workspace

import (
	"archive/zip"
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// yard is a module proxy in a folder, a program of one dependency, and its workspace, built by the Go toolchain of this machine.
type yard struct {
	home    string
	environ []string
	config  Config
	base    string
}

// modulesOfYard are what the proxy has: module@version → its files.
var modulesOfYard = map[string]map[string]string{
	"example.com/dep@v1.0.0": {"go.mod": "module example.com/dep\n\ngo 1.20\n", "dep.go": "package dep\n\nconst V = 1\n"},
	"example.com/dep@v1.1.0": {"go.mod": "module example.com/dep\n\ngo 1.20\n", "dep.go": "package dep\n\nconst V = 2\n"},
	"example.com/many@v1.0.0": {
		"go.mod":           "module example.com/many\n\ngo 1.20\n\nrequire example.com/absent v1.0.0\n",
		"one/one.go":       "package one\n\nimport \"example.com/many/two\"\n\nconst V = two.V\n",
		"two/two.go":       "package two\n\nconst V = 2\n",
		"three/three.go":   "package other\n\nimport _ \"example.com/dep\"\n\nconst V = 3\n",
		"broken/broken.go": "package broken\n\nimport _ \"example.com/absent\"\n",
		"wrong/wrong.go":   "package wrong\n\nvar V int = \"text\"\n",
		"tool/main.go":     "package main\n\nfunc main() {}\n",
		"plan9/x.go":       "//go:build plan9 && never\n\npackage plan9\n",
	},
	"example.com/many@v1.1.0":     {"go.mod": "module example.com/many\n\ngo 1.20\n", "one/one.go": "package one\n\nconst V = 11\n"},
	"example.com/wants@v1.0.0":    {"go.mod": "module example.com/wants\n\ngo 1.20\n\nrequire example.com/dep v1.1.0\n", "w.go": "package wants\n\nimport _ \"example.com/dep\"\n", "free/f.go": "package free\n"},
	"example.com/low@v1.0.0":      {"go.mod": "module example.com/low\n\ngo 1.20\n", "l.go": "package low\n"},
	"example.com/low@v1.1.0":      {"go.mod": "module example.com/low\n\ngo 1.20\n", "l.go": "package low\n\nconst V = 2\n"},
	"example.com/old@v1.0.0":      {"go.mod": "module example.com/old\n\ngo 1.20\n\nrequire example.com/low v1.0.0\n", "o.go": "package old\n\nimport _ \"example.com/low\"\n"},
	"example.com/new@v1.0.0":      {"go.mod": "module example.com/new\n\ngo 1.20\n\nrequire example.com/low v1.1.0\n", "n.go": "package new\n\nimport _ \"example.com/low\"\n"},
	"example.com/tomorrow@v1.0.0": {"go.mod": "module example.com/tomorrow\n\ngo 1.99\n", "t.go": "package tomorrow\n"},
	"example.com/absent@v1.0.0":   {"go.mod": "module example.com/absent\n"}, // without a package
}

var theYard = sync.OnceValues(newYard)

// useYard skips where there is no toolchain: then there are no workspaces either.
func useYard(t *testing.T) *yard {
	t.Helper()
	for _, program := range []string{"go", "gcc"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skip("needs ", program)
		}
	}
	y, err := theYard()
	if err != nil {
		t.Fatal(err)
	}
	return y
}

func newYard() (*yard, error) {
	home, err := os.MkdirTemp("", "yard-")
	if err != nil {
		return nil, err
	}
	yards = append(yards, home)
	y := &yard{home: home}
	for name, files := range modulesOfYard {
		if err := y.publish(name, files); err != nil {
			return nil, err
		}
	}
	y.environ = replace(os.Environ(), "GOPROXY=file://"+filepath.Join(home, "proxy"), "GOSUMDB=off", "GOMODCACHE="+filepath.Join(home, "modules"), "GOFLAGS=")
	src := filepath.Join(home, "program")
	err = errors.Join(
		put(filepath.Join(src, "go.mod"), "module program\n\ngo 1.26.0\n\nrequire example.com/dep v1.0.0\n"),
		put(filepath.Join(src, "main.go"), "package main\n\nimport _ \"example.com/dep\"\n\nfunc main() {}\n"),
	)
	if err != nil {
		return nil, err
	}
	tidy := exec.Command("go", "mod", "tidy")
	tidy.Dir, tidy.Env = src, replace(y.environ, "GOWORK=off")
	if out, err := tidy.CombinedOutput(); err != nil {
		return nil, errors.New(string(out))
	}
	y.config = Config{
		Sources: os.DirFS(src), Program: ".", Version: "1", Packages: func() []string { return []string{"errors"} },
		Folder: filepath.Join(home, "engines"), Environ: y.environ,
	}
	w, err := New(y.config).Ensure(context.Background(), nil, func(string) {})
	if err != nil {
		return nil, err
	}
	y.base = w.Dir // nobody sweeps it: it is in use to the end of the process
	return y, nil
}

func put(name, text string) error {
	return errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, []byte(text), 0o644))
}

// publish puts a module into the proxy.
func (y *yard) publish(name string, files map[string]string) error {
	module, version, _ := strings.Cut(name, "@")
	dir := filepath.Join(y.home, "proxy", filepath.FromSlash(module), "@v")
	if err := errors.Join(put(filepath.Join(dir, version+".mod"), files["go.mod"]), put(filepath.Join(dir, version+".info"), `{"Version":"`+version+`"}`)); err != nil {
		return err
	}
	list, err := os.OpenFile(filepath.Join(dir, "list"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = list.WriteString(version + "\n")
	archive, create := os.Create(filepath.Join(dir, version+".zip"))
	if err := errors.Join(err, list.Close(), create); err != nil {
		return err
	}
	z := zip.NewWriter(archive)
	for file, text := range files {
		w, err := z.Create(path.Join(name, file))
		if err == nil {
			_, err = w.Write([]byte(text))
		}
		if err != nil {
			return err
		}
	}
	return errors.Join(z.Close(), archive.Close())
}

// yards are removed when the tests have ended; files of a module cache are not to be written.
var yards []string

func removeYards() {
	for _, home := range yards {
		_ = filepath.WalkDir(home, func(name string, d fs.DirEntry, err error) error {
			if err == nil && d.IsDir() {
				_ = os.Chmod(name, 0o755)
			}
			return nil
		})
		_ = os.RemoveAll(home)
	}
}

func (y *yard) open(t *testing.T) (*Store, *Extension) {
	t.Helper()
	s := New(y.config)
	x, err := s.Open(y.base)
	if err != nil {
		t.Fatal(err)
	}
	return s, x
}

func extendTo(t *testing.T, s *Store, from *Extension, want Want) *Extension {
	t.Helper()
	x, err := s.Extend(t.Context(), from, want, func(string) {})
	if err != nil {
		t.Fatalf("%s: %v", want.Path, err)
	}
	t.Cleanup(x.Close)
	return x
}

func paths(all []Package) (list []string) {
	for _, p := range all {
		list = append(list, p.Path)
	}
	slices.Sort(list)
	return list
}

// A package is compiled with what it needs, whatever else its module has; more of the module come from the same version.
func TestExtend(t *testing.T) {
	y := useYard(t)
	s, start := y.open(t)
	pinned := extendTo(t, s, start, Want{Path: "example.com/many", Version: "v1.0.0", Module: true})
	if len(pinned.Packages) != 0 || len(pinned.Modules) != 1 || pinned.Modules[0].String() != "example.com/many@v1.0.0" {
		t.Errorf("a module without a package at its root: got %v of %v", pinned.Packages, pinned.Modules)
	}
	one := extendTo(t, s, pinned, Want{Path: "example.com/many/one"})
	if got, want := paths(one.Packages), []string{"example.com/many/one", "example.com/many/two"}; !slices.Equal(got, want) {
		t.Errorf("one package: got %v, want %v", got, want)
	}
	three := extendTo(t, s, one, Want{Path: "example.com/many/three", Used: []string{"example.com/many/one"}})
	if got, want := paths(three.Packages), []string{"example.com/many/one", "example.com/many/three", "example.com/many/two"}; !slices.Equal(got, want) {
		t.Errorf("one more: got %v, want %v", got, want)
	}
	for _, p := range three.Packages {
		if p.Path == "example.com/many/three" && p.Name != "other" || p.Version != "v1.0.0" {
			t.Errorf("got %+v", p)
		}
	}
	archives, err := Packages(three.Manifest.Importcfg)
	if err != nil || archives["example.com/many/two"] == "" || archives["example.com/dep"] == "" || archives["errors"] == "" {
		t.Errorf("importcfg: got %v, %v", archives, err)
	}
	if newest := extendTo(t, s, start, Want{Path: "example.com/many/one"}); newest.Modules[0].Version != "v1.1.0" {
		t.Errorf("without a version: got %v, want the latest", newest.Modules)
	}
}

// What has been made once is there at once: no go command is run for it.
func TestExtendIsRemembered(t *testing.T) {
	y := useYard(t)
	s, start := y.open(t)
	first := extendTo(t, s, start, Want{Path: "example.com/many/one", Version: "v1.0.0"})
	_, conflict := s.Extend(t.Context(), start, Want{Path: "example.com/wants"}, func(string) {})
	c := y.config
	c.Environ, c.Places = []string{"HOME=" + y.home}, []string{} // no toolchain is to be found
	again := extendTo(t, New(c), start, Want{Path: "example.com/many/one", Version: "v1.0.0"})
	if again.Dir != first.Dir {
		t.Errorf("got %s, want %s", again.Dir, first.Dir)
	}
	if _, err := New(c).Extend(t.Context(), start, Want{Path: "example.com/wants"}, func(string) {}); err == nil || err.Error() != conflict.Error() {
		t.Errorf("a conflict: got %v, want %v", err, conflict)
	}
}

// What cannot be had says why, in one line.
func TestExtendRefuses(t *testing.T) {
	y := useYard(t)
	s, start := y.open(t)
	for _, c := range []struct {
		name string
		want Want
		err  string
	}{
		{"no module", Want{Path: "example.com/none"}, "example.com/none"},
		{"no package of the module", Want{Path: "example.com/many/none"}, "does not contain package example.com/many/none"},
		{"no such version", Want{Path: "example.com/many/one", Version: "v1.9.0"}, "v1.9.0"},
		{"a program", Want{Path: "example.com/many/tool", Version: "v1.0.0"}, "is a program (package main)"},
		{"another system", Want{Path: "example.com/many/plan9", Version: "v1.0.0"}, "build constraints exclude all Go files"},
		{"a mistake", Want{Path: "example.com/many/wrong", Version: "v1.0.0"}, "wrong.go:3:13: cannot use \"text\""},
		{"a need that cannot be had", Want{Path: "example.com/many/broken", Version: "v1.0.0"}, "example.com/absent"},
		{"a newer Go", Want{Path: "example.com/tomorrow"}, "it needs Go 1.99 or newer"},
	} {
		_, err := s.Extend(t.Context(), start, c.want, func(string) {})
		if err == nil || !strings.Contains(err.Error(), c.err) || strings.Contains(strings.TrimSpace(err.Error()), "\n") {
			t.Errorf("%s: got %v, want a line with %q", c.name, err, c.err)
		}
	}
	extendTo(t, s, start, Want{Path: "example.com/many/one", Version: "v1.0.0"}) // none of them is in the way of others
}

// A package that the engine holds stays in its version. That another is wanted is seen before anything is compiled; an engine that is
// built with it can have the package.
func TestConflict(t *testing.T) {
	y := useYard(t)
	s, start := y.open(t)
	_, err := s.Extend(t.Context(), start, Want{Path: "example.com/wants", Version: "v1.0.0"}, func(string) {})
	var conflict *Conflict
	if !errors.As(err, &conflict) || !slices.Equal(conflict.Changes, []Change{{"example.com/dep", "v1.0.0", "v1.1.0"}}) {
		t.Fatalf("got %v, want a conflict about dep", err)
	}
	if want := "example.com/wants@v1.0.0 needs example.com/dep v1.1.0, and the running engine has v1.0.0"; err.Error() != want {
		t.Errorf("got %q, want %q", err, want)
	}
	nothingCompiled(t, s, start, Want{Path: "example.com/wants", Version: "v1.0.0"})
	extendTo(t, s, start, Want{Path: "example.com/wants/free", Version: "v1.0.0"}) // its module wants it, it does not
	next := openFor(t, s, conflict)
	extendTo(t, s, next, Want{Path: "example.com/wants"})
	if held, err := Held(next.Base); err != nil || held["example.com/dep"].Version != "v1.1.0" {
		t.Errorf("the new engine: got %+v, %v", held["example.com/dep"], err)
	}
}

// The version that was asked for counts for what the engine holds, too.
func TestConflictWithAPin(t *testing.T) {
	y := useYard(t)
	s, start := y.open(t)
	var conflict *Conflict
	_, err := s.Extend(t.Context(), start, Want{Path: "example.com/dep", Version: "v1.1.0", Module: true}, func(string) {})
	if !errors.As(err, &conflict) || err.Error() != "the running engine has example.com/dep v1.0.0, not v1.1.0" {
		t.Errorf("got %v, want a conflict", err)
	}
	extendTo(t, s, start, Want{Path: "example.com/dep", Version: "v1.0.0", Module: true})
}

// What a session has loaded stays as it is; what it has only added may change. Nobody is asked for a module that is in a folder.
func TestConflictWithTheSession(t *testing.T) {
	y := useYard(t)
	_, start := y.open(t)
	c := y.config
	c.Environ = replace(c.Environ, "GOPROXY=http://127.0.0.1:1") // where nobody listens
	s := New(c)
	dir := t.TempDir()
	write := func(v string) {
		if err := errors.Join(put(filepath.Join(dir, "go.mod"), "module example.com/local\n\ngo 1.20\n"), put(filepath.Join(dir, "l.go"), "package local\n\nconst V = "+v+"\n")); err != nil {
			t.Fatal(err)
		}
	}
	write("1")
	local := Want{Path: "example.com/local", Dir: dir, Module: true}
	first := extendTo(t, s, start, local)
	if got := paths(first.Packages); !slices.Equal(got, []string{"example.com/local"}) {
		t.Errorf("got %v", got)
	}
	write("2")
	extendTo(t, s, first, local)
	local.Used = []string{"example.com/local"}
	var conflict *Conflict
	_, err := s.Extend(t.Context(), first, local, func(string) {})
	if !errors.As(err, &conflict) || !conflict.Session || err.Error() != "example.com/local has changed since it was loaded" {
		t.Errorf("got %v, want a conflict: it has been loaded", err)
	}
}

// What a package needs may be loaded in another version: that is known before anything is compiled, and no other session is refused.
func TestConflictWithWhatIsLoaded(t *testing.T) {
	y := useYard(t)
	s, start := y.open(t)
	first := extendTo(t, s, start, Want{Path: "example.com/old"})
	var conflict *Conflict
	want := Want{Path: "example.com/new", Used: []string{"example.com/old"}}
	_, err := s.Extend(t.Context(), first, want, func(string) {})
	if !errors.As(err, &conflict) || !conflict.Session || err.Error() != "example.com/new@v1.0.0 needs example.com/low v1.1.0, and this session has loaded v1.0.0" {
		t.Errorf("got %v, want a conflict", err)
	}
	nothingCompiled(t, s, first, want)
	extendTo(t, s, first, Want{Path: "example.com/new"})
}

// openFor builds the engine that a conflict asks for.
func openFor(t *testing.T, s *Store, c *Conflict) *Extension {
	t.Helper()
	w, err := s.Ensure(t.Context(), c.Modules, func(string) {})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Close)
	x, err := s.Open(w.Dir)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// nothingCompiled looks at what the go command was told for an extension.
func nothingCompiled(t *testing.T, s *Store, from *Extension, want Want) {
	t.Helper()
	key, err := s.extensionKey(from, want)
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(from.Base, extensionsName, key+".log"))
	if err != nil || !strings.Contains(string(text), "go list") || strings.Contains(string(text), "-export") {
		t.Errorf("%v; what the go command was told:\n%s", err, text)
	}
}

// A folder in place of a module that the engine holds is a conflict, and an engine that was built with it has it.
func TestFolderOfWhatIsHeld(t *testing.T) {
	y := useYard(t)
	s, start := y.open(t)
	dir := t.TempDir()
	if err := errors.Join(put(filepath.Join(dir, "go.mod"), "module example.com/dep\n\ngo 1.20\n"), put(filepath.Join(dir, "dep.go"), "package dep\n\nfunc Mine() {}\n"),
		os.Symlink("nowhere", filepath.Join(dir, ".#dep.go"))); err != nil {
		t.Fatal(err)
	}
	want := Want{Path: "example.com/dep", Dir: dir, Module: true}
	var conflict *Conflict
	if _, err := s.Extend(t.Context(), start, want, func(string) {}); !errors.As(err, &conflict) {
		t.Fatalf("got %v, want a conflict", err)
	}
	next := openFor(t, s, conflict)
	extendTo(t, s, next, want)
}

// A folder in place of a module that others require leaves these as they are.
func TestFolderOfWhatOthersRequire(t *testing.T) {
	y := useYard(t)
	dir := t.TempDir()
	if err := errors.Join(put(filepath.Join(dir, "go.mod"), "module example.com/dep\n\ngo 1.20\n"), put(filepath.Join(dir, "dep.go"), "package dep\n\nfunc F() int { return 3 }\n")); err != nil {
		t.Fatal(err)
	}
	w, err := New(y.config).Ensure(t.Context(), []Module{{Path: "example.com/wants", Version: "v1.0.0"}, {Path: "example.com/dep", Dir: dir}}, func(string) {})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	text, err := os.ReadFile(filepath.Join(w.Dir, "go.mod"))
	for _, want := range []string{"example.com/wants v1.0.0", "example.com/dep => " + dir} {
		if err != nil || !strings.Contains(string(text), want) {
			t.Errorf("%v; go.mod lacks %q:\n%s", err, want, text)
		}
	}
}

// An extension that is damaged while another session uses it is not waited for without end.
func TestDamagedExtensionInUse(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	y := useYard(t)
	s, start := y.open(t)
	want := Want{Path: "example.com/many/two", Version: "v1.0.0"}
	x := extendTo(t, s, start, want)
	all, err := Packages(filepath.Join(x.Dir, importcfgName))
	if err != nil {
		t.Fatal(err)
	}
	archive := all["example.com/many/two"] // another name of a file of Go's cache
	if err := errors.Join(os.Remove(archive), os.WriteFile(archive, nil, 0o644)); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Extend(t.Context(), start, want, func(string) {}); err == nil || !strings.Contains(err.Error(), "is damaged") {
		t.Errorf("got %v, want an error that says so", err)
	}
}

// A module of a folder gives way to a version of it that is asked for.
func TestFolderThenVersion(t *testing.T) {
	y := useYard(t)
	s, start := y.open(t)
	dir := t.TempDir()
	if err := errors.Join(put(filepath.Join(dir, "go.mod"), "module example.com/many\n\ngo 1.20\n"), put(filepath.Join(dir, "mine/m.go"), "package mine\n")); err != nil {
		t.Fatal(err)
	}
	local := extendTo(t, s, start, Want{Path: "example.com/many", Dir: dir, Module: true})
	if x := extendTo(t, s, local, Want{Path: "example.com/many/mine"}); x.Modules[0].Dir != dir {
		t.Errorf("got %v, want the folder", x.Modules)
	}
	released := extendTo(t, s, local, Want{Path: "example.com/many", Version: "v1.1.0", Module: true})
	if x := extendTo(t, s, released, Want{Path: "example.com/many/one"}); x.Modules[0].String() != "example.com/many@v1.1.0" {
		t.Errorf("got %v, want the version", x.Modules)
	}
}

// An interrupt ends it, and what comes then begins anew.
func TestExtendCancelled(t *testing.T) {
	y := useYard(t)
	s, start := y.open(t)
	ctx, cancel := context.WithCancel(t.Context())
	want := Want{Path: "example.com/many/two", Version: "v1.0.0"}
	if _, err := s.Extend(ctx, start, want, func(string) { cancel() }); !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v, want the context's error", err)
	}
	extendTo(t, s, start, want)
}
