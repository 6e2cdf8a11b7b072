package scheduler

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"cancha/jobs/job"
	"cancha/jobs/local"
	"cancha/jobs/placement"
	"cancha/jobs/queue"
	"cancha/jobs/store"
)

// started is a scheduler on a store and a broker of its own.
func started(t *testing.T, before func(*store.Store, queue.Broker)) *Scheduler {
	t.Helper()
	st, err := store.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	b, err := local.Open(t.TempDir(), local.Options{})
	if err != nil {
		t.Fatal(err)
	}
	before(st, b)
	s, err := Start(t.Context(), b, st, Settings{Placement: placement.Settings{Explore: -1}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(s.Close(), b.Close(), st.Close()); err != nil {
			t.Error(err)
		}
	})
	return s
}

// A list of jobs with large results is cut, so that a message takes it.
func TestLargeAnswer(t *testing.T) {
	s := started(t, func(st *store.Store, _ queue.Broker) {
		var all []*job.Job
		for i := range 20 {
			all = append(all, &job.Job{Spec: job.Spec{ID: fmt.Sprint(i), Type: "t"}, State: job.Completed, Ended: time.Now(),
				Result: json.RawMessage(`"` + strings.Repeat("x", 1<<20-2) + `"`)})
		}
		if err := st.Commit(&store.Changes{Jobs: all}); err != nil {
			t.Fatal(err)
		}
	})
	body, err := s.answered([]byte(`{"ask":"jobs"}`))
	if err != nil {
		t.Fatal(err)
	}
	var a Answer
	if err := json.Unmarshal(body, &a); err != nil || len(body) > queue.MaxBody || len(a.Jobs) != 10 || !a.More || a.Jobs[0].ID != "19" {
		t.Errorf("%d bytes, %d jobs, more: %v, %v", len(body), len(a.Jobs), a.More, err)
	}
}

// A message that cannot be settled is tried again, until it is settled, or the broker has it back.
func TestSettle(t *testing.T) {
	s := &Scheduler{ctx: t.Context()}
	for name, last := range map[string]error{"settled": nil, "lost": queue.ErrLost} {
		calls := 0
		s.settle(func() error {
			if calls++; calls == 1 {
				return queue.ErrFull
			}
			return last
		})
		if calls != 2 {
			t.Errorf("%s: %d calls", name, calls)
		}
	}
	var end context.CancelFunc
	s.ctx, end = context.WithCancel(t.Context())
	end()
	s.settle(func() error { return errors.New("never") }) // it returns
}

// While the broker is away Start waits, and says for what; it ends with its context, and at once where the broker refuses.
func TestPatiently(t *testing.T) {
	var said strings.Builder
	s := &Scheduler{patience: time.Millisecond, logger: slog.New(slog.NewTextHandler(&said, nil))}
	calls, refused := 0, errors.New("refused")
	away := func(ctx context.Context) error {
		if calls++; calls == 3 {
			return nil
		}
		<-ctx.Done()
		return fmt.Errorf("no broker answers: %w", ctx.Err())
	}
	if err := s.patiently(t.Context(), away); err != nil || strings.Count(said.String(), "it waits for the broker") != 2 ||
		!strings.Contains(said.String(), "no broker answers") {
		t.Errorf("%v, %d calls, and it has said: %s", err, calls, said.String())
	}
	if err := s.patiently(t.Context(), func(context.Context) error { return refused }); !errors.Is(err, refused) {
		t.Errorf("got %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Millisecond)
	defer cancel()
	if err := s.patiently(ctx, func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
}

// A scheduler whose folder is not its own any more ends by itself, says why, and sends nothing.
func TestDeposed(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "store")
	st, err := store.Open(folder)
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	b, err := local.Open(t.TempDir(), local.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	s, err := Start(t.Context(), b, st, Settings{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := os.Rename(folder, folder+".old"); err != nil {
		t.Fatal(err)
	}
	if err := b.Publish(t.Context(), job.QueueJobs, queue.Message{ID: "a", Body: []byte("no JSON")}); err != nil { // its result would be sent at once
		t.Fatal(err)
	}
	<-s.Done()
	if err := s.Close(); err != nil || !strings.Contains(s.Trouble(), store.ErrDeposed.Error()) {
		t.Errorf("%v, %q", err, s.Trouble())
	}
	results, err := b.Inspect(t.Context(), job.QueueResults)
	waiting, err2 := b.Inspect(t.Context(), job.QueueJobs)
	if err := errors.Join(err, err2); err != nil || results.Ready != 0 || waiting.Ready != 1 {
		t.Errorf("%+v, %+v, %v", results, waiting, err)
	}
}

// Jobs whose time is over are forgotten, however many came in a minute.
func TestForget(t *testing.T) {
	const n = 3*forgetting + 1
	s := started(t, func(st *store.Store, _ queue.Broker) {
		var all []*job.Job
		var sent []string // so that the scheduler writes nothing meanwhile
		for i := range n {
			all = append(all, &job.Job{Spec: job.Spec{ID: fmt.Sprint(i), Type: "t", ResultTTL: time.Second}, State: job.Completed,
				Ended: time.Now().Add(-time.Minute)})
			sent = append(sent, fmt.Sprint(i))
		}
		if err := errors.Join(st.Commit(&store.Changes{Jobs: all}), st.Commit(&store.Changes{Sent: sent})); err != nil {
			t.Fatal(err)
		}
	})
	turns := 0
	for ; s.forget(time.Now()); turns++ {
	}
	if _, err := s.store.Get(fmt.Sprint(n - 1)); turns != 3 || !errors.Is(err, store.ErrUnknown) {
		t.Errorf("%d turns that left some, %v", turns, err)
	}
}

// Who asks for a list while changes are put down waits for that: it may have a result of which the store does not know yet.
func TestListCatchesUp(t *testing.T) {
	s := started(t, func(*store.Store, queue.Broker) {})
	underWay := make(chan struct{})
	if err := s.look(t.Context(), func(*state, time.Time) { s.tried = underWay }); err != nil {
		t.Fatal(err)
	}
	lists := map[string]func(context.Context) error{
		"jobs":    func(ctx context.Context) error { _, _, err := s.Jobs(ctx, store.Query{}); return err },
		"endings": func(ctx context.Context) error { _, err := s.Endings(ctx, 0, 0); return err },
	}
	for name, list := range lists {
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		if err := list(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s: got %v while it is under way", name, err)
		}
		cancel()
	}
	close(underWay)
	for name, list := range lists {
		if err := list(t.Context()); err != nil {
			t.Errorf("%s: got %v when it is down", name, err)
		}
	}
}
