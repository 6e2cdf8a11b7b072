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

// notes are those of a query, once it has ended.
func notes(t *testing.T, q *Query) []string {
	t.Helper()
	running := start(t, q)
	if err := running.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	return running.Notes()
}

func noted(notes []string, want string) bool {
	return slices.ContainsFunc(notes, func(note string) bool { return strings.Contains(note, want) })
}

// TestComparisonsThatMeetOtherKindsAlone: a comparison that no value can satisfy is noted; one that meets both kinds in any partition, or nothing, is not.
func TestComparisonsThatMeetOtherKindsAlone(t *testing.T) {
	of := func(values ...string) (records []Record) {
		for _, v := range values {
			records = append(records, Record{Value: fmt.Appendf(nil, `{"a":%s,"s":"x","n":1}`, v)})
		}
		return records
	}
	numbers, texts := of("10", "11.5"), of(`"10"`, `"b"`)
	for _, test := range []struct {
		name    string
		records [][]Record
		steps   func(q *Query) *Query
		want    string // empty: no note
	}{
		{"Eq", [][]Record{numbers, numbers}, func(q *Query) *Query { return q.Filter(Field("a").Eq("10")) }, `a = "10" has met nothing but a number beside a text`},
		{"Eq of what to write", [][]Record{numbers}, func(q *Query) *Query { return q.Filter(Field("a").Eq("10")) }, "write 10 without quotes, or compare a.AsText()"},
		{"Eq in front", [][]Record{numbers}, func(q *Query) *Query { return q.Filter(Literal("10").Eq(Field("a"))) }, "write 10 without quotes, or compare a.AsText()"},
		{"Ne", [][]Record{numbers}, func(q *Query) *Query { return q.Filter(Field("a").Ne("10")) }, "never equal"},
		{"In", [][]Record{numbers}, func(q *Query) *Query { return q.Filter(Field("a").In("10", "11.5")) }, "write 10, 11.5 without quotes"},
		{"Gt", [][]Record{numbers}, func(q *Query) *Query { return q.Filter(Field("a").Gt("abc")) }, `a > "abc" has met nothing but`},
		{"true in quotes", [][]Record{of("true")}, func(q *Query) *Query { return q.Filter(Field("a").Eq("true")) }, "true or false beside a text"},
		{"an object", [][]Record{of(`{"b":1}`)}, func(q *Query) *Query { return q.Filter(Field("a").Eq("b")) }, "JSON beside a text"},
		{"two fields", [][]Record{numbers}, func(q *Query) *Query { return q.Filter(Field("a").Eq(Field("s"))) }, "a = s has met nothing but"},
		{"a condition of a statistic", [][]Record{numbers}, func(q *Query) *Query { return q.Window(Tumbling(time.Hour)).Agg(CountIf("c", Field("a").Eq("10"))) }, "a = \"10\""},
		{"a column", [][]Record{numbers}, func(q *Query) *Query { return q.With("b", Field("a").Eq("10")) }, "a = \"10\""},
		{"an element", [][]Record{of("[1,2]")}, func(q *Query) *Query { return q.Explode("a", "e").Filter(Field("e").Eq("1")) }, "e = \"1\""},
		{"behind an operator", [][]Record{numbers}, func(q *Query) *Query {
			return q.Watermark(time.Minute).Deduplicate("a").Filter(Field("a").Eq("10"))
		}, "a = \"10\""},
		{"an object, in an Or that is never true", [][]Record{of(`{"b":1}`)}, func(q *Query) *Query { return q.Filter(Field("a").Eq("b").Or(Field("n").Eq(2))) }, "JSON beside a text"},
		{"a number, in an Or", [][]Record{numbers}, func(q *Query) *Query { return q.Filter(Field("a").Eq("10").Or(Field("a").Gt(1))) }, "a number beside a text"},

		{"another form of the record", [][]Record{of(`{"b":1}`, `{"b":2}`)}, func(q *Query) *Query { return q.Filter(Field("n").Gt(5).Or(Field("n").Eq(1)).Or(Field("a").Eq("one"))) }, ""},
		{"forms in a chain", [][]Record{of(`{"b":1}`, `{"b":2}`)}, func(q *Query) *Query {
			return q.Filter(Field("a").Eq("one").Or(Field("a").In("two")).Or(Field("n").In(1, 2)))
		}, ""},
		{"both kinds", [][]Record{slices.Concat(numbers, texts)}, func(q *Query) *Query { return q.Filter(Field("a").Eq("10")) }, ""},
		{"each in its partition", [][]Record{numbers, texts}, func(q *Query) *Query { return q.Filter(Field("a").Eq("10")) }, ""},
		{"In of both kinds", [][]Record{numbers}, func(q *Query) *Query { return q.Filter(Field("a").In("b", 10)) }, ""},
		{"texts", [][]Record{texts}, func(q *Query) *Query { return q.Filter(Field("a").In("b", "c").Or(Field("a").Gt("abc"))) }, ""},
		{"nothing", [][]Record{of("null", "null")}, func(q *Query) *Query { return q.Filter(Field("a").Eq("10")) }, ""},
		{"by AsText", [][]Record{numbers}, func(q *Query) *Query { return q.Filter(Field("a").AsText().Eq("10")) }, ""},
		{"integers and numbers", [][]Record{numbers}, func(q *Query) *Query { return q.Filter(Field("a").Eq(Field("n"))) }, ""},
		{"not asked", [][]Record{numbers}, func(q *Query) *Query { return q.Filter(Has("a").Not()).Filter(Field("a").Eq("10")) }, ""},
	} {
		got := notes(t, test.steps(From(Memory("t", test.records)).Select("a", "s", "n")))
		if test.want != "" && !noted(got, test.want) || test.want == "" && noted(got, "never equal") {
			t.Errorf("%s: got %q, want a note with %q", test.name, got, test.want)
		}
	}
}

