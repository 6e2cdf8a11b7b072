package stream

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"cancha/statsbomb"
)

func TestHistory(t *testing.T) {
	at := time.Date(2026, 3, 1, 15, 0, 0, 0, time.UTC)
	h := History{
		{Timestamp: Instant{at}, NumInputRows: 4096, InputRowsPerSecond: 4090.5, ProcessedRowsPerSecond: 812_345.6, BatchDuration: 5,
			EventTime: map[string]Instant{"watermark": {at.Add(time.Hour)}}},
		{Timestamp: Instant{at.Add(1500 * time.Millisecond)}},
	}
	if got := h.Seconds(); !slices.Equal(got, []float64{0, 1.5}) {
		t.Errorf("seconds: got %v", got)
	}
	if got := h.Busy(); len(got) != 1 || !slices.Equal(got.ProcessRates(), []float64{812_345.6}) {
		t.Errorf("busy: got %v", got)
	}
	if !slices.Equal(h.InputRates(), []float64{4090.5, 0}) || !slices.Equal(h.BatchDurations(), []float64{5, 0}) {
		t.Errorf("got rates %v and durations %v", h.InputRates(), h.BatchDurations())
	}
	lines := strings.Split(h.String(), "\n")
	for i, want := range []string{"time input rate process rate input rows batch duration watermark late rows lag rows given out",
		"15:00:00 4,091 /s 812,346 /s 4,096 5 ms 2026-03-01 16:00:00 0 – 0", "15:00:01 0 /s – 0 0 ms – 0 – 0"} {
		if got := strings.Join(strings.Fields(lines[i]), " "); got != want {
			t.Errorf("line %d: got %q, want %q", i, got, want)
		}
	}
	if got := (History)(nil).String(); !strings.Contains(got, "0 epochs") {
		t.Errorf("empty: got %q", got)
	}
}

func TestOnly(t *testing.T) {
	rows := &Rows{KeyNames: []string{"k"}, Columns: []Column{{"a", true}, {"b", false}, {"c", false}}, Total: 1,
		Rows: []Row{{Keys: []Key{{ID: 1, Text: "1"}}, Values: []float64{1, 2, 3}}}}
	only := rows.Only("c", "nothing", "a", "c")
	if len(only.Columns) != 2 || only.Columns[0].Name != "c" || !slices.Equal(only.Rows[0].Values, []float64{3, 1}) {
		t.Errorf("got %v, %v", only.Columns, only.Rows)
	}
	if !slices.Equal(rows.Rows[0].Values, []float64{1, 2, 3}) {
		t.Errorf("the rows themselves changed to %v", rows.Rows)
	}
}

func TestMetricsAsJSON(t *testing.T) {
	for _, c := range []struct {
		name string
		of   any
		want string
	}{
		{"totals", Totals{Records: 2, Retries: 1, Elapsed: 1500 * time.Millisecond},
			`{"records":2,"bad":0,"late":0,"filtered":0,"future":0,"lost":0,"rows":0,"retries":1,"elapsedMs":1500}`},
		{"latency", Latency{Count: 1, Mean: 60_079, P50: 50_000, P99: 60_000, Max: 70_000},
			`{"count":1,"meanMs":0.060079,"p50Ms":0.05,"p99Ms":0.06,"maxMs":0.07}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got, err := json.Marshal(c.of); err != nil || string(got) != c.want {
				t.Errorf("got %s, %v, want %s", got, err, c.want)
			}
		})
	}
}

func TestScoreCountsGoals(t *testing.T) {
	home, away := statsbomb.Ref{ID: 1}, statsbomb.Ref{ID: 2}
	goal := func(team statsbomb.Ref, period int) MatchEvent {
		return MatchEvent{Home: home, Away: away, Event: statsbomb.Event{MatchID: 7, Period: period, Team: team,
			Type: statsbomb.Ref{ID: statsbomb.TypeOwnGoalFor}}}
	}
	r := &RunningScore{goals: map[int64][2]int{}}
	for i, c := range []struct {
		event MatchEvent
		want  [2]int
	}{
		{goal(home, 1), [2]int{1, 0}}, {goal(away, 1), [2]int{1, 1}},
		{MatchEvent{Home: home, Away: away, Event: statsbomb.Event{MatchID: 7, Period: 2, Team: home}}, [2]int{1, 1}},
		{goal(home, 2), [2]int{2, 1}}, {goal(home, 5), [2]int{2, 1}}, // a shoot-out never counts
	} {
		if got := r.count(c.event); got != c.want {
			t.Errorf("event %d: got %v, want %v", i, got, c.want)
		}
	}
	if got := (Prediction{HomeGoals: 2, AwayGoals: 1}).Score(); got != "2:1" {
		t.Errorf("got %s", got)
	}
}
