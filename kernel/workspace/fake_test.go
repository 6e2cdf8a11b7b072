package workspace

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// TestMain makes the test binary also the go command and the C compiler of these tests, where it is run under their names.
func TestMain(m *testing.M) {
	switch filepath.Base(os.Args[0]) {
	case "go":
		os.Exit(fakeGo())
	case "gcc":
		fmt.Println("gcc (fake) 1.0")
		os.Exit(0)
	}
	code := m.Run()
	removeYards()
	os.Exit(code)
}

// call is one of the fake go command, as it notes it.
type call struct {
	Args []string
	Env  []string
	Dir  string
}

// fakeGo does what the go command would: it describes itself, lists two packages with their archives, and "builds" a program.
func fakeGo() int {
	home := os.Getenv("FAKE_HOME")
	args := os.Args[1:]
	note(filepath.Join(home, "calls"), args)
	if fail := os.Getenv("FAKE_FAIL_" + args[0]); fail != "" && (args[0] != "env" || os.Getenv("GOTOOLCHAIN") != "local") {
		fmt.Fprint(os.Stderr, fail)
		return 1
	}
	if args[0] == "build" && os.Getenv("FAKE_GATE") != "" {
		_, _ = os.ReadFile(os.Getenv("FAKE_GATE")) // a named pipe: waits for its writer
	}
	switch args[0] {
	case "env":
		return fakeEnv()
	case "list":
		if slices.Contains(args, "-m") {
			fmt.Println(localVersion("example.com/m"))
			return 0
		}
		return fakeList(home, args)
	case "build":
		out := args[slices.Index(args, "-o")+1]
		fmt.Fprintln(os.Stderr, "cancha/cmd/cancha")
		if err := os.WriteFile(out, []byte("engine"), 0o755); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	return 0
}

func note(name string, args []string) {
	f, err := os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return
	}
	defer f.Close()
	dir, _ := os.Getwd()
	_ = json.NewEncoder(f).Encode(call{args, os.Environ(), dir})
}

func fakeEnv() int {
	root := filepath.Dir(filepath.Dir(os.Args[0]))
	if named := os.Getenv("GOROOT"); named != "" {
		root = named
	}
	version := os.Getenv("FAKE_VERSION")
	if text, err := os.ReadFile(filepath.Join(root, "VERSION")); err == nil {
		version = string(text)
	}
	vars := map[string]string{
		"GOROOT": root, "GOTOOLDIR": filepath.Join(root, "tool"), "GOVERSION": version, "CC": "gcc", "GOCACHE": "/cache",
	}
	for _, name := range []string{"GOFLAGS", "GOWORK", "GOENV", "GOTOOLCHAIN", "GOEXPERIMENT", "GOPROXY", "GOPRIVATE", "CGO_CFLAGS", "CGO_ENABLED", "GOOS", "GOARCH", "CC"} {
		if v, ok := os.LookupEnv(name); ok {
			vars[name] = v
		}
	}
	text, _ := json.Marshal(vars)
	fmt.Println(string(text))
	return 0
}

func fakeList(home string, args []string) int {
	all := []map[string]any{
		{"ImportPath": "fmt", "Name": "fmt", "Stale": true},
		{"ImportPath": "cancha/cmd/cancha", "Name": "main", "Stale": true},
	}
	if slices.Contains(args, "-export") {
		fmt.Fprintln(os.Stderr, "fmt")
		for _, p := range all {
			file := filepath.Join(home, filepath.Base(p["ImportPath"].(string))+"-d")
			if os.WriteFile(file, []byte("archive of "+p["ImportPath"].(string)+os.Getenv("FAKE_RAISED")), 0o600) != nil {
				return 1
			}
			p["Export"] = file
		}
		all = append(all, clobberedModule()...)
	}
	for _, p := range all {
		text, _ := json.Marshal(p)
		fmt.Println(string(text))
	}
	return 0
}

