package spark

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"cancha/spark/internal/columns"
	"cancha/spark/internal/compile"
	"cancha/spark/internal/protocol"
	"cancha/stream"
	"cancha/stream/plan"
)

// Engine runs queries of package stream on the server at an address like sc://host:15002: query.On(engine). It asks the server for its version, and
// keeps no session: each query has one of its own while it runs.
func Engine(ctx context.Context, master string) (stream.Engine, error) {
	return Config{Master: master}.Engine(ctx)
}

// Engine is [Engine] with further settings, which each query's session gets.
func (c Config) Engine(ctx context.Context) (stream.Engine, error) {
	if err := c.alone(); err != nil {
		return nil, err
	}
	s, err := c.connect(ctx)
	if err != nil {
		return nil, err
	}
	e := engine{config: c, name: fmt.Sprintf("Spark %s at sc://%s", s.Version(), s.master)}
	return e, s.Close()
}

// engine implements stream.Engine.
type engine struct {
	config Config
	name   string
}

// String implements stream.Engine.
func (e engine) String() string { return e.name }

// Format implements fmt.Formatter: every verb writes String.
func (e engine) Format(f fmt.State, _ rune) { fmt.Fprint(f, e.name) }

// Writes implements stream.Writer: the cluster writes to a topic by itself, if that is the query's only sink and the query has a checkpoint where the
// whole cluster reaches it, such as checkpoint.Folder("s3a://bucket/place"). Without one Spark writes to no topic.
func (e engine) Writes(job stream.Job, _ int) bool {
	p := job.Plan
	return len(job.Sinks) == 1 && len(p.Outlets) == 1 && p.Outlets[0].Kind == "kafka" && strings.Contains(p.Checkpoint, "://")
}

// options are what a job's plan does not say.
func (e engine) options(job stream.Job) compile.Options {
	o := compile.Options{Kafka: e.config.Kafka, BatchRecords: e.config.BatchRecords}
	if e.Writes(job, 0) {
		out := job.Plan.Outlets[0]
		o.Checkpoint, o.Sink = job.Plan.Checkpoint, compile.Sink{Format: out.Kind, Kafka: out.Kafka, Key: out.Key}
	}
	return o
}

// Start implements stream.Engine.
func (e engine) Start(ctx context.Context, job stream.Job) (stream.Remote, error) {
	compiled, err := compile.Query(job.Plan, e.options(job))
	if err != nil {
		return nil, err
	}
	if compiled.Start.Format != memory {
		compiled.Notes = append(compiled.Notes, "The cluster writes the rows: Results has none.")
	}
	c := e.config
	c.Settings = needed(compiled, c.Settings)
	s, err := c.connect(ctx)
	if err != nil {
		return nil, err
	}
	compiled.Notes = append(compiled.Notes, s.notes...)
	h, err := s.begin(ctx, compiled.Start)
	if err != nil {
		s.Close() // the start's error says more
		return nil, err
	}
	r := &remote{handle: h, compiled: compiled, stopped: make(chan struct{})}
	r.left, r.leave = context.WithCancel(context.Background())
	return r, nil
}

// needed are the settings of a query's session: own, below those that the meaning of the query depends on. Which of own do not count is noted.
func needed(c *compile.Compiled, own map[string]string) map[string]string {
	all := maps.Clone(c.Settings)
	for _, key := range slices.Sorted(maps.Keys(own)) {
		switch has, fixed := all[key]; {
		case !fixed:
			all[key] = own[key]
		case !strings.EqualFold(has, own[key]):
			c.Notes = append(c.Notes, fmt.Sprintf("%s is %s, on which the query's meaning depends, and not %s as in Config.Settings.", key, has, own[key]))
		}
	}
	return all
}

// Start starts a query of package stream in this session, whose settings become those that the query's meaning depends on, and returns once the server
// has begun. What Spark cannot do as the local engine does it is refused before, by the operator's name, and what it does otherwise is told to
// Config.Logger and on the page of what runs. The query's own Start with On(engine) gives a stream.Running; this one leaves the rows on the server,
// in a table that SQL can ask.
func (s *Session) Start(ctx context.Context, query interface{ Plan() *plan.Plan }) (*StreamingQuery, error) {
	compiled, err := compile.Query(query.Plan(), compile.Options{Kafka: s.config.Kafka, BatchRecords: s.config.BatchRecords})
	if err != nil {
		return nil, err
	}
	if err := s.set(ctx, compiled.Settings); err != nil {
		return nil, err
	}
	q, err := s.start(ctx, compiled.Start)
	if err != nil {
		return nil, err
	}
	q.most.Store(compiled.MaxRecords)
	q.tell(compiled.Notes)
	if compiled.MaxTime > 0 {
		s.background.Go(func() { q.stopAfter(s.ctx, compiled.MaxTime) })
	}
	return q, nil
}

// stopAfter stops the query after a time, unless it has ended before.
func (q *StreamingQuery) stopAfter(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		q.Stop(ctx) // what goes wrong is seen where the query is followed
	case <-q.done:
	case <-ctx.Done():
	}
}

