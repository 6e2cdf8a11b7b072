package streaming_test

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
	"cancha/statsbomb/streaming"
	"cancha/stream"
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
	return &tally{classes: []string{"draw", "home", "away"}, state: map[int64]float64{},
		answer: func(s float64) []float64 { return []float64{(1 - s) / 4, s, (1 - s) * 3 / 4} }}
}

func (m *tally) Classes() []string { return m.classes }

func (m *tally) Score(ctx context.Context, events []statsbomb.MatchEvent, probabilities [][]float64) error {
	m.calls++
	m.most = max(m.most, len(events))
	for i, e := range events {
		if e.Home.ID == 0 || e.Away.ID == 0 {
			return fmt.Errorf("event %d has no teams", e.Event.Index)
		}
		// The conversions keep a compiler from joining a product and a sum, whose last digit would then depend on the processor.
		_, s := math.Modf(float64(m.state[e.Event.MatchID]*3) + float64(e.Event.Index)/7 + float64(e.Event.Type.ID)/100 + float64(e.Home.ID)/10)
		m.state[e.Event.MatchID] = math.Abs(s)
		copy(probabilities[i], m.answer(math.Abs(s)))
	}
	return m.fail
}

func newBoard(t testing.TB, model streaming.Scorer, keep int) *streaming.Board {
	t.Helper()
	board, err := streaming.NewBoard(model, keep)
	if err != nil {
		t.Fatal(err)
	}
	return board
}

// scored scores records by a new tally.
func scored(t testing.TB, source stream.Source) (*streaming.Board, *stream.Running) {
	t.Helper()
	board := newBoard(t, newTally(), 0)
	return board, finish(t, streaming.Score(source, board))
}

