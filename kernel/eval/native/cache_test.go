package native

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// keepCell puts a built cell of a size into a folder, used so long ago.
func keepCell(t *testing.T, folder, name string, size int, ago time.Duration) {
	t.Helper()
	dir := filepath.Join(folder, name)
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "cell.so"), make([]byte, size), 0o600); err != nil {
		t.Fatal(err)
	}
	setUsed(t, dir, ago)
}

func setUsed(t *testing.T, name string, ago time.Duration) {
	t.Helper()
	at := time.Now().Add(-ago)
	if err := os.Chtimes(name, at, at); err != nil {
		t.Fatal(err)
	}
}

// left lists the cells in a folder.
func left(t *testing.T, folder string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.IsDir() {
			names = append(names, e.Name())
		}
	}
	return names
}

// running leaves the mark of an engine that began so long ago.
func running(t *testing.T, folder string, ago time.Duration) *Cells {
	t.Helper()
	c := OpenCells(folder)
	c.sweep.Wait()
	if c.mark == nil {
		t.Fatal("the engine has no mark")
	}
	setUsed(t, c.mark.Name(), ago)
	return c
}

func TestSweepCells(t *testing.T) {
	tests := []struct {
		name   string
		engine time.Duration // a running one began so long ago; 0: none
		limit  int64
		want   string
	}{
		{"all fit", 0, 400, "a b c d"},
		{"the oldest go", 0, 250, "c d"},
		{"all go", 0, 0, ""},
		{"what an engine may have used stays", 150 * time.Minute, 0, "c d"},
		{"what an older engine may have used stays", 24 * time.Hour, 0, "a b c d new-1 old-x"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			folder := t.TempDir()
			if tt.engine > 0 {
				defer running(t, folder, tt.engine).Close()
			}
			for i, name := range []string{"d", "c", "b", "a"} {
				keepCell(t, folder, name, 100, time.Duration(i+1)*time.Hour)
			}
			keepCell(t, folder, beingBuilt+"1", 100, 5*time.Hour)
			keepCell(t, folder, beingRemoved+"x", 100, 5*time.Hour)
			sweepCells(t.Context(), folder, tt.limit)
			if got := strings.Join(left(t, folder), " "); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

// An engine that was killed leaves its mark, which protects nothing and goes.
func TestSweepCellsOfDeadEngine(t *testing.T) {
	folder := t.TempDir()
	dead := running(t, folder, 24*time.Hour)
	_ = dead.mark.Close() // as the system does
	keepCell(t, folder, "a", 100, time.Hour)
	sweepCells(t.Context(), folder, 0)
	if got := left(t, folder); len(got) > 0 {
		t.Errorf("got %q, want none", got)
	}
	if _, err := os.Stat(dead.mark.Name()); !os.IsNotExist(err) {
		t.Errorf("the mark is still there: %v", err)
	}
}

// Using a cell makes it the last to go.
func TestKeptCellIsUsed(t *testing.T) {
	folder := t.TempDir()
	tools := &Toolchain{Cache: folder}
	keepCell(t, folder, "a", 100, 2*time.Hour)
	keepCell(t, folder, "b", 100, time.Hour)
	if !tools.kept(&Unit{Path: "cells/a"}) || tools.kept(&Unit{Path: "cells/x"}) {
		t.Fatal("a is kept, x is not")
	}
	sweepCells(t.Context(), folder, 100)
	if got := left(t, folder); !slices.Equal(got, []string{"a"}) {
		t.Errorf("got %q, want a", got)
	}
}

// Where the folder cannot be written, or is not there, an engine goes on without a share.
func TestOpenCellsWithoutFolder(t *testing.T) {
	c := OpenCells(filepath.Join(t.TempDir(), "none"))
	defer c.Close()
	if c.mark != nil {
		t.Error("there is a mark in a folder that is not there")
	}
}
