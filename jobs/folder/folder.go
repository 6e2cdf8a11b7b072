// Package folder is the one door to the folder whose files a worker's jobs use. It opens regular files and folders of it for
// reading, and lets a job write what no person has written. It ends at the file: what lies in it is the job type's business.
//
// Whoever submits a job names files and owns none of them. So a name is a way inside the folder, and stays one: "..", an absolute
// path, and a symbolic link that leads out are refused, for reading and for writing. A pipe, a socket or a device is no data. What
// is refused is [worker.Final]: the job fails, and is not tried again.
//
// # What a job may replace
//
// Write makes new files, and replaces those that a job has written and nobody has changed since. Each file that it writes is noted
// in .cancha/written, in the folder, by the SHA-256 of what it was given, before it gets its place. So a second attempt may write
// what the first has written, and so may another job that names the same file. A file of a person, and one that a person has
// changed, stays. Names that begin with a dot are no place for what a job writes, nor is the folder vendor of a Go module.
package folder

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"syscall"

	"cancha/jobs/worker"
)

// Folder is one that is open. It is safe for concurrent use, also by several processes.
type Folder struct {
	root *os.Root
	path string
}

// Open opens a folder, which has to be there.
func Open(path string) (*Folder, error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("there is no folder %q; make it, or name another one", path)
	case err != nil:
		return nil, err
	case !info.IsDir():
		return nil, fmt.Errorf("%q is %s, and no folder", path, kindOf(info.Mode()))
	}
	all, err := filepath.Abs(path) // the process may go to another folder
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(all)
	if err != nil {
		return nil, err
	}
	return &Folder{root, all}, nil
}

// Path is the folder's, from the root of the file system.
func (f *Folder) Path() string { return f.path }

// Close closes the folder. Files that were opened in it stay open.
func (f *Folder) Close() error { return f.root.Close() }

// Open opens a regular file for reading.
func (f *Folder) Open(name string) (*os.File, error) {
	if err := f.regular(name); err != nil {
		return nil, err
	}
	file, err := f.root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0) // a pipe that was put there just now is not waited for
	if err != nil {
		return nil, f.refusal(name, err)
	}
	if info, err := file.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, errors.Join(refuse("%s is no file", name), err, file.Close())
	}
	return file, nil
}

func (f *Folder) regular(name string) error {
	if err := inside(name); err != nil {
		return err
	}
	info, err := f.root.Stat(name)
	if err != nil {
		return f.refusal(name, err)
	}
	if !info.Mode().IsRegular() {
		return refuse("%s is %s, and no file", name, kindOf(info.Mode()))
	}
	return nil
}

// MaxRead is how large a file is at most that ReadFile reads, bytes: a notebook with many figures has some million.
const MaxRead = 64 << 20

// ReadFile returns what a regular file has, of MaxRead at most: it lies in the worker's memory, beside what other jobs have there.
func (f *Folder) ReadFile(name string) ([]byte, error) {
	file, err := f.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	large := refuse("%s has more than %d MB, the most that is read at once; clear the outputs of a notebook", name, MaxRead>>20)
	if info, err := file.Stat(); err != nil || info.Size() > MaxRead {
		return nil, cmp.Or(err, large)
	}
	text, err := io.ReadAll(io.LimitReader(file, MaxRead+1)) // it may grow meanwhile
	if err == nil && len(text) > MaxRead {
		return nil, large
	}
	return text, err
}

// Dir is the path of a folder inside this one, "." being this one, from the root of the file system: for a process that is to work in it.
func (f *Folder) Dir(name string) (string, error) {
	if err := inside(name); err != nil {
		return "", err
	}
	info, err := f.root.Stat(name)
	if err != nil {
		return "", f.refusal(name, err)
	}
	if !info.IsDir() {
		return "", refuse("%s is %s, and no folder", name, kindOf(info.Mode()))
	}
	return filepath.Join(f.path, name), nil
}

