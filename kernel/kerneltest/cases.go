package kerneltest

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"text/tabwriter"
)

// tableVariable names a file for the table of results, beside the test's log.
const tableVariable = "KERNELTEST_TABLE"

// property is one thing that a kernel has to do. Its number begins the names of the cases that check it.
type property struct {
	number, text string
}

// properties are the numbered ones; cases without a number check more of the same kinds.
func properties() []property {
	return []property{
		{"01", "a wrong signature: no reply, no busy, nothing runs"},
		{"02", "an empty signature where there is a key: ignored"},
		{"04", "an empty key: unsigned messages are accepted, replies carry an empty signature"},
		{"05", "frames without the delimiter: ignored"},
		{"06", "delimiter and two frames: ignored"},
		{"07", "rightly signed, content no JSON: ignored"},
		{"08", "execute_request with only code: the protocol's defaults"},
		{"09", "unknown fields are ignored, and kept in the reply's parent_header"},
		{"10", "two identity frames: the reply has both"},
		{"11", "binary buffers of a comm_msg reach its handler unchanged"},
		{"15", "a client with ZMTP heartbeats: no stray busy"},
		{"16", "transport ipc: all five channels"},
		{"17", "hmac-sha512: honoured, or refused clearly"},
		{"18", "heartbeat while a cell runs: within 100 ms, median of 20"},
		{"19", "a malformed heartbeat: the next ping is echoed"},
		{"20", "one starting, of nobody, to a subscriber that was there first"},
		{"21", "each new subscriber is welcomed first"},
		{"23", "every request, unknown ones too, between busy and idle"},
		{"24", "all of a cell between its busy and idle, in order"},
		{"25", "counts rise by one; store_history false does not raise them"},
		{"26", "silent: no input, no result, no count"},
		{"27", "empty code: ok, no result"},
		{"28", "an error cell: one error message, the reply's fields"},
		{"29", "cells that wait behind a failing one are aborted"},
		{"30", "without stop_on_error they run"},
		{"31", "other requests behind a failing cell are answered"},
		{"33", "an own session for life, a new one after a restart; unique msg_id"},
		{"34", "dates in ISO 8601 with zone and fractions"},
		{"35", "100,000 lines: whole, in order, within 3 s, in at most 500 messages"},
		{"36", "output without a newline is seen within 300 ms"},
		{"37", "order across stdout, displays and stderr"},
		{"39", "updates of a display from a later cell"},
		{"40", "an animation of 100: cleared and shown in pairs"},
		{"42", "JSON stays JSON in a bundle"},
		{"43", "a value in HTML and text; text/plain is always there"},
		{"46", "kernel_info on control while a cell runs, within 500 ms"},
		{"47", "interrupt of an endless cell within 2 s; variables kept"},
		{"48", "interrupt of what waits within 2 s"},
		{"49", "interrupt and SIGINT while idle: the next cell runs"},
		{"52", "shutdown on control: reply, exit code 0 within 2 s, no process left"},
		{"54", "input: asked of who may be asked, password, end of file"},
		{"55", "completion by code points, members, nothing in text"},
		{"56", "inspection with detail, is_complete with indent"},
		{"57", "history and user expressions"},
		{"58", "comms: unknown targets closed, comm_info by target"},
	}
}

// number is the number that a case's name begins with, "" where there is none.
func number(name string) string {
	first, _, _ := strings.Cut(name, " ")
	if len(first) == 2 && strings.Trim(first, "0123456789") == "" {
		return first
	}
	return ""
}

// results are how the cases ended.
type results struct {
	mu   sync.Mutex
	rows []result
}

type result struct {
	name, outcome string
}

// note remembers how a case ended. It is to be called at its end.
func (r *results) note(t *testing.T, name string) {
	outcome := "ok"
	switch {
	case t.Failed():
		outcome = "FAIL"
	case t.Skipped():
		outcome = "skip"
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.rows = append(r.rows, result{name, outcome})
}

// write shows the table, in KERNELTEST_TABLE too, and fails the test for a property that no case has checked.
func (r *results) write(t *testing.T) {
	text := r.table()
	t.Logf("%s", text)
	if path := os.Getenv(tableVariable); path != "" {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Error(err)
		}
	}
}

// table lists property, case and result, and counts them.
func (r *results) table() string {
	rows := slices.Clone(r.rows)
	slices.SortStableFunc(rows, func(a, b result) int {
		return cmp.Compare(cmp.Or(number(a.name), "other"), cmp.Or(number(b.name), "other"))
	})
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "property\tcase\tresult")
	counts, numbered := map[string]int{}, map[string]string{}
	for _, row := range rows {
		n := number(row.name)
		fmt.Fprintf(w, "%s\t%s\t%s\n", n, strings.TrimSpace(strings.TrimPrefix(row.name, n)), row.outcome)
		counts[row.outcome]++
		if n != "" {
			numbered[n] = worse(numbered[n], row.outcome)
		}
	}
	_ = w.Flush() // into memory
	of := map[string]int{}
	for _, p := range properties() {
		of[cmp.Or(numbered[p.number], "no case")]++
	}
	fmt.Fprintf(&b, "cases: %d ok, %d failed, %d skipped; numbered properties: %d of %d hold, %d failed, %d without sample or case\n",
		counts["ok"], counts["FAIL"], counts["skip"], of["ok"], len(properties()), of["FAIL"], of["skip"]+of["no case"])
	return b.String()
}

// worse is the result of a property that two cases check: one that was skipped leaves it to the other.
func worse(a, b string) string {
	for _, outcome := range []string{"FAIL", "ok", "skip"} {
		if a == outcome || b == outcome {
			return outcome
		}
	}
	return ""
}
