package jobstest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"cancha/jobs/queue"
)

// testClose: who waits is told, on each floor, and nothing runs on.
func testClose(e *env) {
	before := runtime.NumGoroutine()
	name := e.declare(queue.Spec{Name: "close"})
	topic := fresh("topic")
	b := e.bench.Connect(e)
	one, two := e.consume(b, name, 1), e.consume(b, name, 1)
	l, err := b.Listen(e.Context(), topic)
	if err != nil {
		e.Fatal(err)
	}
	waiting := make(chan error, 3)
	wait := func(next func(context.Context) error) { go func() { waiting <- next(e.Context()) }() }
	wait(func(ctx context.Context) error { _, err := one.Next(ctx); return err })
	e.ended(waiting, "Consumer.Close", one.Close)
	wait(func(ctx context.Context) error { _, err := two.Next(ctx); return err })
	wait(func(ctx context.Context) error { _, err := l.Next(ctx); return err })
	e.ended(waiting, "Broker.Close", b.Close)
	e.ended(waiting, "Broker.Close", b.Close) // again: it is no error
	_, declare := b.Declare(e.Context(), queue.Spec{Name: name})
	_, consume := b.Consume(e.Context(), name, 1)
	_, listen := b.Listen(e.Context(), topic)
	_, inspect := b.Inspect(e.Context(), name)
	_, nextOne := one.Next(e.Context())
	_, nextTwo := two.Next(e.Context())
	_, heard := l.Next(e.Context())
	for what, err := range map[string]error{"publish": b.Publish(e.Context(), name, queue.Message{}), "declare": declare, "consume": consume, "listen": listen,
		"inspect": inspect, "next": nextOne, "next of the other": nextTwo, "hear": heard, "announce": b.Announce(e.Context(), topic, queue.Message{})} {
		if !errors.Is(err, queue.ErrClosed) {
			e.Errorf("%s: got %v, want ErrClosed", what, err)
		}
	}
	if err := errors.Join(one.Close(), two.Close(), l.Close()); err != nil {
		e.Errorf("closed twice: %v", err)
	}
	if b == e.broker { // nothing of it may run any more; another connection's goroutines do
		for deadline := time.Now().Add(patience); runtime.NumGoroutine() >= before; time.Sleep(5 * time.Millisecond) {
			if time.Now().After(deadline) {
				stacks := make([]byte, 1<<16)
				e.Fatalf("got %d goroutines, want fewer than %d:\n%s", runtime.NumGoroutine(), before, stacks[:runtime.Stack(stacks, true)])
			}
		}
	}
}

// ended closes something, and checks what who waits for a message is told.
func (e *env) ended(waiting chan error, what string, end func() error) {
	e.Helper()
	if err := end(); err != nil {
		e.Errorf("%s: %v", what, err)
	}
	select {
	case err := <-waiting:
		if !errors.Is(err, queue.ErrClosed) {
			e.Errorf("%s: who waits gets %v, want ErrClosed", what, err)
		}
	case <-time.After(patience):
		e.Fatalf("%s: who waits goes on waiting", what)
	}
}

// testStop: a consumer that has stopped gets nothing more, may settle what it has, and keeps nothing from others.
func testStop(e *env) {
	name := e.declare(queue.Spec{Name: "stop"})
	e.publish(name, numbered(4)...)
	c := e.consume(e.broker, name, 3)
	d := e.next(c)
	c.Stop()
	c.Stop()
	if _, err := c.Next(e.Context()); !errors.Is(err, queue.ErrClosed) {
		e.Errorf("Next after Stop: %v, want ErrClosed", err)
	}
	other := e.consume(e.broker, name, 3)
	seen := map[string]bool{}
	for range 3 {
		d := e.next(other)
		seen[d.ID] = true
		e.ack(d)
	}
	if !seen["message 1"] || !seen["message 2"] || !seen["message 3"] {
		e.Errorf("another consumer got %v, want all but the first", seen)
	}
	e.ack(d)
	if err := c.Close(); err != nil {
		e.Error(err)
	}
	e.nothing(other, "all are settled")
}

