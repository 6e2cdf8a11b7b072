package simulate

import (
	"math"
	"strconv"
	"time"

	"cancha/statsbomb"
)

// recorder keeps the events of a match. A silent one counts them only: a match can be played for its score at a fraction of
// the cost, by the same code, with the same draws.
type recorder struct {
	silent  bool
	matchID int64
	hash    uint64
	index   int // of the latest event
	events  []statsbomb.Event
	types   [statsbomb.TypeCarry + 1]statsbomb.Ref

	// What events point to is taken from slabs, which costs one allocation for many.
	points  []statsbomb.Point
	passes  []statsbomb.Pass
	carries []statsbomb.Carry
	details []statsbomb.Detail
}

// eventsPerMatch is room for nearly every match.
const eventsPerMatch = 4600

func newRecorder(matchID int64, hash uint64) recorder {
	r := recorder{matchID: matchID, hash: hash}
	for id := range r.types {
		r.types[id] = statsbomb.Ref{ID: id, Name: statsbomb.TypeName(id)}
	}
	return r
}

// add starts the next event. The pointer is valid until the next call; in a silent recorder it is scratch.
func (r *recorder) add() *statsbomb.Event {
	r.index++
	switch {
	case r.events == nil && r.silent:
		r.events = make([]statsbomb.Event, 1)
	case r.events == nil:
		r.events = make([]statsbomb.Event, 0, eventsPerMatch)
	}
	if r.silent {
		return &r.events[0]
	}
	r.events = append(r.events, statsbomb.Event{MatchID: r.matchID, Index: r.index, ID: r.id(r.index)})
	return &r.events[len(r.events)-1]
}

// event returns an event recorded before, or nil in a silent recorder.
func (r *recorder) event(index int) *statsbomb.Event {
	if r.silent || index < 1 || index > len(r.events) {
		return nil
	}
	return &r.events[index-1]
}

// id returns the id of an event: a UUID of version 4 in form, from a hash in place of chance.
func (r *recorder) id(index int) string {
	high, low := mix(r.hash, uint64(2*index)), mix(r.hash, uint64(2*index+1))
	high = high&^0xf000 | 0x4000
	low = low&^(3<<62) | 2<<62
	const digits = "0123456789abcdef"
	var b [36]byte
	at := 0
	for i := range 32 {
		if i == 8 || i == 12 || i == 16 || i == 20 {
			b[at] = '-'
			at++
		}
		half := high
		if i >= 16 {
			half = low
		}
		b[at] = digits[half>>(60-4*(i%16))&15]
		at++
	}
	return string(b[:])
}

// relate makes two events name each other.
func (r *recorder) relate(a, b int) {
	if x, y := r.event(a), r.event(b); x != nil && y != nil {
		x.RelatedEvents = append(x.RelatedEvents, y.ID)
		y.RelatedEvents = append(y.RelatedEvents, x.ID)
	}
}

// take returns room for one more value, from a slab that is renewed when it is full; values given out stay where they are.
func take[T any](slab *[]T, size int, reuse bool) *T {
	if len(*slab) == cap(*slab) {
		if reuse && cap(*slab) > 0 {
			*slab = (*slab)[:0]
		} else {
			*slab = make([]T, 0, size)
		}
	}
	*slab = (*slab)[:len(*slab)+1]
	v := &(*slab)[len(*slab)-1]
	if reuse {
		var zero T
		*v = zero
	}
	return v
}

func (r *recorder) point(x, y, z float64) *statsbomb.Point {
	p := take(&r.points, 1024, r.silent)
	*p = statsbomb.Point{X: tenth(x), Y: tenth(y), Z: tenth(z)}
	return p
}

func (r *recorder) pass() *statsbomb.Pass     { return take(&r.passes, 256, r.silent) }
func (r *recorder) carry() *statsbomb.Carry   { return take(&r.carries, 256, r.silent) }
func (r *recorder) detail() *statsbomb.Detail { return take(&r.details, 64, r.silent) }

// Published coordinates have one decimal, durations and xG more.
func tenth(x float64) float64     { return math.Round(x*10) / 10 }
func decimals6(x float64) float64 { return math.Round(x*1e6) / 1e6 }

// milliseconds converts seconds to a timestamp as published.
func milliseconds(seconds float64) time.Duration {
	return time.Duration(math.Round(max(0, seconds)*1000)) * time.Millisecond
}

// clockFace formats seconds since kick-off as lineups do, MM:SS.
func clockFace(seconds int) string {
	two := func(n int) string {
		if n < 10 {
			return "0" + strconv.Itoa(n)
		}
		return strconv.Itoa(n)
	}
	return two(seconds/60) + ":" + two(seconds%60)
}
