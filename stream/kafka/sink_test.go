package kafka

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"cancha/stream"
	"cancha/stream/broker"
	"cancha/stream/checkpoint"
)

// written reads a topic back: the values by key, in their order.
func written(t *testing.T, cfg Config) map[string]string {
	t.Helper()
	got := map[string]string{}
	h := &recorder{onBatch: func(b stream.Batch) {
		for _, r := range b.Records {
			got[string(r.Key)] += string(r.Value) + " "
		}
	}}
	cfg.Until = closed()
	if err := begin(t, cfg, h).wait(t); err != nil {
		t.Fatal(err)
	}
	return got
}

var columns = []stream.Column{{Name: "minute", Kind: stream.Int}, {Name: "team", Kind: stream.Text}}

// TestSinkWrites: what Write has returned from is in the topic, by key and in order.
func TestSinkWrites(t *testing.T) {
	t.Parallel()
	p := securePorts(t)
	s := Security{User: testUser, Password: testPassword, Mechanism: ScramSHA256}
	topic := topicName(t)
	out := newSink(SinkConfig{Brokers: []string{p.sasl}, Topic: topic, Key: "team", Security: s, Partitions: 1})
	if err := out.Open(t.Context(), columns); err != nil {
		t.Fatal(err)
	}
	for epoch := range 3 {
		rows := stream.NewRows(columns...)
		rows.Append(stream.IntOf(int64(epoch)), stream.TextOf("Boca \"Juniors\""))
		rows.Append(stream.IntOf(int64(epoch)), stream.Value{})
		if err := out.Write(t.Context(), int64(epoch), rows); err != nil {
			t.Fatal(err)
		}
		want := map[string]string{}
		for e := range epoch + 1 {
			want[`Boca "Juniors"`] += fmt.Sprintf(`{"minute":%d,"team":"Boca \"Juniors\""} `, e)
			want[""] += fmt.Sprintf(`{"minute":%d} `, e)
		}
		if got := written(t, Config{Brokers: []string{p.sasl}, Topic: topic, Security: s}); !maps.Equal(got, want) {
			t.Errorf("after write %d: got %v, want %v", epoch, got, want)
		}
	}
	for range 2 {
		if err := out.Close(); err != nil {
			t.Error(err)
		}
	}
	if n, err := CreateTopic(t.Context(), TopicConfig{Brokers: []string{p.sasl}, Topic: topic, Security: s}); n != 1 || err != nil {
		t.Errorf("the topic has %d partitions, %v, want 1", n, err)
	}
}

// TestSinkOpens or says why not, before a query starts.
func TestSinkOpens(t *testing.T) {
	t.Parallel()
	p := securePorts(t)
	for _, row := range []struct {
		name string
		cfg  SinkConfig
		want string
	}{
		{"no such column", SinkConfig{Brokers: []string{p.plain}, Topic: "t", Key: "player"}, `no column "player" for the key among minute, team`},
		{"no topic", SinkConfig{Brokers: []string{p.plain}}, "no topic"},
		{"wrong password", SinkConfig{Brokers: []string{p.sasl}, Topic: "t", Security: Security{User: testUser, Password: "gu3ss-word"}}, "refuses user reader"},
		{"nobody there", SinkConfig{Brokers: []string{"127.0.0.1:1"}, Topic: "t"}, "connection refused"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			begun := time.Now()
			err := newSink(row.cfg).Open(t.Context(), columns)
			if took := time.Since(begun); err == nil || !strings.Contains(err.Error(), row.want) || took > sinkOpening+5*time.Second {
				t.Errorf("got %v after %v, want an error with %q", err, took, row.want)
			}
		})
	}
}

