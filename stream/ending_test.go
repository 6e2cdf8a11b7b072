package stream_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	. "cancha/stream"
)

// TestEnding: a run says why it ended.
func TestEnding(t *testing.T) {
	records := [][]Record{events(7, 0, 3)}
	for limit, want := range map[int64]string{0: "It ended with its source.", 2: "It ended after MaxRecords.",
		3: "It ended after MaxRecords.", 5000: "It ended with its source, 4,997 records before MaxRecords."} {
		running := finish(t, counting(Memory("t", records)).MaxRecords(limit))
		if got := running.Notes(); len(got) != 1 || got[0] != want || !strings.Contains(running.String(), want) {
			t.Errorf("limit %d: got %q, want %q", limit, got, want)
		}
		if err := running.Stop(t.Context()); err != nil || running.Notes()[0] != want {
			t.Errorf("limit %d, stopped after its end: %v, %q", limit, err, running.Notes())
		}
	}
	running := start(t, counting(Memory("t", records).Follow()).MaxRecords(5))
	stop(t, running)
	if got := running.Notes(); len(got) < 1 || !strings.HasPrefix(got[len(got)-1], "It was stopped ") ||
		!strings.HasSuffix(got[len(got)-1], " records before MaxRecords.") {
		t.Errorf("stopped: got %q", got)
	}
	two := From(source(`{"a":1}`)).Select("a").Union(From(source(`{"a":2}`)).Select("a"))
	if got := finish(t, two).Notes(); len(got) != 1 || got[0] != "It ended with its sources." {
		t.Errorf("of two sources: got %q", got)
	}
}

func TestMaxRecordsIsExact(t *testing.T) {
	all := market(3, 8, 200)
	for _, n := range []int64{1, 499, 1000, int64(len(all)), int64(len(all)) + 5} {
		q := From(Memory("t", partitioned(all, 4)).BatchSize(17)).EventTime(Field("at").AsTime()).Watermark(time.Hour).GroupBy("shop").
			Window(Tumbling(time.Minute)).Agg(Count("events"))
		running := finish(t, q.MaxRecords(n))
		want := min(n, int64(len(all)))
		if got := running.Totals().Records; got != want {
			t.Errorf("MaxRecords(%d): got %d records, want %d", n, got, want)
		}
		column, err := running.Results().Column("events")
		if err != nil {
			t.Fatal(err)
		}
		events := 0.0
		for _, v := range column {
			events += v
		}
		if int64(events) != want {
			t.Errorf("MaxRecords(%d): got %v events in windows, want %d", n, events, want)
		}
	}
}

func TestMaxRecordsEndsAnOpenTopic(t *testing.T) {
	source := Memory("t", [][]Record{events(1, 0, 2), nil}).Follow()
	if got := finish(t, counting(source).MaxRecords(2)).Results().Len(); got != 1 {
		t.Errorf("got %d rows, want 1", got)
	}
}

// placed is a source that keeps a place to go on from.
type placed struct{ handled []int }

func (p *placed) Description() string { return "placed" }

func (p *placed) Run(ctx context.Context, h Handler) error {
	h.Assigned([]Partition{{}})
	for first := 0; ; first += 4 {
		batch := Batch{Records: events(1, float64(first), 4), HighWatermark: 1000}
		for i := range batch.Records {
			batch.Records[i].Offset = int64(first + i)
		}
		err := h.Batch(ctx, batch)
		var part *Partial
		if errors.As(err, &part) {
			p.handled = append(p.handled, part.Handled)
			return err
		}
		if err != nil {
			return err
		}
		p.handled = append(p.handled, 4)
	}
}

// TestPartial: a source learns which records of its last batch were handled.
func TestPartial(t *testing.T) {
	for limit, want := range map[int64]string{6: "[4 2]", 8: "[4 4]", 1: "[1]"} {
		source := &placed{}
		running := finish(t, counting(source).MaxRecords(limit))
		if got := fmt.Sprint(source.handled); got != want || running.Totals().Records != limit {
			t.Errorf("MaxRecords(%d): handled %s, want %s; %d records", limit, got, want, running.Totals().Records)
		}
	}
}

