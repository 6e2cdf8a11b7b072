package stream

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"cancha/statsbomb"
)

// tally is a model whose answer depends on all events of a match so far and on their order.
type tally struct {
	classes []string
	state   map[int64]float64
	calls   int
	most    int
	answer  func(state float64) []float64
	fail    error
}

func newTally() *tally {
	return &tally{classes: []string{"home", "draw", "away"}, state: map[int64]float64{},
		answer: func(s float64) []float64 { return []float64{s, (1 - s) / 4, (1 - s) * 3 / 4} }}
}

func (m *tally) Classes() []string { return m.classes }

func (m *tally) Score(events []statsbomb.MatchEvent, probabilities [][]float64) error {
	m.calls++
	m.most = max(m.most, len(events))
	for i, e := range events {
		if e.Home.ID == 0 || e.Away.ID == 0 {
			return fmt.Errorf("event %d has no teams", e.Event.Index)
		}
		_, s := math.Modf(m.state[e.Event.MatchID]*3 + float64(e.Event.Index)/7 + float64(e.Event.Type.ID)/100)
		m.state[e.Event.MatchID] = s
		copy(probabilities[i], m.answer(s))
	}
	return m.fail
}

func scored(t testing.TB, s *Scoring) *RunningScore {
	t.Helper()
	running, err := s.Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := running.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	return running
}

