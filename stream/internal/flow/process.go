package flow

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"cancha/stream/internal/changelog"
	"cancha/stream/internal/eval"
	"cancha/stream/plan"
)

// Functions are a keyed process: what makes the state of a key, and what takes its rows and timers.
type Functions struct {
	State func(key Row) any
	Row   func(c *Context, state any, row Row) error
	Timer func(c *Context, state any, at int64) error // nil: no timers
	// Save and Load write a state as bytes and read it again, into one that State has made; nil where snapshots are not taken.
	Save func(state any) ([]byte, error)
	Load func(state any, saved []byte) (any, error)
}

// Context is what a function of a keyed process can do.
type Context struct {
	p   *Processor
	key *keyed
	t   int64
	due bool // a timer of event time has called
}

// mostStill is how many timers a key's timers may set, one after another, of which none is later than the one that set it.
const mostStill = 10_000

type keyed struct {
	name  string
	key   Row
	state any
	seen  int64     // event time of the latest row
	until int64     // of the latest timer: the key is known until then
	come  int64     // how far event time has come for it: by its rows and the timers that were called; a snapshot has it not
	due   []pending // its timers of event time, the earliest first
	still int       // timers that its timers have set while event time stood still for it
	entry *changelog.Entry
}

// pending is a timer of event time that has not been called.
type pending struct {
	at    int64
	entry *changelog.Entry
}

// timer is a call that waits.
type timer struct {
	at    int64
	clock bool // of the clock, not of event time
	key   *keyed
	entry *changelog.Entry
}

// Emit gives out a row.
func (c *Context) Emit(row Row) error {
	if len(row) != c.p.width {
		return fmt.Errorf("stream: %d values given out, want one for each of the %d columns", len(row), c.p.width)
	}
	c.p.emit(row, c.t)
	return nil
}

// Key returns the values of the key.
func (c *Context) Key() Row { return c.key.key }

// Time is the event time of the row in hand, or of the timer.
func (c *Context) Time() int64 { return c.t }

// Watermark is how far event time has come: for a row, in its own partition, if that is further.
func (c *Context) Watermark() int64 { return c.p.env.passed(c.p.watermark) }

// SetTimer calls Timer for this key once the watermark has passed an event time; see Finish for the end. It fails where that would never end.
func (c *Context) SetTimer(at int64) error {
	if c.p.finished && c.t > c.p.latest {
		return nil
	}
	if c.due && at <= c.t {
		if c.key.still++; c.key.still > mostStill {
			return fmt.Errorf("timers have set %d more, none of which is later, the last at %v: that would never end; set a later one, or none",
				mostStill, time.Unix(0, c.t).UTC())
		}
	}
	c.key.until = max(c.key.until, at)
	c.p.set(timer{at: at, key: c.key})
	return nil
}

// Fail ends the query with an error.
func (c *Context) Fail(err error) { c.p.env.fail(err) }

// SetClock calls Timer for this key at a time of the clock.
func (c *Context) SetClock(at int64) { c.p.set(timer{at: at, clock: true, key: c.key}) }

// set notes a timer.
func (p *Processor) set(t timer) {
	if p.log != nil {
		t.entry = p.log.Add(&timer{at: t.at, clock: t.clock, key: t.key})
	}
	p.wait(t)
}

func (p *Processor) wait(t timer) {
	if t.clock {
		p.clocks.put(t.at, t)
		return
	}
	at := len(t.key.due)
	for at > 0 && t.key.due[at-1].at > t.at {
		at--
	}
	t.key.due = slices.Insert(t.key.due, at, pending{t.at, t.entry})
	p.timers.put(t.at, t.key)
}

// Processor calls functions of the user with the rows of each key and the key's state. Nothing is late for it. A key's timers are called, and its time to live is
// over, when the watermark has passed them, and at the latest before a row of the key that has met a watermark in its own partition which has: so
// a key whose rows lie in one partition sees rows and timers in one order, however far the other partitions have been read. What timers give out carries their
// time as its mark, so that this holds for the keys of a process behind it, too.
type Processor struct {
	env       *Env
	emit      Emit
	f         Functions
	keys      []eval.Node
	names     []string
	read      func(dst, row Row) Row
	width     int
	ttl       int64
	hold      int64 // by how much its rows can be behind the query's watermark
	states    map[string]*keyed
	timers    ending[*keyed] // a key is there for each of its timers, and for some that have been called
	clocks    ending[timer]
	ends      ending[*keyed]
	due       []*keyed // empty but in Advance
	rung      []timer  // empty but in Clock
	watermark int64
	latest    int64 // event time of all rows
	finished  bool  // no more rows come
	bytes     []byte
	row       Row
	log       *changelog.Log
}

// NewProcessor returns a keyed process for rows of a layout, which can be behind the query's watermark by hold.
func NewProcessor(s plan.Step, f Functions, l *Layout, hold int64, env *Env) (*Processor, error) {
	keys, err := fields(l, s.Keys)
	if err != nil {
		return nil, err
	}
	_, read, err := l.Read(s.Columns)
	return &Processor{env: env, f: f, keys: keys, names: s.Keys, read: read, width: len(s.Adds), ttl: int64(s.TimeToLive), hold: hold,
		states: map[string]*keyed{}, watermark: NoWatermark, latest: NoWatermark}, err
}

// Then sets what takes the rows.
func (p *Processor) Then(emit Emit) { p.emit = emit }

