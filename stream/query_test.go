package stream

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
)

// finish runs a query over a source that ends, and returns what came of it.
func finish(t testing.TB, q *Query) *Running {
	t.Helper()
	running, err := q.Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := running.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	return running
}

func windowsCSV(t testing.TB, r *Running) string {
	t.Helper()
	var b bytes.Buffer
	if err := WriteWindowsCSV(&b, r.Results()); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// naive computes the minute statistics a second time, from the definitions and in the plainest way: the whole sample of a
// window is kept, and its variance is taken in two passes.
func naive(t testing.TB, all []Record) map[string][]float64 {
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
func checkRows(t *testing.T, rows *Rows, want map[string][]float64) {
	t.Helper()
	if rows.Len() != len(want) || rows.Len() == 0 {
		t.Fatalf("got %d rows, want %d, more than 0", rows.Len(), len(want))
	}
	for _, row := range rows.Rows {
		name := fmt.Sprint(row.Keys[0].ID, row.Keys[1].ID, row.Start.Unix())
		values := want[name]
		if len(values) != len(row.Values) {
			t.Fatalf("row %s: got %d values, want %d", name, len(row.Values), len(values))
		}
		for i, got := range row.Values {
			tolerance := 1e-9
			if rows.Columns[i].Integer {
				tolerance = 0
			}
			if !(math.Abs(got-values[i]) <= tolerance) && !(math.IsNaN(got) && math.IsNaN(values[i])) {
				t.Errorf("row %s, %s: got %v, want %v", name, rows.Columns[i].Name, got, values[i])
			}
		}
	}
}

func TestMinuteStatistics(t *testing.T) {
	all := season(7, 6, 700)
	running := finish(t, MinuteStatistics(Memory("events", partitioned(all, 3))))
	checkRows(t, running.Results(), naive(t, all))
	totals := running.Totals()
	if totals.Records != int64(len(all)) || totals.Bad != 0 || totals.Late != 0 || totals.Filtered == 0 {
		t.Errorf("got %+v, want %d records, none bad or late, some filtered", totals, len(all))
	}
}

func TestWindowsCSVForm(t *testing.T) {
	g := newGenerator(1)
	e := g.match(12, 1)
	e[0].Event.Type, e[0].Event.Pass, e[0].Event.Carry = ref{17, "Pressure"}, nil, nil
	e[0].Event.Team, e[0].Event.PossessionTeam, e[0].Event.Location = &ref{3, "A"}, nil, []float64{60.5, 40}
	e[0].Event.Period = 1
	got := windowsCSV(t, finish(t, MinuteStatistics(Memory("events", [][]Record{records(e)}))))
	want := "match_id,team_id,window_start,events,passes," +
		"pass_length_count,pass_length_min,pass_length_max,pass_length_mean,pass_length_var," +
		"carry_distance_count,carry_distance_min,carry_distance_max,carry_distance_mean,carry_distance_var," +
		"x_count,x_min,x_max,x_mean,x_var,y_count,y_min,y_max,y_mean,y_var,possession\n" +
		"12,3,2026-03-01T15:00:00Z,1,0,0,,,,,0,,,,,1,60.5,60.5,60.5,,1,40,40,40,,\n"
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestSameRecordsSameBytes: one history of records, many ways to deliver it, one windows.csv.
func TestSameRecordsSameBytes(t *testing.T) {
	all := season(11, 8, 400)
	rand.New(rand.NewPCG(5, 5)).Shuffle(200, func(i, j int) { // some disorder, the same for all deliveries
		i, j = i*15, i*15+j%12
		all[i], all[j] = all[j], all[i]
	})
	want := windowsCSV(t, finish(t, MinuteStatistics(Memory("events", partitioned(all, 1)))))
	for _, partitions := range []int{1, 2, 4, 7} {
		for _, batch := range []int{1, 13, 500, 100_000} {
			for _, mode := range []OutputMode{Append, Update} {
				t.Run(fmt.Sprintf("%d partitions, batches of %d, %v", partitions, batch, mode), func(t *testing.T) {
					source := Memory("events", partitioned(all, partitions)).BatchSize(batch)
					running := finish(t, MinuteStatistics(source).Output(mode))
					if late := running.Totals().Late; late != 0 {
						t.Errorf("got %d late events, want 0", late)
					}
					if windowsCSV(t, running) != want {
						t.Error("windows.csv differs")
					}
				})
			}
		}
	}
}

// TestReconnects: a source that loses its broker, and goes on where it was, changes nothing.
func TestReconnects(t *testing.T) {
	all := season(12, 4, 500)
	want := windowsCSV(t, finish(t, MinuteStatistics(Memory("events", partitioned(all, 2)))))
	running := finish(t, MinuteStatistics(&shaky{partitioned(all, 2)}))
	if got := windowsCSV(t, running); got != want {
		t.Error("windows.csv differs after reconnects")
	}
	if got := running.Totals().Retries; got < 3 {
		t.Errorf("got %d retries, want at least 3", got)
	}
}

// shaky hands over batches of uneven size, partitions by turns, and is assigned its partitions anew after each retry.
type shaky struct{ partitions [][]Record }

func (s *shaky) Description() string { return "shaky" }

func (s *shaky) Run(ctx context.Context, h Handler) error {
	memory := Memory("events", s.partitions)
	h.Assigned([]Partition{{"events", 0}, {"events", 1}})
	next := [2]int{}
	for turn := 0; next[0] < len(s.partitions[0]) || next[1] < len(s.partitions[1]); turn++ {
		p := turn % 2
		records := memory.partitions[p][next[p]:min(len(memory.partitions[p]), next[p]+turn%37)]
		if err := h.Batch(ctx, Batch{Topic: "events", Partition: p, Records: records, HighWatermark: 1 << 20}); err != nil {
			return err
		}
		next[p] += len(records)
		if turn%20 == 19 {
			h.Retry(errors.New("connection refused"), time.Second)
			h.Assigned([]Partition{{"events", 0}, {"events", 1}})
		}
	}
	return nil
}

// event makes a record of a match at a second after three o'clock.
func event(match int64, team int, second float64) Record {
	at := time.Date(2026, 3, 1, 15, 0, 0, 0, time.UTC).Add(time.Duration(second * float64(time.Second)))
	return Record{Value: fmt.Appendf(nil, `{"event":{"match_id":%d,"team":{"id":%d},"period":1},"metadata":{"event_time":%q}}`,
		match, team, at.Format(timeForm))}
}

func counting(source Source) *Query {
	return From(source).GroupBy("match_id").Window(Tumbling(time.Minute)).Watermark(30 * time.Second).Agg(Count("events"))
}

// shownCounts writes rows as key@second=count.
func shownCounts(r *Rows) string {
	var parts []string
	for _, row := range r.Rows {
		var keys []string
		for _, k := range row.Keys {
			keys = append(keys, k.Text)
		}
		parts = append(parts, fmt.Sprintf("%s@%d=%v", strings.Join(keys, ","), row.Start.Hour()*3600+row.Start.Minute()*60-15*3600, row.Values[0]))
	}
	return strings.Join(parts, " ")
}

// TestFutureEvents: one event far ahead makes no other late and is in its window; a stream that is there is believed.
func TestFutureEvents(t *testing.T) {
	const century = 74 * 366 * 24 * 3600
	from := func(first float64, n int) (all []Record) {
		for i := range n {
			all = append(all, event(7, 1, first+float64(i)))
		}
		return all
	}
	for _, test := range []struct {
		name         string
		records      []Record
		limit        time.Duration
		rows         int
		late, future int64
	}{
		{"one in the middle", slices.Concat(from(0, 60), from(century, 1), from(60, 60)), DefaultMaxAhead, 3, 0, 1},
		{"the first", slices.Concat(from(century, 1), from(0, 120)), DefaultMaxAhead, 3, 0, 1},
		{"some in a row", slices.Concat(from(0, 60), from(century, 50), from(60, 60)), DefaultMaxAhead, 3, 0, 50},
		{"all", from(century, 120), DefaultMaxAhead, 2, 0, 1},
		{"all from some time on", slices.Concat(from(0, 60), from(century, 120)), DefaultMaxAhead, 3, 0, 99},
		{"without a limit", slices.Concat(from(0, 60), from(century, 1), from(60, 60)), 0, 2, 60, 0},
		{"days ahead, in steps", slices.Concat(from(century, 2), from(century+80000, 1), from(century+160000, 1), from(century+240000, 1)), DefaultMaxAhead, 4, 0, 1},
	} {
		running := finish(t, counting(Memory("t", [][]Record{test.records}).BatchSize(1)).MaxAhead(test.limit))
		totals := running.Totals()
		if got := running.Results().Len(); got != test.rows || totals.Late != test.late || totals.Future != test.future || totals.Bad != 0 {
			t.Errorf("%s: got %d rows, %+v, want %d rows, %d late, %d in the future", test.name, got, totals, test.rows, test.late, test.future)
		}
	}
}

// TestLargeNumbers: no record makes a statistic infinite.
func TestLargeNumbers(t *testing.T) {
	var all []Record
	for _, x := range []string{"1e308", "-1e308", "1e150", "-1e150", "1e150"} {
		all = append(all, Record{Value: fmt.Appendf(nil, `{"event":{"match_id":7,"location":[%s,0]},"metadata":{"event_time":"2026-03-01T15:00:00Z"}}`, x)})
	}
	q := From(Memory("t", [][]Record{all})).GroupBy("match_id").Window(Tumbling(time.Minute)).Agg(Stats("x", Field("location.0")))
	running := finish(t, q)
	if bad := running.BadRecords(); bad.Total != 2 || len(bad.Reasons) != 1 {
		t.Errorf("got %+v, want the two beyond ±1e150", bad)
	}
	rows := running.Results().Rows
	if len(rows) != 1 || rows[0].Values[0] != 3 || slices.ContainsFunc(rows[0].Values, func(v float64) bool { return math.IsInf(v, 0) || math.IsNaN(v) }) {
		t.Errorf("got %+v", rows)
	}
}

// TestEnding: a run says why it ended.
func TestEnding(t *testing.T) {
	records := [][]Record{{event(7, 1, 0), event(7, 1, 1), event(7, 1, 2)}}
	for limit, want := range map[int64]string{0: "It ended with its source.", 2: "It ended after MaxRecords.", 5000: "It ended with its source, 4,997 records before MaxRecords."} {
		running := finish(t, counting(Memory("t", records)).MaxRecords(limit))
		if got := running.Notes(); len(got) != 1 || got[0] != want || !strings.Contains(running.String(), want) {
			t.Errorf("limit %d: got %q, want %q", limit, got, want)
		}
		if err := running.Stop(t.Context()); err != nil || running.Notes()[0] != want {
			t.Errorf("limit %d, stopped after its end: %v, %q", limit, err, running.Notes())
		}
	}
	running, err := counting(Memory("t", records).Follow()).MaxRecords(5).Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := running.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := running.Notes(); len(got) != 1 || !strings.HasPrefix(got[0], "It was stopped ") || !strings.HasSuffix(got[0], " records before MaxRecords.") {
		t.Errorf("stopped: got %q", got)
	}
}

func TestNamed(t *testing.T) {
	q := From(Memory("t", [][]Record{{event(7, 1, 0), event(7, 2, 1)}})).GroupBy("match_id", "team_id").Window(Tumbling(time.Minute)).Agg(Count("events"))
	rows := finish(t, q).Results()
	named := rows.Named("team_id", func(id int64) string { return map[int64]string{1: "Real Cárdeno"}[id] })
	if got := named.Keys("team"); len(got) != 2 || got[0].Text != "Real Cárdeno" || got[1].Text != "2" {
		t.Errorf("got %v", got)
	}
	if got := rows.Keys("team_id"); got[0].Text != "1" || rows.Named("nobody", nil) != rows {
		t.Errorf("the rows have changed: %v", got)
	}
}

func TestNamedKeepsNamesApart(t *testing.T) {
	name := func(int64) string { return "Real Cárdeno" }
	for _, c := range []struct {
		keys    []string
		columns []Column
		key     string
		want    []string
	}{
		{[]string{"team", "team_id"}, nil, "team_id", []string{"team", "team_id"}},
		{[]string{"team_id"}, []Column{{Name: "team"}}, "team_id", []string{"team_id"}},
		{[]string{"team_id"}, []Column{{Name: "teams"}}, "team_id", []string{"team"}},
		{[]string{"window_start_id"}, nil, "window_start_id", []string{"window_start_id"}},
		{[]string{"_id"}, nil, "_id", []string{"_id"}},
	} {
		row := Row{Values: make([]float64, len(c.columns))}
		for range c.keys {
			row.Keys = append(row.Keys, Key{ID: 1, Text: "1"})
		}
		named := (&Rows{KeyNames: c.keys, Columns: c.columns, Rows: []Row{row}}).Named(c.key, name)
		if !slices.Equal(named.KeyNames, c.want) {
			t.Errorf("%v beside %v: named %v, want %v", c.keys, c.columns, named.KeyNames, c.want)
		}
		if got := named.Keys(named.KeyNames[len(c.keys)-1]); got[0].Text != "Real Cárdeno" {
			t.Errorf("%v: the key is %v", c.keys, got)
		}
	}
}

func TestReasonsAreKinds(t *testing.T) {
	var all []Record
	for _, text := range []string{"x", "y", `{"a":1x}`, `{"a":22y}`, `{"a":`, `{"a":1,`, `{"match_id":7}`} {
		all = append(all, Record{Value: []byte(text)})
	}
	got := map[string]int64{}
	bad := finish(t, counting(Memory("t", [][]Record{all}))).BadRecords()
	for _, r := range bad.Reasons {
		got[r.Reason] = r.Count
	}
	want := map[string]int64{"not JSON: invalid character looking for beginning of value": 2, "not JSON: invalid character after object key:value pair": 2,
		"not JSON: unexpected end of JSON input": 2, noEventTime: 1}
	if !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if at := bad.Newest[3].Reason; !strings.Contains(at, "'y'") || !strings.Contains(at, "at byte 8") {
		t.Errorf("a record's own reason: got %q", at)
	}
}

func TestWatermark(t *testing.T) {
	for _, test := range []struct {
		name    string
		seconds []float64
		want    string
		late    int64
	}{
		{"in order", []float64{0, 59.999, 60, 119}, "7@0=2 7@60=2", 0},
		{"half-open", []float64{60}, "7@60=1", 0},
		{"before the hour", []float64{-0.001, -60}, "7@-60=2", 0},
		{"late by less than the delay", []float64{89.9, 10}, "7@0=1 7@60=1", 0},
		{"watermark at the window's end", []float64{90, 59.999}, "7@60=1", 1},
		{"watermark never goes back", []float64{200, 100, 130, 59}, "7@120=1 7@180=1", 2},
		{"a window that was never opened is closed too", []float64{300, 100}, "7@300=1", 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			var all []Record
			for _, s := range test.seconds {
				all = append(all, event(7, 1, s))
			}
			for _, batch := range []int{1, 100} {
				running := finish(t, counting(Memory("t", [][]Record{all}).BatchSize(batch)))
				if got := shownCounts(running.Results()); got != test.want {
					t.Errorf("batches of %d: got %s, want %s", batch, got, test.want)
				}
				if got := running.Totals().Late; got != test.late {
					t.Errorf("batches of %d: got %d late, want %d", batch, got, test.late)
				}
			}
		})
	}
}

// TestAcrossPartitions: where groups may lie in several partitions, their parts come together.
func TestAcrossPartitions(t *testing.T) {
	parts := [][]Record{{event(1, 5, 0), event(1, 5, 61), event(1, 6, 62)}, {event(2, 5, 1), event(2, 5, 70)}}
	q := From(Memory("t", parts)).GroupBy("team.id").Window(Tumbling(time.Minute)).Watermark(30 * time.Second).Agg(Count("events"))
	if got, want := shownCounts(finish(t, q).Results()), "5@0=2 5@60=2 6@60=1"; got != want {
		t.Errorf("by team: got %s, want %s", got, want)
	}
	split := [][]Record{{event(1, 5, 0)}, {event(1, 5, 1)}}
	if got, want := shownCounts(finish(t, counting(Memory("t", split)).AcrossPartitions()).Results()), "1@0=2"; got != want {
		t.Errorf("a match in two partitions: got %s, want %s", got, want)
	}
	running := finish(t, counting(Memory("t", split)))
	if got, want := shownCounts(running.Results()), "1@0=1"; got != want {
		t.Errorf("a match in two partitions, keyed: got %s, want %s", got, want)
	}
	if bad := running.BadRecords(); bad.Total != 1 || !strings.Contains(bad.Reasons[0].Reason, "AcrossPartitions") {
		t.Errorf("got bad records %+v, want one that names AcrossPartitions", bad)
	}
}

// TestMergeOrder: moments that come in parts are those of the whole.
func TestMergeOrder(t *testing.T) {
	all := season(21, 6, 300)
	q := func(parts [][]Record) *Query {
		return From(Memory("t", parts)).Window(Tumbling(time.Minute)).Watermark(time.Hour).Agg(Stats("x", Field("location.0")))
	}
	whole, parts := finish(t, q(partitioned(all, 1))).Results(), finish(t, q(partitioned(all, 3))).Results()
	if whole.Len() != parts.Len() || whole.Len() == 0 {
		t.Fatalf("got %d and %d rows", whole.Len(), parts.Len())
	}
	for i, row := range whole.Rows {
		for k, v := range row.Values {
			if got := parts.Rows[i].Values[k]; math.Abs(got-v) > 1e-9 {
				t.Errorf("%v %s: got %v, want %v", row.Start, whole.Columns[k].Name, got, v)
			}
		}
	}
	again := finish(t, q(partitioned(all, 3))).Results()
	if windows := fmt.Sprint(again.Rows); windows != fmt.Sprint(parts.Rows) {
		t.Error("two runs over the same partitions differ")
	}
}

func TestGroupByText(t *testing.T) {
	g := newGenerator(2)
	q := From(Memory("t", [][]Record{records(g.match(1, 50))})).GroupBy("metadata.source", "type.name").
		Window(Tumbling(time.Hour)).Where(IsText("type.name", "Pass", "Carry")).Agg(Count("events"))
	rows := finish(t, q).Results()
	if rows.Len() != 2 || rows.Rows[0].Keys[1].Text != "Carry" || rows.Rows[1].Keys[1].Text != "Pass" || rows.Rows[0].Keys[0].Text != "simulator" {
		t.Errorf("got %v, want simulator with Carry and Pass", rows)
	}
}

func TestConditions(t *testing.T) {
	g := newGenerator(4)
	all := records(g.match(1, 400))
	count := func(c Condition) int {
		rows := finish(t, From(Memory("t", [][]Record{all})).Window(Tumbling(24*time.Hour)).Agg(CountIf("n", c))).Results()
		return int(rows.Column("n")[0])
	}
	pass, carry, both := count(TypeIs(30)), count(TypeIs(43)), count(TypeIs(30, 43))
	if pass == 0 || carry == 0 || pass+carry != both {
		t.Errorf("passes %d, carries %d, both %d", pass, carry, both)
	}
	if got := count(Not(TypeIs(30))); got != 400-pass {
		t.Errorf("not passes: got %d, want %d", got, 400-pass)
	}
	if got := count(Or(TypeIs(30), TypeIs(43))); got != both {
		t.Errorf("or: got %d, want %d", got, both)
	}
	if got := count(And(TypeIs(30), Is("type.id", 43))); got != 0 {
		t.Errorf("and: got %d, want 0", got)
	}
	if got := count(Has("pass")); got != pass {
		t.Errorf("has: got %d, want %d", got, pass)
	}
	if low, high := count(Between("location.0", 0, 60)), count(Between("location.0", 60.05, 120)); low == 0 || low+high != count(Has("location.0")) {
		t.Errorf("between: got %d and %d", low, high)
	}
	if got := count(Is("under_pressure", 1)); got == 0 || got == 400 {
		t.Errorf("under pressure: got %d", got)
	}
}

func TestStartRefuses(t *testing.T) {
	source := Memory("t", [][]Record{nil})
	minute := Tumbling(time.Minute)
	for _, test := range []struct {
		name  string
		query *Query
		want  string
	}{
		{"no source", From(nil).Window(minute).Agg(Count("n")), "no source"},
		{"no window", From(source).Agg(Count("n")), "no window"},
		{"nothing to compute", From(source).Window(minute), "nothing to compute"},
		{"no name", From(source).Window(minute).Agg(Count("")), "without a name"},
		{"twice the same name", From(source).Window(minute).Agg(Count("n"), Mean("n", Field("x"))), `two columns are named "n"`},
		{"bad path", From(source).Window(minute).Agg(Mean("n", Field("a..b"))), `path "a..b"`},
		{"share of no group", From(source).Window(minute).GroupBy("match_id").Agg(Share("s", "possession_team.id", "team.id")), "not among the paths"},
		{"too many groups", From(source).Window(minute).GroupBy("a", "b", "c", "d", "e").Agg(Count("n")), "at most 4"},
		{"negative delay", From(source).Window(minute).Watermark(-1).Agg(Count("n")), "no negative"},
		{"window too wide", From(source).Window(Tumbling(time.Hour * 24 * 365)).Agg(Count("n")), "at most"},
		{"empty condition", From(source).Window(minute).Agg(CountIf("n", Not(Condition{}))), "empty Condition"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if _, err := test.query.Start(t.Context()); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want an error with %q", err, test.want)
			}
		})
	}
}
