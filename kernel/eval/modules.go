package eval

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"cancha/internal/cellio"
	"cancha/kernel/cell"
	"cancha/kernel/eval/check"
	"cancha/kernel/eval/native"
)

// Modules adds modules to what cells may import. It builds their packages, so that the running engine can load cells that
// import them.
type Modules interface {
	// Add prepares what was added before and what is asked for, and tells say how far it is. The error says what to do; it is a *Conflict
	// if the running engine is in the way.
	Add(ctx context.Context, r ModuleRequest, say func(line string)) (Added, error)
}

// ModuleRequest asks for a package by its import path. If Get is set, the path may also be a module's, with or without @version, or a
// module's folder, beginning with ./ or /. Used are the packages that the session has loaded, be it only to complete a name: they have to
// stay as they are.
type ModuleRequest struct {
	Path string
	Get  bool
	Used []string
}

// Added is what cells may import after modules have been added.
type Added struct {
	Module   native.Module // the one that was asked for
	Tools    native.Toolchain
	Packages []Package
	Archives map[string]string // import path → file with the package's export data
	Renamed  []Renamed         // modules that cells import under other paths than they write
}

// Renamed is a module that was edited while the session went on.
type Renamed = check.Renamed

// Edited is a local module whose source is not what the session has taken any more.
type Edited struct {
	Path  string // of the module
	Dir   string // where a package of it has been edited
	Get   string // what %get takes, to have it as it is now
	State string // of the source: another one after another edit
}

// editor is what [Modules] may have: it finds out whether local modules have been edited since they were taken, for the packages by these
// paths and what they need.
type editor interface {
	Edited(paths []string) []Edited
}

// Conflict is why a module cannot be added to the running engine: Reason says in one line what is in the way. Build builds an engine that
// can have the module, and returns the folder of its workspace.
type Conflict struct {
	Reason string
	Module string // as %get is given it
	Build  func(ctx context.Context, say func(line string)) (folder string, err error)
	// Beside adds the module to the running engine beside what that has of it; nil if it cannot.
	Beside func(ctx context.Context, say func(line string)) (Added, error)
}

func (c *Conflict) Error() string { return c.Reason }

// getArguments are %get's: modules, and whether the engine may be replaced though that costs the variables.
func getArguments(args string) (modules []string, replace bool, err error) {
	for _, f := range strings.Fields(args) {
		switch {
		case f == "-replace":
			replace = true
		case strings.HasPrefix(f, "-"):
			return nil, false, fmt.Errorf("%%get has no flag %s; it has -replace", f)
		default:
			modules = append(modules, f)
		}
	}
	if len(modules) == 0 {
		return nil, false, errors.New("%get wants a module: %get github.com/google/uuid@v1.6.0, or its folder: %get ./dir")
	}
	return modules, replace, nil
}

// getAll makes the packages of modules ready for import: args are paths of modules, with or without @version, or their folders, beginning
// with ./ or /, and -replace if the engine may be replaced for them. It ends early when ctx does.
func (p *Program) getAll(ctx context.Context, args string, t *task) error {
	list, replace, err := getArguments(args)
	if err != nil {
		return err
	}
	for _, module := range list {
		if err := p.get(ctx, t, ModuleRequest{Path: module, Get: true}, replace, progress(cellio.Stderr)); err != nil {
			return fmt.Errorf("%%get %s: %w", module, err)
		}
	}
	return nil
}

// get adds a module or a package. Where the engine is in the way, and can be replaced, it is the kernel's to go on: errReplaced.
func (p *Program) get(ctx context.Context, t *task, r ModuleRequest, replace bool, say func(line string)) error {
	if err := p.canAdd(); err != nil {
		return err
	}
	if err := p.adding.lock(ctx); err != nil { // two would extend the same state, and the second lose the first
		return err
	}
	defer p.adding.unlock()
	err := p.add(ctx, r, p.modules.Add, say)
	var conflict *Conflict
	switch {
	case !errors.As(err, &conflict):
		return err
	case conflict.Beside != nil && !replace && p.mayReplace(t, conflict, false) != nil:
		return p.addBeside(ctx, t, r, conflict, say)
	}
	return p.replaceFor(ctx, t, r, conflict, replace, say)
}

// addBeside adds what a local module is now beside what the session has of it, and tells what stays with that.
func (p *Program) addBeside(ctx context.Context, t *task, r ModuleRequest, c *Conflict, say func(line string)) error {
	var module string
	err := p.add(ctx, r, func(ctx context.Context, _ ModuleRequest, say func(string)) (Added, error) {
		added, err := c.Beside(ctx, say)
		module = added.Module.Path
		return added, err
	}, say)
	if err != nil {
		return err
	}
	note := "cells that follow import " + module + " as it is now; functions of earlier cells call what it was, until their cells are run again"
	if names := p.scope.Former(module); len(names) > 0 {
		note += "; these have types of what it was: " + strings.Join(shortList(names), ", ")
	}
	p.note(t.request.Cell, []string{note})
	return nil
}

