package stream_test

import (
	"math"
	"strings"
	"testing"
	"time"

	. "cancha/stream"
)

// TestStartNamesWhatIsWrong: beside what TestStartRefuses has.
func TestStartNamesWhatIsWrong(t *testing.T) {
	source := Memory("t", [][]Record{nil})
	minute := From(source).Window(Tumbling(time.Minute))
	for _, test := range []struct {
		name  string
		query *Query
		want  string
	}{
		{"no generating function", From(Generate("g", 1, 0, nil)).Select("a"), "generate g: without a function"},
		{"a rate below 0", From(Generate("g", 1, -1, func(int, int64) Record { return Record{} })).Select("a"), "generate g: -1 records a second"},
		{"no rate in a Union", From(source).Select("a").Union(From(Generate("g", 1, math.NaN(), func(int, int64) Record { return Record{} })).Select("a")), "NaN records a second"},
		{"no source", From(nil).Window(Tumbling(time.Minute)).Agg(Count("n")), "no source"},
		{"no statistic", minute, "nothing to compute"},
		{"a filter before Agg", minute.GroupBy("a").Filter(Has("b")).Agg(Count("n")), `"filter not_null(b)" stands between GroupBy or Window and their Agg`},
		{"a column before Agg", minute.With("b", Field("a").Mul(2)).GroupBy("c").Agg(Count("n")), "put it before GroupBy and Window"},
		{"two windows", minute.Window(Tumbling(time.Hour)).Agg(Count("n")), "two windows, tumbling 1m0s and tumbling 1h0m0s, for one Agg"},
		{"two groupings", minute.GroupBy("a").GroupBy("b").Agg(Count("n")), "name all paths in one"},
		{"Deduplicate by nothing", From(source).Watermark(time.Minute).Deduplicate().Select("a"), "Deduplicate without a path"},
		{"top of no window", From(source).Watermark(time.Minute).Select("a").Deduplicate("a").Top(1, "a"), "put an Agg with a Window before it"},
		{"no condition", From(source).Filter(Expr{}).Select("a"), "Filter without a condition"},
		{"no name of elements", From(source).Explode("items", "").Select("a"), `Explode "items" without a name`},
		{"no such mode", minute.Agg(Count("n")).Output(9), "Output(9): want Append, Update or Complete"},
		{"a filter of all rows", minute.Agg(Count("n")).Filter(Field("n").Lt(2)).Output(Complete), "would stay; filter what a sink or Results has"},
		{"a table of no rows", From(source).Select("a").Lookup(TableOf("t", nil, "a"), Same("a")), "without a table"},
		{"a table of no query", From(source).Select("a").Lookup(Latest("t", nil, "a"), Same("a")), "without a table"},
		{"a column of both sides", From(source).With("b", Literal(1)).Lookup(TableOf("t", NewRows(Column{Name: "a"}, Column{Name: "b"}), "a"), Same("a")).Select("b"), `both sides of the join have a column "b"`},
		{"a part of a computed column", From(source).With("a", Field("o").Lower()).Select("a.b"), `there is no column "a.b"`},
		{"no sink", From(source).Select("a").To(nil), "a sink that is nil"},
		{"no sink of letters", From(source).Select("a").DeadLetters(nil), "a sink that is nil"},
		{"no name of a statistic", minute.Agg(Count("")), "without a name"},
		{"no name of a column", From(source).With("", Field("a").Add(1)).Select("a"), "without a name"},
		{"twice the same name", minute.Agg(Count("n"), Mean("n", Field("x"))), `two columns are named "n"`},
		{"a name of Stats twice", minute.Agg(Stats("x", Field("x")), Mean("x_mean", Field("x"))), `two columns are named "x_mean"`},
		{"bad path", minute.Agg(Mean("n", Field("a..b"))), `path "a..b"`},
		{"bad path of a group", minute.GroupBy("a[").Agg(Count("n")), `path "a["`},
		{"share of no group", minute.GroupBy("shop").Agg(Share("s", "cashier.id", "seller.id")), "not among the paths"},
		{"negative delay", minute.Agg(Count("n")).Watermark(-1), "no negative"},
		{"negative MaxAhead", minute.Agg(Count("n")).MaxAhead(-1), "stream: MaxAhead(-1ns): want no negative duration"},
		{"negative MaxDrift", minute.Agg(Count("n")).MaxDrift(-1), "stream: MaxDrift(-1ns): want no negative duration"},
		{"negative Trigger", minute.Agg(Count("n")).Trigger(-1), "stream: Trigger(-1ns): want no negative duration"},
		{"delay of a year", minute.Agg(Count("n")).Watermark(365 * 24 * time.Hour), "at most"},
		{"window of a year", From(source).Window(Tumbling(time.Hour * 24 * 365)).Agg(Count("n")), "at most"},
		{"step beyond the window", From(source).Window(Sliding(time.Minute, time.Hour)).Agg(Count("n")), "a step of more than 0, not longer than the window"},
		{"too many windows an event", From(source).Window(Sliding(time.Hour, time.Millisecond)).Agg(Count("n")), "at most 10,000 windows"},
		{"sessions in Update", From(source).Window(Session(time.Minute)).Agg(Count("n")).Output(Update), "use Output(Append)"},
		{"share of sessions", From(source).GroupBy("shop").Window(Session(time.Minute)).Agg(Count("n"), Share("part", "paid_by", "shop").If(Field("a").Gt(1))),
			`Share "part" of sessions`},
		{"no gap", From(source).Window(Session(0)).Agg(Count("n")), "sessions with gaps of 0s"},
		{"empty condition", minute.Agg(CountIf("n", Not(Expr{}))), "an empty expression"},
		{"condition that is none", From(source).Filter(Literal(3)).Select("a"), "3 is an integer; want true or false"},
		{"event time that is none", From(source).EventTime(Field("a").Lower()).Select("a"), "event time"},
		{"no records", From(source).Select("a").MaxRecords(-1), "stream: MaxRecords(-1): want at least 0"},
		{"no rows", From(source).Select("a").KeepRows(0), "stream: KeepRows(0): want at least 1"},
		{"no memory", From(source).Select("a").Memory(1000), "stream: Memory(1000): want at least 1 MiB"},
		{"Select of nothing", From(source).Select(), "Select without a column"},
		{"Select twice", From(source).Select("a", "a"), `Select names "a" twice`},
		{"dropped", From(source).Drop("a").Filter(Has("a")).Select("b"), `"a" was dropped`},
		{"no such part", From(source).Select("@price"), `a record has no "@price"`},
		{"no function", From(source).MapFunc("x", nil).Select("x"), "without a function"},
		{"no table", From(source).Select("a").Lookup(nil, Same("a")), "without a table"},
		{"no key in the table", From(source).Select("a").Lookup(TableOf("t", NewRows(Column{Name: "b"}), "a"), Same("a")), `the table has no column "a"`},
		{"table by other keys", From(source).Select("a").Lookup(TableOf("t", NewRows(Column{Name: "a"}, Column{Name: "b"}), "b"), Same("a")), `is kept by ["b"], and the lookup asks for ["a"]`},
		{"table without keys", From(source).Select("a").Lookup(Latest("t", From(source).Select("a")), Same("a")), "is kept by []"},
		{"table of open groups", From(source).Select("a").Lookup(Latest("t", From(source).GroupBy("a").TimeToLive(time.Hour).Agg(Count("n")), "a"), Same("a")), "never complete"},
		{"a sink within", From(source).Select("a").Union(From(source).Select("a").To(SinkFunc(func(int64, *Rows) error { return nil }))), "a query within another has no To"},
		{"a limit within", From(source).Select("a").Join(From(source).Select("a", "b").MaxRecords(3), Same("a"), Within{}), "a query within another"},
		{"open groups before another Agg", From(source).Output(Update).GroupBy("a").TimeToLive(time.Hour).Agg(Count("n")).GroupBy("n").TimeToLive(time.Hour).Agg(Count("m")), "never complete"},
		{"groups that live less than nothing", From(source).Output(Update).GroupBy("a").TimeToLive(-1).Agg(Count("n")), "kept for ever"},
		{"process with a column twice", From(source).Process(Processing{Name: "p", Keys: []string{"a"}, Columns: []Column{{Name: "x"}, {Name: "x"}}, TimeToLive: time.Hour,
			State: func() any { return nil }, Row: func(*Context, any, Row) error { return nil }}), `two Columns are named "x"`},
		{"top 0", minute.Agg(Count("n")).Top(0, "n"), "the top 0"},
		{"top of nothing", minute.Agg(Count("n")).Top(1, "m"), `no column "m"`},
		{"union of others", From(source).Select("a").Union(From(source).Select("b")), "want the same names"},
		{"union of nothing", From(source).Select("a").Union(nil), "a union without a second query"},
		{"join of nothing", From(source).Select("a").Join(nil, Same("a"), Within{}), "a join without a second query"},
		{"join of the same columns", From(source).Select("a", "b").Join(From(source).Select("a", "b"), Same("a"), Within{}), `both sides of the join have a column "b"`},
		{"join back in time", From(source).Select("a").Join(From(source).Select("a"), Same("a"), Within{Before: -1}), "want 0 to"},
		{"process without an end", From(source).Process(Processing{Name: "p", Keys: []string{"a"}, Columns: []Column{{Name: "a"}},
			State: func() any { return nil }, Row: func(*Context, any, Row) error { return nil }}), "set TimeToLive"},
		{"a window of nanoseconds", From(source).Window(Tumbling(300)).Agg(Count("n")), "tumbling 300ns: a number alone is nanoseconds"},
		{"a step of nanoseconds", From(source).Window(Sliding(time.Microsecond*900, 300)).Agg(Count("n")), "a number alone is nanoseconds"},
		{"a gap of nanoseconds", From(source).GroupBy("a").Window(Session(30)).Agg(Count("n")), "gaps of 30ns: a number alone"},
		{"a Watermark of nanoseconds", minute.Agg(Count("n")).Watermark(60), "stream: Watermark(60ns): a number alone is nanoseconds; write it with its unit, such as Watermark(30 * time.Second)"},
		{"MaxAhead of nanoseconds", minute.Agg(Count("n")).MaxAhead(10), "MaxAhead(10ns): a number alone"},
		{"MaxDrift of nanoseconds", minute.Agg(Count("n")).MaxDrift(10), "MaxDrift(10ns): a number alone"},
		{"IdleAfter of nanoseconds", minute.Agg(Count("n")).IdleAfter(5), "IdleAfter(5ns): a number alone"},
		{"Trigger of nanoseconds", minute.Agg(Count("n")).Output(Update).Trigger(500), "Trigger(500ns): a number alone"},
		{"MaxTime of nanoseconds", minute.Agg(Count("n")).MaxTime(60), "MaxTime(60ns): a number alone"},
		{"a time to live of nanoseconds", From(source).Output(Update).GroupBy("a").TimeToLive(60).Agg(Count("n")), "TimeToLive(60ns): a number alone"},
		{"a process of nanoseconds", From(source).Process(Processing{Name: "p", Keys: []string{"a"}, Columns: []Column{{Name: "x"}}, TimeToLive: 60,
			State: func() any { return nil }, Row: func(*Context, any, Row) error { return nil }}), "TimeToLive(60ns): a number alone"},
		{"a join before nanoseconds", From(source).Select("a").Join(From(source).Select("a"), Same("a"), Within{Before: 60}), "Before(60ns): a number alone"},
		{"a join after nanoseconds", From(source).Select("a").FullJoin(From(source).Select("a"), Same("a"), Within{time.Minute, 60}), "After(60ns): a number alone"},
		{"a Watermark of nanoseconds in a Union", From(source).Select("a").Union(From(source).Select("a").Watermark(60)), "Watermark(60ns): a number alone"},
		{"a Watermark of nanoseconds in a table", From(source).Select("a").Lookup(Latest("t", From(source).Watermark(60).Select("a"), "a"), Same("a")), "Watermark(60ns): a number alone"},
		{"a key of no group", minute.KeyedBy("id").GroupBy("shop", "city").Agg(Count("n")), `KeyedBy("id") says whose windows a partition closes by itself, and no GroupBy has that path (they have ["shop" "city"])`},
		{"a key and no windows", From(source).KeyedBy("id").Select("id"), `KeyedBy("id") says whose windows a partition closes by itself, and no GroupBy`},
		{"a key in the other query", From(source).Select("id").Union(From(source).KeyedBy("id").Select("id")), `KeyedBy("id")`},
		{"an epoch of no checkpoint", From(source).Select("a").Epoch(time.Second), "add Checkpoint, or leave Epoch out"},
		{"an empty path", From(source).With("x", Field("").Mul(2)).Select("x"), "an empty path; name what it is"},
		{"an empty path alone", From(source).With("x", Field("")).Select("x"), "an empty path; name what it is"},
		{"an empty path of a statistic", minute.Agg(Sum("n", Field(""))), "an empty path; name what it is"},
		{"an empty path of an event time", From(source).EventTime(Field("").AsTime()).Select("x"), "an empty path; name what it is"},
		{"an empty column", From(source).Select("a", ""), "an empty path"},
		{"an empty group", minute.GroupBy("").Agg(Count("n")), "an empty path"},
		{"a number in quotes", From(source).Filter(Field("amount").Gt("10")).Select("id"), `amount > "10": "10" is a text, and no number is above or below one; write 10 without quotes`},
		{"a number in quotes in front", From(source).Filter(Literal("-1.5").Le(Field("amount"))).Select("id"), `write -1.5 without quotes`},
		{"a number in quotes in a condition", minute.Agg(CountIf("n", Not(Field("amount").Lt("10").And(Has("id"))))), "or compare amount.AsText()"},
		{"the other query's fault", From(source).Select("a").Union(From(source).Select("a").Watermark(-1)), "no negative"},
	} {
		t.Run(test.name, func(t *testing.T) {
			running, err := test.query.Start(t.Context())
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want an error with %q", err, test.want)
			}
			if err == nil {
				stop(t, running)
			}
			if err != nil && !strings.Contains(test.query.Explain().String(), "It cannot start: "+strings.TrimPrefix(err.Error(), "start query: ")) {
				t.Errorf("Explain does not say so: %s", test.query.Explain())
			}
		})
	}
}

