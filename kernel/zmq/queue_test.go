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
				q := newQueue(100_000)
				if ok, err := q.offer(message(90_000)); !ok || err != nil {
					t.Fatalf("an empty queue refused: %v, %v", ok, err)
				}
				stop := make(chan struct{})
				go func() {
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
				err := q.put(message(50_000), time.Second, 10_000)
				close(stop)
				if !errors.Is(err, c.want) {
					t.Errorf("got %v after %v, want %v", err, time.Since(began), c.want)
				}
			})
		})
	}
}

func TestQueueTakesOneMessageLargerThanItself(t *testing.T) {
	q := newQueue(1000)
	if ok, _ := q.offer(message(5000)); !ok {
		t.Error("an empty queue refused a large message")
	}
	if ok, _ := q.offer(message(1)); ok {
		t.Error("a full queue took another")
	}
	q.close(false)
	if _, err := q.offer(message(1)); !errors.Is(err, errPeerGone) {
		t.Errorf("a closed queue: got %v", err)
	}
	if items, ok := q.take(); !ok || len(items) != 1 {
		t.Errorf("a closed queue gave %d messages, %v; want what was in it", len(items), ok)
	}
	if _, ok := q.take(); ok {
		t.Error("a closed and empty queue gave something")
	}
}

func TestSizeIsWhatGoesOverTheWire(t *testing.T) {
	for _, c := range []struct {
		name string
		o    outgoing
		want int
	}{
		{"short frame", message(255), 257},
		{"long frame", message(256), 265},
		{"two frames", outgoing{frames: [][]byte{{1}, nil}}, 5},
		{"command", outgoing{command: "PONG", frames: [][]byte{[]byte("ctx")}}, 2 + 1 + 4 + 3},
	} {
		if got := c.o.size(); got != c.want {
			t.Errorf("%s: %d bytes, want %d", c.name, got, c.want)
		}
	}
}
