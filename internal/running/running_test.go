package running

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"cancha/internal/cellio"
)

// query is a thing that can be stopped.
type query struct {
	name    string
	stopped int
	entry   *Entry
	stuck   bool
}

func (q *query) Kind() Kind   { return Query }
func (q *query) Name() string { return q.name }

func (q *query) Stop(ctx context.Context) error {
	if q.stuck {
		<-ctx.Done()
		return context.Cause(ctx)
	}
	q.stopped++
	q.entry.End(nil)
	return nil
}

func (q *query) Last() Thing { return NewJob(Query, q.name+" (last)", 0, "") }

func TestEntry(t *testing.T) {
	var r Registry
	q := &query{name: "<b>sales</b>"}
	q.entry = r.Add(q)
	if got := q.entry.State(); got != Running {
		t.Errorf("at first: got %s, want %s", got, Running)
	}
	if got := r.Find(q.entry.ID); got != q.entry {
		t.Errorf("Find: got %v, want %v", got, q.entry)
	}
	if err := q.entry.Drain(t.Context()); !errors.Is(err, ErrCannot) {
		t.Errorf("Drain of what cannot: got %v, want %v", err, ErrCannot)
	}
	if err := q.entry.Stop(t.Context()); err != nil || q.stopped != 1 {
		t.Errorf("Stop: got %v and %d calls, want nil and 1", err, q.stopped)
	}
	q.entry.End(errors.New("a second end"))
	ended, err := q.entry.Ended()
	if got := q.entry.State(); got != Succeeded || err != nil || ended.IsZero() {
		t.Errorf("after the end: got %s, %v, %v, want %s", got, ended, err, Succeeded)
	}
	if got, want := q.entry.Thing().Name(), "<b>sales</b> (last)"; got != want {
		t.Errorf("what is left: got %q, want %q", got, want)
	}
	if err := q.entry.Stop(t.Context()); !errors.Is(err, ErrCannot) {
		t.Errorf("Stop after the end: got %v, want %v", err, ErrCannot)
	}
	var none *Entry
	none.End(nil)
}

// TestEndedAreBounded: the newest hundred stay, and all are counted.
func TestEndedAreBounded(t *testing.T) {
	var r Registry
	for i := range 150 {
		e := r.Add(NewJob(Fit, fmt.Sprint(i), 1, "trees"))
		var err error
		if i%3 == 0 {
			err = errors.New("too deep")
		}
		e.End(err)
	}
	live := r.Add(NewJob(Load, "matches", 0, "matches"))
	list := r.List()
	if got := len(list); got != keptEnded+1 || list[0].Name != "50" || list[got-1] != live {
		t.Errorf("got %d, from %q to %q, want %d, from 50 to matches", got, list[0].Name, list[got-1].Name, keptEnded+1)
	}
	if got := r.Live(); len(got) != 1 || got[0] != live {
		t.Errorf("live: got %v, want %v", got, live)
	}
	if got := r.Tallies(); got[Tally{Fit, Succeeded}] != 100 || got[Tally{Fit, Failed}] != 50 || len(got) != 2 {
		t.Errorf("counted: got %v, want 100 and 50", got)
	}
}

// TestReplace: a cell that is run again stops what its run before has started, and nothing else.
func TestReplace(t *testing.T) {
	for _, c := range []struct {
		name            string
		cell            int64
		origin, as      string
		kind            Kind
		replaced, stuck bool
	}{
		{name: "the same cell again", cell: 5, origin: "a", as: "sales", kind: Query, replaced: true},
		{name: "another cell", cell: 5, origin: "b", as: "sales", kind: Query},
		{name: "the same execution, in a loop", cell: 3, origin: "a", as: "sales", kind: Query},
		{name: "a goroutine of an earlier execution", cell: 2, origin: "a", as: "sales", kind: Query},
		{name: "another name", cell: 5, origin: "a", as: "returns", kind: Query},
		{name: "another kind", cell: 5, origin: "a", as: "sales", kind: Fit},
		{name: "a cell that nobody knows", cell: 5, origin: "", as: "sales", kind: Query},
		{name: "one that does not stop", cell: 5, origin: "a", as: "sales", kind: Query, stuck: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			var r Registry
			q := &query{name: "sales", stuck: c.stuck}
			in(3, "a", func() { q.entry = r.Add(q) })
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
			defer cancel()
			in(c.cell, c.origin, func() {
				err := r.Replace(ctx, c.kind, c.as)
				if (err != nil) != c.stuck || c.stuck && !strings.Contains(err.Error(), `replace the query "sales"`) {
					t.Errorf("got %v, want an error: %v", err, c.stuck)
				}
			})
			if got := q.stopped == 1; got != c.replaced {
				t.Errorf("got replaced %v, want %v", got, c.replaced)
			}
		})
	}
}

// in runs f as an execution of a cell.
func in(cell int64, origin string, f func()) {
	run := cellio.NewRun(cell)
	run.Origin = origin
	done := make(chan struct{})
	go func() { defer close(done); run.Do(f) }()
	<-done
}

func TestJob(t *testing.T) {
	j := NewJob(Load, "matches", 3, "matches")
	err := j.Do(func() error {
		j.Advance(2)
		j.Handle(10, 1000)
		for _, e := range Process().Live() {
			if e.Thing() == Thing(j) {
				return errors.New("found")
			}
		}
		return nil
	})
	if err == nil || err.Error() != "found" {
		t.Errorf("while it runs: got %v, want it listed", err)
	}
	if got, want := j.Work(), (Work{Done: 2, Total: 3, Unit: "matches", Rows: 10, Bytes: 1000}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

// TestJobThatPanics: what does not return has failed, and is listed as running no more.
func TestJobThatPanics(t *testing.T) {
	j := NewJob(Fit, "deep", 0, "")
	func() {
		defer func() { _ = recover() }()
		_ = j.Do(func() error { panic("deep") })
	}()
	for _, e := range Process().List() {
		if e.Thing() == Thing(j) && e.State() != Failed {
			t.Errorf("got %s, want %s", e.State(), Failed)
		}
	}
}

func TestPage(t *testing.T) {
	var r Registry
	if got := r.Page(); got.Off == "" {
		t.Errorf("at first: got %+v, want a reason", got)
	}
	r.Announce(Page{URL: "http://127.0.0.1:4040/", Port: 4040})
	if got := r.Page(); got.Port != 4040 || got.Off != "" {
		t.Errorf("got %+v, want the page", got)
	}
}
