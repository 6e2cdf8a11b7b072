package stream

import (
	"context"
	"slices"
	"sort"
	"sync"
	"time"

	"cancha/internal/running"
	"cancha/stream/internal/flow"
	"cancha/stream/internal/value"
)

// list adds a run to what runs in this process.
func (r *Running) list() *running.Entry { return running.Process().Add(&listed{r: r}) }

// replaceEarlier stops the query of the same name that an earlier execution of the running cell has started.
func (q *Query) replaceEarlier(ctx context.Context) error {
	return running.Process().Replace(ctx, running.Query, q.name)
}

// listed is a run as the list of what runs knows it: it looks at what the run counts anyway.
type listed struct {
	r *Running

	mu    sync.Mutex     // held for a moment, and with no other lock
	rates map[any]*meter // by what tells the run's partitions apart
}

// partitionKey is a partition of an input.
type partitionKey struct {
	in *input
	Partition
}

// Kind implements running.Thing.
func (l *listed) Kind() running.Kind { return running.Query }

// Name implements running.Thing.
func (l *listed) Name() string { return l.r.query.name }

// Stop implements running.Stopper.
func (l *listed) Stop(ctx context.Context) error { return l.r.Stop(ctx) }

// Drain implements running.Drainer.
func (l *listed) Drain(ctx context.Context) error { return l.r.Drain(ctx) }

// Status implements running.Streamer.
func (l *listed) Status() string { return l.r.Status().Message }

// Notes implements running.Streamer.
func (l *listed) Notes() []string { return l.r.Notes() }

// Progress implements running.Streamer.
func (l *listed) Progress() running.Progress { return reported(l.r.Progress()) }

// Recent implements running.Streamer.
func (l *listed) Recent(after int64) []running.Progress {
	l.r.mu.Lock()
	latest := l.r.history.latest
	newer := slices.Clone(latest[sort.Search(len(latest), func(i int) bool { return latest[i].BatchID > after }):])
	l.r.mu.Unlock()
	all := make([]running.Progress, len(newer))
	for i, p := range newer {
		all[i] = reported(p)
	}
	return all
}

// reported is a report in the list's words. It shares the maps of p, which nobody changes.
func reported(p Progress) running.Progress {
	is := running.Progress{
		ID: p.ID, RunID: p.RunID, Name: p.Name, Timestamp: p.Timestamp.String(), BatchID: p.BatchID, BatchDuration: p.BatchDuration,
		NumInputRows: p.NumInputRows, InputRowsPerSecond: p.InputRowsPerSecond, ProcessedRowsPerSecond: p.ProcessedRowsPerSecond,
		DurationMs: p.DurationMs, EventTime: map[string]string{}, StateOperators: []running.StateOperator{}, Sources: []running.SourceProgress{},
		Sink: running.SinkProgress(p.Sink),
	}
	for name, t := range p.EventTime {
		is.EventTime[name] = t.String()
	}
	for _, o := range p.StateOperators {
		is.StateOperators = append(is.StateOperators, running.StateOperator{
			OperatorName: o.OperatorName, NumRowsTotal: o.NumRowsTotal, NumRowsUpdated: o.NumRowsUpdated, NumRowsRemoved: o.NumRowsRemoved,
			NumRowsDroppedByWatermark: o.NumRowsDroppedByWatermark, MemoryUsedBytes: o.MemoryUsedBytes, CustomMetrics: o.CustomMetrics,
		})
	}
	for _, s := range p.Sources {
		is.Sources = append(is.Sources, running.SourceProgress{
			Description: s.Description, StartOffset: running.Offsets(s.StartOffset), EndOffset: running.Offsets(s.EndOffset),
			LatestOffset: running.Offsets(s.LatestOffset), NumInputRows: s.NumInputRows, InputRowsPerSecond: s.InputRowsPerSecond,
			ProcessedRowsPerSecond: s.ProcessedRowsPerSecond, Metrics: s.Metrics,
		})
	}
	return is
}

// EpochAge implements running.Epochal.
func (l *listed) EpochAge() time.Duration { return l.r.work.epochAge() }

