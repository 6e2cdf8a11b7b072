package workspace

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"
)

// extend makes one extension. Its lock is held exclusively.
type extend struct {
	build
	from *Extension
	want Want
	held map[string]Package

	renew   []string  // packages of the session that are compiled anew under other paths
	carried []string  // packages that are taken over from the extension before as they are
	renamed []Renamed // modules that cells have under other paths
}

// makeExtension builds an extension in dir, or finds a conflict, which is kept there unless only the session has it.
func (s *Store) makeExtension(ctx context.Context, from *Extension, want Want, dir string, l *lock, say func(string)) (*Conflict, error) {
	plan, err := s.plan(ctx, from.Modules)
	if err != nil {
		return nil, err
	}
	if plan.tools.version != from.Manifest.GoVersion || plan.tools.compile() != from.Manifest.Compile {
		return nil, fmt.Errorf("the engine was built with %s in %s, and there is %s now: restart the kernel", from.Manifest.GoVersion, from.Manifest.Compile, plan.tools.version)
	}
	if err := clearExtension(dir); err != nil {
		return nil, storage(dir, err)
	}
	log, err := os.Create(dir + ".log")
	if err != nil {
		return nil, storage(dir, err)
	}
	defer log.Close()
	held, err := Held(from.Base)
	if err != nil {
		return nil, err
	}
	p := newProgress("finding "+want.Path, filepath.Join(dir, progressName), say)
	x := extend{from: from, want: want, held: held, carried: from.carried(want), renamed: from.Renamed, build: build{
		store: s, plan: plan, dir: dir, sources: filepath.Join(from.Base, sourcesName), lock: l, log: log, say: p,
		env: plan.tools.build(s.environ, plan.cc, filepath.Join(s.folder, "go-build")), replaced: from.replaced,
	}}
	err = x.run(ctx)
	p.close() // it writes into the folder
	var conflict *Conflict
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err() // what was done is done again sooner: Go's caches have it
	case errors.As(err, &conflict) && conflict.Session: // another session can have it
		return conflict, storage(dir, os.RemoveAll(dir))
	case errors.As(err, &conflict):
		err = writeJSON(filepath.Join(dir, extensionName), described{Conflict: conflict})
		return conflict, storage(dir, err)
	case err != nil:
		_ = os.RemoveAll(dir) // debris must not fill a disk; the next build begins with it
		if errors.As(err, new(*fs.PathError)) {
			err = storage(dir, err)
		}
		return nil, err
	}
	sweepExtensions(dir)
	return nil, nil
}

func clearExtension(dir string) error {
	if err := clear(dir); err != nil {
		return err
	}
	return os.Mkdir(filepath.Join(dir, packagesName), 0o755)
}

