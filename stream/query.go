package stream

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"cancha/stream/checkpoint"
	"cancha/stream/plan"
)

// OutputMode says when a query gives out the rows of a window. The words are Spark's.
type OutputMode uint8

const (
	// Append gives out each row once, when the watermark has passed the end of its window and nothing can change it.
	Append OutputMode = iota
	// Update gives out a row whenever it has changed, as soon as nothing more is there to be read (see Trigger), and once more when its
	// window closes. A row that a Filter behind the Agg lets through no longer is not given out, and not taken back, as in Spark.
	Update
	// Complete gives out all rows of the result whenever one has changed. Groups without windows need a TimeToLive, as in Update.
	Complete
)

func (m OutputMode) String() string {
	if m > Complete {
		return fmt.Sprintf("OutputMode(%d)", uint8(m))
	}
	return [...]string{"append", "update", "complete"}[m]
}

// Tumbling is a window of the given width, at most 180 days; the next window starts where it ends.
func Tumbling(width time.Duration) Window { return Window{Kind: "tumbling", Width: width} }

// Sliding is windows of the given width, at most 180 days, one of which starts every step: an event is in several of them, 10,000 at most.
func Sliding(width, step time.Duration) Window {
	return Window{Kind: "sliding", Width: width, Step: step}
}

// Session is a window for each run of events of a group without a gap as long as this, at most 180 days; it ends a gap after its last event.
// An event is late if the watermark that it met in its partition (see Query.Watermark) has passed its time and the gap, and it is near no session of its group
// that this watermark has not passed.
func Session(gap time.Duration) Window { return Window{Kind: "session", Gap: gap} }

// Query is a plan: which records to read, and what to make of them. It is built by a chain of calls that starts with From, each of which
// returns a changed copy, so that a query can serve as the trunk of others. The steps are taken in the order of the calls. Start runs it;
// Explain shows it.
type Query struct {
	source  Source
	format  Format
	time    Expr
	name    string
	delay   time.Duration
	idle    time.Duration
	ahead   time.Duration
	drift   time.Duration
	keyedBy string
	steps   []step
	mode    OutputMode
	trigger time.Duration
	sinks   []Sink
	letters []Sink
	limit   int64
	length  time.Duration
	now     bool
	keep    int
	memory  int64
	place   checkpoint.Place
	every   time.Duration
	epochs  bool   // every was set
	engine  Engine // nil: see master
	master  string // where it runs; "": as the settings say
	err     error  // of a call with impossible arguments; Start gives it

	callPatience time.Duration // 0: callPatience
}

// step is a step of the plan with what is not data: functions, other queries, tables.
type step struct {
	plan.Step
	fn        any // of functions, as package flow takes them
	other     *Query
	table     *Table
	functions *Processing
	records   *RecordProcessing
}

// DefaultKeepRows is how many rows a running query keeps for Results, about 50 bytes a column each.
const DefaultKeepRows = 500_000

// DefaultIdleAfter is how long a partition must be without records before it no longer holds back the watermark.
const DefaultIdleAfter = 5 * time.Second

// DefaultMaxAhead is how far ahead an event may be to move the watermark.
const DefaultMaxAhead = 24 * time.Hour

// DefaultMemory is how many bytes the state of a query may take before the query ends with an error.
const DefaultMemory = 8 << 30

// DefaultEpoch is how often a query with a Checkpoint takes a snapshot.
const DefaultEpoch = time.Second

// From starts a query over a source of records, which are JSON unless Format says otherwise.
func From(source Source) *Query {
	return &Query{source: source, name: "query", idle: DefaultIdleAfter, ahead: DefaultMaxAhead, drift: DefaultMaxDrift, keep: DefaultKeepRows, memory: DefaultMemory, every: DefaultEpoch}
}

func (q *Query) with(change func(*Query)) *Query {
	c := *q
	change(&c)
	return &c
}

func (q *Query) then(s step) *Query {
	return q.with(func(q *Query) { q.steps = append(slices.Clip(q.steps), s) })
}

func (q *Query) wrong(format string, args ...any) *Query {
	return q.with(func(q *Query) { q.err = errors.Join(q.err, fmt.Errorf("stream: "+format, args...)) })
}

// Name gives the query the name that progress reports carry.
func (q *Query) Name(name string) *Query { return q.with(func(q *Query) { q.name = name }) }

