package main

import (
	"path/filepath"
	"testing"
)

// TestRunSmall: the folder is made, and what small sizes took is not where results are looked for.
func TestRunSmall(t *testing.T) {
	out := filepath.Join(t.TempDir(), "bench", "results")
	if err := run(t.Context(), out, true); err != nil {
		t.Fatal(err)
	}
	if found, err := filepath.Glob(filepath.Join(out, "small-*.json")); err != nil || len(found) != 1 {
		t.Errorf("got %v, %v, want one result", found, err)
	}
	if found, err := filepath.Glob(filepath.Join(out, "gpu-*.json")); err != nil || len(found) != 0 {
		t.Errorf("got %v, %v among the results of real sizes", found, err)
	}
}
