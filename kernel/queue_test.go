package kernel

import (
	"testing"
	"testing/synctest"
	"time"

	"cancha/kernel/wire"
)

func requestOf(msgType string, size int) *request {
	return &request{Message: wire.Message{Header: wire.Header{Type: msgType}, Content: make([]byte, size)}}
}

// TestAbortReachesWhatIsOnItsWay has cells come a millisecond apart while one of them fails at once, and one after a pause.
func TestAbortReachesWhatIsOnItsWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newRequestQueue()
		go func() {
			for range 5 {
				time.Sleep(time.Millisecond)
				q.push(requestOf("execute_request", 0), true)
			}
			q.push(requestOf("complete_request", 0), true)
			time.Sleep(time.Second)
			q.push(requestOf("execute_request", 0), true)
		}()
		q.abort()
		var got []bool
		for range 7 {
			r, _ := q.pop()
			got = append(got, r.aborted)
		}
		for i, want := range []bool{true, true, true, true, true, false, false} {
			if got[i] != want {
				t.Errorf("request %d: aborted is %v, want %v", i, got[i], want)
			}
		}
	})
}

// TestAbortEnds: who goes on sending does not keep a failed cell from its reply.
func TestAbortEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newRequestQueue()
		stop := make(chan struct{})
		go func() {
			for {
				select {
				case <-stop:
					return
				case <-time.After(time.Millisecond):
					q.push(requestOf("comm_msg", 0), true)
				}
			}
		}()
		began := time.Now()
		q.abort()
		if took := time.Since(began); took > 60*time.Millisecond {
			t.Errorf("it took %v", took)
		}
		close(stop)
	})
}

func TestQueueIsBoundedInBytes(t *testing.T) {
	q := newRequestQueue()
	for range 10_000 {
		if !q.push(requestOf("comm_msg", 0), false) {
			t.Fatal("a small request was refused")
		}
	}
	if q.push(requestOf("comm_msg", queueLimit), false) {
		t.Error("a request that does not fit was taken")
	}
	for range 10_000 {
		q.pop()
	}
	if q.bytes != 0 {
		t.Errorf("an empty queue counts %d bytes", q.bytes)
	}
	if !q.push(requestOf("comm_msg", queueLimit), false) {
		t.Error("an empty queue refuses a large request")
	}
	waited := make(chan bool)
	go func() { waited <- q.push(requestOf("comm_msg", 0), true) }()
	q.pop()
	if !<-waited {
		t.Error("who waited for room was refused")
	}
}
