package eval

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"cancha/kernel/eval/check"
	"cancha/kernel/eval/lower"
)

// wake takes those declarations into the program that have waited for what a cell has declared, and nothing else. Notes tell the cell's author;
// run is what is to run before the cell, nil for nothing. What cannot be taken in now goes on waiting.
func (p *Program) wake(c *check.Cell, t *task) (run func(), notes []string) {
	native := t.native
	defer func() { t.native = native }()
	woken, faults := p.scope.Wake(c)
	for _, w := range faults {
		notes = append(notes, faulty(w))
	}
	if woken == nil {
		return nil, notes
	}
	unit, run, err := p.takeChecked(woken, t)
	if err != nil {
		if !errors.Is(err, errTurn) && !errors.Is(err, context.Canceled) {
			p.scope.Spoiled(woken, err)
			notes = append(notes, fmt.Sprintf("%s cannot take effect: %v", wokenNames(woken), err))
		}
		return nil, notes
	}
	native = native && t.native
	return run, append(notes, unit.Notes...)
}

// takeChecked turns a checked cell into a function, and tells what is to be known of its declarations.
func (p *Program) takeChecked(c *check.Cell, t *task) (*lower.Unit, func(), error) {
	if err := p.settle(t, c); err != nil {
		return nil, nil, err
	}
	p.effects(c)
	outdated := c.Outdated()
	p.scope.Lock()
	statements := c.Statements()
	p.scope.Unlock()
	unit, run, err := p.choose(c, t)
	if err != nil {
		return nil, nil, err
	}
	unit.Last, unit.Statements = c.Last(), statements
	unit.Notes = slices.Concat(p.waitingNotes(c), p.editedNotes(c), unit.Notes, outdated, c.Remarks)
	return unit, run, nil
}

// waitingNotes tell what of a cell waits, and what waits no more.
func (p *Program) waitingNotes(c *check.Cell) (notes []string) {
	all := append(p.scope.Waiting(), c.Waits...)
	for _, w := range c.Waits {
		text := fmt.Sprintf("%s cannot be used yet: it waits for a cell that declares %s", w, strings.Join(w.Needs(all), ", "))
		if lines := w.Lines(); len(lines) > 0 {
			text += "\n" + strings.Join(lines, "\n")
		}
		notes = append(notes, text)
	}
	for _, w := range c.Faults() {
		notes = append(notes, faulty(w))
	}
	if len(c.Woken) > 0 {
		notes = append(notes, wokenNames(c)+" can be used now: what it has waited for is declared")
	}
	return notes
}

// wokenNames are the declarations that wait no more, with their cells.
func wokenNames(c *check.Cell) string {
	names := make([]string, len(c.Woken))
	for i, w := range c.Woken {
		names[i] = fmt.Sprintf("%s (%s)", w, w.Cell)
	}
	return strings.Join(names, ", ")
}

// faulty tells what is wrong with a declaration now that nothing is missing.
func faulty(w *check.Waiting) string {
	return fmt.Sprintf("%s (%s) cannot be used, though what it has waited for is declared:\n%s", w, w.Cell, strings.Join(w.Fault.Lines(), "\n"))
}

// Waiting tells of the declarations that cannot be used, since they wait for names that no cell has declared.
func (p *Program) Waiting() (list []string) {
	all := p.scope.Waiting()
	for _, w := range all {
		text := fmt.Sprintf("%s (%s) waits for %s", w, w.Cell, strings.Join(w.Needs(all), ", "))
		if w.Fault != nil {
			text = fmt.Sprintf("%s (%s) cannot be used: %v", w, w.Cell, w.Fault)
		}
		list = append(list, text)
	}
	return list
}
