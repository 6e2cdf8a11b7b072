package stream_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	. "cancha/stream"
)

// compacted is a record with a key and JSON, or a tombstone where there is none.
func compacted(key, text string) Record {
	r := Record{Key: []byte(key)}
	if text != "" {
		r.Value = []byte(text)
	}
	return r
}

// TestTombstonesAreRecords: a record without a value is one where nothing of the value is asked for; where it is, its reason says what is missing.
func TestTombstonesAreRecords(t *testing.T) {
	csv := CSVFormat("name", "city")
	records := []Record{compacted("a", `{"name":"one"}`), compacted("a", ""), {Key: []byte("b"), Value: []byte{}}}
	for _, row := range []struct {
		name  string
		query func(q *Query) *Query
		want  string
		bad   int64
	}{
		{"its key", func(q *Query) *Query { return q.Select("@key") }, "@key\na\na\n", 1}, // an empty value is no JSON
		{"its key and value", func(q *Query) *Query { return q.With("gone", Not(Has("@value"))).Select("@key", "gone") }, "@key,gone\na,false\na,true\n", 1},
		{"counted by key", func(q *Query) *Query {
			return q.GroupBy("@key").Window(Tumbling(time.Minute)).Agg(Count("n")).Select("@key", "n")
		}, "@key,n\na,2\n", 1},
		{"a field", func(q *Query) *Query { return q.Select("@key", "name") }, "@key,name\na,one\n", 2},
		{"another format", func(q *Query) *Query { return q.Format(csv).Select("@key") }, "@key\na\n", 2}, // JSON and an empty line are no CSV of two columns,
	} {
		running := finish(t, row.query(From(Memory("t", [][]Record{records}))))
		if got := csvOf(t, running); got != row.want || running.Totals().Bad != row.bad {
			t.Errorf("%s: got %q and %d bad, want %q and %d", row.name, got, running.Totals().Bad, row.want, row.bad)
		}
	}
}

// TestLatestDeletesByTombstones: a key whose last record has no value is not in the table, whatever steps without memory its query has.
func TestLatestDeletesByTombstones(t *testing.T) {
	changes := [][]Record{{compacted("a", `{"name":"one","at":"2026-03-01T15:00:00Z"}`), compacted("b", `{"name":"two","at":"2026-03-01T15:00:00Z"}`), compacted("a", ""),
		compacted("c", ""), compacted("d", `{"name":"four","at":"2026-03-01T15:00:00Z"}`), compacted("d", ""), compacted("d", `{"name":"five","at":"2026-03-01T15:00:00Z"}`)}}
	asked := [][]Record{{compacted("1", `{"id":"a"}`), compacted("2", `{"id":"b"}`), compacted("3", `{"id":"c"}`), compacted("4", `{"id":"d"}`)}}
	upper := func(r Row) (any, error) { return r.Value("name"), nil }
	strict := func(r Row) (any, error) {
		if r.Value("name").IsNull() {
			return nil, errors.New("no name")
		}
		return r.Text("name"), nil
	}
	initial := func(r Row) (any, error) { return r.Text("name")[:1], nil } // which panics where there is no name
	known := func(r Row) (bool, error) { return !r.Value("name").IsNull(), nil }
	const want = "id,name\na,\nb,two\nc,\nd,five\n"
	for _, row := range []struct {
		name  string
		steps func(q *Query) *Query
		want  string
		bad   int64
	}{
		{"select", func(q *Query) *Query { return q }, want, 0},
		{"event time", func(q *Query) *Query { return q.EventTime(Field("at").AsTime()) }, want, 0},
		{"filter", func(q *Query) *Query { return q.Filter(Field("name").Ne("none")) }, want, 0},
		{"functions", func(q *Query) *Query { return q.MapFunc("n", upper, "name").FilterFunc("known", known, "name") }, want, 0},
		{"functions that need a value", func(q *Query) *Query { return q.MapFunc("n", strict, "name").MapFunc("i", initial, "name") }, want, 0},
		{"a key of a function that needs a value", func(q *Query) *Query { return q.MapFunc("id", strict, "name") }, "id,name\na,\nb,\nc,\nd,\n", 3},
		{"a key of the value", func(q *Query) *Query { return q.With("id", Field("name")) }, "id,name\na,\nb,\nc,\nd,\n", 3},
	} {
		q := row.steps(From(Memory("names", changes)).With("id", Field("@key"))).Select("id", "name")
		running := finish(t, From(Memory("t", asked)).LeftLookup(Latest("names", q, "id"), Same("id")).Select("id", "name"))
		if got := csvOf(t, running); got != row.want || running.Totals().Bad != row.bad {
			t.Errorf("%s: got %q and %d bad, want %q and %d: %+v", row.name, got, running.Totals().Bad, row.want, row.bad, running.BadRecords().Reasons)
		}
	}
}

