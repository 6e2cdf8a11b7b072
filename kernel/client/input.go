package client

import (
	"context"
	"encoding/json"
	"errors"
	"io"

	"cancha/kernel/wire"
)

// Question is what a cell asks the user.
type Question struct {
	Prompt   string       `json:"prompt"`
	Password bool         `json:"password"` // the answer is not to be seen
	Message  wire.Message `json:"-"`        // the input_request
}

// Answer answers a question: with a line, or with io.EOF, which tells the cell that there is no more input. After any other error
// the question stays open until the cell gives it up or is interrupted. It is called on a goroutine that does nothing else
// but answer, one question after another, and may call the Client; ctx ends with the request.
type Answer func(ctx context.Context, q Question) (string, error)

// endOfInput is the value that stands for io.EOF in an input_reply.
const endOfInput = "\x04"

// asked answers an input_request.
func (c *Client) asked(m wire.Message) {
	c.mu.Lock()
	p := c.pending[m.ParentID()]
	c.mu.Unlock()
	if m.Header.Type != "input_request" || p == nil || p.answer == nil {
		return
	}
	q := Question{Message: m}
	if err := json.Unmarshal(m.Content, &q); err != nil {
		return
	}
	value, err := p.answer(p.over, q)
	if errors.Is(err, io.EOF) {
		value, err = endOfInput, nil
	}
	if err != nil {
		return
	}
	reply, err := c.session.New("input_reply", m.RawHeader, map[string]string{"status": "ok", "value": value})
	if err == nil {
		_ = c.stdin.Send(c.session.Encode(reply)) // a kernel that is gone is seen by who waits for the cell
	}
}
