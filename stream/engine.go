package stream

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"cancha/internal/cellio"
	"cancha/internal/master"
	"cancha/stream/plan"
)

// Engine runs queries elsewhere than in this process, such as on a cluster: spark.Engine gives one. What a query is, its plan says; what
// is asked of a running one, [Running] answers from what comes back, wherever it runs.
type Engine interface {
	// Start begins a job, and refuses before anything runs what it cannot do, by the step's name and with what to write instead. ctx ends with
	// Query.Start's, with an interrupt of the cell, and when the call returns: what outlives that is the Remote's.
	Start(ctx context.Context, job Job) (Remote, error)
	// String tells where it runs things, without secrets: "Spark 4.0.0 at sc://host:15002".
	String() string
}

// Job is what an Engine is given to run.
type Job struct {
	Plan *plan.Plan
	// Columns are those of the rows that come back, in their order. A value is of its column's kind, or absent; in one of kind Any, whose
	// kind the plan does not know, it is whatever the record had.
	Columns []Column
	// Sinks are the query's, in the order of To. Those that the engine says it writes to itself (Writer) get nothing from here.
	Sinks []Sink
}

// Remote is a query that an Engine runs.
type Remote interface {
	// Run hands what the query does to a Receiver until the query has ended, and returns why: nil if that was in order, by itself or by
	// Stop. When ctx ends it ends the query at once, sees to it that nothing of it goes on elsewhere, and returns. It is called once.
	Run(ctx context.Context, to Receiver) error
	// Stop ends the query in order. Run hands over what has come until then, and returns. Called after the end, it does nothing. It returns
	// when the query has been told, or when ctx ends.
	Stop(ctx context.Context) error
}

// CatcherUp is a Remote that can tell when the query has given out all that its sources held when it was asked, as far as the watermark lets it: CatchUp
// returns then, or when ctx ends. It is asked beside Run.
type CatcherUp interface {
	CatchUp(ctx context.Context) error
}

// Receiver takes what a query does elsewhere. The query implements it; its methods are called by Run, or by what Run waits for, one
// after another.
type Receiver interface {
	// Rows takes the rows of an epoch, which is Spark's batch, in the columns of the Job, or in any order of columns of these names. Epochs
	// grow; one that has been handed over, as after a connection was lost, is left out here, so that each row counts once. It returns when
	// the sinks have taken the rows; an error ends the query, and Run returns it.
	Rows(ctx context.Context, epoch int64, rows *Rows) error
	// Progress takes a report, in the order in which they were made. Totals are their sum.
	Progress(p Progress)
	// Bad counts records that could not be used, for a reason.
	Bad(reason string, records int64)
	// Retry tells that the engine cannot be reached, and is tried again after wait. Any other call tells that it can.
	Retry(err error, wait time.Duration)
	// Note takes a sentence that a user should read.
	Note(sentence string)
}

// Writer is an Engine that writes to some sinks itself: rows for them do not come back. It is asked before Start, for each of the Job's Sinks by
// its place there.
type Writer interface {
	Writes(job Job, sink int) bool
}

// On has the query run by an engine; nil is this process. Of queries that are joined, the one that is started says where all of them run.
func (q *Query) On(engine Engine) *Query {
	return q.with(func(q *Query) { q.engine, q.master = engine, master.Local })
}

// Master says where the query runs, in Spark's words: local[*] is this process, sc://host:15002 a Spark Connect server, with parameters
// such as sc://host:15002/;token=TOKEN. Unless set, or where it is empty, it is what the settings of a notebook's engine say (CANCHA_MASTER,
// cancha.master in cancha.conf), and this process in any other program. In a notebook the first query for Spark builds in what
// reaches it; a program imports cancha/spark and writes On. Of queries that are joined, the one that is started says where all of them run.
func (q *Query) Master(text string) *Query {
	return q.with(func(q *Query) { q.engine, q.master = nil, text })
}

// sparkRoom exports what reaches Spark: func Engine(ctx context.Context, master string) (stream.Engine, error).
const sparkRoom, sparkEngine = "cancha/spark", "Engine"

