package file

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cancha/stream"
)

// TestSinkGone: rows do not go into a file that nobody finds under its name any more.
func TestSinkGone(t *testing.T) {
	for _, test := range []struct {
		name    string
		happens func(path string) error
		want    string // part of an error; empty: none
	}{
		{"removed", os.Remove, "removed or renamed while the query wrote it"},
		{"renamed", func(path string) error { return os.Rename(path, path+".1") }, "removed or renamed while the query wrote it"},
		{"its folder renamed", func(path string) error { return os.Rename(filepath.Dir(path), filepath.Dir(path)+".1") }, "removed or renamed while the query wrote it"},
		{"replaced", func(path string) error {
			if err := os.WriteFile(path+".new", []byte("mine\n"), 0o644); err != nil {
				return err
			}
			return os.Rename(path+".new", path)
		}, "replaced by another file while the query wrote it"},
		{"a second name", func(path string) error { return os.Link(path, path+".1") }, ""},
		{"moved, and a link in its place", func(path string) error {
			if err := os.Rename(path, path+".1"); err != nil {
				return err
			}
			return os.Symlink(path+".1", path)
		}, ""},
		{"the process has gone elsewhere", func(path string) error { return os.Chdir("/") }, ""},
	} {
		for name, sink := range map[string]func(path string) *Sink{"out.csv": CSV, "out.jsonl.gz": JSONLines, "more.csv": func(path string) *Sink { return CSV(path).Append() }} {
			for _, exact := range []bool{false, true} {
				t.Run(test.name, func(t *testing.T) {
					dir := filepath.Join(t.TempDir(), "here")
					if err := os.Mkdir(dir, 0o755); err != nil {
						t.Fatal(err)
					}
					t.Chdir(dir) // which is undone at the end
					s := sink(name)
					var err error
					if exact {
						_, err = s.Resume(t.Context(), columns(), stream.Mark{Run: "run"})
					} else {
						err = s.Open(t.Context(), columns())
					}
					if err != nil {
						t.Fatal(err)
					}
					t.Cleanup(func() { s.Close() })
					if err := s.Write(t.Context(), 1, sample()); err != nil {
						t.Fatal(err)
					}
					if err := test.happens(filepath.Join(dir, name)); err != nil {
						t.Skip(err)
					}
					for range 2 {
						err := s.Write(t.Context(), 2, sample())
						if test.want == "" && err != nil {
							t.Errorf("got %v, want no error", err)
						}
						if test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), name) || !strings.Contains(err.Error(), "start the query again")) {
							t.Errorf("got %v, want an error that says what to do, with %q", err, test.want)
						}
					}
				})
			}
		}
	}
}

// TestSinkGoneMeanwhile: a Write during which the file goes fails too.
func TestSinkGoneMeanwhile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "out.jsonl")
	s := JSONLines(path)
	encode := s.encode
	s.encode = func(dst []byte, rows *stream.Rows, from int) ([]byte, int, error) {
		os.Remove(path)
		return encode(dst, rows, from)
	}
	if err := s.Write(t.Context(), 1, sample()); err == nil || !strings.Contains(err.Error(), "removed or renamed") {
		t.Errorf("got %v, want that the file has gone", err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}
