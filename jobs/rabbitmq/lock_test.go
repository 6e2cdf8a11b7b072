package rabbitmq_test

import (
	"context"
	"errors"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"cancha/jobs/queue"
	"cancha/jobs/rabbitmq"
)

// deadline is for what a lock is waited for.
func deadline(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	t.Cleanup(cancel)
	return ctx
}

// locking waits until a lock is free, and takes it.
func locking(t *testing.T, b *rabbitmq.Broker, name string) queue.Lock {
	t.Helper()
	for ctx := deadline(t); ; time.Sleep(20 * time.Millisecond) {
		k, err := b.Lock(ctx, name)
		if err == nil {
			return k
		}
		if !errors.Is(err, queue.ErrHeld) {
			t.Fatal(err)
		}
	}
}

func refused(t *testing.T, b *rabbitmq.Broker, name string) {
	t.Helper()
	if k, err := b.Lock(deadline(t), name); !errors.Is(err, queue.ErrHeld) {
		t.Fatalf("got %v, %v; want ErrHeld", k, err)
	}
}

func waitLost(t *testing.T, k queue.Lock) {
	t.Helper()
	select {
	case <-k.Lost():
	case <-deadline(t).Done():
		t.Fatal("the lock is another one's, and its owner does not hear of it")
	}
}

// A lock is one connection's, until that gives it back, or dies.
func TestLock(t *testing.T) {
	address := server(t)
	a, b := dialed(t, address), dialed(t, address)
	k := locking(t, a, "lead")
	refused(t, a, "lead")
	refused(t, b, "lead")
	if err := locking(t, b, "another").Close(); err != nil {
		t.Error(err)
	}
	if err := k.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Lock(deadline(t), "lead"); err != nil { // at once
		t.Fatal(err)
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	locking(t, a, "lead")
}

// Who has a lock has it again when a connection comes back, before its consumers get anything; and hears of it where another one has it meanwhile.
func TestLockAway(t *testing.T) {
	address := server(t)
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	u.RawQuery = "heartbeat=1" // the server may take three of them to see that a connection is gone
	c := connectedTo(t, u.String())
	a, b := dialed(t, c.url), dialed(t, address)
	if _, err := a.Declare(t.Context(), queue.Spec{Name: "work", Shared: true}); err != nil {
		t.Fatal(err)
	}
	consumer, err := a.Consume(t.Context(), "work", 1)
	if err != nil {
		t.Fatal(err)
	}
	defer consumer.Close()
	k := locking(t, a, "lead")
	next := func(id string) {
		t.Helper()
		if err := b.Publish(t.Context(), "work", queue.Message{ID: id}); err != nil {
			t.Fatal(err)
		}
		d, err := consumer.Next(deadline(t))
		if err != nil || d.ID != id {
			t.Fatalf("got %+v, %v", d, err)
		}
		if err := d.Ack(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	c.Break(t)
	c.Mend(t)
	next("first") // which says that the connection is back
	refused(t, b, "lead")

	c.Break(t)
	other := locking(t, b, "lead")
	c.Mend(t)
	if err := b.Publish(t.Context(), "work", queue.Message{ID: "not for it"}); err != nil {
		t.Fatal(err)
	}
	waitNothing, cancel := context.WithTimeout(t.Context(), time.Second) // less than three heartbeats
	defer cancel()
	if d, err := consumer.Next(waitNothing); err == nil {
		t.Errorf("%s came to who does not lead", d.ID)
	}
	waitLost(t, k)
	if d, err := consumer.Next(deadline(t)); err != nil || d.ID != "not for it" { // without the lock it is a consumer as others
		t.Errorf("got %+v, %v", d, err)
	}
	if err := other.Close(); err != nil {
		t.Error(err)
	}
	locking(t, a, "lead")
}

// A lock whose queue is removed by hand is taken again, or its owner hears of it.
func TestLockRemoved(t *testing.T) {
	address := server(t)
	script := os.Getenv(envScript)
	if script == "" {
		t.Skip(envScript + " names no script that removes queues")
	}
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	a, b := dialed(t, address), dialed(t, address)
	k := locking(t, a, "lead")
	if out, err := exec.Command(script, "ctl", "delete_queue", "-p", strings.TrimPrefix(u.Path, "/"), "lead").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for ctx := deadline(t); ; {
		other, err := b.Lock(ctx, "lead")
		select {
		case <-k.Lost():
			if err != nil {
				t.Error("it was lost, and nobody else had it")
			}
			return
		default:
		}
		if err != nil { // the first one has it
			return
		}
		if err := other.Close(); err != nil {
			t.Error(err)
		}
	}
}
