package scheduler

import (
	"strings"
	"testing"

	"cancha/jobs/job"
)

// A misspelled type fails at once, with the name that was meant; one that nobody knows waits for a worker.
func TestMisspelled(t *testing.T) {
	b := newBench(t)
	b.submit(`{"job_id":"slip","job_type":"matrix_multipy"}`)
	if j := b.past["slip"]; j == nil || j.State != job.Failed || !strings.Contains(j.Error, `is "matrix_multiply" meant?`) {
		t.Errorf("got %+v", j)
	}
	b.submit(`{"job_id":"behind","job_type":"vector_addition","after":["slip"]}`)
	if j := b.past["behind"]; j == nil || j.State != job.Failed {
		t.Errorf("got %+v", j)
	}
	b.submit(`{"job_id":"own","job_type":"matrix_multiply_2"}`)
	if j := b.tasks["own"]; j == nil || j.State != job.Queued {
		t.Errorf("got %+v", j)
	}
	w := cpu("a")
	w.Types = []string{"matrix_multipy"}
	b.beats(w, "", "")
	b.submit(`{"job_id":"mine","job_type":"matrix_multipy"}`)
	if j := b.tasks["mine"]; j == nil || j.State != job.Assigned {
		t.Errorf("a type that a worker runs: got %+v", j)
	}
	b.submit(`{"job_id":"early","job_type":"notebok"}`)
	if j := b.tasks["early"]; j == nil || j.State != job.Queued {
		t.Errorf("near a type that no worker has: got %+v", j)
	}
	w.ID, w.Types = "b", []string{"notebook", "mine_a"}
	b.beats(w, "", "")
	for kind, meant := range map[string]string{"notebok": `is "notebook" meant?`, "mine_b": ""} {
		b.submit(`{"job_id":"` + kind + `","job_type":"` + kind + `"}`)
		if j := b.past[kind]; (j.State == job.Failed) != (meant != "") || !strings.Contains(j.Error, meant) {
			t.Errorf("%s: got %+v", kind, j)
		}
	}
}
