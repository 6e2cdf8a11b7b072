package stream_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"cancha/internal/cellio"
	"cancha/internal/master"
	"cancha/internal/running"
	. "cancha/stream"
	"cancha/stream/checkpoint"
)

// script is an engine that does what a test says, and its Remote.
type script struct {
	job    Job
	refuse error
	run    func(ctx context.Context, to Receiver) error
	stop   func(ctx context.Context) error
	writes func(sink int) bool
	asked  chan struct{} // closed by Stop
}

func (s *script) String() string { return "a script" }

func (s *script) Start(_ context.Context, job Job) (Remote, error) {
	s.job, s.asked = job, make(chan struct{})
	if s.refuse != nil {
		return nil, s.refuse
	}
	return s, nil
}

func (s *script) Run(ctx context.Context, to Receiver) error { return s.run(ctx, to) }

func (s *script) Stop(ctx context.Context) error {
	if s.stop != nil {
		return s.stop(ctx)
	}
	close(s.asked)
	return nil
}

// writing is an engine that writes to some sinks itself.
type writing struct{ *script }

func (w writing) Writes(_ Job, sink int) bool { return w.writes(sink) }

// row makes rows of a count of events by shop.
func row(shop, second, events int64) *Rows {
	rows := NewRows(Column{Name: "shop", Kind: Int}, Column{Name: "window_start", Kind: Time}, Column{Name: "window_end", Kind: Time}, Column{Name: "events", Kind: Int})
	at := threeOClock.Add(time.Duration(second) * time.Second)
	rows.Append(IntOf(shop), TimeOf(at), TimeOf(at.Add(time.Minute)), IntOf(events))
	return rows
}

func nothing() *Query { return counting(Memory("t", nil)).Name("far") }

// TestRemote: what an engine hands over is what a user sees.
func TestRemote(t *testing.T) {
	sink := &collector{}
	report := Progress{ID: "id", RunID: "run", BatchID: 3, NumInputRows: 7, InputRowsPerSecond: 3.5,
		EventTime:      map[string]Instant{"watermark": {Time: threeOClock}},
		StateOperators: []StateOperator{{NumRowsDroppedByWatermark: 2, MemoryUsedBytes: 100}},
		Sources: []SourceProgress{{Description: "kafka t", NumInputRows: 7, StartOffset: Offsets{"t": {"0": 10, "1": 5}}, EndOffset: Offsets{"t": {"0": 15, "1": 7}},
			LatestOffset: Offsets{"t": {"0": 18, "1": 7}}}},
		Sink: SinkProgress{NumOutputRows: -1}}
	engine := &script{run: func(ctx context.Context, to Receiver) error {
		for _, epoch := range []int64{3, 3, 2, 5} { // one again, and one of before
			if err := to.Rows(ctx, epoch, row(7, epoch*60, epoch)); err != nil {
				return err
			}
		}
		if err := to.Rows(ctx, 6, NewRows(row(1, 1, 1).Columns...)); err != nil {
			return err
		}
		to.Progress(report)
		to.Progress(Progress{BatchID: 4, EventTime: map[string]Instant{"watermark": {Time: time.Unix(0, 0)}}})
		to.Progress(Progress{BatchID: 4, NumInputRows: 1, DurationMs: map[string]int64{"triggerExecution": 500}})
		if quiet := entryOf(t, "far").Thing().(running.Quiet).Quiet(); quiet != time.Minute+500*time.Millisecond {
			t.Errorf("after a batch of 500 ms it may be quiet for %v", quiet)
		}
		to.Bad("no JSON", 3)
		to.Note("A worker was lost.")
		return nil
	}}
	r := finish(t, nothing().To(sink).On(engine))
	if got, want := counts(r.Results()), "7@180=3 7@300=5"; got != want || sink.all() != "7@180=3 | 7@300=5" {
		t.Errorf("got %s, and in the sink %s, want %s", got, sink.all(), want)
	}
	totals := r.Totals()
	if totals.Records != 8 || totals.Late != 2 || totals.Bad != 3 || totals.Rows != 2 {
		t.Errorf("got %+v", totals)
	}
	if bad := r.BadRecords(); bad.Total != 3 || bad.Reasons[0] != (ReasonCount{Reason: "no JSON", Count: 3}) {
		t.Errorf("got %+v", bad)
	}
	recent := r.Recent()
	if len(recent) != 2 || recent[0].Name != "far" || recent[0].RunID != "run" || recent[0].Sink.NumOutputRows != 2 || recent[0].Sources[0].Metrics["lag"] != "3" {
		t.Errorf("got %+v", recent)
	}
	if _, ok := recent[1].Watermark(); ok || recent[1].NumInputRows != 1 || recent[1].InputRowsPerSecond != 2 || recent[1].RunID != "run" {
		t.Errorf("of a batch that had begun with nothing: got %+v", recent[1])
	}
	if got := r.String(); !strings.Contains(got, "runs on a script") || !strings.Contains(got, "A worker was lost.") || !strings.Contains(got, "Stopped") {
		t.Errorf("got %s", got)
	}
	e := entryOf(t, "far").Thing().(running.Streamer)
	if parts := e.Sources(); len(parts) != 2 || parts[0] != (running.Partition{Source: "kafka t", Topic: "t", Records: 5, Offset: 15, Lag: 3}) || parts[1].Records != 2 {
		t.Errorf("got %+v", parts)
	}
	plan := e.(running.Planner).Plan()
	if last := plan.Edges[len(plan.Edges)-1]; last.Rows != 2 || plan.Edges[0].Rows != -1 {
		t.Errorf("got %+v: of rows elsewhere nothing is known but those that came back", plan.Edges)
	}
}

