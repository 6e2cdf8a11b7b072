package streaming_test

import (
	"cmp"
	"compress/gzip"
	"encoding/json"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"cancha/statsbomb/streaming"
	"cancha/stream"
)

// realEvent is an event of a real match, with its place in the replay.
type realEvent struct {
	text   json.RawMessage
	Index  int    `json:"index"`
	Period int    `json:"period"`
	Stamp  string `json:"timestamp"`
	at     time.Duration
	match  int64
}

// replayReal makes records of n real matches as a replay does: matches in random order, those of a batch kick off together,
// records in the order of event time.
func replayReal(t *testing.T, n, batch int) []stream.Record {
	folder := os.Getenv("CANCHA_DATA")
	if folder == "" {
		t.Skip("CANCHA_DATA is not set: no real matches")
	}
	files, err := filepath.Glob(filepath.Join(folder, "events", "*.json.gz"))
	if err != nil || len(files) < n {
		t.Fatalf("found %d matches in %s, want %d (%v)", len(files), folder, n, err)
	}
	rand.New(rand.NewPCG(20, 20)).Shuffle(len(files), func(i, j int) { files[i], files[j] = files[j], files[i] })
	kickoff := time.Date(2026, 3, 1, 15, 0, 0, 0, time.UTC)
	var all []stream.Record
	for files = files[:n]; len(files) > 0; files = files[min(batch, len(files)):] {
		var events []realEvent
		for _, file := range files[:min(batch, len(files))] {
			events = append(events, realMatch(t, file)...)
		}
		slices.SortStableFunc(events, func(a, b realEvent) int {
			return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.match, b.match), cmp.Compare(a.Index, b.Index))
		})
		for _, e := range events {
			all = append(all, e.record(t, kickoff))
		}
		kickoff = kickoff.Add(events[len(events)-1].at).Truncate(time.Minute).Add(time.Minute)
	}
	return all
}

func realMatch(t *testing.T, file string) []realEvent {
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	var texts []json.RawMessage
	if err := json.Unmarshal(text, &texts); err != nil {
		t.Fatal(err)
	}
	match, err := strconv.ParseInt(strings.TrimSuffix(filepath.Base(file), ".json.gz"), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	events := make([]realEvent, len(texts))
	var length [7]time.Duration // of each period
	for i, text := range texts {
		e := &events[i]
		if err := json.Unmarshal(text, e); err != nil {
			t.Fatal(err)
		}
		at, err := time.Parse("15:04:05.000", e.Stamp)
		if err != nil {
			t.Fatal(err)
		}
		e.text, e.match, e.at = text, match, at.Sub(at.Truncate(24*time.Hour))
		length[e.Period] = max(length[e.Period], e.at)
	}
	for i := range events {
		for p := 1; p < events[i].Period; p++ {
			events[i].at += length[p]
		}
	}
	return events
}

func (e *realEvent) record(t *testing.T, kickoff time.Time) stream.Record {
	var event map[string]json.RawMessage
	if err := json.Unmarshal(e.text, &event); err != nil {
		t.Fatal(err)
	}
	event["match_id"] = strconv.AppendInt(nil, e.match, 10)
	value, err := json.Marshal(map[string]any{"event": event, "metadata": map[string]any{"source": "open-data",
		"event_time": kickoff.Add(e.at).Format(timeForm)}})
	if err != nil {
		t.Fatal(err)
	}
	return stream.Record{Key: event["match_id"], Value: value}
}

// TestRealMatches: over twenty real matches nothing is late or bad, and the statistics are the naive ones.
func TestRealMatches(t *testing.T) {
	all := replayReal(t, 20, 16)
	running := finish(t, streaming.MinuteStatistics(stream.Memory("events", partitioned(all, 4))))
	totals := running.Totals()
	if totals.Late != 0 || totals.Bad != 0 || totals.Records != int64(len(all)) {
		t.Errorf("got %+v, want %d records, none late or bad; %+v", totals, len(all), running.BadRecords().Reasons)
	}
	checkRows(t, running.Results(), naive(t, all))
	counts, err := running.Results().Column("carry_distance_count")
	if err != nil {
		t.Fatal(err)
	}
	carries := 0.0
	for _, n := range counts {
		carries += n
	}
	t.Logf("%d records, %d rows, %.0f carries", totals.Records, totals.Rows, carries)
}
