package stream

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"cancha/stream/internal/flow"
	"cancha/stream/internal/value"
)

// lane is one partition's way through the steps without memory, to its windows or to rows that wait for the operators behind. Its source
// calls it from one goroutine at a time; mu guards it against those that take windows out or count.
type lane struct {
	in        *input
	unit      *unit
	partition int
	claim     func(keys flow.Row, end int64) string

	mu       sync.Mutex
	env      flow.Env
	decoder  Decoder
	slots    []Slot
	meta     []flow.Meta
	row      flow.Row
	time     func(row flow.Row) value.Value // nil: the record's time stamp
	raw      func(row flow.Row) value.Value // what time is made of, where that is a number; nil: it is not
	run      func(row flow.Row)
	handler  RecordHandler // nil: records are decoded
	keeping  *handlerState // of the handler, where there is a checkpoint
	clock    flow.Clock
	t        int64         // event time of the record in hand
	windows  *flow.Windows // nil where rows are collected
	rows     flow.Row      // one row of width values after another
	times    []int64
	marks    []int64 // for each row, the watermark that its record met
	ripe     bool    // groups have outlived their time, and are still there
	deletes  []bool  // for each row, whether it deletes one of a table; empty where there is no table that tombstones delete from
	mark     int64   // that of the record in hand
	met      []moment
	width    int
	topic    string
	id       string       // what the partition holds, as its source tells
	seen     string       // what its source wants to be told of it, of a batch that was handled
	next     int64        // offset behind the last record handled; -1: not known yet
	given    int64        // next, when all that had come of the records before it was given out; -1: not known yet
	settled  int64        // watermark then
	restarts restart      // what the group is to be told
	began    restart      // what it had been told when this lane began
	again    int64        // records before this offset have been handled before: what is wrong with them is known
	safe     atomic.Int64 // next of the newest epoch whose rows the sinks have; -1: none
	high     int64
	goal     int64 // high of the first batch: what was there when the partition was opened
	opened   bool  // there was a first batch
	reached  bool  // what was there then has been read
	blind    bool  // its source is Unmeasured
	from     int64 // next at the start of the epoch
	records  int64
	counted  int64         // records at the start of the epoch
	busy     time.Duration // of the epoch
	lost     int64
	taken    bool      // a batch has been handled of which others do not know yet
	expired  int64     // watermark of others by which its windows were closed last while it was idle; publishing guards it
	quiet    time.Time // of the first batch without records after the last with some; zero while there are records

	// For the query's watermark, which is computed without taking locks.
	idle      atomic.Bool
	finished  atomic.Bool  // its partition has ended
	aligned   atomic.Bool  // its source asks whether it may go on
	watermark atomic.Int64 // clock's, as far as what it has made ready was given out
	caughtUp  atomic.Bool
}

// recreated makes a lane that of another topic of the same name, which is read from its beginning. What the old one's records have made stays: windows and
// watermark. The caller holds mu.
func (n *lane) recreated(id string) {
	n.id, n.seen, n.next, n.given, n.again, n.from = id, "", 0, 0, 0, 0
	n.high, n.goal, n.opened, n.reached = 0, 0, false, false
	n.safe.Store(0)
	n.caughtUp.Store(false)
	n.finished.Store(false)
}

// notLate is the lateness of a record that is bad.
const notLate = -1

// take handles the first of count records of a batch, all of them unless what they make ready is to be given out before the others come, and returns how
// many. beside is how far the other partitions have come, if that matters to this one. rejected is told of each record that is bad or late.
func (n *lane) take(ctx context.Context, b Batch, count int, beside int64, rejected func(r *Record, reason string, late time.Duration)) (taken int, err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.topic, n.high = b.Topic, max(n.high, b.HighWatermark)
	n.lost += b.Lost
	if !n.opened {
		n.opened, n.goal = true, b.HighWatermark
	}
	if len(b.Records) == 0 {
		n.skip(b.HighWatermark)
		n.reached = true // what lies between the last record and goal, markers of transactions say, is no record
		n.rest(n.in.query.idle)
		return 0, nil
	}
	began := time.Now()
	n.quiet = time.Time{}
	n.idle.Store(false)
	if n.records == 0 {
		n.from = b.Records[0].Offset
	}
	for taken < count && !n.ripe {
		r := &b.Records[taken]
		taken++
		late, lateBy := n.env.Late, n.env.LateBy
		if n.windows != nil {
			n.windows.At = r.Offset
		}
		reason := n.handle(ctx, b.Topic, r)
		switch {
		case r.Offset < n.again:
			n.env.Late, n.env.LateBy = late, lateBy
		case reason != "":
			rejected(r, reason, notLate)
		case n.env.Late > late:
			rejected(r, "", time.Duration(n.env.By))
		}
		n.next = r.Offset + 1
		if n.env.Err != nil {
			return taken, n.env.Err
		}
		n.ripe = n.outlived(beside)
	}
	err = n.flush(ctx)
	n.reached = n.reached || !n.blind && n.next >= n.goal
	n.records += int64(taken)
	n.busy += time.Since(began)
	n.taken = true
	return taken, err
}

// outlived tells whether groups have outlived their time by the records so far: they are forgotten before the next comes, wherever its batch begins.
func (n *lane) outlived(beside int64) bool {
	return n.windows != nil && n.windows.Expires() && n.windows.Outlived(min(n.clock.Watermark, beside))
}

// skip notes that no record lies before an offset. A snapshot has to say so, too: a source that begins at the end of a partition would leave out, after a
// crash, what has come since.
func (n *lane) skip(next int64) {
	if next > n.next {
		n.next = next
		n.unit.busy.Store(true)
	}
}

