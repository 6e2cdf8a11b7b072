package spark

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sort"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"cancha/internal/running"
	"cancha/runtime/table"
	"cancha/spark/internal/connect"
	"cancha/spark/internal/protocol"
	"cancha/stream"
)

// Stream says how a frame that is a stream is run, and where its rows go.
type Stream struct {
	Name       string            // of the query; needed for memory, whose table is called so
	Format     string            // memory, kafka, parquet, csv, json, console, noop …; empty: memory
	Options    map[string]string // of the format
	Path       string            // of files, as the server sees it
	Table      string            // to append to
	Mode       string            // append, update or complete; empty: append
	Trigger    time.Duration     // between batches; 0: a batch follows the one before
	Now        bool              // the query ends with what the source held when it was started
	Checkpoint string            // a folder as the server sees it, by which a next start goes on
	Partitions []string          // columns by whose values files are put into folders
}

const memory = "memory"

func (c Stream) start(in *protocol.Relation) (*protocol.StreamStart, error) {
	st := &protocol.StreamStart{Input: in, Format: c.Format, OutputMode: strings.ToLower(c.Mode), Name: c.Name, PartitionBy: c.Partitions, Options: map[string]string{}}
	for k, v := range c.Options {
		st.Options[k] = v
	}
	if st.Format == "" && c.Table == "" {
		st.Format = memory
	}
	if st.OutputMode == "" {
		st.OutputMode = "append"
	}
	if c.Checkpoint != "" {
		st.Options["checkpointLocation"] = c.Checkpoint
	}
	switch {
	case c.Now && c.Trigger > 0:
		return nil, errors.New("spark: Now and Trigger exclude each other: a query that ends with what there is has no time between batches")
	case c.Now:
		st.Trigger = &protocol.StreamStart_AvailableNow{AvailableNow: true}
	case c.Trigger < 0 || c.Trigger > 0 && c.Trigger < time.Millisecond:
		return nil, fmt.Errorf("spark: a trigger of %v; want a millisecond or more, or 0", c.Trigger)
	case c.Trigger > 0:
		st.Trigger = &protocol.StreamStart_Interval{Interval: fmt.Sprintf("%d milliseconds", c.Trigger.Milliseconds())}
	}
	switch {
	case c.Path != "" && c.Table != "":
		return nil, fmt.Errorf("spark: a stream into the path %q and the table %q; choose one", c.Path, c.Table)
	case c.Table != "":
		st.To = &protocol.StreamStart_Table{Table: c.Table}
	case c.Path != "":
		st.To = &protocol.StreamStart_Path{Path: c.Path}
	}
	if st.Format == memory && c.Name == "" {
		return nil, errors.New("spark: rows that are kept in memory are read by the query's name: set Name, or another Format")
	}
	return st, nil
}

// Start begins to run a frame that is a stream, and returns once the server has begun. A query of the same name that an earlier execution of the same
// cell has started is stopped first.
func (d *DataFrame) Start(ctx context.Context, c Stream) (*StreamingQuery, error) {
	if d.err != nil {
		return nil, d.err
	}
	st, err := c.start(d.relation)
	if err != nil {
		return nil, err
	}
	return d.session.start(ctx, st)
}

// StreamingQuery is a query that runs on the server. Its methods may be called from any goroutine, after its end too. It is followed, a question a
// second, until it ends or the session is closed.
type StreamingQuery struct {
	handle
	entry *running.Entry

	look chan struct{} // asks for a look before its time
	done chan struct{}
	most atomic.Int64 // records that it reads, about; 0: no end

	reading sync.Mutex // held by Next
	given   int        // rows that it has returned

	mu     sync.Mutex
	seen   moment // of the newest report
	recent []running.Progress
	totals running.Totals
	status string
	notes  []string
	err    error
}

const (
	lookEvery  = time.Second
	keptRecent = 100 // reports, as many as Spark keeps
	patientFor = 3   // looks that may fail one after the other
)

// start starts a stream, and follows it.
func (s *Session) start(ctx context.Context, st *protocol.StreamStart) (*StreamingQuery, error) {
	if err := running.Process().Replace(ctx, running.Query, st.Name); err != nil {
		return nil, err
	}
	h, err := s.begin(ctx, st)
	if err != nil {
		return nil, err
	}
	q := &StreamingQuery{handle: h, status: "Starting", look: make(chan struct{}, 1), done: make(chan struct{})}
	q.entry = running.Process().Add(listed{q})
	s.background.Go(func() { q.follow(s.ctx) })
	return q, nil
}

