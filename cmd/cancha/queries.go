//go:build !windows

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"strconv"
	"sync"

	"cancha/internal/running"
)

// queriesVariable is where "cancha query" tells its engine of a socket, on which it asks for the queries and stops them: a cell that
// waits for one holds up neither. The page is no place for that: it may be off, or find no port.
const queriesVariable = "CANCHA_QUERIES"

// engineReport is what an engine answers. It takes no lock for them that a query holds while it waits.
type engineReport struct {
	PID     int // of the engine
	Page    running.Page
	Queries []queryReport
}

// queryReport is a query that runs, or has ended lately.
type queryReport struct {
	ID     int64
	Name   string
	State  running.State
	Err    string
	Status string
	Notes  []string
}

// queryNumbers are how far a query has come. One that waits for a sink may not answer.
type queryNumbers struct {
	running.Totals
	Sources []string
	Rate    float64
	Lag     int64
	Batch   int64
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
	m := http.NewServeMux()
	m.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) { answerJSON(w, reportAll(r)) })
	m.HandleFunc("GET /{id}", func(w http.ResponseWriter, q *http.Request) {
		id, _ := strconv.ParseInt(q.PathValue("id"), 10, 64) // 0 is nobody's
		answerJSON(w, numbersOf(r.Find(id)))
	})
	m.HandleFunc("POST /stop", func(w http.ResponseWriter, q *http.Request) {
		stopQueries(q.Context(), r)
		answerJSON(w, struct{}{})
	})
	return m
}

func answerJSON(w http.ResponseWriter, v any) { _ = json.NewEncoder(w).Encode(v) } // whoever asked has gone

func reportAll(r *running.Registry) engineReport {
	all := engineReport{PID: os.Getpid(), Page: r.Page()}
	for _, e := range r.List() {
		if q, ok := e.Thing().(running.Streamer); ok {
			all.Queries = append(all.Queries, reportOf(e, q))
		}
	}
	return all
}

func reportOf(e *running.Entry, q running.Streamer) queryReport {
	is := queryReport{ID: e.ID, Name: e.Name, State: e.State(), Status: q.Status(), Notes: q.Notes()}
	if _, err := e.Ended(); err != nil {
		is.Err = err.Error()
	}
	return is
}

func numbersOf(e *running.Entry) (n queryNumbers) {
	if e == nil {
		return n
	}
	q, ok := e.Thing().(running.Streamer)
	if !ok {
		return n
	}
	p := q.Progress()
	n = queryNumbers{Totals: q.Totals(), Rate: p.InputRowsPerSecond, Batch: p.BatchID}
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
