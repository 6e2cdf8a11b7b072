package eval

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"cancha/internal/cellio"
	"cancha/kernel/cell"
	"cancha/kernel/eval/check"
	"cancha/kernel/eval/native"
)

// Loading a compiled cell initialises the packages of modules that it is the first to import. That is code of others: it may panic, call
// os.Exit, end its goroutine or loop. The runtime cannot take an initialisation up again, and ends the process where something loads the
// package once more. So the cell that met it fails, and later cells are refused before they are loaded.

// unready is the error of a cell that imports a package which has not come to the end of its initialisation.
type unready struct{ fault *cell.Error }

func (u *unready) Error() string { return u.fault.Value }

// initialize loads the plugin of a cell that uses packages of modules for the first time, as a part of the cell: it can be interrupted, and
// what goes wrong is the cell's error.
func (p *Program) initialize(c *check.Cell, u *native.Unit, t *task) error {
	fresh, broken := p.session.fresh(c.Uses())
	switch {
	case len(fresh) == 0:
		return nil
	case broken != "":
		text := fmt.Sprintf("%s cannot be imported: the initialisation of %s did not come to its end, and what may depend on that cannot be loaded in this process; restart the kernel",
			strings.Join(fresh, ", "), broken)
		return &unready{&cell.Error{Name: "compile error", Value: text, Traceback: []string{"compile error: " + text}}}
	}
	var err error
	var run *cellio.Run
	fault := p.execute(text{task: t, name: t.name}, func() {
		run = cellio.CurrentRun()
		err = p.native.Open(u)
	})
	switch {
	case fault != nil && run == nil: // it was interrupted before
		return context.Canceled
	case fault != nil:
		packages := strings.Join(fresh, ", ")
		p.session.breaks(packages)
		fault.Traceback = append(slices.Clone(fault.Traceback), "while "+packages+" was initialised; cells cannot use it until the kernel is restarted")
		return &unready{fault}
	case err != nil:
		return err
	}
	p.session.initialised(fresh)
	if run.Context().Err() != nil {
		return context.Canceled
	}
	return nil
}

// fresh are those packages of modules, of some paths, that no cell has initialised. broken names what was not initialised to its end, if
// anything was not.
func (s *session) fresh(paths []string) (fresh []string, broken string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, path := range paths {
		if s.added[path] && !s.ready[path] {
			fresh = append(fresh, path)
		}
	}
	return fresh, s.broken
}

// initialised notes packages that have come to the end of their initialisation.
func (s *session) initialised(paths []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ready == nil {
		s.ready = map[string]bool{}
	}
	for _, path := range paths {
		s.ready[path] = true
	}
}

// breaks notes packages that have not.
func (s *session) breaks(packages string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.broken = packages
}
