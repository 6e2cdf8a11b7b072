package workspace

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// An engine keeps running while cells import packages that it was not built with: these are compiled beside it, into an extension of its
// workspace. Only what is imported is compiled, with what that needs, never the rest of its module. What the engine itself holds cannot
// change: if a package of it would have to be of another version, that is a [Conflict], which is found before anything is compiled.
//
//	EXT.lock        as a workspace's
//	EXT.log         what the go command said
//	EXT/go.mod      the workspace's, with what was added (go.sum beside it); modules that are copied stand in the workspace's folder
//	EXT/pkg         the packages that the workspace has not
//	EXT/importcfg   those and the workspace's
//	EXT/extension.json

const (
	extensionsName = "ext"
	extensionName  = "extension.json"
	listName       = "packages.json"
)

// Package is a compiled package: its import path, the name in its package clause, and its module with the version, which are "" for the
// standard library.
type Package struct {
	Path    string   `json:"path"`
	Name    string   `json:"name"`
	Module  string   `json:"module,omitempty"`
	Version string   `json:"version,omitempty"`
	Imports []string `json:"imports,omitempty"`
	Source  *Source  `json:"source,omitempty"` // of a local module's
}

// Internal tells whether a package cannot be imported from everywhere: it is internal or vendored, or a program.
func (p Package) Internal() bool {
	return p.Name == "main" || slices.ContainsFunc(strings.Split(p.Path, "/"), func(part string) bool { return part == "internal" || part == "vendor" })
}

// Want is what cells want to import.
type Want struct {
	Path    string // of a package, or of a module where Module is set
	Version string // such as v1.6.0 or latest; "" is what the session has, or else what was taken the last time, or else the latest
	Dir     string // local module that Path names; Version is "" then
	Module  bool   // the path may name a module without a package at its root
	Beside  bool   // the local module has been edited since the session loaded it: what it is now is to be had beside that
	Main    bool   // a package of the sources themselves, which the engine is not made of
	// Used lists the packages that the session has loaded, for a cell or to complete one. They, and all that they need, have to stay as they
	// are. The workspace's own have to in any case.
	Used []string
}

// Extension is a workspace with packages added. It is not removed before Close.
type Extension struct {
	Dir      string
	Base     string // folder of the workspace
	Manifest Manifest
	Packages []Package // that were added
	Modules  []Module  // that were asked for, the last one last
	Wanted   []string  // packages that were asked for
	Carried  []string  // packages that were taken over as they were, whatever their sources are now
	Renamed  []Renamed // modules that cells have under other paths than they write

	replaced []string // modules that go.mod replaces because local ones do
	lock     *lock
}

// described is extension.json.
type described struct {
	Packages []Package `json:"packages"`
	Modules  []Module  `json:"modules"`
	Wanted   []string  `json:"wanted"`
	Carried  []string  `json:"carried,omitempty"`
	Renamed  []Renamed `json:"renamed,omitempty"`
	Replaced []string  `json:"replaced,omitempty"`
	Conflict *Conflict `json:"conflict,omitempty"`
}

// asked is the module that was asked for last, or what is wanted of the sources themselves.
func (d *described) asked(want Want) Module {
	if want.Main {
		return Module{Path: want.Path}
	}
	return d.Modules[len(d.Modules)-1]
}

// Conflict is why the packages that are wanted cannot be added to an engine: others, which it holds, would have to change.
type Conflict struct {
	Module  Module   `json:"module"`  // that wants it
	Changes []Change `json:"changes"` // never empty
	Modules []Module `json:"modules"` // an engine that is built with these can be extended
	Session bool     `json:"-"`       // only what the session has loaded is in the way: a fresh process of the same engine can be extended
}

// Change is a module, of the engine or of what cells have loaded, that is wanted in another version.
type Change struct {
	Module string `json:"module"`
	Have   string `json:"have"`
	Want   string `json:"want"`
}

func (c *Conflict) Error() string {
	first := c.Changes[0]
	has := "the running engine has"
	if c.Session {
		has = "this session has loaded"
	}
	text := fmt.Sprintf("%s needs %s %s, and %s %s", c.Module, first.Module, first.Want, has, first.Have)
	switch {
	case first.Have == first.Want:
		text = fmt.Sprintf("%s has changed since it was loaded", first.Module)
	case first.Module == c.Module.Path:
		text = fmt.Sprintf("%s %s %s, not %s", has, first.Module, first.Have, first.Want)
	}
	if n := len(c.Changes) - 1; n > 0 {
		text += fmt.Sprintf(" (and %d more)", n)
	}
	return text
}

