package replay

import (
	"context"
	"time"
)

// pacer spreads events evenly over time. The zero rate does not wait.
type pacer struct {
	interval float64 // nanoseconds an event
	begun    time.Time
	n        float64 // events since begun
}

// maxDebt is how far a pacer may be behind before it forgives: after a pause of the broker events go on at the rate, and not
// in a burst of all that were missed.
const maxDebt = time.Second

// minSleep is the least worth a system call; a thousand events a second and more come in groups.
const minSleep = time.Millisecond

func newPacer(rate float64) *pacer {
	if rate == 0 {
		return &pacer{}
	}
	return &pacer{interval: float64(time.Second) / rate}
}

// wait waits until the next event is due, or ctx ends.
func (p *pacer) wait(ctx context.Context) error {
	if p.interval == 0 || ctx.Err() != nil {
		return ctx.Err()
	}
	now := time.Now()
	if p.begun.IsZero() {
		p.begun = now
	}
	due := p.begun.Add(time.Duration(p.n * p.interval))
	p.n++
	switch ahead := due.Sub(now); {
	case ahead < -maxDebt:
		p.begun, p.n = now, 1
	case ahead >= minSleep:
		timer := time.NewTimer(ahead)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}
