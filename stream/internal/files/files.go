// Package files tells files apart that sinks write, says what to do where one cannot be written, and has names survive the death of a machine. It gives
// files their names when they are whole.
package files

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"syscall"
)

// Full says what to do about an error of writing that means a full disk, or that a user has all the room that is his. Others, and nil, are what they were.
func Full(err error) error {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return fmt.Errorf("the disk is full; make room and run again, what is there stays: %w", err)
	}
	return err
}

// NoFolder says what to do about an error of making a file whose folder is not there. Others, and nil, are what they were.
func NoFolder(err error, path string) error {
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	folder := filepath.Dir(path)
	if _, failed := os.Stat(folder); failed == nil { // a link leads to another one
		folder = filepath.Dir(Place(path))
	}
	return fmt.Errorf("%w: make the folder %s first (os.MkdirAll)", err, folder)
}

// Place is the path of a file from the root with links followed, so that a link and what it leads to are the same; "" for what is there and is no file: a
// device or a pipe can be written by many. A file that is not there yet lies in its folder.
func Place(path string) string {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() && !info.IsDir() {
		return ""
	}
	if all, err := filepath.Abs(path); err == nil {
		path = all
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	if to, err := os.Readlink(path); err == nil { // to a file that is not there yet
		if !filepath.IsAbs(to) {
			to = filepath.Join(filepath.Dir(path), to)
		}
		path = to
	}
	if folder, err := filepath.EvalSymlinks(filepath.Dir(path)); err == nil {
		return filepath.Join(folder, filepath.Base(path))
	}
	return path
}

// Same tells whether two places are one: the same path, or two names of one file.
func Same(a, b string) bool {
	if a == b {
		return true
	}
	first, err := os.Stat(a)
	if err != nil {
		return false
	}
	second, err := os.Stat(b)
	return err == nil && os.SameFile(first, second)
}

var claimed = struct {
	sync.Mutex
	places map[string]bool
}{places: map[string]bool{}}

// Claim takes a file for one writer of this process: two would write over each other. release gives it back.
func Claim(path string) (release func(), err error) {
	place := Place(path)
	if place == "" {
		return func() {}, nil
	}
	claimed.Lock()
	defer claimed.Unlock()
	if claimed.places[place] {
		return nil, errors.New("another query is writing it; stop that one first, or write elsewhere")
	}
	claimed.places[place] = true
	return sync.OnceFunc(func() {
		claimed.Lock()
		defer claimed.Unlock()
		delete(claimed.places, place)
	}), nil
}

// Partial makes a file that Complete gives this path when it is whole. Until then its name begins with a dot and ends in .partial, so that nobody who
// reads the folder takes it for a whole one. A random number in it tells the files of several writers apart: those of machines that share a folder may
// have equal process ids. os.CreateTemp is not for that: none but their owner may read its files.
func Partial(path string) (*os.File, error) {
	dir, name := filepath.Split(path)
	f, err := os.OpenFile(filepath.Join(dir, fmt.Sprintf(".%s.%x.partial", name, rand.Uint64())), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	return f, NoFolder(err, path)
}

// Complete closes a Partial that is written, waits until it is on the disk, and gives it its path. If that fails it is removed.
func Complete(f *os.File, path string) error {
	err := errors.Join(f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		os.Remove(f.Name())
		return err
	}
	return SyncFolder(filepath.Dir(path))
}

// SyncFolder waits until the names in a folder are on the disk; a file system that cannot say so (some answer EINVAL) is believed.
func SyncFolder(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	if err = d.Sync(); errors.Is(err, errors.ErrUnsupported) || errors.Is(err, syscall.EINVAL) {
		err = nil
	}
	return errors.Join(err, d.Close())
}
