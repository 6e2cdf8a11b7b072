package workspace

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// TestFixedEnvironment: whatever a user's settings are, they are built with the same ones, and come to the same workspace.
func TestFixedEnvironment(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	p := newPlace(t)
	want := p.ensure(p.store())
	for _, odd := range [][]string{
		{"GOFLAGS=-mod=vendor"},
		{"GOFLAGS=-trimpath -race -tags=x -ldflags=-s"},
		{"GOWORK=/elsewhere/go.work"},
		{"GOENV=/elsewhere/env"},
		{"GOTOOLCHAIN=go1.26.8+auto"},
		{"GOEXPERIMENT=arenas"},
		{"GO111MODULE=off", "GODEBUG=gotypesalias=0", "GOFIPS140=latest"},
		{"CGO_ENABLED=0"},
		{"CGO_CFLAGS=-O0", "CGO_LDFLAGS=-lm", "CGO_CPPFLAGS=-DX"},
		{"GOOS=windows", "GOARCH=386", "GOAMD64=v4", "GOARM64=v9.0"},
		{"GO_EXTLINK_ENABLED=0", "GOTOOLDIR=/elsewhere"},
		{"GOGC=off"},
	} {
		t.Run(odd[0], func(t *testing.T) {
			if err := os.RemoveAll(p.path("cache")); err != nil {
				t.Fatal(err)
			}
			if err := os.Remove(p.path("calls")); err != nil {
				t.Fatal(err)
			}
			p.vars = odd
			w := p.ensure(p.store())
			if w.Dir != want.Dir {
				t.Errorf("got %s, want %s", w.Dir, want.Dir)
			}
			calls := p.calls("list", "build")
			if len(calls) < 3 {
				t.Fatalf("%d calls", len(calls))
			}
			for _, c := range calls {
				checkFixed(t, p, c)
			}
		})
	}
}

func checkFixed(t *testing.T, p *place, c call) {
	t.Helper()
	for _, want := range []string{
		"GOROOT=" + p.path("goroot"), "GOTOOLCHAIN=local", "GOENV=off", "GOFLAGS=", "GOWORK=off", "GO111MODULE=", "GOEXPERIMENT=",
		"GODEBUG=", "CGO_ENABLED=1", "CGO_CFLAGS=", "CGO_LDFLAGS=", "GOOS=" + runtime.GOOS, "GOARCH=" + runtime.GOARCH, "GOAMD64=",
		"CC=" + p.path("bin/gcc"), "GOGC=400",
	} {
		name, _, _ := strings.Cut(want, "=")
		if n := countName(c.Env, name); n != 1 || !slices.Contains(c.Env, want) {
			t.Errorf("go %s: %s is %q (%d times), want %s", c.Args[0], name, get(c.Env, name), n, want)
		}
	}
	for _, name := range []string{"GO_EXTLINK_ENABLED", "GOTOOLDIR"} {
		if countName(c.Env, name) != 0 {
			t.Errorf("go %s: %s is set", c.Args[0], name)
		}
	}
	for _, flag := range []string{"-buildvcs=false", "-trimpath", "-tags"} {
		if !slices.Contains(c.Args, flag) {
			t.Errorf("go %q: no %s", c.Args, flag)
		}
	}
	if filepath.Base(c.Dir) != sourcesName {
		t.Errorf("go %s ran in %s", c.Args[0], c.Dir)
	}
}