// Format says how records are written: JSONFormat unless set.
func (q *Query) Format(f Format) *Query { return q.with(func(q *Query) { q.format = f }) }

// EventTime says when an event happened: a time, such as Field("created") for a text in RFC 3339, or Field("ts").UnixMillis(). A record
// without it is a bad record. Unless set it is the record's own time stamp, which Kafka gives. Where all numbers are times of our days by another unit alone, as seconds
// are that are read as milliseconds, a note asks whether that one is meant.
func (q *Query) EventTime(of Expr) *Query { return q.with(func(q *Query) { q.time = of }) }

// Watermark says how late events may come: a partition's watermark is its greatest event time less the delay, and never
// goes back. An event is late, dropped and counted, if the watermark has passed the end of its window. The delay is 0 unless set: then an event that is
// out of order is behind it already.
//
// An event meets the watermark of its own partition, of the records before it there. So what is late follows from the order of the records in their partition:
// how many came with one fetch, and how far other partitions had been read, decides nothing. That holds for windows, joins and Top, and for sessions and Deduplicate
// where the records of a key lie in one partition. Each says what is late for it.
//
// How far the partitions have been read does decide in three cases. Where a key's records lie in several, an event that is behind its own partition's watermark
// may still find its session open by an event of another, or its key in Deduplicate forgotten. Behind a Join, a row meets the watermark of the half that was
// read later, so Deduplicate, Process, sessions and groups with a TimeToLive may differ by which side was ahead. And a partition that was idle finds closed what
// the others had passed meanwhile. MaxDrift keeps sides and partitions together.
//
// The query's watermark, which closes windows, is the least of all assigned partitions that are not idle; see KeyedBy. What keeps those together
// that are read at very different times is MaxDrift.
func (q *Query) Watermark(delay time.Duration) *Query {
	return q.with(func(q *Query) { q.delay = delay })
}

// KeyedBy promises that records with the same value at a path lie in one partition, as they do where their producer takes it for the key. A
// window is then closed by its own partition's watermark, if the path is among those of GroupBy: what is late depends on the order of
// records alone, never on timing. A record that breaks the promise is a bad record, as long as a window of its key is open, or the time to live of
// its group is not over. After that nothing is known of the key, and it may come from another partition.
// Sessions, and what stands behind another step with memory, are closed by the query's watermark all the same, which a note says.
func (q *Query) KeyedBy(path string) *Query { return q.with(func(q *Query) { q.keyedBy = path }) }

// IdleAfter says for how long a partition must have had no records before it is idle: 5 s unless set. The query's watermark
// does not wait for an idle partition, nor for one that has ended; when all are idle it is the greatest of theirs. A source that has lost its broker
// has no idle partitions. Windows that an idle partition would close by its own watermark (see KeyedBy) are closed by the query's: what
// comes for them later is late.
func (q *Query) IdleAfter(d time.Duration) *Query { return q.with(func(q *Query) { q.idle = d }) }

// MaxAhead says how far ahead of the clock, and of all events of its partition before it, an event may be to move the watermark: 24 h unless
// set, 0 is any distance. One that is further ahead counts in its window and in Totals.Future, and makes no other late. After 100 of them in
// a row, or two at the beginning of a partition, their time is believed.
func (q *Query) MaxAhead(d time.Duration) *Query { return q.with(func(q *Query) { q.ahead = d }) }

// Filter keeps the rows that a condition holds for.
func (q *Query) Filter(condition Expr) *Query {
	if condition.None() {
		return q.wrong("Filter without a condition")
	}
	return q.then(step{Step: plan.Step{Op: plan.Filter, Expr: condition}})
}

// Require makes a record bad that has something at a path which is of none of these kinds: Require("id", Int, Text) refuses {"id":true} with the reason
// "id: want an integer or a text, got true or false". What is absent, or null, passes: Filter(Has(path)) asks that it is there. An Int is a number
// that is written without a point and an exponent and that an int64 holds; a Float is any number that a float64 holds; JSON is an object or an array; beside them
// there are Text and Bool. A time is a Text in a record. Of the elements of Explode each is let through or refused by itself. On Spark 2.0 counts as the
// integer 2, except at a path of a record itself.
func (q *Query) Require(path string, kinds ...Kind) *Query {
	if path == "" {
		return q.wrong("Require without a path")
	}
	if len(kinds) == 0 {
		return q.wrong("Require of %q without a kind: name what may be there, such as Int or Text", path)
	}
	for _, k := range kinds {
		if !slices.Contains([]Kind{Bool, Int, Float, Text, JSON}, k) {
			return q.wrong("Require of %q as %s: want kinds of what is in a record: Bool, Int, Float, Text or JSON; a time is a Text there", path, k)
		}
	}
	return q.then(step{Step: plan.Step{Op: plan.Require, Path: path, Kinds: slices.Clone(kinds)}})
}

