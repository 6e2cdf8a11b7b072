package stream_test

import (
	"errors"
	"testing"
	"time"

	. "cancha/stream"
)

// baskets are orders with items, one of which has no number.
const baskets = `{"id":1,"total":5,"at":"2026-03-01T12:00:00Z","items":[{"sku":"a","n":1}]}
	{"id":2,"total":6,"at":"2026-03-01T12:00:01Z","items":[{"sku":"c","n":"x"}]}`

// TestSelectOfAnElementThatWasRead: a path of an element that Filter has read before Select names it is still that path's value.
func TestSelectOfAnElementThatWasRead(t *testing.T) {
	got, _ := run(t, timed(baskets).Explode("items", "item").Filter(Field("item.sku").Ne("z")).
		With("double", Field("total").Mul(2)).Select("item.sku", "double"))
	want(t, got, `item.sku,double
		a,10
		c,12`)
}

// TestColumnsOfElementsAreReadAsTheirUse: a column that is an element's path is read as a number where one is wanted, as one of the record is.
func TestColumnsOfElementsAreReadAsTheirUse(t *testing.T) {
	items := timed(baskets).Explode("items", "item")
	for name, q := range map[string]*Query{"path": items, "with": items.With("item.n", Field("item.n")), "select": items.Select("item.n")} {
		got, running := run(t, q.Window(Tumbling(time.Hour)).Agg(Count("items"), Sum("n", Field("item.n"))).Drop("window_start", "window_end"))
		want(t, got, `items,n
			1,1`)
		if bad := running.BadRecords(); bad.Total != 1 || bad.Newest[0].Reason != "item: n: want a number, got another text" {
			t.Errorf("%s: got %+v, want the record without a number", name, bad)
		}
	}
}

// TestABadElementBehindExplode: what a later step makes bad of an element leaves that one out and no other, before it or behind; the record is a bad one once, for
// the reason of the first.
func TestABadElementBehindExplode(t *testing.T) {
	record := `{"id":1,"at":"2026-03-01T12:00:00Z","items":[{"sku":"a","parts":[1,2]},{"parts":[3]},{"sku":7,"parts":4},{"parts":[5]},{"sku":"b","parts":["x",6]}]}`
	items := timed(record).Explode("items", "item")
	hour := func(q *Query, by string) *Query {
		return q.GroupBy(by).Window(Tumbling(time.Hour)).Agg(Count("n")).Drop("window_start", "window_end")
	}
	for _, test := range []struct {
		name, want, reason string
		query              *Query
	}{
		{"key", "item.sku,n\n7,1\na,1\nb,1", "no item.sku", hour(items, "item.sku")},
		{"require", "item.sku,n\na,1\nb,1", "item.sku: want a text, got another number", hour(items.Filter(Has("item.sku")).Require("item.sku", Text), "item.sku")},
		{"rows", "item.sku\n\n\na\nb", "item.sku: want a text, got another number", items.Require("item.sku", Text).Select("item.sku")},
		{"explode", "part\n1\n2\n3\n5\n6\nx", "item.parts: want an array, got an integer", items.Explode("item.parts", "part").Select("part")},
		{"explode and require", "part\n1\n2\n3\n5\n6", "item.parts: want an array, got an integer", items.Explode("item.parts", "part").Require("part", Int).Select("part")},
		{"function", "item.sku,x\n7,1\nb,1", "x: no", items.Filter(Has("item.sku")).MapFunc("x", func(row Row) (any, error) {
			if row.Text("item.sku") == "a" {
				return nil, errors.New("no")
			}
			return 1, nil
		}, "item.sku").Select("item.sku", "x")},
	} {
		got, running := run(t, test.query)
		want(t, got, test.want)
		if bad := running.BadRecords(); bad.Total != 1 || bad.Newest[0].Reason != test.reason {
			t.Errorf("%s: got %+v, want one bad record: %s", test.name, bad, test.reason)
		}
	}
}

// TestElementsOfWhichNothingIsRead: elements that are only counted may be anything; where a member of them is read they are objects.
func TestElementsOfWhichNothingIsRead(t *testing.T) {
	q := timed(`{"id":1,"at":"2026-03-01T12:00:00Z","tags":["a",2,null,[],{}]}`).Explode("tags", "tag")
	got, running := run(t, q.GroupBy("id").Window(Tumbling(time.Hour)).Agg(Count("n")).Drop("window_start", "window_end"))
	want(t, got, "id,n\n1,5")
	if bad := running.BadRecords(); bad.Total != 0 {
		t.Errorf("got %+v, want no bad record", bad)
	}
	if _, running = run(t, q.Select("tag.k")); running.Totals().Bad != 1 {
		t.Errorf("of a member: got %+v, want a bad record", running.BadRecords())
	}
}
