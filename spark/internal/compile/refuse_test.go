package compile

import (
	"slices"
	"strings"
	"testing"
	"time"

	"cancha/spark/internal/protocol"
	"cancha/stream"
	"cancha/stream/plan"
)

func topicOf(name string) *plan.Kafka {
	return &plan.Kafka{Brokers: []string{"kafka:9092"}, Topics: []string{name}}
}

// TestRefuses: what Spark does not do is refused before anything starts, with its name and what to write instead.
func TestRefuses(t *testing.T) {
	f, minute := stream.Field, stream.Tumbling(time.Minute)
	counts := orders().GroupBy("city").Window(minute).Agg(stream.Count("n"))
	both := stream.Within{Before: time.Hour, After: time.Hour}
	on := stream.On{Left: []string{"id"}, Right: []string{"order"}}
	memory := stream.Memory("t", nil)
	tests := []struct {
		name    string
		query   *stream.Query
		options Options
		want    []string // parts of the error
	}{
		{"memory", stream.From(memory).Select("id"), Options{}, []string{"memory t", "topic of Kafka"}},
		{"csv", orders().Format(stream.CSVFormat("id")).Select("id"), Options{}, []string{"CSV of id", "write JSON"}},
		{"func", orders().FilterFunc("known", func(stream.Row) (bool, error) { return true, nil }).Select("id"), Options{},
			[]string{"filter func known", "FilterFunc", "Filter("}},
		{"no columns", orders().Filter(f("x").Gt(1)), Options{}, []string{"add .Select"}},
		{"a word too many", orders().With("x", f("s").Add("a")).Select("x"), Options{}, []string{`"a" is a text; want a number`}},
		{"beyond 2^53", orders().Filter(f("id").Eq(int64(1)<<53 + 1)).Select("id"), Options{}, []string{"2^53", ".AsText()"}},
		{"optional group", orders().With("x", f("s").Extract("(a)?b", 1)).Select("x"), Options{}, []string{"group 1", "((?:…)?)"}},
		{"empty replace", orders().With("x", f("s").Replace("", "b")).Select("x"), Options{}, []string{"replace", "no empty text"}},
		{"layout", orders().With("x", f("t").Format("_2 Jan")).Select("x"), Options{}, []string{"_2", "no counterpart"}},
		{"fraction", orders().With("x", f("t").Format("15:04:05.999")).Select("x"), Options{}, []string{"write .000"}},
		{"nanoseconds", orders().With("x", f("t").Truncate(1500)).Select("x"), Options{}, []string{"whole microseconds"}},
		{"time among others", orders().With("x", stream.If(f("b"), f("@timestamp"), "none")).Select("x"), Options{},
			[]string{"a time stands", ".AsText()"}},
		{"two windows in update", counts.Window(stream.Tumbling(time.Hour)).Agg(stream.Count("m")).Output(stream.Update), Options{},
			[]string{"aggregate", "Output(Append)"}},
		{"share in update", orders().GroupBy("shop").Window(minute).Agg(stream.Share("p", "by", "shop")).Output(stream.Update), Options{},
			[]string{"Share", "Output(Append)"}},
		{"shares of two", orders().GroupBy("shop", "day").Window(minute).Agg(stream.Share("p", "by", "shop"), stream.Share("q", "on",
			"day")), Options{},
			[]string{"two queries"}},
		{"top in complete", counts.Top(1, "n").Output(stream.Complete), Options{}, []string{"Top", "Output(Append)"}},
		{"top of sessions", orders().GroupBy("shop").Window(stream.Session(time.Minute)).Agg(stream.Count("n")).Top(1, "n"), Options{}, []string{"Top of sessions", "Tumbling"}},
		{"top of windows and sessions", counts.Union(orders().GroupBy("city").Window(stream.Session(time.Minute)).Agg(stream.Count("n"))).Top(1, "n"), Options{},
			[]string{"Top of sessions", "Tumbling"}},
		{"share of sessions", orders().GroupBy("shop").Window(stream.Session(time.Minute)).Agg(stream.Share("p", "by", "shop")), Options{}, []string{"sessions", "Tumbling"}},
		{"update without groups", orders().Select("id").Output(stream.Update), Options{}, []string{"update mode", "Output(Append)"}},
		{"windows behind a join", orders().Select("id").Join(payments(), on, both).Window(minute).Agg(stream.Count("n")), Options{},
			[]string{"later of two times", "of 0"}},
		{"both have", orders().Select("id", "amount").Join(payments(), on, both), Options{}, []string{`"amount"`, "With and Drop"}},
		{"a table with windows", orders().Lookup(stream.Latest("cities", counts.Select("city", "n"), "city"), stream.Same("city")).
			Select("n"), Options{},
			[]string{"in a table", "topic"}},
		{"no checkpoint", counts, Options{Sink: Sink{Format: "parquet", Path: "/x"}}, []string{"without a checkpoint"}},
		{"no such sink", counts, Options{Checkpoint: "/x", Sink: Sink{Format: "excel"}}, []string{"excel", "kafka, parquet, csv and json"}},
		{"files in update", counts.Output(stream.Update), Options{Checkpoint: "/x", Sink: Sink{Format: "csv", Path: "/x"}},
			[]string{"files in the update mode"}},
		{"no key", counts, Options{Checkpoint: "/x", Sink: Sink{Format: "kafka", Kafka: topicOf("out"), Key: "town"}}, []string{`"town"`}},
		{"a checkpoint of rows that come back", counts, Options{Checkpoint: "/x"}, []string{"leave Checkpoint out"}},
		{"a name of both quotes", orders().Select(`a["x.\"y"]`), Options{}, []string{"Spark's paths cannot say"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := Query(test.query.Plan(), test.options)
			if err == nil {
				t.Fatal("it was compiled")
			}
			for _, part := range test.want {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("got %q, want %q in it", err, part)
				}
			}
		})
	}
}

