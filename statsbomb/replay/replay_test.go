package replay

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"cancha/statsbomb"
)

// archive is a set of made matches. Those with an id that ends in 9 have no events, those that end in 8 cannot be read.
type archive struct{ n int }

func (a archive) Source() string { return "simulator" }

func (a archive) Matches() []statsbomb.Match {
	list := make([]statsbomb.Match, a.n)
	for i := range list {
		list[i] = statsbomb.Match{ID: int64(i), Home: statsbomb.Ref{ID: 2 * i, Name: "Atlético"}, Away: statsbomb.Ref{ID: 2*i + 1, Name: `Away "A"`}}
	}
	return list
}

func (a archive) Events(id int64) ([]statsbomb.Event, error) {
	switch id % 10 {
	case 9:
		return nil, statsbomb.ErrNoEvents
	case 8:
		return nil, errors.New("unreadable")
	}
	// Two halves; the first ends after 45 to 52 minutes; a step back after the second event.
	var events []statsbomb.Event
	add := func(period int, at time.Duration) {
		events = append(events, statsbomb.Event{ID: fmt.Sprint(id, "-", len(events)), Index: len(events) + 1, Period: period, Timestamp: at,
			Type: statsbomb.Ref{ID: 30, Name: "Pass"}, Team: statsbomb.Ref{ID: int(2 * id)}})
	}
	for m := range 46 + int(id%7) {
		add(1, time.Duration(m)*time.Minute+time.Duration(id)*time.Second)
		if m == 1 {
			add(1, 30*time.Second+time.Duration(id)*time.Second)
		}
	}
	for m := range 46 {
		add(2, time.Duration(m)*time.Minute)
	}
	return events, nil
}

// sink keeps records.
type sink struct {
	mu      sync.Mutex
	keys    []string
	values  [][]byte
	times   []time.Time
	flushed int
	after   func(n int) // called after the n-th record
}

func (s *sink) Send(ctx context.Context, key, value []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.keys, s.values, s.times = append(s.keys, string(key)), append(s.values, value), append(s.times, time.Now())
	if s.after != nil {
		s.after(len(s.values))
	}
	return nil
}

func (s *sink) Flush(context.Context) error { s.flushed = len(s.values); return nil }

// record is what the tests read of a record's value.
type record struct {
	Event struct {
		ID        string `json:"id"`
		MatchID   int64  `json:"match_id"`
		Index     int    `json:"index"`
		Period    int    `json:"period"`
		Timestamp string `json:"timestamp"`
	} `json:"event"`
	Metadata struct {
		Producer  time.Time     `json:"producer_timestamp"`
		ID        string        `json:"producer_id"`
		EventTime time.Time     `json:"event_time"`
		Source    string        `json:"source"`
		Match     int64         `json:"source_match_id"`
		Home      statsbomb.Ref `json:"home_team"`
		Away      statsbomb.Ref `json:"away_team"`
	} `json:"metadata"`
}

func (s *sink) records(t *testing.T) []record {
	t.Helper()
	out := make([]record, len(s.values))
	for i, v := range s.values {
		d := json.NewDecoder(bytes.NewReader(v))
		if err := d.Decode(&out[i]); err != nil {
			t.Fatalf("record %d: %v: %s", i, err, v)
		}
	}
	return out
}

func byHash(n int) func([]byte) int {
	return func(key []byte) int {
		h := fnv.New32a()
		h.Write(key)
		return int(h.Sum32()) % n
	}
}

var start = time.Date(2026, 3, 1, 15, 0, 0, 0, time.UTC)

func config(partitions, matches int) Config {
	return Config{Start: start, Seed: 7, Matches: matches, Partitions: partitions, PartitionOf: byHash(partitions)}
}

func play(t *testing.T, a statsbomb.Archive, cfg Config) (*sink, Progress) {
	t.Helper()
	s := &sink{}
	var last Progress
	if err := Run(t.Context(), a, s, cfg, func(p Progress) { last = p }); err != nil {
		t.Fatal(err)
	}
	if s.flushed != len(s.values) {
		t.Errorf("flushed after %d records of %d", s.flushed, len(s.values))
	}
	return s, last
}

