package spark

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"cancha/stream"
	"cancha/stream/broker"
	"cancha/stream/kafka"
)

// brokers is the Kafka that CANCHA_KAFKA names, or one of this process.
func brokers(t *testing.T) []string {
	t.Helper()
	if addr := os.Getenv("CANCHA_KAFKA"); addr != "" {
		return []string{addr}
	}
	b, err := broker.Start(broker.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Close() })
	return []string{b.Addr()}
}

// bought is a new topic with orders of half an hour in three partitions, one of them no JSON, and a last one that closes all windows but its own.
func bought(t *testing.T, brokers []string) kafka.Config {
	t.Helper()
	topic := fmt.Sprintf("bought-%d", time.Now().UnixNano())
	p, err := kafka.NewProducer(kafka.ProducerConfig{Brokers: brokers, Topic: topic, Partitions: 3})
	if err != nil {
		t.Fatal(err)
	}
	first := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	send := func(key int, value string) {
		if err := p.SendRecord(t.Context(), stream.Record{Key: fmt.Append(nil, key), Value: []byte(value)}); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 900 {
		send(i, fmt.Sprintf(`{"at":%q,"shop":%d,"total":%d.5}`, first.Add(time.Duration(i)*2*time.Second).Format(time.RFC3339), i%3, i%97))
	}
	send(0, "no JSON")
	for i := range 30 { // some in each partition
		send(i, fmt.Sprintf(`{"at":%q,"shop":-1,"total":0}`, first.Add(24*time.Hour).Format(time.RFC3339)))
	}
	if err := p.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	return kafka.Config{Brokers: brokers, Topic: topic}
}

// byMinute are the windows of a minute by shop, the last record's among them.
func byMinute(c kafka.Config) *stream.Query {
	return stream.From(kafka.Source(c)).EventTime(stream.Field("at").AsTime()).Watermark(time.Hour).GroupBy("shop").Window(stream.Tumbling(time.Minute)).
		Agg(stream.Count("n"), stream.Mean("mean", stream.Field("total")), stream.Variance("spread", stream.Field("total"))).Name("minutes")
}

// printed are rows as sorted texts, numbers by 9 digits; of the last record, whose window is open, there are none in append mode.
func printed(rows *stream.Rows) []string {
	rows = rows.Filter(func(r stream.Row) bool { return r.Int("shop") >= 0 })
	list := make([]string, rows.Len())
	for i := range list {
		for k := range rows.Columns {
			v := rows.At(i, k)
			if x, ok := v.Number(); ok && x != math.Trunc(x) {
				list[i] += fmt.Sprintf(" %.9g", x)
			} else {
				list[i] += " " + v.String()
			}
		}
	}
	slices.Sort(list)
	return list
}

// liveEngine is an engine of the server that CANCHA_SPARK names.
func liveEngine(t *testing.T, c Config) stream.Engine {
	t.Helper()
	own(t)
	c.Master = master(t)
	e, err := c.Engine(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// TestLiveEngine: windows over a topic give the same rows here and on Spark, in each output mode, by one setting.
func TestLiveEngine(t *testing.T) {
	e := liveEngine(t, Config{BatchRecords: 300}) // several batches
	topic := bought(t, brokers(t))
	for name, mode := range map[string]stream.OutputMode{"append": stream.Append, "update": stream.Update, "complete": stream.Complete} {
		q := byMinute(topic).Output(mode).AvailableNow()
		var got [2]*stream.Running
		for i, q := range []*stream.Query{q.Master("local[*]"), q.On(e)} {
			r, err := q.Start(t.Context())
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if err := r.Wait(t.Context()); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			got[i] = r
		}
		local, spark := printed(got[0].Results()), printed(got[1].Results())
		if !slices.Equal(local, spark) || len(spark) != 90 {
			t.Errorf("%s: %d rows here, %d on Spark\n%s\n%s", name, len(local), len(spark), strings.Join(local, "\n"), strings.Join(spark, "\n"))
		}
		here, there := got[0].Totals(), got[1].Totals()
		if there.Records != here.Records || there.Bad != 1 || here.Bad != 1 {
			t.Errorf("%s: counted %+v here and %+v on Spark", name, here, there)
		}
	}
}

// TestLiveEngineStops: Stop ends a query that would go on, with what has come; MaxRecords does too.
func TestLiveEngineStops(t *testing.T) {
	e := liveEngine(t, Config{})
	topic := bought(t, brokers(t))
	sink := make(heard, 100)
	r, err := byMinute(topic).Output(stream.Update).To(sink).On(e).Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	sink.wait(t)
	if err := r.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if len(printed(r.Results())) != 90 || r.Totals().Records != 931 {
		t.Errorf("it was stopped with %d rows of %d records", r.Results().Len(), r.Totals().Records)
	}
	r, err = byMinute(topic).Output(stream.Update).MaxRecords(200).On(e).Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Wait(t.Context()); err != nil || r.Totals().Records < 200 {
		t.Errorf("with MaxRecords it ended with %v after %d records: %q", err, r.Totals().Records, r.Notes())
	}
}

// TestLiveEngineEnds: a query that waits for the watermark gives its rows out before it ends, by MaxRecords or with a source that ends.
func TestLiveEngineEnds(t *testing.T) {
	e := liveEngine(t, Config{})
	topic := bought(t, brokers(t))
	over := make(chan struct{})
	close(over)
	until := topic
	until.Until = over
	for name, q := range map[string]*stream.Query{"MaxRecords": byMinute(topic).MaxRecords(931), "the source": byMinute(until)} {
		r, err := q.On(e).Start(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if err := r.Wait(t.Context()); err != nil || len(printed(r.Results())) != 90 || r.Totals().Records != 931 {
			t.Errorf("%s: it ended with %v, %d rows of %d records: %q", name, err, r.Results().Len(), r.Totals().Records, r.Notes())
		}
	}
}

// heard is a sink that tells when it is given rows.
type heard chan int

// wait waits until it is given some.
func (h heard) wait(t *testing.T) {
	t.Helper()
	select {
	case <-h:
	case <-time.After(time.Minute):
		t.Fatal("no rows came in a minute")
	}
}

func (h heard) Write(_ context.Context, _ int64, rows *stream.Rows) error {
	h <- rows.Len()
	return nil
}

// TestLiveEngineInterrupted: an interrupt ends the query on the server, and its session.
func TestLiveEngineInterrupted(t *testing.T) {
	e := liveEngine(t, Config{})
	topic := bought(t, brokers(t))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	sink := make(heard, 100)
	far := &watched{Engine: e}
	r, err := byMinute(topic).Output(stream.Update).To(sink).On(far).Start(ctx)
	if err != nil {
		t.Fatal(err)
	}
	sink.wait(t)
	began := time.Now()
	cancel()
	if err := r.Wait(t.Context()); !errors.Is(err, context.Canceled) {
		t.Errorf("it ended with %v", err)
	}
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("it took %v", took)
	}
	var gone *Error
	s, err := Config{Master: e.(engine).config.Master + ";session_id=" + far.session}.Connect(t.Context())
	if err == nil {
		s.Close()
	}
	if !errors.As(err, &gone) || gone.Class != "INVALID_HANDLE.SESSION_CLOSED" {
		t.Errorf("the session: %v, want that it is closed", err)
	}
}

// watched is an engine that keeps which session a query has.
type watched struct {
	stream.Engine
	session string
}

func (w *watched) Start(ctx context.Context, job stream.Job) (stream.Remote, error) {
	far, err := w.Engine.Start(ctx, job)
	if err == nil {
		w.session = far.(*remote).session.ID()
	}
	return far, err
}
