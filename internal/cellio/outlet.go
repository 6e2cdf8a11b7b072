package cellio

import (
	"encoding/json"
	"fmt"
	"sync"
	"time"
	"unicode/utf8"
)

// Stream output is held back until flushAfter has passed, flushSize bytes are there, another kind of frame is sent,
// or the cell ends. Jupyter Server drops output above 1,000 messages a second: coalescing is correctness, not speed.
const (
	flushAfter = 50 * time.Millisecond
	flushSize  = 8 << 10
)

// Outlet is the one ordered writer of an engine: what is written to it leaves in that order, whatever its kind and
// whichever goroutine wrote it. All methods may be called from any goroutine.
type Outlet struct {
	send func(Frame) error

	mu      sync.Mutex
	cell    int64  // whose output is pending
	name    string // stdout or stderr
	pending []byte
	timer   *time.Timer // armed while output is pending
	closed  bool
}

// NewOutlet returns an Outlet that hands its frames to send, one at a time.
func NewOutlet(send func(Frame) error) *Outlet {
	o := &Outlet{send: send}
	o.timer = time.AfterFunc(time.Hour, o.expire)
	o.timer.Stop()
	return o
}

// Write appends p to a cell's stream; name is "stdout" or "stderr". Bytes that are no UTF-8 are replaced when they leave.
func (o *Outlet) Write(cell int64, name string, p []byte) {
	if len(p) == 0 {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.pending) > 0 && (o.cell != cell || o.name != name) {
		o.flush(true)
	}
	if len(o.pending) == 0 {
		o.timer.Reset(flushAfter)
	}
	o.cell, o.name = cell, name
	o.pending = append(o.pending, p...)
	if len(o.pending) >= flushSize {
		o.flush(false)
	}
}

// Send sends a frame after all output written before it.
func (o *Outlet) Send(f Frame) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.flush(true)
	return o.send(f)
}

// Emit marshals body and sends it as a frame of the cell.
func (o *Outlet) Emit(kind Kind, cell int64, body any, buffers ...[]byte) error {
	raw, err := json.Marshal(body)
	if err != nil {
		return fmt.Errorf("encode %s of cell %d: %w", kind, cell, err)
	}
	return o.Send(Frame{Kind: kind, Cell: cell, Body: raw, Buffers: buffers})
}

// Flush sends the output that is pending.
func (o *Outlet) Flush() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.flush(true)
}

// Close flushes and stops the timer. Later output is dropped.
func (o *Outlet) Close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.flush(true)
	o.closed = true
	o.timer.Stop()
}

func (o *Outlet) expire() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.flush(false)
}

// flush sends the pending output; unless all is set, a rune that has not fully arrived is kept for the next time.
func (o *Outlet) flush(all bool) {
	if len(o.pending) == 0 || o.closed {
		return
	}
	n := len(o.pending)
	if !all {
		n = wholeRunes(o.pending)
	}
	if n > 0 {
		body, _ := json.Marshal(Stream{Name: o.name, Text: string(o.pending[:n])}) // strings always marshal
		_ = o.send(Frame{Kind: KindStream, Cell: o.cell, Body: body})              // a dead kernel is seen by the reader
	}
	o.pending = append(o.pending[:0], o.pending[n:]...)
	if len(o.pending) == 0 {
		o.timer.Stop()
	} else {
		o.timer.Reset(flushAfter)
	}
}

// wholeRunes returns how many bytes of p end on a rune's edge: at most three bytes are left over.
func wholeRunes(p []byte) int {
	for i := len(p) - 1; i >= 0 && i >= len(p)-utf8.UTFMax; i-- {
		if !utf8.RuneStart(p[i]) {
			continue
		}
		if !utf8.FullRune(p[i:]) {
			return i
		}
		break
	}
	return len(p)
}