// ID is the query's, which a checkpoint keeps over restarts.
func (q *StreamingQuery) ID() string { return q.id.Id }

// RunID is this run's.
func (q *StreamingQuery) RunID() string { return q.id.RunId }

// Name is what it was called.
func (q *StreamingQuery) Name() string { return q.name }

// follow looks at the query until it has ended.
func (q *StreamingQuery) follow(ctx context.Context) {
	defer close(q.done)
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for failed := 0; ; {
		over, why, err := q.see(ctx)
		if err == nil {
			failed = 0
		} else if failed++; failed >= patientFor || final(err) {
			over, why = true, fmt.Errorf("spark: %s is lost from sight: %w", named(q.name), err)
		}
		if ctx.Err() != nil && !over {
			over, why = true, errClosed
		}
		if over {
			q.end(why)
			return
		}
		select {
		case <-tick.C:
		case <-q.look:
		case <-ctx.Done():
		}
	}
}

var errClosed = errors.New("spark: the session was closed, and with it the query")

// final tells of a server that answers, and knows the query, or the session, no more. A question that Session.Interrupt has ended is asked again.
func final(err error) bool {
	var e *connect.Error
	return errors.As(err, &e) && e.Class != "" && e.Class != "OPERATION_CANCELED"
}

// see looks at the query once. over tells that it has ended, and why; err that the server could not be asked.
func (q *StreamingQuery) see(ctx context.Context) (over bool, why, err error) {
	l, err := q.glance(ctx)
	if err != nil {
		return false, nil, err
	}
	q.take(l)
	if most := q.most.Load(); most > 0 && q.records() >= most && !l.over {
		err = q.stop(ctx)
	}
	return l.over, l.why, err
}

func (q *StreamingQuery) records() int64 {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.totals.Records
}

// take notes what the server says.
func (q *StreamingQuery) take(l glance) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.status = l.status
	for _, p := range q.seen.behind(l.reports) {
		if n := len(q.recent); n > 0 && q.recent[n-1].BatchID == p.BatchID {
			q.recent = q.recent[:n-1] // it was of the same batch, when that had not begun
		}
		q.recent = append(q.recent, p.Progress)
		add(&q.totals, p.Progress)
		q.seen = p.moment()
	}
	q.recent = slices.Clone(q.recent[max(0, len(q.recent)-keptRecent):])
}

// tell notes what its user should know of the query.
func (q *StreamingQuery) tell(notes []string) {
	q.mu.Lock()
	q.notes = notes
	q.mu.Unlock()
	for _, note := range notes {
		q.session.note(note)
	}
}

func (q *StreamingQuery) end(err error) {
	q.mu.Lock()
	q.err, q.status = err, "Ended"
	if err != nil {
		q.status = "Failed"
	}
	q.mu.Unlock()
	q.entry.End(err)
}

// Active reports whether the query has not ended yet, as far as was seen.
func (q *StreamingQuery) Active() bool {
	select {
	case <-q.done:
		return false
	default:
		return true
	}
}

// Err is why the query ended: nil while it runs, and when it ended in order.
func (q *StreamingQuery) Err() error {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.err
}

