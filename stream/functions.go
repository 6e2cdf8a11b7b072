package stream

import (
	"fmt"
	"slices"
	"time"

	"cancha/internal/callback"
	"cancha/stream/internal/flow"
	"cancha/stream/internal/value"
	"cancha/stream/plan"
)

// mapped is a function of MapFunc as package flow calls it. A panic in it is an error of the record in hand.
func mapped(name string, fields []string, f func(Row) (any, error)) func([]value.Value) (value.Value, error) {
	names, trial, what := slices.Clone(fields), newTrial(name, f), "map "+name
	return func(values []value.Value) (v value.Value, err error) {
		defer trial.end(trial.begin(), &err)
		returned := false
		defer callback.Catch(what, &returned, &err)
		x, err := f(Row{names: names, values: values, borrowed: true})
		returned = true
		if err != nil {
			return v, err
		}
		v, ok := value.Of(x)
		if !ok {
			return v, fmt.Errorf("a value of type %T; want a number, a string, a bool, a time.Time or nil", x)
		}
		return v, nil
	}
}

func filtered(name string, fields []string, f func(Row) (bool, error)) func([]value.Value) (bool, error) {
	names, trial, what := slices.Clone(fields), newTrial(name, f), "filter "+name
	return func(values []value.Value) (yes bool, err error) {
		defer trial.end(trial.begin(), &err)
		returned := false
		defer callback.Catch(what, &returned, &err)
		yes, err = f(Row{names: names, values: values, borrowed: true})
		returned = true
		return yes, err
	}
}

// Processing is a keyed process: Go functions that see the rows of each key one after another, with a state of the key's own.
type Processing struct {
	Name    string
	Keys    []string // paths or columns: rows with the same values come to one state
	Fields  []string // what Row may ask for
	Columns []Column // what Emit gives out
	// State makes the state of a key that is new.
	State func() any
	// Row takes a row. An error ends the query.
	Row func(c *Context, state any, row Row) error
	// Timer is called when a timer of the key is due; nil if none is ever set.
	Timer func(c *Context, state any, at time.Time) error
	// TimeToLive is for how long, in event time, a key without new rows is remembered; while it has a timer of event time, it is not forgotten.
	TimeToLive time.Duration
}

// Process hands the rows to a keyed process, whose rows take their place. Nothing is late for it: Row sees each row, out of order too. A timer, and the end of a
// key's time to live, come when the query's watermark has passed them, and at the latest before a row of the key that has met such a watermark in its
// partition. So a key whose rows lie in one partition sees its rows and timers in one order, however they are read.
// For the steps behind, event time has come to a timer's time when Timer gives out a row. So a second Process or a Deduplicate whose keys are of one
// partition, too, and each made of one key of the first, sees one order as well.
func (q *Query) Process(p Processing) *Query {
	switch {
	case p.Row == nil || p.State == nil:
		return q.wrong("process %q: want State and Row", p.Name)
	case len(p.Keys) == 0 || len(p.Columns) == 0:
		return q.wrong("process %q: want Keys and Columns", p.Name)
	case p.TimeToLive <= 0:
		return q.wrong("process %q: its keys would be kept for ever; set TimeToLive", p.Name)
	}
	s := plan.Step{Op: plan.Process, Name: p.Name, Keys: slices.Clone(p.Keys), Columns: slices.Clone(p.Fields), TimeToLive: p.TimeToLive}
	for _, c := range p.Columns {
		if slices.Contains(s.Adds, c.Name) {
			return q.wrong("process %q: two Columns are named %q", p.Name, c.Name)
		}
		s.Adds = append(s.Adds, c.Name)
	}
	s.Holds = hold(p.Columns)
	return q.then(step{Step: s, functions: &p})
}

// hold says of columns what they hold, as a plan does. One without a kind may hold any value.
func hold(columns []Column) (holds []string) {
	for _, c := range columns {
		if c.Kind == value.Null {
			c.Kind = value.Any
		}
		holds = append(holds, fmt.Sprintf("%s: %s", c.Name, c.Kind))
	}
	return holds
}

// Context is what the functions of a keyed process can do.
type Context struct {
	c *flow.Context
	p *Processing
}

// Emit gives out a row, with one value for each of the columns: nil, bools, numbers, strings, times. A value of another kind than its column's,
// a string for a number or 1.5 for an integer, is an error.
func (c *Context) Emit(values ...any) error {
	row := make([]Value, len(values))
	for i, x := range values {
		v, ok := value.Of(x)
		if !ok {
			return fmt.Errorf("stream: Emit of a %T; want a number, a string, a bool, a time.Time or nil", x)
		}
		if i >= len(c.p.Columns) {
			break // there are too many, as Emit says
		}
		if row[i], ok = fit(c.p.Columns[i], v); !ok {
			return fmt.Errorf("stream: Emit of %v, %s, for the column %q, which is %s; give out another value, or another Kind in Columns",
				x, v.Kind(), c.p.Columns[i].Name, c.p.Columns[i].Kind)
		}
	}
	return c.c.Emit(row)
}

