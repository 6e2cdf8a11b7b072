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

// progress is who is told how far an operation has come, and of its end: Config.Progress, or else a bar in a cell, or nobody.
func (s *Session) progress(ctx context.Context) (tell func(Stages), end func()) {
	if s.config.Progress != nil {
		return s.config.Progress, func() {}
	}
	if cellio.CurrentRun() == nil || ctx.Value(besideCells{}) != nil {
		return nil, func() {}
	}
	b := &bar{begun: time.Now()}
	return b.tell, b.end
}

func (b *bar) tell(p Stages) {
	b.last = p
	if time.Since(b.begun) < barAfter {
		return
	}
	if b.frame == nil {
		b.frame = inplace.NewFrame()
	}
	b.frame.Set("Spark " + p.String())
}

// end leaves a line behind where there was a bar.
func (b *bar) end() {
	if b.frame == nil {
		return
	}
	done, _ := b.last.Tasks()
	b.frame.Set(fmt.Sprintf("Spark: %d tasks in %.0f s%s", done, time.Since(b.begun).Seconds(), b.last.again()))
	b.frame.Close()
}
