package streaming

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
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
	fresh   []call         // since then
	chunks  []chunk        // the oldest first
	next    int64          // the number of the next
}

// chunk is what the model said in the calls of an epoch.
type chunk struct {
	number int64
	calls  []call // one at least
}

// newest is when the last of a chunk's calls was.
func (c chunk) newest() int64 { return c.calls[len(c.calls)-1].at }

func newKeptHandler(b *Board, s Keeper) *keptHandler {
	h := &keptHandler{scorer: s, changed: map[int64]bool{}, shown: map[int64]bool{}, states: map[int64]bool{}}
	h.board, h.scored = b, h.note
	return h
}

// note notes what the model said of events of the partition.
func (h *keptHandler) note(done call) {
	if !h.noting {
		return
	}
	for i := range done.list {
		h.changed[done.list[i].MatchID] = true
	}
	h.fresh = append(h.fresh, done)
}

const (
	matchKey = "shown "
	stateKey = "state "
	chunkKey = "calls "
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

// changeChunks makes a chunk of what is new, and forgets those of which the board shows nothing any more.
func (h *keptHandler) changeChunks(changed, removed func(key string)) {
	if len(h.fresh) > 0 {
		changed(countKey)
		changed(keyOf(chunkKey, h.next))
		h.chunks = append(h.chunks, chunk{h.next, h.fresh})
		h.next++
		h.fresh = nil
	}
	for oldest := h.board.oldest(); len(h.chunks) > 0 && h.chunks[0].newest() < oldest; h.chunks = h.chunks[1:] {
		removed(keyOf(chunkKey, h.chunks[0].number))
		h.chunks[0] = chunk{}
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
		return appendCalls(dst, h.calls(n))
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

// calls are those of the chunk of a number.
func (h *keptHandler) calls(number int64) []call {
	at, found := slices.BinarySearchFunc(h.chunks, number, func(c chunk, number int64) int { return cmp.Compare(c.number, number) })
	if !found {
		return nil // unreachable: it has not been removed
	}
	return h.chunks[at].calls
}

// errForm refuses the state of an earlier version: what it lacks cannot be told from what is there.
var errForm = errors.New("streaming: this scoring was saved by an earlier version, which kept the model's matches only as long as the board's, and not " +
	"when and how many predictions there were; give another place to begin anew")

// Load implements stream.Keeper.
func (h *keptHandler) Load(key string, saved []byte) error {
	if key == countKey {
		return h.board.restoreCounts(&h.handler, saved)
	}
	if n, is := number(key, chunkKey); is {
		return h.loadChunk(n, saved)
	}
	if id, is := number(key, matchKey); is {
		return h.loadMatch(id, saved)
	}
	if id, is := number(key, stateKey); is {
		return h.loadState(id, saved)
	}
	for _, old := range []string{"match ", "predictions "} {
		if _, is := number(key, old); is {
			return errForm
		}
	}
	return fmt.Errorf("streaming: %q is no entry of a scoring", key)
}

func (h *keptHandler) loadChunk(n int64, saved []byte) error {
	calls, err := readCalls(saved)
	if err != nil {
		return err
	}
	if len(calls) == 0 || n < h.next {
		return errPredictions
	}
	for i := range calls {
		calls[i].of = &h.handler
	}
	h.chunks = append(h.chunks, chunk{n, calls})
	h.next = n + 1
	h.board.restore(calls)
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

// restore keeps what the model said in an earlier run. Partitions come one after another, and as they like: arrange mixes their calls.
func (b *Board) restore(calls []call) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, c := range calls {
		b.kept += len(c.list)
		b.clock = max(b.clock, c.at+int64(len(c.list)))
	}
	b.recent = append(b.recent, calls...)
	b.restored = true
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