func TestRecord(t *testing.T) {
	s, p := play(t, archive{1}, Config{Start: start, Matches: 1, Partitions: 1, PartitionOf: byHash(1)})
	// The second record is the third event, which steps back before the second.
	want := `{"event":EVENT,"metadata":{"producer_timestamp":"NOW","producer_id":"cancha","event_time":"2026-03-01T15:00:30.000Z",` +
		`"source":"simulator","source_match_id":0,"home_team":{"id":0,"name":"Atlético"},"away_team":{"id":1,"name":"Away \"A\""}}}`
	got := producerTime.ReplaceAllString(cut(string(s.values[1])), `"producer_timestamp":"NOW"`)
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	r := s.records(t)[1]
	wantID := start.UnixMicro() + 1 // with seed 0
	if r.Event.MatchID != wantID || r.Event.Index != 3 || s.keys[1] != strconv.FormatInt(wantID, 10) {
		t.Errorf("got event %d of match %d, key %s, want event 3 of match %d", r.Event.Index, r.Event.MatchID, s.keys[1], wantID)
	}
	if age := time.Since(r.Metadata.Producer); age < 0 || age > time.Minute {
		t.Errorf("producer_timestamp is %v old", age)
	}
	if !p.Done || p.Sent != int64(len(s.values)) || p.Matches != 1 || p.Batch != 1 {
		t.Errorf("last progress: %+v", p)
	}
}

// cut leaves the event out of a record.
func cut(v string) string {
	return `{"event":EVENT` + v[strings.Index(v, `,"metadata"`):]
}

var producerTime = regexp.MustCompile(`"producer_timestamp":"[^"]*"`)

func TestEventTime(t *testing.T) {
	ms := time.Millisecond
	event := func(period int, at time.Duration) statsbomb.Event {
		return statsbomb.Event{Period: period, Timestamp: at}
	}
	for _, row := range []struct {
		name   string
		events []statsbomb.Event
		want   []time.Duration
	}{
		{"one half", []statsbomb.Event{event(1, 0), event(1, 5*ms)}, []time.Duration{0, 5 * ms}},
		{"second half follows the greatest timestamp of the first", []statsbomb.Event{event(1, 9*ms), event(1, 5*ms), event(2, 1*ms)}, []time.Duration{9 * ms, 5 * ms, 10 * ms}},
		{"extra time", []statsbomb.Event{event(1, 10*ms), event(2, 20*ms), event(3, 5*ms), event(4, 6*ms)}, []time.Duration{10 * ms, 30 * ms, 35 * ms, 41 * ms}},
		{"shoot-out without extra time", []statsbomb.Event{event(1, 10*ms), event(2, 20*ms), event(5, 1*ms)}, []time.Duration{10 * ms, 30 * ms, 31 * ms}},
	} {
		t.Run(row.name, func(t *testing.T) {
			c := newClock(row.events)
			for i := range row.events {
				if got := c.at(&row.events[i]); got != row.want[i] {
					t.Errorf("event %d: got %v, want %v", i, got, row.want[i])
				}
			}
		})
	}
}

func TestBatches(t *testing.T) {
	for _, row := range []struct {
		partitions, matches int
		want                []int // matches of each batch
	}{
		{1, 4, []int{4}},
		{1, 3, []int{3}},
		{4, 20, []int{20}},
		{4, 40, []int{20, 20}},
		{2, 25, []int{8, 8, 9}},
	} {
		t.Run(fmt.Sprintf("%d matches on %d partitions", row.matches, row.partitions), func(t *testing.T) {
			s, p := play(t, archive{8}, config(row.partitions, row.matches))
			checkClock(t, s.records(t), row.partitions, row.want)
			if p.Matches != int64(row.matches) {
				t.Errorf("matches: got %d, want %d", p.Matches, row.matches)
			}
		})
	}
}