// With adds a column, or replaces the one of that name.
func (q *Query) With(name string, of Expr) *Query {
	return q.then(step{Step: plan.Step{Op: plan.With, Name: name, Expr: of}})
}

// Select keeps these columns, or paths, and nothing else.
func (q *Query) Select(columns ...string) *Query {
	if len(columns) == 0 {
		return q.wrong("Select without a column")
	}
	return q.then(step{Step: plan.Step{Op: plan.Select, Columns: slices.Clone(columns)}})
}

// Drop takes columns away.
func (q *Query) Drop(columns ...string) *Query {
	return q.then(step{Step: plan.Step{Op: plan.Drop, Columns: slices.Clone(columns)}})
}

// Explode gives each element of the array at a path a row of its own, in which name stands for the element: Explode("items", "item") makes
// item.sku a path. A row whose array is empty or absent gives none; an element that cannot be read (a number where a step reads item.sku, a text where one
// adds item.n up) makes the record a bad record, with all of its elements. What a later step makes bad of one element, such as Require, or GroupBy for want of
// a value, leaves that one out and no other: the record is a bad record, once, for the reason of the first, and its other elements count.
func (q *Query) Explode(path, name string) *Query {
	if name == "" {
		return q.wrong("Explode %q without a name for its elements", path)
	}
	return q.then(step{Step: plan.Step{Op: plan.Explode, Path: path, Name: name}})
}

// MapFunc adds a column that a Go function computes from the values of fields, in the row: row.Float("price"). An error makes the record a bad
// record. The query ends with an error where the function is interpreted, since each call would cost more than all the rest: a cell that
// declares it as a func is compiled.
func (q *Query) MapFunc(name string, f func(row Row) (any, error), fields ...string) *Query {
	if f == nil {
		return q.wrong("MapFunc %q without a function", name)
	}
	return q.then(step{Step: plan.Step{Op: plan.MapFunc, Name: name, Columns: slices.Clone(fields), Adds: []string{name}}, fn: mapped(name, fields, f)})
}

// FilterFunc keeps the rows that a Go function says yes to, which may ask for the values of fields. See MapFunc.
func (q *Query) FilterFunc(name string, f func(row Row) (bool, error), fields ...string) *Query {
	if f == nil {
		return q.wrong("FilterFunc %q without a function", name)
	}
	return q.then(step{Step: plan.Step{Op: plan.FilterFunc, Name: name, Columns: slices.Clone(fields)}, fn: filtered(name, fields, f)})
}

// GroupBy gives each combination of the values at these paths a row of its own in the Agg that follows. An event without a value at one
// of the paths is a bad record: ask for it by Filter(Has(path)) if such events are normal. It can stand before or behind Window.
func (q *Query) GroupBy(paths ...string) *Query {
	if s := q.unfinished(); len(s.Keys) > 0 {
		return q.wrong("GroupBy %q and GroupBy %q for one Agg; name all paths in one", s.Keys, paths)
	}
	return q.pending(func(s *step) { s.Keys = slices.Clone(paths) })
}

// Window groups rows by spans of event time in the Agg that follows.
func (q *Query) Window(w Window) *Query {
	if s := q.unfinished(); s.Window.Kind != "" {
		return q.wrong("two windows, %s and %s, for one Agg; a query has one for each Agg", s.Window, w)
	}
	return q.pending(func(s *step) { s.Window = w })
}

// unfinished is the aggregation that waits for its Agg, or a step of nothing.
func (q *Query) unfinished() step {
	if n := len(q.steps); n > 0 && q.steps[n-1].Op == plan.Aggregation && len(q.steps[n-1].Aggregates) == 0 {
		return q.steps[n-1]
	}
	return step{}
}

// TimeToLive says for how long, in event time, a group without new rows is kept by the Agg that follows, where it has no window. Its time is over by the query's
// watermark, and by that of its own partition with KeyedBy; a row that comes then begins the group anew. No row is late. Without KeyedBy the rows of several partitions
// meet in one group, so a count depends on the order in which the partitions are read; with it, it does not.
func (q *Query) TimeToLive(d time.Duration) *Query {
	return q.pending(func(s *step) { s.TimeToLive = d })
}

