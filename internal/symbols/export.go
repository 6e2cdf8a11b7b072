package symbols

import (
	"archive/zip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"runtime"
	"strings"
)

// ErrNoPackage is wrapped by the errors of Export for a path that no cell may import.
var ErrNoPackage = errors.New("no such package among those that a cell may import")

// Export returns a package's export data in the form that the "gc" importer of go/types reads; Export itself is that
// importer's lookup function. The data describe every type that the package's exported names reach, those of internal
// packages included, so they are complete without the packages that it imports. Package unsafe has none: go/types
// knows it. A package is unpacked while it is read.
func Export(path string) (io.ReadCloser, error) {
	for _, g := range groups() {
		content, size, err := open(g.exports, path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("export data of %s: %w", path, err)
		}
		return packaged{frame(content, size), content}, nil
	}
	return nil, fmt.Errorf("import %q: %w", path, ErrNoPackage)
}

// open finds a path in an archive and returns its content and how long that is. It reads the archive's list of files at each
// call: 0.1 ms, against state that would have to be kept.
func open(archive, path string) (content io.ReadCloser, size int64, err error) {
	r, err := zip.NewReader(strings.NewReader(archive), int64(len(archive)))
	if err != nil {
		return nil, 0, err
	}
	for _, f := range r.File {
		if f.Name == path {
			content, err := f.Open()
			return content, int64(f.UncompressedSize64), err
		}
	}
	return nil, 0, fs.ErrNotExist
}

type packaged struct {
	io.Reader
	io.Closer
}

// frame puts type information back into what a compiled package looks like: an ar archive whose first member has a
// line about the build, an empty line, and the data between two marks.
func frame(content io.Reader, size int64) io.Reader {
	build := fmt.Sprintf("go object %s %s %s\n\n", runtime.GOOS, runtime.GOARCH, runtime.Version())
	const begin, end = "$$B\nu", "\n$$\n"
	size += int64(len(build) + len(begin) + len(end))
	head := fmt.Sprintf("!<arch>\n%-16s%-12d%-6d%-6d%-8o%-10d`\n", "__.PKGDEF", 0, 0, 0, 0o644, size)
	return io.MultiReader(strings.NewReader(head+build+begin), content, strings.NewReader(end))
}