// TestJob: what an engine is given.
func TestJob(t *testing.T) {
	engine := &script{run: func(context.Context, Receiver) error { return nil }}
	first, second := &resource{}, &resource{}
	with := writing{engine}
	engine.writes = func(sink int) bool { return sink == 1 }
	finish(t, nothing().To(first).To(second).On(with))
	if got := engine.job; got.Plan.Name != "far" || len(got.Sinks) != 2 || got.Columns[3] != (Column{Name: "events", Kind: Int}) {
		t.Errorf("got %+v", got)
	}
	if first.closed != 1 || first.columns == nil || second.closed != 0 || second.columns != nil {
		t.Errorf("closed %d and %d times: the engine writes to the second itself", first.closed, second.closed)
	}
}

// TestRemoteFails: what goes wrong elsewhere, or in what comes from there, is the query's error; nothing goes on there.
func TestRemoteFails(t *testing.T) {
	lost := errors.New("connection lost")
	hand := func(rows *Rows) func(context.Context, Receiver) error {
		return func(ctx context.Context, to Receiver) error { return to.Rows(ctx, 1, rows) }
	}
	wrong := NewRows(row(1, 1, 1).Columns...)
	wrong.Append(IntOf(7), TimeOf(threeOClock), TimeOf(threeOClock), TextOf("seven"))
	for name, c := range map[string]struct {
		run  func(context.Context, Receiver) error
		want string
	}{
		"it ends":           {func(context.Context, Receiver) error { return lost }, "on a script: connection lost"},
		"it panics":         {func(context.Context, Receiver) error { panic("boom") }, "on a script: a fault inside it: panic: boom"},
		"a column is away":  {hand(NewRows(Column{Name: "shop"})), `on a script: stream: there is no column "window_start"`},
		"a kind is another": {hand(wrong), `column "events" of the rows that came back has`},
		"a sink fails": {func(ctx context.Context, to Receiver) error {
			if err := to.Rows(ctx, 1, row(1, 1, 1)); err == nil {
				return errors.New("the engine was not told")
			}
			<-ctx.Done() // it is ended at once
			return nil
		}, "disk full"},
	} {
		sink := &resource{collector: collector{fail: errors.New("disk full")}}
		r := start(t, nothing().To(sink).On(&script{run: c.run}))
		if err := r.Wait(t.Context()); err == nil || !strings.Contains(err.Error(), c.want) || sink.closed != 1 {
			t.Errorf("%s: got %v, closed %d times, want %s", name, err, sink.closed, c.want)
		}
	}
	sink := &resource{}
	if _, err := nothing().To(sink).On(&script{refuse: lost}).Start(t.Context()); !errors.Is(err, lost) || !strings.Contains(err.Error(), "start far: on a script") || sink.closed != 1 {
		t.Errorf("a job that is refused: got %v, closed %d times", err, sink.closed)
	}
}

// TestRemoteStops: Stop is told, what comes until the end counts; what does not end then is ended at once.
func TestRemoteStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		engine := &script{}
		engine.run = func(ctx context.Context, to Receiver) error {
			to.Retry(errors.New("no route"), time.Second)
			<-engine.asked
			return to.Rows(ctx, 1, row(7, 0, 1))
		}
		r := start(t, nothing().On(engine))
		synctest.Wait()
		if got := r.Status(); !strings.Contains(got.Message, "Cannot read, trying again in 1s: no route") {
			t.Errorf("got %+v", got)
		}
		stop(t, r)
		stop(t, r)
		if got := r.Results().Len(); got != 1 || r.Notes()[0] != "It was stopped." {
			t.Errorf("got %d rows, %q", got, r.Notes())
		}

		deaf := &script{run: func(ctx context.Context, _ Receiver) error { <-ctx.Done(); return nil }}
		r = start(t, nothing().On(deaf))
		began := time.Now()
		if err := r.Stop(t.Context()); err == nil || !strings.Contains(err.Error(), "a script has not ended it 30s after it was told to") || time.Since(began) != 30*time.Second {
			t.Errorf("got %v after %v", err, time.Since(began))
		}

		gone := &script{run: deaf.run, stop: func(context.Context) error { return errors.New("server is gone") }}
		r = start(t, nothing().On(gone))
		if err := r.Stop(t.Context()); err == nil || !strings.Contains(err.Error(), "stop it on a script: server is gone") {
			t.Errorf("got %v", err)
		}
	})
}