// clobberedModule is a package whose assembly is refused as long as its module has not been replaced.
func clobberedModule() []map[string]any {
	dir := os.Getenv("FAKE_CLOBBERED")
	if dir == "" {
		return nil
	}
	p := map[string]any{"ImportPath": "example.com/asm", "Name": "asm", "Module": map[string]string{"Path": "example.com/asm", "Version": "v1.0.0", "Dir": dir}}
	if _, err := os.Stat("../modules/example.com/asm@v1.0.0/go.mod"); err == nil {
		p["Export"] = filepath.Join(dir, "go.mod") // any file will do
	} else {
		p["Error"] = map[string]string{"Err": "asm: x.s:5: when dynamic linking, R15 is clobbered by a global variable access"}
	}
	return []map[string]any{p}
}

// place is a machine of its own: a fake toolchain and C compiler, an empty cache.
type place struct {
	t    *testing.T
	home string
	vars []string // on top of the environment
}

func newPlace(t *testing.T, vars ...string) *place {
	t.Helper()
	home, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	p := &place{t, home, vars}
	p.install("goroot", "go1.26.8")
	p.link("bin/gcc")
	return p
}

// install puts a Go installation of a version into a folder.
func (p *place) install(root, version string) {
	p.t.Helper()
	p.link(root + "/bin/go")
	for _, tool := range []string{"compile", "link"} {
		p.write(root+"/tool/"+tool, "#!/bin/sh\n", 0o755)
	}
	p.write(root+"/VERSION", version, 0o644)
}

func (p *place) path(name string) string { return filepath.Join(p.home, filepath.FromSlash(name)) }

func (p *place) write(name, text string, mode fs.FileMode) {
	p.t.Helper()
	if err := os.MkdirAll(filepath.Dir(p.path(name)), 0o755); err != nil {
		p.t.Fatal(err)
	}
	_ = os.Remove(p.path(name)) // it may be another name of the test binary
	if err := os.WriteFile(p.path(name), []byte(text), mode); err != nil {
		p.t.Fatal(err)
	}
}

// link makes the test binary a program of that name.
func (p *place) link(name string) {
	p.t.Helper()
	self, err := os.Executable()
	if err != nil {
		p.t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Dir(p.path(name)), 0o755); err != nil {
		p.t.Fatal(err)
	}
	_ = os.Remove(p.path(name))
	if os.Link(self, p.path(name)) == nil {
		return
	}
	text, err := os.ReadFile(self) // another disk
	if err != nil {
		p.t.Fatal(err)
	}
	p.write(name, string(text), 0o755)
}

func (p *place) environ() []string {
	return append([]string{
		"HOME=" + p.home, "FAKE_HOME=" + p.home, "FAKE_VERSION=go1.26.8", "GORACE=atexit_sleep_ms=0",
		"PATH=" + p.path("goroot/bin") + ":" + p.path("bin"),
	}, p.vars...)
}

func (p *place) config() Config {
	return Config{
		Sources: fstest.MapFS{
			"go.mod":             {Data: []byte("module cancha\n\ngo 1.26.0\n")},
			"cmd/cancha/main.go": {Data: []byte("package main\n")},
		},
		Program: "./cmd/cancha", Packages: func() []string { return []string{"fmt"} }, Version: "1",
		Folder: p.path("cache/engines"), Environ: p.environ(), Places: []string{},
	}
}

func (p *place) store() *Store { return New(p.config()) }

// ensure builds or finds the workspace and lets go of it when the test ends.
func (p *place) ensure(s *Store, modules ...Module) *Workspace {
	p.t.Helper()
	w, err := s.Ensure(p.t.Context(), modules, func(string) {})
	if err != nil {
		p.t.Fatalf("ensure: %v", err)
	}
	p.t.Cleanup(w.Close)
	return w
}

// calls returns what the fake go command was called for; words are the first of the arguments that are wanted, none for all.
func (p *place) calls(words ...string) (all []call) {
	p.t.Helper()
	text, err := os.ReadFile(p.path("calls"))
	if err != nil && !os.IsNotExist(err) {
		p.t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		var c call
		if err := json.Unmarshal([]byte(line), &c); err != nil {
			p.t.Fatal(err)
		}
		if len(words) == 0 || slices.Contains(words, c.Args[0]) {
			all = append(all, c)
		}
	}
	return all
}
