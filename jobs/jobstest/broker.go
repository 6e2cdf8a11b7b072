package jobstest

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"cancha/jobs/queue"
)

// Bench is a broker made for one test, or one that others use, too: the suite's names are used once.
type Bench interface {
	// Connect returns a connection that works; the test's clean-up closes it. Those of one bench are to the same broker, and one object may
	// be given more than once, where there is but one.
	Connect(t testing.TB) queue.Broker
}

// Breaker is what a bench can do beside, whose connections come back by themselves: Break cuts all of them off, and refuses new ones until Mend.
type Breaker interface {
	Break(t testing.TB)
	Mend(t testing.TB)
}

// Restarter is what a bench can do beside: Restart ends the broker as a kill does, and starts it again with what is durable.
type Restarter interface{ Restart(t testing.TB) }

// Fetcher is what a bench says of a broker that hands messages to consumers before they ask, and does not remember for sure which: one that
// was on its way to a consumer that ended counts as handed out, and after the broker's death so does each.
type Fetcher interface{ FetchesAhead() }

// patience is how long the suite waits for what must come; much longer than it takes on a busy machine.
const patience = 30 * time.Second

// moment is how long it waits for what must not come.
const moment = 150 * time.Millisecond

// TestBroker runs the suite, most of it in parallel. Open makes a bench, or gives one that all tests share; the test's clean-up takes it
// away. Lacks names tests that a broker cannot pass, with the reason.
func TestBroker(t *testing.T, open func(t *testing.T) Bench, lacks map[string]string) {
	for _, test := range []struct {
		name  string
		run   func(*env)
		alone bool // it counts goroutines, or does something to all connections
	}{
		{"fields", testFields, false},
		{"order", testOrder, false},
		{"priority", testPriority, false},
		{"prefetch", testPrefetch, false},
		{"ack", testAck, false},
		{"retry", testRetry, false},
		{"delivery limit", testLimit, false},
		{"dead letter", testDead, false},
		{"unknown queue", testUnknown, false},
		{"oversized body", testOversized, false},
		{"bad input", testBadInput, false},
		{"declare again", testDeclareAgain, false},
		{"close while consuming", testClose, true},
		{"stop", testStop, false},
		{"a context ends", testContext, false},
		{"many producers and consumers", testMany, false},
		{"a consumer dies", testDies, false},
		{"topic", testTopic, false},
		{"expires", testExpires, false},
		{"length", testLength, false},
		{"broken connection", testBroken, true},
		{"restart", testRestart, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			if why := lacks[test.name]; why != "" {
				t.Skip(why)
			}
			if !test.alone {
				t.Parallel()
			}
			bench := open(t)
			test.run(&env{T: t, bench: bench, broker: bench.Connect(t)})
		})
	}
}

// TestRestart is the part of the suite that kills the broker, for one that others do not use meanwhile: a bench that is a Restarter. In
// TestBroker it is skipped for other benches.
func TestRestart(t *testing.T, open func(t *testing.T) Bench) {
	bench := open(t)
	testRestart(&env{T: t, bench: bench, broker: bench.Connect(t)})
}

// env is what a test of the suite has at hand.
type env struct {
	*testing.T
	bench  Bench
	broker queue.Broker
}

// fresh is a name that no broker has met.
func fresh(name string) string { return "jobstest." + name + "." + strings.ToLower(rand.Text()[:12]) }

// declare makes a queue whose name is the Spec's and a part that is new, with dead letters of its own. It expires some time after the test.
func (e *env) declare(s queue.Spec) string {
	e.Helper()
	s.Name = fresh(s.Name)
	if s.Dead == "" {
		s.Dead = s.Name + ".dead"
	}
	if s.Expires == 0 {
		s.Expires = 10 * time.Minute
	}
	if notes, err := e.broker.Declare(e.Context(), s); err != nil || len(notes) > 0 {
		e.Fatalf("declare: %q, %v, want no notes", notes, err)
	}
	return s.Name
}

// publish publishes messages that are their own bodies.
func (e *env) publish(name string, bodies ...string) {
	e.Helper()
	var all []queue.Message
	for _, body := range bodies {
		all = append(all, queue.Message{ID: body, Body: []byte(body)})
	}
	if err := e.broker.Publish(e.Context(), name, all...); err != nil {
		e.Fatal(err)
	}
}

// consume begins to consume; the test's clean-up ends it.
func (e *env) consume(b queue.Broker, name string, prefetch int) queue.Consumer {
	e.Helper()
	c, err := b.Consume(e.Context(), name, prefetch)
	if err != nil {
		e.Fatal(err)
	}
	e.Cleanup(func() { _ = c.Close() }) // the broker may be closed by then
	return c
}

// next waits for a delivery.
func (e *env) next(c queue.Consumer) *queue.Delivery {
	e.Helper()
	ctx, cancel := context.WithTimeout(e.Context(), patience)
	defer cancel()
	d, err := c.Next(ctx)
	if err != nil {
		e.Fatalf("no message comes: %v", err)
	}
	return d
}

// nothing checks that no message comes, for a moment.
func (e *env) nothing(c queue.Consumer, why string) {
	e.Helper()
	ctx, cancel := context.WithTimeout(e.Context(), moment)
	defer cancel()
	if d, err := c.Next(ctx); err == nil {
		e.Fatalf("%s: got %q, want nothing", why, d.Body)
	} else if !errors.Is(err, context.DeadlineExceeded) {
		e.Fatalf("%s: got %v, want the context's error", why, err)
	}
}

// ack settles a delivery.
func (e *env) ack(d *queue.Delivery) {
	e.Helper()
	if err := d.Ack(e.Context()); err != nil {
		e.Fatal(err)
	}
}

// takes checks which messages come next, and settles them.
func (e *env) takes(c queue.Consumer, want ...string) {
	e.Helper()
	for i, body := range want {
		d := e.next(c)
		if string(d.Body) != body || d.ID != body {
			e.Fatalf("message %d: got %q with ID %q, want %q", i, d.Body, d.ID, body)
		}
		e.ack(d)
	}
}

// ready checks how many messages of a queue wait, which some brokers tell a little later.
func (e *env) ready(name string, want int) {
	e.Helper()
	var got queue.Info
	for deadline := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
		info, err := e.broker.Inspect(e.Context(), name)
		if err != nil {
			e.Fatal(err)
		}
		if got = info; got.Ready == want {
			return
		}
		if time.Now().After(deadline) {
			e.Fatalf("got %+v, want %d ready", got, want)
		}
	}
}

// numbered are n bodies that say which they are.
func numbered(n int) (all []string) {
	for i := range n {
		all = append(all, fmt.Sprintf("message %d", i))
	}
	return all
}
