package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"cancha/kernel/cell"
	"cancha/kernel/wire"
)

// idleLimit is how long a request waits for its idle after the reply, or after the last that came of what is published: the two come on
// different connections, and a cell may have left much output on its way. A kernel that never sends it is broken, but its reply is there.
const idleLimit = 10 * time.Second

// nudgeLimit is the same for the requests with which a client begins: their busy and idle can fall before the subscription
// takes effect, and its welcome may arrive right after them.
const nudgeLimit = 100 * time.Millisecond

// errNoIdle reports a reply without an idle.
var errNoIdle = errors.New("the kernel has replied but never became idle")

// Request sends a request and returns its reply once the kernel is idle again. publish gets what the kernel publishes for
// it, in order, on the reading goroutine: it must not call the Client; nil drops it. When ctx ends it returns ctx's error;
// the kernel still works on the request.
func (c *Client) Request(ctx context.Context, on Channel, msgType string, content any, publish func(wire.Message)) (wire.Message, error) {
	return c.request(ctx, on, msgType, content, newPending(publish), idleLimit)
}

// request is Request with a limit for the time from the reply to the idle.
func (c *Client) request(ctx context.Context, on Channel, msgType string, content any, p *pending, limit time.Duration) (wire.Message, error) {
	id, err := c.send(on, msgType, content, p)
	if err != nil {
		return wire.Message{}, err
	}
	defer c.forget(id)
	reply, err := c.await(ctx, c.asking[on], p)
	if err != nil {
		return wire.Message{}, fmt.Errorf("%s: %w", msgType, err)
	}
	return reply, c.settle(ctx, p, limit)
}

func (c *Client) send(on Channel, msgType string, content any, p *pending) (id string, err error) {
	m, err := c.session.New(msgType, nil, content)
	if err != nil {
		return "", err
	}
	c.mu.Lock()
	c.pending[m.Header.ID] = p
	c.mu.Unlock()
	if err := c.asking[on].Send(c.session.Encode(m)); err != nil {
		c.forget(m.Header.ID)
		return "", fmt.Errorf("%s: %w: %w", msgType, ErrExited, err)
	}
	return m.Header.ID, nil
}

func (c *Client) forget(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if p := c.pending[id]; p != nil {
		p.forget()
	}
	delete(c.pending, id)
}

// await waits for the reply; one that was read just before the line ended counts.
func (c *Client) await(ctx context.Context, from *line, p *pending) (wire.Message, error) {
	select {
	case m := <-p.reply:
		return m, nil
	case <-ctx.Done():
		return wire.Message{}, context.Cause(ctx)
	case <-from.ended:
	}
	select {
	case m := <-p.reply:
		return m, nil
	default:
		return wire.Message{}, from.err
	}
}

// settle waits for the request's idle.
func (c *Client) settle(ctx context.Context, p *pending, limit time.Duration) error {
	tick := time.NewTicker(limit)
	defer tick.Stop()
	for heard, before := p.heard.Load(), c.iopub.progress(); ; {
		select {
		case <-p.idle:
			return nil
		case <-tick.C:
			now := c.iopub.progress()
			more := p.heard.Load() // after it: what has just been taken in counts here
			if more == heard && !now.coming(before) {
				return errNoIdle
			}
			heard, before = more, now
		case <-c.iopub.ended:
			return nil // the kernel's last idle may be lost, and the reply is there
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// ExecuteOptions are the rarer fields of an execute_request. The zero value means the protocol's defaults.
type ExecuteOptions struct {
	Silent          bool
	NoHistory       bool // store_history false
	GoOn            bool // stop_on_error false
	UserExpressions map[string]string
	Answer          Answer // answers what the cell asks, in the place of Options.Answer
}

// Reply is the end of a cell's execution.
type Reply struct {
	Status          cell.Status                `json:"status"`
	Count           int                        `json:"execution_count"`
	Payload         []json.RawMessage          `json:"payload"`
	UserExpressions map[string]json.RawMessage `json:"user_expressions"`
	Err             *cell.Error                `json:"-"` // set where Status is Failed
	Message         wire.Message               `json:"-"`
}

// Execute runs code and returns when the kernel is idle again. publish gets what the kernel publishes for it (status,
// execute_input, stream, …) as in Request. A cell that fails is no error: see Reply.Status.
func (c *Client) Execute(ctx context.Context, code string, publish func(wire.Message)) (Reply, error) {
	return c.ExecuteWith(ctx, code, ExecuteOptions{}, publish)
}

// ExecuteWith is Execute with options.
func (c *Client) ExecuteWith(ctx context.Context, code string, o ExecuteOptions, publish func(wire.Message)) (Reply, error) {
	if o.UserExpressions == nil {
		o.UserExpressions = map[string]string{}
	}
	p := newPending(publish)
	if p.answer = o.Answer; p.answer == nil {
		p.answer = c.options.Answer
	}
	m, err := c.request(ctx, Shell, "execute_request", map[string]any{
		"code": code, "silent": o.Silent, "store_history": !o.NoHistory && !o.Silent, "stop_on_error": !o.GoOn,
		"user_expressions": o.UserExpressions, "allow_stdin": p.answer != nil,
	}, p, idleLimit)
	if err != nil {
		return Reply{}, err
	}
	r := Reply{Message: m}
	if err := json.Unmarshal(m.Content, &r); err != nil {
		return Reply{}, fmt.Errorf("execute_reply: %w", err)
	}
	if r.Status == cell.Failed {
		r.Err = &cell.Error{}
		if err := json.Unmarshal(m.Content, r.Err); err != nil {
			return Reply{}, fmt.Errorf("execute_reply: %w", err)
		}
	}
	return r, nil
}

// Interrupt stops the running cell, whose Execute then returns. It does not wait for that.
func (c *Client) Interrupt(ctx context.Context) error {
	if c.options.Interrupt != nil {
		return c.options.Interrupt()
	}
	_, err := c.Request(ctx, Control, "interrupt_request", struct{}{}, nil)
	return err
}
