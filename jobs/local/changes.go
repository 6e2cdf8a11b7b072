package local

import (
	"bytes"
	"encoding/json"
	"errors"
	"time"

	"cancha/jobs/internal/disk"
	"cancha/jobs/queue"
)

// inside returns what the file has of one queue; nil: there is no such queue.
func inside(tx *disk.Tx, name string) (messages, marks *disk.Bucket) {
	return tx.Bucket(bucketMessages).Bucket([]byte(name)), tx.Bucket(bucketMarks).Bucket([]byte(name))
}

// inside is the same, of a line; nil, too, when its queue has expired: another one of that name, with messages at the same places, may be
// there by now. The writer alone, which asks, sets gone.
func (l *line) inside(tx *disk.Tx) (messages, marks *disk.Bucket) {
	if l.gone {
		return nil, nil
	}
	return inside(tx, l.name)
}

// appendRecords adds records behind all others of a queue, and returns their places.
func appendRecords(messages *disk.Bucket, records ...[]byte) (seqs []uint64, err error) {
	messages.FillPercent = 0.9 // new ones come at the end, so pages that split stay as they are
	for _, record := range records {
		seq, err := messages.NextSequence()
		if err != nil {
			return nil, err
		}
		if err := messages.Put(key(seq), record); err != nil {
			return nil, err
		}
		seqs = append(seqs, seq)
	}
	return seqs, nil
}

// erase takes a message out of its queue; that it is not there is no error.
func (l *line) erase(tx *disk.Tx, seq uint64) error {
	messages, marks := l.inside(tx)
	if messages == nil {
		return nil
	}
	return errors.Join(messages.Delete(key(seq)), marks.Delete(key(seq)))
}

// ensure makes a queue in the file, or changes its Spec where always is set.
func ensure(tx *disk.Tx, spec queue.Spec, always bool) error {
	name := []byte(spec.Name)
	if tx.Bucket(bucketQueues).Get(name) != nil && !always {
		return nil
	}
	text, err := json.Marshal(spec)
	if err != nil {
		return err
	}
	_, one := tx.Bucket(bucketMessages).CreateBucketIfNotExists(name)
	_, two := tx.Bucket(bucketMarks).CreateBucketIfNotExists(name)
	return errors.Join(one, two, tx.Bucket(bucketQueues).Put(name, text))
}

// deadSpec is the queue of dead letters as it is made where nobody has declared it.
func deadSpec(of queue.Spec) queue.Spec {
	return queue.Spec{Name: of.DeadQueue(), Dead: of.DeadQueue()}
}

// declare makes a queue and that of its dead letters.
type declare struct {
	b    *Broker
	spec queue.Spec
}

func (c *declare) write(tx *disk.Tx) error {
	return errors.Join(ensure(tx, c.spec, true), ensure(tx, deadSpec(c.spec), false))
}

func (c *declare) apply() {
	if l := c.b.lines[c.spec.Name]; l != nil {
		l.change(c.spec)
		c.b.trim(l)
	} else {
		c.b.lines[c.spec.Name] = newLine(c.spec, time.Now())
	}
	c.b.ensureLine(deadSpec(c.spec))
	c.b.signal() // it may expire
}

func (c *declare) undo()     {}
func (c *declare) size() int { return 2 * queue.MaxText }

// publish adds messages to a queue.
type publish struct {
	b          *Broker
	name       string
	records    [][]byte
	priorities []int
	bytes      int
	seqs       []uint64
}

func (c *publish) write(tx *disk.Tx) (err error) {
	messages, _ := inside(tx, c.name)
	if messages == nil {
		return queue.ErrUnknownQueue
	}
	c.seqs, err = appendRecords(messages, c.records...)
	return err
}

func (c *publish) apply() {
	l := c.b.lines[c.name]
	for i, seq := range c.seqs {
		l.push(&entry{seq: seq, priority: c.priorities[i]})
	}
	c.b.trim(l)
	c.b.serve(l)
}

func (c *publish) undo()     {}
func (c *publish) size() int { return c.bytes }

// note is that a message has been handed out. It is left out where the message has been settled before it is written.
type note struct {
	h    *handed
	text []byte
}

func (c *note) write(tx *disk.Tx) error {
	if _, marks := c.h.line.inside(tx); marks != nil && c.h.unsettled() {
		return marks.Put(key(c.h.entry.seq), c.text)
	}
	return nil
}

func (c *note) apply() {}
func (c *note) undo() {
	c.h.c.b.log("that a message was handed out could not be noted", "queue", c.h.line.name, "count", c.h.count)
}
func (c *note) size() int { return len(c.text) }

// forget is Ack.
type forget struct{ h *handed }

