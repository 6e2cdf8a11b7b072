package workspace

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

func TestEnsure(t *testing.T) {
	p := newPlace(t)
	if _, err := p.store().Find(t.Context(), nil); !errors.Is(err, ErrNone) {
		t.Fatalf("before it is built: got %v, want ErrNone", err)
	}
	var lines []string
	w, err := p.store().Ensure(t.Context(), nil, func(line string) { lines = append(lines, line) })
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if len(lines) == 0 || !strings.Contains(lines[0], "go1.26.8") {
		t.Errorf("progress: got %q, want the toolchain's name", lines)
	}
	cfg, err := os.ReadFile(w.Importcfg)
	if want := "packagefile fmt=" + filepath.Join(w.Dir, "pkg", "0000.a") + "\n"; err != nil || string(cfg) != want {
		t.Errorf("importcfg: got %q, %v, want %q: every package but the program", cfg, err, want)
	}
	if w.GoVersion != "go1.26.8" || w.Compile != p.path("goroot/tool/compile") || w.Link != p.path("goroot/tool/link") || w.CC != p.path("bin/gcc") || w.Race {
		t.Errorf("got %+v", w.Manifest)
	}
	for _, name := range []string{w.Engine(), filepath.Join(w.Dir, "src", "go.mod"), w.Cache} {
		if _, err := os.Stat(name); err != nil {
			t.Error(err)
		}
	}
	m, err := Open(w.Dir)
	if err != nil || get(m.Env, "GOFLAGS") != "" || get(m.Env, "CC") != w.CC || !slices.Contains(m.Env, "HOME="+os.Getenv("HOME")) {
		t.Errorf("open: got %+v, %v, want a whole environment", m, err)
	}
}

// Built cells are kept in a folder of the user's own where the workspace's cannot be written, and never in one that others can
// write.
func TestOpenReadOnly(t *testing.T) {
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	p := newPlace(t)
	w := p.ensure(p.store())
	if err := os.RemoveAll(w.Cache); err != nil { // as good as read-only, for root too
		t.Fatal(err)
	}
	first, err := Open(w.Dir)
	if err != nil || filepath.Dir(filepath.Dir(first.Cache)) != tmp {
		t.Fatalf("got %q, %v, want a folder in %s", first.Cache, err, tmp)
	}
	if again, err := Open(w.Dir); err != nil || again.Cache != first.Cache {
		t.Errorf("got %q, %v, want the same folder again", again.Cache, err)
	}
	if err := os.Chmod(filepath.Dir(first.Cache), 0o777); err != nil {
		t.Fatal(err)
	}
	if open, err := Open(w.Dir); err != nil || strings.HasPrefix(open.Cache, filepath.Dir(first.Cache)+"/") {
		t.Errorf("got %q, %v, want another folder than one that is open to all", open.Cache, err)
	}
}

