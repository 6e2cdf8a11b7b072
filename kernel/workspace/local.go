package workspace

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"
)

// A module that is read from a folder is what "go build" in that folder makes of it. There it is the main module, so its
// replacements count, and a go.work around it, and what lies in its vendor folder. In an engine's build it is one of many modules,
// where the go command heeds none of these. They are read here and put into the engine's go.mod.

// local is a module in a folder.
type local struct {
	path, dir    string
	replacements []replacement
	vendor       string   // the folder with vendored packages that counts, "" where none does
	decide       []string // the files that all this was read from
}

// sums are the files with checksums that may be there beside them.
func (l local) sums() (all []string) {
	for _, name := range l.decide {
		all = append(all, filepath.Join(filepath.Dir(name), "go.sum"), filepath.Join(filepath.Dir(name), "go.work.sum"))
	}
	return all
}

// replacement says that another module, in one version or in all, is read from somewhere else.
type replacement struct {
	path, version string // version is "" for all
	with          string // a folder's absolute path, or a module's
	withVersion   string // "" for a folder
	required      bool   // the version has to be asked for, because the go.mod of the local module may not name it
}

// old names what is replaced, as "go mod edit" does.
func (r replacement) old() string { return strings.TrimSuffix(r.path+"@"+r.version, "@") }

// new names what it is replaced with.
func (r replacement) new() string { return strings.TrimSuffix(r.with+"@"+r.withVersion, "@") }

// folder is the one that the replacement is read from, "" if it is a module of a version.
func (r replacement) folder() string {
	if r.withVersion != "" {
		return ""
	}
	return r.with
}

// LocalFolders are those from which the go command reads packages when it builds the module in a folder.
type LocalFolders struct {
	Modules map[string]string // by the module's path: this one, those that it is replaced with, and those of a go.work
	Vendor  string            // the folder of vendored packages; "" where none counts
}

// Local tells which folders a build of the module in dir reads; gowork is the variable GOWORK of who builds it. The error is an
// fs.ErrNotExist where there is no go.mod.
func Local(dir, gowork string) (LocalFolders, error) {
	l, err := readLocal(dir, gowork)
	if err != nil {
		return LocalFolders{}, err
	}
	all := LocalFolders{map[string]string{l.path: l.dir}, l.vendor}
	for _, r := range l.replacements {
		if folder := r.folder(); folder != "" {
			all.Modules[r.path] = folder
		}
	}
	return all, nil
}

// readLocal reads how the module in a folder is resolved; gowork is the variable GOWORK of who works there.
func readLocal(dir, gowork string) (local, error) {
	name := filepath.Join(dir, "go.mod")
	f, err := readModFile(name)
	if err != nil {
		return local{}, err
	}
	l := local{path: f.Module.Mod.Path, dir: dir, decide: []string{name}}
	work, workFile, err := readWork(dir, gowork)
	if err != nil {
		return l, err
	}
	if work == nil {
		l.replacements, l.vendor = replacements(f.Replace, dir), vendored(dir)
		return l, nil
	}
	l.decide = append(l.decide, workFile)
	l.replacements, err = workReplacements(work, filepath.Dir(workFile))
	l.vendor = vendored(filepath.Dir(workFile))
	return l, err
}

func readModFile(name string) (*modfile.File, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	f, err := modfile.Parse(name, text, nil)
	if err != nil {
		return nil, oneLine(err)
	}
	if f.Module == nil || f.Module.Mod.Path == "" {
		return nil, fmt.Errorf("%s names no module", name)
	}
	return f, nil
}

// oneLine is the first of what is wrong with a file, in one line.
func oneLine(err error) error {
	if list := (modfile.ErrorList)(nil); errors.As(err, &list) && len(list) > 0 {
		err = &list[0]
	}
	return errors.New(strings.Join(strings.Fields(err.Error()), " "))
}

// readWork finds the go.work that counts in a folder; nil where none does. One that does not use the module there is no business of it.
func readWork(dir, gowork string) (*modfile.WorkFile, string, error) {
	name := gowork
	switch gowork {
	case "off":
		return nil, "", nil
	case "", "auto":
		if name = above(dir, "go.work"); name == "" {
			return nil, "", nil
		}
	}
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, "", fmt.Errorf("read the workspace of %s: %w", dir, err)
	}
	w, err := modfile.ParseWork(name, text, nil)
	if err != nil {
		return nil, "", oneLine(err)
	}
	if !slices.ContainsFunc(w.Use, func(u *modfile.Use) bool { return sameFolder(within(filepath.Dir(name), u.Path), dir) }) {
		return nil, "", nil
	}
	return w, name, nil
}