// TestKafkaOptions: security and offsets become options of the Java client, and no printing of a plan shows the password.
func TestKafkaOptions(t *testing.T) {
	p := orders().Select("id").Plan()
	p.Input.Kafka = &plan.Kafka{Brokers: []string{"a:1", "b:2"}, Topics: []string{"t", "u"}, User: `re"ader`, Password: "s3cret",
		Mechanism: "SCRAM-SHA-512", TLS: true, Committed: true,
		Offsets: map[string]map[int]int64{"t": {0: 5}, "u": {0: 0, 1: 7}}}
	c, err := Query(p, Options{})
	if err != nil {
		t.Fatal(err)
	}
	options := source(c.Start.Input).GetSource().Options
	want := map[string]string{
		"kafka.bootstrap.servers": "a:1,b:2", "subscribe": "t,u", "kafka.security.protocol": "SASL_SSL", "kafka.sasl.mechanism": "SCRAM-SHA-512",
		"kafka.sasl.jaas.config": `org.apache.kafka.common.security.scram.ScramLoginModule required username="re\"ader" password="s3cret";`,
		"kafka.isolation.level":  "read_committed", "startingOffsets": `{"t":{"0":5},"u":{"0":0,"1":7}}`,
	}
	for key, value := range want {
		if options[key] != value {
			t.Errorf("%s: got %q, want %q", key, options[key], value)
		}
	}
	if len(options) != len(want) {
		t.Errorf("got %d options, want %d: %v", len(options), len(want), options)
	}
	p.Input.Kafka.Private = true
	if _, err := Query(p, Options{}); err == nil || !strings.Contains(err.Error(),
		"kafka.ssl.truststore.location") || strings.Contains(err.Error(), "s3cret") {
		t.Errorf("authorities of this process: got %v", err)
	}
	if _, err := Query(p, Options{Kafka: map[string]string{"kafka.ssl.truststore.location": "/etc/brokers.jks"}}); err != nil {
		t.Error(err)
	}
}

