package compile

import (
	"context"
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	"cancha/spark/internal/connect"
	"cancha/spark/internal/protocol"
	"cancha/stream"
	"cancha/stream/kafka"
	"cancha/stream/plan"
)

// produced writes records to a new topic of the Kafka that CANCHA_KAFKA names, and returns its name. Their time stamps are of now: brokers forget what is old.
func produced(t *testing.T, broker string, of memory, partitions int) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	topic := fmt.Sprintf("%s-%d", of.topic, time.Now().UnixNano())
	p, err := kafka.NewProducer(kafka.ProducerConfig{Brokers: []string{broker}, Topic: topic, Partitions: partitions})
	if err != nil {
		t.Fatal(err)
	}
	for _, list := range of.partitions {
		for _, r := range list {
			if err := p.SendRecord(ctx, stream.Record{Key: r.Key, Value: r.Value}); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := p.Close(ctx); err != nil {
		t.Fatal(err)
	}
	return topic
}

// streamed runs a query until it ends, and returns the rows of its table.
func streamed(t *testing.T, c *connect.Client, of *Compiled) [][]stream.Value {
	t.Helper()
	finished(t, c, of)
	table := &protocol.Relation{Of: &protocol.Relation_Read{Read: &protocol.Read{Of: &protocol.Read_Table_{Table: &protocol.Read_Table{Name: of.Start.Name}}}}}
	return rowsOf(t, c, &Compiled{Rows: table, Columns: of.Columns})
}

// finished runs the start of a query until it ends.
func finished(t *testing.T, c *connect.Client, of *Compiled) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	var id *protocol.QueryID
	err := c.Execute(ctx, command(&protocol.Command{Of: &protocol.Command_Stream{Stream: of.Start}}), func(r *protocol.ExecuteResponse) error {
		if s := r.GetStreamStarted(); s != nil {
			id = s.Id
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	ask := func(q *protocol.QueryCommand) (result *protocol.QueryResult) {
		q.Id = id
		if err := c.Execute(ctx, command(&protocol.Command{Of: &protocol.Command_Query{Query: q}}), func(r *protocol.ExecuteResponse) error {
			if r.GetQuery() != nil {
				result = r.GetQuery()
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		return result
	}
	patience := int64(150_000)
	if !ask(&protocol.QueryCommand{Of: &protocol.QueryCommand_Await_{Await: &protocol.QueryCommand_Await{TimeoutMs: &patience}}}).
		GetAwaited().GetTerminated() {
		t.Fatal("the query did not end")
	}
	if failure := ask(&protocol.QueryCommand{Of: &protocol.QueryCommand_Exception{Exception: true}}).GetFailure(); failure.GetText() != "" {
		t.Fatal(failure.GetText())
	}
}

func command(c *protocol.Command) *protocol.Plan {
	return &protocol.Plan{Of: &protocol.Plan_Command{Command: c}}
}

// ended adds records that are written last, and lie so far ahead that all windows before them are closed.
func ended(of memory) memory {
	at := time.Date(2026, 3, 1, 20, 0, 0, 0, time.UTC)
	var last []stream.Record
	for i := range 60 { // by their keys there are some in each partition of the topic
		last = append(last, stream.Record{Key: fmt.Append(nil, i), Value: fmt.Appendf(nil,
			`{"id":-1,"order":-1,"at":%q,"shop":-1,"user":"nobody"}`, at.Format(time.RFC3339))})
	}
	of.partitions = append(slices.Clone(of.partitions), last)
	return of
}

// TestSameStreams: over a topic of a real Kafka the queries give the same rows on both engines, as streams with their watermarks.
func TestSameStreams(t *testing.T) {
	c := server(t)
	broker := os.Getenv("CANCHA_KAFKA")
	if broker == "" {
		t.Skip("CANCHA_KAFKA names no broker: scripts/kafka.sh with scripts/spark.sh with go test ./spark/internal/compile")
	}
	f := stream.Field
	read := func(of memory) *stream.Query {
		source := kafka.Source(kafka.Config{Brokers: []string{broker}, Topic: produced(t, broker, ended(of), 3)})
		return stream.From(source).EventTime(f("at").AsTime()).Watermark(time.Hour)
	}
	minute, before := stream.Tumbling(time.Minute), f("window_start").Lt("2026-03-01T15:00:00Z")
	orders := read(bought())
	shops := orders.GroupBy("shop").Window(minute)
	amounts := read(paid()).Select("order", "amount")
	on := stream.On{Left: []string{"id"}, Right: []string{"order"}}
	tests := map[string]*stream.Query{
		"select":          orders.Filter(f("total").Gt(50)).Select("id", "user", "@timestamp"),
		"explode":         orders.Explode("items", "item").Select("id", "item.sku"),
		"explode windows": orders.Explode("items", "item").GroupBy("item.sku").Window(minute).Agg(stream.Sum("sold", f("item.count"))).Filter(before),
		"tumbling": shops.Agg(stream.Count("n"), stream.Stats("s", f("total")), stream.First("first", f("id")),
			stream.CountDistinct("skus", f("sku"))).Filter(before),
		"filtered":    orders.Filter(f("user").Ne("nobody")).GroupBy("shop").Window(minute).Agg(stream.Count("n")).Filter(before),
		"sliding":     orders.GroupBy("user").Window(stream.Sliding(time.Minute, 20*time.Second)).Agg(stream.Count("n")).Filter(before),
		"session":     orders.GroupBy("user").Window(stream.Session(20 * time.Second)).Agg(stream.Count("n")).Filter(before),
		"share":       shops.Agg(stream.Count("n"), stream.Share("part", "paid_by", "shop")).Filter(before),
		"top":         orders.GroupBy("shop", "user").Window(minute).Agg(stream.Count("n")).Top(2, "n", "shop").Filter(before),
		"again":       shops.Agg(stream.Count("n")).Window(stream.Tumbling(5 * time.Minute)).Agg(stream.Max("most", f("n"))).Filter(before),
		"update":      shops.Agg(stream.Count("n")).Output(stream.Update),
		"complete":    shops.Agg(stream.Count("n")).Output(stream.Complete),
		"deduplicate": orders.Deduplicate("id").Select("id"),
		"join":        orders.Select("id", "user").Join(amounts, on, stream.Within{After: time.Minute}).Filter(f("id").Ge(0)),
		"left join": orders.Select("id", "user").LeftJoin(amounts, on, stream.Within{Before: time.Minute, After: time.Minute}).
			Filter(f("id").Ge(0)),
		"full join": orders.With("order", f("id")).Select("order", "total").FullJoin(amounts, stream.Same("order"),
			stream.Within{After: time.Minute}).Filter(f("order").Ge(0)),
		"left join windows": orders.Select("id", "user").LeftJoin(amounts, on, stream.Within{Before: time.Minute}).Window(minute).
			Agg(stream.Count("n")).Filter(before),
		"join without keys at the end": orders.GroupBy("sku").Window(minute).Agg(stream.Count("n")).Select("sku", "n").
			Join(orders.Filter(f("user").Ne("nobody")).GroupBy("sku").Window(minute).Agg(stream.Max("most", f("total"))).Select("sku", "most"), stream.Same("sku"),
				stream.Within{}),
		"union": orders.With("n", f("total")).Select("id", "n").Union(amounts.With("n", f("amount")).With("id", f("order")).
			Select("n", "id")),
		"lookup": orders.With("sku", f("sku").Replace("s", "")).Lookup(skus(), stream.Same("sku")).Select("id", "price"),
		"latest": orders.LeftLookup(stream.Latest("amounts", amounts, "order"), on).Select("id", "amount"),
	}
	for name, q := range tests {
		t.Run(name, func(t *testing.T) {
			q := q.Name(fmt.Sprintf("%s %d", name, time.Now().UnixNano())).AvailableNow()
			r, want, _ := localRows(t, q)
			of, err := Query(q.Plan(), Options{})
			if err != nil {
				t.Fatal(err)
			}
			got := streamed(t, c, of)
			if p := q.Plan(); p.Output != "append" {
				got = newest(got, identity(p, r.Columns))
			}
			compare(t, r.Columns, got, want)
		})
	}
}

// TestLate: rows that come behind the watermark by more than a batch are dropped on both engines, and those within the delay count. The topic has one partition:
// of several, Spark takes the watermark of the furthest.
func TestLate(t *testing.T) {
	c := server(t)
	broker := os.Getenv("CANCHA_KAFKA")
	if broker == "" {
		t.Skip("CANCHA_KAFKA names no broker: scripts/kafka.sh with scripts/spark.sh with go test ./spark/internal/compile")
	}
	f, of := stream.Field, bought()
	late := of.partitions[0][:30]
	within := []stream.Record{{Key: []byte("k"), Value: []byte(`{"at":"2026-03-01T19:30:00Z","shop":7,"user":"u"}`)}}
	for range 5 { // more than a batch
		of = ended(of)
	}
	of.partitions = append(of.partitions, late, within)
	last := []stream.Record{}
	for i := range 60 {
		last = append(last, stream.Record{Key: fmt.Append(nil, i), Value: []byte(`{"at":"2026-03-02T20:00:00Z","shop":-2,"user":"nobody"}`)})
	}
	of.partitions = append(of.partitions, last)
	source := kafka.Source(kafka.Config{Brokers: []string{broker}, Topic: produced(t, broker, of, 1)})
	q := stream.From(source).EventTime(f("at").AsTime()).Watermark(time.Hour).GroupBy("shop").Window(stream.Tumbling(time.Minute)).Agg(stream.Count("n")).
		Filter(f("shop").Gt(-2)).AvailableNow().Name(fmt.Sprintf("late %d", time.Now().UnixNano()))
	r, want, totals := localRows(t, q)
	if totals.Late != int64(len(late)) {
		t.Fatalf("%d late rows here, want %d", totals.Late, len(late))
	}
	compare(t, r.Columns, streamed(t, c, compiled(t, q, Options{BatchRecords: 100})), want)
}

// TestSinks: what the cluster writes by itself, to a topic, and to files of each kind, is what the query gives.
func TestSinks(t *testing.T) {
	c := server(t)
	broker := os.Getenv("CANCHA_KAFKA")
	if broker == "" {
		t.Skip("CANCHA_KAFKA names no broker: scripts/kafka.sh with scripts/spark.sh with go test ./spark/internal/compile")
	}
	f := stream.Field
	topic := produced(t, broker, ended(bought()), 3)
	q := stream.From(kafka.Source(kafka.Config{Brokers: []string{broker}, Topic: topic})).EventTime(f("at").AsTime()).Watermark(time.Hour).
		GroupBy("shop", "user").Window(stream.Tumbling(time.Minute)).
		Agg(stream.Count("n"), stream.Mean("mean", f("total")), stream.First("sku", f("sku")), stream.Collect("ids", f("id"), 2)).
		Filter(f("window_start").Lt("2026-03-01T15:00:00Z")).AvailableNow()
	r, want, _ := localRows(t, q.Name("sinks"))
	run := func(sink Sink) {
		t.Helper()
		of, err := Query(q.Name(fmt.Sprintf("sink %d", time.Now().UnixNano())).Plan(), Options{Checkpoint: t.TempDir(), Sink: sink})
		if err != nil {
			t.Fatal(err)
		}
		finished(t, c, of)
	}
	t.Run("kafka", func(t *testing.T) {
		out := &plan.Kafka{Brokers: []string{broker}, Topics: []string{topic + "-out"}}
		run(Sink{Format: "kafka", Kafka: out, Key: "user"})
		_, got, totals := localRows(t, stream.From(kafka.Source(kafka.Config{Brokers: out.Brokers, Topic: out.Topics[0]})).
			Filter(f("@key").Eq(f("user"))).With("window_start", f("window_start").AsTime()).With("window_end", f("window_end").AsTime()).
			Select(r.Names()...).AvailableNow())
		if totals.Bad > 0 {
			t.Errorf("%d bad records", totals.Bad)
		}
		compare(t, r.Columns, got, want)
	})
	for _, format := range []string{"parquet", "json", "csv"} {
		t.Run(format, func(t *testing.T) {
			folder := t.TempDir()
			run(Sink{Format: format, Path: folder})
			source := &protocol.Read_Source{Format: &format, Paths: []string{folder}, Options: map[string]string{"inferSchema": "true"}}
			rows := &protocol.Relation{Of: &protocol.Relation_Read{Read: &protocol.Read{Of: &protocol.Read_Source_{Source: source}}}}
			count := rowsOf(t, c, &Compiled{Rows: group(rows, nil, []*protocol.Expr{named("count(1)", "n")}), Columns: []stream.Column{{Name: "n", Kind: stream.Int}}})
			if n := count[0][0].Int(); n != int64(len(want)) {
				t.Errorf("got %d rows, want %d", n, len(want))
			}
		})
	}
}

// identity are the places of the columns that tell the changed rows of a plan's last aggregation apart.
func identity(p *plan.Plan, columns []stream.Column) (at []int) {
	for _, s := range slices.Backward(p.Steps) {
		if s.Op != plan.Aggregation {
			continue
		}
		for i, c := range columns {
			if slices.Contains(s.Keys, c.Name) || s.Window.Kind != "" && (c.Name == "window_start" || c.Name == "window_end") {
				at = append(at, i)
			}
		}
		return at
	}
	return nil
}

// newest are the last rows of those that are told apart by some columns.
func newest(rows [][]stream.Value, identity []int) (last [][]stream.Value) {
	at := map[string]int{}
	for _, row := range rows {
		var key []byte
		for _, i := range identity {
			key = row[i].AppendKey(key)
		}
		if i, known := at[string(key)]; known {
			last[i] = row
			continue
		}
		at[string(key)] = len(last)
		last = append(last, row)
	}
	return last
}
