package workspace

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestSwitchOff(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"assembly", "//go:build gc && !noasm\n\nTEXT x\n", "//go:build gc && !workspace\n\nTEXT x\n"},
		{"instead of it", "//go:build (!amd64 && !arm64) || noasm\n\npackage x\n", "//go:build (!amd64 && !arm64) || workspace\n\npackage x\n"},
		{"two tags", "//go:build !appengine && !purego\n", "//go:build !workspace && !workspace\n"},
		{"another word", "//go:build noasmx\n", "//go:build noasmx\n"},
		{"no constraint", "package x\n\n// noasm\n", "package x\n\n// noasm\n"},
	} {
		if got := string(switchOff([]byte(c.text))); got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}

// A module whose assembly is refused is replaced by a copy that does without.
func TestWithoutAssembly(t *testing.T) {
	p := newPlace(t)
	p.write("asm/go.mod", "module example.com/asm\n", 0o444)
	p.write("asm/x_amd64.s", "//go:build !purego\n", 0o444)
	p.write("asm/x_test.go", "package asm\n", 0o444)
	p.vars = []string{"FAKE_CLOBBERED=" + p.path("asm")}
	w := p.ensure(p.store())
	text, err := os.ReadFile(filepath.Join(w.Dir, "modules", "example.com", "asm@v1.0.0", "x_amd64.s"))
	if err != nil || string(text) != "//go:build !workspace\n" {
		t.Errorf("got %q, %v", text, err)
	}
	if _, err := os.Stat(filepath.Join(w.Dir, "modules", "example.com", "asm@v1.0.0", "x_test.go")); err == nil {
		t.Error("tests were copied")
	}
	cfg, err := os.ReadFile(w.Importcfg)
	if err != nil || !strings.Contains(string(cfg), "packagefile example.com/asm=") {
		t.Errorf("importcfg: got %q, %v", cfg, err)
	}
	if n := len(p.calls("mod")); n != 1 {
		t.Errorf("go.mod was edited %d times, want once", n)
	}
}
