package kerneltest

import (
	"context"
	"errors"
	"io"

	"cancha/internal/cellio"
	"cancha/kernel/cell"
)

// asks is what asks the user for the engine's cells.
func (e *Engine) asks() *cellio.Asker {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.asker == nil {
		e.asker = cellio.NewAsker(func(f cellio.Frame) error { e.Sink(f); return nil })
	}
	return e.asker
}

// AnswerInput takes the reply to a question.
func (e *Engine) AnswerInput(seq uint64, reply cellio.InputReply) { e.asks().Answer(seq, reply) }

// ask asks the user and prints the answer, or "end" where the input has ended; without an answer the cell fails.
func (r *run) ask(word, text string) (result cell.Result, ended bool) {
	asker, asking := r.engine.asks(), cellio.NewAside(r.cell.Cell)
	asker.Begin(asking)
	defer asker.End(asking)
	defer context.AfterFunc(r.ctx, func() { asking.Stop(cellio.ErrInterrupted) })()
	r.out.Flush()
	answer, err := asker.Ask(asking, cellio.Input{Prompt: text, Password: word == "password"})
	switch {
	case errors.Is(err, io.EOF):
		answer = "end"
	case err != nil:
		return fail("no input", err.Error()), true
	}
	r.out.Write(r.cell.Cell, "stdout", []byte(answer+"\n"))
	return cell.Result{}, false
}