func predictionsCSV(t testing.TB, r *RunningScore) string {
	t.Helper()
	var b bytes.Buffer
	if err := r.Predictions().WriteCSV(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// scorable makes matches all of whose events can be scored, and in which some end in a goal.
func scorable(seed uint64, matches, n int) []Record {
	g := newGenerator(seed)
	var all [][]sent
	for id := range matches {
		m := g.match(int64(id)+1, n)
		for i := range m {
			m[i].Event.Period = 1 + i*2/n
			if i%100 == 99 {
				m[i].Event.Type = ref{25, "Own Goal For"}
			}
		}
		all = append(all, m)
	}
	return records(all...)
}

func TestScore(t *testing.T) {
	all := scorable(1, 5, 300)
	model := newTally()
	running := scored(t, Score(Memory("events", partitioned(all, 1)), model))
	got := running.Predictions()
	if got.Len() != len(all) || got.Total != int64(len(all)) {
		t.Fatalf("got %d predictions of %d, want %d; bad: %+v", got.Len(), got.Total, len(all), running.BadRecords().Reasons)
	}
	goals := 0
	for i, p := range got.List {
		if math.Abs(p.Home+p.Draw+p.Away-1) > 1e-9 || p.HomeTeam.ID == 0 || p.EventTime.IsZero() {
			t.Fatalf("got %+v", p)
		}
		if i > 0 && comparePredictions(got.List[i-1], p) > 0 {
			t.Fatalf("prediction %d is out of order", i)
		}
		if p.Goal {
			goals++
		}
	}
	if goals != 5*3 {
		t.Errorf("got %d goals, want 15", goals)
	}
	last := running.Latest()
	if last.Len() != 5 || last.List[2].MatchID != 3 || last.List[2].Home != model.state[3] || last.List[2].Index != 300 {
		t.Errorf("latest: got %+v, want five, the third with home %v", last, model.state[3])
	}
	if s := running.Sources(); len(s) != 1 || s[0] != (SourceCount{"simulator", 1500}) {
		t.Errorf("got sources %v", s)
	}
	if s := running.OtherSources("open-data"); len(s) != 1 || s[0].Source != "simulator" {
		t.Errorf("got other sources %v", s)
	}
	if s := running.OtherSources("simulator"); len(s) != 0 {
		t.Errorf("got other sources %v", s)
	}
	l := running.Latency()
	if l.WithModel.Count == 0 || l.WithModel.Max < l.WithoutModel.P50 || l.SinceSent.Count != 1500 {
		t.Errorf("got latencies %v", l)
	}
	if p := running.Progress(); p.DurationMs["decode"]+p.DurationMs["score"] > 60_000 || p.Sink.NumOutputRows != 1500 {
		t.Errorf("got progress %+v", p)
	}
}

// TestScoreSameBytes: how a stream is cut into batches and partitions does not change predictions.csv.
func TestScoreSameBytes(t *testing.T) {
	all := scorable(2, 6, 150)
	want := predictionsCSV(t, scored(t, Score(Memory("events", partitioned(all, 1)), newTally())))
	if lines := strings.Count(want, "\n"); lines != len(all)+1 {
		t.Fatalf("got %d lines, want %d", lines, len(all)+1)
	}
	for _, partitions := range []int{1, 3} {
		for _, batch := range []int{1, 7, 5000} {
			model := newTally()
			s := Score(Memory("events", partitioned(all, partitions)).BatchSize(batch), model).Batch(100, time.Hour)
			if got := predictionsCSV(t, scored(t, s)); got != want {
				t.Errorf("%d partitions, batches of %d: predictions.csv differs", partitions, batch)
			}
			if model.most > 100 || batch == 5000 && model.most != 100 {
				t.Errorf("batches of %d: the model got up to %d events, want at most 100", batch, model.most)
			}
		}
	}
}

func TestPredictionsCSVForm(t *testing.T) {
	g := newGenerator(3)
	e := g.match(4, 1)
	e[0].Event.Period, e[0].Event.Timestamp = 2, "00:31:07.042"
	model := newTally()
	model.classes = []string{"away", "home", "draw"}
	model.answer = func(float64) []float64 { return []float64{.5, .25, .25} }
	e[0].Metadata.EventTime = "2026-03-01T15:31:07.042Z"
	got := predictionsCSV(t, scored(t, Score(Memory("t", [][]Record{records(e)}), model)))
	want := "match_id,event_time,period,timestamp,p_home,p_draw,p_away\n4,2026-03-01T15:31:07.042Z,2,00:31:07.042,0.25,0.25,0.5\n"
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestScoreBadRecords(t *testing.T) {
	g := newGenerator(3)
	noTeams, noTime, noMatch := g.match(1, 1), g.match(1, 1), g.match(1, 1)
	noTeams[0].Metadata.HomeTeam, noTime[0].Metadata.EventTime, noMatch[0].Event.MatchID = ref{}, "", 0
	all := append(records(noTeams), records(noTime)...)
	all = append(all, records(noMatch)...)
	all = append(all, Record{Value: []byte(`{"event":{"match_id":1,"period":1,"timestamp":7}}`)}, Record{Value: []byte(`nonsense`)})
	running := scored(t, Score(Memory("t", [][]Record{all}), newTally()))
	bad := running.BadRecords()
	if bad.Total != 5 || running.Predictions().Len() != 0 {
		t.Fatalf("got %d bad, %d predictions, want 5 and 0", bad.Total, running.Predictions().Len())
	}
	for i, want := range []string{"home_team", "event_time", "match_id", "timestamp", "not JSON"} {
		if got := bad.Newest[i].Reason; !strings.Contains(got, want) {
			t.Errorf("record %d: got reason %q, want one with %q", i, got, want)
		}
	}
}

func TestScoreFails(t *testing.T) {
	all := scorable(5, 1, 20)
	for _, test := range []struct {
		name  string
		model func(*tally)
		want  string
	}{
		{"error", func(m *tally) { m.fail = errors.New("no features") }, "score 20 events: no features"},
		{"panic", func(m *tally) { m.answer = func(float64) []float64 { panic("index out of range") } }, "the model panicked: index out of range"},
		{"sum", func(m *tally) { m.answer = func(float64) []float64 { return []float64{.5, .5, .5} } }, "sum to 1, not to 1.5"},
		{"not a number", func(m *tally) { m.answer = func(float64) []float64 { return []float64{math.NaN(), .5, .5} } }, "not negative and a number"},
	} {
		t.Run(test.name, func(t *testing.T) {
			model := newTally()
			test.model(model)
			running, err := Score(Memory("t", [][]Record{all}).Follow(), model).Batch(4096, time.Hour).Start(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if err := running.Wait(t.Context()); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want an error with %q", err, test.want)
			}
			if model.calls != 1 {
				t.Errorf("the model was called %d times, want 1: not again after it failed", model.calls)
			}
		})
	}
}

func TestScoreRefuses(t *testing.T) {
	source := Memory("t", nil)
	strange := newTally()
	strange.classes = []string{"1", "X", "2"}
	for name, s := range map[string]*Scoring{"no source": Score(nil, newTally()), "no model": Score(source, nil),
		"want home, draw and away": Score(source, strange), "MaxRecords(-1)": Score(source, newTally()).MaxRecords(-1)} {
		if _, err := s.Start(t.Context()); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("got %v, want an error with %q", err, name)
		}
	}
}

// keeper is a sink that keeps predictions.
type keeper struct{ list []Prediction }

func (k *keeper) Write(_ context.Context, p []Prediction) error {
	k.list = append(k.list, p...)
	return nil
}

func TestScoreKeepsTheNewest(t *testing.T) {
	all := scorable(6, 2, 100)
	sink := &keeper{}
	running := scored(t, Score(Memory("t", [][]Record{all}).BatchSize(9), newTally()).Keep(30).MaxRecords(150).To(sink))
	got := running.Predictions()
	if got.Len() != 30 || got.Total != 150 || len(sink.list) != 150 {
		t.Errorf("got %d of %d, sink %d, want 30 of 150, sink 150", got.Len(), got.Total, len(sink.list))
	}
	if got.Match(1).Len()+got.Match(2).Len() != 30 || got.Match(3).Len() != 0 {
		t.Errorf("got %d and %d", got.Match(1).Len(), got.Match(2).Len())
	}
	for _, each := range []interface{ MIMEBundle() map[string]any }{running, got, running.Latest(), running.Latency()} {
		if plain, _ := each.MIMEBundle()["text/plain"].(string); plain == "" {
			t.Errorf("%T shows nothing", each)
		}
	}
}
