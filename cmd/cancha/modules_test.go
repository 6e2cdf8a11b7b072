//go:build !windows

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cancha/kernel/eval"
	"cancha/kernel/workspace"
)

// TestHas: what is compiled can be imported, but for what Go keeps from others.
func TestHas(t *testing.T) {
	m := &modules{
		held: func() (map[string]workspace.Package, error) {
			return map[string]workspace.Package{
				"golang.org/x/sync/errgroup":       {Path: "golang.org/x/sync/errgroup", Name: "errgroup"},
				"golang.org/x/text/internal/tag":   {Path: "golang.org/x/text/internal/tag", Name: "tag"},
				"vendor/golang.org/x/net/idna":     {Path: "vendor/golang.org/x/net/idna", Name: "idna"},
				"example.com/internals/not/really": {Path: "example.com/internals/not/really", Name: "really"},
			}, nil
		},
		now: &workspace.Extension{Packages: []workspace.Package{{Path: "github.com/spf13/pflag", Name: "pflag"}}},
	}
	for path, want := range map[string]bool{
		"golang.org/x/sync/errgroup": true, "github.com/spf13/pflag": true, "example.com/internals/not/really": true,
		"golang.org/x/text/internal/tag": false, "vendor/golang.org/x/net/idna": false, "github.com/spf13/cobra": false,
	} {
		if _, got, err := m.has(eval.ModuleRequest{Path: path}); got != want || err != nil {
			t.Errorf("%s: got %v (%v), want %v", path, got, err, want)
		}
	}
}

// TestWant: what cells write becomes a package, a module, or a line of what is wrong with it.
func TestWant(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "go.mod"), []byte("module example.com/local // here\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	m := &modules{store: workspace.New(workspace.Config{Environ: []string{}})}
	for _, c := range []struct {
		name string
		r    eval.ModuleRequest
		want workspace.Want
		err  string
	}{
		{"a package", eval.ModuleRequest{Path: "github.com/google/uuid"}, workspace.Want{Path: "github.com/google/uuid"}, ""},
		{"a module", eval.ModuleRequest{Path: "github.com/google/uuid", Get: true}, workspace.Want{Path: "github.com/google/uuid", Module: true}, ""},
		{"its version", eval.ModuleRequest{Path: "github.com/google/uuid@v1.6.0", Get: true}, workspace.Want{Path: "github.com/google/uuid", Version: "v1.6.0", Module: true}, ""},
		{"a folder", eval.ModuleRequest{Path: dir, Get: true}, workspace.Want{Path: "example.com/local", Dir: dir, Module: true}, ""},
		{"no module's folder", eval.ModuleRequest{Path: filepath.Join(dir, "x"), Get: true}, workspace.Want{}, "there is no folder"},
		{"a version in an import", eval.ModuleRequest{Path: "github.com/google/uuid@v1.6.0"}, workspace.Want{}, `write import "github.com/google/uuid", and %get github.com/google/uuid@v1.6.0 before it`},
		{"nothing behind the @", eval.ModuleRequest{Path: "github.com/google/uuid@", Get: true}, workspace.Want{}, "no version after its @"},
		{"an internal package", eval.ModuleRequest{Path: "golang.org/x/text/internal/tag"}, workspace.Want{}, "golang.org/x/text/internal/tag is internal: only packages below golang.org/x/text may import it"},
		{"no path", eval.ModuleRequest{Path: "uuid", Get: true}, workspace.Want{}, "not a module path"},
	} {
		got, err := m.want(t.Context(), c.r)
		switch {
		case c.err == "" && (err != nil || got.Path != c.want.Path || got.Version != c.want.Version || got.Dir != c.want.Dir || got.Module != c.want.Module):
			t.Errorf("%s: got %+v, %v, want %+v", c.name, got, err, c.want)
		case c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)):
			t.Errorf("%s: got %v, want in it %q", c.name, err, c.err)
		}
	}
}
