package spark

import (
	"context"
	"strings"
	"sync"
	"testing"

	"cancha/internal/cellio"
	"cancha/spark/internal/connect/connecttest"
	"cancha/spark/internal/protocol"
)

// inCell runs f in a cell and returns what it has sent.
func inCell(t *testing.T, f func(run *cellio.Run)) string {
	t.Helper()
	var mu sync.Mutex
	var sent strings.Builder
	out := cellio.NewOutlet(func(f cellio.Frame) error {
		mu.Lock()
		defer mu.Unlock()
		sent.Write(f.Body)
		return nil
	})
	cellio.Attach(out)
	defer cellio.Attach(nil)
	run := cellio.NewAside(1) // no other test runs in it
	run.Do(func() { f(run) })
	out.Close()
	return sent.String()
}

// TestBar: a cell that waits for the server shows how far that is, and at the end how long it took.
func TestBar(t *testing.T) {
	s := start(t, Config{}, connecttest.Config{}, func(ctx context.Context, p *protocol.Plan, send func(*protocol.ExecuteResponse)) error {
		send(&protocol.ExecuteResponse{Of: &protocol.ExecuteResponse_Progress{Progress: &protocol.Progress{RunningTasks: 2,
			Stages: []*protocol.Progress_Stage{{Id: 1, Tasks: 4, DoneTasks: 3}}}}})
		return counting(t, 1)(ctx, p, send)
	})
	sent := inCell(t, func(*cellio.Run) {
		if _, err := s.Range(0, 1).Collect(t.Context()); err != nil {
			t.Error(err)
		}
	})
	for _, want := range []string{"3 of 4 tasks, 2 running · ended after 0.", `value=\"3\" max=\"4\"`} {
		if !strings.Contains(strings.ReplaceAll(strings.ReplaceAll(sent, `\u003c`, "<"), `\u003e`, ">"), want) {
			t.Errorf("%q is not in what the cell shows:\n%s", want, sent)
		}
	}
}

// TestInterruptWithin: an interrupt of the cell ends what waits with a context that never ends.
func TestInterruptWithin(t *testing.T) {
	asked := make(chan struct{})
	s := start(t, Config{}, connecttest.Config{}, func(ctx context.Context, _ *protocol.Plan, _ func(*protocol.ExecuteResponse)) error {
		close(asked)
		<-ctx.Done()
		return ctx.Err()
	})
	inCell(t, func(run *cellio.Run) {
		go func() { <-asked; run.Interrupt() }()
		if _, err := s.Range(0, 1).Collect(context.Background()); err == nil || !strings.Contains(err.Error(), "interrupt") {
			t.Errorf("got %v, want that it was interrupted", err)
		}
	})
}
