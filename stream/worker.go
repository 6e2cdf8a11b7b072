package stream

import (
	"context"
	"time"

	"cancha/internal/running"
)

// worker does the work of a run: local in this process, remote on an engine elsewhere. What a user asks a run is the same of both.
type worker interface {
	// read works until there is nothing more to be read, or reading has ended, and concludes the run.
	read(reading context.Context)
	// sinks are those of rows that this process writes to.
	sinks() []Sink
	// count adds to totals what has been done.
	count(t *Totals)
	// partitions are how far each partition has come.
	partitions(l *listed) []running.Partition
	// epochAge is for how long the epoch has been on its way that was begun last.
	epochAge() time.Duration
	// drains is why open windows cannot be closed for good; nil: they can.
	drains() error
	// draws tells whether the numbers of the run's own graph are those of the run.
	draws() bool
	// at says where a run is that is elsewhere; "" in this process.
	at() string
	// quiet is for how long a run that is well may report nothing.
	quiet() time.Duration
}

// local works in this process, by the run's graph.
type local struct{ r *Running }

func (w local) sinks() []Sink { return w.r.query.sinks }

func (w local) epochAge() time.Duration { return w.r.keeper.age() }

func (w local) drains() error { return nil }

func (w local) draws() bool { return true }

func (w local) at() string { return "" }

func (w local) quiet() time.Duration { return epochLength }

// count implements worker.
func (w local) count(t *Totals) {
	r := w.r
	r.mu.Lock()
	late := r.late
	r.mu.Unlock()
	lanes := r.all()
	for _, list := range lanes {
		for _, n := range list {
			n.mu.Lock()
			t.Records += n.records
			t.Lost += n.lost
			t.Future += n.clock.Future
			t.Filtered += n.env.Filtered
			n.mu.Unlock()
		}
	}
	r.graph.mu.Lock()
	for k, n := range r.graph.env.LateBy {
		late[k] += n
	}
	t.Filtered += r.graph.env.Filtered
	t.Bytes, _ = r.graph.state(lanes)
	r.graph.mu.Unlock()
	for _, n := range late {
		t.Late += n
	}
	t.LateBy = lateCounts(late)
}

// partitions implements worker.
func (w local) partitions(l *listed) []running.Partition {
	all := []running.Partition{}
	lanes := w.r.all()
	for _, in := range w.r.graph.inputs {
		for _, n := range lanes[in] {
			p := n.listed(describeSource(in.query.source))
			p.Rate = l.rate(partitionKey{in, Partition{p.Topic, p.ID}}, p.Records)
			all = append(all, p)
		}
	}
	return all
}
