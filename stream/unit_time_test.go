package stream_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	. "cancha/stream"
)

// TestTimesInAnotherUnit: a number that no time comes of tells the year that it would be, and the unit in which it is near.
func TestTimesInAnotherUnit(t *testing.T) {
	for _, test := range []struct {
		number string
		of     func(Expr) Expr
		want   string
	}{
		{"1789898529000", Expr.UnixSeconds, "no event time: UnixSeconds of 1789898529000 would be the year 58,689: UnixMillis?"},
		{"1789898529000000", Expr.UnixSeconds, "no event time: UnixSeconds of 1789898529000000 would be the year 56,721,596: UnixMicros?"},
		{"1789898529000000000", Expr.UnixMillis, "no event time: UnixMillis of 1789898529000000000 would be the year 56,721,596: UnixNanos?"},
		{"1e18", Expr.UnixSeconds, "no event time: UnixSeconds of 1000000000000000000 would be the year 31,688,740,476: UnixNanos?"},
		{"-1e14", Expr.UnixSeconds, "no event time: UnixSeconds of -100000000000000 would be the year -3,166,903"},
		{"null", Expr.UnixSeconds, "no event time: from_unix(ts, 1000000000) is absent"},
	} {
		source := Memory("t", [][]Record{{{Value: fmt.Appendf(nil, `{"ts":%s}`, test.number)}}})
		running := finish(t, From(source).EventTime(test.of(Field("ts"))).Select("ts"))
		if reasons := running.BadRecords().Reasons; len(reasons) != 1 || reasons[0].Reason != test.want {
			t.Errorf("%s: got %v, want %s", test.number, reasons, test.want)
		}
	}
}

// TestTimesNearInAnotherUnit: numbers that are times of our days in another unit alone are noted, wherever a time is made of them; others are not.
func TestTimesNearInAnotherUnit(t *testing.T) {
	in := func(numbers ...string) (records []Record) {
		for _, n := range numbers {
			records = append(records, Record{Value: fmt.Appendf(nil, `{"ts":%s}`, n)})
		}
		return records
	}
	event := func(of func(Expr) Expr) func(*Query) *Query {
		return func(q *Query) *Query {
			return q.EventTime(of(Field("ts"))).Window(Tumbling(time.Minute)).Agg(Count("n"))
		}
	}
	column := func(of func(Expr) Expr) func(*Query) *Query {
		return func(q *Query) *Query { return q.With("t", of(Field("ts"))).Select("t") }
	}
	seconds, millis := in("1789898529", "1789898530.5"), in("1789898529000", "1789898530000")
	for _, test := range []struct {
		name, want string // empty: no note
		records    [][]Record
		q          func(*Query) *Query
	}{
		{"seconds as millis", "ts.UnixMillis() has met nothing but numbers such as 1789898530.5, which are times of our days by another unit alone: is ts.UnixSeconds() meant?",
			[][]Record{seconds}, event(Expr.UnixMillis)},
		{"millis as micros", "is ts.UnixMillis() meant?", [][]Record{millis}, event(Expr.UnixMicros)},
		{"seconds as nanos", "is ts.UnixSeconds() meant?", [][]Record{seconds}, event(Expr.UnixNanos)},
		{"millis as seconds in a column", "is ts.UnixMillis() meant?", [][]Record{millis, millis}, column(Expr.UnixSeconds)},
		{"seconds as millis in a column", "is ts.UnixSeconds() meant?", [][]Record{seconds, seconds}, column(Expr.UnixMillis)},
		{"nanos as micros in a condition", "is ts.UnixNanos() meant?", [][]Record{in("1789898529000000000")}, func(q *Query) *Query {
			return q.Filter(Field("ts").UnixMicros().Year().Gt(2000)).Select("ts")
		}},

		{"seconds", "", [][]Record{seconds}, event(Expr.UnixSeconds)},
		{"millis", "", [][]Record{millis}, column(Expr.UnixMillis)},
		{"a clock that begins at 0", "", [][]Record{in("0", "1000", "60000")}, event(Expr.UnixMillis)},
		{"long ago", "", [][]Record{in("-1e9")}, event(Expr.UnixSeconds)},
		{"the seventies", "", [][]Record{in("31000000000")}, event(Expr.UnixMillis)},
		{"one of them", "", [][]Record{slices.Concat(seconds, millis)}, column(Expr.UnixMillis)},
		{"one of another partition", "", [][]Record{seconds, millis}, column(Expr.UnixMillis)},
		{"nothing", "", [][]Record{in("null")}, column(Expr.UnixMillis)},
	} {
		got := notes(t, test.q(From(Memory("t", test.records))))
		if test.want != "" && !noted(got, test.want) || test.want == "" && noted(got, "another unit") {
			t.Errorf("%s: got %q, want a note with %q", test.name, got, test.want)
		}
	}
}
