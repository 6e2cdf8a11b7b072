package eval

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"strings"
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
	table := tabwriter.NewWriter(cellio.Stdout, 0, 0, 2, ' ', 0)
	shown := 0
	for _, e := range all {
		if e.State() != running.Running && skip > 0 {
			skip--
			continue
		}
		if shown++; shown == 1 {
			fmt.Fprintln(table, "ID\tName\tState\tFor\tRecords\tRecords/s\tLag")
		}
		fmt.Fprintln(table, streamLine(e))
	}
	if shown == 0 {
		s.print("no query runs\n")
		return nil
	}
	return table.Flush()
}

// streamLine tells of a query in a line of a table.
func streamLine(e *running.Entry) string {
	records, speed, lag := "", "", ""
	if q, ok := e.Thing().(running.Streamer); ok {
		records, speed = strconv.FormatInt(q.Totals().Records, 10), strconv.FormatInt(int64(math.Round(q.Progress().InputRowsPerSecond)), 10)
		behind := int64(0)
		for _, p := range q.Sources() {
			behind += p.Lag
		}
		lag = strconv.FormatInt(behind, 10)
	}
	state := map[running.State]string{running.Running: "running", running.Succeeded: "ended", running.Failed: "failed"}[e.State()]
	if e.State() != running.Running {
		speed = ""
	}
	return strings.Join([]string{strconv.FormatInt(e.ID, 10), cutLine(e.Name), state, e.Elapsed().Round(time.Second).String(), records, speed, lag}, "\t")
}

// endStreams stops or drains the queries that are meant: one by its number, those of a name, or all.
func (s *steps) endStreams(c *magic.Command, verb, which string) error {
	meant := meantStreams(which)
	if len(meant) == 0 {
		return fail(c, "%%streams: no query that runs has the name or the ID %q", which)
	}
	for _, e := range meant {
		end, word := e.Stop, "stopped"
		if verb == streamsDrain {
			end, word = e.Drain, "drained"
		}
		if err := end(runContext()); err != nil {
			return fail(c, "%%streams: %q: %v", e.Name, err)
		}
		s.print("%s: %d %s\n", word, e.ID, cutLine(e.Name))
	}
	return nil
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