// checkClock checks kick-offs, order, keys and the spread over partitions.
func checkClock(t *testing.T, records []record, partitions int, sizes []int) {
	t.Helper()
	kickoff := start
	for n, size := range sizes {
		perPartition := make([]int, partitions)
		first := map[int64]time.Time{}
		var last record
		latest := kickoff
		used := 0
		for _, r := range records {
			id, at := r.Event.MatchID, r.Metadata.EventTime
			if _, known := first[id]; !known {
				if len(first) == size {
					break
				}
				perPartition[byHash(partitions)(key(id))]++
				first[id] = at
			}
			if at.Before(latest) || at.Equal(latest) && used > 0 &&
				(id < last.Event.MatchID || id == last.Event.MatchID && r.Event.Index <= last.Event.Index) {
				t.Fatalf("batch %d: event %d of match %d at %v after event %d of match %d at %v", n, r.Event.Index, id, at,
					last.Event.Index, last.Event.MatchID, latest)
			}
			last, latest = r, at
			used++
		}
		// A match's first event is at its id in the archive in seconds, as the archive makes it.
		for _, r := range records[:used] {
			if r.Event.Index == 1 {
				if want := kickoff.Add(time.Duration(r.Metadata.Match) * time.Second); !r.Metadata.EventTime.Equal(want) {
					t.Errorf("batch %d: first event of match %d at %v, want %v", n, r.Event.MatchID, r.Metadata.EventTime, want)
				}
			}
		}
		if len(first) != size {
			t.Errorf("batch %d: got %d matches, want %d", n, len(first), size)
		}
		if size >= 4*partitions && slices.Min(perPartition) < 4 {
			t.Errorf("batch %d: matches by partition %v, want at least 4 each", n, perPartition)
		}
		kickoff = latest.Truncate(time.Minute).Add(time.Minute)
		records = records[used:]
	}
	if len(records) != 0 {
		t.Errorf("%d records after the last batch", len(records))
	}
}

func TestSameSeedSameBytes(t *testing.T) {
	text := func(change func(*Config)) string {
		cfg := config(2, 20)
		change(&cfg)
		s, _ := play(t, archive{30}, cfg)
		var b strings.Builder
		for i, v := range s.values {
			fmt.Fprintf(&b, "%s %s\n", s.keys[i], producerTime.ReplaceAll(v, nil))
		}
		return b.String()
	}
	first := text(func(*Config) {})
	for _, row := range []struct {
		name   string
		change func(*Config)
		same   bool
	}{
		{"same", func(*Config) {}, true},
		{"paced", func(c *Config) { c.Rate = 1e6 }, true},
		{"other seed", func(c *Config) { c.Seed = 8 }, false},
		{"other start", func(c *Config) { c.Start = start.Add(time.Hour) }, false},
		{"by date", func(c *Config) { c.ByDate = true }, false},
	} {
		if got := text(row.change) == first; got != row.same {
			t.Errorf("%s: same bytes: got %v, want %v", row.name, got, row.same)
		}
	}
}

func TestEachReplayHasItsOwnID(t *testing.T) {
	s, _ := play(t, archive{3}, config(2, 16))
	ids := map[int64]int64{}
	times := map[int64]int{}
	for _, r := range s.records(t) {
		if src, ok := ids[r.Event.MatchID]; ok && src != r.Metadata.Match {
			t.Fatalf("match %d is both %d and %d of the archive", r.Event.MatchID, src, r.Metadata.Match)
		}
		if _, ok := ids[r.Event.MatchID]; !ok {
			times[r.Metadata.Match]++
		}
		ids[r.Event.MatchID] = r.Metadata.Match
	}
	if len(ids) != 16 || len(times) != 3 {
		t.Errorf("got %d ids of %d matches, want 16 of 3", len(ids), len(times))
	}
}

// TestReplaysDoNotShareIDs: neither those that begin in the same minute, nor those of one start with different seeds.
func TestReplaysDoNotShareIDs(t *testing.T) {
	played := map[int64]string{}
	check := func(name string, cfg Config) {
		t.Helper()
		s, _ := play(t, archive{3}, cfg)
		here := map[int64]bool{}
		for _, r := range s.records(t) {
			id := r.Event.MatchID
			if other, ok := played[id]; ok && !here[id] {
				t.Errorf("match %d is of %s and of %s", id, other, name)
			}
			if id >= 1<<53 {
				t.Errorf("match %d: want less than 2^53, which JSON readers that hold numbers as floating point need", id)
			}
			played[id], here[id] = name, true
		}
	}
	for i := range 3 {
		now := config(4, 32)
		now.Start = time.Time{}
		check(fmt.Sprint("replay of now, number ", i), now)
		seeded := config(4, 32)
		seeded.Seed = uint64(i)
		check(fmt.Sprint("replay with seed ", i), seeded)
	}
	seen := map[int64]bool{}
	for seed := range uint64(1000) {
		seen[firstIDOf(time.Unix(0, 0), seed)/15000] = true
	}
	if len(seen) != 1000 {
		t.Errorf("1000 seeds begin in %d stretches of ids, want one each", len(seen))
	}
}

