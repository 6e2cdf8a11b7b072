package streaming

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	"cancha/statsbomb"
	"cancha/stream"
)

// Scorer is a model of a match as it goes: it keeps the state of each match it has seen events of, and says after each
// event how the match will end.
type Scorer interface {
	// Classes returns the names of the results, in the order of the probabilities: "home", "draw" and "away", in any order.
	Classes() []string
	// Score takes the next events, of one or several matches, each match's in the order of the stream, and fills
	// probabilities[i], which is as long as Classes, with the state after events[i]; they are not negative and sum to 1.
	// Calls come one after another, never two at a time; events and probabilities are the caller's again afterwards.
	// How a stream is cut into calls must not change the answers. An error ends the query.
	Score(events []statsbomb.MatchEvent, probabilities [][]float64) error
}

// Columns of a scoring's rows.
func columns() []stream.Column {
	return []stream.Column{{Name: "match_id", Kind: stream.Int}, {Name: "event_time", Kind: stream.Time}, {Name: "period", Kind: stream.Int},
		{Name: "timestamp", Kind: stream.Text}, {Name: "p_home", Kind: stream.Float}, {Name: "p_draw", Kind: stream.Float}, {Name: "p_away", Kind: stream.Float}}
}

// Batch bounds: a model gets at most so many events in one call, and no more than come within the time. Nothing waits for more events than have
// been read: a slow stream is scored event by event.
const (
	batchEvents = 4096
	batchTime   = 5 * time.Millisecond
)

// Board is what a scoring shows: the predictions so far, the newest of each match, and how long the model takes. Its methods may be called from
// anywhere, at any time.
type Board struct {
	scorer  Scorer
	classes [3]int // where home, draw and away stand among the model's
	keep    int
	limit   int

	// calling is held while the model is called; the fields below it are the call's.
	calling       sync.Mutex
	events        []statsbomb.MatchEvent
	probabilities [][]float64
	goals         map[int64][2]int // of each match's sides, so far

	mu      sync.Mutex // guards what can be asked for
	recent  []Prediction
	latest  map[int64]Prediction
	total   int64
	sources map[string]int64
	latency [3]durations
}

// DefaultKeep is how many predictions a Board keeps, about 300 bytes each.
const DefaultKeep = 200_000

// NewBoard returns an empty board for a model. keep bounds how many predictions it keeps, 0 for DefaultKeep.
func NewBoard(scorer Scorer, keep int) (*Board, error) {
	b := &Board{scorer: scorer, keep: cmp.Or(keep, DefaultKeep), limit: batchEvents, goals: map[int64][2]int{}, latest: map[int64]Prediction{},
		sources: map[string]int64{}}
	if scorer == nil {
		return nil, errors.New("streaming: no model; NewBoard wants one, such as the one that notebook 02 trains")
	}
	if keep < 0 {
		return nil, fmt.Errorf("streaming: keep %d predictions: want 0 for %d, or more", keep, DefaultKeep)
	}
	names := scorer.Classes()
	for i, want := range []string{"home", "draw", "away"} {
		if b.classes[i] = slices.Index(names, want); b.classes[i] < 0 || len(names) != 3 {
			return nil, fmt.Errorf("streaming: the model's classes are %q; want home, draw and away", names)
		}
	}
	return b, nil
}

// Score is the query that scores a source's events on a board. Its rows are those of predictions.csv: match_id, event_time, period, timestamp
// (HH:MM:SS.mmm), p_home, p_draw and p_away. The watermark stays 30 s behind: no row waits for it, it tells how far the matches have come.
func Score(source stream.Source, board *Board) *stream.Query {
	return stream.From(source).Name("win probability").Watermark(30 * time.Second).KeepRows(10_000).ProcessRecords(stream.RecordProcessing{
		Name: "score", Columns: columns(), New: func() stream.RecordHandler { return &handler{board: board} }})
}

// handler scores the records of one partition.
type handler struct {
	board    *Board
	reader   reader
	pending  []MatchEvent
	done     []Prediction
	first    time.Time     // when the first pending event was read
	decoding time.Duration // of the pending events
	failure  error
}

// Record implements stream.RecordHandler: it has the model called once enough events wait.
func (h *handler) Record(r *stream.Record) (at time.Time, reason string) {
	start := time.Now()
	if len(h.pending) == 0 {
		h.first, h.decoding = start, 0
	}
	e, reason := h.reader.read(r)
	if reason != "" {
		return at, reason
	}
	h.pending = append(h.pending, e)
	now := time.Now()
	h.decoding += now.Sub(start)
	if len(h.pending) >= h.board.limit || now.Sub(h.first) >= batchTime {
		h.score()
	}
	return e.EventTime, ""
}

