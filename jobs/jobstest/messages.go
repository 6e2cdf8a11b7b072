package jobstest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"cancha/jobs/queue"
)

// testFields: a message comes as it was published, in each of its fields.
func testFields(e *env) {
	name := e.declare(queue.Spec{Name: "fields", Priorities: true})
	all := []queue.Message{
		{},
		{ID: "job-1", Body: []byte(`{"job_type":"vector_addition"}`), ContentType: "application/json", Priority: 9, ReplyTo: "answers", CorrelationID: "7",
			Headers: map[string]string{"attempt": "2", "größe": "¾", "empty": ""}},
		{ID: strings.Repeat("i", queue.MaxText), Body: []byte{0, 255, '\n', 0}, Priority: 3,
			Headers: map[string]string{"large": strings.Repeat("v", queue.MaxHeaders-5)}},
	}
	if err := e.broker.Publish(e.Context(), name, all...); err != nil {
		e.Fatal(err)
	}
	c := e.consume(e.broker, name, 1)
	for _, i := range []int{1, 2, 0} {
		d, want := e.next(c), all[i]
		got := d.Message
		if !bytes.Equal(got.Body, want.Body) || !maps.Equal(got.Headers, want.Headers) {
			e.Errorf("message %d: got %d bytes and headers %.99q, want %d and %.99q", i, len(got.Body), got.Headers, len(want.Body), want.Headers)
		}
		got.Body, got.Headers, want.Body, want.Headers = nil, nil, nil, nil
		if fmt.Sprint(got) != fmt.Sprint(want) {
			e.Errorf("message %d: got %+v, want %+v", i, got, want)
		}
		if d.Queue != name || d.Count != 1 || d.Death != nil {
			e.Errorf("message %d: of %q, handed out %d times, death %v, want %q, once and none", i, d.Queue, d.Count, d.Death, name)
		}
		e.ack(d)
	}
}

// testOrder: messages come in the order of their publishing, of one call and of many, whoever was there first.
func testOrder(e *env) {
	name, want := e.declare(queue.Spec{Name: "order"}), numbered(60)
	e.publish(name, want[:20]...)
	e.ready(name, 20)
	c := e.consume(e.broker, name, 5)
	e.takes(c, want[:10]...)
	for _, body := range want[20:40] {
		e.publish(name, body)
	}
	e.takes(c, want[10:40]...)
	e.publish(name, want[40:]...)
	e.takes(c, want[40:]...)
	e.nothing(c, "all are taken")
}

// testPriority: the highest priority comes first, and within one the order of publishing.
func testPriority(e *env) {
	name := e.declare(queue.Spec{Name: "priority", Priorities: true})
	var want []string
	for priority := range queue.MaxPriority + 1 {
		for i := range 3 {
			body := fmt.Sprintf("%d %d", priority, i)
			if err := e.broker.Publish(e.Context(), name, queue.Message{ID: body, Body: []byte(body), Priority: priority}); err != nil {
				e.Fatal(err)
			}
			want = append(want, body)
		}
	}
	slices.SortStableFunc(want, func(a, b string) int { return int(b[0]) - int(a[0]) })
	e.ready(name, len(want))
	e.takes(e.consume(e.broker, name, 1), want...)
}

// testPrefetch: a consumer has so many in hand and no more, and others get the rest.
func testPrefetch(e *env) {
	name := e.declare(queue.Spec{Name: "prefetch"})
	e.publish(name, numbered(6)...)
	c := e.consume(e.broker, name, 3)
	hand := []*queue.Delivery{e.next(c), e.next(c), e.next(c)}
	e.nothing(c, "three are in hand")
	other := e.consume(e.broker, name, 1)
	e.takes(other, "message 3", "message 4", "message 5")
	if err := other.Close(); err != nil { // or it would get the next one
		e.Fatal(err)
	}
	e.publish(name, "message 6")
	e.nothing(c, "three are still in hand")
	e.ack(hand[1])
	e.takes(c, "message 6")
	e.ack(hand[0])
	e.ack(hand[2])
}

// testAck: what is settled does not come again, and is not settled twice.
func testAck(e *env) {
	name := e.declare(queue.Spec{Name: "ack"})
	e.publish(name, numbered(3)...)
	c := e.consume(e.broker, name, 3)
	for range 3 {
		d := e.next(c)
		e.ack(d)
		for what, err := range map[string]error{"Ack": d.Ack(e.Context()), "Retry": d.Retry(e.Context(), 0), "Dead": d.Dead(e.Context(), "twice")} {
			if !errors.Is(err, queue.ErrSettled) {
				e.Errorf("%s after Ack: got %v, want ErrSettled", what, err)
			}
		}
	}
	if err := c.Close(); err != nil {
		e.Error(err)
	}
	e.nothing(e.consume(e.broker, name, 1), "all are settled")
}

