package job

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"cancha/jobs/placement"
)

func TestOutcome(t *testing.T) {
	at := time.Unix(1_800_000_000, 0)
	j := Job{Spec: Spec{ID: "a", Type: VectorAddition, Unknown: map[string]json.RawMessage{"who": json.RawMessage(`"me"`),
		"status": json.RawMessage(`"mine"`), "error": json.RawMessage(`"mine"`)}},
		State: Completed, Submitted: at, Started: at.Add(time.Second), Ended: at.Add(3 * time.Second), Attempt: 2, Begun: 1,
		Worker: "gpu-1", WorkerType: placement.GPU,
		Model: "H100", Reason: "gpu: 12 ms", Predicted: map[placement.Device]float64{placement.GPU: 0.012}, Ran: 0.5,
		Result: json.RawMessage(`{"sum":3}`), Error: "of the first attempt"}
	text, err := j.Outcome()
	if err != nil {
		t.Fatal(err)
	}
	want := `{"attempt":2,"attempts":1,"completed_at":1800000003,"device":"H100","execution_time":0.5,"job_fields":{"error":"mine","status":"mine"},"job_id":"a","job_type":"vector_addition","predicted":{"gpu":0.012},"processing_time":0.5,` +
		`"queue_time":1,"reason":"gpu: 12 ms","result":{"sum":3},"schema":1,"started_at":1800000001,"status":"completed","submitted_at":1800000000,"who":"me","worker_id":"gpu-1","worker_type":"gpu"}`
	if string(text) != want {
		t.Errorf("got %s, want %s", text, want)
	}
	again, err := j.OutcomeAgain()
	if want = strings.Replace(want, `"result":`, `"redelivered":true,"result":`, 1); err != nil || string(again) != want {
		t.Errorf("sent again: got %s, %v, want %s", again, err, want)
	}
}

func TestETA(t *testing.T) {
	at := time.Unix(1_800_000_000, 0)
	for _, test := range []struct {
		j    Job
		want time.Duration
	}{
		{Job{State: Running, Started: at, Progress: .25}, 30 * time.Second},
		{Job{State: Running, Started: at}, 0},
		{Job{State: Queued, Started: at, Progress: .5}, 0},
	} {
		if got := test.j.ETA(at.Add(10 * time.Second)); got != test.want {
			t.Errorf("%+v: got %v, want %v", test.j, got, test.want)
		}
	}
}

// A job never leaves the state in which it has ended, but that a dead one is replayed, and reaches each from where it begins.
func TestStates(t *testing.T) {
	reached := map[State]bool{Queued: true}
	for range States() {
		for s := range reached {
			for _, next := range States() {
				if s.Becomes(next) {
					reached[next] = true
					if s.Ended() && !(s == Dead && next == Queued) {
						t.Errorf("%s becomes %s", s, next)
					}
				}
			}
		}
	}
	if len(reached) != len(States()) || State("").Known() || State("").Becomes(Queued) {
		t.Errorf("reached %v", reached)
	}
}