// Flush implements stream.RecordHandler: it scores what is left of a batch of records.
func (h *handler) Flush(emit func(at time.Time, row ...stream.Value) error) error {
	if len(h.pending) > 0 {
		h.score()
	}
	for _, p := range h.done {
		if err := emit(p.EventTime, p.row()...); err != nil {
			return err
		}
	}
	h.done = h.done[:0]
	return h.failure
}

// score hands the pending events to the model. After a failure nothing is scored any more.
func (h *handler) score() {
	if h.failure == nil {
		h.done, h.failure = h.board.score(h.done, h.pending, h.decoding)
	}
	clear(h.pending) // lets go of what the events hold
	h.pending = h.pending[:0]
}

// score calls the model with events, keeps what it says and appends it to done.
func (b *Board) score(done []Prediction, batch []MatchEvent, decoding time.Duration) ([]Prediction, error) {
	b.calling.Lock()
	defer b.calling.Unlock()
	b.fill(batch)
	start := time.Now()
	err := b.call()
	took := time.Since(start)
	if err != nil {
		return done, fmt.Errorf("score %d events: %w", len(batch), err)
	}
	from := len(done)
	for i, e := range batch {
		p := b.probabilities[i]
		if err := check(p); err != nil {
			return done, fmt.Errorf("match %d, event %d: %w", e.Event.MatchID, e.Event.Index, err)
		}
		done = append(done, b.prediction(e, p))
	}
	b.keepAll(batch, done[from:], decoding, took)
	return done, nil
}

// fill prepares the model's arguments, in memory that is used again.
func (b *Board) fill(batch []MatchEvent) {
	b.events = b.events[:0]
	for _, e := range batch {
		b.events = append(b.events, statsbomb.MatchEvent{Event: e.Event, Home: e.Home, Away: e.Away})
	}
	for len(b.probabilities) < len(batch) {
		b.probabilities = append(b.probabilities, make([]float64, len(b.classes)))
	}
}

// call calls the model; a panic in it ends the query, not the program.
func (b *Board) call() (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the model panicked: %v", p)
		}
	}()
	return b.scorer.Score(b.events, b.probabilities[:len(b.events)])
}

func (b *Board) prediction(e MatchEvent, p []float64) Prediction {
	goals := b.count(e)
	return Prediction{MatchID: e.Event.MatchID, EventTime: e.EventTime, Period: e.Event.Period,
		Timestamp: e.Event.Timestamp, Minute: e.Event.Minute, Second: e.Event.Second, Index: e.Event.Index,
		Type: e.Event.Type, Team: e.Event.Team, Goal: e.Event.Goal(), Red: e.Event.Red(), HomeTeam: e.Home, AwayTeam: e.Away,
		HomeGoals: goals[0], AwayGoals: goals[1],
		Home: p[b.classes[0]], Draw: p[b.classes[1]], Away: p[b.classes[2]]}
}

// count returns the goals of both sides, with an event's.
func (b *Board) count(e MatchEvent) [2]int {
	goals := b.goals[e.Event.MatchID]
	switch {
	case !e.Event.Goal():
	case e.Event.Team.ID == e.Home.ID:
		goals[0]++
	case e.Event.Team.ID == e.Away.ID:
		goals[1]++
	}
	b.goals[e.Event.MatchID] = goals
	return goals
}

// check makes sure that a model's answer is one.
func check(p []float64) error {
	sum := 0.0
	for _, v := range p {
		if math.IsNaN(v) || v < 0 {
			return fmt.Errorf("the model gave %v: a probability is not negative and a number", p)
		}
		sum += v
	}
	if math.Abs(sum-1) > 1e-9 {
		return fmt.Errorf("the model gave %v: probabilities sum to 1, not to %v", p, sum)
	}
	return nil
}

func (b *Board) keepAll(batch []MatchEvent, predictions []Prediction, decoding, scoring time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	for i, e := range batch {
		b.sources[cmp.Or(e.SourceKind, "unknown")]++
		b.latest[e.Event.MatchID] = predictions[i]
		if !e.ProducerTime.IsZero() {
			b.latency[2].add(now.Sub(e.ProducerTime))
		}
	}
	b.total += int64(len(batch))
	b.latency[0].add(decoding)
	b.latency[1].add(decoding + scoring)
	b.recent = append(b.recent, predictions...)
	if len(b.recent) > b.keep+b.keep/4 {
		b.recent = slices.Clone(b.recent[len(b.recent)-b.keep:])
	}
}
