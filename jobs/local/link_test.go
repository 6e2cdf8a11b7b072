package local

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"cancha/jobs/queue"
)

// answering is a connection whose other side does something about the first frame before its writer goes on.
type answering struct {
	net.Conn
	once *sync.Once // a frame is written in two parts
	do   func()
}

func (a answering) Write(b []byte) (int, error)        { a.once.Do(a.do); return len(b), nil }
func (a answering) SetWriteDeadline(_ time.Time) error { return nil }
func (a answering) Close() error                       { return nil }

// answered is a link on which the first call gets an answer, and then does something more.
func answered(answer *packet, more func(*link)) *link {
	l := &link{calls: map[uint64]chan *packet{}, dead: make(chan struct{})}
	l.out.conn = answering{once: new(sync.Once), do: func() { l.calls[1] <- answer; more(l) }}
	return l
}

// TestAnsweredThenGone: an answer counts that came before the connection ended. Without it what was published is published again.
func TestAnsweredThenGone(t *testing.T) {
	for range 50 { // who has two reasons to go on chooses by chance
		l := answered(&packet{Number: 7}, (*link).hangUp)
		if a, err := l.call(t.Context(), &packet{Op: opPublish}); err != nil || a.Number != 7 {
			t.Fatalf("got %+v, %v, want the answer", a, err)
		}
	}
}

// TestServerEnds: a server that ends gives calls up; who has made one waits for the next server, as after a broken connection.
func TestServerEnds(t *testing.T) {
	fault := &packet{Fault: faultOf(errors.Join(errCancelled, context.Canceled))}
	l := answered(fault, func(*link) {})
	if a, err := l.call(t.Context(), &packet{Op: opNext}); !errors.Is(err, errAway) {
		t.Errorf("got %+v, %v, want errAway", a, err)
	}
	select {
	case <-l.dead:
	default:
		t.Error("the connection is used further")
	}
	ctx, cancel := context.WithCancel(t.Context())
	if _, err := answered(fault, func(*link) { cancel() }).call(ctx, &packet{Op: opNext}); !errors.Is(err, context.Canceled) || errors.Is(err, errAway) {
		t.Errorf("given up by its caller: got %v", err)
	}
}

// TestUnsayable: what cannot be said ends the connection, so that nobody waits for it.
func TestUnsayable(t *testing.T) {
	here, there := net.Pipe()
	defer there.Close()
	if err := there.SetReadDeadline(time.Now().Add(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	p := &packet{}
	p.add(&queue.Message{}, &queue.Death{At: time.Date(10_000, 1, 1, 0, 0, 0, 0, time.UTC)})
	if err := (&wire{conn: here}).write(p); err == nil {
		t.Fatal("a time of the year 10,000 is JSON")
	}
	if _, err := there.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Errorf("got %v, want the end", err)
	}
}
