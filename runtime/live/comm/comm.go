// Package comm opens Jupyter's comms: channels between a front end and what a cell has made, over which both sides send JSON and
// binary buffers at any time. It carries messages and ends there: what widgets say over theirs is their own business.
//
// A front end opens a comm by the name of a target that a cell has registered, a cell by one that the front end knows. Whoever has
// opened it, both may send and close. What a front end sends is handled in order, each comm on its own, on a goroutine beside the
// running cell: share variables with it as with any goroutine. What a handler prints belongs to the front end's message, which
// most front ends show in their log; a panic is reported there too and ends nothing; an interrupt ends a handler that runs.
//
// Outside a cell there is no front end: Open fails with [ErrDetached], and nothing is ever received.
package comm

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"cancha/internal/cellio"
)

// ErrDetached reports that there is no front end: the program is not a cell but an ordinary Go program.
var ErrDetached = cellio.ErrDetached

// ErrClosed reports a comm that is not open: it was closed, by either side, or has never been opened.
var ErrClosed = errors.New("comm: not open")

// Message is what one side sends to the other. Data and Metadata are JSON, usually objects; Buffers are bytes that travel as they
// are.
type Message struct {
	Data     json.RawMessage
	Metadata json.RawMessage
	Buffers  [][]byte
}

// Comm is one channel. Its methods may be called from any goroutine.
type Comm struct {
	id, target string

	mu        sync.Mutex
	open      bool
	onMessage func(Message)
	onClose   func(Message)
}

// New returns a comm that is not open yet, so that its handlers can be set before the front end answers.
func New(target string) *Comm {
	var id [16]byte
	_, _ = rand.Read(id[:]) // never fails
	return &Comm{id: hex.EncodeToString(id[:]), target: target}
}

// Open opens a comm of a target that the front end knows; data and metadata are anything that encoding/json accepts, nil for an
// empty object. A front end that does not know the target closes the comm.
func Open(target string, data, metadata any, buffers ...[]byte) (*Comm, error) {
	c := New(target)
	return c, c.Open(data, metadata, buffers...)
}

// ID is the comm's name, by which both sides know it.
func (c *Comm) ID() string { return c.id }

// Target is the name of what the comm was opened for.
func (c *Comm) Target() string { return c.target }

// Open opens the comm. It fails with ErrDetached where there is no front end, and where the data have no JSON form or are too
// large for a message.
func (c *Comm) Open(data, metadata any, buffers ...[]byte) error {
	r := comms()
	r.add(c)
	if err := c.emit(cellio.KindCommOpen, c.target, data, metadata, buffers); err != nil {
		r.remove(c.id)
		return err
	}
	return nil
}

// Send sends a message to all front ends. data and metadata are anything that encoding/json accepts, nil for an empty object.
func (c *Comm) Send(data, metadata any, buffers ...[]byte) error {
	if !c.isOpen() {
		return fmt.Errorf("comm %s: send: %w", c.target, ErrClosed)
	}
	return c.emit(cellio.KindCommMsg, "", data, metadata, buffers)
}

// Close closes the comm and tells the front ends. A comm that is closed already stays so.
func (c *Comm) Close() error {
	if !comms().remove(c.id) {
		return nil
	}
	return c.emit(cellio.KindCommClose, "", nil, nil, nil)
}

// OnMessage sets what is called for each message that arrives, one after another; nil for nothing. It takes the place of what was
// set before, so that a cell can be run again.
func (c *Comm) OnMessage(handle func(m Message)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.onMessage = handle
}

// OnClose sets what is called when a front end closes the comm; nil for nothing.
func (c *Comm) OnClose(handle func(m Message)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.onClose = handle
}

func (c *Comm) isOpen() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.open
}

func (c *Comm) emit(kind cellio.Kind, target string, data, metadata any, buffers [][]byte) error {
	m := cellio.Comm{ID: c.id, Target: target}
	var err error
	if m.Data, err = encode(data); err != nil {
		return fmt.Errorf("comm %s: data: %w", c.target, err)
	}
	if m.Metadata, err = encode(metadata); err != nil {
		return fmt.Errorf("comm %s: metadata: %w", c.target, err)
	}
	if err := cellio.Emit(kind, m, buffers...); err != nil {
		return fmt.Errorf("comm %s: %w", c.target, err)
	}
	return nil
}

func encode(v any) (json.RawMessage, error) {
	switch v := v.(type) {
	case nil:
		return json.RawMessage("{}"), nil
	case json.RawMessage:
		return v, nil
	}
	return json.Marshal(v)
}

// handlers returns what to call for the comm.
func (c *Comm) handlers() (onMessage, onClose func(Message)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.onMessage, c.onClose
}
