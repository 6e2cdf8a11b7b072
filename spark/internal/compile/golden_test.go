package compile

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"

	"cancha/spark/internal/protocol"
	"cancha/stream"
)

var update = flag.Bool("update", false, "write testdata anew")

// golden are queries whose starts are in testdata, one for each thing that a plan can say.
func golden() map[string]struct {
	query   *stream.Query
	options Options
} {
	type g = struct {
		query   *stream.Query
		options Options
	}
	f, minute := stream.Field, stream.Tumbling(time.Minute)
	windows := func(aggregates ...stream.Aggregate) *stream.Query {
		return orders().GroupBy("city").Window(minute).Agg(aggregates...)
	}
	return map[string]g{
		"select":  {orders().Select("id", "@partition", "items[0].sku", `labels["a.b"]`), Options{}},
		"filter":  {orders().Filter(f("total").Gt(10)).Select("id"), Options{}},
		"require": {orders().Require("id", stream.Int, stream.Text).With("n", f("total").Mul(2)).Deduplicate("id", "n").Require("n", stream.Float).Select("id", "n"), Options{}},
		"with":    {orders().With("half", f("total").Div(2)).With("who", f("user.name")).Select("half", "who"), Options{}},
		"drop":    {orders().Select("id", "total").Drop("total"), Options{}},
		"explode": {orders().Explode("items", "item").Filter(f("item.count").Ge(2)).Select("id", "item.sku"), Options{}},
		"explode windows": {orders().Explode("items", "item").GroupBy("item.sku").Window(minute).
			Agg(stream.Sum("sold", f("item.count")), stream.First("first", f("id"))), Options{}},
		"record time": {stream.From(topic("t")).Select("@key", "@value", "@headers.from", "@timestamp"), Options{}},
		"text":        {stream.From(topic("t")).Format(stream.TextFormat()).Filter(f("text").Contains("x")).Select("text"), Options{}},
		"envelope": {stream.From(topic("t")).Format(stream.JSONFormat().Envelope("event", "metadata").Flattened("_")).
			EventTime(f("metadata.at").AsTime()).With("x", f("shot.xg").Mul(2)).Select("x"), Options{}},
		"text numbers": {stream.From(topic("t")).Format(stream.JSONFormat().TextNumbers()).Filter(f("n").Gt(1)).Select("n"), Options{}},
		"tumbling":     {windows(stream.Count("n"), stream.Sum("sum", f("total"))), Options{}},
		"sliding": {orders().GroupBy("city").Window(stream.Sliding(time.Hour, time.Minute)).Agg(stream.CountIf("large",
			f("total").Gt(10))), Options{}},
		"session": {orders().GroupBy("user").Window(stream.Session(5 * time.Minute)).Agg(stream.Count("n")), Options{}},
		"statistics": {windows(stream.Min("min", f("total")), stream.Max("max", f("at").AsTime()), stream.Mean("mean", f("total")),
			stream.Variance("var", f("total")), stream.Stats("s", f("total"))), Options{}},
		"ordered": {windows(stream.First("first", f("id")), stream.Last("last", f("id")), stream.Collect("ids", f("id"), 3)), Options{}},
		"sets": {windows(stream.CountDistinct("ids", f("id")), stream.Quantile("p99", f("total"), 0.99), stream.TopK("skus",
			f("sku"), 3)), Options{}},
		"share": {orders().GroupBy("shop", "day").Window(minute).Agg(stream.Count("n"), stream.Share("part", "paid_by",
			"shop")), Options{}},
		"top":           {windows(stream.Count("n")).Top(3, "n", "city"), Options{}},
		"bottom":        {windows(stream.Count("n")).Bottom(1, "n"), Options{}},
		"top ties":      {windows(stream.Count("n")).TopTies(1, "n"), Options{}},
		"windows again": {windows(stream.Count("n")).Window(stream.Tumbling(time.Hour)).Agg(stream.Max("most", f("n"))), Options{}},
		"update":        {windows(stream.Count("n")).Output(stream.Update).Trigger(time.Second), Options{}},
		"complete":      {orders().GroupBy("city").TimeToLive(time.Hour).Agg(stream.Count("n")).Output(stream.Complete), Options{}},
		"available now": {orders().Select("id").AvailableNow(), Options{Name: "now", BatchRecords: 1000}},
		"deduplicate":   {orders().Deduplicate("id").Select("id", "total"), Options{}},
		"union":         {orders().With("n", f("total")).Select("id", "n").Union(stream.From(topic("more")).Select("n", "id")), Options{}},
		"join": {orders().Select("id", "total").Join(payments(), stream.On{Left: []string{"id"}, Right: []string{"order"}},
			stream.Within{After: time.Hour}), Options{}},
		"left join": {orders().Select("id", "total").LeftJoin(payments(), stream.On{Left: []string{"id"}, Right: []string{"order"}},
			stream.Within{Before: time.Hour}).Window(minute).Agg(stream.Count("n")), Options{}},
		"full join": {orders().With("order", f("id")).Select("order", "total").FullJoin(payments(), stream.Same("order"),
			stream.Within{Before: time.Hour, After: time.Hour}), Options{}},
		"lookup": {orders().Lookup(goods(), stream.Same("sku")).Select("id", "sku", "price"), Options{}},
		"left lookup": {orders().LeftLookup(stream.Latest("prices", stream.From(topic("prices")).Select("sku", "price"), "sku"),
			stream.Same("sku")).Select("id", "price"), Options{}},
		"to kafka": {windows(stream.Count("n"), stream.Mean("mean", f("total")), stream.First("id", f("id"))),
			Options{Checkpoint: "/shared/place", Sink: Sink{Format: "kafka", Kafka: topicOf("out"), Key: "city"}}},
		"to parquet": {windows(stream.Count("n")), Options{Checkpoint: "/shared/place", Sink: Sink{Format: "parquet",
			Path: "/shared/rows", PartBy: []string{"city"}}}},
		"to json":           {windows(stream.Count("n")), Options{Checkpoint: "/shared/place", Sink: Sink{Format: "json", Path: "/shared/rows"}}},
		"filter of windows": {windows(stream.Count("n")).Filter(f("n").Gt(1)).With("rate", f("n").Div(60)), Options{}},
	}
}