// Totals implements running.Streamer.
func (l *listed) Totals() running.Totals {
	t := l.r.Totals()
	return running.Totals{
		Records: t.Records, Bad: t.Bad, Late: t.Late, Filtered: t.Filtered, Future: t.Future, Lost: t.Lost, Rows: t.Rows, Retries: t.Retries, Bytes: t.Bytes,
	}
}

// Sources implements running.Streamer.
func (l *listed) Sources() []running.Partition { return l.r.work.partitions(l) }

// Quiet implements running.Quiet.
func (l *listed) Quiet() time.Duration { return l.r.work.quiet() }

// listed is how far a lane has come.
func (n *lane) listed(source string) running.Partition {
	n.mu.Lock()
	defer n.mu.Unlock()
	p := running.Partition{
		Source: source, Topic: n.topic, ID: n.partition, Records: n.records, Offset: n.next, Lost: n.lost, Late: n.env.Late,
		StateRows: int64(len(n.times)), Idle: n.idle.Load() || n.finished.Load(),
	}
	if n.records > 0 {
		p.Lag = max(0, n.high-n.next)
	}
	if n.windows != nil {
		p.StateRows = n.windows.Rows
	}
	if w := n.watermark.Load(); w != flow.NoWatermark {
		p.Watermark = value.Nanos(w).Time()
	}
	return p
}

// rate is how many records a second a partition has had lately.
func (l *listed) rate(of any, records int64) float64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.rates == nil {
		l.rates = map[any]*meter{}
	}
	if l.rates[of] == nil {
		l.rates[of] = &meter{sample: sample{l.r.history.started, 0}}
	}
	return l.rates[of].rate(sample{time.Now(), records})
}

// meter measures a rate between what it has been shown. Several who look often have one answer: it begins anew once a second.
type meter struct {
	sample // the one that is measured from
	newest sample
}

type sample struct {
	at    time.Time
	count int64
}

func (m *meter) rate(now sample) float64 {
	if !m.newest.at.IsZero() && now.at.Sub(m.newest.at) >= time.Second {
		m.sample, m.newest = m.newest, now
	} else if m.newest.at.IsZero() {
		m.newest = now
	}
	return rate(now.count-m.count, now.at.Sub(m.at))
}

// Last implements running.Laster: the reports, of which the newest alone has offsets, and the numbers of the end.
func (l *listed) Last() running.Thing {
	k := &kept{
		name: l.Name(), status: l.Status(), notes: l.Notes(), recent: l.Recent(-1), totals: l.Totals(), sources: l.Sources(), plan: l.Plan(),
	}
	for i := range k.recent[:max(0, len(k.recent)-1)] {
		for j := range k.recent[i].Sources {
			s := &k.recent[i].Sources[j]
			s.StartOffset, s.EndOffset, s.LatestOffset = nil, nil, nil
		}
	}
	for i := range k.sources {
		k.sources[i].Rate = 0
	}
	return k
}

// kept is what stays listed of a run that has ended.
type kept struct {
	name, status string
	notes        []string
	recent       []running.Progress
	totals       running.Totals
	sources      []running.Partition
	plan         running.Plan
}

// Kind implements running.Thing.
func (k *kept) Kind() running.Kind { return running.Query }

// Name implements running.Thing.
func (k *kept) Name() string { return k.name }

// Status implements running.Streamer.
func (k *kept) Status() string { return k.status }

// Notes implements running.Streamer.
func (k *kept) Notes() []string { return k.notes }

// Progress implements running.Streamer.
func (k *kept) Progress() running.Progress {
	if n := len(k.recent); n > 0 {
		return k.recent[n-1]
	}
	return running.Progress{Name: k.name}
}

// Totals implements running.Streamer.
func (k *kept) Totals() running.Totals { return k.totals }

// Sources implements running.Streamer.
func (k *kept) Sources() []running.Partition { return k.sources }

// Plan implements running.Planner.
func (k *kept) Plan() running.Plan { return k.plan }

// Recent implements running.Streamer.
func (k *kept) Recent(after int64) []running.Progress {
	return k.recent[sort.Search(len(k.recent), func(i int) bool { return k.recent[i].BatchID > after }):]
}
