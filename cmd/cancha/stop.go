//go:build !windows

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"sync"
)

// These are the reasons for which a user's ^C ended a run.
var (
	errOnce  = errors.New("ended by ^C between two cells")
	errTwice = errors.New("ended by a second ^C")
)

// stopper takes ^C for a run of notebooks: the first one for a cell interrupts it, another one, or one while no cell runs,
// ends the run.
type stopper struct {
	cancel  context.CancelCauseFunc
	out     io.Writer
	signals chan os.Signal
	ended   sync.WaitGroup

	mu        sync.Mutex
	interrupt func() // interrupts the running cell; nil without one
	asked     bool   // it has been interrupted
}

// newStopper takes ^C until close. The context ends when a user wants the run to end.
func newStopper(ctx context.Context, out io.Writer) (context.Context, *stopper) {
	ctx, cancel := context.WithCancelCause(ctx)
	s := &stopper{cancel: cancel, out: out, signals: make(chan os.Signal, 1)}
	signal.Notify(s.signals, os.Interrupt)
	s.ended.Go(func() {
		for range s.signals {
			s.stop()
		}
	})
	return ctx, s
}

func (s *stopper) close() {
	signal.Stop(s.signals)
	close(s.signals)
	s.cancel(nil)
	s.ended.Wait()
}

// running tells how to interrupt the cell that runs from now on; nil when it has ended.
func (s *stopper) running(interrupt func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.interrupt, s.asked = interrupt, false
}

func (s *stopper) stop() {
	s.mu.Lock()
	interrupt, again := s.interrupt, s.asked
	s.asked = true
	s.mu.Unlock()
	switch {
	case interrupt == nil:
		s.cancel(errOnce)
	case again:
		s.cancel(errTwice)
	default:
		fmt.Fprintln(s.out, "interrupting the cell; ^C again ends the run")
		interrupt()
	}
}