// testRetry: a message comes again, at once or later, never too early, with how often it has come.
func testRetry(e *env) {
	name := e.declare(queue.Spec{Name: "retry"})
	e.publish(name, "again")
	c := e.consume(e.broker, name, 1)
	for i, after := range []time.Duration{0, 0, 300 * time.Millisecond, time.Millisecond, 0} {
		d := e.next(c)
		if d.Count != i+1 || string(d.Body) != "again" || d.ID != "again" {
			e.Fatalf("got %q, delivery %d, want %d", d.Body, d.Count, i+1)
		}
		from := time.Now()
		if err := d.Retry(e.Context(), after); err != nil {
			e.Fatal(err)
		}
		if after > moment {
			d = e.next(c)
			if passed := time.Since(from); passed < after || d.Count != i+2 {
				e.Errorf("it came after %v as delivery %d, want %v at least, and %d", passed, d.Count, after, i+2)
			}
			e.ack(d)
			break
		}
	}
	e.nothing(c, "it is settled")
	e.publish(name, "next")
	d := e.next(c)
	for _, after := range []time.Duration{-1, queue.MaxDelay + 1} {
		if err := d.Retry(e.Context(), after); !errors.Is(err, queue.ErrInvalid) {
			e.Errorf("Retry after %v: %v, want ErrInvalid", after, err)
		}
	}
	if err := d.Retry(e.Context(), time.Minute); err != nil {
		e.Fatal(err)
	}
	e.publish(name, "behind")
	e.takes(c, "behind")
}

// testLimit: a message that has come as often as its queue allows becomes a dead letter, and nobody gets it, whether it came back by Retry
// or by the end of its consumer. Each time another one takes it, except where that would count what is fetched: there who retries it has it
// again.
func testLimit(e *env) {
	const limit = 3
	name := e.declare(queue.Spec{Name: "limit", MaxDeliveries: limit})
	dead := e.consume(e.broker, name+".dead", 1)
	_, ahead := e.bench.(Fetcher)
	for what, back := range map[string]func(d *queue.Delivery) error{
		"retried":       func(d *queue.Delivery) error { return d.Retry(e.Context(), 0) },
		"retried later": func(d *queue.Delivery) error { return d.Retry(e.Context(), 10*time.Millisecond) },
		"left behind":   func(*queue.Delivery) error { return nil },
	} {
		m := queue.Message{ID: what, Body: []byte(what), CorrelationID: "7", Headers: map[string]string{"kept": "yes"}}
		if err := e.broker.Publish(e.Context(), name, m); err != nil {
			e.Fatal(err)
		}
		c := e.consume(e.broker, name, 1)
		for i := range limit {
			d := e.next(c)
			if d.Count != i+1 {
				e.Fatalf("%s: delivery %d, want %d", what, d.Count, i+1)
			}
			if err := back(d); err != nil {
				e.Fatal(err)
			}
			if ahead && what != "left behind" {
				continue
			}
			if err := c.Close(); err != nil {
				e.Fatal(err)
			}
			c = e.consume(e.broker, name, 1) // after the last one, too: a broker may find out when the message would be handed out
		}
		d := e.next(dead)
		checkDeath(e, d, queue.Death{Queue: name, Reason: queue.ReasonLimit, Count: limit})
		if d.ID != what || string(d.Body) != what || d.CorrelationID != "7" || d.Headers["kept"] != "yes" {
			e.Errorf("%s: it is %+v", what, d.Message)
		}
		e.ack(d)
		e.nothing(c, what)
		if err := c.Close(); err != nil { // or it would get the next one
			e.Fatal(err)
		}
	}
}

func checkDeath(e *env, d *queue.Delivery, want queue.Death) {
	e.Helper()
	if d.Death == nil {
		e.Fatalf("%q is no dead letter", d.Body)
	}
	got := *d.Death
	if age := time.Since(got.At); age > patience || age < -2*time.Second {
		e.Errorf("it died %v ago", age)
	}
	if got.At = want.At; got != want || d.Count != 1 {
		e.Errorf("got %+v, delivery %d, want %+v, and the first one", got, d.Count, want)
	}
}

