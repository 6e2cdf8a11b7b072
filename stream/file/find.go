package file

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"cancha/stream"
	"cancha/stream/internal/files"
)

// find returns the files that are read, in the order of their names.
func (f *Files) find() ([]string, error) {
	paths, err := f.matches()
	if err != nil {
		return nil, err
	}
	slices.Sort(paths)
	if len(paths) == 0 && !f.follow {
		return nil, fmt.Errorf("read files: nothing matches %s; look at the path (it is taken from %s), or Follow a folder to wait for its first file", f.pattern, here())
	}
	return paths, nil
}

func (f *Files) matches() ([]string, error) {
	info, err := os.Stat(f.pattern)
	switch {
	case err == nil && info.IsDir():
		return f.folder()
	case err == nil && info.Mode().IsRegular():
		return []string{f.pattern}, nil
	case err == nil:
		return nil, fmt.Errorf("read %s: not a file: %s", f.pattern, info.Mode().Type())
	case !strings.ContainsAny(f.pattern, `*?[`):
		return nil, fmt.Errorf("read files: %w; look at the path (it is taken from %s)", err, here())
	}
	return f.glob()
}

// here is the folder from which paths are taken.
func here() string {
	dir, err := os.Getwd()
	if err != nil {
		return "the folder of the process"
	}
	return dir
}

func (f *Files) glob() ([]string, error) {
	all, err := filepath.Glob(f.pattern)
	if err != nil {
		return nil, fmt.Errorf("read files %s: %w", f.pattern, err)
	}
	hidden := isHidden(filepath.Base(f.pattern))
	var paths []string
	for _, path := range all {
		if isHidden(filepath.Base(path)) && !hidden {
			continue
		}
		regular, err := isRegular(path)
		if err != nil {
			return nil, err
		}
		if regular {
			paths = append(paths, path)
		}
	}
	return paths, nil
}

// Reads implements stream.Reader: whether the file at a path is one of those that are read, or will be when it is there.
func (f *Files) Reads(path string) bool {
	info, err := os.Stat(path)
	if err != nil {
		return f.wouldRead(path)
	}
	paths, _ := f.matches() // Run tells what is wrong
	return slices.ContainsFunc(paths, func(p string) bool { return isFile(p, info) })
}

// wouldRead tells whether a file that is not there yet would be read.
func (f *Files) wouldRead(path string) bool {
	if _, err := os.Stat(filepath.Dir(path)); err != nil {
		return false
	}
	name := filepath.Base(path)
	return f.lists(filepath.Dir(path), name, func(like string) bool {
		yes, _ := filepath.Match(like, name)
		return yes || like == name
	})
}

// lists tells whether files of a folder are read whose names are like this one, which decides whether a folder's are: fits compares them with the last element of
// a pattern.
func (f *Files) lists(folder, name string, fits func(like string) bool) bool {
	if info, err := os.Stat(folder); err == nil && isFile(f.pattern, info) {
		return f.takes(name)
	}
	in, like := filepath.Dir(f.pattern), filepath.Base(f.pattern)
	return fits(like) && (!isHidden(name) || isHidden(like)) && leads(in, folder)
}

// leads tells whether a pattern of folders leads to one, which may not be there yet.
func leads(pattern, folder string) bool {
	info, err := os.Stat(folder)
	if err != nil {
		yes, _ := filepath.Match(files.Place(pattern), files.Place(folder))
		return yes
	}
	folders, _ := filepath.Glob(pattern)
	return slices.ContainsFunc(folders, func(p string) bool { return isFile(p, info) })
}

// Hears implements stream.Hearer: whether files that a sink makes as it goes, such as those of epochs, are among those that are read. A query would read its own
// rows, at once where it follows the files, and else when it is run again.
func (f *Files) Hears(sink stream.Sink) bool {
	s, ok := sink.(interface{ Files() []string })
	if info, err := os.Stat(f.pattern); err == nil && info.Mode().IsRegular() {
		return false // one that is there, which is not made
	}
	return ok && slices.ContainsFunc(s.Files(), func(made string) bool {
		name := filepath.Base(made)
		return f.lists(filepath.Dir(made), name, func(like string) bool { return meet(like, name) })
	})
}

// isFile tells whether a path leads to a file or folder.
func isFile(path string, info fs.FileInfo) bool {
	other, err := os.Stat(path)
	return err == nil && os.SameFile(other, info)
}

func isHidden(name string) bool { return strings.HasPrefix(name, ".") }

// takes tells whether a file of a folder that is read is one of records, by its name.
func (f *Files) takes(name string) bool {
	return !isHidden(name) && (f.format != byName || isRecords(name))
}

// folder returns the files of a folder, not of those below it.
func (f *Files) folder() ([]string, error) {
	entries, err := os.ReadDir(f.pattern)
	if err != nil {
		return nil, fmt.Errorf("read files: %w", err)
	}
	var paths []string
	for _, e := range entries {
		path := filepath.Join(f.pattern, e.Name())
		if !f.takes(e.Name()) {
			continue
		}
		regular, err := isRegular(path)
		if err != nil {
			return nil, err
		}
		if regular {
			paths = append(paths, path)
		}
	}
	return paths, nil
}

// isRegular tells whether a file is one, behind a link too. One that has gone since is none; a link that leads nowhere is an error.
func isRegular(path string) (bool, error) {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
			return false, nil
		}
	}
	if err != nil {
		return false, fmt.Errorf("read files: %w", err)
	}
	return info.Mode().IsRegular(), nil
}

// packing is how a file is compressed, by its name.
func packing(path string) (inner, packed string) {
	for _, packed := range []string{".gz", ".zst"} {
		if inner, ok := strings.CutSuffix(path, packed); ok {
			return inner, packed
		}
	}
	return path, ""
}

// isRecords tells whether a name in a folder is that of a file of records.
func isRecords(name string) bool {
	inner, _ := packing(name)
	return slices.Contains([]string{".jsonl", ".ndjson", ".json", ".csv", ".tsv"}, filepath.Ext(inner))
}

// written returns how a file is written, and what parts its fields.
func (f *Files) written(path string) (as format, comma byte) {
	inner, _ := packing(path)
	ext := filepath.Ext(inner)
	as, comma = f.format, f.comma
	if as == byName {
		as = asLines
		if ext == ".csv" || ext == ".tsv" {
			as = asCSV
		}
	}
	if comma == 0 {
		comma = ','
		if ext == ".tsv" {
			comma = '\t'
		}
	}
	return as, comma
}