// where returns the engine that is to run the query; nil is this process.
func (q *Query) where(ctx context.Context) (Engine, error) {
	if q.engine != nil {
		return q.engine, nil
	}
	read := master.Setting
	if q.master != "" {
		read = func() (master.Master, error) { return master.Parse(q.master) }
	}
	m, err := read()
	if err != nil {
		return nil, fmt.Errorf("stream: where it is to run: %w", err)
	}
	if m.Local() {
		return nil, nil
	}
	return openSpark(ctx, m)
}

// openSpark has what reaches Spark built in, and reaches it.
func openSpark(ctx context.Context, m master.Master) (Engine, error) {
	opened, err := cellio.Room(ctx, sparkRoom, sparkEngine)
	if errors.Is(err, cellio.ErrNoRooms) {
		return nil, fmt.Errorf(`stream: %s: only a notebook builds in what reaches Spark: import "%s", and give the query its engine: On(engine), of spark.Engine(ctx, master)`, m, sparkRoom)
	}
	if err != nil {
		return nil, fmt.Errorf(`stream: to run on %s: %w; Master("%s") runs the query here`, m, err, master.Local)
	}
	connect, ok := opened.(func(context.Context, string) (Engine, error))
	if !ok {
		return nil, fmt.Errorf("stream: %s.%s is a %T: this engine was built of another version; restart the kernel", sparkRoom, sparkEngine, opened)
	}
	ctx, cancel := interruptible(ctx)
	defer cancel()
	return connect(ctx, m.Text())
}

// interruptible is a context that an interrupt of the running cell ends, too: to reach a cluster may take long.
func interruptible(ctx context.Context) (context.Context, context.CancelFunc) {
	joined, cancel := context.WithCancelCause(ctx)
	forget := func() bool { return true }
	if run := cellio.CurrentRun(); run != nil {
		forget = context.AfterFunc(run.Context(), func() { cancel(context.Cause(run.Context())) })
	}
	return joined, func() { forget(); cancel(nil) }
}

// job is the query as an engine elsewhere is given it, and the sinks that are written to here.
func (q *Query) job(engine Engine, columns []Column) (job Job, here []Sink) {
	job = Job{Plan: q.Plan(), Columns: slices.Clone(columns), Sinks: slices.Clone(q.sinks)}
	w, writes := engine.(Writer)
	for i, sink := range q.sinks {
		if !writes || !w.Writes(job, i) {
			here = append(here, sink)
		}
	}
	return job, here
}

// checkElsewhere refuses what needs this process.
func (q *Query) checkElsewhere(engine Engine, here []Sink) error {
	const local = `; Master("` + master.Local + `") runs the query here`
	switch {
	case len(q.letters) > 0:
		return fmt.Errorf("stream: DeadLetters: records that cannot be used are counted on %s (BadRecords), and not handed over: leave it out%s", engine, local)
	case q.place != nil && len(here) > 0:
		return fmt.Errorf("stream: Checkpoint with %s: %s keeps the checkpoint, and does not write to this sink, which would have rows twice after a restart: leave one of them out%s",
			describeSink(here[0]), engine, local)
	}
	return nil
}

// startOn starts the query on an engine elsewhere. The graph has been built to check the plan, and for the columns; nothing runs in it.
func (q *Query) startOn(ctx context.Context, engine Engine, g *graph) (*Running, error) {
	job, here := q.job(engine, g.columns)
	if err := q.checkElsewhere(engine, here); err != nil {
		return nil, err
	}
	opening := q.with(func(q *Query) { q.sinks = here })
	if err := opening.open(ctx, g.columns, asOpener); err != nil {
		return nil, err
	}
	far, err := startJob(ctx, engine, job)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("on %s: %w", engine, err), closeAll(here))
	}
	r := newRunning(ctx, q, g)
	r.work = newRemote(r, engine, far, here)
	r.start()
	return r, nil
}

// startJob starts a job. A panic in the engine is its error.
func startJob(ctx context.Context, engine Engine, job Job) (far Remote, err error) {
	ctx, cancel := interruptible(ctx)
	defer cancel()
	defer caught(&err)
	far, err = engine.Start(ctx, job)
	if err == nil && far == nil {
		err = errors.New("it gave no query and no error")
	}
	return far, err
}
