package shop

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"cancha/stream"
)

// The queries of notebook 06, each beside a loop over the same records. The watermark waits for every record, so that nothing is late.

const patient = time.Hour

var simulated = Config{Seed: 5, Records: 6000}

// good are the records of a topic that have all that the queries need, each key of theirs once.
func good[T any](t *testing.T, topic string, key func(T) string) []T {
	var list []T
	seen := map[string]bool{}
	for _, r := range of(t, simulated) {
		var x T
		if r.Topic != topic || json.Unmarshal(r.Value, &x) != nil || seen[key(x)] {
			continue
		}
		seen[key(x)] = true
		list = append(list, x)
	}
	return list
}

func goodOrders(t *testing.T) []Order {
	return good(t, Orders, func(o Order) string { return o.Order })
}

// rowsOf runs a query and returns its rows as texts, in order.
func rowsOf(t *testing.T, q *stream.Query, columns ...string) []string {
	t.Helper()
	running, err := q.Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := running.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	rows := running.Results()
	list := make([]string, rows.Len())
	for i := range list {
		for _, c := range columns {
			v := rows.Row(i).Value(c)
			if v.Kind() == stream.Float {
				list[i] += fmt.Sprintf("%.2f ", v.Float())
				continue
			}
			list[i] += v.String() + " "
		}
	}
	slices.Sort(list)
	return list
}

func compare(t *testing.T, got, want []string) {
	t.Helper()
	slices.Sort(want)
	if len(want) == 0 || slices.Equal(got, want) {
		if len(want) == 0 {
			t.Error("nothing to compare")
		}
		return
	}
	for i := range max(len(got), len(want)) {
		if i >= len(got) || i >= len(want) || got[i] != want[i] {
			t.Fatalf("got %d rows, want %d; from row %d on: got %q, want %q", len(got), len(want), i, got[min(i, len(got)):min(i+3, len(got))], want[min(i, len(want)):min(i+3, len(want))])
		}
	}
}

func query(t *testing.T, topic, at string) *stream.Query {
	source, err := Source(simulated, topic)
	if err != nil {
		t.Fatal(err)
	}
	return stream.From(source).EventTime(stream.Field(at).AsTime()).Watermark(patient)
}

func orders(t *testing.T) *stream.Query {
	return query(t, Orders, "created").Filter(stream.Field("total").Gt(0)).Deduplicate("order")
}

func TestSalesByCity(t *testing.T) {
	type group struct {
		city  string
		start time.Time
	}
	count, sales := map[group]int{}, map[group]float64{}
	for _, o := range goodOrders(t) {
		last := o.Created.Truncate(10 * time.Minute)
		for start := last; start.Add(30 * time.Minute).After(o.Created); start = start.Add(-10 * time.Minute) {
			count[group{o.City, start}]++
			sales[group{o.City, start}] += o.Total
		}
	}
	var want []string
	for g := range count {
		want = append(want, fmt.Sprintf("%s %s %d %.2f ", g.city, g.start.Format(time.RFC3339), count[g], sales[g]))
	}
	got := rowsOf(t, orders(t).GroupBy("city").Window(stream.Sliding(30*time.Minute, 10*time.Minute)).
		Agg(stream.Count("orders"), stream.Sum("sales", stream.Field("total"))), "city", "window_start", "orders", "sales")
	compare(t, got, want)
}

func TestTopTen(t *testing.T) {
	worth := map[time.Time]map[string]float64{}
	for _, o := range goodOrders(t) {
		start := o.Created.Truncate(time.Hour)
		if worth[start] == nil {
			worth[start] = map[string]float64{}
		}
		for _, item := range o.Items {
			i := slices.IndexFunc(articles, func(a article) bool { return a.sku == item.SKU })
			worth[start][articles[i].name] += float64(item.Quantity) * item.Price
		}
	}
	var want []string
	for start, of := range worth {
		names := slices.SortedFunc(maps.Keys(of), func(a, b string) int { return int(of[b]*100) - int(of[a]*100) })
		for _, name := range names[:10] {
			want = append(want, fmt.Sprintf("%s %s %.2f ", start.Format(time.RFC3339), name, of[name]))
		}
	}
	source, err := Source(simulated, Products)
	if err != nil {
		t.Fatal(err)
	}
	products := stream.Latest("products", stream.From(source).Select("sku", "name", "category"), "sku")
	got := rowsOf(t, orders(t).Explode("items", "item").With("sku", stream.Field("item.sku")).
		With("worth", stream.Field("item.price").Mul(stream.Field("item.quantity"))).
		Lookup(products, stream.Same("sku")).GroupBy("name", "category").Window(stream.Tumbling(time.Hour)).
		Agg(stream.Sum("sales", stream.Field("worth"))).Top(10, "sales"), "window_start", "name", "sales")
	compare(t, got, want)
}

func TestUnpaidOrders(t *testing.T) {
	paid := map[string][]time.Time{}
	for _, p := range good(t, Payments, func(p Payment) string { return p.Payment }) {
		paid[p.Order] = append(paid[p.Order], p.Paid)
	}
	var unpaid, all []string
	for _, o := range goodOrders(t) {
		n := 0
		for _, at := range paid[o.Order] {
			if d := at.Sub(o.Created); d >= 0 && d <= 5*time.Minute {
				n++
			}
		}
		if n == 0 {
			unpaid = append(unpaid, o.Order+" ")
		}
		for range max(n, 1) {
			all = append(all, o.Order+" ")
		}
	}
	payments := query(t, Payments, "paid").Filter(stream.Field("amount").Gt(0)).Deduplicate("payment").Select("order", "payment", "amount")
	joined := orders(t).Select("order", "created", "channel", "total").LeftJoin(payments, stream.Same("order"), stream.Within{After: 5 * time.Minute})
	compare(t, rowsOf(t, joined, "order"), all)
	compare(t, rowsOf(t, joined.Filter(stream.Field("payment").IsNull()), "order"), unpaid)

	// What behind the join is counted is neither lost nor late.
	open := 0
	for _, text := range rowsOf(t, joined.Window(stream.Tumbling(30*time.Minute)).Agg(stream.CountIf("unpaid", stream.Field("payment").IsNull())), "unpaid") {
		n := 0
		fmt.Sscan(text, &n)
		open += n
	}
	if open != len(unpaid) {
		t.Errorf("got %d unpaid orders in windows, want %d", open, len(unpaid))
	}
}