// Agg computes statistics of groups and windows, in the order of their columns. The rows have the paths of GroupBy, window_start and
// window_end, and the statistics as columns. Calls one after another add to one list.
func (q *Query) Agg(aggregates ...Aggregate) *Query {
	return q.pending(func(s *step) { s.Aggregates = append(slices.Clip(s.Aggregates), aggregates...) })
}

// pending changes the aggregation that is being built: the last step, unless that has its statistics and the call begins another.
func (q *Query) pending(change func(*step)) *Query {
	return q.with(func(q *Query) {
		q.steps = slices.Clone(q.steps)
		if n := len(q.steps); n == 0 || q.steps[n-1].Op != plan.Aggregation {
			q.steps = append(q.steps, step{Step: plan.Step{Op: plan.Aggregation}})
		}
		last := &q.steps[len(q.steps)-1]
		before := *last
		if change(last); len(before.Aggregates) > 0 && len(last.Aggregates) == len(before.Aggregates) {
			again := step{Step: plan.Step{Op: plan.Aggregation}} // GroupBy or Window behind Agg: an aggregation of its rows
			*last = before
			change(&again)
			q.steps = append(q.steps, again)
		}
	})
}

// Deduplicate keeps the first row of each combination of the values at these paths. It knows a combination until the watermark that a repetition meets in its
// partition has passed the first row's event time by Watermark's delay: then it is given out again. A row that lies further behind the watermark that
// it met than the delay is late; Spark's dropDuplicatesWithinWatermark drops each one that lies behind it. So it wants a Watermark before it. Of
// repetitions in several partitions the one that is read first is kept.
func (q *Query) Deduplicate(paths ...string) *Query {
	return q.then(step{Step: plan.Step{Op: plan.Deduplicate, Keys: slices.Clone(paths), TimeToLive: q.delay}})
}

// Union adds the rows of another query, which must have the same columns.
func (q *Query) Union(other *Query) *Query {
	return q.then(step{Step: plan.Step{Op: plan.Union}, other: other})
}

// On is what two streams, or a stream and a table, are joined by: columns of the one that equal columns of the other. Names of the left
// alone stand for the same names on both sides. As in Eq, values of different kinds are not equal: where one side has the number 7 and the
// other the text "7", as fields of a CSV file and @key are, a column With("id", Field("id").AsNumber()) makes them so. A join or a lookup that has found nothing
// because of that says so in a note.
type On struct{ Left, Right []string }

func (o On) both() On {
	if o.Right == nil {
		o.Right = o.Left
	}
	return o
}

// Same joins by columns that have the same names on both sides.
func Same(columns ...string) On { return On{columns, columns} }

// Within is how far apart in event time two rows may be to be joined: the right one at most Before earlier, and at most After later.
type Within struct{ Before, After time.Duration }

// Join pairs the rows of two queries that are equal in the columns of on and whose event times are near: an interval join. Rows have the
// columns of both, those of on that have one name once, and the later of the two times. Rows without a partner are left out.
//
// A row, of either side, is late if it lies behind the watermark that it met in its partition. All others find all their partners that are not late, whichever
// side or partition is read first.
func (q *Query) Join(right *Query, on On, within Within) *Query {
	return q.join("inner", right, on, within)
}

// LeftJoin is Join, with rows of the left that have found no partner once the watermark has passed the last that could come.
func (q *Query) LeftJoin(right *Query, on On, within Within) *Query {
	return q.join("left", right, on, within)
}

// FullJoin is LeftJoin, with rows of the right without a partner too.
func (q *Query) FullJoin(right *Query, on On, within Within) *Query {
	return q.join("full", right, on, within)
}

func (q *Query) join(kind string, right *Query, on On, within Within) *Query {
	on = on.both()
	s := plan.Step{Op: plan.Join, Join: plan.JoinSpec{Kind: kind, Left: on.Left, Right: on.Right, Before: within.Before, After: within.After}}
	return q.then(step{Step: s, other: right})
}

// Lookup adds the columns of a table's row whose keys equal the columns of on; rows that find none are left out. A column of the table stands
// before a field of the record of that name; give one of them another name where both are wanted.
func (q *Query) Lookup(t *Table, on On) *Query { return q.lookup("inner", t, on) }

