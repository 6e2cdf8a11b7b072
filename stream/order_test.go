package stream_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	. "cancha/stream"
)

// slow is a query over a source that gives one record at a time, so that the watermark moves between them.
func slow(text string) *Query {
	return From(Memory("orders", lines(text)).BatchSize(1)).EventTime(Field("at").AsTime())
}

func TestUnionTakesWhatTheOtherQueryGivesOutAtAWatermark(t *testing.T) {
	const own = `{"id":1,"at":"2026-03-01T12:00:00Z"}
		{"id":1,"at":"2026-03-01T12:10:01Z"}
		{"id":1,"at":"2026-03-01T12:20:00Z"}`
	const others = `{"id":3,"at":"2026-03-01T12:00:02Z"}
		{"id":3,"at":"2026-03-01T12:10:02Z"}
		{"id":4,"at":"2026-03-01T12:20:00Z"}`
	sessions := slow(others).GroupBy("id").Window(Session(time.Second)).Agg(Count("n")).Select("id")
	got, running := run(t, slow(own).Select("id").Union(sessions).GroupBy("id").Window(Tumbling(time.Minute)).Agg(Count("n")))
	want(t, got, `id,window_start,window_end,n
		1,2026-03-01T12:00:00Z,2026-03-01T12:01:00Z,1
		1,2026-03-01T12:10:00Z,2026-03-01T12:11:00Z,1
		1,2026-03-01T12:20:00Z,2026-03-01T12:21:00Z,1
		3,2026-03-01T12:00:00Z,2026-03-01T12:01:00Z,1
		3,2026-03-01T12:10:00Z,2026-03-01T12:11:00Z,1
		4,2026-03-01T12:20:00Z,2026-03-01T12:21:00Z,1`)
	if late := running.Totals().Late; late != 0 {
		t.Errorf("%d rows were late", late)
	}
}

func TestWindowsBehindALeftJoinWaitForRowsWithoutAPartner(t *testing.T) {
	const orders = `{"id":1,"at":"2026-03-01T12:00:00Z"}
		{"id":2,"at":"2026-03-01T12:01:00Z"}
		{"id":3,"at":"2026-03-01T12:02:00Z"}
		{"id":4,"at":"2026-03-01T12:20:00Z"}
		{"id":5,"at":"2026-03-01T12:40:00Z"}`
	const payments = `{"order":2,"at":"2026-03-01T12:03:00Z"}
		{"order":9,"at":"2026-03-01T12:39:00Z"}`
	on := On{Left: []string{"id"}, Right: []string{"order"}}
	left, right := slow(orders).Select("id"), slow(payments).Select("order")
	windows := func(q *Query) *Query {
		return q.Window(Tumbling(time.Minute)).Agg(Count("n"), Count("paid").If(Has("order")))
	}
	got, running := run(t, windows(left.LeftJoin(right, on, Within{After: 5 * time.Minute})))
	want(t, got, `window_start,window_end,n,paid
		2026-03-01T12:00:00Z,2026-03-01T12:01:00Z,1,0
		2026-03-01T12:02:00Z,2026-03-01T12:03:00Z,1,0
		2026-03-01T12:03:00Z,2026-03-01T12:04:00Z,1,1
		2026-03-01T12:20:00Z,2026-03-01T12:21:00Z,1,0
		2026-03-01T12:40:00Z,2026-03-01T12:41:00Z,1,0`)
	if late := running.Totals().Late; late != 0 {
		t.Errorf("%d rows were late", late)
	}
	got, _ = run(t, windows(left.FullJoin(right, on, Within{Before: time.Minute, After: 5 * time.Minute})))
	want(t, got, `window_start,window_end,n,paid
		2026-03-01T12:00:00Z,2026-03-01T12:01:00Z,1,0
		2026-03-01T12:02:00Z,2026-03-01T12:03:00Z,1,0
		2026-03-01T12:03:00Z,2026-03-01T12:04:00Z,1,1
		2026-03-01T12:20:00Z,2026-03-01T12:21:00Z,1,0
		2026-03-01T12:39:00Z,2026-03-01T12:40:00Z,1,1
		2026-03-01T12:40:00Z,2026-03-01T12:41:00Z,1,0`)
}

func TestJoinOfManyRowsOfOneKey(t *testing.T) {
	const n = 120_000
	start := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	clicks := make([]Record, n)
	for i := range clicks {
		clicks[i].Value = fmt.Appendf(nil, `{"user":1,"click":%d,"at":%q}`, i, start.Add(time.Duration(i)*time.Second).Format(time.RFC3339))
	}
	left := From(Memory("clicks", [][]Record{clicks})).EventTime(Field("at").AsTime()).Select("user", "click")
	right := timed(`{"user":1,"name":"Ada","at":"2026-03-01T12:00:00Z"}`).Select("user", "name")
	_, running := run(t, left.Join(right, Same("user"), Within{Before: time.Hour, After: 100 * 24 * time.Hour}))
	if totals := running.Totals(); totals.Rows != 3601 || totals.Bytes != 0 {
		t.Errorf("got %d rows, and %d bytes of state at the end; want 3601 and 0", totals.Rows, totals.Bytes)
	}
}

