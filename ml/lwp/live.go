package lwp

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"cancha/statsbomb"
)

// Live scores a stream of events from any number of matches: it keeps a State per match and answers after every event.
// Teams are rated as they stood at the end of training, at home and away; teams that the model does not know count as
// average. It is safe for concurrent use; events of one match should come from one goroutine, in order.
type Live struct {
	mu      sync.Mutex
	model   *Model
	batch   batch
	matches map[int64]*live
	most    int
	clock   uint64 // of events: the time of the call that brings one, in nanoseconds since 1970, and a later one for each
	placed  placed // the forest in a session; the zero value in none

	// Of a call, kept so that a call allocates nothing:
	changed []*live     // whose state was added to the batch, in its order
	of      []int       // which of them stands for each event; -1: what is in the answer already
	rows    [][]float64 // for the batch to fill, views of block
	block   []float64
	undo    []undo // what the call has changed, in a session only
}

// live is one match being watched.
type live struct {
	state  State
	prior  Prior
	seen   uint64 // the clock at its last event
	scored State  // the state that answer is for
	answer [3]float64
	asked  bool // whether there is a scored state
	at     int  // the place in changed that will answer, and 1; 0: answer does
	noted  bool // whether it is in undo
}

// defaultLive is how many matches are kept when the caller does not say: about 4 MB.
const defaultLive = 4096

// NewLive returns a scorer that keeps at most matches matches, 0 for 4096. When there are more, the quarter that was
// silent longest is forgotten; an event of a forgotten match would start it anew at 0–0, so keep the number well above
// the matches that play at the same time.
func NewLive(m *Model, matches int) *Live {
	if matches <= 0 {
		matches = defaultLive
	}
	return &Live{model: m, batch: batch{of: m.of}, matches: map[int64]*live{}, most: matches}
}

// Classes returns the order of the probabilities.
func (l *Live) Classes() []string { return slices.Clone(l.model.Info.Classes) }

// Source returns where the model's training matches came from, to be compared with the stream's.
func (l *Live) Source() string { return l.model.Info.Source }

// Matches returns how many matches are kept now.
func (l *Live) Matches() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.matches)
}

// Score takes events in and fills one slice of probabilities for each: what the model says right after that event. The
// slices have a length of len(Classes()); nil slices are made. The forest is asked once per call, and only for events
// that changed something it looks at, so large batches are cheap. After the 90 minutes the answer is the result. When ctx is
// done already, its cause is the error. After an error no event of the call has been taken in.
func (l *Live) Score(ctx context.Context, events []statsbomb.MatchEvent, probabilities [][]float64) error {
	if err := context.Cause(ctx); err != nil {
		return fmt.Errorf("lwp: score %d events: %w", len(events), err)
	}
	if len(events) != len(probabilities) {
		return fmt.Errorf("lwp: %d events but room for %d answers", len(events), len(probabilities))
	}
	classes := len(l.model.Info.Classes)
	for i := range probabilities {
		if probabilities[i] == nil {
			probabilities[i] = make([]float64, classes)
		}
		if len(probabilities[i]) != classes {
			return fmt.Errorf("lwp: room for %d probabilities in answer %d, the model has %d classes", len(probabilities[i]), i, classes)
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.clock = max(l.clock, uint64(time.Now().UnixNano())) // so that matches can be compared that come from another process
	l.place(ctx)
	for i := range events {
		l.observe(&events[i], probabilities[i])
	}
	if err := l.answer(probabilities); err != nil {
		return fmt.Errorf("lwp: score %d events: %w", len(events), err)
	}
	return nil
}

// observe takes one event in. A state that the model has seen already keeps its answer, which is copied into p; for another the batch will
// answer.
func (l *Live) observe(e *statsbomb.MatchEvent, p []float64) {
	m := l.match(e)
	l.note(m)
	l.clock++
	m.seen = l.clock
	m.state.Observe(&e.Event)
	if !m.asked || !m.state.sameRow(&m.scored) {
		m.asked, m.scored = true, m.state
		l.batch.add(&m.state, m.prior)
		l.changed = append(l.changed, m)
		m.at = len(l.changed)
	}
	l.of = append(l.of, m.at-1)
	if m.at == 0 {
		copy(p, m.answer[:])
	}
}

// answer runs the batch, and gives matches and events their answers. Where these cannot be had the matches are as before the call.
func (l *Live) answer(probabilities [][]float64) error {
	l.block, l.rows = resize(l.block, 3*len(l.changed)), l.rows[:0]
	for k := range l.changed {
		l.rows = append(l.rows, l.block[3*k:3*k+3])
	}
	err := l.batch.run(l.rows)
	for k, m := range l.changed {
		m.answer, m.at = [3]float64(l.rows[k]), 0
	}
	for i, k := range l.of {
		if k >= 0 {
			copy(probabilities[i], l.rows[k])
		}
	}
	clear(l.changed) // lets go of matches that may be forgotten
	l.changed, l.of = l.changed[:0], l.of[:0]
	l.settle(err)
	return err
}

// match returns the match of an event, a new one if it is not kept.
func (l *Live) match(e *statsbomb.MatchEvent) *live {
	m := l.matches[e.Event.MatchID]
	if m == nil {
		l.evict()
		m = &live{state: NewState(e.Home.ID, e.Away.ID), prior: l.model.ratings.Prior(e.Home.ID, e.Away.ID, false)}
		l.matches[e.Event.MatchID] = m
	}
	return m
}

// evict forgets the quarter of the matches that was silent longest, if there is no room for another. It is asked at an event and not at the end
// of a call: how a stream is cut into calls must not change the answers.
func (l *Live) evict() {
	if len(l.matches) < l.most {
		return
	}
	ids := make([]int64, 0, len(l.matches))
	for id := range l.matches {
		ids = append(ids, id)
	}
	slices.SortFunc(ids, func(a, b int64) int { return cmp.Compare(l.matches[a].seen, l.matches[b].seen) })
	for _, id := range ids[:len(ids)-l.most*3/4] {
		delete(l.matches, id)
	}
}
