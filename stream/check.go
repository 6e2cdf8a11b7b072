package stream

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"cancha/stream/internal/files"
	"cancha/stream/plan"
)

// check refuses settings that cannot be, and steps that cannot work.
func (q *Query) check() error {
	switch {
	case q.err != nil:
		return q.err
	case q.source == nil:
		return errors.New("stream: no source; From wants one, such as Memory or kafka.Source")
	case q.mode > Complete:
		return fmt.Errorf("stream: Output(%d): want Append, Update or Complete", uint8(q.mode))
	case q.limit < 0:
		return fmt.Errorf("stream: MaxRecords(%d): want at least 0, which is no limit", q.limit)
	case q.keep < 1:
		return fmt.Errorf("stream: KeepRows(%d): want at least 1", q.keep)
	case q.memory < 1<<20:
		return fmt.Errorf("stream: Memory(%d): want at least 1 MiB, in bytes", q.memory)
	case q.epochs && q.place == nil:
		return errors.New("stream: Epoch says how often a query with a Checkpoint takes a snapshot, and this one has none: add Checkpoint, or leave Epoch out")
	}
	if err := q.checkTimes(); err != nil {
		return err
	}
	if err := q.checkKey(); err != nil {
		return err
	}
	if slices.Contains(q.sinks, nil) || slices.Contains(q.letters, nil) {
		return errors.New("stream: a sink that is nil; To and DeadLetters want one, such as SinkFunc or file.JSONLines")
	}
	if c, ok := q.source.(Checker); ok {
		if err := c.Check(); err != nil {
			return err
		}
	}
	for i, s := range q.steps {
		if err := s.checkSpans(); err != nil {
			return fmt.Errorf("%s: %w", s.Step, err)
		}
		if err := s.check(q.mode); err != nil {
			return fmt.Errorf("%s: %w", s.Step, err)
		}
		if err := s.stands(q.steps[:i], q.steps[i+1:]); err != nil {
			return fmt.Errorf("%s: %w", s.Step, err)
		}
	}
	return q.marks()
}

// checkKey refuses a KeyedBy that no GroupBy has.
func (q *Query) checkKey() error {
	if q.keyedBy == "" {
		return nil
	}
	var keys []string
	for _, s := range q.steps {
		if s.Op == plan.Aggregation {
			keys = append(keys, s.Keys...)
		}
	}
	if !slices.Contains(keys, q.keyedBy) {
		return fmt.Errorf("stream: KeyedBy(%q) says whose windows a partition closes by itself, and no GroupBy has that path (they have %q): add it to GroupBy, or leave KeyedBy out",
			q.keyedBy, keys)
	}
	return nil
}

// idleKey says why a KeyedBy does nothing, "" if it does something: only windows of the first step with memory lie in partitions. It is no error, since the rows are
// those that the query without it gives, and a trunk may have it for other branches.
func (q *Query) idleKey() string {
	first := slices.IndexFunc(q.steps, func(s step) bool { return !stateless(s) })
	if q.keyedBy == "" || first < 0 {
		return ""
	}
	switch s := q.steps[first]; {
	case s.Op != plan.Aggregation:
		return fmt.Sprintf("what stands behind %q goes by the query's watermark", s.Step)
	case s.Window.Kind == "session":
		return "sessions are closed by the query's watermark"
	case !slices.Contains(s.Keys, q.keyedBy):
		return fmt.Sprintf("the first GroupBy does not have that path (it has %q)", s.Keys)
	}
	return ""
}

// checkWithin refuses what cannot work in a query that is a part of another.
func (q *Query) checkWithin() error {
	if len(q.sinks) > 0 || len(q.letters) > 0 || q.mode != Append || q.limit > 0 || q.length > 0 || q.trigger > 0 || q.now {
		return errors.New("stream: a query within another has no To, DeadLetters, Output, MaxRecords, MaxTime, Trigger or AvailableNow of its own; set them on the one that is started")
	}
	return q.check()
}

// doubts notes what runs as it is written, and is seldom meant so.
func (q *Query) doubts(note func(sentence string)) {
	q.brief(note)
	if why := q.idleKey(); why != "" {
		note(fmt.Sprintf("KeyedBy(%q) does nothing here: %s. What is late depends on how far all partitions have been read.", q.keyedBy, why))
	}
	for _, s := range q.steps {
		if s.Op == plan.Join && s.Join.Before == 0 && s.Join.After == 0 {
			note("A join Within{} pairs rows of the very same event time: give it Before or After if theirs may differ.")
		}
		if s.Op == plan.Join && (q.delay == 0 || s.other.delay == 0) {
			note("A join without a Watermark on both sides leaves out, as late, each row that is out of order in its partition: set one before the join.")
		}
		if s.other != nil {
			s.other.doubts(note)
		}
		if s.table != nil && s.table.query != nil {
			s.table.query.doubts(note)
		}
	}
}

// places refuses sinks that would write over each other, or over what the query reads.
func (g *graph) places() error {
	var taken []string
	for _, sink := range slices.Concat(g.query.sinks, g.query.letters) {
		for _, in := range g.inputs {
			if h, ok := in.query.source.(Hearer); ok && h.Hears(sink) {
				return fmt.Errorf("stream: the query reads %s, writes to %s, and would feed itself; write elsewhere, or say that it is meant (of a topic, by kafka.Config.Feedback)",
					describeSource(in.query.source), describeSink(sink))
			}
		}
		p, ok := sink.(Placed)
		if !ok {
			continue
		}
		place := p.Place()
		if place == "" {
			continue
		}
		if slices.ContainsFunc(taken, func(other string) bool { return files.Same(other, place) }) {
			return fmt.Errorf("stream: two sinks write to %s; give each a place of its own", place)
		}
		taken = append(taken, place)
		for _, in := range g.inputs {
			if r, ok := in.query.source.(Reader); ok && r.Reads(place) {
				return fmt.Errorf("stream: the query reads %s, which a sink of it writes to; write elsewhere", place)
			}
		}
	}
	return nil
}

