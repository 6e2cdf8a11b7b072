package cellio

import (
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"time"
)

// Stream output is held back until a moment has passed, flushSize bytes are there, another kind of frame is sent, or the cell
// ends. That moment is flushAfter, and longer, up to flushMost, while much is written: a line that comes alone is seen at once,
// and a hundred thousand come in a few messages. Front ends and servers drop what comes in many: coalescing is correctness.
const (
	flushAfter = 50 * time.Millisecond
	flushMost  = 200 * time.Millisecond
	flushMuch  = 4 << 10 // bytes in one flush that make the next moment longer
	flushSize  = 256 << 10
)

// What may wait for a credit before those who write are made to wait. All of it leaves at the cell's end, credit or not, so it
// is little: the kernel keeps room for it in what front ends take (see [Credit]).
const (
	heldText   = 64 << 10 // bytes of streams
	heldFrames = 64       // displays and the like, of
	heldBodies = 1 << 20  // bytes in all; a larger one waits alone
)

// Outlet is the one ordered writer of an engine: what is written to it leaves in that order, whatever its kind and
// whichever goroutine wrote it. All methods may be called from any goroutine.
//
// From its first [Outlet.Grant] on it sends output only as far as it has credit. Without credit, writers wait until there is some or the
// cell is interrupted. Frames that are not output need no credit.
type Outlet struct {
	send    func(Frame) error
	journal *Journal // of the text that waits; guarded by mu

	mu       sync.Mutex
	waiting  []*entry          // oldest first
	torn     map[source][]byte // beginnings of runes
	moment   time.Duration     // until the next flush of what waits alone
	flushed  time.Time         // text, the last time
	timer    *time.Timer       // armed while the last entry waits for more of its kind
	limited  bool              // there was a grant
	balance  Credit            // what was granted less what was sent, which may be more
	stalled  bool              // something is to leave and waits for credit
	hurrying int               // calls of Hurry that last: nobody waits
	changed  chan struct{}     // closed and replaced where those who wait must look again
	closed   bool

	past       []*past // what is written past the outlet, see CatchPast
	pastBuffer []byte

	granting sync.Mutex // guards granted alone
	granted  Credit     // not yet in the balance
	granter  *time.Timer
}

// source is whose text it is.
type source struct {
	cell int64
	name string // stdout or stderr
}

// entry is what waits to leave: text of a source, or a frame.
type entry struct {
	source
	text    []byte
	frame   *Frame
	updates string // id of the display that the frame updates
}

// NewOutlet returns an Outlet that hands its frames to send, one at a time.
func NewOutlet(send func(Frame) error) *Outlet {
	o := &Outlet{send: send, torn: map[source][]byte{}, moment: flushAfter, changed: make(chan struct{})}
	o.timer = time.AfterFunc(time.Hour, o.expire)
	o.granter = time.AfterFunc(time.Hour, o.regrant)
	o.timer.Stop()
	o.granter.Stop()
	return o
}

// Keep makes the outlet store in j the text that it holds back. Call it before anything is written.
func (o *Outlet) Keep(j *Journal) { o.journal = j }

// Write appends p to a cell's stream; name is "stdout" or "stderr". Bytes that are not UTF-8 are replaced when they are sent. Write fails
// with ErrInterrupted if the rest of p has to wait for credit and its run is interrupted.
func (o *Outlet) Write(cell int64, name string, p []byte) error {
	w := waiter{outlet: o}
	o.mu.Lock()
	defer o.mu.Unlock()
	for len(p) > 0 && !o.closed {
		n := min(len(p), flushSize, o.room())
		if n <= 0 && o.credit() {
			_ = o.pump(pumpWhole) // a dead kernel is seen by the reader
			n = min(len(p), flushSize, o.room())
		}
		if n <= 0 && w.wait(len(p) <= heldText) {
			n = min(len(p), flushSize)
		}
		if w.err != nil {
			return w.err
		}
		if n > 0 {
			o.takePast()
			o.add(source{cell, name}, p[:n])
			p = p[n:]
		}
	}
	return nil
}

// room is how many bytes of text may be added now.
func (o *Outlet) room() int {
	if !o.limited || o.hurrying > 0 {
		return flushSize
	}
	room := heldText
	if o.balance.Messages > 0 {
		room += max(0, o.balance.Bytes)
	}
	for _, e := range o.waiting {
		room -= len(e.text)
	}
	return room
}

func (o *Outlet) add(from source, p []byte) {
	var last *entry
	if n := len(o.waiting); n > 0 {
		last = o.waiting[n-1]
	}
	if last == nil || last.frame != nil || last.source != from {
		last = &entry{source: from, text: o.torn[from]}
		delete(o.torn, from)
		o.waiting = append(o.waiting, last)
		_ = o.pump(pumpOrdered) // a dead kernel is seen by the reader
		if time.Since(o.flushed) > 2*flushMost {
			o.moment = flushAfter
		}
		o.timer.Reset(o.moment)
	}
	last.text = append(last.text, p...)
	o.journal.add(from, p)
	if len(last.text) >= flushSize {
		_ = o.pump(pumpWhole)
	}
}

// Send sends a frame after all output written before it. Output waits while there is no credit, and fails with ErrInterrupted if its cell
// is interrupted meanwhile. An answer to a question never waits.
func (o *Outlet) Send(f Frame) error { return o.enqueue(f, "") }