// above finds a file in a folder or in one above it, "" if there is none.
func above(dir, name string) string {
	for {
		file := filepath.Join(dir, name)
		if info, err := os.Stat(file); err == nil && !info.IsDir() {
			return file
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return ""
		}
		dir = parent
	}
}

func within(dir, name string) string {
	name = filepath.FromSlash(name)
	if filepath.IsAbs(name) {
		return filepath.Clean(name)
	}
	return filepath.Join(dir, name)
}

func sameFolder(a, b string) bool {
	one, err1 := os.Stat(a)
	two, err2 := os.Stat(b)
	return a == b || err1 == nil && err2 == nil && os.SameFile(one, two)
}

// replacements reads replace directives of a file in a folder.
func replacements(list []*modfile.Replace, dir string) (all []replacement) {
	for _, r := range list {
		to := replacement{path: r.Old.Path, version: r.Old.Version, with: r.New.Path, withVersion: r.New.Version}
		if r.New.Version == "" {
			to.with = within(dir, r.New.Path)
		}
		all = append(all, to)
	}
	return all
}

// workReplacements are what a go.work replaces: each module that it uses is read from its folder, and their replacements count together,
// unless the go.work has its own for a module.
func workReplacements(w *modfile.WorkFile, root string) ([]replacement, error) {
	var used, theirs []replacement
	for _, u := range w.Use {
		dir := within(root, u.Path)
		f, err := readModFile(filepath.Join(dir, "go.mod"))
		if err != nil {
			return nil, fmt.Errorf("go.work in %s uses %s: %w", root, u.Path, err)
		}
		used = append(used, replacement{path: f.Module.Mod.Path, with: dir})
		theirs = append(theirs, replacements(f.Replace, dir)...)
	}
	all := append(used, replacements(w.Replace, root)...)
	decided := len(all)
	for _, r := range theirs {
		if slices.ContainsFunc(all[:decided], func(d replacement) bool { return d.covers(r) }) {
			continue
		}
		for _, other := range all[decided:] {
			if other.old() == r.old() && other != r {
				return nil, fmt.Errorf("the modules of go.work in %s replace %s with %s and with %s: a replace directive in go.work decides that", root, r.old(), other.new(), r.new())
			}
		}
		all = append(all, r)
	}
	return all, nil
}

// covers tells whether another replacement has no say beside this one.
func (r replacement) covers(other replacement) bool {
	return r.path == other.path && (r.version == "" || r.version == other.version)
}

// vendored is the vendor folder beside a go.mod or a go.work, "" where there is none.
func vendored(root string) string {
	dir := filepath.Join(root, "vendor")
	if _, err := os.Stat(filepath.Join(dir, "modules.txt")); err != nil {
		return ""
	}
	return dir
}

// folders are those that the module is compiled from: its own, and what others are replaced with.
func (l local) folders() []string {
	all := []string{l.dir}
	for _, r := range l.replacements {
		if dir := r.folder(); dir != "" {
			all = append(all, dir)
		}
	}
	if l.vendor != "" && filepath.Dir(l.vendor) != l.dir {
		all = append(all, l.vendor)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// sums hashes all that decides what local modules are compiled to: file or folder → sum. What is not there has the sum "".
func (s *Store) sums(modules []Module) (map[string]string, error) {
	all := map[string]string{}
	for _, m := range modules {
		if m.Dir == "" {
			continue
		}
		l, err := readLocal(m.Dir, get(s.environ, "GOWORK"))
		if err != nil {
			return nil, fmt.Errorf("module %s: %w", m.Path, err)
		}
		for _, dir := range l.folders() {
			sum, err := sumOf(os.DirFS(dir))
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				return nil, fmt.Errorf("module %s: %w", m.Path, err)
			}
			all[dir] = sum
		}
		for _, name := range l.decide {
			text, err := os.ReadFile(name)
			if err != nil {
				return nil, fmt.Errorf("module %s: %w", m.Path, err)
			}
			all[name] = short(text)
		}
	}
	return all, nil
}

// localVersion is the version that stands for a module in a folder, as Go names it. Without one "go get" would ask the network.
func localVersion(path string) string {
	_, major, ok := module.SplitPathVersion(path)
	if !ok {
		major = ""
	}
	return cmp.Or(module.PathMajorPrefix(major), "v0") + ".0.0-00010101000000-000000000000"
}

// isLocalVersion tells a version that stands for a folder.
func isLocalVersion(version string) bool {
	return strings.HasSuffix(version, ".0.0-00010101000000-000000000000")
}
