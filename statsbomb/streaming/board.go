package streaming

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"cancha/statsbomb"
)

// Board is what a scoring shows: the predictions so far, the newest of each match, and how long the model takes. Its methods may be called from
// anywhere, at any time.
//
// What a board keeps is bounded: the newest predictions, as many as NewBoard was told, and of each match its goals and its newest prediction,
// for 4096 matches. When there are more, the quarter that had no event longest is forgotten; an event of a forgotten match counts as its first.
// Score's model keeps the state of matches by itself, and so must forget by itself, as lwp.Live does: what a board forgets is shown no longer, and scored
// as before.
//
// A run that goes on from a checkpoint wants an empty board: it shows what the one before did, latencies apart.
type Board struct {
	scorer  Scorer
	classes [3]int // where home, draw and away stand among the model's
	keep    int
	limit   int // batchEvents
	wait    time.Duration
	most    int // matches

	// calling is held while the model is called, to score, save, load or drop, before mu; probabilities is the call's.
	calling       sync.Mutex
	probabilities [][]float64

	mu       sync.Mutex // guards what follows
	recent   []call     // the oldest first, unless some were restored
	restored bool       // some were, and arrange has not put them in order yet
	kept     int        // predictions in recent
	clock    int64      // of events: the time of the call that brings one, in nanoseconds since 1970, and a later one for each
	matches  map[int64]*match
	touched  []*match
	brought  map[*handler]*brought
	latency  [3]durations
}

// call is what the model said in one call.
type call struct {
	of   *handler // whose records these were
	at   int64    // the clock of its first event
	list []Prediction
}

// match is what a board knows of a match.
type match struct {
	of     *handler   // whose events these were
	goals  [2]int     // of home and away so far
	latest Prediction // not of the events of the call in hand
	last   int        // which of these is the match's newest; -1: none
	seen   int64      // clock at its last event
}

// DefaultKeep is how many predictions a Board keeps, about 250 bytes each.
const DefaultKeep = 200_000

// mostMatches is how many matches a board knows, about 300 bytes each; mostSources how many names of sources it counts apart, and each partition.
const (
	mostMatches = 4096
	mostSources = 100
)

