package zmq

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

func message(size int) outgoing { return outgoing{frames: [][]byte{make([]byte, size)}} }

// TestQueueJudgesBySpeed has a full queue whose peer takes so many bytes ten times a second.
func TestQueueJudgesBySpeed(t *testing.T) {
	for _, c := range []struct {
		name  string
		taken int // bytes in a tenth of a second
		want  error
	}{
		{"a peer that stands still is stalled", 0, errStalled},
		{"one that trickles is stalled", 10, errStalled},
		{"one that is slow but moves is waited for", 2000, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				stalled := make(chan struct{}, 1)
				q := newQueue(0, 100_000, time.Second, 10_000, func() { stalled <- struct{}{} })
				for range 3 {
					if err := q.put(message(90_000)); err != nil {
						t.Fatal(err)
					}
				}
				stop, stopped := make(chan struct{}), make(chan struct{})
				go func() {
					defer close(stopped)
					for {
						select {
						case <-stop:
							return
						case <-time.After(100 * time.Millisecond):
							q.wrote(c.taken)
						}
					}
				}()
				began := time.Now()
				err := q.room(50_000, nil)
				if !errors.Is(err, c.want) {
					t.Errorf("waiting for room: got %v after %v, want %v", err, time.Since(began), c.want)
				}
				synctest.Wait()
				if got := len(stalled) == 1; got != (c.want != nil) {
					t.Errorf("after %v the watch says stalled: %v", time.Since(began), got)
				}
				close(stop)
				<-stopped
				q.close(true)
			})
		})
	}
}

func TestQueueEndsSomewhere(t *testing.T) {
	q := newQueue(0, 1000, time.Hour, 1, func() {})
	for i, c := range []struct {
		size int
		want error
	}{
		{5000, nil}, {1000, nil}, {1000, nil}, {1, errStalled},
	} {
		if err := q.put(message(c.size)); !errors.Is(err, c.want) {
			t.Errorf("message %d of %d bytes: got %v, want %v", i, c.size, err, c.want)
		}
	}
	q.close(false)
	if err := q.put(message(1)); !errors.Is(err, errPeerGone) {
		t.Errorf("a closed queue: got %v", err)
	}
	if items, ok := q.take(); !ok || len(items) != 3 {
		t.Errorf("a closed queue gave %d messages, %v; want what was in it", len(items), ok)
	}
	if _, ok := q.take(); ok {
		t.Error("a closed and empty queue gave something")
	}
}

// TestOneLargeMessageTakesItsTime has a peer that is slow, and no more waiting than one message over the limit.
func TestOneLargeMessageTakesItsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(0, 100_000, time.Second, 10_000, func() { t.Error("the peer was found stalled") })
		if err := q.put(message(150_000)); err != nil {
			t.Fatal(err)
		}
		for range 150 {
			time.Sleep(time.Second)
			q.wrote(1000)
		}
		q.close(true)
	})
}

// TestSmallMessagesCostTheirMemory has messages that are nearly nothing on the wire.
func TestSmallMessagesCostTheirMemory(t *testing.T) {
	const limit = 1 << 20
	q := newQueue(0, limit, time.Hour, 1, func() {})
	n := 0
	for q.put(outgoing{frames: [][]byte{nil, nil}}) == nil {
		n++
	}
	if most := 2*limit/192 + 2; n < 1000 || n > most {
		t.Errorf("%d empty messages wait below a limit of 2 * %d bytes, want 1000 to %d", n, limit, most)
	}
	items, _ := q.take()
	for _, o := range items {
		q.begun(o)
		q.wrote(o.size(0))
	}
	if q.waiting != 0 {
		t.Errorf("%d bytes wait after all was written", q.waiting)
	}
}

func TestSizeIsWhatGoesOverTheWire(t *testing.T) {
	for _, c := range []struct {
		name     string
		perFrame int
		o        outgoing
		want     int
	}{
		{"short frame", 0, message(255), 257},
		{"long frame", 0, message(256), 265},
		{"two frames", 0, outgoing{frames: [][]byte{{1}, nil}}, 5},
		{"command", 0, outgoing{command: "PONG", frames: [][]byte{[]byte("ctx")}}, 2 + 1 + 4 + 3},
		{"short frame in a box", 33, message(222), 257},
		{"long frame in a box", 33, message(223), 265},
		{"two frames in boxes", 33, outgoing{frames: [][]byte{{1}, nil}}, 5 + 66},
	} {
		if got := c.o.size(c.perFrame); got != c.want {
			t.Errorf("%s: %d bytes, want %d", c.name, got, c.want)
		}
	}
}