// testDead: Dead gives a reason, which is cut where it is too long; a dead letter that is replayed is a message again.
func testDead(e *env) {
	name := e.declare(queue.Spec{Name: "dead"})
	e.publish(name, "bad", "long")
	c := e.consume(e.broker, name, 1)
	if err := e.next(c).Dead(e.Context(), `no operation "matrix_divide"`); err != nil {
		e.Fatal(err)
	}
	if err := e.next(c).Dead(e.Context(), strings.Repeat("¾", queue.MaxReason)); err != nil {
		e.Fatal(err)
	}
	dead := e.consume(e.broker, name+".dead", 2)
	d := e.next(dead)
	checkDeath(e, d, queue.Death{Queue: name, Reason: `no operation "matrix_divide"`, Count: 1})
	if err := e.broker.Publish(e.Context(), d.Death.Queue, d.Message); err != nil {
		e.Fatal(err)
	}
	e.ack(d)
	again := e.next(c)
	if again.Death != nil || again.Count != 1 || string(again.Body) != "bad" {
		e.Errorf("replayed: %q, delivery %d, death %v", again.Body, again.Count, again.Death)
	}
	e.ack(again)
	if d = e.next(dead); d.Death.Reason != strings.Repeat("¾", queue.MaxReason/2) {
		e.Errorf("a long reason: %d bytes", len(d.Death.Reason))
	}
	if err := d.Dead(e.Context(), "looked at"); err != nil {
		e.Fatal(err)
	}
	d = e.next(dead)
	checkDeath(e, d, queue.Death{Queue: name, Reason: "looked at", Count: 1})
	e.ack(d)
}

// testUnknown: what is not there is an error, and the connection goes on.
func testUnknown(e *env) {
	name := fresh("unknown")
	m := queue.Message{ID: "lost"}
	_, consume := e.broker.Consume(e.Context(), name, 1)
	_, inspect := e.broker.Inspect(e.Context(), name)
	for what, err := range map[string]error{"publish": e.broker.Publish(e.Context(), name, m), "consume": consume, "inspect": inspect} {
		if !errors.Is(err, queue.ErrUnknownQueue) || !strings.Contains(err.Error(), name) {
			e.Errorf("%s: got %v, want ErrUnknownQueue with the name", what, err)
		}
	}
	here := e.declare(queue.Spec{Name: "known"})
	e.publish(here, "goes on")
	e.takes(e.consume(e.broker, here, 1), "goes on")
}

// testOversized: the largest body gets through; a larger one is refused, and neither the messages beside it nor the connection suffer.
func testOversized(e *env) {
	name := e.declare(queue.Spec{Name: "oversized"})
	large := bytes.Repeat([]byte("0123456789abcdef"), queue.MaxBody/16)
	if err := e.broker.Publish(e.Context(), name, queue.Message{ID: "large", Body: large}); err != nil {
		e.Fatal(err)
	}
	if err := e.broker.Publish(e.Context(), name, queue.Message{ID: "larger", Body: append(large, 'x')}); !errors.Is(err, queue.ErrTooLarge) {
		e.Errorf("got %v, want ErrTooLarge", err)
	}
	e.publish(name, "small")
	c := e.consume(e.broker, name, 1)
	d := e.next(c)
	if !bytes.Equal(d.Body, large) {
		e.Errorf("%d bytes, want %d as they were", len(d.Body), len(large))
	}
	e.ack(d)
	e.takes(c, "small")
}

// testBadInput: what no broker takes is refused by name, and nothing happens.
func testBadInput(e *env) {
	name := e.declare(queue.Spec{Name: "bad"})
	long := strings.Repeat("n", queue.MaxText+1)
	for what, m := range map[string]queue.Message{
		"priority":    {Priority: queue.MaxPriority + 1},
		"below":       {Priority: -1},
		"id":          {ID: long},
		"no text":     {CorrelationID: "\xff"},
		"header name": {Headers: map[string]string{"x-death": "1"}},
		"no name":     {Headers: map[string]string{"": "1"}},
		"headers":     {Headers: map[string]string{"h": strings.Repeat("v", queue.MaxHeaders)}},
		"header text": {Headers: map[string]string{"h": "\xff"}},
	} {
		if err := e.broker.Publish(e.Context(), name, queue.Message{ID: "before"}, m); !errors.Is(err, queue.ErrInvalid) {
			e.Errorf("%s: publish: got %v, want ErrInvalid", what, err)
		}
		if err := e.broker.Announce(e.Context(), fresh("topic"), m); !errors.Is(err, queue.ErrInvalid) {
			e.Errorf("%s: announce: got %v, want ErrInvalid", what, err)
		}
	}
	for what, s := range map[string]queue.Spec{
		"no name": {}, "long": {Name: long}, "kept": {Name: "amq.mine"}, "dead": {Name: fresh("x"), Dead: long}, "limit": {Name: fresh("x"), MaxDeliveries: -1},
		"expires": {Name: fresh("x"), Expires: time.Millisecond}, "length": {Name: fresh("x"), MaxLength: -1},
	} {
		if _, err := e.broker.Declare(e.Context(), s); !errors.Is(err, queue.ErrInvalid) {
			e.Errorf("declare, %s: got %v, want ErrInvalid", what, err)
		}
	}
	for _, prefetch := range []int{0, -1, queue.MaxPrefetch + 1} {
		if _, err := e.broker.Consume(e.Context(), name, prefetch); !errors.Is(err, queue.ErrInvalid) {
			e.Errorf("prefetch %d: got %v, want ErrInvalid", prefetch, err)
		}
	}
	e.nothing(e.consume(e.broker, name, 1), "nothing was valid")
}

