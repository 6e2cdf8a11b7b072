package check

import (
	"io"
	"testing"

	"cancha/internal/symbols"
)

// libraryScope returns an empty scope over all that cells may import.
func libraryScope(t *testing.T) *Scope {
	t.Helper()
	var packages []Package
	for _, p := range symbols.Packages() {
		packages = append(packages, Package{Path: p.Path, Name: p.Name, Standard: p.Standard})
	}
	return NewScope(packages, func(path string) (io.ReadCloser, error) { return symbols.Export(path) })
}
