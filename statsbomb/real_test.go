package statsbomb_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"sync"
	"testing"
	"time"

	"cancha/statsbomb"
)

func realFolder(t testing.TB) *statsbomb.Folder {
	dir := os.Getenv("CANCHA_DATA")
	if dir == "" {
		t.Skip("CANCHA_DATA is not set: no real matches to read")
	}
	f, err := statsbomb.OpenFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// everyNth thins the matches out, so that the test stays quick on two cores; -short thins more.
func everyNth(t testing.TB, matches []statsbomb.Match, n int) []statsbomb.Match {
	if testing.Short() {
		n *= 8
	}
	var out []statsbomb.Match
	for i := 0; i < len(matches); i += n {
		out = append(out, matches[i])
	}
	return out
}

func TestRealGoalsEqualScore(t *testing.T) {
	f := realFolder(t)
	start := time.Now()
	var mu sync.Mutex
	var group sync.WaitGroup
	var read, missing, total int
	periods := make(map[int]int)
	queue := make(chan statsbomb.Match)
	for range 2 {
		group.Go(func() {
			for m := range queue {
				events, err := f.Events(m.ID)
				mu.Lock()
				switch {
				case errors.Is(err, statsbomb.ErrNoEvents):
					missing++
				case err != nil:
					t.Error(err)
				default:
					read++
					total += len(events)
					periods[checkMatch(t, m, events)]++
				}
				mu.Unlock()
			}
		})
	}
	for _, m := range everyNth(t, f.Matches(), 1) {
		queue <- m
	}
	close(queue)
	group.Wait()
	took := time.Since(start)
	if read == 0 {
		t.Fatal("no match with events was read")
	}
	t.Logf("%d matches with %d events (%d listed without) in %v on 2 goroutines: %d ns an event; last periods %v",
		read, total, missing, took.Round(time.Millisecond), took.Nanoseconds()/int64(total), periods)
}

// checkMatch holds the goals of a match against its score and returns its last period.
func checkMatch(t *testing.T, m statsbomb.Match, events []statsbomb.Event) int {
	goals := make(map[int]int)
	last := 0
	for i := range events {
		e := &events[i]
		if e.Goal() {
			goals[e.Team.ID]++
		}
		if e.Period < last {
			t.Errorf("match %d: period %d after %d", m.ID, e.Period, last)
		}
		last = e.Period
		if e.Team.ID != m.Home.ID && e.Team.ID != m.Away.ID {
			t.Errorf("match %d, event %d: team %v does not play", m.ID, e.Index, e.Team)
		}
	}
	if goals[m.Home.ID] != m.HomeScore || goals[m.Away.ID] != m.AwayScore {
		t.Errorf("match %d: goals %d:%d, score %d:%d", m.ID, goals[m.Home.ID], goals[m.Away.ID], m.HomeScore, m.AwayScore)
	}
	return last
}

// TestRealEventsAsPublished holds every tenth match's events, read and written again, against the published text.
func TestRealEventsAsPublished(t *testing.T) {
	f := realFolder(t)
	checked := 0
	for _, m := range everyNth(t, f.Matches(), 40) {
		text := unpack(t, filepath.Join(f.Dir(), "events", fmt.Sprintf("%d.json.gz", m.ID)))
		if text == nil {
			continue
		}
		var published []json.RawMessage
		if err := json.Unmarshal(text, &published); err != nil {
			t.Fatal(err)
		}
		for _, p := range published {
			checkPublished(t, m.ID, p)
			if checked++; t.Failed() {
				t.FailNow()
			}
		}
	}
	t.Logf("%d events", checked)
	if checked == 0 {
		t.Error("no event was checked")
	}
}

func checkPublished(t *testing.T, matchID int64, published []byte) {
	t.Helper()
	e, err := statsbomb.DecodeEvent(published)
	if err != nil {
		t.Fatalf("match %d: %v", matchID, err)
	}
	text, err := statsbomb.EncodeEvent(e)
	if err != nil {
		t.Fatalf("match %d: %v", matchID, err)
	}
	got, want := generic(t, text), generic(t, published)
	if !reflect.DeepEqual(got, want) {
		t.Errorf("match %d:\nwrote     %s\npublished %s", matchID, text, published)
	}
}

// generic reads JSON without our types, and drops what events do not hold: a shot's height where it is zero, and empty lists.
func generic(t *testing.T, text []byte) map[string]any {
	t.Helper()
	var v map[string]any
	if err := json.Unmarshal(text, &v); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	for _, key := range []string{"shot", "goalkeeper", "50_50", "half_start"} {
		part, _ := v[key].(map[string]any)
		if end, _ := part["end_location"].([]any); len(end) == 3 && end[2] == 0.0 {
			part["end_location"] = end[:2]
		}
		if part != nil && len(part) == 0 {
			delete(v, key)
		}
	}
	if pattern, _ := v["play_pattern"].(map[string]any); len(pattern) == 0 {
		delete(v, "play_pattern")
	}
	return v
}

func unpack(t testing.TB, path string) []byte {
	t.Helper()
	packed, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	z, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestRealFrames(t *testing.T) {
	f := realFolder(t)
	matches := f.Select(statsbomb.Filter{Competition: 43, Seasons: []int{106}})
	with, events, read := 0, 0, 0
	for _, m := range matches {
		if read == 4 || !exists(filepath.Join(f.Dir(), "three-sixty", fmt.Sprintf("%d.json.gz", m.ID))) {
			continue
		}
		read++
		list, err := f.Events(m.ID)
		if err != nil {
			t.Fatal(err)
		}
		for i := range list {
			events++
			if list[i].FreezeFrame != nil {
				with++
			}
		}
	}
	if share := float64(with) / float64(events); !(share > .8 && share < .95) {
		t.Errorf("%d of %d events have a 360 frame, want about 87 %%", with, events)
	}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func BenchmarkRealDecode(b *testing.B) {
	f := realFolder(b)
	for _, kind := range []struct {
		name string
		id   int64
	}{{"full", 3857255}, {"lite", 3749493}} {
		text := unpack(b, filepath.Join(f.Dir(), "events", fmt.Sprintf("%d.json.gz", kind.id)))
		var list []json.RawMessage
		if err := json.Unmarshal(text, &list); err != nil {
			b.Fatal(err)
		}
		b.Run(kind.name+"/DecodeAll", func(b *testing.B) {
			var d statsbomb.Decoder
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				if _, err := d.DecodeAll(text); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(list)), "ns/event")
		})
		b.Run(kind.name+"/DecodeEvent", func(b *testing.B) {
			for b.Loop() {
				for _, text := range list {
					if _, err := statsbomb.DecodeEvent(text); err != nil {
						b.Fatal(err)
					}
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(list)), "ns/event")
		})
		var d statsbomb.Decoder
		events, _ := d.DecodeAll(text)
		b.Run(kind.name+"/AppendEvent", func(b *testing.B) {
			var out []byte
			for b.Loop() {
				for i := range events {
					out, _ = statsbomb.AppendEvent(out[:0], &events[i])
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(list)), "ns/event")
		})
	}
}
