package library

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
)

// sources are a program's, in small.
func sources(version string) fstest.MapFS {
	files := fstest.MapFS{}
	for name, text := range map[string]string{
		"go.mod": "module cancha\n\ngo 1.26.0\n", "go.sum": "", "LICENSE": "a licence\n", "embed.go": "package cancha\n",
		"stream/stream.go": "package stream\n\nconst Version = \"" + version + "\"\n", "internal/symbols/wing/table.go": "package wing\n",
		"internal/blas/blas.go": "package blas\n", "cmd/cancha/main.go": "package main\n", "kernel/kernel.go": "package kernel\n",
	} {
		files[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return files
}

// module is a folder with a go.mod.
func module(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "go.mod"), []byte("module example.com/live\n\ngo 1.26.0\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestWrite: the library alone is written, a module requires it, and a newer one takes the place of an older.
func TestWrite(t *testing.T) {
	dir := module(t)
	for _, version := range []string{"1", "2"} {
		if err := Write(sources(version), dir); err != nil {
			t.Fatal(err)
		}
	}
	var got []string
	err := filepath.WalkDir(filepath.Join(dir, Folder), func(name string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			within, _ := filepath.Rel(dir, name)
			got = append(got, filepath.ToSlash(within))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	want := "cancha/.written cancha/LICENSE cancha/go.mod cancha/go.sum cancha/internal/blas/blas.go cancha/stream/stream.go"
	if strings.Join(got, " ") != want {
		t.Errorf("wrote %v, want %s", got, want)
	}
	if text, _ := os.ReadFile(filepath.Join(dir, "cancha/stream/stream.go")); !strings.Contains(string(text), `"2"`) {
		t.Errorf("the older library stayed: %s", text)
	}
	mod, _ := os.ReadFile(filepath.Join(dir, "go.mod"))
	for _, line := range []string{"require cancha v0.0.0", "replace cancha => ./cancha"} {
		if strings.Count(string(mod), line) != 1 {
			t.Errorf("go.mod lacks %q:\n%s", line, mod)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(dir, ".cancha-*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// TestWriteRefuses: nothing that Write has not written is lost.
func TestWriteRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		before func(dir string) error
		want   string
	}{
		"no module": {func(dir string) error { return os.Remove(filepath.Join(dir, "go.mod")) }, "go mod init"},
		"the library": {func(dir string) error {
			return os.WriteFile(filepath.Join(dir, "go.mod"), []byte("module cancha\n\ngo 1.26.0\n"), 0o644)
		}, "is the library itself"},
		"another one": {func(dir string) error { return write(dir, "cancha/notes.txt") }, "was not written there"},
		"a file":      {func(dir string) error { return write(dir, "cancha") }, "cancha"},
		"an edit": {func(dir string) error {
			if err := Write(sources("1"), dir); err != nil {
				return err
			}
			return write(dir, "cancha/stream/stream.go")
		}, "has been changed"},
		"a file of one's own": {func(dir string) error {
			if err := Write(sources("1"), dir); err != nil {
				return err
			}
			return write(dir, "cancha/stream/mine.go")
		}, "has been changed"},
	} {
		dir := module(t)
		if err := c.before(dir); err != nil {
			t.Fatal(err)
		}
		err := Write(sources("2"), dir)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

func write(dir, name string) error {
	name = filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	return os.WriteFile(name, []byte("mine\n"), 0o644)
}
