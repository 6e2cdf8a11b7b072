package replay

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"cancha/statsbomb"
)

// match is a match ready to be sent: its events as JSON in one block, because a batch of sixteen matches is 50,000 of them
// and as many small objects would be the collector's work.
type match struct {
	source statsbomb.Match
	events []statsbomb.Event // until encoded

	id   int64
	key  []byte
	json []byte
	ends []int           // of each event in json
	at   []time.Duration // of each event since kick-off
	tail []byte          // the end of each record's metadata: source_match_id and teams
	sent int
}

func (m *match) setID(id int64) { m.id, m.key = id, key(id) }

// encode makes the JSON of all events in the order in which they are sent, and lets go of the events.
func (m *match) encode() error {
	clock := newClock(m.events)
	m.ends = make([]int, len(m.events))
	m.at = make([]time.Duration, len(m.events))
	for n, i := range clock.order(m.events) {
		e := m.events[i] // the archive may want to keep its own
		e.MatchID = m.id
		var err error
		if m.json, err = statsbomb.AppendEvent(m.json, &e); err != nil {
			return fmt.Errorf("replay: match %d of the archive: %w", m.source.ID, err)
		}
		m.ends[n], m.at[n] = len(m.json), clock.at(&e)
	}
	m.events = nil
	tail, err := json.Marshal(struct {
		SourceMatch int64         `json:"source_match_id"`
		Home        statsbomb.Ref `json:"home_team"`
		Away        statsbomb.Ref `json:"away_team"`
	}{m.source.ID, m.source.Home, m.source.Away})
	m.tail = tail[1:] // without its brace: it continues an object
	return err
}

// event is the JSON of the i-th event that is sent.
func (m *match) event(i int) []byte {
	if i == 0 {
		return m.json[:m.ends[0]]
	}
	return m.json[m.ends[i-1]:m.ends[i]]
}

// clock is the time of a match since kick-off: the offset of each period.
type clock struct{ offset map[int]time.Duration }

func newClock(events []statsbomb.Event) clock {
	length := make(map[int]time.Duration) // L(p)
	last := 0
	for i := range events {
		e := &events[i]
		length[e.Period] = max(length[e.Period], e.Timestamp)
		last = max(last, e.Period)
	}
	c := clock{map[int]time.Duration{1: 0}}
	for p := 1; p < last; p++ {
		c.offset[p+1] = c.offset[p] + length[p]
	}
	return c
}

func (c clock) at(e *statsbomb.Event) time.Duration { return c.offset[e.Period] + e.Timestamp }

// order is the indices of events by time, and in their own order where the time is the same.
func (c clock) order(events []statsbomb.Event) []int {
	order := make([]int, len(events))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(c.at(&events[i]), c.at(&events[j])) })
	return order
}