func (x *extend) run(ctx context.Context) error {
	before := x.from.Dir
	if before == "" {
		before = x.from.Base
	}
	for _, name := range []string{"go.mod", "go.sum"} {
		if err := copyOut(os.DirFS(before), name, x.path(name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	if err := x.mendRuntime(); err != nil {
		return err
	}
	if err := x.resolve(ctx, x.modules(), x.held); err != nil {
		return err
	}
	module, err := x.require(ctx)
	if err != nil {
		return err
	}
	switch {
	case x.want.Beside:
		if x.renamed, err = x.beside(ctx); err != nil {
			return err
		}
		x.want.Path = moved(x.renamed, x.want.Path)
	case x.want.Dir != "" || x.want.Version != "": // no other path leads to it any more
		x.renamed = slices.DeleteFunc(slices.Clone(x.renamed), func(r Renamed) bool {
			_, in := below(r.Path, x.want.Path)
			return r.Path == x.want.Path || r.Exact && in
		})
	}
	all, err := x.list(ctx, append(x.targets(), x.want.Path))
	if err != nil {
		return err
	}
	if module, err = x.judge(all, module); err != nil {
		return err
	}
	d := described{Modules: slices.Clone(x.from.Modules), Wanted: x.wanted(all), Carried: x.carried, Renamed: x.renamed, Replaced: x.replaced}
	if !x.want.Main { // the sources have no version to be asked for
		d.Modules = latest(append(d.Modules, module))
	}
	if changes := x.changes(all, module); len(changes) > 0 {
		return &Conflict{Module: module, Changes: changes, Modules: d.Modules}
	}
	if changes := x.loadedChanges(all); len(changes) > 0 {
		return &Conflict{Module: module, Changes: changes, Modules: d.Modules, Session: true}
	}
	if len(d.Wanted) > 0 {
		if all, err = x.compile(ctx, d.Wanted, all); err != nil {
			return err
		}
	} else {
		all = nil
	}
	changes, err := x.keepAdded(all, &d)
	if err != nil {
		return err
	}
	if len(changes) > 0 {
		return &Conflict{Module: module, Changes: changes, Modules: d.Modules}
	}
	return writeJSON(x.path(extensionName), d)
}

// latest leaves of the entries of a module the last one.
func latest(modules []Module) (kept []Module) {
	for i, m := range modules {
		if !slices.ContainsFunc(modules[i+1:], func(later Module) bool { return later.Path == m.Path }) {
			kept = append(kept, m)
		}
	}
	return kept
}

// modules are those that were asked for, with what is asked for now.
func (x *extend) modules() []Module {
	all := slices.Clone(x.from.Modules)
	if x.want.Dir != "" || x.want.Version != "" {
		all = append(all, Module{Path: x.want.Path, Version: x.want.Version, Dir: x.want.Dir})
	}
	return latest(all)
}

// require puts the module that is wanted into go.mod, unless what is there already decides its version: then listing does it.
func (x *extend) require(ctx context.Context) (Module, error) {
	switch {
	case x.want.Dir != "":
		m := Module{Path: x.want.Path, Dir: x.want.Dir}
		_, err := x.command(ctx, "adding "+m.Path, x.local(m)...)
		return m, err
	case x.want.Version != "":
		if slices.ContainsFunc(x.from.Modules, func(m Module) bool { return m.Path == x.want.Path && m.Dir != "" }) { // until now it was a folder
			if _, err := x.command(ctx, "releasing "+x.want.Path, "mod", "edit", "-dropreplace="+x.want.Path, "-droprequire="+x.want.Path, x.path("go.mod")); err != nil {
				return Module{}, err
			}
		}
		return Module{}, x.get(ctx, x.want.Path+"@"+x.want.Version)
	case x.want.Main, x.settled():
		return Module{}, nil
	}
	return Module{}, x.get(ctx, x.want.Path+"@latest")
}

// settled tells that a module which may hold the wanted package has its version already: the engine holds packages of it, or the
// session has asked for it.
func (x *extend) settled() bool {
	within := func(module string) bool {
		return module != "" && (x.want.Path == module || strings.HasPrefix(x.want.Path, module+"/"))
	}
	for _, all := range [][]Package{slices.Collect(maps.Values(x.held)), x.from.Packages} {
		if slices.ContainsFunc(all, func(p Package) bool { return within(p.Module) }) {
			return true
		}
	}
	return slices.ContainsFunc(x.from.Modules, func(m Module) bool { return within(m.Path) })
}

func (x *extend) get(ctx context.Context, what string) error {
	_, err := x.command(ctx, "adding "+what, "get", what)
	return err
}

// command is build's, with what a user can use of what the go command says.
func (x *extend) command(ctx context.Context, doing string, args ...string) ([]byte, error) {
	out, said, err := x.execute(ctx, args...)
	if err == nil || ctx.Err() != nil {
		return out, err
	}
	return nil, refusal(x.want, said, x.log.Name(), err)
}

const listFields = "-json=ImportPath,Name,Export,Dir,DepOnly,Stale,Module,Imports,Error,GoFiles,CgoFiles,SFiles,CFiles,EmbedFiles"

// targets are the packages from before that are listed again.
func (x *extend) targets() []string {
	return slices.DeleteFunc(slices.Concat(x.from.Wanted, x.renew), func(path string) bool { return slices.Contains(x.carried, path) })
}

// list finds out what packages need. It brings go.mod and go.sum up to that.
func (x *extend) list(ctx context.Context, targets []string) ([]listed, error) {
	out, err := x.command(ctx, "finding the packages of "+x.want.Path, slices.Concat([]string{"list", "-mod=mod", "-e", "-deps", listFields}, targets)...)
	if err != nil {
		return nil, err
	}
	return readListed(out)
}

// target is the package that is wanted.
func (x *extend) target(all []listed) *listed {
	i := slices.IndexFunc(all, func(p listed) bool { return p.ImportPath == x.want.Path })
	if i < 0 {
		return nil
	}
	return &all[i]
}

// judge finds what is wrong with the packages that are wanted, and the module that is meant.
func (x *extend) judge(all []listed, module Module) (Module, error) {
	p := x.target(all)
	if p != nil && p.Module != nil && module.Path == "" {
		module = Module{Path: original(x.renamed, p.Module.Path), Version: p.Module.Version}
		if i := slices.IndexFunc(x.from.Modules, func(m Module) bool { return m.Path == module.Path && m.Dir != "" }); i >= 0 && isLocalVersion(module.Version) {
			module = x.from.Modules[i]
		}
	}
	bare := p == nil || len(p.GoFiles)+len(p.CgoFiles) == 0 && p.Name == "" || p.Name == "main"
	if x.want.Module && bare {
		if module.Path == "" {
			required, err := x.required(x.want.Path)
			if err != nil {
				return module, err
			}
			module = required
		}
		return module, nil
	}
	switch {
	case p == nil:
		return module, fmt.Errorf("there is no package %s", x.want.Path)
	case p.Error != nil:
		return module, refusal(x.want, p.Error.Err, x.log.Name(), errors.New(p.Error.Err))
	case p.Name == "main":
		return module, fmt.Errorf("%s is a program (package main), which nothing can import", x.want.Path)
	}
	for _, q := range all {
		if q.Error != nil && !x.broken(q) {
			return module, fmt.Errorf("%s needs %s, which is not available: %w", x.want.Path, q.ImportPath, refusal(Want{Path: q.ImportPath}, q.Error.Err, x.log.Name(), errors.New(q.Error.Err)))
		}
	}
	return module, nil
}

// broken tells what was wrong before: it is the business of who imported that.
func (x *extend) broken(p listed) bool { return !p.DepOnly && p.ImportPath != x.want.Path }

// required reads a module's version from go.mod.
func (x *extend) required(path string) (Module, error) {
	text, err := os.ReadFile(x.path("go.mod"))
	if err != nil {
		return Module{}, err
	}
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(strings.TrimPrefix(strings.TrimSpace(line), "require "))
		if len(fields) >= 2 && fields[0] == path {
			return Module{Path: path, Version: fields[1]}, nil
		}
	}
	return Module{}, fmt.Errorf("there is no module %s", path)
}

// wanted are the packages that are compiled: those from before, and the one that is wanted unless it is a bare module.
func (x *extend) wanted(all []listed) []string {
	p := x.target(all)
	if p == nil || p.Error != nil || p.Name == "main" || slices.Contains(x.targets(), x.want.Path) {
		return x.targets()
	}
	return append(x.targets(), x.want.Path)
}

// changes are the modules of which the engine holds another version than is wanted now: by a package, or because it was asked for.
func (x *extend) changes(all []listed, module Module) (changes []Change) {
	for _, p := range all {
		if have, ok := x.held[p.ImportPath]; ok && p.Module != nil && have.Version != p.Module.Version {
			changes = append(changes, Change{have.Module, have.Version, p.Module.Version})
		}
	}
	if slices.ContainsFunc(x.from.Modules, func(m Module) bool { return m.Dir != "" && m.Path == module.Path && m.Dir == module.Dir }) {
		return unique(changes) // the engine was built with this very folder; whether what is in it has changed is seen in the archives
	}
	for _, have := range x.held {
		if have.Module == module.Path && have.Version != module.Version {
			changes = append(changes, Change{have.Module, have.Version, cmp.Or(module.Version, module.Dir)})
		}
	}
	return unique(changes)
}

// compile compiles the wanted packages and what they need. As in a workspace, assembly is switched off where a plugin cannot have it.
func (x *extend) compile(ctx context.Context, wanted []string, all []listed) ([]listed, error) {
	x.say.phase("building " + x.want.Path)
	x.say.expect(slices.DeleteFunc(slices.Clone(all), func(p listed) bool { _, have := x.held[p.ImportPath]; return have }))
	args := slices.Concat([]string{"list", "-mod=mod", "-v", "-e", "-deps", "-export", listFields}, wanted)
	replaced := map[string]bool{}
	for {
		out, err := x.command(ctx, "compiling "+x.want.Path, args...)
		if err != nil {
			return nil, err
		}
		if all, err = readListed(out); err != nil {
			return nil, err
		}
		again, err := x.withoutAssembly(ctx, all, replaced)
		if err != nil {
			return nil, err
		}
		if again {
			continue
		}
		for _, p := range all {
			if p.Error != nil && p.Export == "" {
				return nil, fmt.Errorf("%s cannot be built: %w", x.want.Path, refusal(Want{Path: p.ImportPath}, p.Error.Err, x.log.Name(), errors.New(p.Error.Err)))
			}
		}
		return all, nil
	}
}

// loadedChanges are the modules of which the session has loaded packages in another version than is wanted now.
func (x *extend) loadedChanges(all []listed) (changes []Change) {
	now := map[string]listed{}
	for _, p := range all {
		now[p.ImportPath] = p
	}
	for _, have := range x.from.loaded(x.want.Used) {
		if p, ok := now[have.Path]; ok && p.Module != nil && p.Module.Version != have.Version {
			changes = append(changes, Change{have.Module, have.Version, p.Module.Version})
		}
	}
	return unique(changes)
}

// keepAdded takes the packages that the engine has not, and checks that the others are the engine's.
func (x *extend) keepAdded(all []listed, d *described) (changes []Change, err error) {
	base, err := Packages(filepath.Join(x.from.Base, importcfgName))
	if err != nil {
		return nil, err
	}
	var cfg bytes.Buffer
	for _, path := range slices.Sorted(maps.Keys(base)) {
		fmt.Fprintf(&cfg, "packagefile %s=%s\n", path, base[path])
	}
	for i, p := range all {
		if p.Export == "" {
			continue // unsafe
		}
		if have, ok := base[p.ImportPath]; ok {
			if !sameFile(have, p.Export) {
				changes = append(changes, x.differs(p))
			}
			continue
		}
		name := x.path(fmt.Sprintf("%s/%04d.a", packagesName, i))
		if err := adopt(p.Export, name); err != nil {
			return nil, err
		}
		fmt.Fprintf(&cfg, "packagefile %s=%s\n", p.ImportPath, name)
		k := p.pack()
		if k.Source, err = x.source(p); err != nil {
			return nil, err
		}
		d.Packages = append(d.Packages, k)
	}
	if err := x.carry(&cfg, d); err != nil {
		return nil, err
	}
	return unique(changes), os.WriteFile(x.path(importcfgName), cfg.Bytes(), 0o644)
}

// differs is the change of a package that has the same version and is another one all the same.
func (x *extend) differs(p listed) Change {
	if p.Module == nil {
		return Change{Module: p.ImportPath}
	}
	return Change{p.Module.Path, p.Module.Version, p.Module.Version}
}

// canonical is a version as go.mod has it.
var canonical = regexp.MustCompile(`^v\d+\.\d+\.\d+(?:[-+]\S+)?$`)

// Resolve returns the version that a query such as latest, v1.2 or a branch's name leads to now, for the module that holds a package.
func (s *Store) Resolve(ctx context.Context, from *Extension, name, query string) (string, error) {
	if canonical.MatchString(query) {
		return query, nil
	}
	p, err := s.plan(ctx, from.Modules)
	if err != nil {
		return "", err
	}
	env := replace(p.tools.build(s.environ, p.cc, filepath.Join(s.folder, "go-build")), "GO111MODULE=on")
	var first error
	for module := name; strings.Contains(module, "/"); module = path.Dir(module) {
		out, err := output(ctx, env, p.tools.command, "list", "-m", "-f", "{{.Version}}", module+"@"+query)
		if err == nil {
			return strings.TrimSpace(string(out)), nil
		}
		if ctx.Err() != nil {
			return "", ctx.Err()
		}
		if first == nil {
			first = refusal(Want{Path: name, Version: query}, err.Error(), "", err)
		}
	}
	return "", first
}

// ModulePath is the path of the module in a folder.
func ModulePath(dir string) (string, error) {
	text, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	if _, missing := os.Stat(dir); missing != nil {
		return "", fmt.Errorf("there is no folder %s", dir)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("%s holds no Go module, because it has no go.mod: \"go mod init\" makes one", dir)
	}
	if err != nil {
		return "", err
	}
	name := modfile.ModulePath(text)
	if name == "" {
		return "", fmt.Errorf("%s names no module", filepath.Join(dir, "go.mod"))
	}
	return name, nil
}
