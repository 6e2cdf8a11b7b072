package kernel

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"sync"
	"time"

	"cancha/internal/cellio"
)

// endOfInput is the value by which a front end says that the input has ended: what a terminal calls ^D.
const endOfInput = "\x04"

// inputs are the questions that cells ask the user. An engine asks one at a time, so a new question says that the one before
// is no longer waited for.
type inputs struct {
	mu    sync.Mutex
	cells map[int64]asker // that run
	asked *question       // nil while nobody waits
}

// asker is a running cell: who ran it, and whether that one may be asked.
type asker struct {
	request *request
	allowed bool
}

// question is one that waits for its answer. Its context ends when it does so no longer.
type question struct {
	cell    int64
	seq     uint64
	request *request
	id      string // msg_id of the input_request
	ctx     context.Context
	cancel  context.CancelFunc
}

func newInputs() *inputs { return &inputs{cells: map[int64]asker{}} }

// begin enters a running cell.
func (i *inputs) begin(id int64, r *request, allowed bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.cells[id] = asker{r, allowed}
}

// end takes back what a cell has asked; it can ask no more.
func (i *inputs) end(id int64) {
	i.mu.Lock()
	defer i.mu.Unlock()
	delete(i.cells, id)
	if i.asked != nil && i.asked.cell == id {
		i.drop()
	}
}

// withdraw takes back what is asked.
func (i *inputs) withdraw() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.drop()
}

// drop is withdraw for who holds the lock.
func (i *inputs) drop() {
	if i.asked != nil {
		i.asked.cancel()
		i.asked = nil
	}
}

// ask enters a question in the place of the one before. A cell that must not ask gets the reason instead.
func (i *inputs) ask(cell int64, seq uint64) (q *question, refused string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	a, ok := i.cells[cell]
	switch {
	case !ok:
		return nil, "the cell has ended"
	case !a.allowed:
		return nil, "the front end that runs this cell does not allow it (allow_stdin is false)"
	}
	i.drop()
	q = &question{cell: cell, seq: seq, request: a.request}
	q.ctx, q.cancel = context.WithCancel(context.Background())
	i.asked = q
	return q, ""
}

// answered takes the question out that a message answers, nil where there is none: the answer is late, comes from another
// client, or answers another question. Not every front end names the question.
func (i *inputs) answered(r *request) *question {
	i.mu.Lock()
	defer i.mu.Unlock()
	q := i.asked
	if q == nil || !slices.EqualFunc(q.request.Identities, r.Identities, bytes.Equal) {
		return nil
	}
	if parent := r.ParentID(); parent != "" && parent != q.id && parent != q.request.Header.ID {
		return nil
	}
	i.drop()
	return q
}

type inputRequest struct {
	Prompt   string `json:"prompt"`
	Password bool   `json:"password"`
}

// input asks the client that runs a cell, or answers at once where it cannot be asked. It does not wait.
func (k *Kernel) input(f cellio.Frame) error {
	var in cellio.Input
	if err := json.Unmarshal(f.Body, &in); err != nil {
		return err
	}
	q, refused := k.inputs.ask(f.Cell, f.Seq)
	k.pending.Go(func() {
		if refused == "" {
			refused = k.question(q, in)
		}
		if refused != "" {
			k.engine.AnswerInput(f.Seq, cellio.InputReply{Err: refused})
		}
	})
	return nil
}

// A client connects its channels one after the other: one whose shell is there and whose stdin is not gets some time.
const (
	routeLimit = 2 * time.Second
	routeRetry = 20 * time.Millisecond
)

// question sends an input_request. It returns why the client cannot be asked, "" where it was, or the question was taken back.
func (k *Kernel) question(q *question, in cellio.Input) (refused string) {
	m, err := k.session.New("input_request", q.request.RawHeader, inputRequest{in.Prompt, in.Password})
	if err != nil {
		return err.Error()
	}
	m.Identities = q.request.Identities
	k.inputs.mu.Lock()
	q.id = m.Header.ID
	k.inputs.mu.Unlock()
	frames, to := k.session.Encode(m), k.channels.Load().Stdin
	limit := time.Now().Add(routeLimit)
	for q.ctx.Err() == nil {
		if err = to.Send(frames); err == nil {
			return ""
		}
		if time.Now().After(limit) {
			k.log.Warn("a question has nobody to go to", "error", err)
			return "the client that runs this cell does not listen on its stdin channel"
		}
		select {
		case <-q.ctx.Done():
		case <-time.After(routeRetry):
		}
	}
	return ""
}

// inputReply hands an answer to the cell that has asked. One that nobody waits for is ignored.
func (k *Kernel) inputReply(r *request) {
	if r.Header.Type != "input_reply" {
		k.log.Warn("message ignored", "channel", r.channel, "type", r.Header.Type)
		return
	}
	q := k.inputs.answered(r)
	if q == nil {
		k.log.Warn("message ignored", "channel", r.channel, "type", r.Header.Type, "cause", "nobody waits for this answer")
		return
	}
	k.engine.AnswerInput(q.seq, replyOf(r))
}

// replyOf reads an input_reply.
func replyOf(r *request) cellio.InputReply {
	var content struct {
		Value *string `json:"value"`
	}
	switch err := r.decode(&content); {
	case err != nil:
		return cellio.InputReply{Err: err.Error()}
	case content.Value == nil:
		return cellio.InputReply{Err: "the front end has answered without a value"}
	case *content.Value == endOfInput:
		return cellio.InputReply{EOF: true}
	}
	return cellio.InputReply{Value: *content.Value}
}
