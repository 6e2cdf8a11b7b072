package stream

import (
	"fmt"
	"math"
	"slices"
	"time"

	"cancha/stream/plan"
)

// span is a duration that a query is given.
type span struct {
	name    string
	d, most time.Duration // most is 0: any
	like    string        // how one is written
}

// spans are the durations of the query itself, of event time and of the clock.
func (q *Query) spans() []span {
	return []span{
		{"Watermark", q.delay, maxSpan, "Watermark(30 * time.Second)"}, {"MaxAhead", q.ahead, maxSpan, "MaxAhead(time.Hour)"},
		{"MaxDrift", q.drift, maxSpan, "MaxDrift(10 * time.Second)"}, {"IdleAfter", q.idle, 0, "IdleAfter(5 * time.Second)"},
		{"Trigger", q.trigger, 0, "Trigger(time.Second)"}, {"MaxTime", q.length, 0, "MaxTime(time.Minute)"},
	}
}

// spans are the durations of a step. What is wrong with them otherwise, other checks say.
func (s step) spans() []span {
	switch {
	case s.Op == plan.Join:
		const like = "Within{Before: time.Minute, After: time.Minute}"
		return []span{{"Before", s.Join.Before, 0, like}, {"After", s.Join.After, 0, like}}
	case s.Op == plan.Process, s.Op == plan.Aggregation && s.Window.Kind == "":
		return []span{{"TimeToLive", s.TimeToLive, 0, "time.Hour"}}
	}
	return nil
}

// unitless tells whether a duration is a number whose unit was left out: nobody means one that is shorter than a microsecond.
func (s span) unitless() bool { return s.d > 0 && s.d < time.Microsecond }

// check refuses a duration that has no unit.
func (s span) check() error {
	if s.unitless() {
		return fmt.Errorf("stream: %s(%v): a number alone is nanoseconds; write it with its unit, such as %s", s.name, s.d, s.like)
	}
	return nil
}

// checkTimes refuses durations that cannot be, each by its own name.
func (q *Query) checkTimes() error {
	for _, s := range q.spans() {
		switch {
		case s.d < 0:
			return fmt.Errorf("stream: %s(%v): want no negative duration", s.name, s.d)
		case s.most > 0 && s.d > s.most:
			return fmt.Errorf("stream: %s(%v): want at most %v", s.name, s.d, s.most)
		}
		if err := s.check(); err != nil {
			return err
		}
	}
	return nil
}

// checkSpans refuses durations of a step that have no unit.
func (s step) checkSpans() error {
	for _, span := range s.spans() {
		if err := span.check(); err != nil {
			return err
		}
	}
	return nil
}

// truncations are the spans without a unit that times of an expression are cut to. Times may have nanoseconds, so they are no error.
func truncations(e plan.Expr) (all []span) {
	if e.Op == "truncate" && len(e.Args) == 2 {
		s := span{"Truncate", time.Duration(math.Round(e.Args[1].Literal.Float() * 1e9)), 0, "Truncate(time.Hour)"}
		if s.unitless() {
			all = append(all, s)
		}
	}
	for _, a := range e.Args {
		all = append(all, truncations(a)...)
	}
	return all
}

// brief notes durations below a millisecond: a join within 5 * time.Microsecond may be meant, and one within 5000 hardly.
func (q *Query) brief(note func(sentence string)) {
	all := append(q.spans(), truncations(q.time)...)
	for _, s := range q.steps {
		all = slices.Concat(all, s.spans(), truncations(s.Expr))
		for _, a := range s.Aggregates {
			all = slices.Concat(all, truncations(a.Expr), truncations(a.Condition))
		}
	}
	for _, s := range all {
		if short(s.d) {
			note(fmt.Sprintf("%s is %v: a number alone is nanoseconds. Where more is meant, write it with its unit, such as %s.", s.name, s.d, s.like))
		}
	}
}
