package kernel

import (
	"encoding/json"
	"slices"
	"sync"
	"time"
)

// Bounds of what is remembered; the oldest goes first.
const (
	historyEntries = 10_000
	historyBytes   = 32 << 20
)

// entry is one cell that ran.
type entry struct {
	session, line int // of this session while it has no number: 0
	cell          int64
	input         string
	output        any // the text of its value; nil without one
}

// history remembers the cells of this session, and reads those of others from the archive.
type history struct {
	archive *archive // nil where nothing is kept

	mu      sync.Mutex
	entries []entry
	bytes   int
}

func newHistory(a *archive) *history { return &history{archive: a} }

// historyPatience is how long an answer waits for the disk.
const historyPatience = time.Second

// close writes what is left.
func (h *history) close() {
	if h.archive != nil {
		h.archive.close()
	}
}

func (h *history) add(line int, cell int64, input string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.entries = append(h.entries, entry{line: line, cell: cell, input: input})
	h.bytes += len(input)
	h.trim()
	if h.archive != nil {
		h.archive.write(record{Line: line, Input: &input})
	}
}

// trim drops the oldest entries beyond the bounds.
func (h *history) trim() {
	for len(h.entries) > historyEntries || h.bytes > historyBytes {
		h.bytes -= h.entries[0].size()
		h.entries = h.entries[1:]
	}
}

func (e entry) size() int {
	output, _ := e.output.(string)
	return len(e.input) + len(output)
}

// setOutput keeps the text/plain of a cell's value, if it has one of reasonable size.
func (h *history) setOutput(cell int64, data json.RawMessage) {
	const limit = 64 << 10
	if len(data) > 16*limit {
		return // a picture: not worth decoding
	}
	var bundle struct {
		Text *string `json:"text/plain"`
	}
	if json.Unmarshal(data, &bundle) != nil || bundle.Text == nil || len(*bundle.Text) > limit {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for i := len(h.entries) - 1; i >= 0; i-- {
		if e := &h.entries[i]; e.cell == cell {
			h.bytes -= e.size()
			e.output = *bundle.Text
			h.bytes += e.size()
			h.trim()
			if h.archive != nil {
				h.archive.write(record{Line: e.line, Output: bundle.Text})
			}
			return
		}
	}
}

// own returns this session's number and its entries, which have it. A kernel without an archive is in session 1.
func (h *history) own() (session int, entries []entry) {
	session = 1
	if h.archive != nil {
		session = h.archive.session(historyPatience)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	entries = slices.Clone(h.entries)
	for i := range entries {
		entries[i].session = session
	}
	return session, entries
}

// all returns the entries of all sessions in the order of their numbers, as many as the bounds allow.
func (h *history) all() []entry {
	session, own := h.own()
	if h.archive == nil {
		return own
	}
	all := h.archive.others(session, historyPatience)
	at, _ := slices.BinarySearchFunc(all, session, func(e entry, session int) int { return e.session - session })
	all = slices.Insert(all, at, own...)
	return lastOf(all, historyEntries)
}

// tail returns the last n entries; n <= 0 means all.
func (h *history) tail(n int) []entry { return lastOf(h.all(), n) }

func lastOf(es []entry, n int) []entry {
	if n > 0 && n < len(es) {
		es = es[len(es)-n:]
	}
	return es
}

// lines returns the entries of a session with start <= line < stop; session 0 is this one, -1 the one before. A stop of 0 means no
// end; a negative start or stop counts from behind the last line, as IPython's get_range does for its own session.
func (h *history) lines(session, start, stop int) []entry {
	current, all := h.own()
	if session <= 0 {
		session += current
	}
	if session != current {
		all = h.all()
	}
	var found []entry
	for _, e := range all {
		if e.session == session {
			found = append(found, e)
		}
	}
	next := 1 // the line after the last
	if len(found) > 0 {
		next += found[len(found)-1].line
	}
	if start < 0 {
		start += next
	}
	if stop < 0 {
		stop = max(1, stop+next)
	}
	return slices.DeleteFunc(found, func(e entry) bool { return e.line < start || stop > 0 && e.line >= stop })
}

// search returns the last n entries whose whole input matches the glob; with unique only the latest of equal inputs.
func (h *history) search(glob string, n int, unique bool) []entry {
	pattern := globPattern(glob)
	var found []entry
	latest := map[string]int{} // input → its place among all
	all := h.all()
	for i, e := range all {
		latest[e.input] = i
	}
	for i, e := range all {
		if pattern.MatchString(e.input) && (!unique || latest[e.input] == i) {
			found = append(found, e)
		}
	}
	return lastOf(found, n)
}
