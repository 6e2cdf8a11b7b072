package spark

import (
	"context"
	"fmt"
	"html"
	"time"

	"cancha/internal/cellio"
	"cancha/runtime/display"
	"cancha/runtime/live"
)

// shownStages is what a cell shows of an operation that it waits for.
type shownStages struct {
	Stages
	took time.Duration // 0 while it runs
}

// MIMEBundle shows a bar, and words beside it.
func (s shownStages) MIMEBundle() map[string]any {
	done, all := s.Tasks()
	words := s.words()
	if s.took > 0 {
		words += fmt.Sprintf(" · ended after %.1f s", s.took.Seconds())
	}
	bar := fmt.Sprintf(`<progress value="%d" max="%d"></progress> `, done, max(all, 1))
	return display.Bundle{Data: map[string]any{"text/html": bar + html.EscapeString(words), "text/plain": words}}.MIMEBundle()
}

// watch returns the function that is told how far an operation has come, and the one that is called at its end. Where the configuration names
// none, a cell shows a bar: from the server's first word on, which comes after about two seconds.
func (s *Session) watch(ctx context.Context) (tell func(Stages), end func()) {
	if s.config.Progress != nil {
		return s.config.Progress, func() {}
	}
	if cellio.CurrentRun() == nil || ctx.Value(beside{}) != nil {
		return func(Stages) {}, func() {}
	}
	var frame *live.Frame
	var last Stages
	start := time.Now()
	tell = func(now Stages) {
		if frame == nil {
			frame = live.NewFrame()
		}
		last = now
		frame.Set(shownStages{now, 0})
	}
	return tell, func() {
		if frame != nil {
			frame.Set(shownStages{last, time.Since(start)})
			frame.Close()
		}
	}
}