// LeftLookup is Lookup, but keeps the rows that find none, with absent values.
func (q *Query) LeftLookup(t *Table, on On) *Query { return q.lookup("left", t, on) }

func (q *Query) lookup(kind string, t *Table, on On) *Query {
	if t == nil || t.rows == nil && t.query == nil {
		return q.wrong("Lookup without a table")
	}
	on = on.both()
	s := plan.Step{Op: plan.Lookup, Name: t.name, Join: plan.JoinSpec{Kind: kind, Left: on.Left, Right: on.Right}}
	if t.rows != nil {
		s.Holds, s.Table = hold(t.rows.Columns), t.rows.plan()
	}
	return q.then(step{Step: s, table: t, other: t.query})
}

// Top keeps, of the rows of each window and of each combination of the values at paths, the n with the greatest values of a column. Of equal
// ones those stay whose columns, from the first on, come first. It follows an Agg with a window, whose rows are not late for it.
func (q *Query) Top(n int, by string, paths ...string) *Query {
	return q.top(plan.Step{N: n, Name: by, Keys: slices.Clone(paths), Descending: true})
}

// TopTies is Top, but rows that equal the last one stay too.
func (q *Query) TopTies(n int, by string, paths ...string) *Query {
	return q.top(plan.Step{N: n, Name: by, Keys: slices.Clone(paths), Descending: true, Ties: true})
}

// Bottom is Top with the least values.
func (q *Query) Bottom(n int, by string, paths ...string) *Query {
	return q.top(plan.Step{N: n, Name: by, Keys: slices.Clone(paths)})
}

func (q *Query) top(s plan.Step) *Query {
	s.Op = plan.Top
	if s.N < 1 || s.N > 1_000_000 {
		return q.wrong("the top %d: want 1 to 1,000,000", s.N)
	}
	return q.then(step{Step: s})
}

// Output sets the output mode: Append unless set.
func (q *Query) Output(mode OutputMode) *Query { return q.with(func(q *Query) { q.mode = mode }) }

// Trigger sets how often rows that have changed are given out in the modes Update and Complete. Unless set they leave as soon as nothing more
// is there to be read, and at the latest after 100 ms.
func (q *Query) Trigger(every time.Duration) *Query {
	return q.with(func(q *Query) { q.trigger = every })
}

// To adds a sink.
func (q *Query) To(sink Sink) *Query {
	return q.with(func(q *Query) { q.sinks = append(slices.Clip(q.sinks), sink) })
}

// DeadLetters adds a sink for the records that the query could not use or that came too late, one row each: reason, topic, partition,
// offset, timestamp, key and value. What is found late or unusable only behind a session window, a join, Deduplicate, a process or another
// aggregation is counted (Totals, BadRecords) and not given: the record that it came from is gone by then. A record that is late for some of its
// sliding windows counts in the others all the same.
func (q *Query) DeadLetters(sink Sink) *Query {
	return q.with(func(q *Query) { q.letters = append(slices.Clip(q.letters), sink) })
}

// MaxRecords ends the query after exactly n records, bad ones and those of joined queries and tables included; 0, as unless set, is endless. With a
// Checkpoint the records count that runs before have read without reaching their n. So do those that other processes of its Group read, of partitions in
// which this one has begun to count: it sees them once an epoch, and the group may read on until then. A process that joins before that, without MaxRecords,
// reads for itself.
func (q *Query) MaxRecords(n int64) *Query { return q.with(func(q *Query) { q.limit = n }) }

// MaxTime ends the query in order after a time of the clock; 0, as unless set, is endless.
func (q *Query) MaxTime(d time.Duration) *Query {
	return q.with(func(q *Query) { q.length = d })
}

// AvailableNow ends the query once it has read what its sources held when they were opened, as Spark's trigger of that name does. What comes
// meanwhile may be read too. A topic that does not exist yet is waited for. A member of a group ends once the group has read it: see kafka.Config.Until.
func (q *Query) AvailableNow() *Query { return q.with(func(q *Query) { q.now = true }) }

// KeepRows bounds how many rows Results can give: the newest n, DefaultKeepRows unless set. Sinks get all, but in
// Complete mode those that Results gives.
func (q *Query) KeepRows(n int) *Query { return q.with(func(q *Query) { q.keep = n }) }

