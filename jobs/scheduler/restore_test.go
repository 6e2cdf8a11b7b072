package scheduler

import (
	"encoding/json"
	"maps"
	"strings"
	"testing"
	"time"

	"cancha/jobs/job"
	"cancha/jobs/placement"
	"cancha/jobs/queue"
)

// What a killed scheduler has given, without having put that down, counts: it goes on, or has ended, and is not done again.
func TestAdopt(t *testing.T) {
	b := newBench(t)
	for _, id := range []string{"claims", "runs", "ended", "failed"} {
		b.submit(`{"job_type":"vector_addition","job_id":"` + id + `"}`)
	}
	b.reports(job.Report{Job: "ended", Attempt: 2, Result: json.RawMessage("7")})
	b.is("ended", job.Completed, "")
	b.reports(job.Report{Job: "failed", Attempt: 1, Error: "not yet"})
	b.is("failed", job.Queued, "not yet")
	if v := b.beats(cpu("w"), "runs/1", "claims/1"); v["claims/1"] != job.Begin || v["runs/1"] != "" {
		t.Errorf("got %v", v)
	}
	b.is("runs", job.Running, "")
	b.is("claims", job.Running, "")
	b.step(2*time.Second, func() { b.beat(&job.Beat{Worker: cpu("x")}, b.now) })
	b.went("result_queue ended", "cpu_queue failed2")
}

// A scheduler that comes after another one goes on with what that had.
func TestRestore(t *testing.T) {
	old := newBench(t)
	old.beats(cpu("w"), "", "")
	old.submit(`{"job_type":"vector_addition","job_id":"runs","key":"k"}`)
	old.beats(cpu("w"), "", "runs/1")
	old.submit(`{"job_type":"vector_addition","job_id":"given"}`)
	old.submit(`{"job_type":"vector_addition","job_id":"begun"}`)
	old.submit(`{"job_type":"vector_addition","job_id":"after","after":["runs"]}`)
	old.submit(`{"job_type":"vector_addition","job_id":"same","key":"k"}`)
	for _, id := range []string{"given", "begun"} {
		if old.past[id].State == job.Queued { // the planner has not given it yet
			j := *old.past[id]
			j.State, j.Attempt, j.WorkerType = job.Assigned, 1, placement.CPU
			old.past[id] = &j
		}
	}
	b := newBench(t)
	b.past, b.now = old.past, old.now.Add(time.Minute)
	given := *b.past["given"]
	given.Assigned = b.now.Add(time.Hour) // by a clock that was put back since
	b.past["given"] = &given
	b.state.past = b
	var open []*job.Job
	for _, id := range []string{"runs", "given", "begun", "after", "same"} {
		j := *old.past[id]
		open = append(open, &j)
	}
	b.step(0, func() {
		if err := b.restore(open, false, b.now); err != nil {
			t.Fatal(err)
		}
	})
	if v := b.beats(cpu("x"), "", "begun/1!"); v["begun/1"] != job.Later {
		t.Errorf("got %v", v)
	}
	b.beats(cpu("w"), "runs/1 begun/1", "")
	b.is("begun", job.Running, "")
	b.went()
	b.step(5*time.Second, func() {
		b.beat(&job.Beat{Worker: cpu("w"), Running: []job.Run{{Job: "runs", Attempt: 1}, {Job: "begun", Attempt: 1}}}, b.now)
	})
	b.went("cpu_queue given2")
	if v := b.beats(cpu("x"), "", "given/1 given/2"); v["given/1"] != job.Drop || v["given/2"] != job.Begin {
		t.Errorf("got %v", v)
	}
	b.reports(job.Report{Job: "runs", Attempt: 1})
	b.is("after", job.Assigned, "")
	b.is("same", job.Completed, "as job runs")
}

// A job that a killed scheduler may have given waits for the word of whoever has it; without one it is given. The same is true of a
// submission that comes again, and a report of it waits until its job is known.
func TestRestoreKilled(t *testing.T) {
	old := newBench(t)
	for _, id := range []string{"runs", "waits", "later"} {
		extra := ""
		if id == "later" {
			extra = `,"not_before":1.9e9`
		}
		old.submit(`{"job_type":"vector_addition","job_id":"` + id + `"` + extra + `}`)
	}
	for _, left := range []bool{false, true} {
		b := newBench(t)
		var open []*job.Job
		for _, id := range []string{"runs", "waits", "later"} {
			j := *old.past[id]
			open = append(open, &j)
		}
		maps.Copy(b.past, old.past)
		b.step(0, func() {
			if err := b.restore(open, left, b.now); err != nil {
				t.Fatal(err)
			}
		})
		b.beats(cpu("x"), "", "")
		if sent := len(b.sent) > 0; sent != left {
			t.Errorf("left in order: %v, and sent %v", left, b.sent)
		}
		if left {
			continue
		}
		if t := b.tasks["runs"]; !strings.Contains(t.Reason, "a scheduler that was killed may have given it") {
			b.Errorf("got %q", t.Reason)
		}
		if err := b.report(&job.Report{Job: "redelivered", Attempt: 1, Worker: "w"}, b.now); err == nil {
			t.Error("the report of a job that is not known yet was taken")
		}
		b.step(0, func() {
			m := &queue.Message{Body: []byte(`{"job_type":"vector_addition","job_id":"redelivered"}`)}
			if _, err := b.accept(m, true, b.now); err != nil {
				t.Error(err)
			}
		})
		b.went()
		b.beats(cpu("w"), "runs/1 unknown/1", "")
		b.is("runs", job.Running, "")
		if len(b.ordered("w")) != 0 {
			t.Errorf("got %v", b.ordered("w"))
		}
		if err := b.report(&job.Report{Job: "redelivered", Attempt: 1, Worker: "w"}, b.now); err != nil || b.tasks["redelivered"] != nil {
			t.Errorf("%v, %+v", err, b.tasks["redelivered"])
		}
		b.step(4*time.Second, func() { b.beat(&job.Beat{Worker: cpu("w"), Running: []job.Run{{Job: "runs", Attempt: 1}}}, b.now) })
		b.went("result_queue redelivered", "cpu_queue waits1")
	}
}