func TestSinkErrorEndsTheQuery(t *testing.T) {
	fail := errors.New("disk full")
	running := start(t, counting(Memory("t", [][]Record{{event(7, 1, 0), event(7, 1, 100)}}).Follow()).To(&collector{fail: fail}))
	err := running.Wait(t.Context())
	if !errors.Is(err, fail) || !errors.Is(running.Err(), fail) || !strings.Contains(err.Error(), "write 1 rows to stream_test.collector") {
		t.Errorf("got %v, want what was written where, and %v", err, fail)
	}
	if got := running.Status(); got.IsTriggerActive || !strings.Contains(got.Message, "disk full") {
		t.Errorf("got %+v, want it to say disk full", got)
	}
	if got := running.Notes(); len(got) != 0 {
		t.Errorf("got notes %q of a run that did not end in order", got)
	}
}

// resource is a sink that is opened and closed.
type resource struct {
	collector
	columns        []Column
	closed         int
	refuse, unable error
}

func (r *resource) Open(_ context.Context, columns []Column) error {
	r.columns = columns
	return r.refuse
}

func (r *resource) Close() error {
	r.closed++
	return r.unable
}

// TestSinksAreOpenedAndClosedOnce: however the query ended, and if it did not begin.
func TestSinksAreOpenedAndClosedOnce(t *testing.T) {
	fail := errors.New("no such folder")
	first, second := &resource{}, &resource{refuse: fail}
	if _, err := counting(Memory("t", nil)).To(first).To(second).Start(t.Context()); !errors.Is(err, fail) || first.closed != 1 || second.closed != 0 {
		t.Errorf("got %v, closed %d and %d times, want %v, the first closed once", err, first.closed, second.closed, fail)
	}
	for _, each := range []struct {
		name string
		sink *resource
		want error
	}{{"in order", &resource{}, nil}, {"write fails", &resource{collector: collector{fail: fail}}, fail}, {"close fails", &resource{unable: fail}, fail}} {
		running := start(t, counting(Memory("t", [][]Record{events(7, 0, 3)})).To(each.sink))
		if err := running.Wait(t.Context()); !errors.Is(err, each.want) || (err == nil) != (each.want == nil) || each.sink.closed != 1 {
			t.Errorf("%s: got %v, closed %d times, want %v, once", each.name, err, each.sink.closed, each.want)
		}
		if got := fmt.Sprint((&Rows{Columns: each.sink.columns}).Names()); got != "[shop window_start window_end events]" {
			t.Errorf("%s: opened with %s", each.name, got)
		}
	}
}

// broken is a source that fails at once.
type broken struct{ err error }

func (b broken) Description() string                { return "broken" }
func (b broken) Run(context.Context, Handler) error { return b.err }

func TestSourceErrorEndsTheQuery(t *testing.T) {
	cause := errors.New("no such topic")
	for name, q := range map[string]*Query{"alone": counting(broken{cause}),
		"beside another": by(Memory("t", [][]Record{nil}).Follow(), "shop").Union(by(broken{cause}, "shop"))} {
		if err := start(t, q).Wait(t.Context()); !errors.Is(err, cause) || !strings.Contains(err.Error(), "read broken") {
			t.Errorf("%s: got %v, want: read broken: %v", name, err, cause)
		}
	}
}

// TestPanicsEndTheQueryOrMakeABadRecord: never the program.
func TestPanicsEndTheQueryOrMakeABadRecord(t *testing.T) {
	boom := func(Row) (any, error) { panic("boom") }
	running := finish(t, From(source("{}\n{}")).MapFunc("x", boom).Select("x"))
	if bad := running.BadRecords(); bad.Total != 2 || bad.Reasons[0].Reason != "x: panic: boom" {
		t.Errorf("a function of records: got %+v", bad)
	}
	q := counting(Memory("t", [][]Record{events(7, 0, 1)})).To(SinkFunc(func(int64, *Rows) error { panic("boom") }))
	if err := start(t, q).Wait(t.Context()); err == nil || !strings.Contains(err.Error(), "boom") {
		t.Errorf("a sink: got %v", err)
	}
	q = timed(orders).Process(Processing{Name: "p", Keys: []string{"id"}, Columns: []Column{{Name: "id"}}, TimeToLive: time.Hour,
		State: func() any { return nil }, Row: func(*Context, any, Row) error { panic("boom") }})
	if err := start(t, q).Wait(t.Context()); err == nil || !strings.Contains(err.Error(), "process p: panic: boom") {
		t.Errorf("a process: got %v", err)
	}
}

