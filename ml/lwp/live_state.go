package lwp

import (
	"encoding/binary"
	"fmt"
)

// A match's state is what a Live needs to go on with it elsewhere: what its events were is not kept, and the answers are computed anew.

// stateFormat is the form of what SaveMatch appends.
const stateFormat = 1

// SaveMatch appends the state of a match, which LoadMatch reads; nothing for a match that is not kept.
func (l *Live) SaveMatch(dst []byte, id int64) []byte {
	l.mu.Lock()
	defer l.mu.Unlock()
	m := l.matches[id]
	if m == nil {
		return dst
	}
	s := &m.state
	dst = binary.AppendUvarint(append(dst, stateFormat), m.seen)
	for _, n := range []int64{int64(s.homeID), int64(s.awayID), int64(s.minute), truth(s.over)} {
		dst = binary.AppendVarint(dst, n)
	}
	for _, side := range []*Side{&s.Home, &s.Away} {
		side.each(func(n int64) int64 { dst = binary.AppendVarint(dst, n); return n })
	}
	return dst
}

func truth(yes bool) int64 {
	if yes {
		return 1
	}
	return 0
}

// each calls f with each count, which becomes what f returns.
func (s *Side) each(f func(n int64) int64) {
	for _, n := range []*int32{&s.Goals, &s.Reds, &s.Yellows, &s.Shots, &s.OnTarget, &s.Passes, &s.Completed, &s.FinalThird, &s.Box, &s.Corners, &s.Fouls} {
		*n = int32(f(int64(*n)))
	}
	s.XG = f(s.XG)
}

// LoadMatch takes a match over in the state that SaveMatch has appended; of nothing it takes nothing.
func (l *Live) LoadMatch(id int64, saved []byte) error {
	if len(saved) == 0 {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	r := varints{rest: saved[1:], bad: saved[0] != stateFormat}
	m := &live{seen: uint64(r.unsigned())}
	m.state = NewState(int(r.next()), int(r.next()))
	m.state.minute, m.state.over = int32(r.next()), r.next() == 1
	m.state.Home.each(func(int64) int64 { return r.next() })
	m.state.Away.each(func(int64) int64 { return r.next() })
	if r.bad || len(r.rest) > 0 {
		return fmt.Errorf("lwp: the state of match %d, %d bytes, is not one", id, len(saved))
	}
	m.prior = l.model.ratings.Prior(m.state.homeID, m.state.awayID, false)
	l.clock = max(l.clock, m.seen)
	l.matches[id] = m
	return nil
}

// DropMatch forgets a match.
func (l *Live) DropMatch(id int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.matches, id)
}

// varints reads numbers one after another.
type varints struct {
	rest []byte
	bad  bool
}

func (r *varints) next() int64 {
	n, k := binary.Varint(r.rest)
	r.skip(k)
	return n
}

func (r *varints) unsigned() uint64 {
	n, k := binary.Uvarint(r.rest)
	r.skip(k)
	return n
}

func (r *varints) skip(k int) {
	if k <= 0 {
		r.bad = true
		return
	}
	r.rest = r.rest[k:]
}
