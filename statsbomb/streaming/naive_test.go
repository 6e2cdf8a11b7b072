package streaming_test

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"cancha/stream"
)

// naive computes the minute statistics a second time, from the definitions and in the plainest way: the whole sample of a
// window is kept, and its variance is taken in two passes.
func naive(t testing.TB, all []stream.Record) map[string][]float64 {
	t.Helper()
	type window struct {
		match, start int64
	}
	type sample struct {
		events, passes, holds int
		length, carry, x, y   []float64
	}
	rows := map[window]map[int]*sample{}
	held := map[window]int{}
	for _, r := range all {
		var e sent
		if err := json.Unmarshal(r.Value, &e); err != nil {
			t.Fatal(err)
		}
		if e.Event.Period < 1 || e.Event.Period > 5 || e.Event.Team == nil {
			continue
		}
		at, err := time.Parse(time.RFC3339, e.Metadata.EventTime)
		if err != nil {
			t.Fatal(err)
		}
		w := window{e.Event.MatchID, at.Truncate(time.Minute).Unix()}
		if rows[w] == nil {
			rows[w] = map[int]*sample{}
		}
		of := func(team int) *sample {
			if rows[w][team] == nil {
				rows[w][team] = &sample{}
			}
			return rows[w][team]
		}
		s := of(e.Event.Team.ID)
		s.events++
		if e.Event.PossessionTeam != nil {
			held[w]++
			of(e.Event.PossessionTeam.ID).holds++
		}
		distance := func(own map[string]any) (float64, bool) {
			end, ok := own["end_location"].([]any)
			if !ok || len(end) < 2 || len(e.Event.Location) < 2 {
				return 0, false
			}
			return math.Hypot(end[0].(float64)-e.Event.Location[0], end[1].(float64)-e.Event.Location[1]), true
		}
		switch e.Event.Type.ID {
		case 30:
			s.passes++
			if d, ok := distance(e.Event.Pass); ok {
				s.length = append(s.length, d)
			}
		case 43:
			if d, ok := distance(e.Event.Carry); ok {
				s.carry = append(s.carry, d)
			}
		}
		if len(e.Event.Location) >= 2 {
			s.x, s.y = append(s.x, e.Event.Location[0]), append(s.y, e.Event.Location[1])
		}
	}
	want := map[string][]float64{}
	for w, teams := range rows {
		for team, s := range teams {
			if s.events == 0 {
				continue
			}
			values := []float64{float64(s.events), float64(s.passes)}
			for _, sample := range [][]float64{s.length, s.carry, s.x, s.y} {
				values = append(values, plainMoments(sample)...)
			}
			share := math.NaN()
			if held[w] > 0 {
				share = float64(s.holds) / float64(held[w])
			}
			want[fmt.Sprint(w.match, team, w.start)] = append(values, share)
		}
	}
	return want
}

func plainMoments(sample []float64) []float64 {
	n := float64(len(sample))
	m := []float64{n, math.NaN(), math.NaN(), math.NaN(), math.NaN()}
	if n == 0 {
		return m
	}
	sum, squares := 0.0, 0.0
	for _, x := range sample {
		sum += x
	}
	for _, x := range sample {
		squares += (x - sum/n) * (x - sum/n)
	}
	m[1], m[2], m[3] = slices.Min(sample), slices.Max(sample), sum/n
	if n > 1 {
		m[4] = squares / (n - 1)
	}
	return m
}

// checkRows compares a query's rows with the naive ones: counts exactly, the rest to 1e-9.
func checkRows(t *testing.T, rows *stream.Rows, want map[string][]float64) {
	t.Helper()
	if rows.Len() != len(want) || rows.Len() == 0 {
		t.Fatalf("got %d rows, want %d, more than 0", rows.Len(), len(want))
	}
	first := rows.Index("events")
	for i := range rows.Len() {
		row := rows.Row(i)
		name := fmt.Sprint(row.Int("match_id"), row.Int("team_id"), row.Time("window_start").Unix())
		values := want[name]
		if len(values) != len(rows.Columns)-first {
			t.Fatalf("row %s: got %d values, want %d", name, len(rows.Columns)-first, len(values))
		}
		for k, column := range rows.Columns[first:] {
			got, tolerance := row.Float(column.Name), 1e-9
			if column.Kind == stream.Int {
				tolerance = 0
			}
			if !(math.Abs(got-values[k]) <= tolerance) && !(math.IsNaN(got) && math.IsNaN(values[k])) {
				t.Errorf("row %s, %s: got %v, want %v", name, column.Name, got, values[k])
			}
		}
	}
}