// Names are those of the files in a folder inside this one, without folders.
func (f *Folder) Names(name string) (all []string, err error) {
	if err := inside(name); err != nil {
		return nil, err
	}
	entries, err := fs.ReadDir(f.root.FS(), filepath.ToSlash(filepath.Clean(name)))
	if err != nil {
		return nil, f.refusal(name, err)
	}
	for _, e := range entries {
		if !e.IsDir() {
			all = append(all, e.Name())
		}
	}
	return all, nil
}

// longestName is how long a name is at most that NameOf makes of an id as it is, bytes. A file system takes 255, with the extension.
const longestName = 240

// NameOf makes of a job's id, which may be any text, the name of a file without its extension: the id as in a URL. Of a long one it is the
// beginning, and the SHA-256 of the whole. Two ids never have one name.
func NameOf(id string) string {
	name := url.PathEscape(id)
	if hidden(name) {
		name = "%2E" + name[1:]
	}
	if len(name) > longestName {
		end := "-" + sumOf([]byte(id))
		name = name[:longestName+1-len(end)] + end // longer than those which are an id as it is: so it is the name of none of them
	}
	return name
}

// hidden tells whether a name is one of those that begin with a dot: of what programs keep, such as .git, and of our own notes.
func hidden(name string) bool { return len(name) > 1 && name[0] == '.' && name[1] != '.' }

// inside tells where a name is no way inside a folder, as far as the name alone tells it.
func inside(name string) error {
	if !filepath.IsLocal(name) {
		return refuse("%.200q is no file inside the worker's folder", name)
	}
	return nil
}

func kindOf(m fs.FileMode) string {
	switch {
	case m.IsDir():
		return "a folder"
	case m&fs.ModeSymlink != 0:
		return "a link"
	case m&fs.ModeNamedPipe != 0:
		return "a pipe"
	case m&fs.ModeSocket != 0:
		return "a socket"
	case m&fs.ModeDevice != 0:
		return "a device"
	case m.IsRegular():
		return "a file"
	}
	return "something else"
}

// refuse makes an error of a name, which trying again does not mend.
func refuse(format string, args ...any) error { return worker.Final(fmt.Errorf(format, args...)) }

// refusal says what is wrong with a name, by the error of the file system, and makes it final where it is the name's: it leads out of the
// folder, or there is no such file. Others, such as those of a disk that is full or of too many open files, pass.
func (f *Folder) refusal(name string, err error) error {
	var system syscall.Errno
	cause := err
	if p := (*fs.PathError)(nil); errors.As(err, &p) { // which calls the file by the name of a call, statat
		cause = p.Err
	}
	switch {
	case err == nil:
		return nil
	case !errors.As(err, &system): // os.Root's own: the path escapes from its parent
		return refuse("%s leads out of the worker's folder: %w", name, cause)
	case system == syscall.ENOENT && f.gone():
		return fmt.Errorf("the worker's folder %s is gone: %w", f.path, cause) // and may come again
	case system == syscall.ENOENT:
		return refuse("there is no %s in the worker's folder: %w", name, cause)
	}
	return refusal(err)
}

// gone tells whether the folder is no more where it was opened.
func (f *Folder) gone() bool {
	opened, err := f.root.Stat(".")
	if err != nil {
		return true
	}
	now, err := os.Stat(f.path)
	return err != nil || !os.SameFile(opened, now)
}

// refusal makes an error of the file system final where trying again does not mend it.
func refusal(err error) error {
	if err == nil {
		return nil
	}
	var system syscall.Errno
	if !errors.As(err, &system) {
		return worker.Final(err)
	}
	switch system {
	case syscall.ENOENT, syscall.ENOTDIR, syscall.EISDIR, syscall.ELOOP, syscall.ENAMETOOLONG, syscall.EINVAL, syscall.ENXIO:
		return worker.Final(err)
	}
	return err
}
