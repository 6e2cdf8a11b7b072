package workspace_test

import (
	"os"
	"testing"
	"time"

	"cancha"
	"cancha/internal/symbols"
	"cancha/kernel/workspace"
)

// program is this one, as cmd/cancha has it built.
func program() workspace.Config {
	return workspace.Config{Sources: cancha.Sources(), Program: "./cmd/cancha", Version: "test", Packages: func() []string { return []string{"time/tzdata"} }}
}

func importable() (all []string) {
	for _, p := range symbols.Packages() {
		if p.Path != "unsafe" {
			all = append(all, p.Path)
		}
	}
	return all
}

// TestReal builds this program's own workspace with the toolchain of this machine, and one with a module added. It takes a
// minute, so only scripts/places.sh runs it.
func TestReal(t *testing.T) {
	if os.Getenv("CANCHA_PLACES") == "" {
		t.Skip("scripts/places.sh sets CANCHA_PLACES")
	}
	c := program()
	ensure := func(modules ...workspace.Module) *workspace.Workspace {
		t.Helper()
		begin := time.Now()
		w, err := workspace.New(c).Ensure(t.Context(), modules, func(string) {})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(w.Close)
		t.Logf("%v: %.1f s", modules, time.Since(begin).Seconds())
		return w
	}
	plain := ensure()
	all, err := workspace.Packages(plain.Importcfg)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range importable() {
		if all[p] == "" {
			t.Errorf("cells may import %s, and it has not been compiled", p)
		}
	}
	s := workspace.New(c)
	start, err := s.Open(plain.Dir)
	if err != nil {
		t.Fatal(err)
	}
	added, err := s.Extend(t.Context(), start, workspace.Want{Path: "github.com/google/uuid", Version: "v1.6.0"}, func(string) {})
	if err != nil {
		t.Fatal(err)
	}
	defer added.Close()
	all, err = workspace.Packages(added.Manifest.Importcfg)
	if err != nil || all["github.com/google/uuid"] == "" {
		t.Errorf("the added package has not been compiled: %v", err)
	}
	ensure(workspace.Module{Path: "github.com/google/uuid", Version: "v1.6.0"})
	ensure()
}

// BenchmarkFind is what a session's start pays where the workspace is there: 5 ms is the limit that we have set ourselves.
func BenchmarkFind(b *testing.B) {
	s := workspace.New(program())
	w, err := s.Find(b.Context(), nil)
	if err != nil {
		b.Skip("TestReal builds the workspace that this looks for: ", err)
	}
	w.Close()
	for b.Loop() {
		w, err := s.Find(b.Context(), nil)
		if err != nil {
			b.Fatal(err)
		}
		w.Close()
	}
}
