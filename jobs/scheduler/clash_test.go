package scheduler

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"cancha/jobs/job"
	"cancha/jobs/queue"
)

// An id that another job has, or had, is no excuse to answer with that job's result.
func TestClash(t *testing.T) {
	b := newBench(t)
	b.beats(cpu("w"), "", "")
	b.submit(simple)
	b.went("cpu_queue a1")
	for range 2 { // while it is open, and when it has ended
		for body, why := range map[string]string{
			`{"job_id":"a","job_type":"vector_addition","size":2000}`: "other parameters",
			`{"job_id":"a","job_type":"echo","size":1000}`:            "is a vector_addition",
		} {
			refused := ""
			b.step(time.Millisecond, func() {
				var err error
				if refused, err = b.accept(&queue.Message{Body: []byte(body)}, false, b.now); err != nil {
					t.Fatal(err)
				}
			})
			b.went("result_queue a")
			told := string(b.did.messages[0].Body)
			if !strings.Contains(refused, why) || !strings.Contains(told, `"status":"failed"`) || !strings.Contains(told, why) ||
				b.did.messages[0].result != "" {
				t.Errorf("%s: %q, %s", body, refused, told)
			}
		}
		b.submit(strings.Replace(simple, ":", " : ", 1)) // the same, written otherwise
		if b.past["a"].State == job.Completed {
			b.went("result_queue a")
			return
		}
		b.went()
		b.beats(cpu("w"), "", "a/1")
		b.reports(job.Report{Job: "a", Attempt: 1, Ran: 0.5, Result: json.RawMessage(`1`)})
		b.went("result_queue a")
	}
	t.Error("it has not ended")
}
