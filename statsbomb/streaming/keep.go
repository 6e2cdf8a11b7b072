package streaming

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"cancha/statsbomb"
)

// Keeper is a Scorer whose matches a checkpoint can hold, as those of lwp.Live: with it a scoring goes on after any end with the same answers. Its calls, too,
// come one after another, and between those of Score.
type Keeper interface {
	Scorer
	// SaveMatch appends what is known of a match; nothing of one that is not known. It is called once an epoch for each match at least: so a
	// checkpoint forgets a match when the scorer does, and not before.
	SaveMatch(dst []byte, id int64) []byte
	// LoadMatch takes a match over that SaveMatch has written, which is not nothing, before its next event. Others may have had events.
	LoadMatch(id int64, saved []byte) error
	// DropMatch forgets a match, which another process goes on with.
	DropMatch(id int64)
}

// keptHandler is a handler with what a checkpoint needs. Its entries are the matches of its partition that the board knows, those that the scorer knows,
// its predictions in chunks, and how many there were in all. Board and scorer each forget by a bound of their own.
type keptHandler struct {
	handler
	scorer  Keeper
	noting  bool           // Changes has been called: there is a checkpoint
	changed map[int64]bool // matches, since the call of Changes before
	shown   map[int64]bool // matches of this partition that the board knows
	states  map[int64]bool // and the scorer
	state   []byte         // room for one of them
	fresh   chunk          // since then
	waiting int            // predictions in it
	chunks  map[int]chunk  // by number
	first   int            // the oldest chunk that is kept
	next    int
	kept    int // predictions in chunks
}

// chunk is predictions of several calls of the model.
type chunk [][]Prediction

func (c chunk) size() (n int) {
	for _, list := range c {
		n += len(list)
	}
	return n
}

func newKeptHandler(b *Board, s Keeper) *keptHandler {
	h := &keptHandler{scorer: s, changed: map[int64]bool{}, shown: map[int64]bool{}, states: map[int64]bool{}, chunks: map[int]chunk{}}
	h.board, h.scored = b, h.note
	return h
}

// note notes predictions of the partition.
func (h *keptHandler) note(done []Prediction) {
	if !h.noting {
		return
	}
	for i := range done {
		h.changed[done[i].MatchID] = true
	}
	h.fresh = append(h.fresh, done)
	h.waiting += len(done)
}

const (
	matchKey = "shown "
	stateKey = "state "
	chunkKey = "predictions "
	countKey = "brought"
)

// Changes implements stream.Keeper.
func (h *keptHandler) Changes(changed, removed func(key string)) {
	h.noting = true
	h.changeMatches(changed, removed)
	h.changeChunks(changed, removed)
}

func (h *keptHandler) changeMatches(changed, removed func(key string)) {
	for id := range h.changed {
		h.shown[id], h.states[id] = true, true
		changed(keyOf(matchKey, id))
		changed(keyOf(stateKey, id))
	}
	clear(h.changed)
	forget(h.shown, h.board.knows, func(id int64) { removed(keyOf(matchKey, id)) })
	forget(h.states, h.scores, func(id int64) { removed(keyOf(stateKey, id)) })
}

// forget forgets the matches that are not known any more.
func forget(matches map[int64]bool, known func(id int64) bool, forgotten func(id int64)) {
	for id := range matches {
		if !known(id) {
			delete(matches, id)
			forgotten(id)
		}
	}
}

// scores tells whether the scorer knows a match.
func (h *keptHandler) scores(id int64) bool {
	h.state = h.saveState(h.state[:0], id)
	return len(h.state) > 0
}

func (h *keptHandler) saveState(dst []byte, id int64) []byte {
	h.board.calling.Lock()
	defer h.board.calling.Unlock()
	return h.scorer.SaveMatch(dst, id)
}

func (h *keptHandler) changeChunks(changed, removed func(key string)) {
	if len(h.fresh) > 0 {
		changed(countKey)
		h.chunks[h.next] = h.fresh
		h.kept += h.waiting
		h.fresh, h.waiting = nil, 0
		changed(keyOf(chunkKey, int64(h.next)))
		h.next++
	}
	for h.kept-h.chunks[h.first].size() >= h.board.keep {
		h.kept -= h.chunks[h.first].size()
		delete(h.chunks, h.first)
		removed(keyOf(chunkKey, int64(h.first)))
		h.first++
	}
}

// keptMatch is a match of the board as an entry.
type keptMatch struct {
	Goals  [2]int
	Seen   int64
	Latest Prediction
}

