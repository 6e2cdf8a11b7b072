package check

import (
	"io"
	"testing"

	"cancha/internal/symbols"
)

// library is all that cells may import.
func library() (packages []Package, export func(path string) (io.ReadCloser, error)) {
	for _, p := range symbols.Packages() {
		packages = append(packages, Package{Path: p.Path, Name: p.Name, Standard: p.Standard})
	}
	return packages, symbols.Export
}

// libraryScope returns an empty scope over the library.
func libraryScope(t *testing.T) *Scope {
	t.Helper()
	return NewScope(library())
}
