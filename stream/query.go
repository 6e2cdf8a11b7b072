package stream

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// OutputMode says when a query gives out the rows of a window. The words are Spark's.
type OutputMode uint8

const (
	// Append gives out each row once, when the watermark has passed the end of its window and nothing can change it.
	Append OutputMode = iota
	// Update gives out a row whenever it has changed, about once a second, and once more when its window closes.
	Update
)

func (m OutputMode) String() string {
	if m == Update {
		return "update"
	}
	return "append"
}

// Window says which span of event time a row sums up. Windows are aligned to 1970-01-01T00:00:00Z and half-open: an event
// at a window's end belongs to the next.
type Window struct{ width time.Duration }

// Tumbling is a window of the given width; the next window starts where it ends.
func Tumbling(width time.Duration) Window { return Window{width} }

// Sink takes the rows of a query as they come. Calls come one after another; a slow sink slows the query down rather than
// filling memory. An error ends the query. The rows stay the sink's.
//
// Epoch counts the calls from 1. Write must not ask the query for its results.
type Sink interface {
	Write(ctx context.Context, epoch int64, rows *Rows) error
}

// Query is a plan: which records to read, how to group and what to compute. It is built by a chain of calls that starts
// with From, each of which returns a changed copy, so that a query can serve as the trunk of others. Start runs it.
//
// It names fields and operators only and holds no function, so that a plan costs the same from an interpreted cell as from
// compiled code, and could be sent to another engine.
type Query struct {
	source     Source
	name       string
	delay      time.Duration
	idleAfter  time.Duration
	ahead      time.Duration
	where      []Condition
	groups     []string
	window     Window
	aggregates []Aggregate
	mode       OutputMode
	sinks      []Sink
	limit      int64
	keep       int
	anywhere   bool
}

// DefaultKeepRows is how many rows a running query keeps for Results, about 300 bytes each.
const DefaultKeepRows = 500_000

// DefaultIdleAfter is how long a partition must be without records before it no longer holds back the watermark.
const DefaultIdleAfter = 5 * time.Second

// DefaultMaxAhead is how far ahead an event may be to move the watermark.
const DefaultMaxAhead = 24 * time.Hour

// From starts a query over a source.
func From(source Source) *Query {
	return &Query{source: source, name: "query", idleAfter: DefaultIdleAfter, ahead: DefaultMaxAhead, keep: DefaultKeepRows}
}

func (q *Query) with(change func(*Query)) *Query {
	c := *q
	change(&c)
	return &c
}

// Name gives the query the name that progress reports carry.
func (q *Query) Name(name string) *Query { return q.with(func(q *Query) { q.name = name }) }

// Watermark says how late events may come: a partition's watermark is its greatest event time less the delay, and never
// goes back. An event is late, dropped and counted, if the watermark has passed the end of its window. The delay is 0 unless set.
//
// Where the groups contain "match_id", by which records are keyed, no window has parts in two partitions, and a window is
// closed by its own partition's watermark: what is late then depends on the order of records alone, never on timing.
// Otherwise the query's watermark closes it: the least of all assigned partitions that are not idle.
func (q *Query) Watermark(delay time.Duration) *Query {
	return q.with(func(q *Query) { q.delay = delay })
}

// IdleAfter says for how long a partition must have had no records before it is idle: 5 s unless set. The query's watermark
// does not wait for an idle partition; when all are idle it is the greatest of theirs. A source that has lost its broker
// has no idle partitions.
func (q *Query) IdleAfter(d time.Duration) *Query {
	return q.with(func(q *Query) { q.idleAfter = d })
}

// MaxAhead says how far ahead of the clock, and of all events of its partition before it, an event may be to move the watermark: 24 h unless
// set, 0 is any distance. One that is further ahead counts in its window and in Totals.Future, and makes no other late. After 100 of them in
// a row, or two at the beginning of a partition, their time is believed.
func (q *Query) MaxAhead(d time.Duration) *Query {
	return q.with(func(q *Query) { q.ahead = d })
}

