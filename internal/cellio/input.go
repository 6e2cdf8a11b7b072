package cellio

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
)

// ErrNoInput reports that nobody can be asked: the front end does not allow questions, or the cell has ended.
var ErrNoInput = errors.New("nobody can be asked for input")

// ErrEnded is the ErrNoInput of a goroutine that asks after its cell's end, or of a comm's handler.
var ErrEnded = fmt.Errorf("%w: its cell does not run", ErrNoInput)

// Asker asks the user at the front end, for the cells of one engine. One question is asked at a time, others wait for their
// turn. Its methods may be called from any goroutine.
type Asker struct {
	send func(Frame) error
	turn chan struct{} // has room while nobody asks

	mu      sync.Mutex
	seq     uint64
	waiting map[uint64]chan InputReply
	runs    map[*Run]*asking
}

// asking is a cell that may ask. Its context ends at an interrupt, handled or not, and at the cell's end.
type asking struct {
	ctx    context.Context
	cancel context.CancelCauseFunc
	cut    bool // an interrupt has ended a question
}

// NewAsker returns an Asker that hands its frames to send.
func NewAsker(send func(Frame) error) *Asker {
	return &Asker{send: send, turn: make(chan struct{}, 1), waiting: map[uint64]chan InputReply{}, runs: map[*Run]*asking{}}
}

// asker is the process's Asker. It is one for the process for the same reason as the outlet, see attached.
var asker atomic.Pointer[Asker]

// AttachAsker makes a the process's Asker; nil detaches.
func AttachAsker(a *Asker) { asker.Store(a) }

// Ask asks the user for the current run, as [Asker.Ask]. In an ordinary program it returns ErrDetached.
func Ask(in Input) (string, error) {
	a, r := asker.Load(), CurrentRun()
	if a == nil || r == nil {
		return "", ErrDetached
	}
	return a.Ask(r, in)
}

// Begin lets a run ask, until End.
func (a *Asker) Begin(r *Run) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.runs[r] = newAsking(r)
}

func newAsking(r *Run) *asking {
	ctx, cancel := context.WithCancelCause(r.ctx)
	return &asking{ctx: ctx, cancel: cancel}
}

// End takes back what a run asks; it can ask no more.
func (a *Asker) End(r *Run) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if s := a.runs[r]; s != nil {
		s.cancel(ErrEnded)
		delete(a.runs, r)
	}
}

// Interrupt withdraws a run's question: Ask returns ErrInterrupted. If the run goes on, it can ask again.
func (a *Asker) Interrupt(r *Run) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if s := a.runs[r]; s != nil {
		s.cancel(ErrInterrupted)
		cut := s.cut
		a.runs[r] = newAsking(r)
		a.runs[r].cut = cut
	}
}

// Cut tells whether an interrupt has ended a question of a run that still goes on.
func (a *Asker) Cut(r *Run) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	s := a.runs[r]
	return s != nil && s.cut
}

// Answer takes the reply to a question. One to a question that was taken back is dropped.
func (a *Asker) Answer(seq uint64, reply InputReply) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if c := a.waiting[seq]; c != nil {
		c <- reply // room for one; a question is answered once
		delete(a.waiting, seq)
	}
}

// Ask asks the user, for a run, and waits for the answer: a line without its end. It returns io.EOF where the user has
// ended the input, ErrInterrupted, ErrNoInput with the reason, and ErrEnded after the cell's end.
func (a *Asker) Ask(r *Run, in Input) (string, error) {
	ctx := a.context(r)
	select {
	case <-ctx.Done():
		return "", a.taken(r, ctx)
	default:
	}
	select {
	case a.turn <- struct{}{}:
	case <-ctx.Done():
		return "", a.taken(r, ctx)
	}
	defer func() { <-a.turn }()
	seq, answer := a.question()
	defer a.forget(seq)
	body, err := json.Marshal(in)
	if err != nil {
		return "", fmt.Errorf("ask: %w", err)
	}
	if err := a.send(Frame{Kind: KindInput, Cell: r.Cell, Seq: seq, Body: body}); err != nil {
		return "", fmt.Errorf("ask: %w", err)
	}
	select {
	case reply := <-answer:
		return reply.line()
	case <-ctx.Done():
		return "", a.taken(r, ctx)
	}
}

// context ends when a question that the run asks now is taken back.
func (a *Asker) context(r *Run) context.Context {
	a.mu.Lock()
	defer a.mu.Unlock()
	if s := a.runs[r]; s != nil {
		return s.ctx
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(ErrEnded)
	return ctx
}

// taken is why a question of a run was taken back.
func (a *Asker) taken(r *Run, ctx context.Context) error {
	cause := context.Cause(ctx)
	a.mu.Lock()
	defer a.mu.Unlock()
	if s := a.runs[r]; s != nil && errors.Is(cause, ErrInterrupted) {
		s.cut = true
	}
	return cause
}

func (a *Asker) question() (seq uint64, answer <-chan InputReply) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.seq++
	c := make(chan InputReply, 1)
	a.waiting[a.seq] = c
	return a.seq, c
}

func (a *Asker) forget(seq uint64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.waiting, seq)
}

func (r InputReply) line() (string, error) {
	switch {
	case r.Err != "":
		return "", fmt.Errorf("%w: %s", ErrNoInput, r.Err)
	case r.EOF:
		return "", io.EOF
	}
	return r.Value, nil
}

// Stop ends the run's context for a reason of its own; unlike an interrupt, no handler is asked.
func (r *Run) Stop(cause error) { r.cancel(cause) }
