package rabbitmq_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"cancha/jobs/queue"
)

// TestForeign: a queue that a foreign program has made is used as it is, and what differs is said; what it has published is mended; a
// message of it is counted and limited by who reads it.
func TestForeign(t *testing.T) {
	address := server(t)
	ch := channel(t, address)
	if _, err := ch.QueueDeclare("job_queue", true, false, false, false, nil); err != nil { // as pika does: a classic queue without arguments
		t.Fatal(err)
	}
	b := dialed(t, address)
	notes, err := b.Declare(t.Context(), queue.Spec{Name: "job_queue", MaxDeliveries: 2, Shared: true})
	if err != nil || len(notes) > 0 {
		t.Fatalf("%q, %v", notes, err)
	}
	headers := amqp.Table{"n": int32(7), "yes": true, "bytes": []byte("b\xff"), "table": amqp.Table{"a": "b"}, "x-mine": "1", "when": time.Unix(1, 0)}
	p := amqp.Publishing{Headers: headers, Body: []byte(`{"job_type":"echo"}`), MessageId: "one\xff", Priority: 200, UserId: "guest", Expiration: "600000"}
	if err := ch.Publish("", "job_queue", false, false, p); err != nil {
		t.Fatal(err)
	}
	c, err := b.Consume(t.Context(), "job_queue", 1)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	want := map[string]string{"n": "7", "yes": "true", "bytes": "b�", "when": "1970-01-01T00:00:01Z"}
	for i := range 2 {
		d, err := c.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if d.ID != "one�" || d.Priority != queue.MaxPriority || !maps.Equal(d.Headers, want) || d.Count != i+1 || d.Check() != nil {
			t.Errorf("got %+v, delivery %d", d.Message, d.Count)
		}
		if err := d.Retry(t.Context(), 0); err != nil {
			t.Fatal(err)
		}
	}
	dead, ok, err := ch.Get(queue.DeadLetters, true)
	for end := time.Now().Add(10 * time.Second); err == nil && !ok && time.Now().Before(end); dead, ok, err = ch.Get(queue.DeadLetters, true) {
	}
	if err != nil || !ok || dead.Headers["table"] == nil || dead.Headers["x-mine"] != "1" || string(dead.Body) != string(p.Body) {
		t.Errorf("the dead letter is %+v, %v", dead, err)
	}
}

// channel is one of a foreign program.
func channel(t *testing.T, address string) *amqp.Channel {
	t.Helper()
	conn, err := amqp.Dial(address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	ch, err := conn.Channel()
	if err != nil {
		t.Fatal(err)
	}
	return ch
}

// TestDeclared: a queue that is there is used as it is, whatever it is, and what differs is said. A shared one is as a foreign program
// declares it, who was first or not.
func TestDeclared(t *testing.T) {
	address := server(t)
	ch, b := channel(t, address), dialed(t, address)
	for _, test := range []struct {
		name    string
		durable bool
		args    amqp.Table
		spec    queue.Spec
		notes   []string
	}{
		{"plain", true, nil, queue.Spec{Shared: true}, nil},
		{"priorities", true, nil, queue.Spec{Priorities: true}, []string{"its x-max-priority is none, not 9"}},
		{"length", true, amqp.Table{"x-max-length": 5, "x-overflow": "reject-publish"}, queue.Spec{},
			[]string{"its x-max-length is 5, not none", "its x-overflow is reject-publish, not none"}},
		{"quorum", true, amqp.Table{"x-queue-type": "quorum", "x-delivery-limit": 3}, queue.Spec{MaxDeliveries: 9},
			[]string{"it is a quorum queue, not a classic one", "its x-delivery-limit is 3, not none"}},
		{"passing", false, nil, queue.Spec{}, []string{"it is not durable: it goes with the server"}},
	} {
		if _, err := ch.QueueDeclare(test.name, test.durable, false, false, false, test.args); err != nil {
			t.Fatal(err)
		}
		test.spec.Name = test.name
		notes, err := b.Declare(t.Context(), test.spec)
		slices.Sort(notes)
		if err != nil || !slices.Equal(notes, test.notes) {
			t.Errorf("%s: %q, %v, want %q", test.name, notes, err, test.notes)
		}
		if err := b.Publish(t.Context(), test.name, queue.Message{ID: test.name}); err != nil {
			t.Errorf("%s: %v", test.name, err)
		}
		c, err := b.Consume(t.Context(), test.name, 1)
		if err != nil {
			t.Fatal(err)
		}
		for i := range 2 {
			d, err := c.Next(t.Context())
			if err != nil || d.Count != i+1 {
				t.Fatalf("%s: %v, %v", test.name, d, err)
			}
			if err := d.Retry(t.Context(), 0); err != nil {
				t.Error(err)
			}
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
	if _, err := b.Declare(t.Context(), queue.Spec{Name: "ours", Shared: true, MaxDeliveries: 3, Priorities: true}); err != nil {
		t.Fatal(err)
	}
	if _, err := ch.QueueDeclare("ours", true, false, false, false, nil); err != nil {
		t.Errorf("a foreign program cannot declare it: %v", err)
	}
}

// TestFull: a queue that rejects what is too much is full; one that two make at once is made once.
func TestFull(t *testing.T) {
	address := server(t)
	ch, b := channel(t, address), dialed(t, address)
	if _, err := ch.QueueDeclare("full", true, false, false, false, amqp.Table{"x-max-length": 1, "x-overflow": "reject-publish"}); err != nil {
		t.Fatal(err)
	}
	if err := b.Publish(t.Context(), "full", queue.Message{ID: "one"}); err != nil {
		t.Error(err)
	}
	if err := b.Publish(t.Context(), "full", queue.Message{ID: "two"}); !errors.Is(err, queue.ErrFull) || !strings.Contains(err.Error(), `"full"`) {
		t.Errorf("got %v, want ErrFull with the name", err)
	}
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			if notes, err := dialed(t, address).Declare(t.Context(), queue.Spec{Name: "race", Priorities: true}); err != nil || len(notes) > 0 {
				t.Errorf("%q, %v", notes, err)
			}
		})
	}
	all.Wait()
}

// TestTopics: nothing stays of a topic that nobody listens to any more: one exchange serves all.
func TestTopics(t *testing.T) {
	address := server(t)
	ch, b := channel(t, address), dialed(t, address)
	for i := range 20 {
		topic := fmt.Sprint("cancha.worker.", i)
		l, err := b.Listen(t.Context(), topic)
		if err != nil {
			t.Fatal(err)
		}
		if err := b.Announce(t.Context(), topic, queue.Message{ID: topic}); err != nil {
			t.Error(err)
		}
		if m, err := l.Next(t.Context()); err != nil || m.ID != topic {
			t.Errorf("got %v, %v", m, err)
		}
		if err := l.Close(); err != nil {
			t.Error(err)
		}
		if err := ch.ExchangeDeclarePassive(topic, "fanout", false, false, false, false, nil); err == nil {
			t.Errorf("there is an exchange %s", topic)
		}
		ch = channel(t, address)
	}
	if err := ch.ExchangeDeclarePassive("cancha.topics", "direct", true, false, false, false, nil); err != nil {
		t.Error(err)
	}
	if err := ch.ExchangeDelete("cancha.topics", true, false); err != nil { // if nothing is bound to it
		t.Errorf("something stays bound: %v", err)
	}
}
