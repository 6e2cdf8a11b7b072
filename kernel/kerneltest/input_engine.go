package kerneltest

import (
	"context"

	"cancha/internal/cellio"
)

// asks is what asks the person for the engine's cells.
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

// ask asks the person and prints the answer, or the error in its place.
func (r *run) ask(word, text string) {
	asker, asking := r.engine.asks(), cellio.NewAside(r.cell.Cell)
	asker.Begin(asking)
	defer asker.End(asking)
	defer context.AfterFunc(r.ctx, func() { asking.Stop(cellio.ErrInterrupted) })()
	r.out.Flush()
	answer, err := asker.Ask(asking, cellio.Input{Prompt: text, Password: word == "password"})
	if err != nil {
		answer = err.Error()
	}
	r.out.Write(r.cell.Cell, "stdout", []byte(answer+"\n"))
}
