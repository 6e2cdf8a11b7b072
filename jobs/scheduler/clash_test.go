package scheduler

import (
	"encoding/json"
	"fmt"
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

// A key that another job has, or had when that completed, is no excuse either: what asks for something else fails, and is a job of its own.
func TestKeyOfOther(t *testing.T) {
	b := newBench(t)
	b.beats(cpu("w"), "", "")
	b.submit(`{"job_type":"vector_addition","job_id":"a","key":"k","size":1000}`)
	b.went("cpu_queue a1")
	n := 0
	for range 2 { // while it is open, and when it has ended
		for _, c := range []struct{ fields, why string }{
			{`"job_type":"vector_addition","size":2000`, `key: "k" is of job "a", which has other parameters: take a new key`},
			{`"job_type":"echo","size":1000`, `key: "k" is of job "a", which is a vector_addition: take a new key`},
		} {
			n++
			id, refused := fmt.Sprint("other", n), ""
			b.step(time.Millisecond, func() {
				var err error
				if refused, err = b.accept(&queue.Message{Body: []byte(`{"key":"k","job_id":"` + id + `",` + c.fields + `}`)}, false, b.now); err != nil {
					t.Fatal(err)
				}
			})
			b.went("result_queue " + id)
			if j := b.past[id]; !strings.Contains(refused, c.why) || j == nil || j.State != job.Failed || j.SameAs != "" || j.Error != refused {
				t.Errorf("%s: got %q, %+v", c.fields, refused, j)
			}
		}
		if b.tasks["a"] == nil {
			break
		}
		b.submit(`{"job_type":"vector_addition","job_id":"same","key":"k","parameters":{"size":1e3}}`)
		b.is("same", job.Queued, "job a was submitted before")
		b.went()
		b.beats(cpu("w"), "", "a/1")
		b.reports(job.Report{Job: "a", Attempt: 1, Ran: 0.5, Result: json.RawMessage(`1`)})
		b.is("same", job.Completed, "as job a")
		b.went("result_queue a", "result_queue same")
	}
}

// An id is no key, and a key no id.
func TestKeyIsNoID(t *testing.T) {
	for _, c := range []struct{ name, first, second string }{
		{"an id as an earlier key", `"job_id":"a","key":"k"`, `"job_id":"k"`},
		{"a key as an earlier id", `"job_id":"k"`, `"job_id":"b","key":"k"`},
	} {
		b := newBench(t)
		b.beats(cpu("w"), "", "")
		b.submit(`{"job_type":"vector_addition",` + c.first + `}`)
		first := b.did.messages[0].ID
		b.beats(cpu("w"), "", first+"/1")
		b.reports(job.Report{Job: first, Attempt: 1, Result: json.RawMessage("7")})
		b.submit(`{"job_type":"vector_addition",` + c.second + `}`)
		if len(b.did.messages) != 1 || b.did.messages[0].queue != job.QueueCPU || len(b.tasks) != 1 {
			t.Errorf("%s: got %+v, %v, want it to run", c.name, b.did.messages, b.past)
		}
	}
}

// What an older version took for one job, by a key that is another one's id or of other content, is taken apart when it is still open.
func TestKeyOfOlder(t *testing.T) {
	b := newBench(t)
	spec := func(id, key string, size int) job.Spec {
		return job.Spec{ID: id, Key: key, Type: job.VectorAddition, Parameters: fmt.Appendf(nil, `{"size":%d}`, size)}
	}
	open := []*job.Job{
		{Spec: spec("k", "", 10), State: job.Queued},
		{Spec: spec("by id", "k", 10), State: job.Queued, SameAs: "k"},
		{Spec: spec("first", "c", 10), State: job.Queued},
		{Spec: spec("other", "c", 20), State: job.Queued, SameAs: "first"},
		{Spec: spec("same", "c", 10), State: job.Queued, SameAs: "first"},
	}
	for _, j := range open {
		b.past[j.ID] = j
	}
	b.step(0, func() {
		if err := b.restore(open, true, b.now); err != nil {
			t.Fatal(err)
		}
	})
	b.is("by id", job.Queued, "no worker is there")
	if j := b.tasks["by id"]; j.SameAs != "" {
		t.Errorf("it ends as %s", j.SameAs)
	}
	b.is("same", job.Queued, "first was submitted before")
	b.is("other", job.Failed, `of job "first", which has other parameters`)
}