// A session that starts where a workspace is runs no other program.
func TestFindIsCheap(t *testing.T) {
	p := newPlace(t)
	p.ensure(p.store())
	before := len(p.calls())
	w, err := p.store().Find(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	w.Close()
	if after := len(p.calls()); after != before {
		t.Errorf("the go command was run %d times", after-before)
	}
}

// What a workspace is remembered by, and what its key is made of: a change of any leads to another one.
func TestChangesLeadToAnotherWorkspace(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	for _, c := range []struct {
		name   string
		change func(p *place, c *Config)
	}{
		{"this program's version", func(_ *place, c *Config) { c.Version = "2" }},
		{"a source", func(p *place, c *Config) { c.Sources = os.DirFS(p.path("changed")) }},
		{"what cells may import", func(_ *place, c *Config) { c.Packages = func() []string { return []string{"fmt", "os"} } }},
		{"the toolchain's version", func(p *place, _ *Config) { p.install("goroot", "go1.26.9") }},
		{"the toolchain's place", func(p *place, c *Config) {
			p.install("other", "go1.26.8")
			c.Environ = replace(c.Environ, "PATH="+p.path("other/bin")+":"+p.path("bin"))
		}},
		{"the C compiler", func(p *place, c *Config) {
			p.link("cc/gcc")
			c.Environ = replace(c.Environ, "CC="+p.path("cc/gcc"))
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newPlace(t)
			p.write("changed/go.mod", "module cancha\n\ngo 1.26.0\n", 0o644)
			old := p.ensure(p.store())
			config := p.config()
			c.change(p, &config)
			s := New(config)
			if strings.HasPrefix(c.name, "the") { // what only the process decides is the same in one process
				if _, err := s.Find(t.Context(), nil); !errors.Is(err, ErrNone) {
					t.Errorf("find: got %v, want ErrNone", err)
				}
			}
			if err := os.RemoveAll(p.path("cache/engines/known")); err != nil {
				t.Fatal(err)
			}
			if w := p.ensure(s); w.Dir == old.Dir {
				t.Error("the same workspace")
			}
		})
	}
}

func TestDamagedIsRebuilt(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	for _, c := range []struct {
		name   string
		damage func(dir string) error
	}{
		{"unfinished", func(dir string) error { return os.Remove(filepath.Join(dir, "workspace.json")) }},
		{"half a description", func(dir string) error { return os.Truncate(filepath.Join(dir, "workspace.json"), 10) }},
		{"an archive cut short", func(dir string) error { return os.Truncate(filepath.Join(dir, "pkg", "0000.a"), 3) }},
		{"an archive gone", func(dir string) error { return os.Remove(filepath.Join(dir, "pkg", "0000.a")) }},
		{"the engine gone", func(dir string) error { return os.RemoveAll(filepath.Join(dir, "bin")) }},
		{"the list of packages gone", func(dir string) error { return os.Remove(filepath.Join(dir, "importcfg")) }},
		{"moved from another place", func(dir string) error {
			text, err := os.ReadFile(filepath.Join(dir, "workspace.json"))
			text = []byte(strings.ReplaceAll(string(text), dir, "/elsewhere"))
			return errors.Join(err, os.WriteFile(filepath.Join(dir, "workspace.json"), text, 0o600))
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newPlace(t)
			w, err := p.store().Ensure(t.Context(), nil, func(string) {})
			if err != nil {
				t.Fatal(err)
			}
			w.Close()
			if err := c.damage(w.Dir); err != nil {
				t.Fatal(err)
			}
			if _, err := p.store().Find(t.Context(), nil); !errors.Is(err, ErrNone) {
				t.Errorf("find: got %v, want ErrNone", err)
			}
			again := p.ensure(p.store())
			if again.Dir != w.Dir || len(p.calls("build")) != 2 {
				t.Errorf("got %s after %d builds, want %s built a second time", again.Dir, len(p.calls("build")), w.Dir)
			}
		})
	}
}

// Damage that only the sums show is found by who looks for it.
func TestMend(t *testing.T) {
	p := newPlace(t)
	s := p.store()
	w, err := s.Ensure(t.Context(), nil, func(string) {})
	if err != nil {
		t.Fatal(err)
	}
	w.Close()
	if state := s.State(t.Context()); state.Err != nil || state.Dir != w.Dir || state.Size == 0 || state.GoVersion != "go1.26.8" || state.Compiler != "gcc (fake) 1.0" {
		t.Errorf("got %+v", state)
	}
	if err := os.WriteFile(w.Engine(), []byte("ENGINE"), 0o755); err != nil {
		t.Fatal(err)
	}
	if state := s.State(t.Context()); !errors.Is(state.Err, errDamaged) {
		t.Errorf("got %v, want damage", state.Err)
	}
	s.Mend(t.Context())
	p.ensure(s)
	if text, err := os.ReadFile(w.Engine()); err != nil || string(text) != "engine" {
		t.Errorf("engine: got %q, %v", text, err)
	}
}

// A damaged workspace that a session uses is left alone; the next one gets another folder.
func TestDamagedInUse(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	p := newPlace(t)
	used := p.ensure(p.store())
	if err := os.Remove(used.Engine()); err != nil {
		t.Fatal(err)
	}
	w := p.ensure(p.store())
	if w.Dir != used.Dir+"-1" {
		t.Errorf("got %s, want a folder beside %s", w.Dir, used.Dir)
	}
	again := p.ensure(p.store())
	if again.Dir != w.Dir || len(p.calls("build")) != 2 {
		t.Errorf("got %s after %d builds", again.Dir, len(p.calls("build")))
	}
}

// Of those who want a workspace at once one builds it, and the others wait and say so.
func TestTwoAtOnce(t *testing.T) {
	p := newPlace(t)
	gate := p.path("gate")
	if err := syscall.Mkfifo(gate, 0o600); err != nil {
		t.Fatal(err)
	}
	p.vars = append(p.vars, "FAKE_GATE="+gate)
	waits := make(chan string, 1)
	var all sync.WaitGroup
	dirs := make([]string, 3)
	for i := range dirs {
		all.Go(func() {
			w, err := p.store().Ensure(t.Context(), nil, func(line string) {
				if strings.HasPrefix(line, "waiting for another session: building") {
					select {
					case waits <- line:
					default:
					}
				}
			})
			if err != nil {
				t.Error(err)
				return
			}
			dirs[i] = w.Dir
			w.Close()
		})
	}
	<-waits
	if err := os.WriteFile(gate, nil, 0o600); err != nil { // lets the builder go on
		t.Fatal(err)
	}
	all.Wait()
	if dirs[0] == "" || dirs[1] != dirs[0] || dirs[2] != dirs[0] {
		t.Errorf("got %q, want one folder", dirs)
	}
	if n := len(p.calls("build")); n != 1 {
		t.Errorf("%d builds, want 1", n)
	}
}

// A build that is given up ends at once and leaves nothing that looks whole; the lock is free again.
func TestCancelled(t *testing.T) {
	p := newPlace(t)
	gate := p.path("gate")
	if err := syscall.Mkfifo(gate, 0o600); err != nil {
		t.Fatal(err)
	}
	p.vars = append(p.vars, "FAKE_GATE="+gate)
	ctx, cancel := context.WithCancel(t.Context())
	_, err := p.store().Ensure(ctx, nil, func(string) {
		if len(p.calls("build")) == 1 {
			cancel()
		}
	})
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v, want the context's error", err)
	}
	p.vars = nil
	p.ensure(p.store())
}

