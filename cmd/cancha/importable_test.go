//go:build !windows

package main

import (
	"os/exec"
	"slices"
	"strings"
	"testing"

	"cancha/cmd/internal/own"
	"cancha/internal/symbols"
)

// TestImportable: what cells may import is linked into the engine, or built beside it: else a compiled cell would find no archive.
func TestImportable(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", "-tags", "workspace", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	have := append(strings.Fields(string(out)), own.Workspace().Packages()...)
	for _, p := range symbols.Packages() {
		if !slices.Contains(have, p.Path) {
			t.Errorf("cells may import %s, and neither is the engine made of it nor is it built beside", p.Path)
		}
	}
}

// TestRoomsOnImport: a room that is compiled when a cell imports it has no symbols, and the engine is not made of it.
func TestRoomsOnImport(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", "-tags", "workspace", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	have := strings.Fields(string(out))
	for _, path := range own.OnImport() {
		if slices.Contains(have, path) {
			t.Errorf("%s is in the program", path)
		}
		if slices.ContainsFunc(symbols.Packages(), func(p symbols.Package) bool { return p.Path == path }) {
			t.Errorf("%s has symbols", path)
		}
	}
}