func predictionsCSV(t testing.TB, board *streaming.Board) string {
	t.Helper()
	var b bytes.Buffer
	if err := board.Predictions().WriteCSV(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// scorable makes matches all of whose events can be scored, and in which some end in a goal.
func scorable(seed uint64, matches, n int) []stream.Record {
	g := newGenerator(seed)
	var all [][]sent
	for id := range matches {
		m := g.match(int64(id)+1, n)
		for i := range m {
			m[i].Event.Period = 1 + i*2/n
			if i%100 == 99 {
				m[i].Event.Type, m[i].Event.Team = ref{25, "Own Goal For"}, &m[i].Metadata.HomeTeam
			}
		}
		all = append(all, m)
	}
	return records(all...)
}

func TestScore(t *testing.T) {
	all := scorable(1, 5, 300)
	model := newTally()
	board := newBoard(t, model, 0)
	running := finish(t, streaming.Score(stream.Memory("events", partitioned(all, 1)), board))
	got := board.Predictions()
	if got.Len() != len(all) || got.Total != int64(len(all)) {
		t.Fatalf("got %d predictions of %d, want %d; bad: %+v", got.Len(), got.Total, len(all), running.BadRecords().Reasons)
	}
	goals := 0
	for i, p := range got.List {
		if math.Abs(p.Home+p.Draw+p.Away-1) > 1e-9 || p.HomeTeam.ID == 0 || p.EventTime.IsZero() {
			t.Fatalf("got %+v", p)
		}
		if i > 0 && (p.MatchID < got.List[i-1].MatchID || p.MatchID == got.List[i-1].MatchID && p.EventTime.Before(got.List[i-1].EventTime)) {
			t.Fatalf("prediction %d is out of order", i)
		}
		if p.Goal {
			goals++
		}
	}
	if goals != 5*3 {
		t.Errorf("got %d goals, want 15", goals)
	}
	last := board.Latest()
	if last.Len() != 5 || last.Total != 5 || last.List[2].MatchID != 3 || last.List[2].Home != model.state[3] || last.List[2].Index != 300 {
		t.Errorf("latest: got %+v, want five, the third with home %v", last, model.state[3])
	}
	for _, p := range last.List {
		if p.Score() != "3:0" {
			t.Errorf("match %d: got %s, want 3:0", p.MatchID, p.Score())
		}
	}
	checkRowsOf(t, running.Results(), got.List)
	checkBoard(t, board, running)
}

// checkRowsOf compares a scoring's rows with the predictions.
func checkRowsOf(t *testing.T, rows *stream.Rows, list []streaming.Prediction) {
	t.Helper()
	if rows.Len() != len(list) {
		t.Fatalf("got %d rows, want %d", rows.Len(), len(list))
	}
	for i, p := range list {
		row := rows.Row(i)
		stamp := time.Time{}.Add(p.Timestamp).Format("15:04:05.000")
		if row.Int("match_id") != p.MatchID || !row.Time("event_time").Equal(p.EventTime) || row.Int("period") != int64(p.Period) ||
			row.Text("timestamp") != stamp || row.Float("p_home") != p.Home || row.Float("p_draw") != p.Draw || row.Float("p_away") != p.Away {
			t.Fatalf("row %d: got %s, want %+v at %s", i, rows.AppendJSON(nil, i), p, stamp)
		}
	}
}

func checkBoard(t *testing.T, board *streaming.Board, running *stream.Running) {
	t.Helper()
	if s := board.Sources(); len(s) != 1 || s[0] != (streaming.SourceCount{Source: "simulator", Records: 1500}) {
		t.Errorf("got sources %v", s)
	}
	if s := board.OtherSources("open-data"); len(s) != 1 || s[0].Source != "simulator" {
		t.Errorf("got other sources %v", s)
	}
	if s := board.OtherSources("simulator"); len(s) != 0 {
		t.Errorf("got other sources %v", s)
	}
	l := board.Latency()
	if l.WithModel.Count == 0 || l.WithModel.Max < l.WithoutModel.P50 || l.SinceSent.Count != 1500 || l.SinceSent.P50 <= 0 {
		t.Errorf("got latencies %v", l)
	}
	if p := running.Progress(); p.Sink.NumOutputRows != 1500 {
		t.Errorf("got progress %+v", p)
	}
}

// TestScoreSameBytes: how a stream is cut into batches and partitions does not change predictions.csv.
func TestScoreSameBytes(t *testing.T) {
	all := scorable(2, 6, 150)
	board, _ := scored(t, stream.Memory("events", partitioned(all, 1)))
	want := predictionsCSV(t, board)
	if lines := strings.Count(want, "\n"); lines != len(all)+1 {
		t.Fatalf("got %d lines, want %d", lines, len(all)+1)
	}
	for _, partitions := range []int{1, 3} {
		for _, batch := range []int{1, 7, 5000} {
			model := newTally()
			board := newBoard(t, model, 0)
			board.SetBatch(100, time.Hour)
			finish(t, streaming.Score(stream.Memory("events", partitioned(all, partitions)).BatchSize(batch), board))
			if got := predictionsCSV(t, board); got != want {
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
	e[0].Metadata.EventTime = "2026-03-01T15:31:07.042Z"
	model := newTally()
	model.classes = []string{"away", "home", "draw"}
	model.answer = func(float64) []float64 { return []float64{.5, .25, .25} }
	board := newBoard(t, model, 0)
	finish(t, streaming.Score(stream.Memory("t", [][]stream.Record{records(e)}), board))
	got := predictionsCSV(t, board)
	want := "match_id,event_time,period,timestamp,p_home,p_draw,p_away\n4,2026-03-01T15:31:07.042Z,2,00:31:07.042,0.25,0.25,0.5\n"
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
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
		{"panic", func(m *tally) { m.answer = func(float64) []float64 { panic("index out of range") } }, "the model: panic: index out of range"},
		{"sum", func(m *tally) { m.answer = func(float64) []float64 { return []float64{.5, .5, .5} } }, "sum to 1, not to 1.5"},
		{"not a number", func(m *tally) { m.answer = func(float64) []float64 { return []float64{math.NaN(), .5, .5} } }, "not negative and a number"},
	} {
		t.Run(test.name, func(t *testing.T) {
			model := newTally()
			test.model(model)
			board := newBoard(t, model, 0)
			board.SetBatch(4096, time.Hour)
			source := stream.Memory("t", [][]stream.Record{all}).Follow()
			running, err := streaming.Score(source, board).Start(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if err := running.Wait(t.Context()); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want an error with %q", err, test.want)
			}
			if model.calls != 1 {
				t.Errorf("the model was called %d times, want 1: not again after it failed", model.calls)
			}
			if got := board.Predictions(); got.Total != 0 || running.Results().Len() != 0 {
				t.Errorf("got %d predictions, %d rows, want none of a call that failed", got.Total, running.Results().Len())
			}
		})
	}
}

// patient is a model that waits in its call until nothing more is read, or the query is cancelled.
type patient struct {
	*tally
	called  chan struct{}
	stopped chan struct{}
}

func (m *patient) Score(ctx context.Context, events []statsbomb.MatchEvent, probabilities [][]float64) error {
	close(m.called)
	select {
	case <-m.stopped:
	case <-ctx.Done():
	}
	if err := context.Cause(ctx); err != nil {
		return err
	}
	return m.tally.Score(ctx, events, probabilities)
}

// watched is a source that tells when it is to read no more.
type watched struct {
	stream.Source
	stopped chan struct{}
}

func (w watched) Run(ctx context.Context, h stream.Handler) error {
	defer context.AfterFunc(ctx, func() { close(w.stopped) })()
	return w.Source.Run(ctx, h)
}

// TestScoreEnds: a query that is cancelled ends the model's call, and says so; one that is stopped waits for it, and keeps what it says.
func TestScoreEnds(t *testing.T) {
	start := func(t *testing.T, ctx context.Context) (*patient, *streaming.Board, *stream.Running) {
		t.Helper()
		model := &patient{tally: newTally(), called: make(chan struct{}), stopped: make(chan struct{})}
		board := newBoard(t, model, 0)
		board.SetBatch(4096, time.Hour)
		source := watched{stream.Memory("t", [][]stream.Record{scorable(5, 1, 20)}).Follow(), model.stopped}
		running, err := streaming.Score(source, board).Start(ctx)
		if err != nil {
			t.Fatal(err)
		}
		<-model.called
		return model, board, running
	}
	t.Run("cancelled", func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		_, board, running := start(t, ctx)
		over := errors.New("over")
		cancel(over)
		if err := running.Wait(t.Context()); !errors.Is(err, over) || !strings.Contains(err.Error(), "score 20 events: over") {
			t.Errorf("got %v", err)
		}
		if n := board.Predictions().Total; n != 0 {
			t.Errorf("%d predictions of a call that was ended", n)
		}
	})
	t.Run("stopped", func(t *testing.T) {
		_, board, running := start(t, t.Context())
		if err := running.Stop(t.Context()); err != nil {
			t.Errorf("got %v", err)
		}
		if n := board.Predictions().Total; n != 20 {
			t.Errorf("%d predictions, want 20", n)
		}
	})
}

func TestScoreRefuses(t *testing.T) {
	strange := newTally()
	strange.classes = []string{"1", "X", "2"}
	two := newTally()
	two.classes = []string{"home", "away"}
	for _, test := range []struct {
		model streaming.Scorer
		keep  int
		want  string
	}{{nil, 0, "no model"}, {strange, 0, "want home, draw and away"}, {two, 0, "want home, draw and away"}, {newTally(), -1, "keep -1 predictions"}} {
		if _, err := streaming.NewBoard(test.model, test.keep); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("got %v, want an error with %q", err, test.want)
		}
	}
	board := newBoard(t, newTally(), 0)
	for want, q := range map[string]*stream.Query{"no source": streaming.Score(nil, board),
		"MaxRecords(-1)": streaming.Score(stream.Memory("t", nil), board).MaxRecords(-1), "no board": streaming.Score(stream.Memory("t", nil), nil)} {
		if _, err := q.Start(t.Context()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want an error with %q", err, want)
		}
	}
}

func TestScoreKeepsTheNewest(t *testing.T) {
	all := scorable(6, 2, 100)
	var given int
	sink := stream.SinkFunc(func(_ int64, rows *stream.Rows) error {
		given += rows.Len()
		return nil
	})
	board := newBoard(t, newTally(), 30)
	running := finish(t, streaming.Score(stream.Memory("t", [][]stream.Record{all}).BatchSize(9), board).MaxRecords(150).To(sink))
	got := board.Predictions()
	if got.Len() != 30 || got.Total != 150 || given != 150 {
		t.Errorf("got %d of %d, sink %d, want 30 of 150, sink 150", got.Len(), got.Total, given)
	}
	if got.Match(1).Len()+got.Match(2).Len() != 30 || got.Match(3).Len() != 0 {
		t.Errorf("got %d and %d", got.Match(1).Len(), got.Match(2).Len())
	}
	checkNewest(t, got.List, all[120:150])
	for _, each := range []interface{ MIMEBundle() map[string]any }{running, got, board.Latest(), board.Latency()} {
		if plain, _ := each.MIMEBundle()["text/plain"].(string); plain == "" {
			t.Errorf("%T shows nothing", each)
		}
	}
}

// checkNewest makes sure that the predictions are those of these records.
func checkNewest(t *testing.T, list []streaming.Prediction, of []stream.Record) {
	t.Helper()
	want := map[string]bool{}
	for _, r := range of {
		_, rest, _ := strings.Cut(string(r.Value), `"index":`)
		index, _, _ := strings.Cut(rest, ",")
		want[string(r.Key)+"/"+index] = true
	}
	for _, p := range list {
		if name := fmt.Sprintf("%d/%d", p.MatchID, p.Index); !want[name] {
			t.Errorf("got a prediction of %s, which is not among the newest", name)
		}
	}
}