func TestSweep(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	p := newPlace(t)
	version := func(v string) *Store {
		c := p.config()
		c.Version = v
		if err := os.RemoveAll(p.path("cache/engines/known")); err != nil { // one process stands for several programs
			t.Fatal(err)
		}
		return New(c)
	}
	ensure := func(s *Store, modules ...Module) *Workspace {
		t.Helper()
		w, err := s.Ensure(t.Context(), modules, func(string) {})
		if err != nil {
			t.Fatal(err)
		}
		return w
	}
	used, old := ensure(version("1")), ensure(version("2"))
	old.Close()
	if err := os.Mkdir(p.path("cache/engines/unfinished"), 0o755); err != nil {
		t.Fatal(err)
	}
	var added []*Workspace
	for i, v := range []string{"v1.0.0", "v1.1.0", "v1.2.0", "v1.3.0", "v1.4.0", "v1.5.0"} {
		w := ensure(version("2"), Module{Path: "example.com/m", Version: v})
		w.Close()
		when := time.Now().Add(time.Duration(i-100) * time.Minute)
		if err := os.Chtimes(w.Dir+".lock", when, when); err != nil {
			t.Fatal(err)
		}
		added = append(added, w)
	}
	newest := ensure(version("3"))
	defer newest.Close()
	for _, c := range []struct {
		name string
		dir  string
		want bool
	}{
		{"the newest", newest.Dir, true},
		{"one in use", used.Dir, true},
		{"the version before", old.Dir, false},
		{"an unfinished one", p.path("cache/engines/unfinished"), false},
		{"other modules, long ago", added[0].Dir, false},
		{"other modules, lately", added[5].Dir, true},
		{"other modules, before that", added[3].Dir, true},
	} {
		if _, err := os.Stat(c.dir); (err == nil) != c.want {
			t.Errorf("%s: got kept %v, want %v", c.name, err == nil, c.want)
		}
	}
	used.Close()
}

func TestModules(t *testing.T) {
	p := newPlace(t)
	plain := p.ensure(p.store())
	p.write("local/go.mod", "module example.com/local\n", 0o644)
	modules := []Module{{Path: "github.com/google/uuid", Version: "v1.6.0"}, {Path: "example.com/local", Dir: p.path("local")}}
	w := p.ensure(p.store(), modules...)
	if w.Dir == plain.Dir || !slices.Equal(w.Modules, modules) {
		t.Errorf("got %s with %v", w.Dir, w.Modules)
	}
	var got []string
	for _, c := range p.calls("get", "mod") {
		got = append(got, strings.ReplaceAll(strings.Join(c.Args, " "), w.Dir, "DIR"))
	}
	want := []string{
		"mod edit -require=example.com/local@v0.0.0-00010101000000-000000000000 -replace=example.com/local=" + p.path("local") + " DIR/go.mod",
		"get -modfile=DIR/go.mod github.com/google/uuid@v1.6.0", "get -modfile=DIR/go.mod example.com/local@v0.0.0-00010101000000-000000000000",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	p.write("local/x.go", "package local\n", 0o644)
	if changed := p.ensure(p.store(), modules...); changed.Dir == w.Dir {
		t.Error("a local module was changed, and the workspace is the same")
	}
}

// An added module that leaves the engine's packages as they are needs no other engine; one that raises the version of any
// does.
func TestExtends(t *testing.T) {
	p := newPlace(t)
	plain := p.ensure(p.store())
	added := p.ensure(p.store(), Module{Path: "example.com/m", Version: "v1.0.0"})
	if same, err := extends(added.Dir, plain.Dir); err != nil || !same {
		t.Errorf("a module that adds: got %v, %v", same, err)
	}
	if n := len(p.calls("build")); n != 1 {
		t.Errorf("a module that adds: %d builds, want the first one's engine", n)
	}
	if text, err := os.ReadFile(added.Engine()); err != nil || string(text) != "engine" {
		t.Errorf("its engine: got %q, %v", text, err)
	}
	p.vars = []string{"FAKE_RAISED=yes"}
	raised := p.ensure(p.store(), Module{Path: "example.com/m", Version: "v2.0.0"})
	if same, err := extends(raised.Dir, plain.Dir); err != nil || same {
		t.Errorf("a module that raises: got %v, %v", same, err)
	}
	if n := len(p.calls("build")); n != 2 {
		t.Errorf("a module that raises: %d builds, want an engine of its own", n)
	}
}

func extends(dir, base string) (bool, error) {
	_, c, err := whole(dir)
	if err != nil {
		return false, err
	}
	return c.extends(dir, base)
}
