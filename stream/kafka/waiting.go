package kafka

import (
	"fmt"
	"sync"
	"time"

	"cancha/internal/cellio"
)

// What a cell that waits for brokers is told: nothing of an outage that is soon over, and then not every try.
const (
	tellAfter = 2 * time.Second
	tellEvery = 15 * time.Second
)

// waiting tells the cell why its brokers cannot be reached, for a configuration that names nobody else. It is used by many goroutines.
type waiting struct {
	mu    sync.Mutex
	since time.Time // of the first try that failed
	next  time.Time // when there is something to be said again
}

// retry returns who is told of tries that failed: whom the configuration names, else the cell, if there is one.
func retry(named func(error)) func(error) {
	if named != nil || cellio.CurrentRun() == nil {
		return named
	}
	return (&waiting{}).tell
}

func (w *waiting) tell(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := time.Now()
	if w.since.IsZero() || now.Sub(w.next) > tellEvery { // another outage
		w.since, w.next = now, now.Add(tellAfter)
	}
	if now.Before(w.next) {
		return
	}
	w.next = now.Add(tellEvery)
	fmt.Fprintf(cellio.Stderr, "kafka: still trying, for %d s by now: %v\n", int(now.Sub(w.since).Seconds()), err)
}
