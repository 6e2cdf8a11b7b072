package scheduler

import (
	"context"
	"errors"
	"testing"

	"cancha/jobs/queue"
)

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