func TestSessionsThatBecomeOneTakeNoRoom(t *testing.T) {
	const clicks = `{"u":"a","at":"2026-03-01T12:00:00Z"}
		{"u":"a","at":"2026-03-01T12:00:40Z"}
		{"u":"a","at":"2026-03-01T12:00:20Z"}`
	got, running := run(t, timed(clicks).Watermark(time.Minute).GroupBy("u").Window(Session(30*time.Second)).Agg(Count("n")))
	want(t, got, `u,window_start,window_end,n
		a,2026-03-01T12:00:00Z,2026-03-01T12:01:10Z,3`)
	if bytes := running.Totals().Bytes; bytes != 0 {
		t.Errorf("%d bytes of state at the end", bytes)
	}
}

func TestAPartitionThatHasEndedHoldsNothingBack(t *testing.T) {
	partitions := make([][]Record, 3) // a long one, a short one, an empty one
	for i := range 30_000 {
		at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC).Add(time.Duration(i) * time.Second)
		r := Record{Value: fmt.Appendf(nil, `{"id":%d,"at":%q}`, i%10, at.Format(time.RFC3339))}
		partitions[0] = append(partitions[0], r)
		if i < 10 {
			partitions[1] = append(partitions[1], r)
		}
	}
	var most int
	sink := SinkFunc(func(_ int64, rows *Rows) error { most = max(most, rows.Len()); return nil })
	q := From(inTurn(partitions)).EventTime(Field("at").AsTime())
	for _, each := range []struct {
		name string
		q    *Query
	}{
		{"windows of lanes", q.GroupBy("id").Window(Tumbling(time.Minute)).Agg(Count("n"))},
		{"sessions", q.GroupBy("id").Window(Session(5 * time.Second)).Agg(Count("n"))},
	} {
		most = 0
		_, running := run(t, each.q.To(sink))
		if rows := running.Totals().Rows; most > int(rows)/4 {
			t.Errorf("%s: %d of %d rows came at once, when all had been read", each.name, most, rows)
		}
	}
}

// TestDoubtsAboutAJoin: what is seldom meant is said in a note.
func TestDoubtsAboutAJoin(t *testing.T) {
	rows := func(delay time.Duration) *Query {
		return From(Memory("t", [][]Record{nil})).Watermark(delay).Select("a")
	}
	for _, test := range []struct {
		q    *Query
		want []string
	}{
		{rows(time.Second).Join(rows(time.Second), Same("a"), Within{After: time.Second}), nil},
		{rows(time.Second).Join(rows(time.Second), Same("a"), Within{}), []string{"very same event time"}},
		{rows(time.Second).LeftJoin(rows(0), Same("a"), Within{Before: time.Second}), []string{"without a Watermark on both sides"}},
		{rows(time.Second).Union(rows(0).Join(rows(0), Same("a"), Within{})), []string{"very same event time", "without a Watermark"}},
	} {
		running, err := test.q.Start(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		notes := running.Notes()
		stop(t, running)
		for _, want := range test.want {
			if !slices.ContainsFunc(notes, func(note string) bool { return strings.Contains(note, want) }) {
				t.Errorf("%s: got %q, want a note with %q", test.q.Plan(), notes, want)
			}
		}
		if len(test.want) == 0 && slices.ContainsFunc(notes, func(note string) bool { return strings.Contains(note, "join") }) {
			t.Errorf("got %q, want no note about the join", notes)
		}
	}
}

// inTurn is a source that reads its partitions one after another, the last one first, and tells of each that it has ended.
type inTurn [][]Record

func (s inTurn) Description() string { return "partitions in turn" }

func (s inTurn) Run(ctx context.Context, h Handler) error {
	var partitions []Partition
	for p := range s {
		partitions = append(partitions, Partition{Topic: "orders", ID: p})
	}
	h.Assigned(partitions)
	for p := len(s) - 1; p >= 0; p-- {
		for batch := range slices.Chunk(s[p], 500) {
			if err := h.Batch(ctx, Batch{Topic: "orders", Partition: p, Records: batch, HighWatermark: int64(len(s[p]))}); err != nil {
				return err
			}
		}
		h.(Finisher).Finished(partitions[p])
	}
	return nil
}

// What a partition has read must be with the operators before its watermark is: another partition may give out what is ready in between.
func TestPartitionsThatAreReadAtOnceMakeNothingLate(t *testing.T) {
	partitions := make([][]Record, 4)
	for i := range 400 {
		at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC).Add(time.Duration(i) * time.Minute)
		partitions[i%4] = append(partitions[i%4], Record{Value: fmt.Appendf(nil, `{"id":%d,"at":%q}`, i, at.Format(time.RFC3339))})
	}
	q := From(Memory("orders", partitions)).EventTime(Field("at").AsTime()).GroupBy("id").Window(Session(time.Second)).Agg(Count("n"))
	for i := range 300 {
		_, running := run(t, q)
		if totals := running.Totals(); totals.Rows != 400 || totals.Late != 0 {
			t.Fatalf("run %d gave %d rows of 400, and counted %d records as late", i, totals.Rows, totals.Late)
		}
	}
}
