package stream_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	. "cancha/stream"
)

// TestABadElementMakesTheWholeRecordBad: none of its other elements counts, wherever it stands.
func TestABadElementMakesTheWholeRecordBad(t *testing.T) {
	for _, items := range []string{`{"n":1},{"n":"x"},{"n":4}`, `{"n":"x"},{"n":1}`, `{"n":1},{"n":4},{"n":"x"}`} {
		q := timed(`{"at":"2026-03-01T12:00:00Z","items":[`+items+`]}
			{"at":"2026-03-01T12:00:01Z","items":[{"n":10},{"n":20}]}`).Explode("items", "item").
			Window(Tumbling(time.Minute)).Agg(Count("items"), Sum("n", Field("item.n"))).Drop("window_start", "window_end")
		got, running := run(t, q)
		want(t, got, "items,n\n2,30")
		if totals := running.Totals(); totals.Bad != 1 {
			t.Errorf("%s: got %d bad records, want 1", items, totals.Bad)
		}
	}
}

// TestPathsBelowAColumn: a column that is a path of the record can be asked for what lies below it, under its own name.
func TestPathsBelowAColumn(t *testing.T) {
	q := From(source(`{"a":{"b":1},"o":{"b":7,"c":[{"d":8}]}}`)).With("a", Field("o")).With("x", Field("o.c")).Select("a.b", "x[0].d")
	got, _ := run(t, q)
	want(t, got, "a.b,x[0].d\n7,8")
}

// TestLiteralsOfOtherTypes: a type that is made of a number is one.
func TestLiteralsOfOtherTypes(t *testing.T) {
	got, _ := run(t, timed(orders).Filter(Field("at").AsTime().Month().Eq(time.March)).Filter(Field("id").Eq(1)).Select("id"))
	want(t, got, "id\n1")
}

// TestFaultsOfOthersEndTheQuery: a panic in a source, a generating function or the opening of a sink is an error of the query.
func TestFaultsOfOthersEndTheQuery(t *testing.T) {
	for name, source := range map[string]Source{"source": faulty{}, "generator": Generate("g", 2, 0, func(int, int64) Record { panic("boom") })} {
		running := start(t, From(source).Select("a"))
		if err := running.Wait(t.Context()); err == nil || !strings.Contains(err.Error(), "boom") {
			t.Errorf("%s: got %v, want the fault", name, err)
		}
	}
	if _, err := From(source(`{"a":1}`)).Select("a").To(faulty{}).Start(t.Context()); err == nil || !strings.Contains(err.Error(), "boom") {
		t.Errorf("sink: got %v, want the fault", err)
	}
}

// TestASourceThatIsAway: a query whose source could not be read says so once it has ended, too.
func TestASourceThatIsAway(t *testing.T) {
	running := finish(t, From(absent{}).Select("a").MaxTime(100*time.Millisecond))
	if notes := strings.Join(running.Notes(), "\n"); !strings.Contains(notes, "MaxTime") || !strings.Contains(notes, "could not be read in the end: no broker") {
		t.Errorf("got %q, want why it ended and what was missing", notes)
	}
}

// absent is a source whose broker is never there.
type absent struct{}

func (absent) Description() string { return "absent" }

func (absent) Run(ctx context.Context, h Handler) error {
	h.Retry(errors.New("no broker"), time.Minute)
	<-ctx.Done()
	return nil
}

type faulty struct{}

func (faulty) Run(context.Context, Handler) error                 { panic("boom") }
func (faulty) Description() string                                { return "faulty" }
func (faulty) Open(context.Context, []Column) error               { panic("boom") }
func (faulty) Write(_ context.Context, _ int64, rows *Rows) error { return errors.New("not opened") }

// TestTotalsDoNotWaitForASink: what a query has done can be asked for, and seen, while a sink makes it wait.
func TestTotalsDoNotWaitForASink(t *testing.T) {
	entered, leave := make(chan struct{}), make(chan struct{})
	running := start(t, From(source(`{"a":1}`)).Select("a").To(SinkFunc(func(int64, *Rows) error {
		close(entered)
		<-leave
		return nil
	})))
	<-entered
	told := make(chan Totals)
	go func() {
		_ = running.String()
		told <- running.Totals()
	}()
	select {
	case totals := <-told:
		if totals.Rows != 1 {
			t.Errorf("got %d rows, want 1", totals.Rows)
		}
	case <-time.After(10 * time.Second):
		t.Error("Totals waits for the sink")
	}
	close(leave)
	if err := running.Wait(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestProgressCountsTheRowsOfItsEpoch: the reports of a run add up to what it gave out.
func TestProgressCountsTheRowsOfItsEpoch(t *testing.T) {
	made := func(_ int, n int64) Record { return Record{Value: []byte(`{"a":1}`)} }
	running := finish(t, From(Generate("g", 1, 2000, made).Records(5000)).Select("a"))
	sum, reports := int64(0), running.Recent()
	for _, p := range reports {
		sum += p.Sink.NumOutputRows
	}
	if sum != 5000 || len(reports) < 2 {
		t.Errorf("got %d rows in %d reports, want 5000 in several", sum, len(reports))
	}
}
