package kernel

import (
	"encoding/json"
	"regexp"
	"strings"
	"sync"
)

// Bounds of what is remembered; the oldest goes first.
const (
	historyEntries = 10_000
	historyBytes   = 32 << 20
)

// entry is one cell that ran.
type entry struct {
	session, line int
	cell          int64
	input         string
	output        any // the text of its value; nil without one
}

// history remembers the cells of this session. It lives as long as the kernel.
type history struct {
	session int // this session's number, from 1

	mu      sync.Mutex
	entries []entry
	bytes   int
}

func (h *history) add(line int, cell int64, input string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.entries = append(h.entries, entry{session: h.session, line: line, cell: cell, input: input})
	h.bytes += len(input)
	for len(h.entries) > historyEntries || h.bytes > historyBytes {
		h.bytes -= len(h.entries[0].input)
		h.entries = h.entries[1:]
	}
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
		if h.entries[i].cell == cell {
			h.entries[i].output = *bundle.Text
			return
		}
	}
}

// tail returns the last n entries; n <= 0 means all.
func (h *history) tail(n int) []entry {
	h.mu.Lock()
	defer h.mu.Unlock()
	return lastOf(append([]entry(nil), h.entries...), n)
}

func lastOf(es []entry, n int) []entry {
	if n > 0 && n < len(es) {
		es = es[len(es)-n:]
	}
	return es
}

// lines returns the entries of a session with start <= line < stop; session 0 is this one, -1 the one before; stop <= 0
// means no end, and a negative start counts from the end.
func (h *history) lines(session, start, stop int) []entry {
	if session <= 0 {
		session += h.session
	}
	var found []entry
	for _, e := range h.tail(0) {
		if e.session == session {
			found = append(found, e)
		}
	}
	if start < 0 {
		return lastOf(found, -start)
	}
	in := found[:0]
	for _, e := range found {
		if e.line >= start && (stop <= 0 || e.line < stop) {
			in = append(in, e)
		}
	}
	return in
}

// search returns the last n entries whose whole input matches the glob; with unique only the latest of equal inputs.
func (h *history) search(glob string, n int, unique bool) []entry {
	pattern := globPattern(glob)
	var found []entry
	latest := map[string]int{} // input → its place among all
	all := h.tail(0)
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

// globPattern turns a glob (* any text, ? any character, [ab] [a-z] [^a] one of a set) into a regular expression for the
// whole text. A set that is none is taken literally.
func globPattern(glob string) *regexp.Regexp {
	var b strings.Builder
	b.WriteString(`(?s)\A`)
	for rest := glob; rest != ""; {
		switch set := globSet.FindString(rest); {
		case set != "":
			b.WriteString(strings.ReplaceAll(set, `\`, `\\`))
			rest = rest[len(set):]
			continue
		case rest[0] == '*':
			b.WriteString(`.*`)
		case rest[0] == '?':
			b.WriteString(`.`)
		default:
			b.WriteString(regexp.QuoteMeta(rest[:1]))
		}
		rest = rest[1:]
	}
	b.WriteString(`\z`)
	p, err := regexp.Compile(b.String())
	if err != nil {
		return regexp.MustCompile(`\A` + regexp.QuoteMeta(glob) + `\z`)
	}
	return p
}

var globSet = regexp.MustCompile(`^\[\^?[^\[\]]+\]`)

type historyRequest struct {
	Output  bool   `json:"output"`
	Access  string `json:"hist_access_type"`
	Session int    `json:"session"`
	Start   int    `json:"start"`
	Stop    *int   `json:"stop"`
	N       int    `json:"n"`
	Pattern string `json:"pattern"`
	Unique  bool   `json:"unique"`
}

type historyReply struct {
	Status  string  `json:"status"`
	History [][]any `json:"history"` // session, line, input; or session, line, [input, output]
}

// historyReply answers tail, range and search; an access type that is none of them finds nothing.
func (k *Kernel) historyReply(r *request) any {
	q := historyRequest{Pattern: "*"}
	if err := r.decode(&q); err != nil {
		return failed("bad request", err)
	}
	var found []entry
	switch q.Access {
	case "tail":
		found = k.history.tail(q.N)
	case "range":
		stop := 0
		if q.Stop != nil {
			stop = *q.Stop
		}
		found = k.history.lines(q.Session, q.Start, stop)
	case "search":
		found = k.history.search(q.Pattern, q.N, q.Unique)
	}
	reply := historyReply{"ok", make([][]any, 0, len(found))}
	for _, e := range found {
		if q.Output {
			reply.History = append(reply.History, []any{e.session, e.line, []any{e.input, e.output}})
		} else {
			reply.History = append(reply.History, []any{e.session, e.line, e.input})
		}
	}
	return reply
}
