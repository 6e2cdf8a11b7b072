package files

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestFull: an error of a full disk says what to do and stays what it is, others are left alone.
func TestFull(t *testing.T) {
	full := &fs.PathError{Op: "write", Path: "rows", Err: syscall.ENOSPC}
	if err := Full(full); !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), "make room and run again") {
		t.Errorf("got %v", err)
	}
	for _, err := range []error{nil, syscall.EACCES} {
		if got := Full(err); got != err {
			t.Errorf("got %v, want %v", got, err)
		}
	}
}

// TestNoFolder: a folder that is not there is named with what to do, also behind a link, and the error stays what it is.
func TestNoFolder(t *testing.T) {
	dir := t.TempDir()
	away := filepath.Join(dir, "away")
	link := filepath.Join(dir, "link")
	if err := os.Symlink(filepath.Join(away, "rows"), link); err != nil {
		t.Fatal(err)
	}
	_, partial := Partial(filepath.Join(away, "rows"))
	_, made := os.Create(link)
	for name, err := range map[string]error{"a partial file": partial, "a link": NoFolder(made, link)} {
		if !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "make the folder "+away+" first (os.MkdirAll)") {
			t.Errorf("%s: got %v, want %s and what to do", name, err, away)
		}
	}
	for _, err := range []error{nil, syscall.EACCES} {
		if got := NoFolder(err, link); got != err {
			t.Errorf("got %v, want %v", got, err)
		}
	}
}
