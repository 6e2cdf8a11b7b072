// Package files tells files apart that sinks write.
package files

import (
	"os"
	"path/filepath"
)

// Place is the path of a file from the root with links followed, so that two names of one file are the same; "" for what is there and is no file: a
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
	if folder, err := filepath.EvalSymlinks(filepath.Dir(path)); err == nil {
		return filepath.Join(folder, filepath.Base(path))
	}
	return path
}