// marks refuses sinks that would take the epochs of one for those of the other, and those that know of none.
func (q *Query) marks() error {
	if q.place == nil {
		return nil
	}
	taken := map[string]bool{}
	for _, sink := range slices.Concat(q.sinks, q.letters) {
		m, ok := sink.(Marked)
		if !ok {
			continue
		}
		places, err := m.Marks()
		if err != nil {
			return fmt.Errorf("stream: %w", err)
		}
		if at := slices.IndexFunc(places, func(place string) bool { return taken[place] }); at >= 0 {
			return fmt.Errorf("stream: two sinks write to %s, and with a Checkpoint the rows of one would be taken for the other's; give each a place of its own", places[at])
		}
		for _, place := range places {
			taken[place] = true
		}
	}
	return nil
}

// stands refuses a step that is not where its neighbours are.
func (s step) stands(before, after []step) error {
	switch {
	case s.Op == plan.Aggregation && len(s.Aggregates) == 0 && slices.ContainsFunc(after, func(o step) bool { return o.Op == plan.Aggregation }):
		return fmt.Errorf("stream: %q stands between GroupBy or Window and their Agg; put it before GroupBy and Window, or behind Agg", after[0].Step)
	case s.Op == plan.Aggregation && len(s.Aggregates) == 0:
		return errors.New(`stream: nothing to compute; add .Agg(stream.Count("events"))`)
	case s.Op == plan.Aggregation && s.Window.Kind == "" && slices.ContainsFunc(after, func(o step) bool { return o.Op == plan.Aggregation }):
		return errors.New("stream: without a window a group is never complete, and the Agg behind it would count it again with each change; add .Window")
	case s.Op == plan.Top && !slices.ContainsFunc(before, func(o step) bool { return o.Op == plan.Aggregation && o.Window.Kind != "" }):
		return errors.New("stream: Top ranks the rows of a window; put an Agg with a Window before it")
	}
	return nil
}

// check refuses steps that cannot work, or would keep more and more.
func (s step) check(mode OutputMode) error {
	w := s.Window
	switch {
	case s.other != nil:
		return s.other.checkWithin()
	case s.Op == plan.Deduplicate && len(s.Keys) == 0:
		return errors.New("stream: Deduplicate without a path would keep one row of all; name what tells rows apart, such as Deduplicate(\"id\")")
	case s.Op == plan.Deduplicate && s.TimeToLive == 0:
		return errors.New("stream: Deduplicate knows a key as long as Watermark's delay, which is 0: set Watermark before it")
	case s.Op != plan.Aggregation:
		return nil
	case w.Kind != "" && w.Kind != "session" && short(w.Width), w.Kind == "sliding" && short(w.Step), w.Kind == "session" && short(w.Gap):
		return fmt.Errorf("stream: %s: a number alone is nanoseconds; want at least %v, such as Tumbling(5 * time.Minute)", w, shortest)
	case w.Kind != "" && w.Kind != "session" && (w.Width <= 0 || w.Width > maxSpan):
		return fmt.Errorf("stream: a window of %v: want more than 0 and at most %v", w.Width, maxSpan)
	case w.Kind == "sliding" && (w.Step <= 0 || w.Step > w.Width || w.Width/w.Step > 10_000):
		return fmt.Errorf("stream: windows of %v every %v: want a step of more than 0, not longer than the window, and at most 10,000 windows an event", w.Width, w.Step)
	case w.Kind == "session" && (w.Gap <= 0 || w.Gap > maxSpan):
		return fmt.Errorf("stream: sessions with gaps of %v: want more than 0 and at most %v", w.Gap, maxSpan)
	case w.Kind == "session" && mode != Append:
		return errors.New("stream: sessions are given out when they are over; use Output(Append)")
	case len(s.Aggregates) == 0:
		return nil // see stands
	case w.Kind == "session":
		return checkSessions(s.Aggregates)
	case w.Kind == "" && mode == Append:
		return errors.New("stream: without a window a group is never complete; add .Window, or use Output(Update)")
	case w.Kind == "" && len(s.Keys) > 0 && s.TimeToLive <= 0:
		return errors.New("stream: groups without a window would be kept for ever; add .Window, or .TimeToLive")
	}
	return nil
}

// shortest is the least span of a window: nobody means one that is shorter, but Tumbling(300) is.
const shortest = time.Millisecond

func short(d time.Duration) bool { return d > 0 && d < shortest }

// checkSessions refuses statistics that sessions do not have: each key's are spans of its own, so there is no whole that they are parts of.
func checkSessions(list []Aggregate) error {
	if i := slices.IndexFunc(list, func(a Aggregate) bool { return a.Kind == "share" }); i >= 0 {
		return fmt.Errorf("stream: Share %q of sessions: those of one key have no part in those of another; use a Tumbling or a Sliding window", list[i].Name)
	}
	return nil
}

// check refuses a table that a lookup asks by other columns than those of its keys: a row would be found that is not the latest of its key.
func (t *Table) check(asked []string) error {
	want, got := slices.Sorted(slices.Values(t.keys)), slices.Sorted(slices.Values(asked))
	switch {
	case !slices.Equal(want, got):
		return fmt.Errorf("stream: table %q is kept by %q, and the lookup asks for %q; ask for those, or give the table these keys", t.name, t.keys, asked)
	case t.query != nil:
		return t.query.checkWithin()
	}
	return nil
}
