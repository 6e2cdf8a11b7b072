package avro_test

import (
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"cancha/stream"
	"cancha/stream/avro"
	"cancha/stream/broker"
	"cancha/stream/kafka"
)

// measured is a topic of a broker, with n records of both schemas in each of two partitions.
func measured(t *testing.T, n int) stream.Source {
	t.Helper()
	b, err := broker.Start(broker.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Close() })
	brokers := []string{b.Addr()}
	p, err := kafka.NewProducer(kafka.ProducerConfig{Brokers: brokers, Topic: "measured", Partitions: 2})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 2 * n {
		record := first(t, "d"+strconv.Itoa(i%7), i)
		if i%3 == 0 {
			record = second(t, "d"+strconv.Itoa(i%7), float64(i))
		}
		if err := p.Send(t.Context(), []byte(strconv.Itoa(i)), record); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	until := make(chan struct{})
	close(until)
	return kafka.Source(kafka.Config{Brokers: brokers, Topic: "measured", Until: until})
}

// Records come through a broker, and each counts once.
func TestKafka(t *testing.T) {
	const n = 500
	r := devices(t, httptest.NewServer)
	running := run(t, r.query(measured(t, n), avro.Config{}).GroupBy("device").TimeToLive(time.Hour).
		Agg(stream.Count("n"), stream.Sum("sum", stream.Field("value"))).Output(stream.Update))
	var count, sum float64
	rows := running.Results()
	for i := range rows.Len() {
		row := rows.Row(i)
		count += row.Float("n")
		sum += row.Float("sum")
	}
	if count != 2*n || sum != 2*n*(2*n-1)/2 {
		t.Errorf("%v records with a sum of %v, want %d and %d; bad: %v", count, sum, 2*n, 2*n*(2*n-1)/2, running.BadRecords().Reasons)
	}
	if asked := r.asked(); len(asked) != 2 {
		t.Errorf("asked for %v, want each schema once", asked)
	}
}

// A query that waits for a registry while Kafka waits for it ends in order when it is stopped, and with the reason when the registry is given up.
func TestKafkaWhileTheRegistryIsSilent(t *testing.T) {
	var once sync.Once
	asked := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		once.Do(func() { close(asked) })
		<-r.Context().Done()
	}))
	defer server.Close()
	source := measured(t, 10)
	start := func(timeout time.Duration) *stream.Running {
		running, err := stream.From(source).Format(avro.Registry(avro.Config{URL: server.URL, Timeout: timeout})).Select("device").Start(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return running
	}
	stopped := start(time.Hour)
	<-asked
	if err := stopped.Stop(t.Context()); err != nil {
		t.Errorf("stopped: got %v, want an end in order", err)
	}
	failed := start(300 * time.Millisecond)
	if err := failed.Wait(t.Context()); err == nil || !strings.Contains(err.Error(), "no answer in time") {
		t.Errorf("given up: got %v, want an error with %q", err, "no answer in time")
	}
	if bad := failed.BadRecords(); bad.Total != 0 {
		t.Errorf("bad records: %v, want none", bad.Reasons)
	}
}