// TestTagsAndFlags: an engine with further tags and flags for C is another workspace, and engine, packages and cells are built with them.
func TestTagsAndFlags(t *testing.T) {
	p := newPlace(t)
	plain := p.ensure(p.store())
	if err := os.Remove(p.path("calls")); err != nil {
		t.Fatal(err)
	}
	c := p.config()
	c.Tags, c.Flags = []string{"nvidia"}, CFlags{"-I/place/include", "-L/place/lib"}
	w := p.ensure(New(c))
	if w.Dir == plain.Dir {
		t.Error("the workspace is that of an engine without the tag")
	}
	calls := p.calls("list", "build")
	if len(calls) < 3 {
		t.Fatalf("%d calls", len(calls))
	}
	flags := []string{"CGO_CFLAGS=-I/place/include", "CGO_LDFLAGS=-L/place/lib"}
	for _, c := range calls {
		if i := slices.Index(c.Args, "-tags"); i < 0 || c.Args[i+1] != "workspace,nvidia" {
			t.Errorf("go %q: want both tags", c.Args)
		}
		for _, want := range flags {
			if !slices.Contains(c.Env, want) {
				t.Errorf("go %s: no %s", c.Args[0], want)
			}
		}
	}
	m, err := Open(w.Dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range flags {
		if !slices.Contains(m.Env, want) {
			t.Errorf("cells are compiled without %s", want)
		}
	}
}

func countName(environ []string, name string) (n int) {
	for _, v := range environ {
		if strings.HasPrefix(v, name+"=") {
			n++
		}
	}
	return n
}

// What says where modules and caches are is the user's.
func TestKeptEnvironment(t *testing.T) {
	p := newPlace(t, "GOPROXY=https://proxy.example", "GOPRIVATE=example.com/*", "HTTPS_PROXY=http://gate:3128")
	p.ensure(p.store())
	for _, c := range p.calls("build") {
		for _, want := range []string{"GOPROXY=https://proxy.example", "GOPRIVATE=example.com/*", "GOCACHE=/cache", "HTTPS_PROXY=http://gate:3128"} {
			if !slices.Contains(c.Env, want) {
				t.Errorf("no %s in %q", want, c.Env)
			}
		}
	}
}

// TestToolchainChoice: the first that is new enough is taken.
func TestToolchainChoice(t *testing.T) {
	for _, c := range []struct {
		name  string
		setup func(p *place, c *Config)
		want  string // its root
	}{
		{"in PATH", func(*place, *Config) {}, "goroot"},
		{"GOROOT's before that", func(p *place, c *Config) {
			p.install("mine", "go1.27.0")
			c.Environ = append(c.Environ, "GOROOT="+p.path("mine"))
		}, "mine"},
		{"GOROOT has gone", func(p *place, c *Config) { c.Environ = append(c.Environ, "GOROOT="+p.path("gone")) }, "goroot"},
		{"an older one first in PATH", func(p *place, c *Config) {
			p.install("old", "go1.22.1")
			c.Environ = replace(c.Environ, "PATH="+p.path("old/bin")+":"+get(c.Environ, "PATH"))
		}, "goroot"},
		{"a broken one first in PATH", func(p *place, c *Config) {
			p.write("broken/go", "#!/bin/sh\nexit 3\n", 0o755)
			c.Environ = replace(c.Environ, "PATH="+p.path("broken")+":"+get(c.Environ, "PATH"))
		}, "goroot"},
		{"not in PATH, in a usual place", func(p *place, c *Config) {
			p.install("sdk/go1.26.1", "go1.26.1")
			p.install("sdk/go1.26.3", "go1.26.3")
			c.Environ = replace(c.Environ, "PATH="+p.path("bin"))
			c.Places = []string{p.path("sdk/go*/bin/go")}
		}, "sdk/go1.26.3"},
		{"a Python package's, where there is no other", func(p *place, c *Config) {
			p.install("venv/lib/python3.12/site-packages/go", "go1.27.3")
			c.Environ, c.Python = replace(c.Environ, "PATH="+p.path("bin")), p.path("venv")
		}, "venv/lib/python3.12/site-packages/go"},
		{"a Python package's behind PATH's", func(p *place, c *Config) {
			p.install("venv/lib/python3.12/site-packages/go", "go1.27.3")
			c.Python = p.path("venv")
		}, "goroot"},
		{"GOTOOLCHAIN names one that cannot be had", func(_ *place, c *Config) {
			c.Environ = append(c.Environ, "GOTOOLCHAIN=go1.99.0", "FAKE_FAIL_env=go: download go1.99.0: toolchain not available\n")
		}, "goroot"},
		{"built from Go's development", func(p *place, _ *Config) { p.write("goroot/VERSION", "devel go1.28-abcdef", 0o644) }, "goroot"},
		{"a folder of that name beside the notebook", func(p *place, c *Config) {
			c.Environ = replace(c.Environ, "PATH=.:"+get(c.Environ, "PATH"))
		}, "goroot"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newPlace(t)
			config := p.config()
			c.setup(p, &config)
			got, err := New(config).findToolchain(t.Context(), "go1.26.0")
			if err != nil || got.root != p.path(c.want) {
				t.Errorf("got %s, %v, want %s", got.root, err, p.path(c.want))
			}
		})
	}
}

// TestCompilerOfAPackage: package ziglang's is the C compiler where there is no other.
func TestCompilerOfAPackage(t *testing.T) {
	p := newPlace(t)
	config := p.config()
	zig := "venv/lib/python3.12/site-packages/ziglang/zig"
	p.write(zig, "#!/bin/sh\necho \"clang version 21, called with $*\"\n", 0o755)
	config.Python = p.path("venv")
	for path, want := range map[string]string{p.path("bin"): p.path("bin/gcc"), p.path("none"): p.path(zig) + " cc"} {
		config.Environ = replace(config.Environ, "PATH="+path)
		got, err := New(config).findCompiler(t.Context(), toolchain{})
		if err != nil || got.command != want {
			t.Errorf("PATH=%s: got %q, %v, want %q", path, got.command, err, want)
		}
		if path == p.path("none") && got.version != "clang version 21, called with cc --version" {
			t.Errorf("it says %q", got.version)
		}
	}
}