// editedNotes tell that a cell uses a local module as it was before it was edited, once an edit.
func (p *Program) editedNotes(c *check.Cell) (notes []string) {
	modules, ok := p.modules.(editor)
	if !ok {
		return nil
	}
	paths := slices.DeleteFunc(c.Uses(), func(path string) bool { return !p.session.has(path) })
	if len(paths) == 0 {
		return nil
	}
	for _, e := range modules.Edited(paths) {
		if p.session.tells(e) {
			notes = append(notes, fmt.Sprintf("%s has been edited in %s since the session took it, and the cell uses what it was; \"%%get %s\" takes what it is now", e.Path, e.Dir, e.Get))
		}
	}
	return notes
}

// canAdd is why this engine can add no modules; nil: it can.
func (p *Program) canAdd() error {
	switch {
	case !p.native.available():
		return fmt.Errorf("modules need the engine that compiles cells, and %s", p.native.reason)
	case p.modules == nil:
		return errors.New("this engine cannot add modules")
	}
	return nil
}

// add adds a module or a package to the running engine by a function as that of [Modules]. The caller holds adding.
func (p *Program) add(ctx context.Context, r ModuleRequest, add func(context.Context, ModuleRequest, func(string)) (Added, error), say func(line string)) error {
	r.Used = p.scope.Loaded()
	var told atomic.Bool
	added, err := add(ctx, r, func(line string) { told.Store(true); say(line) })
	if errors.As(err, new(*Conflict)) {
		return err
	}
	if err != nil {
		if told.Load() {
			say("\n")
		}
		return err
	}
	if err := p.building.lock(ctx); err != nil {
		return err
	}
	defer p.building.unlock()
	p.scope.Rename(added.Renamed)
	p.scope.Add(added.Packages)
	p.session.add(added.Packages)
	if r.Get {
		p.session.got(r.Path, added.Module.Path)
	}
	p.archives.Store(&added.Archives)
	p.native.SetTools(added.Tools)
	p.native.share(added.Tools.Cache)
	if told.Load() || added.Module.Path != "" { // a package of the program's own that was there already is no news
		say(addedLine(r, added.Module))
	}
	return nil
}

// addedLine tells the version, by which a notebook can be pinned.
func addedLine(r ModuleRequest, m native.Module) string {
	switch {
	case m.Path == "":
		return "added " + r.Path + "\n"
	case m.Version != "":
		m.Path += "@" + m.Version
	}
	if path, _, _ := strings.Cut(m.Path, "@"); r.Get || r.Path == path {
		return "added " + m.Path + "\n"
	}
	return "added " + r.Path + " of " + m.Path + "\n"
}

// progress returns a function that writes lines over each other; one that ends in a newline stays.
func progress(w io.Writer) func(line string) {
	var mu sync.Mutex
	length := 0
	return func(line string) {
		mu.Lock()
		defer mu.Unlock()
		text, stays := strings.CutSuffix(line, "\n")
		n := len([]rune(text))
		text = "\r" + text + strings.Repeat(" ", max(0, length-n))
		length = n
		if stays {
			text, length = text+"\n", 0
		}
		_, _ = io.WriteString(w, text) // a cell's output cannot fail
	}
}

// cellWriter writes to the error output of a cell that is not running yet.
type cellWriter struct {
	outlet *cellio.Outlet
	cell   int64
}

func (w cellWriter) Write(p []byte) (int, error) {
	w.outlet.Write(w.cell, "stderr", p)
	return len(p), nil
}

// export opens a package's export data: of those that the engine has, or of an added module.
func (p *Program) export(known func(path string) (io.ReadCloser, error)) func(path string) (io.ReadCloser, error) {
	return func(path string) (io.ReadCloser, error) {
		r, err := known(path)
		if err == nil {
			return r, nil
		}
		if archives := p.archives.Load(); archives != nil {
			if file, ok := (*archives)[path]; ok {
				return os.Open(file)
			}
		}
		return nil, err
	}
}

// getImports adds the modules of packages that code of a cell imports and nobody knows, where they can be told by their paths: a
// host's name in front. It adds rooms of the library that are compiled when they are wanted, too.
func (p *Program) getImports(t *task, code string) error {
	if p.outlet == nil {
		return nil
	}
	say := progress(cellWriter{p.outlet, t.request.Cell})
	for _, path := range importsOf(code) {
		host, _, _ := strings.Cut(path, "/")
		room := slices.Contains(p.onImport, path)
		if !room && !strings.Contains(host, ".") && !p.session.isOf(path) || p.scope.Knows(path) {
			continue
		}
		if p.modules == nil || !p.native.available() {
			if room {
				return fmt.Errorf("%s is compiled when a cell imports it, which needs the engine that compiles cells, and %s", path, p.native.reason)
			}
			continue
		}
		if err := p.get(t.ctx, t, ModuleRequest{Path: path}, false, say); err != nil {
			return err
		}
	}
	return nil
}

// importsOf lists what the text of a cell imports, as far as it can be read.
func importsOf(code string) (paths []string) {
	for _, spec := range check.Imports(code) {
		if path, err := strconv.Unquote(spec.Path.Value); err == nil {
			paths = append(paths, path)
		}
	}
	return paths
}

// importError is the error of a cell that imports a package whose module cannot be added.
func importError(err error) *cell.Error {
	if errors.Is(err, context.Canceled) {
		return compileError(err)
	}
	text := "import: " + err.Error()
	return &cell.Error{Name: "compile error", Value: text, Traceback: strings.Split("compile error: "+text, "\n")}
}
