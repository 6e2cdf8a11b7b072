package workspace

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"
)

// A process holds one package of a path. A local module that has been edited since a session loaded it can be had beside what it was, all
// the same: under another path. It is copied into the workspace, and the copy's go.mod and imports have that path; so have other local
// modules that it needs and that were edited, and what stands between. What cells import by the old path is then the copy's. A package
// that the edit does not reach stays the one that the session has, and so do its types.

// Renamed is a module that cells have under another path than they write.
type Renamed struct {
	Path  string `json:"path"`            // as cells write it
	As    string `json:"as"`              // Path itself for what keeps it: a package of a renamed module, or a module in its path
	Exact bool   `json:"exact,omitempty"` // it is one package
	Dir   string `json:"dir,omitempty"`   // where the user has the module
}

// rest is what follows in the path of a package that is meant, or lies in what is meant.
func (r Renamed) rest(path string) (rest string, ok bool) {
	rest, ok = below(path, r.Path)
	return rest, ok && (rest == "" || !r.Exact)
}

// Actual is the path of the package that cells import by a path.
func (x *Extension) Actual(path string) string { return moved(x.Renamed, path) }

// Written is the path by which cells import a package, and ok is false for one that has been renamed and that no path leads to any more.
func (x *Extension) Written(actual string) (path string, ok bool) {
	path = original(x.Renamed, actual)
	return path, x.Actual(path) == actual
}

// Plain writes the paths of renamed modules in a text as cells do.
func (x *Extension) Plain(text string) string {
	for _, r := range x.Renamed {
		text = strings.ReplaceAll(text, r.As, r.Path)
	}
	return text
}

// moved is the path of a package after modules have been renamed. The module that it belongs to is that with the longest path.
func moved(renamed []Renamed, path string) string {
	to, length := path, 0
	for _, r := range renamed {
		if rest, ok := r.rest(path); ok && len(r.Path) > length {
			to, length = r.As+rest, len(r.Path)
		}
	}
	return to
}

func original(renamed []Renamed, path string) string {
	for _, r := range renamed {
		if rest, ok := below(path, r.As); ok && r.As != r.Path {
			return r.Path + rest
		}
	}
	return path
}

// below returns the rest of a path that is a module's or lies in it.
func below(path, module string) (rest string, ok bool) {
	rest, ok = strings.CutPrefix(path, module)
	return rest, ok && (rest == "" || rest[0] == '/')
}

// beside copies the wanted module, and what of others has to be copied with it, under other paths, and puts these into go.mod.
func (x *extend) beside(ctx context.Context) ([]Renamed, error) {
	all, err := x.list(ctx, append(x.targets(), x.within([]Renamed{{Path: x.want.Path}})...))
	if err != nil {
		return nil, err
	}
	edited := x.reached(all)
	now := x.edited(all, edited)
	kept := append(nested(all, now), x.unreached(all, now, edited)...)
	for i := range now {
		now[i].As = aside(now[i].Path, sumBelow(all, now, now[i], kept))
	}
	now = append(now, kept...)
	for _, p := range all {
		if len(p.CgoFiles) > 0 && moved(now, p.ImportPath) != p.ImportPath && x.has(p.ImportPath) {
			return nil, fmt.Errorf("%s uses cgo, and a process holds C functions of a name once: \"%%get -replace %s\" takes it in another engine, without the variables",
				p.ImportPath, x.want.Dir)
		}
	}
	for _, path := range x.within(now) {
		x.renew = append(x.renew, moved(now, path))
	}
	args := []string{"mod", "edit"}
	for _, r := range now {
		if r.As == r.Path {
			continue
		}
		to := filepath.Join(filepath.Dir(x.sources), modulesName, "renamed", filepath.FromSlash(r.As))
		if err := makeOnce(to, func(temporary string) error { return copyRenamed(r, temporary, now) }); err != nil {
			return nil, fmt.Errorf("copy %s: %w", r.Path, err)
		}
		args = append(args, "-require="+r.As+"@"+localVersion(r.As), "-replace="+r.As+"="+to)
	}
	if _, err := x.command(ctx, "adding "+x.want.Path, append(args, x.path("go.mod"))...); err != nil {
		return nil, err
	}
	others := slices.DeleteFunc(slices.Clone(x.from.Renamed), func(old Renamed) bool {
		return slices.ContainsFunc(now, func(r Renamed) bool { _, ok := r.rest(old.Path); return ok })
	})
	return append(others, now...), nil
}

