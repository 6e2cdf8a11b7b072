package folder_test

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"cancha/jobs/folder"
	"cancha/jobs/worker"
)

const secret = "nobody's business"

// works makes a folder of a worker, with ways out of it, and what lies outside.
func works(t *testing.T) (f *folder.Folder, dir, outside string) {
	t.Helper()
	dir, outside = t.TempDir(), t.TempDir()
	put := func(path, text string) {
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	put(filepath.Join(outside, "secret"), secret)
	put(filepath.Join(dir, "plain"), "plain")
	put(filepath.Join(dir, "sub", "deep"), "deep")
	for link, to := range map[string]string{
		"file-out": filepath.Join(outside, "secret"), "dir-out": outside, "up": "..", "chain": "dir-out", "nowhere": "not-there",
		"new-out": filepath.Join(outside, "new"),
		"loop":    "loop", "file-in": "sub/deep", "dir-in": "sub", "sub/back": "../plain", "sub/out": "../../" + filepath.Base(outside), "self": dir,
	} {
		if err := os.Symlink(to, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("pipe", filepath.Join(dir, "pipe-in")); err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir) // the path of a socket is short
	l, err := net.Listen("unix", "socket")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	if f, err = folder.Open(dir); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return f, dir, outside
}

// TestRead: regular files of the folder are read, also by links that stay inside, and nothing else is; nothing waits for a pipe.
func TestRead(t *testing.T) {
	f, dir, outside := works(t)
	if err := errors.Join(os.WriteFile(filepath.Join(dir, "large"), nil, 0o600),
		os.Truncate(filepath.Join(dir, "large"), 20<<30)); err != nil { // it takes no room
		t.Fatal(err)
	}
	for _, c := range []struct{ name, want, fail string }{
		{"plain", "plain", ""},
		{"sub/deep", "deep", ""},
		{"./sub/../plain", "plain", ""},
		{"file-in", "deep", ""},
		{"dir-in/deep", "deep", ""},
		{"sub/back", "plain", ""},
		{"file-out", "", "file-out leads out of the worker's folder: path escapes"},
		{"dir-out/secret", "", "escapes"},
		{"chain/secret", "", "escapes"},
		{"self/plain", "", "escapes"},
		{"up/plain", "", "escapes"},
		{"sub/out/secret", "", "escapes"},
		{filepath.Join(outside, "secret"), "", "no file inside"},
		{"../" + filepath.Base(outside) + "/secret", "", "no file inside"},
		{"sub/../../x", "", "no file inside"},
		{"", "", "no file inside"},
		{"plain\x00", "", "invalid"},
		{strings.Repeat("x", 300), "", "too long"},
		{"none", "", "there is no none in the worker's folder: no such file"},
		{"large", "", "large has more than 64 MB"},
		{"nowhere", "", "no such file"},
		{"plain/x", "", "not a directory"},
		{"loop", "", "too many"},
		{"sub", "", "is a folder, and no file"},
		{"pipe", "", "is a pipe, and no file"},
		{"pipe-in", "", "is a pipe, and no file"},
		{"socket", "", "is a socket, and no file"},
	} {
		got, err := f.ReadFile(c.name)
		if string(got) != c.want || (err == nil) != (c.fail == "") {
			t.Errorf("%q: got %q, %v, want %q %s", c.name, got, err, c.want, c.fail)
		}
		if err != nil && (!worker.IsFinal(err) || !strings.Contains(err.Error(), c.fail)) {
			t.Errorf("%q: got %v (final: %v), want a final error with %q", c.name, err, worker.IsFinal(err), c.fail)
		}
	}
}

// TestGone: a folder that is gone while a job runs is not taken for one without the file, and may come again.
func TestGone(t *testing.T) {
	f, dir, _ := works(t)
	for _, step := range []struct {
		what string
		do   func() error
	}{
		{"gone", func() error { return os.Rename(dir, dir+".old") }},
		{"another is there", func() error { return os.Mkdir(dir, 0o700) }},
	} {
		if err := step.do(); err != nil {
			t.Fatal(err)
		}
		if _, err := f.ReadFile("none"); err == nil || worker.IsFinal(err) || !strings.Contains(err.Error(), "the worker's folder "+dir+" is gone") {
			t.Errorf("%s: got %v", step.what, err)
		}
	}
}

// TestDir: a process works in folders of the folder alone.
func TestDir(t *testing.T) {
	f, dir, _ := works(t)
	for name, want := range map[string]string{".": dir, "sub": filepath.Join(dir, "sub"), "dir-in": filepath.Join(dir, "dir-in"),
		"dir-out": "", "self": "", "..": "", "plain": "", "none": "", "pipe": ""} {
		if got, err := f.Dir(name); got != want || (err == nil) != (want != "") || err != nil && !worker.IsFinal(err) {
			t.Errorf("%q: got %q, %v, want %q", name, got, err, want)
		}
	}
	if all, err := f.Names("sub"); err != nil || fmt.Sprint(all) != "[back deep out]" {
		t.Errorf("got %v, %v", all, err)
	}
	if _, err := f.Names("dir-out"); err == nil {
		t.Error("the names of elsewhere are told")
	}
	for _, name := range []string{"none", "plain", "pipe"} {
		if f, err := folder.Open(filepath.Join(dir, name)); err == nil {
			t.Errorf("%s: %v is a folder", name, f)
		}
	}
}

// TestWrite: a job writes new files, and replaces those of jobs, and no others; links lead it nowhere.
func TestWrite(t *testing.T) {
	f, dir, outside := works(t)
	for _, c := range []struct{ name, fail string }{
		{"new", ""},
		{"a/b/c", ""},
		{"dir-in/new", ""},
		{"new", ""}, // the same job again, or another one
		{"plain", "plain is there, and no job has written it"},
		{"sub/deep", "no job has written it"},
		{"file-in", "is a link"},
		{"file-out", "is a link"},
		{"new-out", "is a link"},
		{"nowhere", "is a link"},
		{"dir-out/new", "escapes"},
		{"dir-out/sub/new", "escapes"},
		{"up/new", "escapes"},
		{"sub/out/new", "escapes"},
		{"sub", "is a folder"},
		{"pipe", "is a pipe"},
		{"socket", "is a socket"},
		{"plain/new", "plain"},
		{"../new", "no file inside"},
		{filepath.Join(outside, "new"), "no file inside"},
		{".", "is a folder"},
		{".hidden", "begin with a dot"},
		{".cancha/written/x", "begin with a dot"},
		{"sub/.git/hooks/pre-commit", "begin with a dot"},
		{strings.Repeat("x", 300), "too long"},
	} {
		for what, err := range map[string]error{"may write": f.MayWrite(c.name), "write": f.Write("j", c.name, []byte("of a job, "+c.name))} {
			if (err == nil) != (c.fail == "") || err != nil && (!worker.IsFinal(err) || !strings.Contains(err.Error(), c.fail)) {
				t.Errorf("%s %q: got %v, want %q", what, c.name, err, c.fail)
			}
		}
		if got, err := f.ReadFile(c.name); c.fail == "" && (err != nil || string(got) != "of a job, "+c.name) {
			t.Errorf("%s: got %q, %v", c.name, got, err)
		}
	}
	untouched(t, dir, outside)
	if err := os.WriteFile(filepath.Join(dir, "new"), []byte("a person's"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := f.Write("k", "new", nil); err == nil || !worker.IsFinal(err) || !strings.Contains(err.Error(), `new has been changed since job "j" wrote it`) {
		t.Errorf("a file that a person has changed: %v", err)
	}
	if err := errors.Join(os.Remove(filepath.Join(dir, "new")), f.Write("k", "new", nil)); err != nil {
		t.Errorf("a file that was moved away: %v", err)
	}
}

// untouched looks that what was there is as it was, and that nothing new lies outside or is left of what was refused.
func untouched(t *testing.T, dir, outside string) {
	t.Helper()
	for path, want := range map[string]string{filepath.Join(outside, "secret"): secret, filepath.Join(dir, "plain"): "plain",
		filepath.Join(dir, "sub/deep"): "deep"} {
		if got, err := os.ReadFile(path); err != nil || string(got) != want {
			t.Errorf("%s: got %q, %v, want %q", path, got, err, want)
		}
	}
	if all, err := os.ReadDir(outside); err != nil || len(all) != 1 {
		t.Errorf("outside: got %v, %v, want the secret alone", all, err)
	}
	_ = filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || strings.HasPrefix(e.Name(), ".draft-") {
			t.Errorf("left behind: %s, %v", path, err)
		}
		return nil
	})
}

// TestKilledWrite: what a kill between the note and the file leaves is known, whichever file it is.
func TestKilledWrite(t *testing.T) {
	f, dir, _ := works(t)
	if err := f.Write("j", "out", []byte("first")); err != nil {
		t.Fatal(err)
	}
	first, err := os.ReadFile(filepath.Join(dir, "out"))
	if err == nil {
		err = f.Write("j", "out", []byte("second"))
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "out"), first, 0o644) // as before the second one had its place
	}
	if err == nil {
		err = f.Write("j", "out", []byte("second"))
	}
	if err != nil {
		t.Errorf("the attempt after a kill: %v", err)
	}
	if err := os.WriteFile(filepath.Join(dir, "out"), first, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(f.Write("j", "out", []byte("third")), f.Write("j", "out", []byte("fourth"))); err != nil {
		t.Error(err)
	}
}

// TestTogether: jobs that write one file at the same time leave one of theirs, which the next may replace.
func TestTogether(t *testing.T) {
	f, dir, _ := works(t)
	var all sync.WaitGroup
	for i := range 16 {
		all.Go(func() {
			other, err := folder.Open(dir) // as another process
			if err == nil {
				err = errors.Join(other.MayWrite("out"), other.Write(fmt.Sprint(i), "out", fmt.Append(nil, i)), other.MayWrite("out"), other.Close())
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if err := f.Write("last", "out", []byte("last")); err != nil {
		t.Error(err)
	}
}

// TestNameOf: no id is a way elsewhere, or hidden.
func TestNameOf(t *testing.T) {
	for id, want := range map[string]string{"a b": "a%20b", "../model": "..%2Fmodel", "plain-1": "plain-1", ".x": "%2Ex", ".": ".", "a\x00": "a%00"} {
		if got := folder.NameOf(id); got != want {
			t.Errorf("%q: got %q, want %q", id, got, want)
		}
	}
}

// TestHostile makes random names of pieces that lead astray: nothing outside is read or written, and no file of a person is replaced.
func TestHostile(t *testing.T) {
	f, dir, outside := works(t)
	seed := rand.Uint64()
	r := rand.New(rand.NewPCG(seed, 0))
	pieces := []string{"..", ".", "", "plain", "sub", "deep", "file-out", "dir-out", "chain", "up", "self", "dir-in", "file-in", "pipe",
		"socket", "new", "new-out", "loop", "nowhere", "secret",
		filepath.Base(outside), outside, ".cancha", "written", "\x00", "a\nb", "~", "proc", "%2e%2e", `..\..`}
	for range 1500 {
		var parts []string
		for range 1 + r.IntN(4) {
			parts = append(parts, pieces[r.IntN(len(pieces))])
		}
		name := strings.Join(parts, "/")
		if text, err := f.ReadFile(name); strings.Contains(string(text), secret) || err != nil && !worker.IsFinal(err) {
			t.Errorf("seed %d: %q: got %q, %v", seed, name, text, err)
		}
		if err := f.Write("h", name, []byte("hostile")); err != nil && !worker.IsFinal(err) {
			t.Errorf("seed %d: %q: %v", seed, name, err)
		}
	}
	untouched(t, dir, outside)
}