// TestObstacles: what stands in the way is told in one sentence that says what is missing and what to do.
func TestObstacles(t *testing.T) {
	for _, c := range []struct {
		name  string
		setup func(p *place, c *Config)
		want  string
	}{
		{"no toolchain", func(p *place, c *Config) { c.Environ = replace(c.Environ, "PATH="+p.path("bin")) }, "no Go toolchain was found"},
		{"an older toolchain", func(p *place, _ *Config) { p.install("goroot", "go1.22.1") }, "go1.22.1 in "},
		{"a toolchain that does not run", func(p *place, c *Config) {
			p.write("broken/go", "#!/bin/sh\necho cannot execute binary >&2\nexit 3\n", 0o755)
			c.Environ = replace(c.Environ, "PATH="+p.path("broken"))
		}, "cannot execute binary"},
		{"another program called go", func(p *place, c *Config) {
			p.write("game/go", "#!/bin/sh\necho black plays first\n", 0o755)
			c.Environ = replace(c.Environ, "PATH="+p.path("game"))
		}, "is not Go's command"},
		{"a toolchain without a linker", func(p *place, _ *Config) { _ = os.Remove(p.path("goroot/tool/link")) }, "incomplete"},
		{"no C compiler", func(p *place, c *Config) { c.Environ = replace(c.Environ, "PATH="+p.path("goroot/bin")) }, "no C compiler was found"},
		{"a C compiler that does not run", func(p *place, _ *Config) {
			p.write("bin/gcc", "#!/bin/sh\necho no licence >&2\nexit 1\n", 0o755)
		}, "no licence"},
		{"a cache below a file", func(p *place, c *Config) { c.Folder = p.path("goroot/VERSION/engines") }, "below a file"},
		{"a cache that cannot be written", func(_ *place, c *Config) { c.Folder = "/proc/engines" }, "/proc/engines"},
		{"offline with an empty module cache", failing("list", `go: example.com/x@v1.0.0: Get "https://proxy.golang.org/x": dial tcp: lookup proxy.golang.org: no such host`), "could not be fetched (no such host)"},
		{"GOPROXY=off", failing("list", "go: example.com/x@v1.0.0: module lookup disabled by GOPROXY=off"), "GOPROXY=off forbids"},
		{"a proxy that refuses", failing("list", "go: x@v1.0.0: reading https://proxy/x: 403 Forbidden"), "403 Forbidden"},
		{"no C library", failing("list", "# runtime/cgo\n_cgo_export.c:3:10: fatal error: stdlib.h: No such file or directory\n"), "lacks the header stdlib.h"},
		{"a full disk", failing("build", "write $WORK/b001/x.a: no space left on device"), "no room left"},
		{"memory", failing("build", "# cancha/internal/symbols/std\n/usr/local/go/pkg/tool/compile: signal: killed\n"), "want of memory"},
		{"Go's cache cannot be written", failing("list", "failed to initialize build cache at /x: mkdir /x: permission denied"), "Go's caches cannot be written"},
		{"anything else", failing("build", "# cancha/kernel\nkernel/x.go:3:5: undefined: y\n"), "undefined: y"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newPlace(t)
			config := p.config()
			c.setup(p, &config)
			_, err := New(config).Ensure(t.Context(), nil, func(string) {})
			var o *Obstacle
			if !errors.As(err, &o) {
				t.Fatalf("got %v, want an obstacle", err)
			}
			if got := err.Error(); !strings.Contains(got, c.want) || strings.Contains(strings.TrimSpace(got), "\n") || o.Advice == "" {
				t.Errorf("got %q, want one sentence with %q and advice", got, c.want)
			}
			if _, err := os.Stat(config.Folder); err == nil {
				checkNoDebris(t, config.Folder)
			}
		})
	}
}

// failing makes a subcommand of the go command fail with a text.
func failing(subcommand, text string) func(*place, *Config) {
	return func(_ *place, c *Config) { c.Environ = append(c.Environ, "FAKE_FAIL_"+subcommand+"="+text) }
}

// checkNoDebris: what could not be built leaves no sources or archives behind.
func checkNoDebris(t *testing.T, folder string) {
	t.Helper()
	size, err := sizeOf(folder)
	if err != nil || size > 10_000 {
		t.Errorf("%d bytes left, %v", size, err)
	}
}

// Without HOME there is no cache folder, and no reason to end.
func TestNoHome(t *testing.T) {
	t.Setenv("HOME", "")
	t.Setenv("XDG_CACHE_HOME", "")
	p := newPlace(t)
	c := p.config()
	c.Folder = ""
	_, err := New(c).Ensure(t.Context(), nil, func(string) {})
	if !errors.As(err, new(*Obstacle)) || !strings.Contains(err.Error(), "set HOME") {
		t.Errorf("got %v", err)
	}
}
