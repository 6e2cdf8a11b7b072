package eval

import (
	"context"
	"errors"

	"cancha/internal/cellio"
	"cancha/kernel/cell"
)

// Stdin makes reads of os.Stdin ask while a cell runs: see package stdin.
type Stdin interface {
	// Open lets reads ask until closed is called. failed is told why nobody can be asked, before the read ends.
	Open(ask func() (string, error), failed func(error)) (closed func())
}

// listen lets a cell ask the user, by what it calls and by what reads os.Stdin, until stop is called.
func (p *Program) listen(run *cellio.Run) (stop func()) {
	if p.asker == nil {
		return func() {}
	}
	p.asker.Begin(run)
	if p.stdin == nil {
		return func() { p.asker.End(run) }
	}
	closed := p.stdin.Open(
		func() (string, error) { return p.asker.Ask(run, cellio.Input{}) },
		func(err error) {
			if errors.Is(err, cellio.ErrNoInput) && !errors.Is(err, cellio.ErrEnded) {
				run.Stop(err)
				p.machine.Interrupt(run)
			}
		})
	return func() { p.asker.End(run); closed() }
}

// AnswerInput takes what the user has answered to a question.
func (p *Program) AnswerInput(seq uint64, reply cellio.InputReply) {
	if p.asker != nil {
		p.asker.Answer(seq, reply)
	}
}

// unanswered is the error of a cell that was not given what it read, nil for any other. A cell that an interrupt has taken out of
// a question fails, though it may have reached its end with nothing read.
func (p *Program) unanswered(run *cellio.Run, o outcome) *cell.Error {
	cause := context.Cause(run.Context())
	switch {
	case errors.Is(cause, cellio.ErrNoInput):
		text := "os.Stdin was read, and " + cause.Error()
		return &cell.Error{Name: "no input", Value: text, Traceback: p.traceback("no input: "+text, o.trace)}
	case o.panicked == nil && cause != nil && p.asker != nil && p.asker.Cut(run):
		return p.fault("the cell", outcome{panicked: cause, interrupted: true})
	}
	return nil
}