// testDies: what a consumer has in hand when it ends comes again, to another one, and it cannot settle it any more.
func testDies(e *env) {
	name := e.declare(queue.Spec{Name: "dies"})
	for what, end := range map[string]func(b queue.Broker, c queue.Consumer) error{
		"its consumer": func(_ queue.Broker, c queue.Consumer) error { return c.Close() },
		"its connection": func(b queue.Broker, c queue.Consumer) error {
			if b == e.broker {
				return c.Close() // there is but one
			}
			return b.Close()
		},
	} {
		e.publish(name, what+" 1", what+" 2", what+" 3")
		b := e.bench.Connect(e)
		c := e.consume(b, name, 3)
		one, two := e.next(c), e.next(c)
		e.ack(one)
		if err := end(b, c); err != nil {
			e.Fatal(err)
		}
		if err := two.Ack(e.Context()); !errors.Is(err, queue.ErrLost) && !errors.Is(err, queue.ErrClosed) {
			e.Errorf("%s ended: Ack: got %v, want ErrLost", what, err)
		}
		counts := map[string]int{}
		other := e.consume(e.broker, name, 3)
		for range 2 {
			d := e.next(other)
			counts[d.ID] = d.Count
			e.ack(d)
		}
		if counts[what+" 2"] < 2 || counts[what+" 3"] < 1 {
			e.Errorf("%s ended: counts are %v, want the second and the third message, the second not for the first time", what, counts)
		}
		e.nothing(other, "all are settled")
		if err := other.Close(); err != nil {
			e.Error(err)
		}
	}
}

// testMany: of many producers and consumers at once each message gets through, once, since nobody dies.
func testMany(e *env) {
	const producers, consumers, each = 8, 6, 150
	name := e.declare(queue.Spec{Name: "many"})
	var all sync.WaitGroup
	for p := range producers {
		b := e.bench.Connect(e)
		all.Go(func() {
			for i := range each {
				body := fmt.Sprintf("%d/%d", p, i)
				if err := b.Publish(e.Context(), name, queue.Message{ID: body, Body: []byte(body)}); err != nil {
					e.Error(err)
					return
				}
			}
		})
	}
	ctx, stop := context.WithTimeout(e.Context(), patience)
	defer stop()
	got := newTally()
	for range consumers {
		c := e.consume(e.bench.Connect(e), name, 10)
		for range 3 {
			all.Go(func() {
				for {
					d, err := c.Next(ctx)
					if err != nil {
						if ctx.Err() == nil {
							e.Error(err)
						}
						return
					}
					if err := d.Ack(e.Context()); err != nil {
						e.Error(err)
						return
					}
					if got.add(d.ID) == producers*each {
						stop()
					}
				}
			})
		}
	}
	all.Wait()
	if n, twice := got.add(""), got.twice; n != producers*each || len(twice) > 0 {
		e.Errorf("%d messages came, want %d; twice: %q", n, producers*each, twice)
	}
	e.ready(name, 0)
}

// tally counts messages by their IDs.
type tally struct {
	mu    sync.Mutex
	seen  map[string]bool
	twice []string
}

func newTally() *tally { return &tally{seen: map[string]bool{}} }

// add returns how many different ones there are.
func (t *tally) add(id string) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.seen[id] {
		t.twice = append(t.twice, id)
	}
	if id != "" {
		t.seen[id] = true
	}
	return len(t.seen)
}

// testTopic: all who listen hear all that is announced from then on, in its order, and nobody else does.
func testTopic(e *env) {
	topic, other := fresh("topic"), fresh("topic")
	say := func(topic, text string) {
		e.Helper()
		if err := e.broker.Announce(e.Context(), topic, queue.Message{ID: text, Body: []byte(text), Headers: map[string]string{"of": topic}}); err != nil {
			e.Fatal(err)
		}
	}
	say(topic, "nobody listens")
	var listeners []queue.Listener
	for range 3 {
		l, err := e.bench.Connect(e).Listen(e.Context(), topic)
		if err != nil {
			e.Fatal(err)
		}
		e.Cleanup(func() { _ = l.Close() })
		listeners = append(listeners, l)
	}
	all := numbered(20)
	for _, text := range all {
		say(topic, text)
		say(other, "elsewhere")
	}
	ctx, cancel := context.WithTimeout(e.Context(), patience)
	defer cancel()
	for i, l := range listeners {
		for _, want := range all {
			if m, err := l.Next(ctx); err != nil || m.ID != want || string(m.Body) != want || m.Headers["of"] != topic {
				e.Fatalf("listener %d: got %+v, %v, want %q", i, m, err, want)
			}
		}
		if err := l.Close(); err != nil {
			e.Error(err)
		}
		if _, err := l.Next(e.Context()); !errors.Is(err, queue.ErrClosed) {
			e.Errorf("Next after Close: %v, want ErrClosed", err)
		}
	}
	for _, name := range []string{"", "amq.mine"} {
		if _, err := e.broker.Listen(e.Context(), name); !errors.Is(err, queue.ErrInvalid) {
			e.Errorf("a topic %q: %v, want ErrInvalid", name, err)
		}
	}
}

