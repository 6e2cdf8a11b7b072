//go:build !windows

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"cancha/cmd/internal/own"
	"cancha/kernel/eval"
	"cancha/kernel/eval/native"
	"cancha/kernel/workspace"
)

// modules adds packages to what the cells of a running engine may import. The engine goes on as it is: what it has not is compiled beside
// it. Where that cannot be, because it holds another version of a package, it can build an engine that has the right one.
type modules struct {
	store *workspace.Store
	tools native.Toolchain // of the engine's own workspace
	now   *workspace.Extension
	mu    sync.Mutex                                   // of now, which Edited reads beside Add
	held  func() (map[string]workspace.Package, error) // of the engine's own workspace; read when it is asked for, not while a session starts
}

func newModules(store *workspace.Store, folder string, tools native.Toolchain) (*modules, error) {
	now, err := store.Open(folder)
	if err != nil {
		return nil, err
	}
	held := sync.OnceValues(func() (map[string]workspace.Package, error) { return workspace.Held(folder) })
	return &modules{store: store, tools: tools, now: now, held: held}, nil
}

// Add prepares a package, or a module, for import.
func (m *modules) Add(ctx context.Context, r eval.ModuleRequest, say func(line string)) (eval.Added, error) {
	p, ok, err := m.has(r)
	if err != nil {
		return eval.Added{}, err
	}
	if ok {
		return m.added(workspace.Module{Path: p.Module, Version: p.Version}, []workspace.Package{p})
	}
	say("finding " + r.Path)
	want, err := m.want(ctx, r)
	if err != nil {
		return eval.Added{}, err
	}
	a, err := m.extend(ctx, want, say)
	var conflict *workspace.Conflict
	if errors.As(err, &conflict) {
		return eval.Added{}, m.conflict(conflict, want)
	}
	return a, err
}

// extend adds what is wanted to the running engine.
func (m *modules) extend(ctx context.Context, want workspace.Want, say func(line string)) (eval.Added, error) {
	x, err := m.store.Extend(ctx, m.now, want, say)
	if errors.As(err, new(*workspace.Conflict)) {
		return eval.Added{}, err
	}
	if err != nil {
		return eval.Added{}, errors.New(m.now.Plain(err.Error()))
	}
	m.use(x)
	if want.Main {
		return m.added(workspace.Module{}, x.Packages)
	}
	return m.added(x.Modules[len(x.Modules)-1], x.Packages)
}

func (m *modules) use(x *workspace.Extension) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.now.Close()
	m.now = x
}

// Edited finds the local modules that have been edited since the session took them, for the packages by these paths and what they need.
func (m *modules) Edited(paths []string) (list []eval.Edited) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, path := range paths {
		i := slices.IndexFunc(m.now.Packages, func(p workspace.Package) bool { return p.Path == path })
		if i < 0 {
			continue
		}
		module, current := m.now.Written(m.now.Packages[i].Module)
		dir := m.folder(module)
		if !current || dir == "" {
			continue
		}
		for _, p := range m.now.Edited([]string{path}) {
			edited, _ := m.now.Written(p.Module)
			list = append(list, eval.Edited{Path: edited, Dir: p.Source.Dir, Get: dir, State: p.Source.State()})
		}
	}
	return list
}

// folder is what %get is to be given to take a local module anew: its own folder, or that of one which brings it along.
func (m *modules) folder(module string) (dir string) {
	for _, x := range m.now.Modules {
		if x.Path == module && x.Dir != "" {
			return x.Dir
		}
		dir = cmp.Or(x.Dir, dir)
	}
	return dir
}

// has finds a package that is compiled already. Cells may import it though the interpreter has no symbols of it.
func (m *modules) has(r eval.ModuleRequest) (workspace.Package, bool, error) {
	held, err := m.held()
	if err != nil {
		return workspace.Package{}, false, err
	}
	path := m.now.Actual(r.Path)
	if p, ok := held[path]; ok {
		return p, !p.Internal(), nil
	}
	for _, p := range m.now.Packages {
		if p.Path == path {
			return p, !p.Internal(), nil
		}
	}
	return workspace.Package{}, false, nil
}

// want reads what a cell asks for.
func (m *modules) want(ctx context.Context, r eval.ModuleRequest) (workspace.Want, error) {
	if r.Get && (strings.HasPrefix(r.Path, ".") || filepath.IsAbs(r.Path)) {
		dir, err := filepath.Abs(r.Path)
		if err != nil {
			return workspace.Want{}, err
		}
		name, err := workspace.ModulePath(dir)
		return workspace.Want{Path: name, Dir: dir, Module: true, Used: r.Used}, err
	}
	name, query, given := strings.Cut(r.Path, "@")
	switch {
	case given && !r.Get:
		return workspace.Want{}, fmt.Errorf("an import path has no version: write import %q, and %%get %s before it", name, r.Path)
	case given && query == "":
		return workspace.Want{}, fmt.Errorf("%s has no version after its @", r.Path)
	case workspace.Package{Path: name}.Internal():
		before, _, _ := strings.Cut("/"+name+"/", "/internal/")
		return workspace.Want{}, fmt.Errorf("%s is internal: only packages below %s may import it", name, strings.TrimPrefix(before, "/"))
	case slices.Contains(own.OnImport(), name) && !given && !r.Get:
		return workspace.Want{Path: name, Main: true, Used: r.Used}, nil
	case m.isLocal(name) && !given:
		return workspace.Want{Path: m.now.Actual(path.Clean(name)), Module: r.Get, Used: r.Used}, nil
	case !strings.Contains(name, "/") || !strings.Contains(strings.Split(name, "/")[0], "."):
		return workspace.Want{}, fmt.Errorf("%q is not a module path, such as github.com/google/uuid", name)
	}
	want := workspace.Want{Path: path.Clean(name), Version: query, Module: r.Get, Used: r.Used}
	if !given {
		return want, nil
	}
	version, err := m.store.Resolve(ctx, m.now, want.Path, query)
	want.Version = version
	return want, err
}

