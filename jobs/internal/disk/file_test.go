package disk

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.etcd.io/bbolt"
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

// TestHeldByAnotherProgram: bbolt's own lock counts, too.
func TestHeldByAnotherProgram(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	db, err := bbolt.Open(path, 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := Open(path, Options{Form: "1"}); !errors.Is(err, ErrHeld) {
		t.Errorf("got %v, want ErrHeld", err)
	}
}

// TestForeignFile: what is no file of ours is refused, and stays as it is.
func TestForeignFile(t *testing.T) {
	other := filepath.Join(t.TempDir(), "other.db")
	db, err := bbolt.Open(other, 0o600, nil)
	if err == nil {
		err = db.Update(func(tx *bbolt.Tx) error { _, err := tx.CreateBucket([]byte("theirs")); return err })
	}
	if err == nil {
		err = db.Close()
	}
	text, err2 := os.ReadFile(other)
	if err := errors.Join(err, err2); err != nil {
		t.Fatal(err)
	}
	ours := filepath.Join(t.TempDir(), "ours.db")
	f, err := Open(ours, Options{Form: "of later"})
	if err == nil {
		err = f.Close()
	}
	later, err2 := os.ReadFile(ours)
	if err := errors.Join(err, err2); err != nil {
		t.Fatal(err)
	}
	for what, content := range map[string][]byte{"another program's": text, "text": bytes.Repeat([]byte("no database\n"), 4000), "of another form": later} {
		path := filepath.Join(t.TempDir(), "file")
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(path, Options{Form: "1"}); err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: got %v, want an error with the path", what, err)
		}
		if left, err := os.ReadFile(path); err != nil || !bytes.Equal(left, content) {
			t.Errorf("%s: the file has changed (%v)", what, err)
		}
	}
}

// TestElsewhere: a file that was opened by a relative path stays the same one when the process goes to another folder, also when it is opened anew.
func TestElsewhere(t *testing.T) {
	t.Chdir(t.TempDir())
	hold, err := TakeHold(".")
	if err != nil {
		t.Fatal(err)
	}
	f, err := Open("file", Options{Form: "1", Buckets: []string{"b"}})
	if err != nil {
		t.Fatal(err)
	}
	elsewhere := t.TempDir()
	t.Chdir(elsewhere)
	if _, err := f.anew(errors.New("sync failed")); err != nil {
		t.Errorf("anew: %v", err)
	}
	if err := errors.Join(hold.Check(), f.Write(0, put), f.Close(), hold.Release()); err != nil {
		t.Error(err)
	}
	if left, err := os.ReadDir(elsewhere); err != nil || len(left) > 0 {
		t.Errorf("there is %v, %v", left, err)
	}
}

// TestMoved: nothing is confirmed that goes into a file which nobody will open: it was moved, removed or replaced, or its folder was.
func TestMoved(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "folder")
	path := filepath.Join(folder, "file")
	if err := MakeFolder(folder); err != nil {
		t.Fatal(err)
	}
	f, err := Open(path, Options{Form: "1", Buckets: []string{"b"}})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, what := range []string{folder, path} {
		if err := os.Rename(what, what+".away"); err != nil {
			t.Fatal(err)
		}
		f.looked = time.Time{} // as if some time had passed
		if err := f.Write(0, put); !errors.Is(err, ErrLost) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s was moved: got %v, want ErrLost", what, err)
		}
		if err := errors.Join(os.Rename(what+".away", what), f.Write(0, put)); err != nil {
			t.Errorf("%s is there again: %v", what, err)
		}
	}
	if err := errors.Join(os.Remove(path), os.WriteFile(path, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	f.looked = time.Time{}
	if err := f.Write(0, put); !errors.Is(err, ErrLost) {
		t.Errorf("another file is there: got %v, want ErrLost", err)
	}
}

// TestHalfMade: what a crash or a full disk has left of a file that was being made is in nobody's way.
func TestHalfMade(t *testing.T) {
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "file.new"), make([]byte, 5000), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := Open(filepath.Join(folder, "file"), Options{Form: "1", Buckets: []string{"b"}})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(f.Write(0, put), f.Close()); err != nil {
		t.Error(err)
	}
	if left, err := os.ReadDir(folder); err != nil || len(left) != 1 {
		t.Errorf("there is %v, %v", left, err)
	}
}

// TestEmptied: a file that has lost all is damaged, and not a new one.
func TestEmptied(t *testing.T) {
	f := open(t)
	if err := errors.Join(f.Write(0, put), f.Close(), os.Truncate(f.path, 0)); err != nil {
		t.Fatal(err)
	}
	if again, err := Open(f.path, f.options); !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), f.path) {
		t.Errorf("got %v, %v, want ErrDamaged", again, err)
	}
}
