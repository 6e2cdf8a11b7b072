package stream_test

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	. "cancha/stream"
)

// sample is what a seller sold in one minute, kept whole.
type sample struct {
	orders, deliveries, paid int
	total, way               []float64
}

// naive computes the statistics of minutes a second time, from the definitions and in the plainest way: the whole sample of a window is
// kept, and its variance is taken in two passes.
func naive(t testing.TB, all []Record) map[string][]float64 {
	t.Helper()
	type window struct{ shop, start int64 }
	rows, paid := map[window]sellers{}, map[window]int{}
	for _, r := range all {
		var o order
		if err := json.Unmarshal(r.Value, &o); err != nil {
			t.Fatal(err)
		}
		at, err := time.Parse(time.RFC3339, o.At)
		if err != nil {
			t.Fatal(err)
		}
		if o.Seller == nil {
			continue
		}
		w := window{o.Shop, at.Truncate(time.Minute).Unix()}
		if rows[w] == nil {
			rows[w] = sellers{}
		}
		rows[w].of(o.Seller.ID).add(o)
		if o.Cashier != nil {
			paid[w]++
			rows[w].of(o.Cashier.ID).paid++
		}
	}
	want := map[string][]float64{}
	for w, each := range rows {
		for id, s := range each {
			if s.orders > 0 {
				want[fmt.Sprint(w.shop, id, w.start)] = s.values(paid[w])
			}
		}
	}
	return want
}

type sellers map[int64]*sample

func (all sellers) of(id int64) *sample {
	if all[id] == nil {
		all[id] = &sample{}
	}
	return all[id]
}

func (s *sample) add(o order) {
	s.orders++
	if o.Total != nil {
		s.total = append(s.total, *o.Total)
	}
	if o.Kind.ID != 30 {
		return
	}
	s.deliveries++
	if len(o.From) > 1 && len(o.To) > 1 {
		s.way = append(s.way, math.Hypot(o.To[0]-o.From[0], o.To[1]-o.From[1]))
	}
}

func (s *sample) values(paid int) []float64 {
	values := []float64{float64(s.orders), float64(s.deliveries)}
	values = append(append(values, moments(s.total)...), moments(s.way)...)
	if paid == 0 {
		return append(values, math.NaN())
	}
	return append(values, float64(s.paid)/float64(paid))
}

func moments(sample []float64) []float64 {
	n := float64(len(sample))
	m := []float64{n, math.NaN(), math.NaN(), math.NaN(), math.NaN()}
	if n == 0 {
		return m
	}
	sum, squares := 0.0, 0.0
	for _, x := range sample {
		sum += x
	}
	for _, x := range sample {
		squares += (x - sum/n) * (x - sum/n)
	}
	m[1], m[2], m[3] = slices.Min(sample), slices.Max(sample), sum/n
	if n > 1 {
		m[4] = squares / (n - 1)
	}
	return m
}

// checkMinutes compares the rows of minutes with the naive ones: counts exactly, the rest to 1e-9.
func checkMinutes(t *testing.T, rows *Rows, want map[string][]float64) {
	t.Helper()
	if rows.Len() != len(want) || rows.Len() == 0 {
		t.Fatalf("got %d rows, want %d, more than 0", rows.Len(), len(want))
	}
	for i := range rows.Len() {
		row := rows.Row(i)
		name := fmt.Sprint(row.Int("shop"), row.Int("seller.id"), row.Time("window_start").Unix())
		values := want[name]
		if len(values) != len(rows.Columns)-4 {
			t.Fatalf("row %s: got %d statistics, want %d", name, len(rows.Columns)-4, len(values))
		}
		for k, wanted := range values {
			got, column := rows.At(i, k+4).Float(), rows.Columns[k+4]
			if !(math.Abs(got-wanted) <= map[Kind]float64{Int: 0, Float: 1e-9}[column.Kind]) && !(math.IsNaN(got) && math.IsNaN(wanted)) {
				t.Errorf("row %s, %s: got %v, want %v", name, column.Name, got, wanted)
			}
		}
	}
}

func TestStatisticsAreThoseOfAPlainComputation(t *testing.T) {
	all := market(7, 6, 700)
	running := finish(t, minutes(Memory("orders", partitioned(all, 3))))
	checkMinutes(t, running.Results(), naive(t, all))
	totals := running.Totals()
	if totals.Records != int64(len(all)) || totals.Bad != 0 || totals.Late != 0 || totals.Filtered == 0 {
		t.Errorf("got %+v, want %d records, none bad or late, some filtered", totals, len(all))
	}
}