// TestSinkWaitsForItsBroker: rows that are written while the broker is away arrive when it is back, once each.
func TestSinkWaitsForItsBroker(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p, addr := killable(t, "", dir)
	topic := topicName(t)
	out := newSink(SinkConfig{Brokers: []string{addr}, Topic: topic, Partitions: 1})
	if err := out.Open(t.Context(), columns); err != nil {
		t.Fatal(err)
	}
	put := func(ctx context.Context, n int) error {
		rows := stream.NewRows(columns[0])
		rows.Append(stream.IntOf(int64(n)))
		return out.Write(ctx, int64(n), rows)
	}
	for i := range 3 {
		if err := put(t.Context(), 3*i); err != nil {
			t.Fatal(err)
		}
		p.kill()
		back := make(chan *process)
		go func() {
			time.Sleep(500 * time.Millisecond)
			p, _ := killable(t, addr, dir)
			back <- p
		}()
		if err := put(t.Context(), 3*i+1); err != nil {
			t.Fatal(err)
		}
		p = <-back
		if err := put(t.Context(), 3*i+2); err != nil {
			t.Fatal(err)
		}
	}
	want := ""
	for n := range 9 {
		want += fmt.Sprintf(`{"minute":%d} `, n)
	}
	if got := written(t, Config{Brokers: []string{addr}, Topic: topic})[""]; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	p.kill()
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if err := put(ctx, 9); err == nil {
		t.Error("a write without a broker is acknowledged")
	}
	begun := time.Now()
	out.Close()
	if took := time.Since(begun); took > sinkClosing+3*time.Second { // the client has its own wait for a dial
		t.Errorf("Close took %v, want about %v", took, sinkClosing)
	}
}

// TestSinkIsTakenOverAnew: the start of a query with a checkpoint soon tells of brokers that are away; once it has found them it waits for them, longer than
// that, until its context ends; also one that had no partition before.
func TestSinkIsTakenOverAnew(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p, addr := killable(t, "", dir)
	cfg := SinkConfig{Brokers: []string{addr}, Topic: topicName(t), Partitions: 1}
	out, late, standby := newSink(cfg), newSink(cfg), newSink(cfg)
	defer out.Close()
	defer standby.Close()
	mark := stream.Mark{Query: "q", Unit: "u"}
	_, err := out.Resume(t.Context(), columns, mark)
	if err = errors.Join(err, standby.Probe(t.Context(), columns, "")); err != nil {
		t.Fatal(err)
	}
	p.kill()
	again, first := make(chan error, 1), make(chan error, 1)
	resume := func(s *sink, mark stream.Mark, done chan error) {
		_, err := s.Resume(t.Context(), columns, mark)
		done <- err
	}
	go resume(out, mark, again)
	go resume(standby, stream.Mark{Query: "q", Unit: "v"}, first)
	if _, err := late.Resume(t.Context(), columns, mark); err == nil || !strings.Contains(err.Error(), "tried for 10s") || !strings.Contains(err.Error(), "start the query again") {
		t.Errorf("the start of a query: got %v, want that it has tried for a while", err)
	}
	time.Sleep(2 * time.Second) // more than a query that starts would wait
	killable(t, addr, dir)
	if err := <-again; err != nil {
		t.Errorf("a query that runs: %v", err)
	}
	if err := <-first; err != nil {
		t.Errorf("one that runs and had no partition before: %v", err)
	}
	rows := stream.NewRows(columns[0])
	rows.Append(stream.IntOf(1))
	rows.Unit = "u"
	if err := out.Write(t.Context(), 1, rows); err != nil {
		t.Errorf("what it writes then: %v", err)
	}
}

// TestSinkOfTwoQueries: a sink that serves a query refuses another, with a checkpoint or without, until it is closed. The query's other units it takes.
func TestSinkOfTwoQueries(t *testing.T) {
	t.Parallel()
	out := newSink(SinkConfig{Brokers: []string{fake(t)}, Topic: topicName(t), Partitions: 1})
	resume := func(run, unit string) error {
		_, err := out.Resume(t.Context(), columns, stream.Mark{Query: "q " + unit, Unit: unit, Run: run})
		return err
	}
	if err := errors.Join(resume("first", "u"), resume("first", "v"), resume("first", "v")); err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{resume("second", "w"), resume("second", "u"), out.Open(t.Context(), columns)} {
		if err == nil || !strings.Contains(err.Error(), "make one of its own for each query") {
			t.Errorf("another query: got %v", err)
		}
	}
	rows := stream.NewRows(columns[0])
	rows.Append(stream.IntOf(1))
	rows.Unit = "u"
	if err := out.Write(t.Context(), 1, rows); err != nil {
		t.Errorf("what the first writes then: %v", err)
	}
	if err := errors.Join(out.Close(), resume("second", "v"), out.Close()); err != nil {
		t.Errorf("when the first has ended: %v", err)
	}
}