func TestMatchesWithoutEventsAreLeftOut(t *testing.T) {
	cfg := config(1, 16)
	var mu sync.Mutex
	var warned []string
	cfg.Warn = func(err error) { mu.Lock(); defer mu.Unlock(); warned = append(warned, err.Error()) }
	s, p := play(t, archive{10}, cfg) // 8 of 10 can be read: two passes
	played := map[int64]int{}
	for _, r := range s.records(t) {
		if r.Event.Index == 1 {
			played[r.Metadata.Match]++
		}
	}
	for id := range int64(8) {
		if played[id] != 2 {
			t.Errorf("match %d was played %d times, want 2", id, played[id])
		}
	}
	if p.Skipped < 2 || len(warned) == 0 || !strings.Contains(warned[0], "match 8 is left out: unreadable") {
		t.Errorf("skipped %d, warned %q; want at least 2 and a warning of match 8", p.Skipped, warned)
	}
}

type empty struct{ archive }

func (empty) Events(int64) ([]statsbomb.Event, error) { return nil, statsbomb.ErrNoEvents }

func TestNothingToPlay(t *testing.T) {
	for _, a := range []statsbomb.Archive{empty{archive{5}}, archive{0}} {
		err := Run(t.Context(), a, &sink{}, config(1, 0), nil)
		if err == nil || !strings.Contains(err.Error(), "has events") {
			t.Errorf("got %v, want an error that says that no match has events", err)
		}
	}
}

func TestEndlessUntilStopped(t *testing.T) {
	for _, rate := range []float64{0, 100000} {
		ctx, stop := context.WithCancel(t.Context())
		s := &sink{after: func(n int) {
			if n == 5000 {
				stop()
			}
		}}
		cfg := config(2, 0)
		cfg.Rate = rate
		if err := Run(ctx, archive{3}, s, cfg, nil); err != nil {
			t.Errorf("rate %v: got %v, want nil after a stop", rate, err)
		}
		if n := len(s.values); n < 5000 || n > 5001 || s.flushed != n {
			t.Errorf("rate %v: %d records, %d flushed, want 5000 of both", rate, n, s.flushed)
		}
	}
}

// away is a writer whose broker comes back only after a replay that is told to stop would have given up.
type away struct {
	sink
	flushes int
	back    time.Duration
}

func (a *away) Flush(ctx context.Context) error {
	a.flushes++
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(a.back):
		return a.sink.Flush(ctx)
	}
}

func TestBrokerAwayAtTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &away{back: time.Hour}
		if err := Run(t.Context(), archive{3}, s, config(1, 2), nil); err != nil || s.flushed != len(s.values) {
			t.Errorf("all matches sent: got %v, %d of %d flushed, want all, since nobody stopped it", err, s.flushed, len(s.values))
		}
		ctx, stop := context.WithCancel(t.Context())
		s = &away{back: time.Hour}
		s.after = func(int) { stop() }
		begun := time.Now()
		if err := Run(ctx, archive{3}, s, config(1, 0), nil); err == nil || time.Since(begun) > 2*flushTimeout {
			t.Errorf("told to stop: got %v after %v, want an error within %v", err, time.Since(begun), 2*flushTimeout)
		}
	})
}

type refusing struct{ sink }

func (*refusing) Send(context.Context, []byte, []byte) error { return errors.New("refused") }

func TestWriterErrorEndsTheReplay(t *testing.T) {
	err := Run(t.Context(), archive{3}, &refusing{}, config(1, 0), nil)
	if err == nil || !strings.Contains(err.Error(), "refused") {
		t.Errorf("got %v, want the writer's error", err)
	}
}

