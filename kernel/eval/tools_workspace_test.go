//go:build workspace

package eval_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"cancha/kernel/eval/native"
)

// tools are what cells are compiled with, by the workspace that CANCHA_WORKSPACE names; without one the tests are skipped,
// since the same tests interpreted are run without the build tag.
func tools(t testing.TB) *native.Toolchain {
	t.Helper()
	folder := os.Getenv("CANCHA_WORKSPACE")
	if folder == "" {
		t.Skip("CANCHA_WORKSPACE names no workspace")
	}
	raw, err := os.ReadFile(filepath.Join(folder, "workspace.json"))
	if err != nil {
		t.Fatal(err)
	}
	var tools native.Toolchain
	if err := json.Unmarshal(raw, &tools); err != nil {
		t.Fatal(err)
	}
	return &tools
}

// once skips a test to which it makes no difference whether cells are compiled.
func once(t testing.TB) {
	t.Helper()
	t.Skip("the same with cells compiled")
}

// longCompiled skips in short a test that takes long where cells are compiled.
func longCompiled(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("takes seconds")
	}
}
