// Package files tells files apart that sinks write.
package files

import (
	"os"
	"path/filepath"
)

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