// TestAKeyThatDoesNothing: a KeyedBy whose windows are not those that partitions close by themselves is noted, also in another query; one that has such windows is not.
func TestAKeyThatDoesNothing(t *testing.T) {
	minute, near := Tumbling(time.Minute), Within{time.Minute, time.Minute}
	count := func(q *Query, w Window) *Query { return q.GroupBy("id").Window(w).Agg(Count("n")) }
	from := func() *Query { return From(Memory("t", [][]Record{nil})).Watermark(time.Minute) }
	keyed := from().KeyedBy("id")
	table := TableOf("t", NewRows(Column{Name: "id"}), "id")
	for _, test := range []struct {
		name, want string // empty: no note
		q          *Query
	}{
		{"sessions", "sessions are closed by the query's watermark", count(keyed, Session(time.Minute))},
		{"behind Deduplicate", `what stands behind "deduplicate`, count(keyed.Deduplicate("a"), minute)},
		{"behind a join", `what stands behind "inner join`, count(keyed.Select("id").Join(from().Select("id", "b"), Same("id"), near), minute)},
		{"behind a union", `what stands behind "union`, count(keyed.Select("id").Union(from().Select("id")), minute)},
		{"behind a lookup", `what stands behind "inner lookup`, count(keyed.Select("id").Lookup(table, Same("id")), minute)},
		{"of the second group", `the first GroupBy does not have that path (it has ["a"])`,
			count(keyed.GroupBy("a").Window(minute).Agg(Max("id", Field("id"))), Tumbling(time.Hour))},
		{"in the other query", "sessions", count(from(), minute).Union(count(keyed, Session(time.Minute)))},
		{"in a table's query", "sessions", from().Select("id").Lookup(Latest("t", count(keyed, Session(time.Minute)), "id"), Same("id"))},

		{"windows", "", count(keyed, minute)},
		{"windows of some keys", "", keyed.GroupBy("a", "id").Window(minute).Agg(Count("n"))},
		{"windows of windows", "", count(count(keyed, minute), Tumbling(time.Hour))},
		{"behind steps without memory", "", count(keyed.Filter(Has("a")).With("b", Field("a")).Explode("b", "c"), minute)},
		{"before Deduplicate", "", count(keyed, minute).Deduplicate("id")},
		{"groups that live", "", keyed.GroupBy("id").TimeToLive(time.Hour).Agg(Count("n")).Output(Update)},
		{"none", "", count(from(), Session(time.Minute))},
	} {
		got := notes(t, test.q)
		if test.want != "" && !noted(got, `KeyedBy("id") does nothing here: `+test.want) || test.want == "" && noted(got, "KeyedBy") {
			t.Errorf("%s: got %q, want a note with %q", test.name, got, test.want)
		}
	}
}

