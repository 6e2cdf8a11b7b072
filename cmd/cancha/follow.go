//go:build !windows

package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"cancha/internal/running"
)

// follower tells a person what becomes of the queries of an engine in another process.
type follower struct {
	engine http.Client
	out    io.Writer
	every  time.Duration // from one line about a query's numbers to the next; 0: there are none

	pid     int                   // of the engine that was seen last; 0: none yet
	seen    map[int64]queryReport // what that has told of each query
	failed  int64                 // so many were told to have
	started bool                  // a query was, ever
	told    time.Time             // when the numbers were
}

func newFollower(socket string, out io.Writer, every time.Duration) *follower {
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", socket)
	}
	return &follower{
		engine: http.Client{Transport: &http.Transport{DialContext: dial, DisableKeepAlives: true}},
		out:    out, every: every, told: time.Now(),
	}
}

// errNoEngine says that no engine answers: there is none yet, or none any more.
var errNoEngine = errors.New("the engine has ended, and what ran in it")

func (f *follower) ask(ctx context.Context, method, path string, answer any) error {
	r, err := http.NewRequestWithContext(ctx, method, "http://engine"+path, nil)
	if err != nil {
		return err
	}
	a, err := f.engine.Do(r)
	if err != nil {
		return cmp.Or(context.Cause(ctx), errNoEngine)
	}
	defer a.Body.Close()
	if err := json.NewDecoder(a.Body).Decode(answer); err != nil { // it has ended meanwhile
		return cmp.Or(context.Cause(ctx), errNoEngine)
	}
	return nil
}

// look tells what is new, and returns how many queries run. The error is of a query that has failed since, or of the engine.
func (f *follower) look(ctx context.Context) (live int, err error) {
	var now engineReport
	if err := f.ask(ctx, http.MethodGet, "/", &now); err != nil {
		return 0, err
	}
	if err := f.meet(now); err != nil {
		return 0, err
	}
	before := f.seen
	f.seen = map[int64]queryReport{}
	for _, q := range now.Queries {
		f.seen[q.ID], f.started = q, true
		err = cmp.Or(err, f.news(ctx, before[q.ID], q))
		if q.State == running.Running {
			live++
		}
	}
	f.progress(ctx, now)
	return live, cmp.Or(err, f.unseen(now))
}

// unseen is an error if queries have failed that were never in a report: a hundred others have ended since the one before.
func (f *follower) unseen(now engineReport) error {
	if now.Failed <= f.failed {
		return nil
	}
	err := fmt.Errorf("%s failed unseen: too many others have ended in that moment", count(int(now.Failed-f.failed), "query", "queries"))
	f.failed = now.Failed
	return err
}

// news tells what has become of a query, since a report that is the zero one at first. A query that has failed since is an error.
func (f *follower) news(ctx context.Context, before, q queryReport) error {
	if before.State == "" {
		n, _ := f.numbers(ctx, q) // without them it has no sources here
		f.line(q, "starts: "+strings.Join(n.Sources, ", "))
	}
	for _, note := range q.Notes[min(len(before.Notes), len(q.Notes)):] {
		f.line(q, note)
	}
	if q.State == running.Running || q.State == before.State {
		return nil
	}
	if q.State == running.Failed {
		f.failed++
		f.line(q, "has failed: "+q.Err+": "+f.far(ctx, q))
		return &failedQuery{q.Name, q.Exit}
	}
	f.line(q, "has ended: "+f.far(ctx, q))
	return nil
}

// failedQuery tells that a query has failed.
type failedQuery struct {
	name string
	exit *int
}

func (f *failedQuery) Error() string { return fmt.Sprintf("the query %q has failed", f.name) }

// ExitStatus is the status of an os.Exit in one of its functions.
func (f *failedQuery) ExitStatus() (code int, ok bool) {
	if f.exit == nil {
		return 0, false
	}
	return *f.exit, true
}

// lives tells whether a query ran when the queries were looked at last.
func (f *follower) lives() bool {
	for _, q := range f.seen {
		if q.State == running.Running {
			return true
		}
	}
	return false
}

// meet sees whether an engine is the one that answered before. Another one knows nothing of the queries that ran there.
func (f *follower) meet(now engineReport) error {
	if f.pid == now.PID {
		return nil
	}
	if f.lives() {
		return errNoEngine
	}
	f.pid, f.seen, f.failed = now.PID, nil, 0
	if now.Page.Off == "" {
		fmt.Fprintln(f.out, "page:", now.Page.URL)
	}
	return nil
}

// progress tells how far the queries have come, if it is time.
func (f *follower) progress(ctx context.Context, now engineReport) {
	if f.every == 0 || time.Since(f.told) < f.every {
		return
	}
	f.told = time.Now()
	live := slices.DeleteFunc(slices.Clone(now.Queries), func(q queryReport) bool { return q.State != running.Running })
	texts := make([]string, len(live))
	var asking sync.WaitGroup // or each that is held up would be waited for after the other, and a failure not seen meanwhile
	for i, q := range live {
		asking.Go(func() { texts[i] = f.far(ctx, q) })
	}
	asking.Wait()
	for i, q := range live {
		f.line(q, q.Status+": "+texts[i])
	}
}

// numbersPatience is how long a query is waited for that its sink holds up, or one of its functions.
const numbersPatience = time.Second

func (f *follower) numbers(ctx context.Context, q queryReport) (n queryNumbers, err error) {
	ctx, cancel := context.WithTimeout(ctx, 2*numbersPatience) // the engine waits that long once
	defer cancel()
	err = f.ask(ctx, http.MethodGet, fmt.Sprint("/", q.ID), &n)
	return n, err
}

// far tells how far a query has come.
func (f *follower) far(ctx context.Context, q queryReport) string {
	n, err := f.numbers(ctx, q)
	if err != nil || n.Held {
		return "no numbers come, while a sink or a function holds it up"
	}
	text := fmt.Sprintf("%d records", n.Records)
	if q.State == running.Running {
		text += fmt.Sprintf(", %.0f/s, lag %d, state %d KiB, batch %d", n.Rate, n.Lag, (n.Bytes+1023)>>10, n.Batch)
	}
	text += fmt.Sprintf(", %d late, %d bad, %d rows out", n.Late, n.Bad, n.Rows)
	if n.Hold != "" {
		text += ". " + n.Hold
	}
	return text
}

func (f *follower) line(q queryReport, text string) {
	fmt.Fprintf(f.out, "query %q %s\n", q.Name, text)
}

// stop stops the queries that run, and waits until they have ended. An engine that does not answer has none.
func (f *follower) stop(ctx context.Context) { _ = f.ask(ctx, http.MethodPost, "/stop", &struct{}{}) }

// leave tells of the queries that run that nobody waits for them any more.
func (f *follower) leave() {
	for _, id := range slices.Sorted(maps.Keys(f.seen)) {
		if q := f.seen[id]; q.State == running.Running {
			f.line(q, "does not end, and is left without a last snapshot: a sink or a function holds it up")
		}
	}
}

// none is an error if no query was started.
func (f *follower) none(program string) error {
	if f.started {
		return nil
	}
	return fmt.Errorf("%s has started no query, so there is nothing to stay for: must(query.Start(context.Background())) starts one", program)
}
