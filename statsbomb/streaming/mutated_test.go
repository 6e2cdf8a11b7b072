package streaming_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"cancha/statsbomb/streaming"
	"cancha/stream"
	"cancha/stream/broker"
	"cancha/stream/file"
	"cancha/stream/kafka"
)

// TestMutatedRecords: 10,000 records with small accidents are bad for the same reasons, equally often, and the others give the same rows, from
// memory, from a file and through a broker, in batches of any size.
func TestMutatedRecords(t *testing.T) {
	all := mutated(simulated(t, 4, 1)[0], 10_000)
	want := outcome(t, stream.Memory("events", [][]stream.Record{all}))
	if want.bad[0] < 5000 || want.bad[1] < want.bad[0] || want.lines[0] < 100 || want.lines[1] < 2000 {
		t.Fatalf("got %d and %d bad records, %d and %d lines: these accidents are too few, or too many", want.bad[0], want.bad[1], want.lines[0], want.lines[1])
	}
	t.Logf("minute statistics: %d bad, %d rows; scoring: %d bad, %d predictions", want.bad[0], want.lines[0]-1, want.bad[1], want.lines[1]-1)
	for name, source := range map[string]stream.Source{
		"batches of 1":     stream.Memory("events", [][]stream.Record{all}).BatchSize(1),
		"batches of 61":    stream.Memory("events", [][]stream.Record{all}).BatchSize(61),
		"one batch":        stream.Memory("events", [][]stream.Record{all}).BatchSize(len(all)),
		"a file of lines":  inFile(t, all),
		"through a broker": inBroker(t, all, 1<<20),
		"in small fetches": inBroker(t, all, 1<<14),
	} {
		t.Run(name, func(t *testing.T) {
			got := outcome(t, source)
			if got.bad != want.bad {
				t.Errorf("got %d bad records, want %d", got.bad, want.bad)
			}
			if got.reasons != want.reasons {
				t.Errorf("reasons differ: got\n%.2000s\nwant\n%.2000s", got.reasons, want.reasons)
			}
			if got.text != want.text {
				t.Error("windows.csv or predictions.csv differs")
			}
		})
	}
}

// result is what the two queries make of records.
type result struct {
	bad     [2]int64
	lines   [2]int
	reasons string
	text    string
}

// outcome runs both queries over a source of 10,000 records. The watermark is a day behind: an accident in a time must not make all others late.
func outcome(t *testing.T, source stream.Source) (r result) {
	t.Helper()
	minutes := finish(t, streaming.MinuteStatistics(source).Watermark(24*time.Hour).MaxRecords(10_000))
	board := newBoard(t, newTally(), 0)
	scoring := finish(t, streaming.Score(source, board).MaxRecords(10_000))
	texts := [2]string{windowsCSV(t, minutes), predictionsCSV(t, board)}
	for i, running := range []*stream.Running{minutes, scoring} {
		if totals := running.Totals(); totals.Records != 10_000 || totals.Late != 0 {
			t.Errorf("got %+v, want 10,000 records, none late", totals)
		}
		r.bad[i], r.lines[i] = running.Totals().Bad, strings.Count(texts[i], "\n")
		r.text += texts[i]
		for _, reason := range running.BadRecords().Reasons {
			r.reasons += fmt.Sprintf("%d %s\n", reason.Count, reason.Reason)
		}
	}
	return r
}

// inFile writes records as lines.
func inFile(t *testing.T, all []stream.Record) stream.Source {
	t.Helper()
	var lines bytes.Buffer
	for _, r := range all {
		lines.Write(r.Value)
		lines.WriteByte('\n')
	}
	path := filepath.Join(t.TempDir(), "events.jsonl")
	if err := os.WriteFile(path, lines.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	return file.Source(path)
}

// inBroker writes records into a topic of a broker of its own.
func inBroker(t *testing.T, all []stream.Record, fetchBytes int) stream.Source {
	t.Helper()
	b, err := broker.Start(broker.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Close() })
	p, err := kafka.NewProducer(kafka.ProducerConfig{Brokers: []string{b.Addr()}, Topic: "events", Partitions: 1})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range all {
		if err := p.Send(t.Context(), r.Key, r.Value); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	return kafka.Source(kafka.Config{Brokers: []string{b.Addr()}, Topic: "events", FetchBytes: fetchBytes})
}