// testExpires: a queue with Expires goes when nobody has used it for so long, and not while somebody consumes.
func testExpires(e *env) {
	name := e.declare(queue.Spec{Name: "expires", Expires: queue.MinExpires})
	c := e.consume(e.broker, name, 1)
	e.publish(name, "kept")
	select {
	case <-time.After(3 * queue.MinExpires / 2): // nothing happens that could be waited for
	case <-e.Context().Done():
	}
	e.takes(c, "kept")
	e.publish(name, "goes with it")
	from := time.Now()
	if err := c.Close(); err != nil {
		e.Fatal(err)
	}
	_, err := e.broker.Inspect(e.Context(), name)
	for ; !errors.Is(err, queue.ErrUnknownQueue); _, err = e.broker.Inspect(e.Context(), name) {
		if err != nil || time.Since(from) > patience {
			e.Fatalf("%v after the last consumer: %v", time.Since(from), err)
		}
		time.Sleep(queue.MinExpires * 6 / 5) // to ask is to use, for some brokers
	}
	if passed := time.Since(from); passed < queue.MinExpires*9/10 {
		e.Errorf("it is gone after %v, want %v", passed, queue.MinExpires)
	}
	if err := e.broker.Publish(e.Context(), name, queue.Message{}); !errors.Is(err, queue.ErrUnknownQueue) {
		e.Errorf("publish: %v, want ErrUnknownQueue", err)
	}
}

// testBroken: while the broker is away who publishes and who waits go on waiting; what was in hand comes again.
func testBroken(e *env) {
	breaker, can := e.bench.(Breaker)
	if !can {
		e.Skip("its connections do not break")
	}
	name := e.declare(queue.Spec{Name: "broken"})
	e.publish(name, "in hand", "settled")
	c := e.consume(e.broker, name, 3)
	d, s := e.next(c), e.next(c)
	e.ack(s)
	breaker.Break(e)
	short, cancel := context.WithTimeout(e.Context(), moment)
	defer cancel()
	if err := e.broker.Publish(short, name, queue.Message{ID: "too soon"}); !errors.Is(err, context.DeadlineExceeded) {
		e.Errorf("publish while the broker is away: got %v, want the context's error", err)
	}
	published := make(chan error, 1)
	go func() {
		published <- e.broker.Publish(e.Context(), name, queue.Message{ID: "later", Body: []byte("later")})
	}()
	type got struct {
		d   *queue.Delivery
		err error
	}
	came := make(chan got, 1)
	go func() { d, err := c.Next(e.Context()); came <- got{d, err} }()
	if err := d.Ack(e.Context()); !errors.Is(err, queue.ErrLost) {
		e.Errorf("Ack of what was in hand: got %v, want ErrLost", err)
	}
	breaker.Mend(e)
	counts := map[string]int{}
	for range 2 {
		g := <-came
		if g.err != nil {
			e.Fatal(g.err)
		}
		counts[g.d.ID] = g.d.Count
		e.ack(g.d)
		go func() { d, err := c.Next(e.Context()); came <- got{d, err} }()
	}
	if err := <-published; err != nil {
		e.Error(err)
	}
	if counts["in hand"] < 2 || counts["later"] != 1 {
		e.Errorf("got %v, want what was in hand not for the first time, and what was published later", counts)
	}
	if err := c.Close(); err != nil {
		e.Error(err)
	}
	if g := <-came; !errors.Is(g.err, queue.ErrClosed) {
		e.Errorf("got %v, %v, want nothing more", g.d, g.err)
	}
}