// TestBriefDurationsAreNoted: what is shorter than a millisecond may be meant where times are as fine, and runs.
func TestBriefDurationsAreNoted(t *testing.T) {
	from := func() *Query { return From(Memory("t", [][]Record{nil})).Select("a", "at") }
	second := from().Watermark(time.Second)
	for _, test := range []struct {
		want string // empty: no note
		q    *Query
	}{
		{"Watermark is 60µs: a number alone is nanoseconds. Where more is meant, write it with its unit", from().Watermark(60_000)},
		{"Trigger is 1µs", from().Trigger(1000)},
		{"After is 300µs", second.Join(from().Watermark(time.Second).Select("a"), Same("a"), Within{time.Second, 300 * time.Microsecond})},
		{"Watermark is 5µs", second.Union(from().Watermark(5 * time.Microsecond))},
		{"Truncate is 60ns", from().With("b", Field("at").AsTime().Truncate(60))},
		{"Truncate is 60ns", from().Window(Tumbling(time.Minute)).Agg(CountDistinct("n", Field("at").AsTime().Truncate(60)))},
		{"", from().Watermark(time.Millisecond).IdleAfter(time.Millisecond)},
		{"", from().With("b", Field("at").AsTime().Truncate(time.Microsecond))},
		{"", from().With("b", Field("at").AsTime().Add(60))},
		{"", from().Watermark(0).MaxAhead(0).MaxDrift(0).IdleAfter(0).Trigger(0).MaxTime(0)},
	} {
		got := notes(t, test.q)
		if test.want != "" && !noted(got, test.want) || test.want == "" && noted(got, "a number alone") {
			t.Errorf("%s: got %q, want a note with %q", test.q.Plan(), got, test.want)
		}
	}
}