// source is the reading of records at the bottom of a relation of one input.
func source(r *protocol.Relation) *protocol.Read {
	m := r.ProtoReflect()
	for {
		inner := m.WhichOneof(m.Descriptor().Oneofs().ByName("of"))
		of := m.Get(inner).Message()
		if read, ok := of.Interface().(*protocol.Read); ok {
			return read
		}
		m = of.Get(of.Descriptor().Fields().ByName("input")).Message()
	}
}

// TestNotes: what Spark does otherwise is said in a sentence.
func TestNotes(t *testing.T) {
	letters := stream.SinkFunc(func(int64, *stream.Rows) error { return nil })
	q := orders().KeyedBy("city").GroupBy("city").TimeToLive(time.Hour).Agg(stream.Count("n")).Output(stream.Update).AvailableNow().
		Trigger(time.Second).DeadLetters(letters)
	p := q.MaxRecords(1000).Plan()
	p.Input.Kafka.Group = "g"
	c, err := Query(p, Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, word := range []string{"Trigger ", "DeadLetters ", "KeyedBy ", "Group ", "TimeToLive ", "MaxRecords "} {
		if !slices.ContainsFunc(c.Notes, func(n string) bool { return strings.HasPrefix(n, word) }) {
			t.Errorf("no note begins with %q: %q", word, c.Notes)
		}
	}
	if most := source(c.Start.Input).GetSource().Options["maxOffsetsPerTrigger"]; most != "1000" || c.MaxRecords != 1000 {
		t.Errorf("a batch reads %q records at most, the query %d; want 1000 for both", most, c.MaxRecords)
	}
	if len(c.Notes) != 6 || len(c.Observed) != 1 {
		t.Errorf("got %q, observed %q", c.Notes, c.Observed)
	}
}

// TestValueOf: what Spark gives is the value that the local engine would have; what cannot be is an error.
func TestValueOf(t *testing.T) {
	at := time.Date(2026, 3, 1, 12, 0, 0, 5000, time.UTC)
	tests := []struct {
		kind stream.Kind
		x    any
		want stream.Value
	}{
		{stream.Any, `"a\u00e9"`, stream.TextOf("aé")}, {stream.Any, "7", stream.IntOf(7)}, {stream.Any, "1.5", stream.FloatOf(1.5)},
		{stream.Any, "true", stream.BoolOf(true)},
		{stream.Any, `{"a":1}`, stream.JSONOf(`{"a":1}`)}, {stream.JSON, "[]", stream.JSONOf("[]")}, {stream.Any, nil, stream.Value{}},
		{stream.Any, "null", stream.Value{}},
		{stream.Any, "9223372036854775808", stream.FloatOf(9223372036854775808)}, {stream.Text, "7", stream.TextOf("7")}, {stream.Time, at,
			stream.TimeOf(at)},
		{stream.Int, int64(3), stream.IntOf(3)}, {stream.Float, 2.5, stream.FloatOf(2.5)}, {stream.Bool, false, stream.BoolOf(false)},
	}
	for _, test := range tests {
		if got, err := ValueOf(test.kind, test.x); err != nil || got != test.want {
			t.Errorf("%v of %#v: got %v %q, %v, want %q", test.kind, test.x, got.Kind(), got, err, test.want)
		}
	}
	for _, wrong := range []struct {
		kind stream.Kind
		x    any
	}{{stream.Any, ""}, {stream.Any, "x7"}, {stream.Any, `"open`}, {stream.Int, "7"}, {stream.Float, []byte("x")}} {
		if v, err := ValueOf(wrong.kind, wrong.x); err == nil {
			t.Errorf("%v of %#v: got %q", wrong.kind, wrong.x, v)
		}
	}
}
