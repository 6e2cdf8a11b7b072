//go:build !windows

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"strconv"
	"sync"
	"time"

	"cancha/internal/cellio"
	"cancha/internal/running"
)

// queriesVariable is where "cancha query" tells its engine of a socket, on which it asks for the queries and stops them: a cell that
// waits for one holds up neither. The page is no place for that: it may be off, or find no port.
const queriesVariable = "CANCHA_QUERIES"

// engineReport is what an engine answers. It takes no lock for them that a query holds while it waits.
type engineReport struct {
	PID     int // of the engine
	Page    running.Page
	Failed  int64 // so many queries have, at least: more than are listed if many have ended since
	Queries []queryReport
}

// queryReport is a query that runs, or has ended lately, or since the report before.
type queryReport struct {
	ID     int64
	Name   string
	State  running.State
	Err    string
	Exit   *int // the status with which one of its functions has called os.Exit; nil: none has
	Status string
	Notes  []string
}

// queryNumbers are how far a query has come. One that waits for a sink may not answer.
type queryNumbers struct {
	Held bool   // it has not answered
	Hold string // by what it is held up, although it has
	running.Totals
	Sources []string
	Rate    float64
	Lag     int64
	Batch   int64

	report running.Progress
	epoch  time.Duration // for which the epoch on its way has been that
}

// serveQueries answers on the socket that queriesVariable names; without one it does nothing. The caller calls stop
// when the engine ends.
func serveQueries(ctx context.Context) (stop func(), err error) {
	path := os.Getenv(queriesVariable)
	if path == "" {
		return func() {}, nil
	}
	_ = os.Unsetenv(queriesVariable) // a command of a cell may be an engine as well
	_ = os.Remove(path)              // that of an engine before this one
	listener, err := (&net.ListenConfig{}).Listen(ctx, "unix", path)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", queriesVariable, err)
	}
	listener.(*net.UnixListener).SetUnlinkOnClose(false) // it may be the next engine's by then
	s := &http.Server{Handler: queriesHandler(running.Process())}
	var serving sync.WaitGroup
	serving.Go(func() { _ = s.Serve(listener) }) // until stop
	return func() { _ = s.Close(); serving.Wait() }, nil
}

func queriesHandler(r *running.Registry) http.Handler {
	all := reporter{registry: r}
	numbers := running.Question[queryNumbers]{Ask: numbersOf, Patience: numbersPatience}
	m := http.NewServeMux()
	m.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) { answerJSON(w, all.report()) })
	m.HandleFunc("GET /{id}", func(w http.ResponseWriter, q *http.Request) {
		id, _ := strconv.ParseInt(q.PathValue("id"), 10, 64) // 0 is nobody's
		var n queryNumbers
		if e := all.find(id); e != nil {
			answer, waited := numbers.Of(e)
			n, n.Held = answer, waited > 0
			n.holdUp(running.HoldOf(e, n.report, n.epoch, waited))
		}
		answerJSON(w, n)
	})
	m.HandleFunc("POST /stop", func(w http.ResponseWriter, q *http.Request) {
		stopQueries(q.Context(), r)
		answerJSON(w, struct{}{})
	})
	return m
}

func answerJSON(w http.ResponseWriter, v any) { _ = json.NewEncoder(w).Encode(v) } // whoever asked has gone

// reporter reports the queries of a registry. It keeps those of its newest report: a registry forgets what has ended before others, and a failure
// must not pass unseen.
type reporter struct {
	registry *running.Registry

	mu     sync.Mutex
	listed map[int64]*running.Entry
	live   map[int64]bool // of them, those that were reported to run
}

func (r *reporter) report() engineReport {
	r.mu.Lock()
	defer r.mu.Unlock()
	failed := r.registry.Tallies()[running.Tally{Kind: running.Query, State: running.Failed}] // before the list: what fails after this is in that
	all := engineReport{PID: os.Getpid(), Page: r.registry.Page(), Failed: failed}
	list := r.list()
	r.listed, r.live = map[int64]*running.Entry{}, map[int64]bool{}
	for _, e := range list {
		if q, ok := e.Thing().(running.Streamer); ok {
			is := reportOf(e, q)
			all.Queries = append(all.Queries, is)
			r.listed[e.ID], r.live[e.ID] = e, is.State == running.Running
		}
	}
	return all
}

// list has what is listed, and before that what was seen to run and is listed no more.
func (r *reporter) list() (all []*running.Entry) {
	now := r.registry.List()
	for _, e := range now {
		delete(r.live, e.ID)
	}
	for id, ran := range r.live {
		if ran {
			all = append(all, r.listed[id])
		}
	}
	return append(all, now...)
}

// find returns a query of the newest report.
func (r *reporter) find(id int64) *running.Entry {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.listed[id]
}

func reportOf(e *running.Entry, q running.Streamer) queryReport {
	is := queryReport{ID: e.ID, Name: e.Name, State: e.State(), Status: q.Status(), Notes: q.Notes()}
	if _, err := e.Ended(); err != nil {
		is.Err = err.Error()
		if exit := (*cellio.ExitError)(nil); errors.As(err, &exit) {
			is.Exit = &exit.Code
		}
	}
	return is
}

// holdUp notes what holds a query up. The rate of a report that is old is not that of now.
func (n *queryNumbers) holdUp(h running.Hold) {
	if n.Hold = h.String(); h.Silent > 0 {
		n.Rate = 0
	}
}

func numbersOf(t running.Thing) (n queryNumbers) {
	q, ok := t.(running.Streamer)
	if !ok {
		return n
	}
	p := q.Progress()
	n = queryNumbers{Totals: q.Totals(), Rate: p.InputRowsPerSecond, Batch: p.BatchID, report: p, epoch: running.EpochAge(t)}
	for _, s := range q.Sources() {
		n.Lag += s.Lag
	}
	if p, ok := q.(running.Planner); ok {
		n.Sources = sourcesOf(p.Plan())
	}
	return n
}

// sourcesOf are what a plan reads.
func sourcesOf(p running.Plan) (all []string) {
	for _, n := range p.Nodes {
		if n.Kind == "source" {
			all = append(all, n.Name+" "+n.Detail)
		}
	}
	return all
}

// stopQueries stops what runs, each beside the others, and waits for all. How one ends, its report tells.
func stopQueries(ctx context.Context, r *running.Registry) {
	var stopping sync.WaitGroup
	for _, e := range r.Live() {
		if e.Kind == running.Query {
			stopping.Go(func() { _ = e.Stop(ctx) })
		}
	}
	stopping.Wait()
}