func TestStopAndCancel(t *testing.T) {
	before := runtime.NumGoroutine()
	source := func() Source { return Memory("t", [][]Record{{event(7, 1, 0)}}).Follow() }
	running := start(t, counting(source()))
	stop(t, running)
	stop(t, running)
	if running.Active() || running.Err() != nil {
		t.Errorf("stopped: active %t, error %v", running.Active(), running.Err())
	}

	ctx, cancel := context.WithCancel(t.Context())
	cancelled, err := counting(source()).Start(ctx)
	if err != nil {
		t.Fatal(err)
	}
	waiting, giveUp := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer giveUp()
	if err := cancelled.Wait(waiting); !errors.Is(err, context.DeadlineExceeded) || !cancelled.Active() {
		t.Errorf("a wait that is given up: got %v, active %t, want deadline exceeded and active", err, cancelled.Active())
	}
	cancel()
	if err := cancelled.Wait(t.Context()); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want context canceled", err)
	}
	if got := cancelled.Results().Len(); got != 0 {
		t.Errorf("cancelled: got %d rows, want 0: open windows are not closed", got)
	}
	for deadline := time.Now().Add(5 * time.Second); runtime.NumGoroutine() > before; runtime.Gosched() {
		if time.Now().After(deadline) {
			t.Fatalf("got %d goroutines, want %d", runtime.NumGoroutine(), before)
		}
	}
}

// TestStopWhileWaitingForATable: a stream that waits for the table that it looks up is stopped in order too.
func TestStopWhileWaitingForATable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := Latest("slow", From(silent{}).Select("shop", "name"), "shop")
		running := start(t, From(Memory("t", [][]Record{events(7, 0, 3)})).Select("shop").LeftLookup(slow, Same("shop")))
		time.Sleep(time.Second)
		stop(t, running)
		if running.Err() != nil || running.Active() {
			t.Errorf("got %v, active %t", running.Err(), running.Active())
		}
	})
}

// silent is a source with a partition of which nothing is heard.
type silent struct{}

func (silent) Description() string { return "silent" }

func (silent) Run(ctx context.Context, h Handler) error {
	h.Assigned([]Partition{{}})
	<-ctx.Done()
	return nil
}

// TestMemoryIsBounded: state that grows beyond its bound ends the query, and the error says what takes the room.
func TestMemoryIsBounded(t *testing.T) {
	many := func(_ int, n int64) Record { return event(n, 1, float64(n)/1000) }
	q := by(Generate("many", 1, 0, many), "shop").Watermark(time.Hour).Memory(4 << 20)
	tags := func(_ int, n int64) Record {
		return Record{Value: fmt.Appendf(nil, `{"tag":"tag-%d"}`, n), Time: threeOClock}
	}
	generated := Generate("tags", 1, 0, tags)
	for _, each := range []struct {
		name string
		q    *Query
		most string
	}{
		{"many groups", q, "the groups of an aggregation"},
		{"one group that grows", From(generated).Window(Tumbling(time.Hour)).Agg(Collect("tags", Field("tag"), 1_000_000)), "the groups of an aggregation"},
		{"long texts that are counted", From(generated).With("text", Field("tag").Replace("tag", strings.Repeat("x", 1000))).Window(Tumbling(time.Hour)).
			Agg(TopK("most", Field("text"), 3)), "the groups of an aggregation"},
		{"timers of one key", From(generated).Process(Processing{Name: "timers", Keys: []string{"@topic"}, Columns: []Column{{Name: "n", Kind: Int}}, TimeToLive: time.Hour,
			State: func() any { return nil }, Row: func(c *Context, _ any, _ Row) error { c.SetTimer(c.Time().Add(time.Hour)); return nil },
			Timer: func(*Context, any, time.Time) error { return nil }}), "process"},
		{"one session that grows", From(generated).Window(Session(time.Hour)).Agg(Collect("tags", Field("tag"), 1_000_000)), "sessions"},
		{"many keys", From(generated).Watermark(time.Hour).Deduplicate("tag").Select("tag"), "deduplicate"},
	} {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		running := start(t, each.q.Memory(4<<20))
		err := running.Wait(ctx)
		cancel()
		running.Stop(t.Context())
		if err == nil || !strings.Contains(err.Error(), "Memory(4 MiB) allows, most of it in "+each.most) {
			t.Errorf("%s: got %v", each.name, err)
		}
	}
}

