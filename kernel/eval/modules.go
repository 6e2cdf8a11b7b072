package eval

import (
	"context"
	"errors"
	"fmt"
	"go/parser"
	"go/token"
	"io"
	"os"
	"strconv"
	"strings"
	"sync"

	"cancha/internal/cellio"
	"cancha/kernel/cell"
	"cancha/kernel/eval/native"
)

// Modules adds modules to what cells may import. It builds their packages, so that the running engine can load cells that
// import them.
type Modules interface {
	// Add makes ready what was added before and one module more: its path, with @version behind it or not, or the folder of
	// one, beginning with ./ or /. Say is told how far that is. The error says what to do.
	Add(ctx context.Context, module string, say func(line string)) (Added, error)
}

// Added is what cells may import after modules have been added.
type Added struct {
	Module   native.Module // the one that was asked for
	Tools    native.Toolchain
	Packages []Package
	Archives map[string]string // import path → file with the package's export data
}

// Get makes the packages of a module ready for import: args is a module's path, with @version behind it or not, or the folder of
// one, beginning with ./ or /. It ends early when ctx does.
func (p *Program) Get(ctx context.Context, args string) error {
	fields := strings.Fields(args)
	if len(fields) == 0 {
		return errors.New("%get wants a module: %get github.com/google/uuid@v1.6.0, or its folder: %get ./dir")
	}
	for _, module := range fields {
		if err := p.get(ctx, module, progress(cellio.Stderr)); err != nil {
			return fmt.Errorf("%%get %s: %w", module, err)
		}
	}
	return nil
}

func (p *Program) get(ctx context.Context, module string, say func(line string)) error {
	switch {
	case !p.native.available():
		return fmt.Errorf("modules need the engine that compiles cells, and %s", p.native.reason)
	case p.modules == nil:
		return errors.New("this engine cannot add modules")
	}
	added, err := p.modules.Add(ctx, module, say)
	if err != nil {
		return err
	}
	if err := p.building.lock(ctx); err != nil {
		return err
	}
	defer p.building.unlock()
	p.scope.Add(added.Packages)
	p.archives.Store(&added.Archives)
	p.native.SetTools(added.Tools)
	p.native.share(added.Tools.Cache)
	pinned := added.Module.Path
	if added.Module.Version != "" {
		pinned += "@" + added.Module.Version
	}
	say("added " + pinned + "\n")
	return nil
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
// host's name in front.
func (p *Program) getImports(t *task, code string) error {
	if p.modules == nil || !p.native.available() || p.outlet == nil {
		return nil
	}
	say := progress(cellWriter{p.outlet, t.request.Cell})
	for _, path := range importsOf(code) {
		host, _, _ := strings.Cut(path, "/")
		if !strings.Contains(host, ".") || p.scope.Knows(path) {
			continue
		}
		if err := p.get(t.ctx, path, say); err != nil {
			return err
		}
	}
	return nil
}

// importsOf lists what the text of a cell imports, as far as its beginning can be read.
func importsOf(code string) []string {
	if !strings.Contains(code, "import") {
		return nil
	}
	src := code
	if !strings.HasPrefix(strings.TrimSpace(code), "package ") {
		src = "package main;" + code
	}
	file, _ := parser.ParseFile(token.NewFileSet(), "", src, parser.ImportsOnly)
	if file == nil {
		return nil
	}
	var paths []string
	for _, spec := range file.Imports {
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
