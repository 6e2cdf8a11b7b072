package client

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// slow is a connection on which a message is on its way.
type slow struct {
	Conn
	begin time.Time
	whole time.Duration
}

func (s slow) Arrived() int64 { return int64(min(time.Since(s.begin), s.whole) / time.Second) }

// bytesCame is a connection that is told what has come.
type bytesCame struct {
	Conn
	n atomic.Int64
}

func (b *bytesCame) Arrived() int64 { return b.n.Load() }

// TestLargeOutputIsWaitedFor has a display that takes a minute come after the reply, and be taken in for another minute.
func TestLargeOutputIsWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		iopub := &line{Conn: slow{begin: time.Now(), whole: time.Minute}, ended: make(chan struct{})}
		c, p := &Client{iopub: iopub}, newPending(nil)
		time.AfterFunc(time.Minute, func() { iopub.taken.Add(1) })
		time.AfterFunc(2*time.Minute, func() { close(p.idle) })
		if err := c.settle(t.Context(), p, idleLimit); err != nil {
			t.Error(err)
		}
	})
}

// TestNextLargeOutputIsWaitedFor has a display come that begins soon after another one was taken in, and takes a minute.
func TestNextLargeOutputIsWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		iopub := &line{Conn: slow{begin: time.Now(), whole: time.Minute}, ended: make(chan struct{})}
		c, p := &Client{iopub: iopub}, newPending(nil)
		time.AfterFunc(idleLimit/2, func() { iopub.take(func() {}) })
		time.AfterFunc(61*time.Second, func() { iopub.take(func() { close(p.idle) }) })
		if err := c.settle(t.Context(), p, idleLimit); err != nil {
			t.Error(err)
		}
	})
}

// TestOthersOutputIsNotWaitedFor has messages come all the time, none for the request.
func TestOthersOutputIsNotWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		came := &bytesCame{}
		iopub := &line{Conn: came, ended: make(chan struct{})}
		over, stop := context.WithCancel(t.Context())
		defer stop()
		go func() {
			tick := time.NewTicker(time.Second)
			defer tick.Stop()
			for {
				select {
				case <-tick.C:
					came.n.Add(100)
					iopub.take(func() {})
				case <-over.Done():
					return
				}
			}
		}()
		if err := (&Client{iopub: iopub}).settle(t.Context(), newPending(nil), idleLimit); !errors.Is(err, errNoIdle) {
			t.Errorf("got %v, want errNoIdle", err)
		}
	})
}

func TestKernelWithoutAnIdleIsNotWaitedForLonger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &Client{iopub: &line{Conn: slow{begin: time.Now(), whole: time.Minute}, ended: make(chan struct{})}}
		begin := time.Now()
		if err := c.settle(context.Background(), newPending(nil), idleLimit); !errors.Is(err, errNoIdle) {
			t.Errorf("got %v, want errNoIdle", err)
		}
		if took := time.Since(begin); took > time.Minute+2*idleLimit {
			t.Errorf("it took %v", took)
		}
	})
}