// TestRemoteLimits: MaxRecords ends with the batch that reaches it.
func TestRemoteLimits(t *testing.T) {
	for read, want := range map[int64]string{
		10: "It ended after MaxRecords.", 7: "It ended with its source, 3 records before MaxRecords.",
		12: "2 records more than MaxRecords were read: a script ends with a whole batch.\nIt ended after MaxRecords.",
	} {
		engine := &script{}
		engine.run = func(ctx context.Context, to Receiver) error {
			to.Progress(Progress{BatchID: 0, NumInputRows: 4})
			to.Progress(Progress{BatchID: 1, NumInputRows: read - 4})
			if read >= 10 {
				<-engine.asked
			}
			return nil
		}
		r := finish(t, nothing().MaxRecords(10).On(engine))
		if got := strings.Join(r.Notes(), "\n"); got != want || r.Totals().Records != read {
			t.Errorf("got %q, %d records, want %q, %d", got, r.Totals().Records, want, read)
		}
	}
}

// TestRemoteOwesRows: where rows wait for the watermark, MaxRecords ends with the batch behind the one that reached it, or with a report that there is none.
func TestRemoteOwesRows(t *testing.T) {
	ran := map[string]int64{"addBatch": 5}
	for name, behind := range map[string]Progress{"a batch": {BatchID: 2, NumInputRows: 3, DurationMs: ran}, "none": {BatchID: 2, DurationMs: map[string]int64{}}} {
		engine := &script{}
		engine.run = func(ctx context.Context, to Receiver) error {
			to.Progress(Progress{BatchID: 0, NumInputRows: 4, DurationMs: ran})
			to.Progress(Progress{BatchID: 1, NumInputRows: 8, DurationMs: ran})
			select {
			case <-engine.asked:
				return errors.New("it was stopped before the rows of batch 1 had come")
			default:
			}
			if err := to.Rows(ctx, 2, row(7, 0, 12)); err != nil {
				return err
			}
			to.Progress(behind)
			<-engine.asked
			return nil
		}
		r := finish(t, nothing().MaxRecords(10).On(engine))
		want := fmt.Sprintf("%d records more than MaxRecords were read: a script ends with a whole batch.\nIt ended after MaxRecords.", 2+behind.NumInputRows)
		if got := strings.Join(r.Notes(), "\n"); got != want || counts(r.Results()) != "7@0=12" {
			t.Errorf("%s: got %q, %s, want %q", name, got, counts(r.Results()), want)
		}
	}
}

// ending is a source that says when nothing more comes.
type ending struct {
	Source
	ends chan struct{}
}

func (e ending) Ends() <-chan struct{} { return e.ends }

// catching is a script that can say when it has caught up.
type catching struct {
	*script
	catch func(ctx context.Context) error
}

func (c catching) Start(ctx context.Context, job Job) (Remote, error) {
	_, err := c.script.Start(ctx, job)
	return c, err
}

func (c catching) CatchUp(ctx context.Context) error { return c.catch(ctx) }