// TestRate: on a clock that stands still while there is work, what is sent when does not depend on how busy the machine is.
func TestRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := config(1, 4)
		cfg.Rate = 1000
		s := &sink{}
		ctx, stop := context.WithCancel(t.Context())
		s.after = func(n int) {
			if n == 300 {
				stop()
			}
		}
		if err := Run(ctx, archive{4}, s, cfg, nil); err != nil {
			t.Fatal(err)
		}
		took := s.times[299].Sub(s.times[0])
		if took < 290*time.Millisecond || took > 310*time.Millisecond {
			t.Errorf("300 events at 1000/s took %v, want about 299 ms", took)
		}
		// Even: no tenth of a second has far more than its share.
		for i := range 150 {
			if d := s.times[i+149].Sub(s.times[i]); d < 140*time.Millisecond {
				t.Errorf("150 events from %d on within %v, want about 149 ms", i, d)
				break
			}
		}
	})
}

func TestConfigErrors(t *testing.T) {
	for _, row := range []struct {
		name   string
		change func(*Config)
		want   string
	}{
		{"start", func(c *Config) { c.Start = time.Date(1960, 1, 1, 0, 0, 0, 0, time.UTC) }, "1970"},
		{"rate", func(c *Config) { c.Rate = -1 }, "rate"},
		{"matches", func(c *Config) { c.Matches = -1 }, "matches"},
		{"partitions", func(c *Config) { c.Partitions = 0 }, "partitions"},
	} {
		cfg := config(1, 1)
		row.change(&cfg)
		if err := Run(t.Context(), archive{1}, &sink{}, cfg, nil); err == nil || !strings.Contains(err.Error(), row.want) {
			t.Errorf("%s: got %v, want an error with %q", row.name, err, row.want)
		}
	}
}

// TestRealMatches replays matches of a folder and reads every event back from its record.
func TestRealMatches(t *testing.T) {
	dir := os.Getenv("CANCHA_DATA")
	if dir == "" {
		t.Skip("CANCHA_DATA is not set: no match data")
	}
	folder, err := statsbomb.OpenFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	cfg := config(1, 4)
	s, p := play(t, folder, cfg)
	if p.Matches != 4 {
		t.Fatalf("matches: got %d, want 4", p.Matches)
	}
	sources := map[int64][]statsbomb.Event{}
	var outer struct {
		Event json.RawMessage `json:"event"`
	}
	for i, r := range s.records(t) {
		if sources[r.Metadata.Match] == nil {
			if sources[r.Metadata.Match], err = folder.Events(r.Metadata.Match); err != nil {
				t.Fatal(err)
			}
		}
		if err := json.Unmarshal(s.values[i], &outer); err != nil {
			t.Fatal(err)
		}
		got, err := statsbomb.DecodeEvent(outer.Event)
		if err != nil {
			t.Fatal(err)
		}
		at := slices.IndexFunc(sources[r.Metadata.Match], func(e statsbomb.Event) bool { return e.Index == r.Event.Index })
		want := sources[r.Metadata.Match][at]
		want.MatchID = r.Event.MatchID
		if g, w := encoded(t, got), encoded(t, want); g != w {
			t.Fatalf("record %d: got %s\nwant %s", i, g, w)
		}
	}
}

func encoded(t *testing.T, e statsbomb.Event) string {
	text, err := statsbomb.EncodeEvent(e)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// BenchmarkReplay sends to a writer that forgets, so it measures reading, encoding, ordering and the envelope.
func BenchmarkReplay(b *testing.B) {
	var events int64
	for b.Loop() {
		n := 0
		s := forget{&n}
		if err := Run(b.Context(), archive{40}, s, config(4, 160), nil); err != nil {
			b.Fatal(err)
		}
		events += int64(n)
	}
	b.ReportMetric(float64(events)/b.Elapsed().Seconds(), "events/s")
}

type forget struct{ n *int }

func (f forget) Send(context.Context, []byte, []byte) error { *f.n++; return nil }
func (f forget) Flush(context.Context) error                { return nil }
