//go:build !workspace

package eval

import (
	"context"
	"errors"
	"fmt"
	"go/parser"
	"go/token"
	"io"
	"strings"
	"testing"

	"cancha/internal/symbols"
	"cancha/kernel/cell"
	"cancha/kernel/eval/check"
	"cancha/kernel/eval/evaltest"
	"cancha/kernel/eval/native"
)

// FuzzLower lowers the cells of mutated cases, one after another as a session does, and runs none: what is accepted has to be
// Go, and the interpreter has to take it or to refuse it. With CANCHA_WORKSPACE, and the build tag of that name, the cells of
// every hundredth case are compiled as well.
func FuzzLower(f *testing.F) {
	if testing.Short() {
		f.Skip("takes seconds")
	}
	cases, err := evaltest.Read("testdata/cells.txt", "testdata/programs.txt", "native/testdata/sessions.txt")
	if err != nil {
		f.Fatal(err)
	}
	for seed := range uint64(30) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed uint64) {
		var tools *native.Toolchain
		if seed%100 == 0 {
			tools = workspaceTools()
		}
		p := newProgram(t, tools)
		for i, code := range evaltest.Mutate(cases, seed) {
			take(t, p, int64(i+1), code)
		}
	})
}

func newProgram(t *testing.T, tools *native.Toolchain) *Program {
	t.Helper()
	var packages []Package
	for _, p := range symbols.Packages() {
		packages = append(packages, Package{Path: p.Path, Name: p.Name, Standard: p.Standard})
	}
	p, err := New(Config{
		Native: tools, Symbols: symbols.Table(), Packages: packages,
		Export: func(path string) (io.ReadCloser, error) { return symbols.Export(path) },
		Exit:   func(int) { t.Error("a cell that is not run has ended the process") },
	})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// take takes a cell into the program without running it.
func take(t *testing.T, p *Program, serial int64, code string) {
	t.Helper()
	c, err := p.scope.Check(fmt.Sprintf("cell %d", serial), code)
	if err != nil {
		return
	}
	task := p.start(cell.Request{Cell: serial, Count: int(serial)})
	defer p.done(task)
	if p.native.available() {
		if _, _, err := p.compileNative(c, task); err != nil {
			mustBeRefusal(t, code, err)
		}
		return
	}
	p.scope.Lock()
	u, err := p.lowerer.Lower(c, serial)
	p.lowerer.Drop()
	p.scope.Unlock()
	if err != nil {
		mustBeRefusal(t, code, err)
		return
	}
	for _, source := range []string{u.Source, "package main\n" + u.Body.Source} {
		if _, err := parser.ParseFile(token.NewFileSet(), "", source, parser.SkipObjectResolution); source != "" && err != nil {
			t.Fatalf("%s\nis lowered to\n%s\nwhich cannot be read: %v", code, source, err)
		}
	}
	if _, _, err := p.interpret(c, task); err != nil {
		mustBeRefusal(t, code, err)
	}
}

// mustBeRefusal fails unless an error is the user's: it names a place in the cell, and is no fault of ours.
func mustBeRefusal(t *testing.T, code string, err error) {
	t.Helper()
	var refused *check.Error
	if !errors.As(err, &refused) || strings.Contains(err.Error(), "the compiler refused") || strings.Contains(err.Error(), "failed on the cell") {
		if !errors.Is(err, context.Canceled) {
			t.Fatalf("%s\nis accepted, and then: %v", code, err)
		}
	}
}