// TestTextsAreOrdered: a text is compared with what is one, or may be, whatever it says; a number in quotes only with what is known to be a text.
func TestTextsAreOrdered(t *testing.T) {
	source := Memory("t", [][]Record{{{Value: []byte(`{"name":"b","zip":"20"}`)}}})
	for _, condition := range []Expr{Field("name").Gt("a"), Field("zip").AsText().Gt("10"), Literal("30").Gt(Field("zip").AsText()), Field("zip").Eq("20"), Field("zip").Ne("10")} {
		if rows := finish(t, From(source).Filter(condition).Select("name")).Totals().Rows; rows != 1 {
			t.Errorf("%s: got %d rows, want 1", condition, rows)
		}
	}
}

// TestATrunkServesSeveralQueries: what one branch adds is not in the other, nor in the trunk.
func TestATrunkServesSeveralQueries(t *testing.T) {
	trunk := timed(orders).GroupBy("user.city").Window(Tumbling(time.Hour)).Agg(Count("n"))
	before := trunk.Plan()
	sums, most := trunk.Agg(Sum("sum", Field("id"))), trunk.Agg(Max("most", Field("id"))).GroupBy("user.city").Window(Tumbling(2*time.Hour)).Agg(Count("windows"))
	sink := &collector{}
	if a, b := sums.To(sink).Plan(), sums.Plan(); len(a.Sinks) != 1 || len(b.Sinks) != 0 {
		t.Errorf("got sinks %v and %v", a.Sinks, b.Sinks)
	}
	if !trunk.Plan().Equal(before) {
		t.Errorf("the trunk has become %s", trunk.Plan())
	}
	got, _ := run(t, sums)
	want(t, got, `user.city,window_start,window_end,n,sum
		Lima,2026-03-01T12:00:00Z,2026-03-01T13:00:00Z,4,16
		Quito,2026-03-01T12:00:00Z,2026-03-01T13:00:00Z,2,9`)
	got, _ = run(t, most)
	want(t, got, `user.city,window_start,window_end,windows
		Lima,2026-03-01T12:00:00Z,2026-03-01T14:00:00Z,1
		Quito,2026-03-01T12:00:00Z,2026-03-01T14:00:00Z,1`)
}