// TestRemoteSourceEnds: a query elsewhere ends when its source has, and it has caught up; not if nobody can say so.
func TestRemoteSourceEnds(t *testing.T) {
	source := ending{Memory("t", nil), make(chan struct{})}
	far := catching{script: &script{}}
	far.run = func(ctx context.Context, to Receiver) error {
		to.Progress(Progress{BatchID: 0, NumInputRows: 4})
		close(source.ends)
		select {
		case <-far.asked:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	caught := false
	far.catch = func(context.Context) error { caught = true; return nil }
	r := finish(t, counting(source).MaxRecords(10).On(far))
	if got := strings.Join(r.Notes(), "\n"); got != "It ended with its source, 6 records before MaxRecords." || !caught {
		t.Errorf("got %q, caught up: %v", got, caught)
	}
	source.ends = make(chan struct{})
	asked := make(chan struct{})
	far.catch = func(context.Context) error { defer close(asked); return errors.New("no such question") }
	r = start(t, counting(source).On(far))
	<-asked
	until(t, func() bool { return len(r.Notes()) > 0 }) // the answer has reached the query
	if err := r.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	if got := strings.Join(r.Notes(), "\n"); got != "Its sources have ended; a script does not say whether it has read them (no such question).\nIt was stopped." {
		t.Errorf("got %q", got)
	}
	source.ends = make(chan struct{}) // which the first run of it would close
	far.run = func(context.Context, Receiver) error { return nil }
	finish(t, counting(source).On(far)) // the one that waits for the source has ended too
}

// TestElsewhereRefuses: what needs this process is refused before anything starts, with what to write instead.
func TestElsewhereRefuses(t *testing.T) {
	engine := &script{run: func(ctx context.Context, _ Receiver) error { <-ctx.Done(); return nil }}
	place := checkpoint.Folder(t.TempDir())
	for want, q := range map[string]*Query{
		`DeadLetters: records that cannot be used are counted on a script (BadRecords), and not handed over: leave it out; Master("local[*]")`: nothing().DeadLetters(&resource{}),
		"Checkpoint with stream_test.resource: a script keeps the checkpoint":                                                                  nothing().Checkpoint(place).To(&resource{}),
	} {
		if _, err := q.On(engine).Start(t.Context()); err == nil || !strings.Contains(err.Error(), want) || engine.job.Plan != nil {
			t.Errorf("got %v, job %+v, want %s", err, engine.job, want)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	r, err := nothing().Checkpoint(place).On(engine).Start(ctx) // without a sink it is the engine's business
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Drain(ctx); err == nil || !strings.Contains(err.Error(), "a script closes windows by their watermark alone") || !r.Active() {
		t.Errorf("Drain: got %v", err)
	}
	if err := r.Savepoint(ctx, place); err == nil || !strings.Contains(err.Error(), "runs on a script") {
		t.Errorf("Savepoint: got %v", err)
	}
	cancel()
	if err := r.Wait(t.Context()); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// TestMaster: where a query runs is said by itself, or by the setting; what reaches Spark is asked for when it is needed, with all of the text.
func TestMaster(t *testing.T) {
	quick := func() *Query { return From(source(`{"a":1}`)).Select("a") }
	for text, want := range map[string]string{
		"yarn":                     `"yarn" is what a Spark Connect server is started with: write sc://HOST:15002`,
		"sc://h:1/;token=s3cret":   `sc://h:1/;token=(hidden): only a notebook builds in what reaches Spark: import "cancha/spark"`,
		"sc://h:1/;token=s3cret;x": "a parameter is KEY=VALUE",
	} {
		if _, err := quick().Master(text).Start(t.Context()); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s: got %v, want %s", text, err, want)
		}
	}

	var asked []string
	var opened any = func(_ context.Context, text string) (Engine, error) {
		asked = append(asked, text)
		return inProcess{quick()}, nil
	}
	var refused error
	cellio.OnRoom(func(_ context.Context, path, name string) (any, error) { return opened, refused })
	setting := ""
	master.OnSetting(func() (string, error) { return setting, nil })
	t.Cleanup(func() {
		master.OnSetting(nil)
		cellio.OnRoom(nil)
	})
	for _, c := range []struct {
		name, setting string
		q             *Query
		want          []string
	}{
		{"nobody says", "", quick(), nil},
		{"the setting", "sc://set", quick(), []string{"sc://set"}},
		{"the setting is this process", "local[4]", quick(), nil},
		{"the query", "", quick().Master("sc://h/;token=s3cret"), []string{"sc://h/;token=s3cret"}},
		{"the query, which counts", "sc://set", quick().Master("sc://h"), []string{"sc://h"}},
		{"the query says here", "sc://set", quick().Master("local[*]"), nil},
		{"the query says nothing", "sc://set", quick().Master(""), []string{"sc://set"}},
		{"no engine", "sc://set", quick().On(nil), nil},
		{"an engine", "sc://set", quick().On(inProcess{quick()}), nil},
		{"of two that are united, the first", "", quick().Union(quick().Master("sc://h")), nil},
	} {
		asked, setting = nil, c.setting
		if r := finish(t, c.q); !slices.Equal(asked, c.want) || r.Results().Len() == 0 {
			t.Errorf("%s: got %q and %v, want %q", c.name, asked, r.Results(), c.want)
		}
	}
	refused = errors.New("there is no Go toolchain")
	if _, err := quick().Master("sc://h").Start(t.Context()); err == nil || !strings.Contains(err.Error(), `to run on sc://h: there is no Go toolchain; Master("local[*]") runs the query here`) {
		t.Errorf("got %v", err)
	}
	opened, refused = fmt.Sprint, nil
	if _, err := quick().Master("sc://h").Start(t.Context()); err == nil || !strings.Contains(err.Error(), "restart the kernel") {
		t.Errorf("another version: got %v", err)
	}
}