// String is the module with its version, or its folder.
func (m Module) String() string {
	switch {
	case m.Dir != "":
		return m.Dir
	case m.Version != "":
		return m.Path + "@" + m.Version
	}
	return m.Path
}

// Close lets go of the extension.
func (x *Extension) Close() {
	if x.lock != nil {
		x.lock.close()
	}
}

// Open returns the workspace in a folder as an extension that adds nothing, as an engine begins with.
func (s *Store) Open(dir string) (*Extension, error) {
	m, err := readManifest(dir)
	if err != nil {
		return nil, err
	}
	return &Extension{Base: dir, Manifest: m, Modules: m.Modules, replaced: m.Replaced}, nil
}

// Use takes the whole workspace in a folder of the store.
func (s *Store) Use(dir string) (*Workspace, error) {
	if filepath.Dir(dir) != filepath.Clean(s.folder) {
		return nil, fmt.Errorf("%s is not a workspace", dir)
	}
	if w := s.use(dir); w != nil {
		return w, nil
	}
	return nil, fmt.Errorf("the workspace in %s: %w", dir, errDamaged)
}

// Held returns the packages of the workspace by their paths, whoever may import them.
func Held(base string) (map[string]Package, error) {
	var all []Package
	if err := readJSON(filepath.Join(base, listName), &all); err != nil {
		return nil, fmt.Errorf("read the list of packages: %w", err)
	}
	return byPath(all), nil
}

func byPath(all []Package) map[string]Package {
	of := make(map[string]Package, len(all))
	for _, p := range all {
		of[p.Path] = p
	}
	return of
}

// Extend returns an extension that has what from has and what is wanted, and compiles what is missing. It tells say how far it is, a line
// at a time, from any goroutine. If something cannot be added, the error says why in one line; a *Conflict means that the engine is in the
// way.
func (s *Store) Extend(ctx context.Context, from *Extension, want Want, say func(line string)) (*Extension, error) {
	key, err := s.extensionKey(from, want)
	if err != nil {
		return nil, err
	}
	dir := filepath.Join(from.Base, extensionsName, key)
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return nil, storage(from.Base, err)
	}
	var d *described
	var held *lock
	var conflict *Conflict // one that depends on the session, and is not kept
	use := func() bool {
		if conflict == nil {
			d, held = useExtension(dir)
		}
		return d != nil || conflict != nil
	}
	err = claim(ctx, dir, use, func(l *lock) (err error) {
		conflict, err = s.makeExtension(ctx, from, want, dir, l, say)
		return err
	}, say)
	switch {
	case errors.Is(err, errTaken):
		return nil, fmt.Errorf("%s is damaged, and another session uses it: end that, or remove the folder", dir)
	case err != nil:
		return nil, err
	case conflict != nil:
		return nil, conflict
	case d.Conflict != nil:
		held.close()
		return nil, d.Conflict
	}
	x := &Extension{Dir: dir, Base: from.Base, Manifest: from.Manifest, Packages: d.Packages, Modules: d.Modules, Wanted: d.Wanted,
		Carried: d.Carried, Renamed: d.Renamed, replaced: d.Replaced, lock: held}
	x.Manifest.Importcfg, x.Manifest.Modules = filepath.Join(dir, importcfgName), d.Modules
	if changes := changed(from, x, want.Used); len(changes) > 0 {
		x.Close()
		return nil, &Conflict{Module: d.asked(want), Changes: changes, Modules: d.Modules, Session: true}
	}
	return x, nil
}

// extensionKey names what is to be made, before anybody knows of which version that is.
func (s *Store) extensionKey(from *Extension, want Want) (string, error) {
	h := sha256.New()
	modules := slices.Clone(from.Modules)
	if want.Dir != "" {
		modules = append(modules, Module{Path: want.Path, Dir: want.Dir})
	}
	local, err := s.sums(modules)
	if err != nil {
		return "", err
	}
	before := "" // whose packages are taken over, which other sessions need not have
	carried := from.carried(want)
	if len(carried) > 0 || want.Beside {
		before = filepath.Base(from.Dir)
	}
	err = json.NewEncoder(h).Encode([]any{
		layout, filepath.Base(from.Base), from.Modules, from.Wanted, from.Renamed, carried, before,
		want.Path, want.Version, want.Dir, want.Module, want.Beside, local,
	})
	return fmt.Sprintf("%x", h.Sum(nil)[:10]), err
}

