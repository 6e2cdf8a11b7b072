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
}

type keyed struct {
	name  string
	key   Row
	state any
	seen  int64 // event time of the latest row
	until int64 // of the latest timer: the key is known until then
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

// Watermark is how far event time has come.
func (c *Context) Watermark() int64 { return c.p.watermark }

// SetTimer calls Timer for this key once the watermark has passed an event time; see Drain for the end.
func (c *Context) SetTimer(at int64) {
	if !c.p.over {
		c.key.until = max(c.key.until, at)
		c.p.set(timer{at: at, key: c.key})
	}
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
	p.timers.put(t.at, t)
}

// Processor calls functions of the user with the rows of each key and the key's state.
type Processor struct {
	env       *Env
	emit      Emit
	f         Functions
	keys      []eval.Node
	names     []string
	read      func(dst, row Row) Row
	width     int
	ttl       int64
	states    map[string]*keyed
	timers    ending[timer]
	clocks    ending[timer]
	ends      ending[*keyed]
	due       []timer // empty but in fire
	watermark int64
	latest    int64 // event time of all rows
	over      bool  // no more timers are taken
	bytes     []byte
	row       Row
	log       *changelog.Log
}

// NewProcessor returns a keyed process for rows of a layout.
func NewProcessor(s plan.Step, f Functions, l *Layout, env *Env) (*Processor, error) {
	keys, err := fields(l, s.Keys)
	if err != nil {
		return nil, err
	}
	_, read, err := l.Read(s.Columns)
	return &Processor{env: env, f: f, keys: keys, names: s.Keys, read: read, width: len(s.Adds), ttl: int64(s.TimeToLive),
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
	if k == nil {
		k = &keyed{name: string(p.bytes), seen: NoWatermark, until: NoWatermark}
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
	k.seen, p.latest = max(k.seen, t), max(p.latest, t)
	p.row = p.read(p.row[:0], row)
	if err := p.f.Row(&Context{p, k, t}, k.state, p.row); err != nil {
		p.env.fail(err)
	}
}

// Advance implements Op. A key outlives its timers, so that it is the same however far event time moves at once.
func (p *Processor) Advance(watermark int64) {
	p.watermark = max(p.watermark, watermark)
	p.fire(&p.timers, p.watermark)
	for at, ok := p.ends.first(); ok && at < p.watermark; at, ok = p.ends.first() {
		d := p.ends.next()
		if end := max(later(d.of.seen, p.ttl), d.of.until); end > d.at {
			p.ends.put(end, d.of) // rows have come since, or timers were set
			continue
		}
		p.log.Remove(d.of.entry)
		delete(p.states, d.of.name)
	}
}

// Clock calls the timers of the clock that are due.
func (p *Processor) Clock(now time.Time) { p.fire(&p.clocks, now.UnixNano()) }

// NextClock is when the next timer of the clock is due, MaxInt64 if there is none.
func (p *Processor) NextClock() int64 {
	if at, ok := p.clocks.first(); ok {
		return at
	}
	return math.MaxInt64
}

// fire calls the timers that are due: the earliest first, and those of one time by key, whatever came first.
func (p *Processor) fire(timers *ending[timer], until int64) {
	for at, ok := timers.first(); ok && at <= until; at, ok = timers.first() {
		p.due = timers.together(p.due[:0])
		slices.SortFunc(p.due, func(a, b timer) int { return strings.Compare(a.key.name, b.key.name) })
		for _, d := range p.due {
			if err := p.call(d); err != nil {
				p.env.fail(err)
				return
			}
		}
		clear(p.due) // holds on to nothing
	}
}

// call calls a timer. That of a key that has been forgotten calls nothing.
func (p *Processor) call(d timer) error {
	p.log.Remove(d.entry)
	if p.states[d.key.name] != d.key || p.f.Timer == nil {
		return nil
	}
	p.log.Touch(d.key.entry)
	return p.f.Timer(&Context{p, d.key, d.at}, d.key.state, d.at)
}

// Drain implements Op: timers of event time that are left are called, those of the clock are not. Event time goes on to the last row's; of what is
// due later only timers that are set by then are called, or a timer that sets itself again would be called for ever.
func (p *Processor) Drain() {
	p.Advance(p.latest)
	p.over = true
	p.Advance(math.MaxInt64)
}

// State implements Op.
func (p *Processor) State() (rows, bytes int64) {
	n := int64(len(p.states))
	return n, n*200 + p.timers.size() + p.clocks.size() + p.ends.size()
}
