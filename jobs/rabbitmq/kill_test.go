package rabbitmq_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"cancha/jobs/queue"
)

// testKills: of what was confirmed nothing is lost while a server is killed again and again in the midst of it, whether it is taken, tried
// again, tried later or made a dead letter; and those who publish and take go on when it is back.
func testKills(t *testing.T, n *node) {
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	k := &kills{T: t, ctx: ctx, broker: dialed(t, n.address), taken: map[string]int{}}
	for _, s := range []queue.Spec{{Name: "plain", Shared: true}, {Name: "priority", Priorities: true, MaxDeliveries: 20},
		{Name: "quorum", MaxDeliveries: 20}} {
		if notes, err := k.broker.Declare(ctx, s); err != nil || len(notes) > 0 {
			t.Fatal(notes, err)
		}
		k.queues = append(k.queues, s.Name)
	}
	k.queues = append(k.queues, queue.DeadLetters)
	publishing, stop := context.WithCancel(ctx)
	var producers, consumers sync.WaitGroup
	for i, name := range k.queues[:3] {
		producers.Go(func() { k.produce(publishing, name, i) })
	}
	taking, end := context.WithCancel(ctx)
	for _, name := range k.queues {
		consumers.Go(func() { k.consume(taking, name) })
	}
	for range 3 {
		time.Sleep(4500*time.Millisecond + rand.N(1500*time.Millisecond)) // no order: the kill is to come at any moment
		n.do(t, "kill")
		n.do(t, "start")
	}
	stop()
	producers.Wait()
	for left := ""; ctx.Err() == nil; time.Sleep(20 * time.Millisecond) {
		if left = k.missing(); left == "" {
			break
		}
		if ctx.Err() != nil {
			t.Error(left)
		}
	}
	end()
	consumers.Wait()
	if left := k.missing(); left != "" {
		t.Error(left)
	}
	t.Logf("%d were published, %d taken, %d more than once", len(k.published), len(k.taken), k.again)
}

type kills struct {
	*testing.T
	ctx    context.Context
	broker queue.Broker
	queues []string

	mu        sync.Mutex
	published []string
	taken     map[string]int // acknowledged as done
	again     int
}

// produce publishes one message after the other, and notes those that are confirmed.
func (k *kills) produce(ctx context.Context, name string, seed int) {
	for i := 0; ctx.Err() == nil; i++ {
		id := fmt.Sprintf("%s %d", name, i)
		err := k.broker.Publish(ctx, name, queue.Message{ID: id, Body: []byte(id), Priority: i % (queue.MaxPriority + 1)})
		switch {
		case err == nil:
			k.mu.Lock()
			k.published = append(k.published, id)
			k.mu.Unlock()
		case ctx.Err() == nil:
			k.Errorf("publish to %s: %v", name, err)
			return
		}
	}
}

// consume does something else with each of four messages that come for the first time, and is done with those that come again.
func (k *kills) consume(ctx context.Context, name string) {
	c, err := k.broker.Consume(ctx, name, 8)
	if err != nil {
		k.Error(err)
		return
	}
	defer c.Close()
	for i := 0; ; i++ {
		d, err := c.Next(ctx)
		if err != nil {
			if ctx.Err() == nil {
				k.Errorf("consume %s: %v", name, err)
			}
			return
		}
		done := d.Count > 1 || d.Death != nil
		switch {
		case done || i%4 == 0:
			err, done = d.Ack(ctx), true
		case i%4 == 1:
			err = d.Retry(ctx, 0)
		case i%4 == 2:
			err = d.Retry(ctx, time.Second)
		default:
			err = d.Dead(ctx, "why not")
		}
		if err == nil && done {
			k.mu.Lock()
			if k.taken[d.ID]++; k.taken[d.ID] == 2 {
				k.again++
			}
			k.mu.Unlock()
		}
		if err != nil && ctx.Err() == nil && !errors.Is(err, queue.ErrLost) {
			k.Errorf("settle a message of %s: %v", name, err)
		}
	}
}

// missing tells what was confirmed and has not been taken yet.
func (k *kills) missing() string {
	k.mu.Lock()
	defer k.mu.Unlock()
	n, one := 0, ""
	for _, id := range k.published {
		if k.taken[id] == 0 {
			n, one = n+1, id
		}
	}
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("%d of %d are lost, such as %q", n, len(k.published), one)
}