// testDeclareAgain: declaring a queue that is there keeps its messages; another Spec takes effect, or a note says that it does not.
func testDeclareAgain(e *env) {
	s := queue.Spec{Name: fresh("again"), MaxDeliveries: 9, Expires: 10 * time.Minute}
	s.Dead = s.Name + ".dead"
	for range 2 {
		if notes, err := e.broker.Declare(e.Context(), s); err != nil || len(notes) > 0 {
			e.Fatalf("%q, %v", notes, err)
		}
		e.publish(s.Name, "kept")
	}
	s.MaxDeliveries = 1
	notes, err := e.broker.Declare(e.Context(), s)
	if err != nil {
		e.Fatal(err)
	}
	c := e.consume(e.broker, s.Name, 1)
	e.takes(c, "kept")
	if err := e.next(c).Retry(e.Context(), 0); err != nil {
		e.Fatal(err)
	}
	if len(notes) > 0 {
		e.takes(c, "kept")
	} else {
		e.takes(e.consume(e.broker, s.Dead, 1), "kept")
	}
}

// testContext: a call whose context has ended does nothing, and a Next that is given up takes no message along.
func testContext(e *env) {
	name := e.declare(queue.Spec{Name: "context"})
	why := errors.New("enough")
	ended, cancel := context.WithCancelCause(e.Context())
	cancel(why)
	_, declare := e.broker.Declare(ended, queue.Spec{Name: fresh("never")})
	_, consume := e.broker.Consume(ended, name, 1)
	_, listen := e.broker.Listen(ended, fresh("never"))
	_, inspect := e.broker.Inspect(ended, name)
	c := e.consume(e.broker, name, 4)
	_, next := c.Next(ended)
	for what, err := range map[string]error{"publish": e.broker.Publish(ended, name, queue.Message{}), "declare": declare, "consume": consume, "listen": listen,
		"inspect": inspect, "next": next, "announce": e.broker.Announce(ended, fresh("never"), queue.Message{})} {
		if !errors.Is(err, why) {
			e.Errorf("%s: got %v, want the context's cause", what, err)
		}
	}
	e.nothing(c, "nothing was published")
	for i := range 50 {
		body := fmt.Sprint(i)
		ctx, cancel := context.WithCancelCause(e.Context())
		got := make(chan *queue.Delivery, 1)
		go func() {
			d, err := c.Next(ctx)
			if err != nil && !errors.Is(err, why) {
				e.Errorf("Next that was given up: got %v", err)
			}
			got <- d
		}()
		published := make(chan error, 1)
		go func() { published <- e.broker.Publish(e.Context(), name, queue.Message{ID: body, Body: []byte(body)}) }()
		cancel(why)
		if err := <-published; err != nil {
			e.Fatal(err)
		}
		if d := <-got; d != nil {
			e.ack(d)
		} else {
			e.takes(c, body)
		}
	}
	d := e.nextAfterPublish(c, name)
	if err := d.Ack(ended); !errors.Is(err, why) {
		e.Errorf("Ack with a context that has ended: got %v", err)
	}
	e.ack(d)
}

func (e *env) nextAfterPublish(c queue.Consumer, name string) *queue.Delivery {
	e.Helper()
	e.publish(name, "one")
	return e.next(c)
}

// testLength: a queue keeps so many messages, and drops the oldest.
func testLength(e *env) {
	name := e.declare(queue.Spec{Name: "length", MaxLength: 5})
	all := numbered(12)
	for _, body := range all {
		e.publish(name, body)
	}
	e.ready(name, 5)
	e.takes(e.consume(e.broker, name, 1), all[7:]...)
	e.ready(name+".dead", 0)
}
