package kernel

import (
	"context"
	"sync"
	"time"

	"cancha/internal/cellio"
	"cancha/kernel/wire"
)

// Jupyter Server counts what it passes from a kernel to a browser: messages on iopub (but status, execute_input and comm_open),
// and of streams their bytes, in a window of three seconds that an idle status empties. Above 1,000 messages or 1 MB a second it
// drops output, of any kind, until the rate has fallen below 80 %. (services/kernels/connection/channels.py, _limit_rate.)
// The limits here are below that: serverWindow is longer, for what is sent late and arrives early, and room is kept for what
// leaves without asking (the end of a cell, see cellio.Outlet, errors and replies of comms).
const (
	serverWindow   = 3500 * time.Millisecond
	serverMessages = 2_700     // of 3,000
	serverBytes    = 2_800_000 // of 3,000,000
)

// Once the limit has been met, output goes on evenly: paceStep of a window at a time, not a window full every three seconds.
const (
	paceStep   = serverWindow / 40
	paceMemory = time.Second           // nobody had to wait for so long: output may come at once again
	stampStep  = 50 * time.Millisecond // what is published so close together is forgotten together
)

// limiter knows how much of what front ends take is taken. All methods may be called from any goroutine.
type limiter struct {
	mu       sync.Mutex
	sent     []stamp // in the window, oldest first
	inWindow cellio.Credit
	kept     cellio.Credit // for what was acquired and has not come yet
	pacing   bool          // somebody has had to wait
	next     time.Time     // while pacing: not before
	pressed  time.Time     // when somebody waited last
	changed  chan struct{} // closed and replaced when there may be room
}

// stamp is what was published at about one time.
type stamp struct {
	at   time.Time
	what cellio.Credit
}

func newLimiter() *limiter { return &limiter{changed: make(chan struct{})} }

// count takes note of a published message: of its bytes only those of a stream count.
func (l *limiter) count(msgType string, m wire.Message) {
	bytes := 0
	switch msgType {
	case "status", "execute_input", "comm_open":
		return
	case "stream":
		bytes = len(m.RawHeader) + len(m.Parent) + len(m.Metadata) + len(m.Content)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	now, what := time.Now(), cellio.Credit{Messages: 1, Bytes: bytes}
	l.inWindow = l.inWindow.Add(what)
	if n := len(l.sent); n > 0 && now.Before(l.sent[n-1].at) {
		l.sent[n-1].what = l.sent[n-1].what.Add(what)
		return
	}
	l.sent = append(l.sent, stamp{now.Add(stampStep), what})
}

// idle forgets everything, as servers do at an idle status.
func (l *limiter) idle() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sent, l.inWindow, l.pacing = nil, cellio.Credit{}, false // what is kept is still to come
	l.signal()
}

func (l *limiter) signal() {
	close(l.changed)
	l.changed = make(chan struct{})
}

// Release gives back room that was kept.
func (l *limiter) Release(c cellio.Credit) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.kept = l.kept.Sub(c)
	l.signal()
}

// Acquire waits for room and keeps it: for some of all that is wanted, at most for all.
func (l *limiter) Acquire(ctx context.Context, want cellio.Credit) (cellio.Credit, error) {
	for waited := false; ; waited = true {
		got, wait, changed := l.try(want, time.Now(), waited)
		if got != (cellio.Credit{}) {
			return got, nil
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-changed:
			timer.Stop()
		case <-ctx.Done():
			timer.Stop()
			return cellio.Credit{}, ctx.Err()
		}
	}
}

// try keeps room if there is enough to be worth it, or tells how long to wait at most.
func (l *limiter) try(want cellio.Credit, now time.Time, waited bool) (got cellio.Credit, wait time.Duration, changed chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.expire(now)
	if waited {
		l.pressed = now
	}
	if l.pacing && now.Sub(l.pressed) > paceMemory && l.inWindow.Messages < serverMessages/2 && l.inWindow.Bytes < serverBytes/2 {
		l.pacing = false
	}
	if l.pacing {
		if wait := l.next.Sub(now); wait > 0 {
			return got, wait, l.changed
		}
		want = least(want, step())
	}
	free := cellio.Credit{Messages: serverMessages, Bytes: serverBytes}.Sub(l.inWindow).Sub(l.kept).Floor()
	got = least(want, free)
	if enough := least(want, step()); got.Messages < enough.Messages || got.Bytes < enough.Bytes {
		if len(l.sent) > 0 { // else what is missing was acquired by somebody who gives it back
			l.pacing = true
			wait = l.sent[0].at.Add(serverWindow).Sub(now)
		}
		return cellio.Credit{}, max(wait, stampStep), l.changed
	}
	l.kept = l.kept.Add(got)
	l.next = now.Add(lasts(got))
	return got, 0, nil
}

// expire forgets what has left the window.
func (l *limiter) expire(now time.Time) {
	for len(l.sent) > 0 && now.Sub(l.sent[0].at) >= serverWindow {
		l.inWindow = l.inWindow.Sub(l.sent[0].what)
		l.sent = l.sent[1:]
	}
}

func least(a, b cellio.Credit) cellio.Credit {
	return cellio.Credit{Messages: min(a.Messages, b.Messages), Bytes: min(a.Bytes, b.Bytes)}
}

// step is what may be published in a paceStep.
func step() cellio.Credit {
	return cellio.Credit{Messages: serverMessages * int(paceStep) / int(serverWindow), Bytes: serverBytes * int(paceStep) / int(serverWindow)}
}

// lasts is how long a pace takes to publish so much.
func lasts(c cellio.Credit) time.Duration {
	return max(serverWindow*time.Duration(c.Messages)/serverMessages, serverWindow*time.Duration(c.Bytes)/serverBytes)
}