// tell shows others how far the lane is, after a batch. Only the one who gives out what the batch has made ready calls it, with the graph's lock, and after that:
// rows that were collected and windows that the lane closes itself have reached the operators behind by then. Told before, the watermark would let another
// lane, which comes to the lock first, move these operators past the rows, and they would be late.
func (n *lane) tell() {
	n.mu.Lock()
	defer n.mu.Unlock()
	if !n.taken {
		return
	}
	n.watermark.Store(n.clock.Watermark)
	n.caughtUp.Store(!n.blind && n.next >= n.high)
	n.taken = false
}

// handle takes one record through the lane and returns "", or the reason why it is bad.
func (n *lane) handle(ctx context.Context, topic string, r *Record) (reason string) {
	if n.handler != nil {
		return n.process(ctx, r)
	}
	n.mark = n.clock.Watermark
	clear(n.row)
	n.env.Tombstone = n.in.deletes && r.Value == nil
	if reason := n.decode(r.Value); reason != "" {
		return reason
	}
	for _, m := range n.meta {
		n.row[m.At] = n.part(m.Name, topic, r)
	}
	if reason := n.see(r); reason != "" && !n.env.Tombstone { // whose event time, where that is in the value, nobody knows
		return reason
	}
	n.env.Bad = ""
	n.run(n.row)
	return n.env.Bad
}

// decode reads a record's value. A tombstone, which has none, is a record all the same where nothing of the value is asked for, or where it deletes a row of
// a table.
func (n *lane) decode(record []byte) (reason string) {
	if record == nil && (len(n.slots) == 0 || n.env.Tombstone) {
		return ""
	}
	return n.decoder.Decode(record, n.row)
}

// see takes the record's event time.
func (n *lane) see(r *Record) (reason string) {
	v := value.Nanos(0) // of a record without a time stamp
	if n.time != nil {
		if v = n.time(n.row); v.IsNull() {
			return n.noTime()
		}
	} else if !r.Time.IsZero() {
		v = value.TimeOf(r.Time)
	}
	if n.t = v.Nanos(); v.IsNull() || n.t < flow.MinTime || n.t > flow.MaxTime {
		return "event time is outside the years 1680 to 2260"
	}
	n.clock.See(n.t)
	return ""
}

// noTime is the reason why a record without an event time is bad. A number that no time comes of was counted in another unit, as a rule.
func (n *lane) noTime() string {
	of := n.in.query.time
	if of.Op == "from_unix" && n.raw != nil {
		if x, ok := n.raw(n.row).Number(); ok {
			return "no event time: " + elsewhen(of, x)
		}
	}
	return "no event time: " + of.String() + " is absent"
}

// elsewhen tells which year a number would be that is too far away for a time, and the unit in which it would be near.
func elsewhen(of Expr, x float64) string {
	const year = 365.2425 * 24 * 3600 * 1e9
	unit := of.Args[1].Literal.Float()
	text := fmt.Sprintf("%s of %s would be the year %s", unixName(unit), value.FloatOf(x), wholeNumber(int64(max(-1e15, min(1970+x*unit/year, 1e15)))))
	for _, other := range []float64{1e6, 1e3, 1} {
		if y := 1970 + x*other/year; other < unit && y > 1980 && y < 2200 {
			return text + ": " + unixName(other) + "?"
		}
	}
	return text
}

// unixName is the method that makes a time of a number in a unit of so many nanoseconds.
func unixName(unit float64) string {
	return map[float64]string{1e9: "UnixSeconds", 1e6: "UnixMillis", 1e3: "UnixMicros", 1: "UnixNanos"}[unit]
}

// part is a part of a record beside its value. Of headers of one name it is the last.
func (n *lane) part(name, topic string, r *Record) value.Value {
	switch name {
	case "topic":
		return value.TextOf(topic)
	case "partition":
		return value.IntOf(int64(r.Partition))
	case "offset":
		return value.IntOf(r.Offset)
	case "timestamp":
		return value.TimeOf(r.Time)
	case "key":
		return bytesOf(r.Key)
	case "value":
		return bytesOf(r.Value)
	}
	header := strings.TrimPrefix(name, "headers.")
	for _, h := range slices.Backward(r.Headers) {
		if h.Key == header {
			return bytesOf(h.Value)
		}
	}
	return value.Value{}
}

func bytesOf(b []byte) value.Value {
	if b == nil {
		return value.Value{}
	}
	return value.TextOf(string(b))
}

// rest notes that the partition had nothing new.
func (n *lane) rest(idleAfter time.Duration) {
	now := time.Now()
	n.caughtUp.Store(true)
	if n.quiet.IsZero() {
		n.quiet = now
	}
	if now.Sub(n.quiet) >= idleAfter {
		n.idle.Store(true)
	}
}

// closed is the watermark by which windows have been closed.
func (n *lane) closed() int64 {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.windows.Closed()
}

// behindGoal tells whether records that were there when the partition was opened are still to be read.
func (n *lane) behindGoal() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return !n.finished.Load() && !n.reached
}

// unknown notes that nobody knows whether the partition has new records.
func (n *lane) unknown() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.quiet = time.Time{}
	n.idle.Store(false)
	n.caughtUp.Store(false)
}

// deliver gives the collected rows to what follows. meet is told of the watermark that each of them meets, before it.
func (n *lane) deliver(entry flow.Emit, meet func(mark int64)) {
	for i, t := range n.times {
		meet(n.marks[i])
		n.in.deleting = n.in.deletes && n.deletes[i]
		entry(n.rows[i*n.width:(i+1)*n.width], t)
	}
	clear(n.rows)
	n.rows, n.times, n.marks, n.deletes = n.rows[:0], n.times[:0], n.marks[:0], n.deletes[:0]
}
