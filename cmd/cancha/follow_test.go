//go:build !windows

package main

import (
	"errors"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"cancha/internal/running"
)

// followed is a query as "cancha query" sees it.
type followed struct {
	name  string
	held  chan struct{} // nil: nothing holds it up; else numbers come after it is closed
	age   time.Duration // of the newest report, where there is one
	epoch time.Duration // for which its epoch has been on its way
	asked atomic.Int64
}

func (q *followed) Kind() running.Kind              { return running.Query }
func (q *followed) Name() string                    { return q.name }
func (q *followed) Status() string                  { return "" }
func (q *followed) Notes() []string                 { return nil }
func (q *followed) Recent(int64) []running.Progress { return nil }
func (q *followed) EpochAge() time.Duration         { return q.epoch }
func (q *followed) Sources() []running.Partition    { return nil }

func (q *followed) Progress() running.Progress {
	p := running.Progress{InputRowsPerSecond: 20}
	if q.age > 0 {
		p.Timestamp = time.Now().Add(-q.age).UTC().Format(time.RFC3339Nano)
	}
	return p
}

func (q *followed) Totals() running.Totals {
	q.asked.Add(1)
	if q.held != nil {
		<-q.held
	}
	return running.Totals{Records: 7}
}

// serveRegistry has a follower look at a registry, and returns what it says.
func serveRegistry(t *testing.T, r *running.Registry) (*follower, *strings.Builder) {
	t.Helper()
	socket := filepath.Join(t.TempDir(), "queries")
	listener, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	s := &http.Server{Handler: queriesHandler(r)}
	var serving sync.WaitGroup
	serving.Go(func() { _ = s.Serve(listener) })
	t.Cleanup(func() { _ = s.Close(); serving.Wait() })
	var said strings.Builder
	return newFollower(socket, &said, 0), &said
}

// TestFollowerOfAStuckQuery: a query that gives no numbers is asked once, however often somebody looks.
func TestFollowerOfAStuckQuery(t *testing.T) {
	var r running.Registry
	q := &followed{name: "stuck", held: make(chan struct{})}
	defer close(q.held)
	is := queryReport{ID: r.Add(q).ID, Name: "stuck", State: running.Running}
	f, _ := serveRegistry(t, &r)
	if _, err := f.look(t.Context()); err != nil {
		t.Fatal(err)
	}
	var looking sync.WaitGroup
	for range 3 {
		looking.Go(func() {
			if got, want := f.far(t.Context(), is), "no numbers come"; !strings.HasPrefix(got, want) {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
	looking.Wait()
	if got := q.asked.Load(); got != 1 {
		t.Errorf("asked %d times, want once", got)
	}
}

// TestFollowerOfOldNumbers: a query that its sink holds up answers, and is told from one that runs.
func TestFollowerOfOldNumbers(t *testing.T) {
	var r running.Registry
	f, _ := serveRegistry(t, &r)
	hung, epoch := r.Add(&followed{age: 12500 * time.Millisecond}), r.Add(&followed{epoch: 30 * time.Second})
	if _, err := f.look(t.Context()); err != nil {
		t.Fatal(err)
	}
	for e, want := range map[*running.Entry]string{
		hung:  "7 records, 0/s, lag 0, state 0 KiB, batch 0, 0 late, 0 bad, 0 rows out. No report for 12s: held up by its sink or a function",
		epoch: "7 records, 20/s, lag 0, state 0 KiB, batch 0, 0 late, 0 bad, 0 rows out. An epoch has been on its way for 30s: held up by its sink or its checkpoint",
	} {
		if got := f.far(t.Context(), queryReport{ID: e.ID, State: running.Running}); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// TestFollowerOfManyStuckQueries: they are waited for together.
func TestFollowerOfManyStuckQueries(t *testing.T) {
	var r running.Registry
	f, said := serveRegistry(t, &r)
	held := make(chan struct{})
	defer close(held)
	now := engineReport{}
	for range 5 {
		now.Queries = append(now.Queries, queryReport{ID: r.Add(&followed{held: held}).ID, State: running.Running})
	}
	if err := f.ask(t.Context(), http.MethodGet, "/", &engineReport{}); err != nil {
		t.Fatal(err)
	}
	f.every = 1
	begin := time.Now()
	f.progress(t.Context(), now)
	if got, limit := time.Since(begin), 3*numbersPatience; got > limit {
		t.Errorf("got %v, want %v at most", got, limit)
	}
	if got := strings.Count(said.String(), ": no numbers come"); got != len(now.Queries) {
		t.Errorf("got %d lines without numbers, want %d", got, len(now.Queries))
	}
}

// TestFollowerSeesEveryFailure: also those of queries that the registry has forgotten when the follower looks.
func TestFollowerSeesEveryFailure(t *testing.T) {
	var r running.Registry
	f, said := serveRegistry(t, &r)
	fail := func(e *running.Entry) {
		e.End(errors.New("the disk is full"))
		for range 150 {
			r.Add(&followed{name: "short"}).End(nil)
		}
	}
	sales := r.Add(&followed{name: "sales"})
	for _, step := range []struct {
		name string
		do   func()
		want string // the error
	}{
		{"it runs", func() {}, ""},
		{"one that was seen to run", func() { fail(sales) }, `the query "sales" has failed`},
		{"nothing new", func() {}, ""},
		{"one that was not seen", func() { fail(r.Add(&followed{name: "returns"})) }, "1 query failed unseen"},
		{"nothing new again", func() {}, ""},
	} {
		step.do()
		_, err := f.look(t.Context())
		if (err != nil) != (step.want != "") || err != nil && !strings.HasPrefix(err.Error(), step.want) {
			t.Errorf("%s: got %v, want %q", step.name, err, step.want)
		}
	}
	if want := "query \"sales\" has failed: the disk is full: 7 records, "; !strings.Contains(said.String(), want) {
		t.Errorf("no line with %q", want)
	}
}
