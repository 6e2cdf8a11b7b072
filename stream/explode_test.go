package stream_test

import (
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
