//go:build !workspace

package eval

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"cancha/internal/cellio"
	"cancha/kernel/cell"
	"cancha/kernel/eval/native"
)

// TestEndOfRun calls what a cell holds back before the cell is done, however it ends.
func TestEndOfRun(t *testing.T) {
	tests := []struct {
		name string
		body func(p *Program)
		want string // name of the error
	}{
		{"success", func(*Program) {}, ""},
		{"panic", func(*Program) { panic("no") }, "panic"},
		{"interrupt", func(p *Program) { p.Interrupt(); p.machine.Check() }, "interrupted"},
		{"left behind", func(p *Program) { p.Interrupt(); select {} }, "interrupted"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p, err := New(Config{})
			if err != nil {
				t.Fatal(err)
			}
			ended, failed := false, false
			task := p.start(cell.Request{Cell: 1, Count: 1})
			defer p.done(task)
			fault := p.execute(text{task: task, name: "cell 1"}, func() {
				run := cellio.CurrentRun()
				cellio.AtEnd(func() { ended, failed = true, run.Failed })
				tt.body(p)
			})
			got := ""
			if fault != nil {
				got = fault.Name
			}
			if got != tt.want || !ended || failed != (tt.want != "") {
				t.Errorf("got error %q, ended %v and failed %v there, want %q, true and %v", got, ended, failed, tt.want, tt.want != "")
			}
		})
	}
}

// TestEndOfRunPanics survives what is called at the end.
func TestEndOfRunPanics(t *testing.T) {
	p, err := New(Config{})
	if err != nil {
		t.Fatal(err)
	}
	if fault := p.execute(text{task: p.start(cell.Request{Cell: 1, Count: 1}), name: "cell 1"}, func() { cellio.AtEnd(func() { panic("no") }) }); fault != nil {
		t.Errorf("got %v, want no error", fault)
	}
}

// TestInterruptAroundTaking: a cell that is interrupted before the program takes it in declares nothing; one that is interrupted
// right behind that runs, and is stopped there.
func TestInterruptAroundTaking(t *testing.T) {
	for _, name := range []string{"before", "behind"} {
		t.Run(name, func(t *testing.T) {
			p, err := New(Config{})
			if err != nil {
				t.Fatal(err)
			}
			task := p.start(cell.Request{Cell: 1, Count: 1, Code: "x := 5\nfor {\n}"})
			defer p.done(task)
			c, err := p.scope.Check("cell 1", task.request.Code)
			if err != nil {
				t.Fatal(err)
			}
			if name == "before" {
				p.Interrupt()
			}
			_, run, err := p.build(c, task)
			if name == "before" {
				if err == nil || p.scope.Lookup("x") != nil {
					t.Errorf("got error %v and x %v, want an error and no x", err, p.scope.Lookup("x"))
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			p.Interrupt()
			fault := p.execute(text{task: task, name: "cell 1"}, run)
			if fault == nil || fault.Value != "the cell was interrupted" || p.scope.Lookup("x") == nil {
				t.Errorf("got %+v and x %v, want an interrupted cell and x", fault, p.scope.Lookup("x"))
			}
		})
	}
}

// absent are modules that cannot be had; they are listed.
type absent []string

func (a *absent) Add(_ context.Context, r ModuleRequest, _ func(string)) (Added, error) {
	*a = append(*a, r.Path)
	return Added{}, errors.New("none")
}

// TestImportedModules asks for the modules of unknown packages, in cells with magics too.
func TestImportedModules(t *testing.T) {
	for _, code := range []string{
		"import \"example.com/a\"\na.F()",
		"%time x := 1\nimport \"example.com/a\"\na.F()",
		"%%time\nimport \"example.com/a\"\na.F()",
		"import \"example.com/a\"\n!exit 1",
		"///usr/bin/env cancha query\npackage main\n\nimport \"example.com/a\"\nfunc main() { a.F() }",
		"/* what it is */ package main // for\nimport \"example.com/a\"\nfunc main() { a.F() }",
		"// what it is\nimport \"example.com/a\"\na.F()",
		"x := 1\nimport \"example.com/a\"\na.F(x)",
	} {
		modules := &absent{}
		p, err := New(Config{Modules: modules, Outlet: cellio.NewOutlet(func(cellio.Frame) error { return nil })})
		if err != nil {
			t.Fatal(err)
		}
		p.native.Engine = native.New(native.Toolchain{}, p.machine)
		r := p.Run(cell.Request{Cell: 1, Count: 1, Code: code})
		if r.Err == nil || !strings.Contains(r.Err.Value, "none") || !slices.Equal(*modules, absent{"example.com/a"}) {
			t.Errorf("%s\ngot %+v and asked for %v", code, r.Err, *modules)
		}
	}
}
