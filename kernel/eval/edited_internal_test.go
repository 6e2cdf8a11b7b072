//go:build !workspace

package eval

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"

	"cancha/internal/cellio"
	"cancha/internal/symbols"
	"cancha/kernel/cell"
	"cancha/kernel/eval/native"
)

// editable are modules of which one, in the place of package strings, can be edited.
type editable struct {
	mu     sync.Mutex
	state  string // "" is as it was taken
	cache  string
	beside int
}

func (m *editable) Add(_ context.Context, r ModuleRequest, _ func(string)) (Added, error) {
	if m.state == "" {
		return Added{Module: native.Module{Path: "strings"}, Tools: native.Toolchain{Cache: m.cache}}, nil
	}
	return Added{}, &Conflict{Reason: "strings has changed", Module: r.Path, Beside: func(context.Context, func(string)) (Added, error) {
		m.beside++
		m.state = ""
		return Added{Module: native.Module{Path: "strings"}, Tools: native.Toolchain{Cache: m.cache}, Renamed: []Renamed{{Path: "strings", As: "strings~e1"}}}, nil
	}, Build: func(context.Context, func(string)) (string, error) { return "/workspace", nil }}
}

func (m *editable) Edited(paths []string) []Edited {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.state == "" || !slices.Contains(paths, "strings") {
		return nil
	}
	return []Edited{{Path: "strings", Dir: "/s", Get: "/s", State: m.state}}
}

// TestEditedModule: a cell that uses a local module which has been edited says so, once an edit; what it is now is had without another
// engine where the session would lose something.
func TestEditedModule(t *testing.T) {
	var packages []Package
	for _, p := range symbols.Packages() {
		packages = append(packages, Package{Path: p.Path, Name: p.Name, Standard: p.Standard})
	}
	modules := &editable{cache: t.TempDir()}
	var mu sync.Mutex
	var said strings.Builder
	outlet := cellio.NewOutlet(func(f cellio.Frame) error {
		mu.Lock()
		defer mu.Unlock()
		said.Write(f.Body)
		return nil
	})
	cellio.Attach(outlet)
	t.Cleanup(func() { cellio.Attach(nil) })
	p, err := New(Config{Modules: modules, Symbols: symbols.Table(), Packages: packages, Export: symbols.Export, Outlet: outlet})
	if err != nil {
		t.Fatal(err)
	}
	p.native.Engine = native.New(native.Toolchain{}, p.machine)
	t.Cleanup(p.native.close)
	p.session.add([]Package{{Path: "strings"}})
	serial := int64(0)
	run := func(code string) (string, cell.Result) {
		t.Helper()
		mu.Lock()
		said.Reset()
		mu.Unlock()
		serial++
		r := p.Run(cell.Request{Cell: serial, Count: int(serial), Code: code})
		outlet.Flush()
		mu.Lock()
		defer mu.Unlock()
		return said.String(), r
	}
	const note = `strings has been edited in /s since the session took it`
	for _, c := range []struct {
		name, state, code string
		noted             bool
	}{
		{"as it was", "", `r := strings.NewReader("a")`, false},
		{"edited", "1", `1 + 1`, false},
		{"and used", "1", `strings.ToUpper("a")`, true},
		{"once", "1", `strings.ToUpper("a")`, false},
		{"edited again, and a value of it is used", "2", `r.Len()`, true},
	} {
		modules.state = c.state
		if got, r := run(c.code); r.Err != nil || strings.Contains(got, note) != c.noted {
			t.Errorf("%s: got %q, %v", c.name, got, r.Err)
		}
	}
	got, r := run("%get /s")
	if r.Err != nil || r.Replacement != nil || modules.beside != 1 || !strings.Contains(got, "these have types of what it was: r") {
		t.Errorf("with a variable: got %q, %+v, beside %d times", got, r, modules.beside)
	}
	modules.state = "3"
	if _, r := run("%get -replace /s"); r.Replacement == nil || modules.beside != 1 {
		t.Errorf("as it was asked for: got %+v", r)
	}
	if _, r := run("%reset"); r.Err != nil {
		t.Fatal(r.Err)
	}
	if _, r := run("%get /s"); r.Replacement == nil || modules.beside != 1 {
		t.Errorf("with nothing to lose: got %+v, beside %d times", r, modules.beside)
	}
}
