package scheduler

import (
	"strings"
	"testing"
	"time"

	"cancha/jobs/placement"
)

// A job goes to the very worker that a strategy has named, by that worker's own queue: from the device's, any other one would take it.
func TestStrategy(t *testing.T) {
	b := newBench(t)
	settings := placement.Settings{Strategy: placement.StrategyFunc(func(j placement.Job, all []placement.Candidate) string {
		if j.Type == "odd" {
			panic("no such thing")
		}
		return all[len(all)-1].ID
	})}
	var err error
	if b.planner, err = placement.NewPlanner(b.history, settings); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"a", "b", "c"} {
		b.beats(cpu(id), "", "")
	}
	b.submit(`{"job_id":"j","job_type":"vector_addition","parameters":{"size":10}}`)
	if j := b.tasks["j"]; j.Worker != "c" || !strings.Contains(j.Reason, "by the program's strategy") ||
		!strings.HasPrefix(strings.Join(b.sent, " "), "cpu_queue.c j1") {
		t.Errorf("got %+v, sent %v", j.Job, b.sent)
	}
	b.submit(`{"job_id":"odd","job_type":"odd"}`)
	b.step(time.Second, func() {})
	if j := b.tasks["odd"]; j.Reason != "waits: the program's strategy has failed: panic: no such thing" {
		t.Errorf("got %+v", j.Job)
	}
}