// testRestart: what was confirmed, and not settled, is there after the broker's death: with its order, its counts, what is kept away, and
// dead letters.
func testRestart(e *env) {
	restarter, can := e.bench.(Restarter)
	if !can {
		e.Skip("it cannot be restarted")
	}
	name := e.declare(queue.Spec{Name: "restart", MaxDeliveries: 5})
	e.publish(name, "settled", "retried", "delayed", "dead", "in hand", "in hand, too", "and this")
	c := e.consume(e.broker, name, 4)
	e.takes(c, "settled")
	retried, delayed, dead, inHand := e.next(c), e.next(c), e.next(c), e.next(c)
	from, kept := time.Now(), time.Second
	if err := errors.Join(delayed.Retry(e.Context(), kept), dead.Dead(e.Context(), "why"), retried.Retry(e.Context(), 0)); err != nil {
		e.Fatal(err)
	}
	hand := map[string]int{inHand.ID: inHand.Count}
	for range 3 {
		d := e.next(c)
		hand[d.ID] = d.Count
	}
	if want := map[string]int{"in hand": 1, "in hand, too": 1, "and this": 1, "retried": 2}; !maps.Equal(hand, want) {
		e.Fatalf("in hand are %v, want %v", hand, want)
	}
	e.publish(name, numbered(3)...) // nobody fetches them, since the hand is full
	restarter.Restart(e)
	e.broker = e.bench.Connect(e)
	c = e.consume(e.broker, name, 1)
	counts := map[string]int{}
	var order []string
	for range 8 {
		d := e.next(c)
		counts[d.ID] = d.Count
		if hand[d.ID] == 0 && d.ID != "delayed" {
			order = append(order, d.ID)
			e.first(d)
		}
		if d.ID == "delayed" && time.Since(from) < kept {
			e.Errorf("what is kept away for %v came after %v", kept, time.Since(from))
		}
		e.ack(d)
	}
	if fmt.Sprint(order) != fmt.Sprint(numbered(3)) {
		e.Errorf("got the order %q", order)
	}
	for id, atLeast := range map[string]int{"delayed": 2, "retried": 2, "in hand": 1, "in hand, too": 1, "and this": 1} { // the last ones may not be noted
		if counts[id] < atLeast || counts[id] > atLeast+1 {
			e.Errorf("%s: delivery %d, want %d or one more", id, counts[id], atLeast)
		}
	}
	e.nothing(c, "all others are settled")
	d := e.next(e.consume(e.broker, name+".dead", 1))
	e.first(d)
	d.Count = 1
	checkDeath(e, d, queue.Death{Queue: name, Reason: "why", Count: 1})
	e.ack(d)
}

// first checks that a message which nobody had before the broker's death counts so, as far as the broker can tell.
func (e *env) first(d *queue.Delivery) {
	e.Helper()
	most := 1
	if _, ahead := e.bench.(Fetcher); ahead {
		most = 2
	}
	if d.Count < 1 || d.Count > most {
		e.Errorf("%s: delivery %d, want 1 to %d", d.ID, d.Count, most)
	}
}

// BenchmarkBroker measures messages a second, published, handed out and settled, with so many in flight. Some consumers share a prefetch as large.
func BenchmarkBroker(b *testing.B, broker queue.Broker, inFlight int) {
	s := queue.Spec{Name: fresh("bench"), Expires: time.Hour}
	if _, err := broker.Declare(b.Context(), s); err != nil {
		b.Fatal(err)
	}
	c, err := broker.Consume(b.Context(), s.Name, inFlight)
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	body := []byte(fmt.Sprintf("%256d", 0))
	if err := broker.Publish(b.Context(), s.Name, queue.Message{Body: body}); err != nil { // to a new queue it may take seconds
		b.Fatal(err)
	}
	if d, err := c.Next(b.Context()); err != nil || d.Ack(b.Context()) != nil {
		b.Fatal("the first message does not come", err)
	}
	latencies := make(chan time.Duration, b.N+inFlight)
	var all sync.WaitGroup
	published := make(chan struct{}, b.N+inFlight)
	b.ResetTimer()
	for range b.N {
		published <- struct{}{}
	}
	close(published)
	for range inFlight {
		all.Go(func() { // publishes one, takes one: as many are in flight as there are of these
			for range published {
				from := time.Now()
				if err := broker.Publish(b.Context(), s.Name, queue.Message{ID: "1", Body: body}); err != nil {
					b.Error(err)
					return
				}
				d, err := c.Next(b.Context())
				if err == nil {
					err = d.Ack(b.Context())
				}
				if err != nil {
					b.Error(err)
					return
				}
				latencies <- time.Since(from)
			}
		})
	}
	all.Wait()
	b.StopTimer()
	close(latencies)
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "messages/s")
	b.ReportMetric(float64(median(latencies).Microseconds())/1000, "ms-p50")
}

func median(all <-chan time.Duration) time.Duration {
	var sorted []time.Duration
	for d := range all {
		sorted = append(sorted, d)
	}
	if len(sorted) == 0 {
		return 0
	}
	slices.Sort(sorted)
	return sorted[len(sorted)/2]
}