// TestGolden: plans become the messages that are in testdata.
func TestGolden(t *testing.T) {
	for name, g := range golden() {
		t.Run(name, func(t *testing.T) {
			got := compiled(t, g.query, g.options).Start
			file := filepath.Join("testdata", strings.ReplaceAll(name, " ", "_")+".txtpb")
			if *update {
				write(t, file, got)
			}
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			want := &protocol.StreamStart{}
			if err := prototext.Unmarshal(text, want); err != nil {
				t.Fatal(err)
			}
			if !proto.Equal(got, want) {
				t.Errorf("got\n%s\nwant\n%s\n(go test -update writes %s anew)", prototext.Format(got), prototext.Format(want), file)
			}
		})
	}
}

// spaces is what prototext varies on purpose, so that nobody compares its texts.
var spaces = regexp.MustCompile(`(?m)^( *\w+:) +`)

func write(t *testing.T, file string, m proto.Message) {
	t.Helper()
	text := spaces.ReplaceAllString(prototext.MarshalOptions{Multiline: true, Indent: " "}.Format(m), "$1 ")
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestGoldenFiles: each file in testdata is a query's.
func TestGoldenFiles(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtpb")
	if err != nil || len(files) != len(golden()) {
		t.Errorf("%d files in testdata for %d queries (%v)", len(files), len(golden()), err)
	}
}

// TestExpressions: expressions become the SQL that is in testdata/expressions.txt.
func TestExpressions(t *testing.T) {
	var b strings.Builder
	for _, e := range expressions() {
		l := &layout{compiler: &compiler{taken: map[string]bool{}}, operators: operators(), bindings: map[string]binding{}}
		for name, kind := range columnKinds() {
			l.name(name, binding{column: name, kind: kind})
		}
		n, err := l.compile(e, stream.Any)
		if err != nil {
			t.Errorf("%s: %v", e, err)
			continue
		}
		fmt.Fprintf(&b, "%s\n  %v: %s\n", e, n.kind, n.sql)
	}
	const file = "testdata/expressions.txt"
	if *update {
		if err := os.WriteFile(file, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got := b.String(); got != string(want) {
		t.Errorf("got\n%s\nwant\n%s\n(go test -update writes %s anew)", got, want, file)
	}
}
