package folder

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"cancha/internal/flock"
)

// Where it is noted what jobs have written.
const (
	notes   = ".cancha"
	written = notes + "/written"
	lock    = notes + "/lock"
)

// note is of one file that jobs have written.
type note struct {
	File string `json:"file"`
	Job  string `json:"job"` // the last one
	// Sums are the SHA-256 of what the file may have: of what it had, and of what was about to take its place. Only a kill leaves two.
	Sums []string `json:"sha256"`
}

// MayWrite tells whether Write would write a file of this name now, and makes its folders. It is asked before work whose result has
// to go there.
func (f *Folder) MayWrite(name string) error { return f.MayWriteContext(context.Background(), name) }

// MayWriteContext is MayWrite, which waits for other jobs of this folder until a context ends.
func (f *Folder) MayWriteContext(ctx context.Context, name string) error {
	if err := f.place(name); err != nil {
		return err
	}
	err := f.locked(ctx, func() error { // or it would see the note of one moment, and the file of another
		_, _, err := f.free(name)
		return err
	})
	if err != nil {
		return err
	}
	draft, err := f.draft(name)
	if err != nil {
		return f.unwritten(name, err)
	}
	return errors.Join(draft.Close(), f.root.Remove(draftName(draft, name)))
}

// Write writes a file whole or not at all, and to disk, and makes its folders. It replaces only what a job has written; see the package's comment.
func (f *Folder) Write(job, name string, data []byte) error {
	return f.WriteContext(context.Background(), job, name, data)
}

// WriteContext is Write, which waits for other jobs of this folder until a context ends: one of another process, which may have been
// stopped, holds them up no longer than that.
func (f *Folder) WriteContext(ctx context.Context, job, name string, data []byte) error {
	if err := f.place(name); err != nil {
		return err
	}
	draft, err := f.draft(name)
	if err != nil {
		return f.unwritten(name, err)
	}
	at := draftName(draft, name)
	defer f.root.Remove(at) // gone already where it has got its place
	_, err = draft.Write(data)
	if err := errors.Join(err, draft.Sync(), draft.Close()); err != nil {
		return f.unwritten(name, err)
	}
	return f.locked(ctx, func() error { return f.put(job, name, at, data) })
}

// unwritten says of a file that it cannot be written, and why, without the names that are ours.
func (f *Folder) unwritten(name string, err error) error {
	var system syscall.Errno
	switch {
	case !errors.As(err, &system):
		return refusal(err)
	case system == syscall.EROFS || system == syscall.EACCES || system == syscall.EPERM:
		return fmt.Errorf("the worker may not write %s in its folder %s: %w", name, f.path, system) // until somebody lets it
	case system == syscall.ENOSPC || system == syscall.EDQUOT:
		return fmt.Errorf("there is no room for %s in the worker's folder %s: %w", name, f.path, system)
	case system == syscall.ENOENT && f.gone():
		return f.refusal(name, err)
	}
	return refusal(err)
}

// place makes the folder that a file is to be written into.
func (f *Folder) place(name string) error {
	if err := inside(name); err != nil {
		return err
	}
	for part := range strings.SplitSeq(filepath.ToSlash(name), "/") {
		if hidden(part) {
			return refuse("%.200q: names that begin with a dot are no place for what a job writes", name)
		}
	}
	if err := f.vendored(name); err != nil {
		return err
	}
	if err := f.root.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		if errors.Is(err, fs.ErrExist) { // something else has the name
			return refuse("%s: %w", filepath.Dir(name), err)
		}
		return f.unwritten(name, err)
	}
	return nil
}

// vendored refuses a name in the folder vendor of a Go module or workspace: where there is one, the go command builds with that alone, and
// the module would be broken for good.
func (f *Folder) vendored(name string) error {
	for dir := filepath.Dir(filepath.Clean(name)); dir != "."; dir = filepath.Dir(dir) {
		if !strings.EqualFold(filepath.Base(dir), "vendor") { // file systems there are to which the two are one
			continue
		}
		for _, of := range []string{"go.mod", "go.work"} {
			if _, err := f.root.Stat(filepath.Join(filepath.Dir(dir), of)); err == nil {
				return refuse("%.200q: %s is a folder that the go command reads, and no place for what a job writes", name, filepath.Base(dir))
			}
		}
	}
	return nil
}

