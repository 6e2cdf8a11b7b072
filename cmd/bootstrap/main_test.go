package main

import (
	"bytes"
	"os"
	"path/filepath"
	"sync"
	"testing"
)

// Two builds of one checkout may end at once: each must find the file whole, and leave nothing else.
func TestPutByManyAtOnce(t *testing.T) {
	folder := t.TempDir()
	from, file := filepath.Join(folder, "engine"), filepath.Join(folder, "bin", "cancha")
	want := bytes.Repeat([]byte("engine "), 1<<17)
	if err := os.WriteFile(from, want, 0o600); err != nil {
		t.Fatal(err)
	}
	var builds sync.WaitGroup
	for range 8 {
		builds.Go(func() {
			if err := put(from, file); err != nil {
				t.Error(err)
			}
		})
	}
	builds.Wait()
	got, err := os.ReadFile(file)
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("got %d bytes (%v), want %d", len(got), err, len(want))
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm()&0o111 == 0 {
		t.Errorf("got %v (%v), want a program", info.Mode(), err)
	}
	if left, err := os.ReadDir(filepath.Dir(file)); err != nil || len(left) != 1 {
		t.Errorf("got %v (%v), want the program alone", left, err)
	}
}
