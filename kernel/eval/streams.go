package eval

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"strings"
	"sync"
	"text/tabwriter"
	"time"

	"cancha/internal/cellio"
	"cancha/internal/running"
	"cancha/kernel/eval/magic"
)

// What %streams can do with a query beside listing it.
const (
	streamsStop  = "stop"
	streamsDrain = "drain"
	streamsAll   = "all"
)

// streams lists the queries that run, or ends some of them.
func (s *steps) streams(c *magic.Command) error {
	verb, which, _ := strings.Cut(c.Args, " ")
	which = strings.TrimSpace(which)
	if verb == "" {
		return s.listStreams()
	}
	return s.endStreams(c, verb, which)
}

// isStreams checks the arguments of %streams.
func isStreams(c *magic.Command) error {
	verb, which, _ := strings.Cut(c.Args, " ")
	if verb == "" || (verb == streamsStop || verb == streamsDrain) && strings.TrimSpace(which) != "" {
		return nil
	}
	spec, _ := magic.Lookup(c.Name)
	return fail(c, "usage: %s", strings.ReplaceAll(spec.Usage, "\n", " or "))
}

// queries are the entries of queries, in the order of their start.
func queries(list []*running.Entry) (all []*running.Entry) {
	for _, e := range list {
		if e.Kind == running.Query {
			all = append(all, e)
		}
	}
	return all
}

// shownEnded is how many queries that have ended %streams shows.
const shownEnded = 5

func (s *steps) listStreams() error {
	all := queries(running.Process().List())
	live := len(queries(running.Process().Live()))
	skip := len(all) - live - shownEnded
	var shown []*running.Entry
	for _, e := range all {
		if e.State() != running.Running && skip > 0 {
			skip--
			continue
		}
		shown = append(shown, e)
	}
	if len(shown) == 0 {
		s.print("no query runs\n")
		return nil
	}
	table := tabwriter.NewWriter(cellio.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "ID\tName\tState\tFor\tRecords\tRecords/s\tLag")
	for _, line := range streamLines(shown) {
		fmt.Fprintln(table, line)
	}
	return table.Flush()
}

// streamLines tell of queries, which are asked beside each other: each that is held up is waited for.
func streamLines(shown []*running.Entry) []string {
	lines := make([]string, len(shown))
	var asking sync.WaitGroup
	for i, e := range shown {
		asking.Go(func() { lines[i] = streamLine(e) })
	}
	asking.Wait()
	return lines
}

// far is how far a query has come, in %streams.
type far struct {
	records, lag int64
	report       running.Progress
	epoch        time.Duration
}

// howFar asks a query. One that its sink or a function holds up would hold up the cell, where no interrupt reaches it.
var howFar = running.Question[far]{Patience: 250 * time.Millisecond, Ask: func(t running.Thing) (f far) {
	q, ok := t.(running.Streamer)
	if !ok {
		return f
	}
	f = far{records: q.Totals().Records, report: q.Progress(), epoch: running.EpochAge(t)}
	for _, p := range q.Sources() {
		f.lag += p.Lag
	}
	return f
}}

// streamLine tells of a query in a line of a table.
func streamLine(e *running.Entry) string {
	f, waited := howFar.Of(e)
	hold := running.HoldOf(e, f.report, f.epoch, waited)
	numbers := []string{"no answer", "", ""}
	if waited == 0 {
		numbers = []string{strconv.FormatInt(f.records, 10), f.speed(e, hold), strconv.FormatInt(f.lag, 10)}
	}
	line := append([]string{strconv.FormatInt(e.ID, 10), cutLine(e.Name), stateWord(e, hold), e.Elapsed().Round(time.Second).String()}, numbers...)
	if hold.Is() {
		line = append(line, hold.String())
	}
	return strings.Join(line, "\t")
}

// speed is how many records a second a query reads: none while it reports nothing, whatever its last report says.
func (f far) speed(e *running.Entry, hold running.Hold) string {
	switch {
	case e.State() != running.Running:
		return ""
	case hold.Silent > 0:
		return "0"
	}
	return strconv.FormatInt(int64(math.Round(f.report.InputRowsPerSecond)), 10)
}

func stateWord(e *running.Entry, hold running.Hold) string {
	if hold.Is() {
		return "held up"
	}
	return map[running.State]string{running.Running: "running", running.Succeeded: "ended", running.Failed: "failed"}[e.State()]
}

// endStreams stops or drains the queries that are meant: one by its number, those of a name, or all.
func (s *steps) endStreams(c *magic.Command, verb, which string) error {
	meant := meantStreams(which)
	if len(meant) == 0 {
		return fail(c, "%%streams: no query that runs has the name or the ID %q", which)
	}
	ends := make(chan streamEnd)
	ctx := runContext()
	for _, e := range meant { // at once: one that is stuck holds up none of the others
		go func() { ends <- endStream(ctx, verb, e) }()
	}
	var failed []string
	for range meant {
		end := <-ends
		if end.err != nil {
			failed = append(failed, fmt.Sprintf("%q: %v", end.Name, end.err))
			continue
		}
		s.print("%s: %d %s\n", end.word, end.ID, cutLine(end.Name))
	}
	if len(failed) > 0 {
		return fail(c, "%%streams: %s", strings.Join(failed, "\n"))
	}
	return nil
}

// streamEnd is a query that was ended, and how.
type streamEnd struct {
	*running.Entry
	word string
	err  error
}

func endStream(ctx context.Context, verb string, e *running.Entry) streamEnd {
	if verb == streamsDrain {
		return streamEnd{e, "drained", e.Drain(ctx)}
	}
	return streamEnd{e, "stopped", e.Stop(ctx)}
}

func meantStreams(which string) (meant []*running.Entry) {
	for _, e := range queries(running.Process().Live()) {
		if which == streamsAll || which == e.Name || which == strconv.FormatInt(e.ID, 10) {
			meant = append(meant, e)
		}
	}
	return meant
}

// runContext ends when the running cell is interrupted.
func runContext() context.Context {
	if r := cellio.CurrentRun(); r != nil {
		return r.Context()
	}
	return context.Background()
}

// streamWords are what can stand behind %streams.
func streamWords() []string {
	all := []string{streamsStop, streamsDrain, streamsAll}
	for _, e := range queries(running.Process().Live()) {
		all = append(all, e.Name)
	}
	return all
}
