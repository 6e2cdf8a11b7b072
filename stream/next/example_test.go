package next_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"strings"
	"time"

	"cancha/stream"
	"cancha/stream/next"
)

// topic is a topic of one partition with these records.
func topic(name, records string) stream.Source {
	var list []stream.Record
	for line := range strings.SplitSeq(strings.TrimSpace(records), "\n") {
		list = append(list, stream.Record{Value: []byte(strings.TrimSpace(line))})
	}
	return stream.Memory(name, [][]stream.Record{list})
}

// print runs a query to its end and prints its rows as CSV.
func print(q *next.Query) {
	running, err := q.Start(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	if err := running.Wait(context.Background()); err != nil {
		log.Fatal(err)
	}
	if err := running.Results().WriteCSV(os.Stdout); err != nil {
		log.Fatal(err)
	}
}

// ordered are orders by their creation, of which some come up to a minute late.
func ordered() *next.Query {
	return next.From(topic("orders", `
		{"id":1,"user":{"name":"Ana","city":"Lima"},"total":10,"created":"2026-03-01T12:00:05Z","items":[{"sku":"tea","n":2},{"sku":"mug","n":1}]}
		{"id":2,"user":{"name":"Ben","city":"Quito"},"total":25,"created":"2026-03-01T12:00:50Z","items":[{"sku":"tea","n":5}]}
		{"id":3,"user":{"name":"Ana","city":"Lima"},"total":30,"created":"2026-03-01T12:01:10Z","items":[{"sku":"pot","n":1}]}
		{"id":3,"user":{"name":"Ana","city":"Lima"},"total":30,"created":"2026-03-01T12:01:10Z","items":[{"sku":"pot","n":1}]}`)).
		EventTime(next.Field("created").AsTime()).Watermark(time.Minute)
}

func ExampleQuery_Window_tumbling() {
	print(ordered().GroupBy("user.city").Window(next.Tumbling(time.Minute)).
		Agg(next.Count("orders"), next.Sum("total", next.Field("total"))))
	// Output:
	// user.city,window_start,window_end,orders,total
	// Lima,2026-03-01T12:00:00Z,2026-03-01T12:01:00Z,1,10
	// Lima,2026-03-01T12:01:00Z,2026-03-01T12:02:00Z,2,60
	// Quito,2026-03-01T12:00:00Z,2026-03-01T12:01:00Z,1,25
}

func ExampleQuery_Window_sliding() {
	print(ordered().GroupBy("user.city").Window(next.Sliding(2*time.Minute, time.Minute)).
		Agg(next.Sum("total", next.Field("total"))).Filter(next.Field("user.city").Eq("Lima")).Drop("window_end"))
	// Output:
	// user.city,window_start,total
	// Lima,2026-03-01T11:59:00Z,10
	// Lima,2026-03-01T12:00:00Z,70
	// Lima,2026-03-01T12:01:00Z,60
}

func ExampleQuery_Window_session() {
	print(ordered().GroupBy("user.name").Window(next.Session(2 * time.Minute)).Agg(next.Count("orders")))
	// Output:
	// user.name,window_start,window_end,orders
	// Ana,2026-03-01T12:00:05Z,2026-03-01T12:03:10Z,3
	// Ben,2026-03-01T12:00:50Z,2026-03-01T12:02:50Z,1
}

func ExampleQuery_Deduplicate() {
	print(ordered().Deduplicate("id").Select("id", "total"))
	// Output:
	// id,total
	// 1,10
	// 2,25
	// 3,30
}

func ExampleQuery_Explode() {
	print(ordered().Deduplicate("id").Explode("items", "item").With("sku", next.Field("item.sku")).With("n", next.Field("item.n")).
		Window(next.Tumbling(time.Hour)).GroupBy("sku").Agg(next.Sum("sold", next.Field("n"))).Select("sku", "sold"))
	// Output:
	// sku,sold
	// mug,1
	// pot,1
	// tea,7
}

func ExampleQuery_Join() {
	payments := next.From(topic("payments", `
		{"order":1,"amount":10,"paid":"2026-03-01T12:00:30Z"}
		{"order":2,"amount":25,"paid":"2026-03-01T12:09:00Z"}`)).
		EventTime(next.Field("paid").AsTime()).Watermark(time.Hour).Select("order", "amount")
	orders := ordered().Deduplicate("id").Select("id", "total")
	on := next.On{Left: []string{"id"}, Right: []string{"order"}}
	print(orders.LeftJoin(payments, on, next.Within{After: 5 * time.Minute}))
	// Output:
	// id,total,order,amount
	// 1,10,1,10
	// 2,25,,
	// 3,30,,
}

func ExampleQuery_Lookup() {
	goods := next.NewRows(next.Column{Name: "sku", Kind: next.Text}, next.Column{Name: "price", Kind: next.Float})
	goods.Append(next.TextOf("tea"), next.FloatOf(2.5))
	goods.Append(next.TextOf("mug"), next.FloatOf(5))
	print(ordered().Explode("items", "item").With("sku", next.Field("item.sku")).With("n", next.Field("item.n")).
		Lookup(next.TableOf("goods", goods, "sku"), next.Same("sku")).
		With("worth", next.Field("n").Mul(next.Field("price"))).Select("id", "sku", "worth"))
	// Output:
	// id,sku,worth
	// 1,mug,5
	// 1,tea,5
	// 2,tea,12.5
}

func ExampleLatest() {
	prices := next.Latest("prices", next.From(topic("prices", `
		{"sku":"tea","price":2}
		{"sku":"tea","price":3}`)).Select("sku", "price"), "sku")
	print(ordered().Explode("items", "item").With("sku", next.Field("item.sku")).
		LeftLookup(prices, next.Same("sku")).Deduplicate("sku").Select("sku", "price"))
	// Output:
	// sku,price
	// mug,
	// pot,
	// tea,3
}

func ExampleQuery_Union() {
	more := next.From(topic("more", `{"id":9,"total":1,"created":"2026-03-01T12:00:00Z"}`)).
		EventTime(next.Field("created").AsTime()).Watermark(time.Minute).Select("id", "total")
	print(ordered().Select("id", "total").Union(more).Filter(next.Field("total").Lt(20)))
	// Output:
	// id,total
	// 1,10
	// 9,1
}

func ExampleQuery_Top() {
	print(ordered().GroupBy("user.city").Window(next.Tumbling(time.Hour)).Agg(next.Sum("total", next.Field("total"))).
		Top(1, "total").Select("user.city", "total"))
	// Output:
	// user.city,total
	// Lima,70
}

func ExampleQuery_Agg() {
	print(ordered().Window(next.Tumbling(time.Hour)).Agg(next.CountDistinct("users", next.Field("user.name")),
		next.Quantile("median", next.Field("total"), 0.5), next.TopK("cities", next.Field("user.city"), 1),
		next.First("first", next.Field("id")), next.CountIf("large", next.Field("total").Gt(20))).
		With("median", next.Field("median").Round(0)).Drop("window_start", "window_end"))
	// Output:
	// users,median,cities,first,large
	// 2,25,"[{""value"":""Lima"",""count"":3}]",1,3
}

func ExampleQuery_Process() {
	type basket struct{ sum float64 }
	print(ordered().Process(next.Processing{Name: "running total", Keys: []string{"user.name"}, Fields: []string{"total"}, TimeToLive: time.Hour,
		Columns: []next.Column{{Name: "user", Kind: next.Text}, {Name: "sum", Kind: next.Float}},
		State:   func() any { return &basket{} },
		Row: func(c *next.Context, state any, row next.Row) error {
			b := state.(*basket)
			b.sum += row.Float("total")
			return c.Emit(c.Key()[0], b.sum)
		}}))
	// Output:
	// user,sum
	// Ana,10
	// Ana,40
	// Ana,70
	// Ben,25
}

func ExampleQuery_MapFunc() {
	initials := func(row next.Row) (any, error) {
		name := row.Text("user.name")
		if name == "" {
			return nil, fmt.Errorf("no name")
		}
		return name[:1], nil
	}
	print(ordered().MapFunc("initial", initials, "user.name").Select("id", "initial").Deduplicate("id"))
	// Output:
	// id,initial
	// 1,A
	// 2,B
	// 3,A
}

func ExampleQuery_DeadLetters() {
	letters := next.SinkFunc(func(_ int64, rows *next.Rows) error {
		fmt.Println(strings.Join(rows.Texts("reason"), "; "))
		return nil
	})
	print(next.From(topic("orders", `
		{"total":10}
		{"total":"ten"}
		{"total":`)).Filter(next.Field("total").Gt(0)).Select("total").DeadLetters(letters))
	// Output:
	// total: want a number, got another text; not JSON: unexpected end of JSON input at byte 9
	// total
	// 10
}

func ExampleCSVFormat() {
	print(next.From(topic("prices", "tea,2.5\n\"mug, blue\",5")).Format(next.CSVFormat("name", "price")).
		With("double", next.Field("price").Mul(2)).Select("name", "double"))
	// Output:
	// name,double
	// "mug, blue",10
	// tea,5
}

func ExampleQuery_Output() {
	changes := 0
	sink := next.SinkFunc(func(_ int64, rows *next.Rows) error { changes += rows.Len(); return nil })
	print(ordered().Output(next.Update).GroupBy("user.city").TimeToLive(24 * time.Hour).Agg(next.Count("orders")).To(sink))
	fmt.Println(changes >= 2)
	// Output:
	// user.city,orders
	// Lima,3
	// Quito,1
	// true
}

func ExampleQuery_Start_refused() {
	_, err := ordered().GroupBy("user.city").Agg(next.Count("orders")).Start(context.Background())
	fmt.Println(err)
	_, err = ordered().Filter(next.Field("total").Contains("x")).Select("items[x]").Start(context.Background())
	fmt.Println(err)
	// Output:
	// start query: aggregate by user.city, no window: orders = count(): stream: without a window a group is never complete; add .Window, or use Output(Update)
	// start query: select items[x]: stream: path "items[x]": "x" is no place in an array, which are 0, 1, 2 and so on; write it as in user.city, items[0].sku or labels["a.b"]
}