// fit returns a value as a column has it, and whether it can have it: a whole number is an integer where that is wanted, and any number a number.
func fit(column Column, v Value) (Value, bool) {
	switch {
	case column.Kind == v.Kind() || column.Kind == value.Any || column.Kind == value.Null || v.IsNull():
		return v, true
	case column.Kind == value.Float && v.Kind() == value.Int:
		return v, true
	case column.Kind == value.Int && v.Kind() == value.Float:
		n, whole := value.Integer(v.Float())
		return value.IntOf(n), whole
	}
	return v, false
}

// Key returns the values of the key, in the order of Keys.
func (c *Context) Key() []Value { return slices.Clone(c.c.Key()) }

// Time is the event time of the row in hand, or the time of the timer.
func (c *Context) Time() time.Time { return value.Nanos(c.c.Time()).Time() }

// Watermark is how far event time has come; the zero time before the first row.
func (c *Context) Watermark() time.Time {
	if c.c.Watermark() == flow.NoWatermark {
		return time.Time{}
	}
	return value.Nanos(c.c.Watermark()).Time()
}

// SetTimer has Timer called for this key once the watermark has passed a time, or when the query's source has ended. A timer that is set by a
// Timer after that is not called. Rows with later event times than the timer's may come before it: what must not count, Row tells by Time. Each
// call sets one more timer. A Timer whose timers set 10,000 more, none of which is later than its own, ends the query with an error.
func (c *Context) SetTimer(at time.Time) {
	c.timed()
	if err := c.c.SetTimer(at.UnixNano()); err != nil {
		c.c.Fail(fmt.Errorf("stream: process %q: %w", c.p.Name, err))
	}
}

// SetClock has Timer called for this key at a time of the clock, to within 50 ms, soon where that has passed; not if the query has ended by then, or TimeToLive has forgotten
// the key.
func (c *Context) SetClock(at time.Time) {
	c.timed()
	c.c.SetClock(at.UnixNano())
}

// timed ends the query where there is nothing that a timer could call.
func (c *Context) timed() {
	if c.p.Timer == nil {
		c.c.Fail(fmt.Errorf("stream: process %q sets a timer, and nothing is called then; set Processing.Timer", c.p.Name))
	}
}

// flow is the process as package flow runs it.
func (p *Processing) flow(calls *callback.Count) flow.Functions {
	names, what := slices.Clone(p.Fields), "process "+p.Name
	f := flow.Functions{
		Save: func(state any) (saved []byte, err error) {
			err = called(what, calls, func() (err error) { saved, err = saveState(state); return err })
			return saved, err
		},
		Load: func(state any, saved []byte) (loaded any, err error) {
			err = called(what, calls, func() (err error) { loaded, err = loadState(state, saved); return err })
			return loaded, err
		},
		State: func(flow.Row) (state any) {
			if err := called(what, calls, func() error { state = p.State(); return nil }); err != nil {
				panic(err) // which ends the query
			}
			return state
		},
		Row: func(c *flow.Context, state any, row flow.Row) error {
			return called(what, calls, func() error {
				return p.Row(&Context{c, p}, state, Row{names: names, values: row, borrowed: true})
			})
		},
	}
	if p.Timer != nil {
		f.Timer = func(c *flow.Context, state any, at int64) error {
			return called(what, calls, func() error { return p.Timer(&Context{c, p}, state, value.Nanos(at).Time()) })
		}
	}
	return f
}

// Table is rows that a stream looks up by their keys: fixed ones, or the latest that a query has given for each key.
type Table struct {
	name  string
	keys  []string
	rows  *Rows
	query *Query
}

// TableOf is a table of rows, found by the columns of keys, by which each Lookup must ask. A row that lacks one of them is never found; of rows with
// the same keys the last counts. The rows are not to be changed afterwards.
func TableOf(name string, rows *Rows, keys ...string) *Table {
	return &Table{name: name, keys: keys, rows: rows}
}

// Latest is a table of the row of a query for each key that came last; each Lookup must ask by these keys. A stream that looks it up waits until all
// that the query's source held when it was opened has been read; after that it sees what has come. The table has a watermark of its own, which closes
// its windows; what is left of them is in it once its source has ended.
//
// A row stays until another of its key comes, or a tombstone deletes it: a record whose value is null, as compacted topics have them. Tombstones delete where
// the query only filters, selects and computes columns (Filter, FilterFunc, Select, Drop, With, MapFunc). The table's keys are then made of @key, as by
// With("id", Field("@key")): a tombstone has no fields, and one without the keys is a bad record. They are texts, and what
// looks them up must be, too (AsText). A column is absent in a tombstone whose function fails for
// want of values. Rows of a topic that is made anew and read from its beginning stay, too.
//
// A filter decides about a tombstone by what a record has beside its value: @key, @topic, @headers.NAME and columns made of these alone. So
// Filter(Field("@headers.type").Eq("user")) keeps the tombstones of other types from deleting users. What a filter asks of the value, @value included, counts as
// fulfilled, on its own and within And, Or and Not: the row would stay else. A FilterFunc of any column made of the value lets every tombstone pass.
func Latest(name string, q *Query, keys ...string) *Table {
	return &Table{name: name, keys: keys, query: q}
}
