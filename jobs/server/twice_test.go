package server_test

import (
	"fmt"
	"slices"
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

// Of clients that send one key with different parameters at the same time one is served, under whatever id, and the others hear so at once.
// A key is free again when its job has failed.
func TestKeyTwice(t *testing.T) {
	s := newSite(t)
	submit := func(id string, size int, fields string) (int, string) {
		return s.ask("POST", "jobs", fmt.Sprintf(`{"job_type":"matrix_multiply","job_id":%q,"key":"k","size":%d,"device":"gpu"%s}`, id, size, fields), nil)
	}
	answers := make([]int, 10)
	var clients sync.WaitGroup
	for i := range answers {
		clients.Go(func() { answers[i], _ = submit(fmt.Sprint("j", i), i+1, "") })
	}
	clients.Wait()
	at := slices.Index(answers, 202)
	for i, status := range answers {
		if i != at && status != 409 {
			t.Fatalf("got %v, want 202 once and 409 otherwise", answers)
		}
	}
	if at < 0 {
		t.Fatalf("got %v, want 202 once", answers)
	}
	first := fmt.Sprint("j", at)
	s.becomes(first, "queued")
	for _, c := range []struct {
		name, id string
		size     int
		says     string
	}{
		{"the same", "same", at + 1, `202 {"job_id":"same"`},
		{"another size", "other", at + 100, `409 key: \"k\" is of job \"` + first + `\", which has other parameters: take a new key`},
	} {
		code, says, _ := strings.Cut(c.says, " ")
		if status, body := submit(c.id, c.size, ""); fmt.Sprint(status) != code || !strings.Contains(body, says) {
			t.Errorf("%s: got %d %s, want %s", c.name, status, body, c.says)
		}
	}
	if status, body := s.ask("POST", "jobs/"+first+"/cancel", "{}", nil); status != 200 {
		t.Fatalf("got %d %s", status, body)
	}
	for size, id := range []string{"late", "later", "latest"} { // each fails at once
		if status, body := submit(id, size+1, `,"deadline":1`); status != 202 {
			t.Errorf("a key that is free: got %d %s", status, body)
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
