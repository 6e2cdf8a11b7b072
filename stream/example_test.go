package stream_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"strings"
	"time"

	"cancha/stream"
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
func print(q *stream.Query) {
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
func ordered() *stream.Query {
	return stream.From(topic("orders", `
		{"id":1,"user":{"name":"Ana","city":"Lima"},"total":10,"created":"2026-03-01T12:00:05Z","items":[{"sku":"tea","n":2},{"sku":"mug","n":1}]}
		{"id":2,"user":{"name":"Ben","city":"Quito"},"total":25,"created":"2026-03-01T12:00:50Z","items":[{"sku":"tea","n":5}]}
		{"id":3,"user":{"name":"Ana","city":"Lima"},"total":30,"created":"2026-03-01T12:01:10Z","items":[{"sku":"pot","n":1}]}
		{"id":3,"user":{"name":"Ana","city":"Lima"},"total":30,"created":"2026-03-01T12:01:10Z","items":[{"sku":"pot","n":1}]}`)).
		EventTime(stream.Field("created").AsTime()).Watermark(time.Minute)
}

func ExampleQuery_Master() {
	q := ordered().Select("id")
	print(q.Master("local[*]").MaxRecords(2))
	_, err := q.Master("spark://master:7077").Start(context.Background())
	fmt.Println(err)
	// Output:
	// id
	// 1
	// 2
	// start query: stream: where it is to run: "spark://master:7077" is what a Spark Connect server is started with: write sc://HOST:15002, the address of that server
}

// echo is an engine that hands over one row, whatever is asked.
type echo struct{}

func (echo) String() string { return "an echo" }

func (echo) Start(context.Context, stream.Job) (stream.Remote, error) { return echo{}, nil }

func (echo) Run(ctx context.Context, to stream.Receiver) error {
	rows := stream.NewRows(stream.Column{Name: "id", Kind: stream.Int})
	rows.Append(stream.IntOf(7))
	return to.Rows(ctx, 1, rows)
}

func (echo) Stop(context.Context) error { return nil }

func ExampleQuery_On() {
	print(ordered().Select("id").On(echo{}))
	// Output:
	// id
	// 7
}

func ExampleQuery_Filter() {
	total, city := stream.Field("total"), stream.Field("user.city")
	print(ordered().Deduplicate("id").Filter(total.Gt(20).And(city.In("Lima", "Bogotá"))).Select("id", "total"))
	// Output:
	// id,total
	// 3,30
}

func ExampleQuery_Require() {
	q := stream.From(topic("readings", `
		{"sensor":"a","value":3}
		{"sensor":12,"value":4}
		{"sensor":1.5,"value":5}
		{"sensor":{"id":7},"value":6}`)).Require("sensor", stream.Int, stream.Text).Select("sensor", "value")
	print(q)
	running, err := q.Start(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	if err := running.Wait(context.Background()); err != nil {
		log.Fatal(err)
	}
	for _, bad := range running.BadRecords().Newest {
		fmt.Println(bad.Reason)
	}
	// Output:
	// sensor,value
	// 12,4
	// a,3
	// sensor: want an integer or a text, got another number
	// sensor: want an integer or a text, got an object
}

func ExampleQuery_With() {
	name, created := stream.Field("user.name"), stream.Field("created").AsTime()
	print(ordered().Deduplicate("id").
		With("who", name.Upper().Concat(" of ").Concat(stream.Field("user.city"))).
		With("minute", created.Truncate(time.Minute).Format("15:04")).
		With("size", stream.If(stream.Field("total").Ge(25), "large", "small")).
		With("code", stream.Field("coupon").OrElse("none")).
		With("second", stream.Field("items[1].sku")).
		Select("id", "who", "minute", "size", "code", "second"))
	// Output:
	// id,who,minute,size,code,second
	// 1,ANA of Lima,12:00,small,none,mug
	// 2,BEN of Quito,12:00,large,none,
	// 3,ANA of Lima,12:01,large,none,
}

func ExampleQuery_FilterFunc() {
	even := func(row stream.Row) (bool, error) { return row.Int("id")%2 == 0, nil }
	print(ordered().FilterFunc("even", even, "id").Select("id", "total"))
	// Output:
	// id,total
	// 2,25
}

func ExampleQuery_Window_tumbling() {
	print(ordered().GroupBy("user.city").Window(stream.Tumbling(time.Minute)).
		Agg(stream.Count("orders"), stream.Sum("total", stream.Field("total"))))
	// Output:
	// user.city,window_start,window_end,orders,total
	// Lima,2026-03-01T12:00:00Z,2026-03-01T12:01:00Z,1,10
	// Lima,2026-03-01T12:01:00Z,2026-03-01T12:02:00Z,2,60
	// Quito,2026-03-01T12:00:00Z,2026-03-01T12:01:00Z,1,25
}

func ExampleQuery_Window_sliding() {
	print(ordered().GroupBy("user.city").Window(stream.Sliding(2*time.Minute, time.Minute)).
		Agg(stream.Sum("total", stream.Field("total"))).Filter(stream.Field("user.city").Eq("Lima")).Drop("window_end"))
	// Output:
	// user.city,window_start,total
	// Lima,2026-03-01T11:59:00Z,10
	// Lima,2026-03-01T12:00:00Z,70
	// Lima,2026-03-01T12:01:00Z,60
}

func ExampleQuery_Window_session() {
	print(ordered().GroupBy("user.name").Window(stream.Session(2 * time.Minute)).Agg(stream.Count("orders")))
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
	print(ordered().Deduplicate("id").Explode("items", "item").With("sku", stream.Field("item.sku")).With("n", stream.Field("item.n")).
		Window(stream.Tumbling(time.Hour)).GroupBy("sku").Agg(stream.Sum("sold", stream.Field("n"))).Select("sku", "sold"))
	// Output:
	// sku,sold
	// mug,1
	// pot,1
	// tea,7
}

// paid are payments of orders, which come up to an hour late.
func paid() *stream.Query {
	return stream.From(topic("payments", `
		{"order":1,"amount":10,"paid":"2026-03-01T12:00:30Z"}
		{"order":2,"amount":25,"paid":"2026-03-01T12:09:00Z"}`)).
		EventTime(stream.Field("paid").AsTime()).Watermark(time.Hour).Select("order", "amount")
}

var (
	byOrder   = stream.On{Left: []string{"id"}, Right: []string{"order"}}
	inMinutes = stream.Within{After: 5 * time.Minute}
)

func ExampleQuery_Join() {
	print(ordered().Deduplicate("id").Select("id", "total").Join(paid(), byOrder, inMinutes))
	// Output:
	// id,total,order,amount
	// 1,10,1,10
}

func ExampleQuery_LeftJoin() {
	print(ordered().Deduplicate("id").Select("id", "total").LeftJoin(paid(), byOrder, inMinutes))
	// Output:
	// id,total,order,amount
	// 1,10,1,10
	// 2,25,,
	// 3,30,,
}

func ExampleQuery_FullJoin() {
	print(ordered().Deduplicate("id").Select("id", "total").FullJoin(paid(), byOrder, inMinutes))
	// Output:
	// id,total,order,amount
	// ,,2,25
	// 1,10,1,10
	// 2,25,,
	// 3,30,,
}

func ExampleQuery_Lookup() {
	goods := stream.NewRows(stream.Column{Name: "sku", Kind: stream.Text}, stream.Column{Name: "price", Kind: stream.Float})
	goods.Append(stream.TextOf("tea"), stream.FloatOf(2.5))
	goods.Append(stream.TextOf("mug"), stream.FloatOf(5))
	print(ordered().Explode("items", "item").With("sku", stream.Field("item.sku")).With("n", stream.Field("item.n")).
		Lookup(stream.TableOf("goods", goods, "sku"), stream.Same("sku")).
		With("worth", stream.Field("n").Mul(stream.Field("price"))).Select("id", "sku", "worth"))
	// Output:
	// id,sku,worth
	// 1,mug,5
	// 1,tea,5
	// 2,tea,12.5
}

func ExampleLatest() {
	prices := stream.Latest("prices", stream.From(topic("prices", `
		{"sku":"tea","price":2}
		{"sku":"tea","price":3}`)).Select("sku", "price"), "sku")
	print(ordered().Explode("items", "item").With("sku", stream.Field("item.sku")).
		LeftLookup(prices, stream.Same("sku")).Deduplicate("sku").Select("sku", "price"))
	// Output:
	// sku,price
	// mug,
	// pot,
	// tea,3
}

func ExampleQuery_Union() {
	more := stream.From(topic("more", `{"id":9,"total":1,"created":"2026-03-01T12:00:00Z"}`)).
		EventTime(stream.Field("created").AsTime()).Watermark(time.Minute).Select("id", "total")
	print(ordered().Select("id", "total").Union(more).Filter(stream.Field("total").Lt(20)))
	// Output:
	// id,total
	// 1,10
	// 9,1
}

func ExampleQuery_Top() {
	print(ordered().GroupBy("user.city").Window(stream.Tumbling(time.Hour)).Agg(stream.Sum("total", stream.Field("total"))).
		Top(1, "total").Select("user.city", "total"))
	// Output:
	// user.city,total
	// Lima,70
}

func ExampleQuery_Agg() {
	print(ordered().Window(stream.Tumbling(time.Hour)).Agg(stream.CountDistinct("users", stream.Field("user.name")),
		stream.Quantile("median", stream.Field("total"), 0.5), stream.TopK("cities", stream.Field("user.city"), 1),
		stream.First("first", stream.Field("id")), stream.CountIf("large", stream.Field("total").Gt(20))).
		With("median", stream.Field("median").Round(0)).Drop("window_start", "window_end"))
	// Output:
	// users,median,cities,first,large
	// 2,25,"[{""value"":""Lima"",""count"":3}]",1,3
}

func ExampleQuery_Agg_all() {
	print(ordered().Output(stream.Complete).Agg(stream.Count("orders"), stream.Mean("mean", stream.Field("total")), stream.Max("largest", stream.Field("total"))))
	// Output:
	// orders,mean,largest
	// 4,23.75,30
}

func ExampleQuery_Process() {
	type basket struct{ sum float64 }
	print(ordered().Process(stream.Processing{Name: "running total", Keys: []string{"user.name"}, Fields: []string{"total"}, TimeToLive: time.Hour,
		Columns: []stream.Column{{Name: "user", Kind: stream.Text}, {Name: "sum", Kind: stream.Float}},
		State:   func() any { return &basket{} },
		Row: func(c *stream.Context, state any, row stream.Row) error {
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
	initials := func(row stream.Row) (any, error) {
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
	letters := stream.SinkFunc(func(_ int64, rows *stream.Rows) error {
		reasons, err := rows.Strings("reason")
		fmt.Println(strings.Join(reasons, "; "))
		return err
	})
	print(stream.From(topic("orders", `
		{"total":10}
		{"total":"ten"}
		{"total":`)).Filter(stream.Field("total").Gt(0)).Select("total").DeadLetters(letters))
	// Output:
	// total: want a number, got another text; not JSON: unexpected end of JSON input at byte 9
	// total
	// 10
}

func ExampleCSVFormat() {
	print(stream.From(topic("prices", "tea,2.5\n\"mug, blue\",5")).Format(stream.CSVFormat("name", "price")).
		With("double", stream.Field("price").Mul(2)).Select("name", "double"))
	// Output:
	// name,double
	// "mug, blue",10
	// tea,5
}

func ExampleQuery_Output() {
	changes := 0
	sink := stream.SinkFunc(func(_ int64, rows *stream.Rows) error { changes += rows.Len(); return nil })
	print(ordered().Output(stream.Update).GroupBy("user.city").TimeToLive(24 * time.Hour).Agg(stream.Count("orders")).To(sink))
	fmt.Println(changes >= 2)
	// Output:
	// user.city,orders
	// Lima,3
	// Quito,1
	// true
}

func ExampleQuery_Start_refused() {
	_, err := ordered().GroupBy("user.city").Agg(stream.Count("orders")).Start(context.Background())
	fmt.Println(err)
	_, err = ordered().Filter(stream.Field("total").Contains("x")).Select("items[x]").Start(context.Background())
	fmt.Println(err)
	// Output:
	// start query: aggregate by user.city, no window: orders = count(): stream: without a window a group is never complete; add .Window, or use Output(Update)
	// start query: select items[x]: stream: path "items[x]": "x" is no place in an array, which are 0, 1, 2 and so on; write it as in user.city, items[0].sku or labels["a.b"]
}
