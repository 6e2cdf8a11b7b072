package spark

import (
	"context"
	"fmt"
	"time"

	"cancha/internal/cellio"
	inplace "cancha/runtime/live" // the tests have a function live
)

// barAfter is how long an operation runs without a bar.
const barAfter = time.Second

// bar shows how far an operation has come, below the cell that waits for it.
type bar struct {
	begun time.Time
	frame *inplace.Frame // nil while nothing is shown
	last  Stages
}

// progress is who is told how far an operation has come, and of its end: watched, and Config.Progress, or else a bar in a cell.
func (s *Session) progress(ctx context.Context) (tell func(Stages), end func()) {
	show, end := s.config.Progress, func() {}
	if b := s.newBar(ctx); b != nil {
		show, end = b.tell, b.end
	}
	return func(now Stages) {
		for _, f := range []func(Stages){s.watched, show} {
			if f != nil {
				f(now)
			}
		}
	}, end
}

// newBar returns the bar of what begins now; nil: there is no cell that waits, or Config.Progress is told.
func (s *Session) newBar(ctx context.Context) *bar {
	if s.config.Progress != nil || cellio.CurrentRun() == nil || ctx.Value(besideCells{}) != nil {
		return nil
	}
	return &bar{begun: time.Now()}
}

func (b *bar) tell(p Stages) {
	b.last = p
	if _, all := p.Tasks(); all == 0 || time.Since(b.begun) < barAfter {
		return
	}
	if b.frame == nil {
		b.frame = inplace.NewFrame()
	}
	b.frame.Set(sentence("Spark " + p.String()))
}

// end leaves a line behind where there was a bar.
func (b *bar) end() {
	if b.frame == nil {
		return
	}
	done, _ := b.last.Tasks()
	b.frame.Set(sentence(fmt.Sprintf("Spark: %d tasks in %.0f s%s", done, time.Since(b.begun).Seconds(), b.last.again())))
	b.frame.Close()
}