// has tells whether the session has loaded a package, by the path that it has had first.
func (x *extend) has(path string) bool {
	return slices.ContainsFunc(x.from.loaded(x.want.Used), func(p Package) bool { return p.Path == path })
}

// within are the packages that the session has of some modules, and the wanted one, by the paths that cells write.
func (x *extend) within(modules []Renamed) (paths []string) {
	for _, path := range slices.Concat([]string{x.want.Path}, x.carried, x.from.Wanted) {
		path = original(x.from.Renamed, path)
		in := slices.ContainsFunc(modules, func(r Renamed) bool { _, ok := below(path, r.Path); return ok })
		if in && !slices.Contains(paths, path) {
			paths = append(paths, path)
		}
	}
	return paths
}

// reached tells which packages have been edited since the session loaded them, or need one that has been.
func (x *extend) reached(all []listed) func(path string) bool {
	of := byImport(all)
	had := map[string]bool{}
	for _, p := range x.from.Edited(x.want.Used) {
		had[original(x.from.Renamed, p.Path)] = true
	}
	memo := map[string]bool{}
	var reaches func(path string) bool
	reaches = func(path string) bool {
		p, ok := of[path]
		if known, seen := memo[path]; seen || !ok || p.Module == nil {
			return known
		}
		memo[path] = had[path]
		for _, needed := range p.Imports {
			if reaches(needed) {
				memo[path] = true
			}
		}
		return memo[path]
	}
	return reaches
}

// edited are the modules that need another path: the wanted one, and those with packages that an edit has reached.
func (x *extend) edited(all []listed, reached func(path string) bool) (modules []Renamed) {
	for _, p := range all {
		if p.Module == nil || p.Module.Dir == "" || !(p.Module.Path == x.want.Path || reached(p.ImportPath)) {
			continue
		}
		if !slices.ContainsFunc(modules, func(r Renamed) bool { return r.Path == p.Module.Path }) {
			modules = append(modules, Renamed{Path: p.Module.Path, Dir: p.Module.Dir})
		}
	}
	return modules
}

// unreached are the packages of renamed modules that stay as the session has them. One that is internal cannot: a module of another path
// may not import it.
func (x *extend) unreached(all []listed, renamed []Renamed, reached func(path string) bool) (kept []Renamed) {
	of := byImport(all)
	for _, p := range x.from.loaded(x.want.Used) {
		_, known := of[p.Path] // else nobody knows what reaches it
		in := known && slices.ContainsFunc(renamed, func(r Renamed) bool { return r.Path == p.Module })
		if in && !reached(p.Path) && !p.Internal() {
			kept = append(kept, Renamed{Path: p.Path, As: p.Path, Exact: true})
		}
	}
	return kept
}

// nested are the modules whose paths lie in those of renamed ones and that keep theirs.
func nested(all []listed, renamed []Renamed) (kept []Renamed) {
	for _, p := range all {
		if p.Module == nil {
			continue
		}
		has := func(r Renamed) bool { return r.Path == p.Module.Path }
		in := func(r Renamed) bool { _, ok := below(p.Module.Path, r.Path); return ok }
		if slices.ContainsFunc(renamed, in) && !slices.ContainsFunc(renamed, has) && !slices.ContainsFunc(kept, has) {
			kept = append(kept, Renamed{Path: p.Module.Path, As: p.Module.Path})
		}
	}
	return kept
}

