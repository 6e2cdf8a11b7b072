package server_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"cancha/jobs/placement"
	"cancha/jobs/worker"
)

// Of clients that send one id with different parameters at the same time one is served, and the others hear so at once; the same again is
// the same job.
func TestSubmittedTwice(t *testing.T) {
	s := newSite(t)
	answers := make([]int, 10)
	var clients sync.WaitGroup
	for i := range answers {
		clients.Go(func() {
			answers[i], _ = s.ask("POST", "jobs", fmt.Sprintf(`{"job_type":"matrix_multiply","job_id":"one","device":"gpu","size":%d}`, i+1), nil)
		})
	}
	clients.Wait()
	taken, size := 0, 0
	for i, status := range answers {
		switch status {
		case 202:
			taken, size = taken+1, i+1
		case 409:
		default:
			t.Errorf("client %d: got %d", i, status)
		}
	}
	if taken != 1 {
		t.Fatalf("got %v, want 202 once and 409 otherwise", answers)
	}
	s.becomes("one", "queued")
	for _, c := range []struct{ name, body, says string }{
		{"the same", fmt.Sprintf(`{"job_type":"matrix_multiply","job_id":"one","parameters":{"size":%d,"iterations":1}}`, size), `202 {"job_id":"one"`},
		{"another size", fmt.Sprintf(`{"job_type":"matrix_multiply","job_id":"one","size":%d}`, size+100), "409 other parameters: take a new id"},
		{"another type", `{"job_type":"vector_addition","job_id":"one"}`, "409 of another job"},
	} {
		code, says, _ := strings.Cut(c.says, " ")
		if status, body := s.ask("POST", "jobs", c.body, nil); fmt.Sprint(status) != code || !strings.Contains(body, says) {
			t.Errorf("%s: got %d %s, want %s", c.name, status, body, c.says)
		}
	}
}

// A type that is almost one of those that all run is refused at once, with the name that was meant; a program's own type is taken, whatever
// it looks like.
func TestMisspelledType(t *testing.T) {
	s := newSite(t)
	if status, body := s.ask("POST", "jobs", `{"job_type":"matrix_multipy","size":3}`, nil); status != 400 ||
		!strings.Contains(body, `is \"matrix_multiply\" meant?`) {
		t.Errorf("got %d %s", status, body)
	}
	s.work("w", placement.CPU, map[string]worker.Func{"matrix_multipy": nil, "mine": nil})
	s.until("a worker", func() bool { all, err := s.scheduler.Workers(t.Context()); return err == nil && len(all) == 1 })
	for _, body := range []string{`{"job_type":"matrix_multipy","device":"gpu"}`, `{"job_type":"mime"}`} {
		if status, answer := s.ask("POST", "jobs", body, nil); status != 202 {
			t.Errorf("%s: got %d %s", body, status, answer)
		}
	}
}
