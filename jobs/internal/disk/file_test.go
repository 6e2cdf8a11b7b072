package disk

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func open(t *testing.T) *File {
	t.Helper()
	f, err := Open(filepath.Join(t.TempDir(), "file"), Options{Form: "1", Buckets: []string{"b"}})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func put(tx *Tx) error { return tx.Bucket([]byte("b")).Put([]byte("k"), []byte("v")) }

// TestAnew: after a commit that failed the file tells whether it is there. (What fails there is a disk's sync, which a test cannot have fail.)
func TestAnew(t *testing.T) {
	f := open(t)
	if err := f.Write(0, put); err != nil {
		t.Fatal(err)
	}
	failed := errors.New("sync failed")
	if written, err := f.anew(failed); written || err != nil {
		t.Errorf("nothing was written: got %v, %v", written, err)
	}
	f.batch-- // as if the one that is there had failed
	if written, err := f.anew(failed); !written || err != nil {
		t.Errorf("it is there: got %v, %v", written, err)
	}
	if err := f.Write(0, put); err != nil {
		t.Errorf("afterwards: %v", err)
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
}

// TestBroken: a file that cannot be opened anew is left alone, and each call says why.
func TestBroken(t *testing.T) {
	f := open(t)
	if err := errors.Join(os.Remove(f.path), os.WriteFile(f.path, []byte(strings.Repeat("another file\n", 1000)), 0o600)); err != nil {
		t.Fatal(err)
	}
	failed := errors.New("sync failed")
	_, anew := f.anew(failed)
	written := f.Write(0, put)
	read := f.Read(func(*Tx) error { return nil })
	for what, err := range map[string]error{"anew": anew, "write": written, "read": read} {
		if !errors.Is(err, failed) || !strings.Contains(err.Error(), "cannot be opened anew") {
			t.Errorf("%s: got %v", what, err)
		}
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
}
