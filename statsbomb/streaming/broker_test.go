package streaming_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"cancha/statsbomb"
	"cancha/statsbomb/replay"
	"cancha/statsbomb/simulate"
	"cancha/statsbomb/streaming"
	"cancha/stream"
	"cancha/stream/broker"
	"cancha/stream/kafka"
)

// tee writes records to a topic and keeps them in memory, partition by partition.
type tee struct {
	*kafka.Producer
	partitions [][]stream.Record
}

func (w *tee) Send(ctx context.Context, key, value []byte) error {
	p := kafka.PartitionOf(key, len(w.partitions))
	w.partitions[p] = append(w.partitions[p], stream.Record{Key: key, Value: value})
	return w.Producer.Send(ctx, key, value)
}

// fill replays matches into a broker's topic, and returns the same records in memory.
func fill(t *testing.T, addr string, archive statsbomb.Archive, matches int) (memory stream.Source, records int64) {
	t.Helper()
	producer, err := kafka.NewProducer(kafka.ProducerConfig{Brokers: []string{addr}, Topic: "events", Partitions: 3})
	if err != nil {
		t.Fatal(err)
	}
	n, err := producer.Partitions(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	out := &tee{producer, make([][]stream.Record, n)}
	err = replay.Run(t.Context(), archive, out, replay.Config{Start: time.Date(2026, 3, 1, 15, 0, 0, 0, time.UTC), Seed: 3, Matches: matches,
		Partitions: n, PartitionOf: func(key []byte) int { return kafka.PartitionOf(key, n) }}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := producer.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, p := range out.partitions {
		records += int64(len(p))
	}
	return stream.Memory("events", out.partitions), records
}

// minuteCSV runs the minute statistics and returns windows.csv; nothing may be late, bad or lost.
func minuteCSV(t *testing.T, source stream.Source, records int64) (string, *stream.Running) {
	t.Helper()
	running, err := streaming.MinuteStatistics(source).MaxRecords(records).Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := running.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := running.Totals(); got.Late != 0 || got.Bad != 0 || got.Lost != 0 || got.Records != records {
		t.Errorf("%s: got %+v, want %d records, none late, bad or lost; %+v", source.Description(), got, records, running.BadRecords().Reasons)
	}
	var b bytes.Buffer
	if err := streaming.WriteWindowsCSV(&b, running.Results()); err != nil {
		t.Fatal(err)
	}
	return b.String(), running
}

// restarting restarts the broker under a source after so many batches.
type restarting struct {
	stream.Source
	every   int64
	restart func()
}

func (r restarting) Run(ctx context.Context, h stream.Handler) error {
	return r.Source.Run(ctx, &interrupter{Handler: h, source: r})
}

type interrupter struct {
	stream.Handler
	source  restarting
	batches atomic.Int64
}

func (i *interrupter) Batch(ctx context.Context, b stream.Batch) error {
	if n := i.batches.Add(1); n%i.source.every == 0 && n <= 3*i.source.every {
		i.source.restart()
	}
	return i.Handler.Batch(ctx, b)
}

// TestThroughABroker: the windows of simulated matches are the same bytes from memory, through a broker, and through a broker
// that goes away three times.
func TestThroughABroker(t *testing.T) {
	cfg := broker.Config{Dir: t.TempDir()}
	b, err := broker.Start(cfg)
	if err != nil {
		t.Fatal(err)
	}
	cfg.Addr = b.Addr()
	t.Cleanup(func() { b.Close() })
	memory, records := fill(t, b.Addr(), simulate.New(simulate.Config{Seed: 1}), 4)
	want, _ := minuteCSV(t, memory, records)
	source := kafka.Source(kafka.Config{Brokers: []string{b.Addr()}, Topic: "events", FetchBytes: 1 << 18})
	if got, _ := minuteCSV(t, source, records); got != want {
		t.Error("windows.csv from the broker differs from that from memory")
	}
	var one sync.Mutex
	restart := func() {
		one.Lock() // batches of different partitions come at the same time
		defer one.Unlock()
		if err := b.Close(); err != nil {
			t.Error(err)
		}
		if b, err = broker.Start(cfg); err != nil {
			t.Error(err)
		}
	}
	got, running := minuteCSV(t, restarting{source, 4, restart}, records)
	if got != want {
		t.Error("windows.csv from a broker that went away differs")
	}
	if running.Totals().Retries == 0 {
		t.Error("the query has not noticed that the broker went away")
	}
}

// TestRealMatchesThroughABroker: twenty real matches in random order, no late row.
func TestRealMatchesThroughABroker(t *testing.T) {
	folder := os.Getenv("CANCHA_DATA")
	if folder == "" {
		t.Skip("CANCHA_DATA is not set: no real matches")
	}
	archive, err := statsbomb.OpenFolder(folder)
	if err != nil {
		t.Fatal(err)
	}
	b, err := broker.Start(broker.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	memory, records := fill(t, b.Addr(), archive, 20)
	want, _ := minuteCSV(t, memory, records)
	got, running := minuteCSV(t, kafka.Source(kafka.Config{Brokers: []string{b.Addr()}, Topic: "events"}), records)
	if got != want {
		t.Error("windows.csv from the broker differs from that from memory")
	}
	t.Logf("%d records, %d rows in %v", records, running.Totals().Rows, running.Totals().Elapsed)
}

// TestMalformedThroughABroker: whatever else is in the topic, the good records give what they give alone, and each bad one is
// counted, with its offset and a reason.
func TestMalformedThroughABroker(t *testing.T) {
	b, err := broker.Start(broker.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	event := func(match, more string) string {
		return `{"event":{"match_id":` + match + `,"index":1,"period":1,"type":{"id":30},"team":{"id":7},"location":[1,2]` + more +
			`},"metadata":{"event_time":"2026-03-01T15:00:01.000Z"}}`
	}
	good := []string{event("1", ""), event("1", `,"unknown":{"deep":[{}]}`), event("2", `,"player":{"name":"`+"\xff\xfe"+`"}`),
		event("1", `,"note":"`+strings.Repeat("n", 900_000)+`"`), event("2", `,"pass":null`)}
	bad := []string{"", "null", "[]", `"text"`, "{", "\x00\x01", "\xff", "<xml/>", strings.Repeat("[", 20_000), strings.Repeat("x", 900_000),
		event("one and a half", ""), event("1.5", ""), event("1e400", ""), event(`{"id":1}`, ""), event("1", `,"period":"one"`), event("1", "}"),
		event("1", "")[:100], `{"event":{"match_id":1,"team":{"id":7},"period":1}}`, `{"event":{"match_id":1,"team":{"id":7},"period":1},"metadata":{"event_time":"yesterday"}}`}
	send := func(topic string, values []string) stream.Source {
		p, err := kafka.NewProducer(kafka.ProducerConfig{Brokers: []string{b.Addr()}, Topic: topic, Partitions: 1})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := p.Partitions(t.Context()); err != nil {
			t.Fatal(err)
		}
		for _, v := range values {
			if err := p.Send(t.Context(), []byte("k"), []byte(v)); err != nil {
				t.Fatal(err)
			}
		}
		if err := errors.Join(p.Send(t.Context(), []byte("tombstone"), nil), p.Close(t.Context())); err != nil {
			t.Fatal(err)
		}
		return kafka.Source(kafka.Config{Brokers: []string{b.Addr()}, Topic: topic})
	}
	rows := func(source stream.Source, records int) (string, *stream.BadRecords) {
		running, err := streaming.MinuteStatistics(source).MaxRecords(int64(records)).Start(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if err := running.Wait(t.Context()); err != nil {
			t.Fatal(err)
		}
		var text bytes.Buffer
		if err := streaming.WriteWindowsCSV(&text, running.Results()); err != nil {
			t.Fatal(err)
		}
		return text.String(), running.BadRecords()
	}
	want, none := rows(send("good", good), len(good)+1)
	if none.Total != 1 || strings.Count(want, "\n") != 3 {
		t.Errorf("good records: got %d bad with the tombstone and\n%s", none.Total, want)
	}
	mixed := slices.Concat(bad[:9], good[:2], bad[9:], good[2:])
	got, refused := rows(send("mixed", mixed), len(mixed)+1)
	if got != want {
		t.Errorf("among bad records: got\n%s\nwant\n%s", got, want)
	}
	if refused.Total != int64(len(bad)+1) {
		t.Errorf("got %d bad records, want %d: %+v", refused.Total, len(bad)+1, refused.Reasons)
	}
	for _, r := range refused.Newest {
		if at := int(r.Offset); r.Reason == "" || at < len(mixed) && !strings.HasPrefix(mixed[at], string(r.Value)) {
			t.Errorf("offset %d, reason %q: got value %.40q", r.Offset, r.Reason, r.Value)
		}
		t.Logf("offset %d: %s", r.Offset, r.Reason)
	}
}