func TestFormOfTheStatistics(t *testing.T) {
	const one = `{"shop":12,"seller":{"id":3},"kind":{"id":17},"total":60.5,"at":"2026-03-01T15:00:00.5Z"}`
	got := csvOf(t, finish(t, minutes(source(one))))
	want(t, got, `shop,seller.id,window_start,window_end,orders,deliveries,total_count,total_min,total_max,total_mean,total_var,`+
		`way_count,way_min,way_max,way_mean,way_var,paid
		12,3,2026-03-01T15:00:00Z,2026-03-01T15:01:00Z,1,0,1,60.5,60.5,60.5,,0,,,,,`)
}

// TestLargeNumbers: no record makes a statistic infinite.
func TestLargeNumbers(t *testing.T) {
	const all = `{"x":1e308}
		{"x":-1e308}
		{"x":1e150}
		{"x":-1e150}
		{"x":1e150}`
	running := finish(t, From(source(all)).Window(Tumbling(time.Hour)).Agg(Stats("x", Field("x")), Sum("sum", Field("x"))))
	if bad := running.BadRecords(); bad.Total != 2 || len(bad.Reasons) != 1 || !strings.Contains(bad.Reasons[0].Reason, "beyond ±1e150") {
		t.Errorf("got %+v, want the two beyond ±1e150", bad)
	}
	rows := running.Results()
	if rows.Len() != 1 || rows.Row(0).Int("x_count") != 3 {
		t.Fatalf("got %v, want one row of three numbers", rows)
	}
	for i, c := range rows.Columns[2:] {
		if x := rows.At(0, i+2).Float(); math.IsInf(x, 0) || math.IsNaN(x) {
			t.Errorf("%s is %v", c.Name, x)
		}
	}
}

// TestAcrossPartitions: where groups may lie in several partitions, their parts come together.
func TestAcrossPartitions(t *testing.T) {
	parts := [][]Record{{event(1, 5, 0), event(1, 5, 61), event(1, 6, 62)}, {event(2, 5, 1), event(2, 5, 70)}}
	if got, want := counts(finish(t, by(Memory("t", parts), "city.id")).Results()), "5@0=2 5@60=2 6@60=1"; got != want {
		t.Errorf("by city: got %s, want %s", got, want)
	}
	split := [][]Record{{event(1, 5, 0)}, {event(1, 5, 1)}}
	if got, want := counts(finish(t, by(Memory("t", split), "shop")).Results()), "1@0=2"; got != want {
		t.Errorf("a shop in two partitions: got %s, want %s", got, want)
	}
	running := finish(t, counting(Memory("t", split)))
	if got, want := counts(running.Results()), "1@0=1"; got != want {
		t.Errorf("a shop in two partitions, keyed: got %s, want %s", got, want)
	}
	if bad := running.BadRecords(); bad.Total != 1 || !strings.Contains(bad.Reasons[0].Reason, "leave out KeyedBy") {
		t.Errorf("got bad records %+v, want one that names KeyedBy", bad)
	}
}

// TestKeyedByIsAPromiseAboutItsPath: a record that breaks it is bad, whatever else its group has for a key. Shares would be wrong otherwise.
func TestKeyedByIsAPromiseAboutItsPath(t *testing.T) {
	split := [][]Record{{event(1, 5, 0), event(2, 5, 1)}, {event(1, 6, 1), event(3, 5, 1)}}
	q := by(Memory("t", split), "shop", "city.id").KeyedBy("shop")
	running := finish(t, q)
	bad := running.BadRecords()
	if bad.Total != 1 || !strings.Contains(bad.Reasons[0].Reason, "key records by shop") || running.Results().Len() != 3 {
		t.Errorf("got %+v and\n%v", bad, running.Results())
	}
}