// TestKeysThatAreNeverEqual: a lookup or a join whose sides have keys of different kinds says so, if it has found nothing.
func TestKeysThatAreNeverEqual(t *testing.T) {
	table := func(keys ...Value) *Table {
		rows := NewRows(Column{Name: "id"}, Column{Name: "label"})
		for _, k := range keys {
			rows.Append(k, TextOf("x"))
		}
		return TableOf("labels", rows, "id")
	}
	var records []Record
	for i := range 20 {
		records = append(records, Record{Key: fmt.Append(nil, i), Value: fmt.Appendf(nil, `{"id":%d,"text":"%d","at":"2026-03-01T12:00:00Z"}`, i, i)})
	}
	of := func() *Query {
		return From(Memory("t", [][]Record{records})).EventTime(Field("at").AsTime()).Watermark(time.Minute)
	}
	left, near := of().Select("id"), Within{time.Minute, time.Minute}
	texts, numbers := of().With("id", Field("text")).With("n", Field("@offset")).Select("id", "n"), of().With("n", Field("@offset")).Select("id", "n")
	const lookup, join = `No row of the lookup has found one in its table: "id" is an integer on the left, and "id" a text on the right`, "No row of the join has found a partner"
	for _, test := range []struct {
		name, want string
		q          *Query
	}{
		{"a lookup", lookup, left.Lookup(table(TextOf("5"), TextOf("6")), Same("id"))},
		{"a lookup that keeps all", lookup, left.LeftLookup(table(TextOf("5")), Same("id"))},
		{"the latest by key", lookup, left.Lookup(Latest("names", of().With("id", Field("@key")).With("n", Field("id")).Select("id", "n"), "id"), Same("id"))},
		{"other names", `"code" is a text on the left, and "id" an integer on the right`, of().With("code", Field("text")).Select("code").
			Lookup(table(IntOf(5)), On{Left: []string{"code"}, Right: []string{"id"}})},
		{"a join", join, left.Join(texts, Same("id"), near)},
		{"a left join", join, left.LeftJoin(texts, Same("id"), near)},
		{"a full join", join, left.FullJoin(texts, Same("id"), near)},
		{"what to write", `With("id", Field("id").AsText()) or AsNumber()`, left.Join(texts, Same("id"), near)},

		{"a lookup of one kind", "", left.Lookup(table(IntOf(5)), Same("id"))},
		{"a lookup of nothing that is there", "", left.Lookup(table(IntOf(500)), Same("id"))},
		{"a lookup in both kinds", "", left.Lookup(table(TextOf("5"), IntOf(500)), Same("id"))},
		{"a number that is whole", "", left.Lookup(table(FloatOf(500)), Same("id"))},
		{"an empty table", "", left.Lookup(table(), Same("id"))},
		{"made of one kind", "", left.With("id", Field("id").AsText()).Lookup(table(TextOf("5")), Same("id"))},
		{"a join of one kind", "", left.Join(numbers, Same("id"), near)},
		{"a join with nothing", "", left.Join(of().Filter(Field("id").Lt(0)).With("n", Field("text")).Select("id", "n"), Same("id"), near)},
	} {
		got := notes(t, test.q)
		if test.want != "" && !noted(got, test.want) || test.want == "" && noted(got, "never equal") {
			t.Errorf("%s: got %q, want a note with %q", test.name, got, test.want)
		}
	}
}

// TestAComparisonIsNotedWhileTheQueryRuns: a query that never ends says so, too.
func TestAComparisonIsNotedWhileTheQueryRuns(t *testing.T) {
	source := Generate("g", 1, 10_000, func(_ int, i int64) Record { return Record{Value: fmt.Appendf(nil, `{"a":%d}`, i)} })
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	running, err := From(source).Filter(Field("a").Eq("10")).Select("a").Start(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for !noted(running.Notes(), `a = "10" has met nothing but an integer beside a text`) {
		if !running.Active() {
			t.Fatalf("it has ended: %v", running.Err())
		}
		time.Sleep(time.Millisecond)
	}
	stop(t, running)
}
