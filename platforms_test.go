package cancha_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestTypeChecksEverywhere: the program's packages type-check for the platforms that this machine is not, each as its build tags choose its
// files. Compiling finds little more and costs a minute for each.
func TestTypeChecksEverywhere(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	for _, platform := range platforms[1:] { // the tests are compiled for one
		t.Run(platform, func(t *testing.T) {
			_, arch, _ := strings.Cut(platform, "/")
			c := checker{fset: token.NewFileSet(), sizes: types.SizesFor("gc", arch), done: map[string]*types.Package{"unsafe": types.Unsafe}}
			own := 0
			for _, p := range list(t, ".", platform, "", []string{"./cmd/cancha"}, "CGO_ENABLED=0") { // what a package imports comes before it
				errs, err := c.check(p)
				if err != nil {
					t.Fatal(err)
				}
				if p.Module == nil || !p.Module.Main {
					continue // others' own business
				}
				own++
				for _, err := range errs {
					t.Error(err)
				}
			}
			if own < 50 {
				t.Errorf("%d packages of this module seen", own)
			}
		})
	}
}

// checker type-checks packages from their sources.
type checker struct {
	fset  *token.FileSet
	sizes types.Sizes
	done  map[string]*types.Package // by import path
}

// check returns the errors in a package's code, of which function bodies are left out unless the package is this module's.
func (c *checker) check(p listed) (errs []error, err error) {
	if p.ImportPath == "unsafe" {
		return nil, nil
	}
	var files []*ast.File
	for _, name := range p.GoFiles {
		f, err := parser.ParseFile(c.fset, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		files = append(files, f)
	}
	config := types.Config{
		Importer:         seen{c, p.ImportMap},
		Sizes:            c.sizes,
		IgnoreFuncBodies: p.Module == nil || !p.Module.Main,
		Error:            func(err error) { errs = append(errs, err) },
	}
	pkg, _ := config.Check(p.ImportPath, c.fset, files, nil) // Error has been told
	c.done[p.ImportPath] = pkg
	return errs, nil
}

// seen imports what has been checked, by the paths that one package's files use.
type seen struct {
	*checker
	renamed map[string]string
}

func (s seen) Import(path string) (*types.Package, error) {
	if to, ok := s.renamed[path]; ok {
		path = to
	}
	if p := s.done[path]; p != nil {
		return p, nil
	}
	return nil, fmt.Errorf("%s has not been checked", path)
}

// TestWindows: what is built there is one file that says where the program runs.
func TestWindows(t *testing.T) {
	c := checker{fset: token.NewFileSet(), sizes: types.SizesFor("gc", "amd64"), done: map[string]*types.Package{"unsafe": types.Unsafe}}
	for _, p := range list(t, ".", "windows/amd64", "", []string{"./cmd/cancha"}, "CGO_ENABLED=0") {
		errs, err := c.check(p)
		if err != nil {
			t.Fatal(err)
		}
		if p.Module == nil {
			continue
		}
		if p.ImportPath != "cancha/cmd/cancha" || !slices.Equal(p.GoFiles, []string{"windows.go"}) {
			t.Errorf("Windows builds %s of %v: the other files of cmd/cancha begin with //go:build !windows", p.ImportPath, p.GoFiles)
		}
		if len(errs) > 0 {
			t.Error(errs)
		}
	}
}
