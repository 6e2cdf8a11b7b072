package scheduler

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"cancha/jobs/job"
	"cancha/jobs/placement"
	"cancha/jobs/queue"
)

// A result that may have been sent before says so: for a submission that comes again, and of a report that was handed out to a scheduler
// before. One that is sent for the first time does not.
func TestSentAgain(t *testing.T) {
	b := newBench(t)
	s := &Scheduler{state: b.state}
	b.beats(cpu("w"), "", "")
	last := func() (job, body string) {
		for _, m := range b.did.messages {
			if m.queue == "result_queue" {
				job, body = m.ID, string(m.Body)
			}
		}
		return job, body
	}
	for _, c := range []struct {
		id    string
		count int // of the report
		again bool
	}{{"once", 1, false}, {"twice", 2, true}} {
		body := `{"job_id":"` + c.id + `","job_type":"vector_addition","size":3}`
		b.submit(body)
		b.beats(cpu("w"), "", c.id+"/1")
		report, err := json.Marshal(&job.Report{Job: c.id, Attempt: 1, Worker: "w", Device: placement.CPU, Ran: 0.1, Result: json.RawMessage("7")})
		if err != nil {
			t.Fatal(err)
		}
		b.step(time.Millisecond, func() {
			err = s.reported(&queue.Delivery{Message: queue.Message{Body: report}, Count: c.count}, b.now)
		})
		if id, sent := last(); err != nil || id != c.id || strings.Contains(sent, `"redelivered":true`) != c.again || !strings.Contains(sent, `"completed"`) {
			t.Errorf("%s: got %s %s, %v", c.id, id, sent, err)
		}
		b.submit(body)
		if id, sent := last(); id != c.id || !strings.Contains(sent, `"redelivered":true`) {
			t.Errorf("%s, submitted again: got %s %s", c.id, id, sent)
		}
	}
}
