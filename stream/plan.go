package stream

import (
	"fmt"

	"cancha/internal/callback"
	"cancha/internal/cellio"
	"cancha/stream/plan"
)

// Plan returns the query as data.
func (q *Query) Plan() *plan.Plan {
	p := &plan.Plan{Name: q.name, Output: q.mode.String(), Trigger: q.trigger, Limit: q.limit, MaxTime: q.length, Now: q.now, Input: plan.Input{Format: q.formatName(),
		EventTime: q.time, Delay: q.delay, IdleAfter: q.idle, MaxAhead: q.ahead, KeyedBy: q.keyedBy}}
	q.planInput(&p.Input)
	if q.source != nil {
		p.Input.Source = describeSource(q.source)
		if i, ok := q.source.(Identified); ok {
			p.Input.Identity = i.Identity()
		}
	}
	if q.place != nil {
		p.Checkpoint, p.Epoch = q.place.String(), q.every
	}
	for _, s := range q.steps {
		if s.other != nil {
			s.Other = s.other.Plan()
		}
		p.Steps = append(p.Steps, s.Step)
	}
	for _, sink := range q.sinks {
		p.Sinks = append(p.Sinks, describeSink(sink)+q.delivery(sink))
		p.Outlets = append(p.Outlets, outletOf(sink))
	}
	for _, sink := range q.letters {
		p.Sinks = append(p.Sinks, "dead letters to "+describeSink(sink)+q.delivery(sink))
	}
	return p
}

func (q *Query) formatName() string {
	if q.format == nil {
		return JSONFormat().Name()
	}
	return q.format.Name()
}

// delivery says how often a sink has each row across the ends of a query; nothing where that is each once, or there is nothing that continues.
func (q *Query) delivery(sink Sink) string {
	_, exact := sink.(Resumer)
	_, function := sink.(sinkFunc)
	switch {
	case q.place != nil && exact:
		return ", each row once"
	case q.place != nil && function:
		return ", at least once: an epoch may come again with its number"
	case q.place != nil, q.source != nil && isShared(q.source):
		return ", at least once"
	}
	return ""
}

func describeSource(source Source) string { return described(source, source.Description) }

// described is what a source or a sink says of itself. It is asked on goroutines of the query, which a panic there, or the end of the
// goroutine, must not take with it. Where a cell waits for it, an interrupt of that ends it.
func described(v any, words func() string) (text string) {
	ctx := callback.Context()
	if run := cellio.OwnRun(); run != nil && !cellio.InCall() {
		ctx = run.Context()
	}
	if err := callback.Do(ctx, func() error { text = words(); return nil }); err != nil {
		return fmt.Sprintf("%T, whose description fails (%.200v)", v, err)
	}
	return text
}
