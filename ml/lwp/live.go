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
	pending [][]float64
}

// live is one match being watched.
type live struct {
	state  State
	prior  Prior
	seen   uint64    // the clock at its last event
	scored State     // the state that answer is for
	answer []float64 // filled when the batch has run; nil before the first event
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
// done already, its cause is the error, and no event has been taken in.
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
	answers := make([][]float64, len(events))             // where each event's answer will stand
	for i := range events {
		answers[i] = l.observe(&events[i])
	}
	l.batch.run(l.pending)
	l.pending = l.pending[:0]
	for i, answer := range answers {
		copy(probabilities[i], answer)
	}
	return nil
}

// observe takes one event in and returns the slice in which its answer stands once the batch has run. A state that the
// forest has seen already keeps its answer.
func (l *Live) observe(e *statsbomb.MatchEvent) []float64 {
	m := l.match(e)
	l.clock++
	m.seen = l.clock
	m.state.Observe(&e.Event)
	if m.answer == nil || !m.state.sameRow(&m.scored) {
		m.answer, m.scored = make([]float64, len(l.model.Info.Classes)), m.state
		l.batch.add(&m.state, m.prior)
		l.pending = append(l.pending, m.answer)
	}
	return m.answer
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
