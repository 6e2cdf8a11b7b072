package primitive

import (
	"context"
	"fmt"
	"testing"

	"cancha/internal/cellio"
)

// TestFailureOfAnInterrupted: what a library answers with when an interrupt has ended its call is told as any error is.
func TestFailureOfAnInterrupted(t *testing.T) {
	t.Cleanup(func() { cellio.NewRun(2) }) // the latest run, to which the goroutines of other tests belong, is not interrupted
	m, run := New(Config{}), cellio.NewRun(1)
	run.Interrupt()
	m.Interrupt(run)
	p, _, _ := m.Do(run, func() { m.Fail(fmt.Errorf("spark: stopped: %w", context.Cause(run.Context()))) })
	if text, _, ok := m.Failure(p); !ok || text != "spark: stopped: interrupted" {
		t.Errorf("got %q, %v", text, ok)
	}
}
