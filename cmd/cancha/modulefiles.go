//go:build !windows

package main

import (
	"errors"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"cancha/jobs/folder"
	"cancha/jobs/worker"
	"cancha/kernel/workspace"
)

// moduleIn is the path of the module's folder. That lies inside the worker's, as do all sources of its packages that the function needs:
// the go command would follow links out of it, and wait for pipes.
func moduleIn(files *folder.Folder, j functionJob) (string, error) {
	dir, err := files.Dir(j.Module)
	if err != nil {
		return "", err
	}
	if err := regularSources(files, j.Module); err != nil {
		return "", err
	}
	for above := filepath.Dir(j.Module); j.Module != "."; above = filepath.Dir(above) {
		if err := unlessMissing(opens(files, filepath.Join(above, "go.work"))); err != nil {
			return "", err
		}
		if above == "." {
			break
		}
	}
	local, err := workspace.Local(dir, os.Getenv("GOWORK"))
	if errors.Is(err, fs.ErrNotExist) {
		return dir, nil // whoever builds it says what is missing
	}
	if err != nil {
		return "", worker.Final(err)
	}
	p := &packages{files: files, local: local, seen: map[string]bool{}}
	return dir, p.look(filepath.Join(j.Module, j.Package))
}

// packages looks at those that are read from folders, one after the other. Where a build constraint leaves a file out, it looks at it all
// the same.
type packages struct {
	files *folder.Folder
	local workspace.LocalFolders
	seen  map[string]bool
}

// look looks at the sources of a package in a folder of the worker's, and of the packages that they import.
func (p *packages) look(dir string) error {
	if p.seen[dir] {
		return nil
	}
	p.seen[dir] = true
	if err := regularSources(p.files, dir); err != nil {
		return err
	}
	names, err := p.files.Names(dir)
	if err != nil {
		return err
	}
	for _, name := range names {
		if filepath.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go") || ignored(name) {
			continue
		}
		for _, imported := range importsOf(p.files, filepath.Join(dir, name)) {
			for _, folder := range p.folders(imported) {
				if err := unlessMissing(p.look(folder)); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// folders are those inside the worker's from which an imported package may be read. What a go.mod replaces with a folder of elsewhere is
// the word of whoever has the worker's folder, and no link.
func (p *packages) folders(imported string) (all []string) {
	of := []string{}
	for module, dir := range p.local.Modules {
		if rest, is := strings.CutPrefix(imported+"/", module+"/"); is {
			of = append(of, filepath.Join(dir, filepath.FromSlash(rest)))
		}
	}
	if p.local.Vendor != "" {
		of = append(of, filepath.Join(p.local.Vendor, filepath.FromSlash(imported)))
	}
	for _, dir := range of {
		if in, err := filepath.Rel(p.files.Path(), dir); err == nil && filepath.IsLocal(in) {
			all = append(all, in)
		}
	}
	slices.Sort(all)
	return all
}

// importsOf are the paths that a file of Go imports. Of one that cannot be read or parsed there are none: the build says what is wrong.
func importsOf(files *folder.Folder, name string) (all []string) {
	text, err := files.ReadFile(name)
	if err != nil {
		return nil
	}
	file, _ := parser.ParseFile(token.NewFileSet(), name, text, parser.ImportsOnly)
	if file == nil {
		return nil
	}
	for _, s := range file.Imports {
		if at, err := strconv.Unquote(s.Path.Value); err == nil {
			all = append(all, path.Clean(at))
		}
	}
	return all
}

// regularSources refuses sources in a folder that are no files of the worker's.
func regularSources(files *folder.Folder, dir string) error {
	names, err := files.Names(dir)
	if err != nil {
		return err
	}
	for _, name := range names {
		if !slices.Contains(sources(), filepath.Ext(name)) || ignored(name) {
			continue
		}
		if err := unlessMissing(opens(files, filepath.Join(dir, name))); err != nil { // a link to nothing leads nowhere
			return err
		}
	}
	return nil
}

func opens(files *folder.Folder, name string) error {
	file, err := files.Open(name)
	if err != nil {
		return err
	}
	return file.Close()
}

// unlessMissing is an error, but for that of a file or folder which is not there: it may be read from elsewhere, as from a module's cache.
func unlessMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// ignored tells whether the go command reads no file of that name.
func ignored(name string) bool { return name[0] == '.' || name[0] == '_' }

// sources are the extensions of what the go command reads: see go/build.Package.
func sources() []string {
	return []string{".go", ".mod", ".sum", ".work", ".s", ".S", ".sx", ".c", ".cc", ".cpp", ".cxx", ".m", ".h", ".hh", ".hpp", ".hxx", ".f", ".F", ".for",
		".f90", ".swig", ".swigcxx", ".syso"}
}