// Where leaves out the events that a condition does not hold for; several conditions must all hold.
func (q *Query) Where(c Condition) *Query {
	return q.with(func(q *Query) { q.where = append(slices.Clip(q.where), c) })
}

// GroupBy gives each combination of the values at these paths a row of its own; at most four. "team_id" stands for
// "team.id", as in statsbombpy, and names the column. An event without a value at one of the paths is a bad record: ask
// for it by Where(Has(path)) if such events are normal.
func (q *Query) GroupBy(paths ...string) *Query {
	return q.with(func(q *Query) { q.groups = slices.Clone(paths) })
}

// AcrossPartitions says that the records of a group may lie in several partitions although the groups contain "match_id".
// Windows then wait for the query's watermark. Without it, the records of a match in a second partition are bad records.
func (q *Query) AcrossPartitions() *Query { return q.with(func(q *Query) { q.anywhere = true }) }

// Window sets the windows.
func (q *Query) Window(w Window) *Query { return q.with(func(q *Query) { q.window = w }) }

// Agg adds statistics, in the order of their columns.
func (q *Query) Agg(aggregates ...Aggregate) *Query {
	return q.with(func(q *Query) { q.aggregates = append(slices.Clip(q.aggregates), aggregates...) })
}

// Output sets the output mode: Append unless set.
func (q *Query) Output(mode OutputMode) *Query { return q.with(func(q *Query) { q.mode = mode }) }

// To adds a sink.
func (q *Query) To(sink Sink) *Query {
	return q.with(func(q *Query) { q.sinks = append(slices.Clip(q.sinks), sink) })
}

// MaxRecords ends the query after exactly n records, bad ones included; 0, as unless set, is endless.
func (q *Query) MaxRecords(n int64) *Query { return q.with(func(q *Query) { q.limit = n }) }

// KeepRows bounds how many rows Results can give: the newest n, DefaultKeepRows unless set. Sinks get all.
func (q *Query) KeepRows(n int) *Query { return q.with(func(q *Query) { q.keep = n }) }

// maxSpan bounds windows and delays; together with the bounds on event times it keeps sums within an int64.
const maxSpan = 180 * 24 * time.Hour

// Start checks the plan and runs it; it does not wait. The query ends when its source does, after MaxRecords, by Stop, or,
// without closing its open windows, when ctx ends. An error names what is wrong with the plan.
func (q *Query) Start(ctx context.Context) (*Running, error) {
	if err := q.validate(); err != nil {
		return nil, fmt.Errorf("start %s: %w", q.name, err)
	}
	dict := newDictionary()
	p, err := q.compile(dict)
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", q.name, err)
	}
	return startQuery(ctx, q, p), nil
}

func (q *Query) validate() error {
	switch {
	case q.source == nil:
		return errors.New("stream: no source; From wants one, such as Memory or kafka.Source")
	case q.window.width <= 0:
		return errors.New("stream: no window; add .Window(stream.Tumbling(time.Minute))")
	case len(q.aggregates) == 0:
		return errors.New(`stream: nothing to compute; add .Agg(stream.Count("events"))`)
	case len(q.groups) > maxGroups:
		return fmt.Errorf("stream: GroupBy takes at most %d paths, got %d", maxGroups, len(q.groups))
	case q.window.width > maxSpan || q.delay > maxSpan:
		return fmt.Errorf("stream: window %v, watermark delay %v: want at most %v", q.window.width, q.delay, maxSpan)
	case q.delay < 0 || q.idleAfter < 0 || q.ahead < 0:
		return fmt.Errorf("stream: Watermark(%v), IdleAfter(%v), MaxAhead(%v): want no negative duration", q.delay, q.idleAfter, q.ahead)
	case q.ahead > maxSpan:
		return fmt.Errorf("stream: MaxAhead(%v): want at most %v, or 0 for any", q.ahead, maxSpan)
	case q.limit < 0 || q.keep < 1:
		return fmt.Errorf("stream: MaxRecords(%d), KeepRows(%d): want at least 0 and 1", q.limit, q.keep)
	}
	return nil
}