// isLocal tells a package of a module that was taken from a folder.
func (m *modules) isLocal(name string) bool {
	return m.now != nil && slices.ContainsFunc(m.now.Modules, func(x workspace.Module) bool {
		return x.Dir != "" && (name == x.Path || strings.HasPrefix(name, x.Path+"/"))
	})
}

// conflict is the error of what the engine stands in the way of.
func (m *modules) conflict(c *workspace.Conflict, want workspace.Want) error {
	conflict := &eval.Conflict{Reason: c.Error(), Module: c.Module.String(), Build: func(ctx context.Context, say func(string)) (string, error) {
		return m.build(ctx, c, want, say)
	}}
	if c.Session && want.Dir != "" {
		want.Beside = true
		conflict.Beside = func(ctx context.Context, say func(string)) (eval.Added, error) { return m.extend(ctx, want, say) }
	}
	return conflict
}

// attempts bounds how often an engine is built anew, because the one before cannot be extended either: what a package needs may ask for
// another version than its module does.
const attempts = 3

// build builds an engine that can be extended by what is wanted, and extends it.
func (m *modules) build(ctx context.Context, c *workspace.Conflict, want workspace.Want, say func(string)) (folder string, err error) {
	if c.Session {
		return m.now.Base, nil
	}
	for range attempts {
		folder, err = m.tryBuild(ctx, c.Modules, want, say)
		if !errors.As(err, &c) {
			break
		}
	}
	return folder, err
}

func (m *modules) tryBuild(ctx context.Context, list []workspace.Module, want workspace.Want, say func(string)) (string, error) {
	last := list[len(list)-1]
	w, err := m.store.Ensure(ctx, list, func(line string) {
		say(strings.Replace(line, "building the engine for "+m.tools.GoVersion, "building an engine with "+last.String(), 1))
	})
	if err != nil {
		if ctx.Err() == nil {
			err = fmt.Errorf("no engine can be built with %s: %w", last, err)
		}
		return "", err
	}
	defer w.Close()
	next, err := newModules(m.store, w.Dir, m.tools)
	if err != nil {
		return "", err
	}
	defer func() { next.now.Close() }()
	var names []string
	for _, name := range slices.Concat(m.now.Carried, m.now.Wanted, []string{want.Path}) {
		if name, current := m.now.Written(name); current && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	for _, name := range names {
		if _, ok, err := next.has(eval.ModuleRequest{Path: name}); err != nil {
			return "", err
		} else if ok {
			continue
		}
		x, err := m.store.Extend(ctx, next.now, workspace.Want{Path: name, Module: want.Module && name == want.Path, Main: slices.Contains(own.OnImport(), name)}, say)
		if err != nil {
			return "", err
		}
		next.now.Close()
		next.now = x
	}
	return w.Dir, nil
}

// added tells the program what its cells may import now.
func (m *modules) added(module workspace.Module, packages []workspace.Package) (eval.Added, error) {
	tools := m.tools
	tools.ImportConfig = m.now.Manifest.Importcfg
	tools.Modules = nil
	for _, x := range m.now.Modules {
		tools.Modules = append(tools.Modules, native.Module{Path: x.Path, Version: x.Version})
	}
	archives, err := workspace.Packages(tools.ImportConfig)
	if err != nil {
		return eval.Added{}, err
	}
	a := eval.Added{Module: native.Module{Path: module.Path, Version: module.Version}, Tools: tools, Archives: archives}
	for _, r := range m.now.Renamed {
		a.Renamed = append(a.Renamed, eval.Renamed{Path: r.Path, As: r.As, Exact: r.Exact})
	}
	for _, p := range packages {
		if !p.Internal() {
			a.Packages = append(a.Packages, eval.Package{Path: p.Path, Name: p.Name})
		}
	}
	return a, nil
}

// modulesVariable names modules that engines are built with from the start.
const modulesVariable = "CANCHA_MODULES"

// wantedModules are those that engines are built with from the start.
func wantedModules() (list []workspace.Module, err error) {
	for _, text := range strings.FieldsFunc(os.Getenv(modulesVariable), func(r rune) bool { return r == ',' || r == ' ' }) {
		name, version, ok := strings.Cut(text, "@")
		if !ok || name == "" || version == "" {
			err = errors.Join(err, fmt.Errorf("%s has %q: write PATH@VERSION for each module, with commas between them", modulesVariable, text))
			continue
		}
		list = append(list, workspace.Module{Path: name, Version: version})
	}
	return list, err
}