// TestMergeOrder: statistics that come in parts are those of the whole, and the same parts always give the same bits.
func TestMergeOrder(t *testing.T) {
	all := market(21, 6, 300)
	q := func(parts [][]Record) *Query {
		return From(Memory("t", parts)).EventTime(Field("at").AsTime()).Watermark(time.Hour).Window(Tumbling(time.Minute)).
			Agg(Stats("total", Field("total")), Sum("sum", Field("total")), CountDistinct("kinds", Field("kind.name")))
	}
	whole, parts := finish(t, q(partitioned(all, 1))).Results(), finish(t, q(partitioned(all, 3)))
	merged := parts.Results()
	if whole.Len() != merged.Len() || whole.Len() == 0 {
		t.Fatalf("got %d and %d rows", whole.Len(), merged.Len())
	}
	for i := range whole.Len() {
		for k, c := range whole.Columns[2:] {
			if got, want := merged.At(i, k+2).Float(), whole.At(i, k+2).Float(); math.Abs(got-want) > 1e-9 {
				t.Errorf("%v %s: got %v, want %v", whole.At(i, 0), c.Name, got, want)
			}
		}
	}
	for range 3 {
		if csvOf(t, finish(t, q(partitioned(all, 3)))) != csvOf(t, parts) {
			t.Fatal("two runs over the same partitions differ")
		}
	}
}

func TestGroupByText(t *testing.T) {
	all := records(newGenerator(2).shop(1, 50))
	q := From(Memory("t", [][]Record{all})).EventTime(Field("at").AsTime()).Filter(Field("seller.name").In("Benoît", "nobody")).
		GroupBy("seller.name", "kind.name").Window(Tumbling(time.Hour)).Agg(Count("orders")).Select("seller.name", "kind.name", "window_start")
	want(t, csvOf(t, finish(t, q)), `seller.name,kind.name,window_start
		Benoît,delivery,2026-03-01T15:00:00Z
		Benoît,"pick-up ""ñ""",2026-03-01T15:00:00Z`)
}

func TestConditions(t *testing.T) {
	all := records(newGenerator(4).shop(1, 400))
	count := func(c Expr) int {
		q := From(Memory("t", [][]Record{all})).Window(Tumbling(24 * time.Hour)).Agg(CountIf("n", c))
		return int(finish(t, q).Results().Row(0).Int("n"))
	}
	kind := Field("kind.id")
	sent, fetched, both := count(kind.Eq(30)), count(kind.Eq(43)), count(kind.In(30, 43))
	if sent == 0 || fetched == 0 || sent+fetched != both || both != 400 {
		t.Errorf("sent %d, fetched %d, both %d, want parts of 400", sent, fetched, both)
	}
	for _, each := range []struct {
		name string
		c    Expr
		want int
	}{
		{"not", Not(kind.Eq(30)), 400 - sent},
		{"or", Or(kind.Eq(30), kind.Eq(43), kind.Eq(7)), both},
		{"and", And(kind.Eq(30), kind.Eq(43)), 0},
		{"and of none", And(), 400},
		{"or of none", Or(), 0},
		{"has several", Has("seller", "kind"), count(Has("seller"))},
		{"the first of an array is there or not", Has("from[0]").Not(), 400 - count(Has("from"))},
		{"text", Field("kind.name").Eq("delivery"), sent},
	} {
		if got := count(each.c); got != each.want {
			t.Errorf("%s: got %d, want %d", each.name, got, each.want)
		}
	}
	if low, high := count(Field("from[0]").Between(0, 60)), count(Field("from[0]").Gt(60)); low == 0 || high == 0 || low+high != count(Has("from[0]")) {
		t.Errorf("between: got %d and %d", low, high)
	}
	if got := count(Field("express").Eq(true)); got == 0 || got == 400 {
		t.Errorf("express: got %d", got)
	}
}

func TestWindowsThatSlide(t *testing.T) {
	all := Memory("t", [][]Record{{event(7, 1, 10), event(7, 1, 50), event(7, 1, 130), event(7, 1, 20)}}).BatchSize(1)
	q := From(all).EventTime(Field("at").AsTime()).Watermark(30 * time.Second).GroupBy("shop").
		Window(Sliding(time.Minute, 20*time.Second)).Agg(Count("events"))
	running := finish(t, q)
	// The watermark is at 100 s when the last comes: of its windows the one from 20 s on ends at 80 s, so all three are closed.
	if got, want := counts(running.Results()), "7@-40=1 7@-20=1 7@0=2 7@20=1 7@40=1 7@80=1 7@100=1 7@120=1"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if late := running.Totals().Late; late != 1 {
		t.Errorf("got %d late, want 1", late)
	}
}