// Save implements stream.Keeper.
func (h *keptHandler) Save(dst []byte, key string) []byte {
	if key == countKey {
		return append(dst, h.board.savedCounts(&h.handler)...)
	}
	if n, is := number(key, chunkKey); is {
		return appendPredictions(dst, h.chunks[int(n)])
	}
	if id, is := number(key, stateKey); is {
		return h.saveState(dst, id)
	}
	id, _ := number(key, matchKey)
	b, err := json.Marshal(h.board.saved(id))
	if err != nil {
		return dst // unreachable: probabilities are numbers
	}
	return append(dst, b...)
}

// errForm refuses the state of an earlier version: what it lacks cannot be told from what is there.
var errForm = errors.New("streaming: this scoring was saved by an earlier version, which kept the model's matches only as long as the board's, and not " +
	"how many predictions there were in all; give another place to begin anew")

// Load implements stream.Keeper.
func (h *keptHandler) Load(key string, saved []byte) error {
	if key == countKey {
		return h.board.restoreCounts(&h.handler, saved)
	}
	if n, is := number(key, chunkKey); is {
		return h.loadChunk(int(n), saved)
	}
	if id, is := number(key, matchKey); is {
		return h.loadMatch(id, saved)
	}
	if id, is := number(key, stateKey); is {
		return h.loadState(id, saved)
	}
	if _, is := number(key, "match "); is {
		return errForm
	}
	return fmt.Errorf("streaming: %q is no entry of a scoring", key)
}

func (h *keptHandler) loadChunk(n int, saved []byte) error {
	list, err := readPredictions(saved)
	if err != nil {
		return err
	}
	h.chunks[n] = chunk{list}
	h.kept += len(list)
	if len(h.chunks) == 1 {
		h.first = n
	}
	h.next = n + 1
	h.board.restore(h, list)
	return nil
}

func (h *keptHandler) loadMatch(id int64, saved []byte) error {
	var m keptMatch
	if err := json.Unmarshal(saved, &m); err != nil {
		return fmt.Errorf("streaming: match %d of the board: %w", id, err)
	}
	h.shown[id] = true
	h.board.restoreMatch(h, id, m)
	return nil
}

func (h *keptHandler) loadState(id int64, saved []byte) error {
	h.states[id] = true
	if len(saved) == 0 {
		return nil
	}
	h.board.calling.Lock() // partitions that this process has already go on while it gets another
	defer h.board.calling.Unlock()
	return h.scorer.LoadMatch(id, saved)
}

// Drop implements stream.Dropper.
func (h *keptHandler) Drop() {
	h.board.calling.Lock()
	defer h.board.calling.Unlock()
	for _, id := range h.board.drop(&h.handler) {
		h.scorer.DropMatch(id)
	}
	for _, some := range []map[int64]bool{h.states, h.changed} {
		for id := range some {
			h.scorer.DropMatch(id)
		}
	}
}

// keyOf is a key with a number, which number reads.
func keyOf(begins string, n int64) string { return begins + strconv.FormatInt(n, 10) }

// number is the number behind the beginning of a key.
func number(key, begins string) (n int64, is bool) {
	if len(key) <= len(begins) || key[:len(begins)] != begins {
		return 0, false
	}
	n, err := strconv.ParseInt(key[len(begins):], 10, 64)
	return n, err == nil
}

// knows tells whether a match is kept.
func (b *Board) knows(id int64) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.matches[id] != nil
}

// saved is what is known of a match.
func (b *Board) saved(id int64) (m keptMatch) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if of := b.matches[id]; of != nil {
		m.Goals, m.Seen, m.Latest = of.goals, of.seen, of.latest
	}
	return m
}

func (b *Board) restoreMatch(of *keptHandler, id int64, m keptMatch) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.matches[id] = &match{of: &of.handler, goals: m.Goals, seen: m.Seen, latest: m.Latest, last: -1}
	b.clock = max(b.clock, m.Seen+1) // else matches that go on would seem to have been silent longer than those that have ended
}

// savedCounts is what a partition has brought.
func (b *Board) savedCounts(of *handler) []byte {
	b.mu.Lock()
	defer b.mu.Unlock()
	counts, err := json.Marshal(b.counts(of))
	if err != nil {
		return nil // unreachable: numbers and names
	}
	return counts
}

func (b *Board) restoreCounts(of *handler, saved []byte) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	var counts brought
	if err := json.Unmarshal(saved, &counts); err != nil {
		return fmt.Errorf("streaming: %q is no entry of a scoring: %w", countKey, err)
	}
	b.counts(of).add(&counts)
	return nil
}

// restore keeps the predictions of an earlier run.
func (b *Board) restore(of *keptHandler, list []Prediction) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.append(&of.handler, list)
}

