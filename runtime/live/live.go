// Package live shows what changes while a cell runs: a progress bar, a frame whose content is replaced in place, a
// function called again and again. It decides when something is shown; how it looks is the display's business.
//
// Front ends choke on hundreds of updates a second, so an output changes at most four times a second, and its last state is
// always shown. Nothing here makes the caller wait. Outside a cell the text is printed, every five seconds at most.
package live

import (
	"context"
	"time"
)

// The most often an output changes in a notebook and on a terminal, and how long a progress bar waits before it appears:
// work that is over by then needs none.
const (
	paintEvery  = 250 * time.Millisecond
	printEvery  = 5 * time.Second
	firstPaint  = 200 * time.Millisecond
	defaultTick = 250 * time.Millisecond
)

// Every calls fn at once and then every interval until fn returns false or ctx ends. Calls never overlap; a call that takes
// longer than the interval delays the next. An interval of 0 or less is a quarter of a second. In a cell, take ctx from the
// session, so that an interrupt ends it.
func Every(ctx context.Context, interval time.Duration, fn func() (more bool)) {
	if interval <= 0 {
		interval = defaultTick
	}
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for ctx.Err() == nil && fn() {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}
