package scheduler

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"cancha/jobs/job"
	"cancha/jobs/placement"
	"cancha/jobs/queue"
	"cancha/jobs/store"
)

// BenchmarkQueued runs one job after the other through the states, while so many others wait.
func BenchmarkQueued(b *testing.B) {
	for _, n := range []int{100, 100_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			s := newBench(&testing.T{})
			for i := range n {
				if _, err := s.accept(&queue.Message{Body: fmt.Appendf(nil, `{"job_type":"t","job_id":"%d"}`, i)}, false, s.now); err != nil {
					b.Fatal(err)
				}
			}
			w := placement.Worker{ID: "w", Device: placement.CPU, Slots: 4}
			s.beat(&job.Beat{Worker: w}, s.now)
			s.take()
			b.ResetTimer()
			for i := range b.N {
				s.now = s.now.Add(time.Millisecond)
				s.tick(s.now)
				s.place(s.now)
				e := s.take()
				s.landed(time.Now())
				beat := &job.Beat{Worker: w}
				for _, m := range e.messages {
					if m.result == "" {
						beat.Claims = append(beat.Claims, job.Claim{Job: m.ID, Attempt: 1, Token: m.ID})
					}
				}
				s.beat(beat, s.now)
				for _, c := range beat.Claims {
					s.report(&job.Report{Job: c.Job, Attempt: 1, Worker: "w", Device: placement.CPU, Ran: 0.001}, s.now)
				}
				if _, err := s.accept(&queue.Message{Body: fmt.Appendf(nil, `{"job_type":"t","job_id":"more-%d"}`, i)}, false, s.now); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(s.counts["events.completed"])/float64(b.N), "jobs/plan")
		})
	}
}

// BenchmarkMemory takes in a million jobs that do nothing, and then has another scheduler go on with them; it tells how much memory that
// takes, and how long.
func BenchmarkMemory(b *testing.B) {
	const n = 1_000_000
	heap := func() float64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return float64(m.HeapAlloc)
	}
	for b.Loop() {
		before := heap()
		st, err := store.Open(b.TempDir())
		if err != nil {
			b.Fatal(err)
		}
		begun := time.Now()
		s := newBench(&testing.T{})
		for i := range n {
			if _, err := s.accept(&queue.Message{Body: fmt.Appendf(nil, `{"job_type":"t","job_id":"%d"}`, i)}, false, s.now); err != nil {
				b.Fatal(err)
			}
			if i%10_000 != 9_999 {
				continue
			}
			c := &store.Changes{}
			for _, j := range s.take().changed {
				c.Jobs = append(c.Jobs, j)
			}
			s.landed(s.now)
			if err := st.Commit(c); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric((heap()-before)/n, "B/job")
		b.ReportMetric(time.Since(begun).Seconds(), "s-taken-in")
		runtime.KeepAlive(s)
		begun = time.Now()
		next, open := newBench(&testing.T{}), []*job.Job(nil)
		if err := st.Open(func(j *job.Job) error { open = append(open, j); return nil }); err != nil {
			b.Fatal(err)
		}
		if err := next.restore(open, true, next.now); err != nil || len(next.tasks) != n {
			b.Fatal(len(next.tasks), err)
		}
		b.ReportMetric(time.Since(begun).Seconds(), "s-restored")
		if err := st.Close(); err != nil {
			b.Fatal(err)
		}
	}
}
