package rabbitmq

import (
	"context"
	"errors"
	"fmt"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"cancha/jobs/queue"
)

// lock is a queue that is exclusive to the connection that consumes, and goes with it: who dies holds nothing. All consumers of the broker
// are of that connection, too, and come back on the next one when the lock has (relock): so nothing is taken for its owner while another
// one may have it.
type lock struct {
	b    *Broker
	name string
	lost chan struct{}
	held *session // nil: not yet; guarded by the broker's mu
}

// Lock implements queue.Locker.
func (b *Broker) Lock(ctx context.Context, name string) (queue.Lock, error) {
	k, err := b.lock(ctx, name)
	if err != nil {
		return nil, fmt.Errorf("jobs/rabbitmq: lock %q: %w", name, err)
	}
	return k, nil
}

func (b *Broker) lock(ctx context.Context, name string) (*lock, error) {
	if err := queue.CheckName(name); err != nil {
		return nil, err
	}
	k := &lock{b: b, name: name, lost: make(chan struct{})}
	b.mu.Lock()
	there := b.locks[name] != nil // the server knows the connection alone
	if !there {
		b.locks[name] = k
	}
	b.mu.Unlock()
	if there {
		return nil, fmt.Errorf("%w: by this connection", queue.ErrHeld)
	}
	if err := k.first(ctx); err != nil {
		_ = k.Close()
		return nil, err
	}
	return k, nil
}

// first takes the lock, on another connection where one broke meanwhile.
func (k *lock) first(ctx context.Context) error {
	for {
		conn, err := k.b.consuming().get(ctx)
		if err != nil {
			return err
		}
		_, err = await(ctx, k.b, func() (struct{}, error) { return struct{}{}, k.take(conn) }, func(struct{}) { _ = k.Close() })
		switch {
		case err == nil && !conn.IsClosed(): // relock sees to it from now on
			return nil
		case locked(err):
			return fmt.Errorf("%w; the server's page names it as the owner of the queue %q", queue.ErrHeld, k.name)
		case ctx.Err() != nil, k.b.ctx.Err() != nil, final(err):
			return err
		}
		sleep(ctx, calm)
	}
}

func locked(err error) bool {
	var e *amqp.Error
	return errors.As(err, &e) && e.Code == amqp.ResourceLocked
}

// take takes the lock on one connection, once. One that was closed meanwhile is let go.
func (k *lock) take(conn *amqp.Connection) error {
	ch, err := conn.Channel()
	if err != nil {
		return err
	}
	if _, err := ch.QueueDeclare(k.name, false, false, true, false, amqp.Table{"x-queue-type": classic}); err != nil {
		return err // which has closed the channel
	}
	s, err := newSession(ch, k.name, true)
	if err != nil {
		return err
	}
	k.b.mu.Lock()
	wanted := k.b.locks[k.name] == k
	if wanted {
		k.held = s
	}
	k.b.mu.Unlock()
	if !wanted || !k.b.spawn(func() { k.watch(conn, s) }) {
		k.release(s)
	}
	return nil
}

// watch takes the lock again where its queue was removed by hand, or the channel broke alone. A connection that breaks is relock's.
func (k *lock) watch(conn *amqp.Connection, s *session) {
	for range s.deliveries { // nobody sends any
	}
	if conn.IsClosed() || !k.wanted() {
		return
	}
	if err := k.take(conn); err != nil && !conn.IsClosed() {
		k.lose(err)
	}
}

func (k *lock) wanted() bool {
	k.b.mu.Lock()
	defer k.b.mu.Unlock()
	return k.b.locks[k.name] == k
}

// lose tells the owner that the lock is another one's, or may be.
func (k *lock) lose(err error) {
	k.b.mu.Lock()
	had := k.b.locks[k.name] == k
	if had {
		delete(k.b.locks, k.name)
		close(k.lost)
	}
	k.b.mu.Unlock()
	if had {
		k.b.in.log("a lock is another one's", "name", k.name, "error", err)
	}
}

// relock takes the locks again that were held on the connection before, before anybody else has the new one. The server may not know yet
// that the one before is gone: it misses three heartbeats at most. Who has the lock after that is another one. The error is of the
// connection.
func (b *Broker) relock(conn *amqp.Connection) error {
	stop := context.AfterFunc(b.ctx, func() { _ = conn.CloseDeadline(time.Now().Add(goodbye)) })
	defer stop()
	until := time.Now().Add(max(3*conn.Config.Heartbeat, time.Second))
	for _, k := range b.allHeld() {
		if err := k.retake(conn, until); err != nil {
			return err
		}
	}
	return nil
}

func (b *Broker) allHeld() (all []*lock) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, k := range b.locks {
		if k.held != nil {
			all = append(all, k)
		}
	}
	return all
}

func (k *lock) retake(conn *amqp.Connection, until time.Time) error {
	for k.wanted() {
		err := k.take(conn)
		switch {
		case err == nil:
			return nil
		case conn.IsClosed():
			return err
		case !locked(err) || time.Now().After(until):
			k.lose(err)
			return nil
		}
		sleep(k.b.ctx, 10*calm)
	}
	return nil
}

// Lost implements queue.Lock.
func (k *lock) Lost() <-chan struct{} { return k.lost }

// Close implements queue.Lock.
func (k *lock) Close() error {
	k.b.mu.Lock()
	s := k.held
	mine := k.b.locks[k.name] == k
	if mine {
		delete(k.b.locks, k.name)
	}
	k.b.mu.Unlock()
	if mine && s != nil {
		k.release(s)
	}
	return nil
}

// release lets another one have the lock.
func (k *lock) release(s *session) {
	_, _ = s.ch.QueueDelete(k.name, false, false, false) // or the connection is away, and the queue with it
	s.close()
}