// Push implements Op.
func (p *Processor) Push(row Row, t int64) {
	var ok bool
	if p.bytes, ok = keyOf(p.bytes[:0], row, p.keys); !ok {
		p.env.reject(fmt.Sprintf("no value for one of %q", p.names))
		return
	}
	k := p.states[string(p.bytes)]
	passed := p.env.passed(p.watermark)
	if k != nil && p.env.Marked {
		k = p.meet(k, passed)
	}
	if k == nil {
		k = &keyed{name: string(p.bytes), seen: NoWatermark, until: NoWatermark, come: NoWatermark}
		for i := range p.keys {
			k.key = append(k.key, p.keys[i].Value(row).Clone())
		}
		k.state = p.f.State(k.key)
		p.states[k.name] = k
		k.entry = p.log.Add(p.item(k))
	}
	if k.seen == NoWatermark && p.ttl > 0 {
		p.ends.put(later(t, p.ttl), k)
	}
	p.log.Touch(k.entry)
	k.seen, k.come, p.latest = max(k.seen, t), max(k.come, passed), max(p.latest, t)
	p.row = p.read(p.row[:0], row)
	if err := p.f.Row(&Context{p, k, t, false}, k.state, p.row); err != nil {
		p.env.fail(err)
	}
}

// meet brings a key to the watermark that its next row has met. It returns nil if the key's time is over then.
func (p *Processor) meet(k *keyed, passed int64) *keyed {
	p.fire(k, passed)
	if p.ttl == 0 || p.end(k) >= passed {
		return k
	}
	p.forget(k)
	return nil
}

// end is when a key's time is over. A key outlives its timers, so that it is the same however far event time moves at once.
func (p *Processor) end(k *keyed) int64 { return max(later(k.seen, p.ttl), k.until) }

// Advance implements Op.
func (p *Processor) Advance(watermark int64) {
	p.watermark = max(p.watermark, watermark)
	for at, ok := p.timers.first(); ok && at <= p.watermark && p.env.Err == nil; at, ok = p.timers.first() {
		p.due = p.timers.together(p.due[:0])
		slices.SortFunc(p.due, func(a, b *keyed) int { return strings.Compare(a.name, b.name) })
		for _, k := range p.due {
			p.fire(k, at)
		}
		clear(p.due) // holds on to nothing
	}
	for at, ok := p.ends.first(); ok && at < p.watermark; at, ok = p.ends.first() {
		d := p.ends.next()
		switch end := p.end(d.of); {
		case p.states[d.of.name] != d.of: // it has been forgotten
		case end > d.at:
			p.ends.put(end, d.of) // rows have come since, or timers were set
		default:
			p.forget(d.of)
		}
	}
}

func (p *Processor) forget(k *keyed) {
	p.log.Remove(k.entry)
	delete(p.states, k.name)
}

// fire calls the timers of a key that are due. Those of a key that has been forgotten call nothing.
func (p *Processor) fire(k *keyed, until int64) {
	for len(k.due) > 0 && k.due[0].at <= until && p.env.Err == nil {
		first := k.due[0]
		k.due = slices.Delete(k.due, 0, 1)
		if err := p.call(timer{at: first.at, key: k, entry: first.entry}); err != nil {
			p.env.fail(err)
		}
	}
}

// Next implements Op.
func (p *Processor) Next() int64 { return p.timers.when() }

// Clock calls the timers of the clock that are due: the earliest first, and those of one time by key, whatever came first. What they set, in
// the past too, is called the next time, so that a timer that always sets another keeps nobody from ending the query.
func (p *Processor) Clock(now time.Time) {
	p.rung = p.rung[:0]
	for at, ok := p.clocks.first(); ok && at <= now.UnixNano(); at, ok = p.clocks.first() {
		before := len(p.rung)
		p.rung = p.clocks.together(p.rung)
		slices.SortFunc(p.rung[before:], func(a, b timer) int { return strings.Compare(a.key.name, b.key.name) })
	}
	for _, d := range p.rung {
		if err := p.call(d); err != nil {
			p.env.fail(err)
			return
		}
	}
	clear(p.rung) // holds on to nothing
}

// NextClock is when the next timer of the clock is due, MaxInt64 if there is none.
func (p *Processor) NextClock() int64 {
	if at, ok := p.clocks.first(); ok {
		return at
	}
	return math.MaxInt64
}

// call calls a timer. That of a key that has been forgotten calls nothing.
func (p *Processor) call(d timer) error {
	p.log.Remove(d.entry)
	if p.states[d.key.name] != d.key || p.f.Timer == nil {
		return nil
	}
	p.log.Touch(d.key.entry)
	ring := func() error { return p.f.Timer(&Context{p, d.key, d.at, !d.clock}, d.key.state, d.at) }
	if d.clock {
		return ring()
	}
	if d.at > d.key.come {
		d.key.come, d.key.still = d.at, 0
	}
	return p.env.as(d.key.come, p.hold, ring)
}

// Finish tells that no more rows come. Event time then goes on to the last row's; of what is due later only timers that are set by then are called,
// or a timer that sets itself again would be called for ever.
func (p *Processor) Finish() { p.finished = true }

// Finished tells whether Finish was called.
func (p *Processor) Finished() bool { return p.finished }

// Drain implements Op: timers of event time that are left are called, those of the clock are not.
func (p *Processor) Drain() {
	p.Finish()
	p.Advance(p.latest)
	p.Advance(math.MaxInt64)
}

// State implements Op.
func (p *Processor) State() (rows, bytes int64) {
	n := int64(len(p.states))
	return n, n*200 + p.timers.size() + p.clocks.size() + p.ends.size()
}
