package rabbitmq_test

import (
	"maps"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"cancha/jobs/queue"
)

// TestForeign: a queue that a foreign program has made is used as it is, and what differs is said; what it has published is mended; a message of it is
// counted and limited by who reads it.
func TestForeign(t *testing.T) {
	address := server(t)
	conn, err := amqp.Dial(address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	ch, err := conn.Channel()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := ch.QueueDeclare("job_queue", true, false, false, false, nil); err != nil { // as pika does: a classic queue without arguments
		t.Fatal(err)
	}
	b := dialed(t, address)
	notes, err := b.Declare(t.Context(), queue.Spec{Name: "job_queue", MaxDeliveries: 2})
	if err != nil || len(notes) != 1 || notes[0] != "it is a classic queue, not a quorum one" {
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
