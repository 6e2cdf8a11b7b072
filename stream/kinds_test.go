package stream_test

import (
	"strings"
	"testing"
	"time"

	. "cancha/stream"
)

// mixed are records whose n is a number in the first and the third.
const mixed = `{"id":1,"n":3,"at":"2026-03-01T12:00:00Z","items":[{"n":3}]}
	{"id":2,"n":"ten","at":"2026-03-01T12:00:01Z","items":[{"n":"ten"}]}
	{"id":3,"n":4,"at":"2026-03-01T12:00:02Z","items":[{"n":4}]}
	{"id":4,"n":{"a":1},"at":"2026-03-01T12:00:03Z","items":[{"n":{"a":1}}]}`

// TestWrongKindsBehindMemory: a record with a text where a number is wanted is a bad one, whatever stands between, and takes part in nothing.
func TestWrongKindsBehindMemory(t *testing.T) {
	hour := Tumbling(time.Hour)
	rows := func() *Query { return timed(mixed).Watermark(time.Minute) }
	numbers := rows().Select("id", "n")
	ids := timed(mixed).Watermark(time.Minute).Select("id")
	statistics := []Aggregate{Count("rows"), Sum("sum", Field("n"))}
	latest := Latest("n", rows().Select("id", "n"), "id")
	for name, q := range map[string]*Query{
		"sessions":         rows().Window(Session(time.Hour)).Agg(statistics...),
		"deduplicate":      rows().Deduplicate("id").Window(hour).Agg(statistics...),
		"sessions behind":  numbers.Deduplicate("id").Window(Session(time.Hour)).Agg(statistics...),
		"twice":            numbers.Deduplicate("id").Select("n").Deduplicate("n").Window(hour).Agg(statistics...),
		"another name":     numbers.Deduplicate("id").With("m", Field("n")).Window(hour).Agg(Count("rows"), Sum("sum", Field("m"))),
		"the name of two":  rows().With("m", Field("n")).Select("id", "m").Deduplicate("id").Window(hour).Agg(Count("rows"), Sum("sum", Field("m"))),
		"element":          rows().Explode("items", "item").Select("id", "item.n").Deduplicate("id").Window(hour).Agg(Count("rows"), Sum("sum", Field("item.n"))),
		"join, left":       numbers.Join(ids, Same("id"), Within{}).Window(hour).Agg(statistics...),
		"join, open left":  rows().Join(ids, Same("id"), Within{}).Window(hour).Agg(statistics...),
		"join, right":      ids.Join(numbers, Same("id"), Within{}).Window(hour).Agg(statistics...),
		"join in a join":   ids.Join(ids.Join(numbers, Same("id"), Within{}), Same("id"), Within{}).Window(hour).Agg(statistics...),
		"lookup of latest": ids.Lookup(latest, Same("id")).Window(hour).Agg(statistics...),
		"union":            numbers.Filter(Literal(false)).Union(numbers).Window(hour).Agg(statistics...),
	} {
		got, running := run(t, q.Select("rows", "sum"))
		if got != "rows,sum\n2,7\n" {
			t.Errorf("%s: got %q, want 2 rows and a sum of 7", name, got)
		}
		bad := running.BadRecords()
		for _, r := range bad.Newest {
			if !strings.Contains(r.Reason, "n: want a number, got ") && !strings.Contains(r.Reason, "m: want a number, got ") {
				t.Errorf("%s: got the reason %q", name, r.Reason)
			}
		}
		if bad.Total != 2 && name != "union" || bad.Total < 2 {
			t.Errorf("%s: got %d bad records, want 2", name, bad.Total)
		}
	}
}

// TestKindsThatAreNotWanted: what no step behind wants as a number may be anything, and so may a column of that name that another query gives.
func TestKindsThatAreNotWanted(t *testing.T) {
	rows := timed(mixed).Watermark(time.Minute)
	texts := rows.Select("id", "n")
	other := timed(`{"id":2,"n":5,"at":"2026-03-01T12:00:01Z"}`).Watermark(time.Minute).Select("id", "n")
	for name, each := range map[string]struct {
		q    *Query
		rows string
	}{
		"as it is":          {texts.Deduplicate("id").Filter(Field("id").Ge(2)).Select("n"), "n\n4\nten\n\"{\"\"a\"\":1}\"\n"},
		"as a number or no": {texts.Deduplicate("id").With("n", Field("n").AsNumber()).Filter(Field("n").Gt(3)).Select("n"), "n\n4\n"},
		"of the other":      {texts.Deduplicate("id").Select("id").Join(other, Same("id"), Within{}).With("m", Field("n").Add(1)).Select("id", "m"), "id,m\n2,6\n"},
	} {
		got, running := run(t, each.q)
		if bad := running.BadRecords().Total; got != each.rows || bad != 0 {
			t.Errorf("%s: got %q and %d bad records, want %q and none", name, got, bad, each.rows)
		}
	}
}

// TestTextNumbersBehindMemory: a text that counts as a number in the lane does so behind Deduplicate too.
func TestTextNumbersBehindMemory(t *testing.T) {
	q := timed(`{"id":"1","n":"3","at":"2026-03-01T12:00:00Z"}
		{"id":"2","n":"4.5","at":"2026-03-01T12:00:00Z"}
		{"id":"3","n":"","at":"2026-03-01T12:00:00Z"}`).Format(JSONFormat().TextNumbers()).Watermark(time.Minute)
	got, _ := run(t, q.Deduplicate("id").With("more", Field("n").Add(1)).Select("id", "n", "more"))
	want(t, got, `id,n,more
		1,3,4
		2,4.5,5.5
		3,,`)
}
