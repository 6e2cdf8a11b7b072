package jobs

import (
	"encoding/json"
	"fmt"
	"testing"

	"cancha/jobs/job"
	"cancha/jobs/queue"
)

// Results are forgotten when there are too many of them, or too large ones, the oldest first.
func TestKept(t *testing.T) {
	a := newAnswers("q")
	take := func(id string, bytes int) *ended {
		if _, err := a.expect([]submitted{{Spec: Spec{ID: id, ReplyTo: "q"}}}); err != nil {
			t.Fatal(err)
		}
		e := a.of(id)
		body, err := json.Marshal(map[string]any{"job_id": id, "status": "completed", "result": make([]byte, bytes)}) // base64: 4 bytes for 3
		if err != nil {
			t.Fatal(err)
		}
		a.take(&queue.Delivery{Message: queue.Message{CorrelationID: "of " + id, Body: body}})
		return e
	}
	first := take("first", 0)
	for i := range mostKept {
		take(fmt.Sprint(i), 0)
	}
	if a.of("first") != nil || a.of("0") == nil || first.result.ID != "first" {
		t.Errorf("the first is kept: %v", a.of("first"))
	}
	take("large", mostKeptBytes)
	if a.of("large") == nil || len(a.waiting) != 1 {
		t.Errorf("%d are kept beside a large one", len(a.waiting)-1)
	}
}

// Time that a worker has spent on a job counts once, however many jobs of its key have that one's result.
func TestByWorker(t *testing.T) {
	one := &Job{Spec: Spec{ID: "a", Key: "k"}, State: job.Completed, Worker: "w", WorkerType: CPU, Ran: 2, Predicted: map[Device]float64{CPU: 3}}
	same := *one
	same.ID, same.SameAs = "b", "a"
	if got := byWorker([]*Job{one, &same}); len(got) != 1 || got[0] != (did{Worker: "w", Device: "cpu", Jobs: 2, Predicted: 3, Ran: 2}) {
		t.Errorf("got %+v", got)
	}
}
