package scheduler

import (
	"strings"
	"testing"
	"time"

	"cancha/jobs/job"
)

// A message that somebody else has taken out of cpu_queue: when a worker has had nothing to do for a lease, the job is sent to its own queue.
func TestMissedMessage(t *testing.T) {
	b := newBench(t)
	b.beats(cpu("w"), "", "")
	b.submit(simple)
	b.went("cpu_queue a1")
	for range 4 { // nearly a lease, in beats
		b.step(2*time.Second, func() {})
		b.beats(cpu("w"), "", "")
	}
	b.went()
	b.step(2*time.Second, func() {})
	b.went("cpu_queue.w a2")
	if b.counts["sent again"] != 1 {
		t.Errorf("counts %v", b.counts)
	}
	said := ""
	for _, e := range b.did.events {
		said += e.Text + "\n"
	}
	if !strings.Contains(said, "nobody has begun with it within 10") {
		t.Errorf("the events say %q", said)
	}
	if v := b.beats(cpu("w"), "", "a/1")["a/1"]; v != job.Drop {
		t.Errorf("the first message, which comes after all: got %q", v)
	}
	if v := b.beats(cpu("w"), "", "a/2")["a/2"]; v != job.Begin {
		t.Errorf("got %q", v)
	}
}

// A message waits behind what its worker runs for as long as that takes, and it is not missed while the broker is away.
func TestNotMissed(t *testing.T) {
	b := newBench(t)
	b.beats(cpu("w"), "", "")
	b.submit(simple)
	b.beats(cpu("w"), "", "a/1")
	b.submit(strings.Replace(simple, `"a"`, `"b"`, 1))
	b.went("cpu_queue a1", "cpu_queue b1")
	for range 30 {
		b.step(2*time.Second, func() {})
		b.beats(cpu("w"), "a/1", "")
	}
	b.went()
	b.tasks["b"].sent = time.Time{} // as if what was to be sent were still on its way
	for range 30 {
		b.step(2*time.Second, func() {})
		b.beats(cpu("w"), "", "")
	}
	if b.tasks["b"].Attempt != 1 {
		t.Errorf("job b is sent a second time: %s", b.tasks["b"].Reason)
	}
}