// Wait waits until the query has ended and returns Err, or until ctx ends and returns its error; the query then goes on.
func (q *StreamingQuery) Wait(ctx context.Context) error {
	select {
	case <-q.done:
		return q.Err()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Stop ends the query and waits until it has ended, or for ctx. Stopping twice is no error.
func (q *StreamingQuery) Stop(ctx context.Context) error {
	if !q.Active() {
		return q.Err()
	}
	if err := q.stop(ctx); err != nil && q.Active() {
		return err
	}
	q.hurry()
	return q.Wait(ctx)
}

// hurry has the query looked at now.
func (q *StreamingQuery) hurry() {
	select {
	case q.look <- struct{}{}:
	default: // a look is due
	}
}

// CatchUp waits until the query has given out all that its sources hold now. Of sources that always have more, it may wait for ever.
func (q *StreamingQuery) CatchUp(ctx context.Context) error {
	ctx, stop := joined(ctx)
	defer stop()
	_, err := q.ask(ctx, &protocol.QueryCommand{Of: &protocol.QueryCommand_ProcessAllAvailable{ProcessAllAvailable: true}})
	q.hurry()
	return err
}

// Status is what the query does now, in the server's words.
func (q *StreamingQuery) Status() string {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.status
}

// Progress is the newest report of a batch, in the form that local queries have; the zero Progress before there is one. Spark leaves out a few
// numbers over Connect, which are put together from those of the sources.
func (q *StreamingQuery) Progress() stream.Progress {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.recent) == 0 {
		return stream.Progress{}
	}
	return progressOf(q.recent[len(q.recent)-1])
}

// Explain tells how the server computes the batches.
func (q *StreamingQuery) Explain(ctx context.Context) (Explanation, error) {
	ctx, stop := joined(ctx)
	defer stop()
	r, err := q.ask(ctx, &protocol.QueryCommand{Of: &protocol.QueryCommand_Explain_{Explain: &protocol.QueryCommand_Explain{}}})
	return Explanation{r.GetExplained().GetText()}, err
}

// errElsewhere is of a query whose rows this client cannot see.
var errElsewhere = errors.New("spark: the query's rows go elsewhere; start it with Format memory, or read what it writes")

// Results are the rows that the query has given out, for one with Format memory: all of them, or in mode complete the newest result. They are
// guarded as those of Collect.
func (q *StreamingQuery) Results(ctx context.Context) (*table.Table, error) {
	if !q.memory {
		return nil, errElsewhere
	}
	return q.session.Table(q.name).Collect(ctx)
}

// Next are the rows that the query has given out since Next was called last, for one with Format memory; none if there are no new ones. In mode
// complete, where each result takes the place of the one before, it is an error: use Results.
func (q *StreamingQuery) Next(ctx context.Context) (*table.Table, error) {
	switch {
	case !q.memory:
		return nil, errElsewhere
	case q.all:
		return nil, errors.New("spark: in mode complete each result takes the place of the one before: use Results")
	}
	q.reading.Lock()
	defer q.reading.Unlock()
	rows, err := q.after(q.given).Collect(ctx)
	if err != nil {
		return nil, err
	}
	q.given += rows.Len()
	return rows, nil
}

// Frame describes the rows that the query has given out, for one with Format memory, to be asked further on the server.
func (q *StreamingQuery) Frame() *DataFrame {
	d := q.session.Table(q.name)
	if !q.memory {
		return d.wrong(errElsewhere)
	}
	return d
}

// listed is a query as the list of what runs in this process knows it.
type listed struct{ q *StreamingQuery }

// Kind implements running.Thing.
func (l listed) Kind() running.Kind { return running.Query }

// Name implements running.Thing.
func (l listed) Name() string { return l.q.name }

// Stop implements running.Stopper.
func (l listed) Stop(ctx context.Context) error { return l.q.Stop(ctx) }

// Status implements running.Streamer.
func (l listed) Status() string { return l.q.Status() + " (on Spark, " + l.q.session.master + ")" }

// Notes implements running.Streamer.
func (l listed) Notes() []string {
	l.q.mu.Lock()
	defer l.q.mu.Unlock()
	return append([]string{}, l.q.notes...)
}

// Quiet implements running.Quiet: a report comes when a batch is over, and each 10 s where no records come.
func (l listed) Quiet() time.Duration { return time.Minute }

// Totals implements running.Streamer.
func (l listed) Totals() running.Totals {
	l.q.mu.Lock()
	defer l.q.mu.Unlock()
	return l.q.totals
}

// Progress implements running.Streamer.
func (l listed) Progress() running.Progress {
	all := l.Recent(-2)
	if len(all) == 0 {
		return running.Progress{}
	}
	return all[len(all)-1]
}

// Recent implements running.Streamer.
func (l listed) Recent(after int64) []running.Progress {
	l.q.mu.Lock()
	defer l.q.mu.Unlock()
	all := l.q.recent
	return slices.Clone(all[sort.Search(len(all), func(i int) bool { return all[i].BatchID > after }):])
}

// Sources implements running.Streamer.
func (l listed) Sources() []running.Partition { return partitions(l.Progress()) }