func byImport(all []listed) map[string]listed {
	of := make(map[string]listed, len(all))
	for _, p := range all {
		of[p.ImportPath] = p
	}
	return of
}

// aside is another path for a module, which what it holds decides.
func aside(path, sum string) string {
	prefix, major, ok := module.SplitPathVersion(path)
	if !ok {
		prefix, major = path, ""
	}
	return prefix + "~e" + sum + major // a tilde with digits alone is no path to the go command
}

// sumBelow hashes what a module, and those of the renamed ones that it needs, are compiled from, and what keeps its path.
func sumBelow(all []listed, renamed []Renamed, of Renamed, kept []Renamed) string {
	packages := byImport(all)
	h := sha256.New()
	seen := map[string]bool{}
	var visit func(path string)
	visit = func(path string) {
		p, ok := packages[path]
		if seen[path] || !ok || p.Module == nil {
			return
		}
		seen[path] = true
		for _, needed := range p.Imports {
			visit(needed)
		}
	}
	for _, p := range all {
		if p.Module != nil && p.Module.Path == of.Path {
			visit(p.ImportPath)
		}
	}
	for _, r := range renamed {
		if r.Path == of.Path || slices.ContainsFunc(all, func(p listed) bool { return seen[p.ImportPath] && p.Module.Path == r.Path }) {
			sum, err := sumOf(os.DirFS(r.Dir))
			fmt.Fprintln(h, r.Path, sum, err)
		}
	}
	for _, r := range kept {
		fmt.Fprintln(h, r.Path, r.Exact)
	}
	return hex.EncodeToString(h.Sum(nil)[:3])
}

// copyRenamed copies what building needs of a module, with the new paths of modules in its go.mod and its imports.
func copyRenamed(r Renamed, to string, renamed []Renamed) error {
	tree := os.DirFS(r.Dir)
	return fs.WalkDir(tree, ".", func(name string, d fs.DirEntry, err error) error {
		target := filepath.Join(to, filepath.FromSlash(name))
		switch {
		case err != nil:
			return err
		case d.IsDir() && name != "." && (d.Name() == ".git" || d.Name() == "testdata" || name == "vendor" || isModule(tree, name)):
			return fs.SkipDir
		case d.IsDir():
			return os.MkdirAll(target, 0o755)
		case !d.Type().IsRegular() || strings.HasSuffix(name, "_test.go"):
			return nil
		}
		text, err := fs.ReadFile(tree, name)
		switch {
		case err != nil:
			return err
		case name == "go.mod":
			text, err = renamedModFile(text, r, renamed)
		case strings.HasSuffix(name, ".go"):
			text = renamedImports(text, renamed)
		}
		if err != nil {
			return err
		}
		return os.WriteFile(target, text, 0o644)
	})
}

func renamedModFile(text []byte, r Renamed, renamed []Renamed) ([]byte, error) {
	f, err := modfile.Parse("go.mod", text, nil)
	if err != nil {
		return nil, err
	}
	err = f.AddModuleStmt(r.As)
	for _, other := range renamed { // it is required under its other path
		err = errors.Join(err, f.DropRequire(other.Path))
	}
	if err != nil {
		return nil, err
	}
	f.Cleanup()
	return f.Format()
}

// renamedImports writes the new paths into the imports of a file. One that cannot be read stays as it is: it may be for another system, and
// if it is compiled the compiler says what is wrong.
func renamedImports(text []byte, renamed []Renamed) []byte {
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, "", text, parser.ImportsOnly)
	if err != nil {
		return text
	}
	for _, spec := range slices.Backward(f.Imports) {
		path, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			continue
		}
		at := fset.Position(spec.Path.Pos()).Offset
		if to := moved(renamed, path); to != path {
			text = slices.Concat(text[:at], []byte(strconv.Quote(to)), text[at+len(spec.Path.Value):])
		}
	}
	return text
}