// TestAvailableNow: what a topic held when it was opened is read, in all partitions, and then an open topic ends a query in order.
func TestAvailableNow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := Memory("t", [][]Record{events(1, 0, 1200), events(2, 0, 700), nil}).Follow()
		running := start(t, counting(source).AvailableNow())
		if err := running.Wait(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := running.Totals().Records; got != 1900 {
			t.Errorf("got %d records, want 1900", got)
		}
		if notes := running.Notes(); !slices.Contains(notes, "It ended with what was available.") {
			t.Errorf("got %q", notes)
		}
	})
}

// TestPlansTellHowQueriesEnd: two plans that end in different ways are not equal, and show it.
func TestPlansTellHowQueriesEnd(t *testing.T) {
	q := counting(Memory("t", nil))
	for _, other := range []*Query{q.MaxRecords(5), q.MaxTime(time.Minute), q.AvailableNow()} {
		if q.Plan().Equal(other.Plan()) || q.Plan().String() == other.Plan().String() {
			t.Errorf("equal: %s", other.Plan())
		}
	}
}

// TestMaxTime: a time of the clock ends a query in order.
func TestMaxTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		running := start(t, counting(Memory("t", [][]Record{events(1, 0, 10)}).Follow()).MaxTime(time.Minute))
		if err := running.Wait(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := running.Totals(); got.Elapsed.Round(time.Second) != time.Minute || got.Rows != 1 {
			t.Errorf("got %v and %d rows, want a minute and the open window", got.Elapsed, got.Rows)
		}
		if notes := running.Notes(); !slices.Contains(notes, "It ended after MaxTime.") {
			t.Errorf("got %q", notes)
		}
	})
}

// TestSlowFunctionsOfCellsEndTheQuery: a function that package reflect has made, as an interpreted cell's is, and that takes microseconds; a
// fast one of that kind, as a compiled cell's is, is taken.
func TestSlowFunctionsOfCellsEndTheQuery(t *testing.T) {
	made := func(work time.Duration) func(Row) (any, error) {
		var f func(Row) (any, error)
		reflect.ValueOf(&f).Elem().Set(reflect.MakeFunc(reflect.TypeOf(f), func([]reflect.Value) []reflect.Value {
			for began := time.Now(); time.Since(began) < work; {
			}
			return []reflect.Value{reflect.ValueOf(new(any)).Elem(), reflect.Zero(reflect.TypeFor[error]())}
		}))
		return f
	}
	query := func(work time.Duration) *Query {
		return From(Memory("t", [][]Record{events(1, 0, 500)})).MapFunc("x", made(work), "shop").Select("x")
	}
	running := start(t, query(20*time.Microsecond))
	if err := running.Wait(t.Context()); err == nil || !strings.Contains(err.Error(), `the function "x" is interpreted`) {
		t.Errorf("slow: got %v", err)
	}
	if got := finish(t, query(0)).Totals(); got.Rows != 500 || got.Bad != 0 {
		t.Errorf("fast: got %+v", got)
	}
}

// TestAPanicBehindTheLanesEndsTheQuery: the state of a process is made under the graph's lock, which must not stay locked.
func TestAPanicBehindTheLanesEndsTheQuery(t *testing.T) {
	q := From(Memory("t", [][]Record{events(1, 0, 3)})).Process(Processing{Name: "p", Keys: []string{"shop"}, Columns: []Column{{Name: "x"}},
		State: func() any { panic("no state") }, Row: func(*Context, any, Row) error { return nil }, TimeToLive: time.Hour})
	running := start(t, q)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if err := running.Wait(ctx); err == nil || !strings.Contains(err.Error(), "no state") {
		t.Errorf("got %v, want the panic", err)
	}
}