// changed compares what a session has loaded of one extension with the next.
func changed(from, to *Extension, used []string) (changes []Change) {
	loaded := from.loaded(used)
	if len(loaded) == 0 {
		return nil
	}
	one, err1 := Packages(filepath.Join(from.Dir, importcfgName))
	two, err2 := Packages(filepath.Join(to.Dir, importcfgName))
	after := byPath(to.Packages)
	for _, have := range loaded {
		want, there := after[have.Path]
		if there && (have.Version != want.Version || err1 != nil || err2 != nil || !sameFile(one[have.Path], two[have.Path])) {
			changes = append(changes, Change{have.Module, have.Version, want.Version})
		}
	}
	return unique(changes)
}

// loaded are the packages of an extension that a session has used, and those that these need.
func (x *Extension) loaded(used []string) (list []Package) {
	all := byPath(x.Packages)
	seen := map[string]bool{}
	var visit func(path string)
	visit = func(path string) {
		p, added := all[path]
		if seen[path] || !added {
			return
		}
		seen[path] = true
		list = append(list, p)
		for _, needed := range p.Imports {
			visit(needed)
		}
	}
	for _, path := range used {
		visit(path)
	}
	return list
}

// unique leaves one of equal changes; those of versions come first, since they are why others have changed.
func unique(changes []Change) []Change {
	slices.SortFunc(changes, func(a, b Change) int {
		if sameA, sameB := a.Have == a.Want, b.Have == b.Want; sameA != sameB {
			return map[bool]int{true: 1, false: -1}[sameA]
		}
		return strings.Compare(a.Module, b.Module)
	})
	return slices.Compact(changes)
}

// sameFile compares files by their contents; most are two names of one.
func sameFile(a, b string) bool {
	one, err1 := os.Stat(a)
	two, err2 := os.Stat(b)
	switch {
	case err1 != nil || err2 != nil || one.Size() != two.Size():
		return false
	case os.SameFile(one, two):
		return true
	}
	first, err1 := summed(a)
	second, err2 := summed(b)
	return err1 == nil && err2 == nil && first == second
}

// useExtension takes the extension in dir if it is whole and nobody builds it.
func useExtension(dir string) (*described, *lock) {
	l, err := openLock(dir + ".lock")
	if err != nil {
		return nil, nil
	}
	if ok, err := l.share(); ok && err == nil && l.current() {
		if d := wholeExtension(dir); d != nil {
			now := time.Now()
			_ = os.Chtimes(dir+".lock", now, now) // by which the latest used are known
			return d, l
		}
	}
	l.close()
	return nil, nil
}

// wholeExtension reads what an extension says of itself, nil where an archive is missing.
func wholeExtension(dir string) *described {
	var d described
	if readJSON(filepath.Join(dir, extensionName), &d) != nil {
		return nil
	}
	if d.Conflict != nil {
		return &d
	}
	all, err := Packages(filepath.Join(dir, importcfgName))
	if err != nil {
		return nil
	}
	for _, p := range d.Packages {
		if info, err := os.Stat(all[p.Path]); err != nil || info.Size() == 0 {
			return nil
		}
	}
	return &d
}

// extensions is how many extensions of a workspace are kept, beside those in use.
const extensions = 24

// sweepExtensions removes those that were used longest ago.
func sweepExtensions(newest string) {
	type candidate struct {
		dir  string
		used time.Time
	}
	var all []candidate
	locks, _ := filepath.Glob(filepath.Join(filepath.Dir(newest), "*.lock")) // the pattern is fine
	for _, name := range locks {
		if info, err := os.Stat(name); err == nil {
			all = append(all, candidate{strings.TrimSuffix(name, ".lock"), info.ModTime()})
		}
	}
	slices.SortFunc(all, func(a, b candidate) int { return b.used.Compare(a.used) })
	for i, c := range all {
		if i >= extensions && c.dir != newest {
			remove(c.dir)
		}
	}
}