func (c *forget) write(tx *disk.Tx) error { return c.h.line.erase(tx, c.h.entry.seq) }
func (c *forget) apply()                  { c.h.release(settled) }
func (c *forget) undo()                   { c.h.keep() }
func (c *forget) size() int               { return 8 }

// again is Retry.
type again struct {
	h     *handed
	due   time.Time // zero: at once
	after time.Duration
}

func (c *again) write(tx *disk.Tx) error {
	_, marks := c.h.line.inside(tx)
	if marks == nil {
		return nil // the queue has expired
	}
	return marks.Put(key(c.h.entry.seq), mark{c.h.count, c.due}.encode(c.after))
}

func (c *again) apply() {
	b, l, e := c.h.c.b, c.h.line, c.h.entry
	c.h.release(settled)
	if c.due.IsZero() {
		l.push(e)
		b.serve(l)
		return
	}
	e.due = c.due
	l.delay(e)
	b.signal()
}

func (c *again) undo()     { c.h.keep() }
func (c *again) size() int { return 16 }

// bury makes a message a dead letter: one that was in somebody's hand (h), or one that has come back too often.
type bury struct {
	b      *Broker
	line   *line
	entry  *entry
	h      *handed // nil: nobody has it
	reason string
	seq    uint64 // its place among the dead letters
	buried bool
}

func (c *bury) write(tx *disk.Tx) error {
	name := c.line.name
	messages, _ := c.line.inside(tx)
	if messages == nil {
		return nil // the queue has expired
	}
	text := messages.Get(key(c.entry.seq))
	m, death, err := decodeRecord(text)
	if err != nil { // what is left of it
		m = queue.Message{Body: bytes.Clone(text[:min(len(text), queue.MaxBody)])}
	}
	if death == nil {
		death = &queue.Death{Queue: name, Count: c.entry.count}
	}
	death.Reason, death.At = c.reason, time.Now().Round(0)
	record, err := encodeRecord(&m, death)
	if err != nil {
		return err
	}
	dead := deadSpec(c.line.spec)
	if err := errors.Join(c.line.erase(tx, c.entry.seq), ensure(tx, dead, false)); err != nil {
		return err
	}
	to, _ := inside(tx, dead.Name)
	seqs, err := appendRecords(to, record)
	if err == nil {
		c.seq, c.buried = seqs[0], true
	}
	return err
}

func (c *bury) apply() {
	if c.h != nil {
		c.h.release(settled)
	}
	if !c.buried {
		return
	}
	to := c.b.ensureLine(deadSpec(c.line.spec))
	to.push(&entry{seq: c.seq, priority: c.entry.priority})
	c.b.trim(to)
	c.b.serve(to)
}

// undo has it tried again after a while where nobody has the message.
func (c *bury) undo() {
	if c.h != nil {
		c.h.keep()
		return
	}
	c.entry.due = time.Now().Add(time.Second)
	c.line.delay(c.entry)
	c.b.signal()
}

func (c *bury) size() int { return 4096 }

// drop takes messages out by which a queue is too long.
type drop struct {
	b    *Broker
	line *line
	all  []*entry
}

func (c *drop) write(tx *disk.Tx) error {
	for _, e := range c.all {
		if err := c.line.erase(tx, e.seq); err != nil {
			return err
		}
	}
	return nil
}

func (c *drop) apply() {}
func (c *drop) undo() { // they stay until the next message comes
	for _, e := range c.all {
		c.line.push(e)
	}
}
func (c *drop) size() int { return 8 * len(c.all) }

// expire removes a queue that nobody has used.
type expire struct {
	b    *Broker
	line *line
	gone bool
}

func (c *expire) write(tx *disk.Tx) error {
	if c.gone = c.b.stillExpired(c.line); !c.gone {
		return nil
	}
	name := []byte(c.line.name)
	err := errors.Join(tx.Bucket(bucketMessages).DeleteBucket(name), tx.Bucket(bucketMarks).DeleteBucket(name), tx.Bucket(bucketQueues).Delete(name))
	if errors.Is(err, disk.ErrNoBucket) { // removed before
		return nil
	}
	return err
}

// apply tells consumers that have come meanwhile.
func (c *expire) apply() {
	if !c.gone {
		c.undo()
		return
	}
	c.line.gone = true
	if c.b.lines[c.line.name] == c.line {
		delete(c.b.lines, c.line.name)
	}
	for _, w := range c.line.waiting {
		close(w.got)
	}
	c.line.waiting = nil
}

func (c *expire) undo() { // somebody uses it again, or the disk is full
	c.line.ending, c.line.unused = false, time.Now()
	c.b.signal()
}
func (c *expire) size() int { return 8 }
