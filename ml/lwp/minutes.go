package lwp

import "cancha/statsbomb"

// LastMinute is the last row of a match: rows stand at minutes 0..LastMinute.
const LastMinute = 90

// firstRow returns the first minute at which an event is seen, and false for events that no row sees. A row at minute m
// sees the first half's events with minute < m up to 44, the whole first half at 45, and then the second half's events
// with minute < m. Minutes overlap around half-time (the first half's stoppage goes up to 59:46), so the period decides.
func firstRow(e *statsbomb.Event) (int, bool) {
	switch e.Period {
	case 1:
		return min(e.Minute+1, 45), true
	case 2:
		m := max(e.Minute+1, 46)
		return m, m <= LastMinute
	}
	return 0, false
}

// snapshots returns the state of a match at each minute 0..LastMinute, as seen at that minute. The minute of each
// snapshot is the row's own, even where no event has told of it yet.
func snapshots(home, away int, events []statsbomb.Event) []State {
	var seen [LastMinute + 1][]int32
	for i := range events {
		if m, ok := firstRow(&events[i]); ok {
			seen[m] = append(seen[m], int32(i))
		}
	}
	states := make([]State, LastMinute+1)
	now := NewState(home, away)
	for m := range states {
		for _, i := range seen[m] {
			now.Observe(&events[i])
		}
		states[m] = now
		states[m].minute, states[m].over = int32(m), false
	}
	return states
}

// finalState returns the state after 90 minutes and stoppage.
func finalState(home, away int, events []statsbomb.Event) State {
	s := NewState(home, away)
	for i := range events {
		s.Observe(&events[i])
	}
	return s
}