func (o *Outlet) enqueue(f Frame, updates string) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case f.Kind == KindAnswer:
		return o.send(f)
	case !f.Kind.output():
		o.takePast()
		_ = o.pump(pumpAll) // a dead kernel is seen by the reader
		if f.Kind == KindDone {
			o.mend(f.Cell)
		}
		return o.send(f)
	}
	if size := f.size(); size > MaxFrame-maxHeader {
		return fmt.Errorf("send %s frame: %w: %d bytes, of at most %d", f.Kind, ErrTooLarge, size, MaxFrame)
	}
	w := waiter{outlet: o}
	for !o.closed && !o.replace(f, updates) {
		if !o.credit() && !o.fits(f) && !w.wait(false) {
			if w.err != nil {
				return w.err
			}
			continue
		}
		o.takePast()
		o.waiting = append(o.waiting, &entry{source: source{cell: f.Cell}, frame: &f, updates: updates})
		return o.pump(pumpOrdered)
	}
	return nil
}

// fits tells whether a frame may wait for credit with what waits already, and with what was written past the outlet before it.
func (o *Outlet) fits(f Frame) bool {
	if o.past != nil && o.room() <= 0 {
		return false
	}
	frames, bytes := 0, f.size()
	for _, e := range o.waiting {
		if e.frame != nil {
			frames++
			bytes += e.frame.size()
		}
	}
	return frames == 0 || frames < heldFrames && bytes <= heldBodies
}

// replace puts an update of a display into the place of one that has not left yet: nobody would have seen that.
func (o *Outlet) replace(f Frame, updates string) bool {
	if updates == "" {
		return false
	}
	for _, e := range o.waiting {
		if e.updates == updates && e.cell == f.Cell {
			e.frame = &f
			return true
		}
	}
	return false
}

// Emit marshals body and sends it as a frame of the cell; a Display that is an update leaves as KindUpdate.
func (o *Outlet) Emit(kind Kind, cell int64, body any, buffers ...[]byte) error {
	first, more, err := encode(body)
	if err != nil {
		return fmt.Errorf("encode %s of cell %d: %w", kind, cell, err)
	}
	updates := ""
	if d, ok := body.(Display); ok && d.Update {
		kind, updates = KindUpdate, d.Transient.ID
	}
	return o.enqueue(Frame{Kind: kind, Cell: cell, Body: first, More: more, Buffers: buffers}, updates)
}

// Flush sends the output that is pending.
func (o *Outlet) Flush() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.flush()
}

// flush sends all, beyond the credit too, and what is left of runes that never became whole.
func (o *Outlet) flush() {
	o.takePast()
	_ = o.pump(pumpAll)
	for from := range o.torn {
		o.mend(from.cell)
	}
}

// mend sends the beginnings of a cell's runes, which is over.
func (o *Outlet) mend(cell int64) {
	for _, name := range []string{"stdout", "stderr"} {
		if rest := o.torn[source{cell, name}]; len(rest) > 0 {
			delete(o.torn, source{cell, name})
			o.sendText(source{cell, name}, rest)
		}
	}
}

// Close flushes and stops the timer. Later output is dropped.
func (o *Outlet) Close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.flush()
	o.closed = true
	o.timer.Stop()
	o.granter.Stop()
	o.signal()
}

func (o *Outlet) expire() {
	o.mu.Lock()
	defer o.mu.Unlock()
	_ = o.pump(pumpWhole)
}

// pumping says how much of what waits is to leave.
type pumping int

const (
	pumpOrdered pumping = iota // all but text at the end, which waits for more
	pumpWhole                  // all whole runes
	pumpAll                    // all, though there be no credit
)

// pump sends what waits, in its order, as far as it is to leave and there is credit. It returns the last frame's error.
func (o *Outlet) pump(how pumping) (err error) {
	defer func() { o.journal.rewrite(o.waiting) }()
	o.stalled = false
	for len(o.waiting) > 0 && !o.closed {
		e, last := o.waiting[0], len(o.waiting) == 1
		switch {
		case last && how == pumpOrdered && e.frame == nil:
			return err
		case how != pumpAll && !o.credit():
			o.stalled = true
			return nil
		case e.frame != nil:
			err = o.spend(*e.frame)
		case !o.pumpText(e, last && how == pumpWhole, how == pumpAll):
			return nil
		}
		o.waiting[0], o.waiting = nil, o.waiting[1:]
		o.signal()
	}
	o.timer.Stop()
	return err
}

// pumpText sends an entry's text. What has arrived of a rune at its end is kept: in the entry, where more may follow there,
// which is then not over.
func (o *Outlet) pumpText(e *entry, follows, all bool) (over bool) {
	whole, sent := wholeRunes(e.text), 0
	for sent < whole {
		room := maxText
		if o.limited && !all && o.hurrying == 0 {
			room = min(room, o.balance.Bytes-messageCost)
		}
		n := fit(e.text[sent:whole], room)
		if n == 0 || !all && !o.credit() {
			o.stalled = true
			break
		}
		o.sendText(e.source, e.text[sent:sent+n])
		sent += n
	}
	o.pace(sent)
	rest := e.text[sent:]
	if sent < whole || follows && len(rest) > 0 {
		e.text = append(e.text[:0], rest...)
		o.timer.Reset(o.moment)
		return false
	}
	if len(rest) > 0 {
		o.torn[e.source] = slices.Clone(rest) // it is little of much
	}
	return true
}

// pace makes the next flush later where this one had much.
func (o *Outlet) pace(sent int) {
	o.flushed = time.Now()
	if sent < flushMuch {
		o.moment = flushAfter
	} else {
		o.moment = min(2*o.moment, flushMost)
	}
}

func (o *Outlet) sendText(from source, text []byte) {
	body, _ := json.Marshal(Stream{Name: from.name, Text: string(text)}) // strings always marshal
	_ = o.spend(Frame{Kind: KindStream, Cell: from.cell, Body: body})    // a dead kernel is seen by the reader
	o.signal()
}