// TestSinkOfAQuery: the rows of a query over one topic are the records of another, which a second query reads.
func TestSinkOfAQuery(t *testing.T) {
	t.Parallel()
	addr := startBroker(t, broker.Config{})
	from, to := topicName(t)+"-from", topicName(t)+"-to"
	p := producer(t, addr, from, 2)
	for i := range 600 {
		value := fmt.Appendf(nil, `{"team":"team %d","at":%q}`, i%3, time.Unix(int64(i), 0).UTC().Format(time.RFC3339))
		if err := p.Send(t.Context(), fmt.Append(nil, i%3), value); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	counts := func(topic string) *stream.Query {
		return stream.From(Source(Config{Brokers: []string{addr}, Topic: topic, Until: closed()}))
	}
	first := counts(from).EventTime(stream.Field("at").AsTime()).GroupBy("team").Window(stream.Tumbling(time.Minute)).
		Agg(stream.Count("events")).To(Sink(SinkConfig{Brokers: []string{addr}, Topic: to, Key: "team", Partitions: 2}))
	total := stream.Sum("events", stream.Field("events"))
	for _, q := range []*stream.Query{first, counts(to).EventTime(stream.Field("window_start").AsTime()).
		GroupBy("team").Window(stream.Tumbling(24*time.Hour)).Agg(total, stream.Count("windows"))} {
		running, err := q.Start(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if err := running.Wait(t.Context()); err != nil {
			t.Fatal(err)
		}
		if q == first {
			continue
		}
		rows := running.Results()
		if rows.Len() != 3 {
			t.Errorf("got %d rows, want 3", rows.Len())
		}
		for i := range rows.Len() {
			if got := string(rows.AppendJSON(nil, i)); !strings.Contains(got, `"events":200`) || !strings.Contains(got, `"windows":10`) {
				t.Errorf("got %s, want 200 events in 10 windows", got)
			}
		}
	}
}

// TestTwoOfOneTopic: two sinks of a topic would have the same transactions, and the epochs of one would be taken for the other's. Without a checkpoint both
// write it.
func TestTwoOfOneTopic(t *testing.T) {
	sink := func(topic, key string, brokers ...string) stream.Sink {
		return Sink(SinkConfig{Brokers: brokers, Topic: topic, Key: key})
	}
	for name, test := range map[string]struct {
		a, b stream.Sink
		want string
	}{
		"one topic":    {sink("sums", "", "a:1", "b:1"), sink("sums", "", "c:1", "b:1"), "two sinks write to topic sums at b:1"},
		"two keys":     {sink("sums", "id", "a:1"), sink("sums", "", "a:1"), "two sinks write to topic sums at a:1"},
		"two topics":   {sink("sums", "", "a:1", "a:1"), sink("others", "", "a:1"), ""},
		"two clusters": {sink("sums", "", "a:1"), sink("sums", "", "b:1"), ""},
	} {
		q := stream.From(stream.Memory("ids", [][]stream.Record{nil})).Select("id").To(test.a).DeadLetters(test.b)
		if got := q.Explain().String(); strings.Contains(got, "It cannot start") {
			t.Errorf("%s, without a checkpoint: %s", name, got)
		}
		got := q.Checkpoint(checkpoint.Folder(t.TempDir())).Explain().String()
		if strings.Contains(got, "It cannot start") != (test.want != "") || !strings.Contains(got, test.want) {
			t.Errorf("%s: got %s, want %q", name, got, test.want)
		}
	}
}