// remote implements stream.Remote. Run is its owner: it closes the session.
type remote struct {
	handle
	compiled *compile.Compiled
	stopped  chan struct{} // closed by Stop
	once     sync.Once
	closing  sync.Mutex      // held while Stop asks: Run closes the session afterwards
	closed   bool            // Run has ended
	left     context.Context // ends when Run is to end at once
	leave    context.CancelFunc

	seen  moment // of the newest report that was handed over
	given int    // rows that were
	epoch int64  // how often rows were
}

// CatchUp implements stream.CatcherUp.
func (r *remote) CatchUp(ctx context.Context) error {
	_, err := r.ask(ctx, &protocol.QueryCommand{Of: &protocol.QueryCommand_ProcessAllAvailable{ProcessAllAvailable: true}})
	r.closing.Lock()
	defer r.closing.Unlock()
	if r.closed {
		return nil // the session, and the question with it: Run knows how the query has ended
	}
	return err
}

// Stop implements stream.Remote.
func (r *remote) Stop(ctx context.Context) error {
	r.closing.Lock()
	defer r.closing.Unlock()
	if r.closed {
		return nil
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(r.left, cancel)() // nothing is to be waited for any more
	err := r.handle.stop(ctx)
	r.once.Do(func() { close(r.stopped) })
	return err
}

// Run implements stream.Remote.
func (r *remote) Run(ctx context.Context, to stream.Receiver) error {
	defer r.close()
	defer context.AfterFunc(ctx, r.leave)()
	ctx = context.WithValue(ctx, besideCells{}, true)
	for _, note := range r.compiled.Notes {
		to.Note(note)
	}
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	stopped := r.stopped
	for failed := 0; ; {
		l, err := r.glance(ctx)
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err == nil:
			failed = 0
			err = r.hand(ctx, to, l)
			if err != nil || l.over {
				return errorOf(l.why, err)
			}
		case failed+1 >= patientFor || final(err):
			return fmt.Errorf("%s is lost from sight: %w", named(r.name), err)
		default:
			failed++
			to.Retry(err, lookEvery)
		}
		select {
		case <-tick.C:
		case <-stopped:
			stopped = nil // once
		case <-ctx.Done():
		}
	}
}

// close closes the session, which ends the query too. An answer to Stop is waited for: the query may be over before it comes.
func (r *remote) close() {
	r.closing.Lock()
	defer r.closing.Unlock()
	r.closed = true
	r.leave()
	r.session.Close()
}

// errorOf is why a query has ended, or else why its rows could not be handed over.
func errorOf(why, err error) error {
	if why != nil {
		return why
	}
	return err
}

// hand gives on what is new: the rows of the batches of which there are reports, and then these.
func (r *remote) hand(ctx context.Context, to stream.Receiver, l glance) error {
	fresh := r.seen.behind(l.reports)
	if r.memory && (slices.ContainsFunc(fresh, reported.ran) || l.over && !r.all) {
		if err := r.handRows(ctx, to); err != nil {
			return err
		}
	}
	for _, p := range fresh {
		for _, o := range r.compiled.Observed {
			if n := p.observed(o.Name, "bad"); n > 0 {
				to.Bad(o.Reason, n)
			}
		}
		to.Progress(progressOf(p.Progress))
		r.seen = p.moment()
	}
	return nil
}

// handRows gives on the rows that have come. Epochs are counted here: a batch that Spark has only announced has its number in reports already.
func (r *remote) handRows(ctx context.Context, to stream.Receiver) error {
	rows, err := r.rows(ctx)
	if err != nil || rows.Len() == 0 && !r.all {
		return err
	}
	if err := to.Rows(ctx, r.epoch, rows); err != nil {
		return err
	}
	r.epoch, r.given = r.epoch+1, r.given+rows.Len()
	return nil
}

// rows are those that have come since the last time; in mode complete all of them. Those of a batch of which there is no report yet may be among them.
func (r *remote) rows(ctx context.Context) (*stream.Rows, error) {
	frame := r.after(r.given)
	if r.all {
		frame = r.session.Table(r.name)
	}
	rows := stream.NewRows(r.compiled.Columns...)
	err := frame.batches(ctx, func(b *columns.Batch, _ int) error { return r.append(rows, b) })
	return rows, err
}

// append adds a batch of rows.
func (r *remote) append(rows *stream.Rows, b *columns.Batch) error {
	if len(b.Columns) != len(rows.Columns) {
		return fmt.Errorf("spark: %d columns came for %d", len(b.Columns), len(rows.Columns))
	}
	values := make([]stream.Value, len(b.Columns))
	for i := range b.Rows {
		for k := range b.Columns {
			v, err := compile.ValueOf(rows.Columns[k].Kind, b.Columns[k].Value(i))
			if err != nil {
				return fmt.Errorf("column %q: %w", rows.Columns[k].Name, err)
			}
			values[k] = v
		}
		rows.Append(values...)
	}
	return nil
}