// TestTombstonesOfOthersDeleteNothing: in a topic of several types a filter that looks beside the value decides whose tombstone it is. What it asks of the value,
// which a tombstone does not have, keeps none out.
func TestTombstonesOfOthersDeleteNothing(t *testing.T) {
	of := func(kind, key, text string) Record {
		r := compacted(key, text)
		r.Headers = []Header{{Key: "type", Value: []byte(kind)}}
		return r
	}
	changes := [][]Record{{of("user", "1", `{"name":"Ada","age":36}`), of("user", "2", `{"name":"Bob","age":20}`), of("order", "1", `{"name":"none","age":1}`),
		of("order", "1", ""), of("user", "2", "")}}
	asked := [][]Record{{compacted("", `{"id":"1"}`), compacted("", `{"id":"2"}`)}}
	kind, user, grown := Field("@headers.type"), Field("@headers.type").Eq("user"), Field("age").Gt(17)
	isUser := func(column string) func(r Row) (bool, error) {
		return func(r Row) (bool, error) { return r.Text(column) == "user", nil }
	}
	named := func(r Row) (bool, error) { return r.Text("name") != "none", nil }
	typed := func(r Row) (any, error) { return r.Text("@headers.type"), nil }
	const theirs, all = "id,name\n1,Ada\n2,\n", "id,name\n1,\n2,\n"
	for _, row := range []struct {
		name  string
		steps func(q *Query) *Query
		want  string
	}{
		{"a header", func(q *Query) *Query { return q.Filter(user) }, theirs},
		{"its contrary", func(q *Query) *Query { return q.Filter(Not(kind.Ne("user"))) }, theirs},
		{"a header and a field", func(q *Query) *Query { return q.Filter(grown.And(user)) }, theirs},
		{"not another header or field", func(q *Query) *Query { return q.Filter(kind.Eq("order").Or(Not(grown)).Not()) }, theirs},
		{"a header or a field", func(q *Query) *Query { return q.Filter(user.Or(grown)) }, all},
		{"a field", func(q *Query) *Query { return q.Filter(grown) }, all},
		{"not a field", func(q *Query) *Query { return q.Filter(Not(Field("age").Lt(18))) }, all},
		{"the value", func(q *Query) *Query { return q.Filter(Field("@value").Contains("a").And(Field("age").Ne(1))) }, all},
		{"a header that is a field's equal", func(q *Query) *Query { return q.Filter(kind.Eq("user").And(Field("name").Ne(kind))) }, theirs},
		{"a column", func(q *Query) *Query { return q.With("type", kind).Filter(Field("type").Eq("user")) }, theirs},
		{"a computed column", func(q *Query) *Query { return q.With("type", kind.Upper()).Filter(Field("type").Eq("USER")) }, theirs},
		{"a column of the value", func(q *Query) *Query {
			return q.With("type", kind.Concat(Field("age").AsText())).Filter(Field("type").HasPrefix("user"))
		}, all},
		{"a column that hides another", func(q *Query) *Query { return q.With("@topic", Field("name")).Filter(Field("@topic").Ne("none")) }, all},
		{"a selected header", func(q *Query) *Query { return q.Select("@headers.type", "id", "name").Filter(user) }, theirs},
		{"a function", func(q *Query) *Query { return q.FilterFunc("user", isUser("@headers.type"), "@headers.type") }, theirs},
		{"a function of the value, too", func(q *Query) *Query { return q.FilterFunc("user", named, "name", "@headers.type") }, all},
		{"a function's column", func(q *Query) *Query {
			return q.MapFunc("type", typed, "@headers.type").FilterFunc("user", isUser("type"), "type")
		}, theirs},
		{"a topic", func(q *Query) *Query {
			return q.Filter(Field("@topic").Eq("changes")).Filter(Field("@key").Ne("1").Or(user))
		}, theirs},
	} {
		q := row.steps(From(Memory("changes", changes)).With("id", Field("@key"))).Select("id", "name")
		running := finish(t, From(Memory("t", asked)).LeftLookup(Latest("users", q, "id"), Same("id")).Select("id", "name"))
		if got := csvOf(t, running); got != row.want || running.Totals().Bad != 0 {
			t.Errorf("%s: got %q and %d bad, want %q: %+v", row.name, got, running.Totals().Bad, row.want, running.BadRecords().Reasons)
		}
	}
}

// TestTombstonesThatDeleteNothing are told of where rows come of what a tombstone does not have.
func TestTombstonesThatDeleteNothing(t *testing.T) {
	changes := [][]Record{{compacted("a", `{"names":[{"id":"x"}]}`), compacted("a", "")}}
	q := From(Memory("names", changes)).Explode("names", "one").With("id", Field("one.id")).Select("id")
	running := finish(t, From(Memory("t", [][]Record{{compacted("1", `{"id":"x"}`)}})).Lookup(Latest("names", q, "id"), Same("id")).Select("id"))
	want := "a tombstone deletes nothing here: it has no names, whose elements are the table's rows"
	if bad := running.BadRecords(); bad.Total != 1 || bad.Newest[0].Reason != want {
		t.Errorf("got %+v, want one bad record: %s", bad, want)
	}
}

// removals are n changes of some keys, every other of which deletes one.
func removals(n int) (all []Record) {
	for i := range n {
		all = append(all, compacted(fmt.Sprintf("k0-%d", i%7), fmt.Sprintf(`{"name":"%d"}`, i)))
		if i%2 == 0 {
			all = append(all, compacted(fmt.Sprintf("k0-%d", i%5), ""))
		}
	}
	return all
}
