package streaming

import (
	"context"
	"fmt"
	"math"
	"time"

	"cancha/internal/callback"
	"cancha/internal/cellio"
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
	// How a stream is cut into calls must not change the answers. An error ends the query, whose Err tells it; nothing of the call is kept then. ctx is
	// done when the query is cancelled: a call that waits, for a device or another machine, returns its cause.
	Score(ctx context.Context, events []statsbomb.MatchEvent, probabilities [][]float64) error
}

// Columns of a scoring's rows.
func columns() []stream.Column {
	return []stream.Column{{Name: "match_id", Kind: stream.Int}, {Name: "event_time", Kind: stream.Time}, {Name: "period", Kind: stream.Int},
		{Name: "timestamp", Kind: stream.Text}, {Name: "p_home", Kind: stream.Float}, {Name: "p_draw", Kind: stream.Float}, {Name: "p_away", Kind: stream.Float}}
}

// Score is the query that scores a source's events on a board. Its rows are those of predictions.csv: match_id, event_time, period, timestamp
// (HH:MM:SS.mmm), p_home, p_draw and p_away. The watermark stays 30 s behind: no row waits for it, it tells how far the matches have come.
//
// Records are in the envelope; of an event without one, published or flattened, the teams must stand in a "metadata" beside it, and event_time
// there or in the event.
func Score(source stream.Source, board *Board) *stream.Query {
	if board == nil {
		return stream.From(source).ProcessRecords(stream.RecordProcessing{Name: "score on no board: NewBoard makes one"})
	}
	return stream.From(source).Name("win probability").Watermark(30 * time.Second).KeepRows(10_000).ProcessRecords(stream.RecordProcessing{
		Name: "score", Columns: columns(), New: board.handler})
}

// handler makes what scores the records of a partition.
func (b *Board) handler() stream.RecordHandler {
	if s, ok := b.scorer.(Keeper); ok {
		return newKeptHandler(b, s)
	}
	return &handler{board: b}
}

// Batch bounds: a model gets at most so many events in one call, and no more than come within the time. Nothing waits for more events than have
// been read: a slow stream is scored event by event. The clock is looked at once in so many events, which are read in far less than the time.
const (
	batchEvents = 4096
	batchTime   = 5 * time.Millisecond
	clockEvery  = 64
)

// handler scores the records of one partition.
type handler struct {
	board   *Board
	reader  reader
	pending []statsbomb.MatchEvent // read into where they lie, since they are large
	told    []told                 // of each of them
	first   time.Time              // when the first of them was read
	done    [][]Prediction         // of the batch of records in hand
	stamps  []byte
	row     [7]stream.Value // what emit copies
	scored  func(done call) // told of each call of the model; nil: nobody is
	failure error
}

// Record implements stream.RecordHandler: it has the model called once enough events wait.
func (h *handler) Record(ctx context.Context, r *stream.Record) (at time.Time, reason string) {
	n := len(h.pending)
	if n == 0 {
		h.first = time.Now()
	}
	if n == cap(h.pending) {
		h.grow()
	}
	h.pending, h.told = h.pending[:n+1], h.told[:n+1]
	if reason = h.reader.read(r.Value, &h.pending[n], &h.told[n]); reason != "" {
		h.pending, h.told = h.pending[:n], h.told[:n]
		return at, reason
	}
	at = instant(h.told[n].at)
	if n++; n >= h.board.limit || n%clockEvery == 0 && time.Since(h.first) >= h.board.wait {
		h.score(ctx)
	}
	return at, ""
}

// grow makes room for more pending events.
func (h *handler) grow() {
	size := min(max(16, 4*cap(h.pending)), h.board.limit)
	h.pending = append(make([]statsbomb.MatchEvent, 0, size), h.pending...)
	h.told = append(make([]told, 0, size), h.told...)
}

// instant is a time of so many nanoseconds since 1970.
func instant(ns int64) time.Time { return time.Unix(0, ns).UTC() }

// Flush implements stream.RecordHandler: it scores what is left of a batch of records, and gives out its rows.
func (h *handler) Flush(ctx context.Context, emit func(at time.Time, row ...stream.Value) error) error {
	if len(h.pending) > 0 {
		h.score(ctx)
	}
	stamps := h.timestamps()
	for _, done := range h.done {
		for i := range done {
			p := &done[i]
			stamp := stamps[:stampLength(p.Timestamp)]
			stamps = stamps[len(stamp):]
			h.row = [...]stream.Value{stream.IntOf(p.MatchID), stream.TimeOf(p.EventTime), stream.IntOf(int64(p.Period)), stream.TextOf(stamp),
				stream.FloatOf(p.Home), stream.FloatOf(p.Draw), stream.FloatOf(p.Away)}
			if err := emit(p.EventTime, h.row[:]...); err != nil {
				return err
			}
		}
	}
	clear(h.done) // lets go of what the board may forget
	h.done = h.done[:0]
	return h.failure
}

// timestamps are those of all predictions that are to be given out, one behind the other: one text costs less than thousands.
func (h *handler) timestamps() string {
	h.stamps = h.stamps[:0]
	for _, done := range h.done {
		for i := range done {
			h.stamps = appendTimestamp(h.stamps, done[i].Timestamp)
		}
	}
	return string(h.stamps)
}

// score hands the pending events to the model. After a failure nothing is scored any more.
func (h *handler) score(ctx context.Context) {
	if h.failure == nil {
		var done call
		if done, h.failure = h.board.score(ctx, h, h.pending, h.told, time.Since(h.first)); h.failure == nil {
			h.done = append(h.done, done.list)
			if h.scored != nil {
				h.scored(done)
			}
		}
	}
	clear(h.pending) // lets go of what the events hold
	h.pending, h.told = h.pending[:0], h.told[:0]
}

// score calls the model with events, keeps what it says and returns it. The predictions are the board's and must not change.
func (b *Board) score(ctx context.Context, of *handler, events []statsbomb.MatchEvent, told []told, decoding time.Duration) (call, error) {
	b.calling.Lock()
	defer b.calling.Unlock()
	for len(b.probabilities) < len(events) {
		b.probabilities = append(b.probabilities, make([]float64, len(b.classes)))
	}
	probabilities := b.probabilities[:len(events)]
	start := time.Now()
	err := b.call(ctx, events, probabilities)
	took := time.Since(start)
	if err != nil {
		return call{}, fmt.Errorf("score %d events: %w", len(events), err)
	}
	for i, p := range probabilities {
		if err := check(p); err != nil {
			return call{}, fmt.Errorf("match %d, event %d: %w", events[i].Event.MatchID, events[i].Event.Index, err)
		}
	}
	return b.take(of, events, told, probabilities, decoding, took), nil
}

// call calls the model, unless the query has been cancelled; a panic in it ends the query, not the program.
func (b *Board) call(ctx context.Context, events []statsbomb.MatchEvent, probabilities [][]float64) (err error) {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	returned := false
	defer func() {
		if fault, ok := err.(*cellio.Fault); ok {
			err = fmt.Errorf("the model: %w", fault)
		}
	}()
	defer callback.Catch("the model", &returned, &err)
	err = b.scorer.Score(ctx, events, probabilities)
	returned = true
	return err
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
