package stream_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	. "cancha/stream"
)

// threeOClock is when the tests' streams begin.
var threeOClock = time.Date(2026, 3, 1, 15, 0, 0, 0, time.UTC)

// event makes a record of a shop and a city at a second after three o'clock.
func event(shop int64, city int, second float64) Record {
	at := threeOClock.Add(time.Duration(second * float64(time.Second)))
	return Record{Value: fmt.Appendf(nil, `{"shop":%d,"city":{"id":%d},"at":%q}`, shop, city, at.Format(time.RFC3339Nano))}
}

// events makes n records of a shop, a second apart.
func events(shop int64, first float64, n int) (all []Record) {
	for i := range n {
		all = append(all, event(shop, 1, first+float64(i)))
	}
	return all
}

// by counts events a minute, grouped by paths; they may come half a minute late.
func by(source Source, paths ...string) *Query {
	return From(source).EventTime(Field("at").AsTime()).Watermark(30 * time.Second).GroupBy(paths...).
		Window(Tumbling(time.Minute)).Agg(Count("events"))
}

// counting counts the events of each shop, all of which lie in one partition.
func counting(source Source) *Query { return by(source, "shop").KeyedBy("shop") }

// counts writes rows as keys@second=count.
func counts(r *Rows) string {
	var parts []string
	start := r.Index("window_start")
	for i := range r.Len() {
		var keys []string
		for k := range start {
			keys = append(keys, r.At(i, k).String())
		}
		second := r.At(i, start).Time().Sub(threeOClock).Seconds()
		parts = append(parts, fmt.Sprintf("%s@%v=%v", strings.Join(keys, ","), second, r.Row(i).Int("events")))
	}
	return strings.Join(parts, " ")
}

// finish runs a query over a source that ends, and returns what came of it.
func finish(t testing.TB, q *Query) *Running {
	t.Helper()
	running := start(t, q)
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	if err := running.Wait(ctx); err != nil {
		t.Fatal(err)
	}
	return running
}

// start runs a query that may not end by itself.
func start(t testing.TB, q *Query) *Running {
	t.Helper()
	running, err := elsewhere(t, q).Start(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return running
}

func stop(t testing.TB, r *Running) {
	t.Helper()
	if err := r.Stop(context.Background()); err != nil {
		t.Error(err)
	}
}

// csvOf is a query's result as CSV.
func csvOf(t testing.TB, r *Running) string {
	t.Helper()
	var b strings.Builder
	if err := r.Results().WriteCSV(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// order is an order of a shop, as its records have it. Pointers are null or absent at times.
type order struct {
	ID      int64     `json:"id"`
	Shop    int64     `json:"shop"`
	Seller  *ref      `json:"seller,omitempty"`  // who sold it
	Cashier *ref      `json:"cashier,omitempty"` // who was paid, one of the two
	Kind    ref       `json:"kind"`
	From    []float64 `json:"from,omitempty"`
	To      []float64 `json:"to"`
	Total   *float64  `json:"total"`
	Express bool      `json:"express,omitempty"`
	Items   []item    `json:"items"`
	At      string    `json:"at"`
}

type ref struct {
	ID   int64  `json:"id"`
	Name string `json:"name"`
}

type item struct {
	SKU string `json:"sku"`
	N   int    `json:"n"`
}

// generator makes orders of our own invention.
type generator struct{ random *rand.Rand }

func newGenerator(seed uint64) *generator { return &generator{rand.New(rand.NewPCG(seed, 1))} }

func (g *generator) cents(limit float64) float64 {
	return math.Round(g.random.Float64()*limit*100) / 100
}

// shop makes n orders of a shop, about 1.5 s apart, in the order of their event time.
func (g *generator) shop(id int64, n int) []order {
	sellers := [2]ref{{2 * id, "Ana"}, {2*id + 1, "Benoît"}}
	orders := make([]order, n)
	at := threeOClock
	for i := range orders {
		at = at.Add(time.Duration(g.random.IntN(3000)) * time.Millisecond)
		orders[i] = g.order(id*1_000_000+int64(i), id, sellers)
		orders[i].At = at.Format("2006-01-02T15:04:05.000Z")
	}
	return orders
}

func (g *generator) order(id, shop int64, sellers [2]ref) order {
	side, total := g.random.IntN(2), g.cents(90)
	paid := side
	if g.random.IntN(10) == 0 {
		paid = 1 - side
	}
	o := order{ID: id, Shop: shop, Seller: &sellers[side], Cashier: &sellers[paid], Kind: ref{30, "delivery"}, Total: &total,
		From: []float64{g.cents(120), g.cents(80)}, To: []float64{g.cents(120), g.cents(80)}, Express: g.random.IntN(5) == 0}
	for range g.random.IntN(4) {
		o.Items = append(o.Items, item{fmt.Sprint("sku-", g.random.IntN(20)), 1 + g.random.IntN(3)})
	}
	switch k := g.random.IntN(100); {
	case k < 40:
		o.Kind = ref{43, "pick-up \"ñ\""}
	case k < 43:
		o.From = nil
	case k < 46:
		o.Cashier = nil
	case k < 49:
		o.Total = nil
	case k == 49:
		o.Seller = nil
	case k == 50:
		o.To = o.To[:1]
	}
	return o
}

// records makes records of orders, in the order of event time, ties by id.
func records(shops ...[]order) []Record {
	all := slices.Concat(shops...)
	slices.SortStableFunc(all, func(a, b order) int {
		if c := strings.Compare(a.At, b.At); c != 0 {
			return c
		}
		return int(a.ID - b.ID)
	})
	made := make([]Record, len(all))
	for i, o := range all {
		value, err := json.Marshal(o)
		if err != nil {
			panic(err) // a test's own data
		}
		made[i] = Record{Key: strconv.AppendInt(nil, o.Shop, 10), Value: value, Time: threeOClock}
	}
	return made
}

// market makes the records of shops with n orders each, with ids from 1.
func market(seed uint64, shops, n int) []Record {
	g := newGenerator(seed)
	var all [][]order
	for id := range shops {
		all = append(all, g.shop(int64(id)+1, n))
	}
	return records(all...)
}

// disordered swaps some records with ones up to a dozen places on, always the same ones.
func disordered(all []Record) []Record {
	all = slices.Clone(all)
	for i := 0; i+28 < len(all); i += 15 {
		all[i], all[i+i%12] = all[i+i%12], all[i]
	}
	return all
}

// partitioned spreads records over n partitions by shop.
func partitioned(all []Record, n int) [][]Record {
	partitions := make([][]Record, n)
	for _, r := range all {
		shop, _ := strconv.Atoi(string(r.Key))
		partitions[shop%n] = append(partitions[shop%n], r)
	}
	return partitions
}

// minutes are the statistics of each seller's orders a minute.
func minutes(source Source) *Query {
	return From(source).EventTime(Field("at").AsTime()).Watermark(30*time.Second).KeyedBy("shop").Filter(Has("seller.id")).
		GroupBy("shop", "seller.id").Window(Tumbling(time.Minute)).
		Agg(Count("orders"), CountIf("deliveries", Field("kind.id").Eq(30)), Stats("total", Field("total")),
			Stats("way", Distance("from", "to")).If(Field("kind.id").Eq(30)), Share("paid", "cashier.id", "seller.id"))
}