// drop forgets what a partition has brought, and returns which matches these were.
func (b *Board) drop(of *handler) (matches []int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for id, m := range b.matches {
		if m.of == of {
			matches = append(matches, id)
			delete(b.matches, id)
		}
	}
	b.recent = slices.DeleteFunc(b.recent, func(c call) bool {
		if c.of != of {
			return false
		}
		b.kept -= len(c.list)
		return true
	})
	delete(b.brought, of)
	return matches
}

// appendPredictions writes predictions; types and teams, of which there are few, once.
func appendPredictions(dst []byte, c chunk) []byte {
	known := map[statsbomb.Ref]uint64{}
	dst = binary.AppendUvarint(dst, uint64(c.size()))
	ref := func(r statsbomb.Ref) {
		at, old := known[r]
		if !old {
			at = uint64(len(known))
			known[r] = at
		}
		if dst = binary.AppendUvarint(dst, at); !old {
			dst = binary.AppendVarint(dst, int64(r.ID))
			dst = append(binary.AppendUvarint(dst, uint64(len(r.Name))), r.Name...)
		}
	}
	one := func(p *Prediction) {
		for _, n := range p.numbers() {
			dst = binary.AppendVarint(dst, n)
		}
		for _, x := range []float64{p.Home, p.Draw, p.Away} {
			dst = binary.LittleEndian.AppendUint64(dst, math.Float64bits(x))
		}
		ref(p.Type)
		ref(p.Team)
		ref(p.HomeTeam)
		ref(p.AwayTeam)
	}
	for _, list := range c {
		for i := range list {
			one(&list[i])
		}
	}
	return dst
}

// numbers are the whole numbers of a prediction, in the order in which they are written.
func (p *Prediction) numbers() [10]int64 {
	flags := int64(0)
	if p.Goal {
		flags |= 1
	}
	if p.Red {
		flags |= 2
	}
	return [...]int64{p.MatchID, p.EventTime.UnixNano(), int64(p.Period), int64(p.Timestamp), int64(p.Minute), int64(p.Second), int64(p.Index), flags,
		int64(p.HomeGoals), int64(p.AwayGoals)}
}

func (p *Prediction) set(n [10]int64) {
	p.MatchID, p.EventTime, p.Period, p.Timestamp, p.Minute, p.Second = n[0], instant(n[1]), int(n[2]), time.Duration(n[3]), int(n[4]), int(n[5])
	p.Index, p.Goal, p.Red, p.HomeGoals, p.AwayGoals = int(n[6]), n[7]&1 != 0, n[7]&2 != 0, int(n[8]), int(n[9])
}

// errPredictions tells of bytes that are no predictions.
var errPredictions = errors.New("streaming: these are no predictions")

// readPredictions reads what appendPredictions has written.
func readPredictions(b []byte) ([]Prediction, error) {
	r := packed{rest: b}
	const least = 10 + 3*8 + 4 // bytes of a prediction
	count := r.unsigned()
	if count > uint64(len(b)/least) {
		return nil, errPredictions
	}
	list := make([]Prediction, count)
	for i := range list {
		p := &list[i]
		var n [10]int64
		for k := range n {
			n[k] = r.number()
		}
		p.set(n)
		p.Home, p.Draw, p.Away = r.float(), r.float(), r.float()
		p.Type, p.Team, p.HomeTeam, p.AwayTeam = r.ref(), r.ref(), r.ref(), r.ref()
	}
	if r.bad || len(r.rest) > 0 {
		return nil, errPredictions
	}
	return list, nil
}

// packed reads numbers and texts one after another. After something that is not there it gives zero values.
type packed struct {
	rest  []byte
	known []statsbomb.Ref
	bad   bool
}

func (r *packed) take(n int) []byte {
	if n <= 0 || n > len(r.rest) || r.bad {
		r.bad, r.rest = true, nil
		return nil
	}
	taken := r.rest[:n]
	r.rest = r.rest[n:]
	return taken
}

func (r *packed) number() int64 {
	n, k := binary.Varint(r.rest)
	r.take(k)
	return n
}

func (r *packed) unsigned() uint64 {
	n, k := binary.Uvarint(r.rest)
	r.take(k)
	return n
}

func (r *packed) float() float64 {
	if eight := r.take(8); eight != nil {
		return math.Float64frombits(binary.LittleEndian.Uint64(eight))
	}
	return 0
}

func (r *packed) ref() statsbomb.Ref {
	at := r.unsigned()
	if at < uint64(len(r.known)) {
		return r.known[at]
	}
	of := statsbomb.Ref{ID: int(r.number())}
	if size := r.unsigned(); size > 0 && size <= uint64(len(r.rest)) {
		of.Name = string(r.take(int(size)))
	} else if size > 0 {
		r.bad = true
	}
	r.known = append(r.known, of)
	return of
}