// draft makes a file beside the one that is to be written.
func (f *Folder) draft(name string) (*os.File, error) {
	return f.root.OpenFile(filepath.Join(filepath.Dir(name), ".draft-"+rand.Text()), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
}

func draftName(draft *os.File, name string) string {
	return filepath.Join(filepath.Dir(name), filepath.Base(draft.Name()))
}

// free tells whether a job may write a file: there is none, or jobs have written the one that is there. It returns what was noted,
// and the sum of the one that is there.
func (f *Folder) free(name string) (n note, sum string, err error) {
	info, err := f.root.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return n, "", nil
	}
	if err != nil {
		return n, "", refusal(err)
	}
	if !info.Mode().IsRegular() {
		return n, "", refuse("%s is %s, and no file that a job has written", name, kindOf(info.Mode()))
	}
	if n, err = f.noted(name); err != nil {
		return n, "", err
	}
	if sum, err = f.sum(name); err != nil {
		return n, "", err
	}
	switch {
	case len(n.Sums) == 0:
		return n, "", refuse("%s is there, and no job has written it; name another file, or move this one away", name)
	case !slices.Contains(n.Sums, sum):
		return n, "", refuse("%s has been changed since job %.100q wrote it; name another file, or move this one away", name, n.Job)
	}
	return n, sum, nil
}

// put gives what was written its place. Before, it is noted: a process that is killed in between leaves a file that is known,
// whichever it is.
func (f *Folder) put(job, name, draft string, data []byte) error {
	n, old, err := f.free(name)
	if err != nil {
		return err
	}
	sum := sumOf(data)
	n = note{File: filepath.ToSlash(filepath.Clean(name)), Job: job, Sums: []string{sum}}
	if old != "" && old != sum {
		n.Sums = append(n.Sums, old)
	}
	if err := f.take(n); err != nil {
		return err
	}
	if old != "" {
		return refusal(f.root.Rename(draft, name))
	}
	err = f.root.Link(draft, name) // where somebody has just made a file of that name, it stays
	switch {
	case errors.Is(err, fs.ErrExist):
		return refuse("%s is there, and no job has written it; name another file, or move this one away", name)
	case errors.Is(err, syscall.EPERM), errors.Is(err, errors.ErrUnsupported): // a file system without links
		return refusal(f.root.Rename(draft, name))
	}
	return refusal(err)
}

func sumOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// sum is that of a file.
func (f *Folder) sum(name string) (string, error) {
	file, err := f.Open(name)
	if err != nil {
		return "", err
	}
	defer file.Close()
	h := sha256.New()
	if _, err := io.Copy(h, file); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// noteOf is where a file is noted: names may be longer than one of a file, and of many levels.
func noteOf(name string) string {
	return filepath.Join(written, sumOf([]byte(filepath.ToSlash(filepath.Clean(name)))))
}

// noted is what is noted of a file; the zero note: nothing. One that cannot be read is of no use, and tells of no job.
func (f *Folder) noted(name string) (n note, err error) {
	file, err := f.Open(noteOf(name))
	if errors.Is(err, fs.ErrNotExist) {
		return n, nil
	}
	if err != nil {
		return n, err
	}
	defer file.Close()
	if json.NewDecoder(file).Decode(&n) != nil {
		return note{}, nil
	}
	return n, nil
}

// take notes a file, on disk.
func (f *Folder) take(n note) error {
	text, err := json.Marshal(n)
	if err != nil {
		return err
	}
	at := noteOf(n.File)
	draft, err := f.root.OpenFile(at+".new", os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600) // below the lock there is one
	if err != nil {
		return f.unwritten(n.File, err)
	}
	_, err = io.Copy(draft, bytes.NewReader(append(text, '\n')))
	if err := errors.Join(err, draft.Sync(), draft.Close()); err != nil {
		return f.unwritten(n.File, err)
	}
	return f.root.Rename(at+".new", at)
}

// locked does something while no other job of this folder, in this process or another, looks what is noted or changes it.
func (f *Folder) locked(ctx context.Context, do func() error) error {
	if err := f.root.MkdirAll(written, 0o700); err != nil {
		return f.unwritten(written, err)
	}
	file, err := f.root.OpenFile(lock, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return f.unwritten(lock, err)
	}
	defer flock.Close(file)
	if err := flock.WaitContext(ctx, file, flock.Exclusive); err != nil {
		return fmt.Errorf("the worker's folder %s: %w", f.path, err)
	}
	return do()
}