// NewBoard returns an empty board for a model. keep bounds how many predictions it keeps, 0 for DefaultKeep.
func NewBoard(scorer Scorer, keep int) (*Board, error) {
	b := &Board{scorer: scorer, keep: cmp.Or(keep, DefaultKeep), limit: batchEvents, wait: batchTime, most: mostMatches, matches: map[int64]*match{},
		brought: map[*handler]*brought{}}
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

// take keeps what the model said of events in a call, and returns it.
func (b *Board) take(of *handler, events []statsbomb.MatchEvent, told []told, probabilities [][]float64, decoding, scoring time.Duration) call {
	predictions := make([]Prediction, len(events))
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now().UnixNano()
	b.clock = max(b.clock, now) // so boards of several processes can be compared, whose partitions go from one to the other
	done := call{of, b.clock, predictions}
	counts := b.counts(of)
	counts.Total += int64(len(events))
	var from string
	var records *int64
	for i := range events {
		e, t := &events[i], &told[i]
		m := b.match(of, e.Event.MatchID, predictions)
		if m.last < 0 {
			b.touched = append(b.touched, m)
		}
		m.last, m.seen = i, b.clock
		m.count(e)
		b.clock++
		b.predict(&predictions[i], e, t, m.goals, probabilities[i])
		if records == nil || from != t.source {
			from, records = t.source, counts.source(t.source)
		}
		*records++
		if t.sent != 0 {
			b.latency[2].add(time.Duration(now - t.sent))
		}
	}
	b.settle(predictions)
	b.latency[0].add(decoding)
	b.latency[1].add(decoding + scoring)
	b.append(done)
	return done
}

// match returns what is known of a match, nothing yet if it is new. Matches are forgotten here, at an event and not at the end of a call: how a
// stream is cut into calls must not change what is known.
func (b *Board) match(of *handler, id int64, predictions []Prediction) *match {
	m := b.matches[id]
	if m != nil {
		return m
	}
	if len(b.matches) >= b.most {
		b.settle(predictions)
		b.forget()
	}
	m = &match{of: of, last: -1}
	b.matches[id] = m
	b.counts(of).Known++
	return m
}

// settle notes the newest prediction of each match of the call in hand.
func (b *Board) settle(predictions []Prediction) {
	for _, m := range b.touched {
		m.latest, m.last = predictions[m.last], -1
	}
	clear(b.touched)
	b.touched = b.touched[:0]
}

// forget forgets the quarter of the matches that had no event longest, and as many as there are too many: partitions of other processes bring theirs.
func (b *Board) forget() {
	ids := make([]int64, 0, len(b.matches))
	for id := range b.matches {
		ids = append(ids, id)
	}
	slices.SortFunc(ids, func(x, y int64) int {
		return cmp.Or(cmp.Compare(b.matches[x].seen, b.matches[y].seen), cmp.Compare(x, y))
	})
	for _, id := range ids[:len(ids)-b.most*3/4] {
		delete(b.matches, id)
	}
}

// count counts an event that is a goal.
func (m *match) count(e *statsbomb.MatchEvent) {
	switch {
	case !e.Event.Goal():
	case e.Event.Team.ID == e.Home.ID:
		m.goals[0]++
	case e.Event.Team.ID == e.Away.ID:
		m.goals[1]++
	}
}

func (b *Board) predict(p *Prediction, e *statsbomb.MatchEvent, t *told, goals [2]int, probabilities []float64) {
	v := &e.Event
	p.MatchID, p.EventTime, p.Period, p.Timestamp, p.Minute, p.Second = v.MatchID, instant(t.at), v.Period, v.Timestamp, v.Minute, v.Second
	p.Index, p.Type, p.Team, p.Goal, p.Red = v.Index, v.Type, v.Team, v.Goal(), v.Red()
	p.HomeTeam, p.AwayTeam, p.HomeGoals, p.AwayGoals = e.Home, e.Away, goals[0], goals[1]
	p.Home, p.Draw, p.Away = probabilities[b.classes[0]], probabilities[b.classes[1]], probabilities[b.classes[2]]
}

// append keeps what the model said in a call, and lets go of the oldest calls that are not needed any more.
func (b *Board) append(c call) {
	b.arrange()
	b.recent = append(b.recent, c)
	b.kept += len(c.list)
	b.trim()
}

func (b *Board) trim() {
	old := 0
	for old < len(b.recent) && b.kept-len(b.recent[old].list) >= b.keep {
		b.kept -= len(b.recent[old].list)
		b.recent[old] = call{}
		old++
	}
	b.recent = b.recent[old:]
}

// arrange puts calls that were restored, partition by partition, where they were in the run that made them.
func (b *Board) arrange() {
	if !b.restored {
		return
	}
	b.restored = false
	slices.SortStableFunc(b.recent, func(x, y call) int { return cmp.Or(cmp.Compare(x.at, y.at), compare(x.list[0], y.list[0])) })
	b.trim()
}

// oldest is when the oldest call was of which a prediction is kept.
func (b *Board) oldest() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.arrange(); len(b.recent) == 0 {
		return b.clock
	}
	return b.recent[0].at
}

// Predictions returns the newest predictions that were kept, sorted by match, event time, period, time stamp and index.
func (b *Board) Predictions() *Predictions {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.arrange()
	p := &Predictions{Total: b.sum().Total}
	for _, c := range b.recent {
		p.List = append(p.List, c.list...)
	}
	p.List = p.List[max(0, len(p.List)-b.keep):]
	slices.SortStableFunc(p.List, compare)
	return p
}

// Latest returns the newest prediction of each match that is known, sorted by match. Its total is how many matches there were.
func (b *Board) Latest() *Predictions {
	b.mu.Lock()
	defer b.mu.Unlock()
	p := &Predictions{Total: b.sum().Known}
	for _, m := range b.matches {
		p.List = append(p.List, m.latest)
	}
	slices.SortFunc(p.List, compare)
	return p
}

// Latency returns how long the batches of a scoring took, with and without the model, and how old events were.
func (b *Board) Latency() Latencies {
	b.mu.Lock()
	defer b.mu.Unlock()
	return Latencies{b.latency[0].summary(), b.latency[1].summary(), b.latency[2].summary()}
}