// Memory bounds the state of the query, about, in bytes: beyond, it ends with an error that says what takes the room. 8 GiB unless set. It is that
// of the query that is started, with all that are joined to it.
func (q *Query) Memory(bytes int64) *Query { return q.with(func(q *Query) { q.memory = bytes }) }

// Checkpoint keeps snapshots of the query in a place, such as checkpoint.Folder("lwp"), and has it go on from the newest: after an end of any kind
// the next start gives out what an undisturbed query would have. Each epoch (see Epoch) has a snapshot: offsets, watermark, the state of all operators,
// Results, and how far each sink has come. The sinks get an epoch's rows in one Write, once its snapshot is safe.
//
// What goes on is the same query over the same topic: Start refuses another plan, and shows what differs. Name, sinks, MaxRecords, MaxTime,
// AvailableNow, Trigger, KeepRows and Memory may be other ones.
//
// A run that ends before its sources do (Stop, MaxRecords, MaxTime, AvailableNow) leaves windows that are open to the next run: Results has them
// as they stand, sinks do not. Drain, or the end of the sources, closes them: the query is over then, and reads nothing if it is started again.
// MaxRecords counts what earlier runs have read that did not come to its end. After one that did, it counts anew, and a run for which there is no new
// record ends at once.
func (q *Query) Checkpoint(place checkpoint.Place) *Query {
	if place == nil {
		return q.wrong("Checkpoint without a place, such as checkpoint.Folder(\"here\")")
	}
	return q.with(func(q *Query) { q.place = place })
}

// Epoch sets how often a query with a Checkpoint takes a snapshot: DefaultEpoch unless set. Rows reach the sinks so much later; after a crash so much is
// read again.
func (q *Query) Epoch(every time.Duration) *Query {
	if every < 10*time.Millisecond || every > time.Hour {
		return q.wrong("Epoch(%v): want 10ms to 1h", every)
	}
	return q.with(func(q *Query) { q.every, q.epochs = every, true })
}

// maxSpan bounds windows and delays; together with the bounds on event times it keeps sums within an int64.
const maxSpan = 180 * 24 * time.Hour

// Start checks the plan and runs it, in this process or elsewhere (see Master); it does not wait. The query ends when its sources do, after
// MaxRecords, by Stop, or, without closing its open windows, when ctx ends. An error names what is wrong with the plan. In a notebook, a cell that is
// run again first stops the query of the same name that it has started before.
func (q *Query) Start(ctx context.Context) (*Running, error) {
	g, err := q.build()
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", q.name, err)
	}
	if err := g.places(); err != nil {
		return nil, fmt.Errorf("start %s: %w", q.name, err)
	}
	if err := q.replaceEarlier(ctx); err != nil {
		return nil, fmt.Errorf("start %s: %w", q.name, err)
	}
	r, err := q.begin(ctx, g)
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", q.name, err)
	}
	return r, nil
}

// begin starts the query where it is to run.
func (q *Query) begin(ctx context.Context, g *graph) (*Running, error) {
	engine, err := q.where(ctx)
	switch {
	case err != nil:
		return nil, err
	case engine != nil:
		return q.startOn(ctx, engine, g)
	}
	return q.startHere(ctx, g)
}

// startHere starts the query in this process.
func (q *Query) startHere(ctx context.Context, g *graph) (*Running, error) {
	r := newRunning(ctx, q, g)
	q.doubts(r.note)
	var err error
	if q.place == nil {
		if isShared(q.source) {
			r.note(g.cost())
		}
		err = q.open(ctx, g.columns, asOpener)
	} else {
		err = r.resume(ctx)
	}
	if err != nil {
		return nil, err
	}
	r.start()
	return r, nil
}

// holds is by how much rows behind a step can be behind the watermark, if those before it can be by so much: a join gives out a row without a
// partner, at the row's own time, when none can come any more.
func (s step) holds(before time.Duration) time.Duration {
	switch s.Join.Kind {
	case "left":
		return s.meets(before) + s.Join.After
	case "full":
		return s.meets(before) + max(s.Join.Before, s.Join.After)
	}
	return s.meets(before)
}

// meets is the same for the rows that come to a step, from its other query too.
func (s step) meets(before time.Duration) time.Duration {
	if s.Op != plan.Join && s.Op != plan.Union || s.other == nil {
		return before
	}
	other := time.Duration(0)
	for _, o := range s.other.steps {
		other = o.holds(other)
	}
	return max(before, other)
}
