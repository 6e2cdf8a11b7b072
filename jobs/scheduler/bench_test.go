package scheduler

import (
	"fmt"
	"testing"
	"time"

	"cancha/jobs/job"
	"cancha/jobs/placement"
	"cancha/jobs/queue"
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
