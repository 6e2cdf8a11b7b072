package stream

import (
	"context"
	"fmt"
	"slices"
	"time"

	"cancha/stream/internal/flow"
	"cancha/stream/internal/value"
	"cancha/stream/plan"
)

// RecordProcessing is a process of whole records: Go that reads each record itself, with a decoder of its own, and sees them by batches. It is
// for what a row of fields is too little for, a model that scores a match's events for one.
type RecordProcessing struct {
	Name    string
	Columns []Column // what Emit gives out
	// New makes what handles the records of a partition. It is called once a partition, and once when the query is checked.
	New func() RecordHandler
}

// RecordHandler handles the records of one partition, from one goroutine at a time; handlers of different partitions run side by side. The context of
// both methods is that of Start: it is done when the query is cancelled, and not when it is stopped, since a batch in hand is
// handled to its end then.
type RecordHandler interface {
	// Record takes a record, which it may keep until Flush returns, and tells when it happened, or the reason why it is bad.
	Record(ctx context.Context, r *Record) (at time.Time, reason string)
	// Flush ends a batch: it may give out rows, each with the event time that it has. An error ends the query, which names the process.
	//
	// A row meets the watermark of a record, which decides what is late behind the process. A handler that gives out the same number of rows for each record, in
	// the records' order, has each meet that of its record, whatever times they have; and so does one whose rows all have times of the batch's records, as far
	// as these differ. For other rows the batch decides which record that is.
	Flush(ctx context.Context, emit func(at time.Time, row ...Value) error) error
}

// ProcessRecords hands the records as they are to a process, whose rows take their place. It is a query's first step; Format and EventTime do
// not count then.
func (q *Query) ProcessRecords(p RecordProcessing) *Query {
	switch {
	case p.New == nil || len(p.Columns) == 0:
		return q.wrong("process %q: want New and Columns", p.Name)
	case len(q.steps) > 0:
		return q.wrong("process %q: records are taken as they are, so ProcessRecords is the first step", p.Name)
	}
	s := plan.Step{Op: plan.Records, Name: p.Name}
	for _, c := range p.Columns {
		s.Adds = append(s.Adds, c.Name)
	}
	s.Holds = hold(p.Columns)
	return q.then(step{Step: s, records: &p})
}

// processed makes lanes hand their records to a process.
func (g *graph) processed(in *input, steps []step, end tail) error {
	p := steps[0].records
	in.records = p
	in.end = func(_ *flow.Layout, n *lane) (func(row flow.Row), error) {
		n.handler, n.width = p.New(), len(p.Columns)
		return func(flow.Row) {}, nil
	}
	if _, err := in.lane(0, nil); err != nil {
		return err
	}
	var err error
	in.entry, err = g.chain(in, slices.Clone(p.Columns), steps[1:], end)
	return err
}

// process hands a record to the lane's handler.
func (n *lane) process(ctx context.Context, r *Record) (reason string) {
	at, reason := n.record(ctx, r)
	if reason != "" {
		return reason
	}
	v := value.TimeOf(at)
	if v.IsNull() || v.Nanos() < flow.MinTime || v.Nanos() > flow.MaxTime {
		return "event time is outside the years 1680 to 2260"
	}
	n.t = v.Nanos()
	n.met = append(n.met, moment{n.t, n.clock.Watermark})
	n.clock.See(n.t)
	return ""
}

// record calls the handler. A panic of it ends the call, too.
func (n *lane) record(ctx context.Context, r *Record) (at time.Time, reason string) {
	n.in.calls.Begin()
	defer n.in.calls.End()
	return n.handler.Record(ctx, r)
}

// moment is an event time of a record, and the watermark that it met.
type moment struct{ t, mark int64 }

// marksOf are the watermarks that rows of these times have met which a handler gives out for records of a batch: each that of a record. Which one it is of, a row's
// place tells where all records can have as many rows, unless times tell more. Else it is the next record of the row's time, or an earlier one, and where none
// has it that of the row before. Rows without records meet what a record would now.
func marksOf(met []moment, times []int64, now int64) []int64 {
	marks := make([]int64, len(times))
	if len(met) == 0 {
		for k := range marks {
			marks[k] = now
		}
		return marks
	}
	placed, of := inPlace(met, times)
	at := 0
	for k, t := range times {
		if placed {
			at = k / of
		} else if i := momentOf(met, t, at); i >= 0 {
			at = i
		}
		marks[k] = met[at].mark
	}
	return marks
}

// inPlace tells whether the rows are taken for those of the records in their order, so many for each. They are not if each has the time of a record, and some not
// of that in its place.
func inPlace(met []moment, times []int64) (placed bool, of int) {
	if of = len(times) / len(met); of*len(met) != len(times) {
		return false, of
	}
	theirs := map[int64]bool{}
	for _, m := range met {
		theirs[m.t] = true
	}
	exact, moved := true, false
	for k, t := range times {
		exact, moved = exact && theirs[t], moved || met[k/of].t != t
	}
	return !(exact && moved), of
}

// momentOf finds a time, from a place on and then before it; -1: it is not there.
func momentOf(met []moment, t int64, from int) int {
	is := func(m moment) bool { return m.t == t }
	if i := slices.IndexFunc(met[from:], is); i >= 0 {
		return from + i
	}
	return slices.IndexFunc(met[:from], is)
}

// flush ends a batch of the lane's handler.
func (n *lane) flush(ctx context.Context) error {
	if n.handler == nil {
		return nil
	}
	first := len(n.times)
	n.in.calls.Begin()
	defer n.in.calls.End()
	err := n.handler.Flush(ctx, func(at time.Time, row ...Value) error {
		if len(row) != n.width {
			return fmt.Errorf("stream: %d values given out, want one for each of the %d columns", len(row), n.width)
		}
		n.rows, n.times = append(n.rows, row...), append(n.times, at.UnixNano())
		return nil
	})
	n.marks = append(n.marks, marksOf(n.met, n.times[first:], n.clock.Watermark)...)
	n.met = n.met[:0]
	if err != nil {
		return fmt.Errorf("process %s: %w", n.in.records.Name, err)
	}
	return nil
}
