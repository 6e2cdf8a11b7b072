package worker

import (
	"context"
	"testing"
	"time"

	"cancha/jobs/job"
	"cancha/jobs/placement"
)

// An answer that is older than a lease is of no account: the process was stopped since it has asked, and may have been given up. It asks
// again, and begins when the answer is fresh.
func TestLateAnswer(t *testing.T) {
	clock := make(chan time.Time, 1)
	clock <- time.Unix(1000, 0)
	w := &Worker{config: Config{Beat: time.Minute}, self: placement.Worker{ID: "w"}, pulse: make(chan struct{}, 1),
		claims: map[attempt]*claim{}, ctx: context.Background(),
		now: func() time.Time { at := <-clock; clock <- at; return at }}
	a, verdict := attempt{"a", 1}, make(chan job.Verdict, 1)
	go func() { verdict <- w.claim(a, 1) }()
	<-w.pulse // it has asked
	<-clock
	clock <- time.Unix(1000, 0).Add(w.late())
	order := job.Order{Job: "a", Attempt: 1, Verdict: job.Begin}
	w.obey(order)
	select {
	case v := <-verdict:
		t.Fatalf("it was told %q by an answer of %v ago", v, w.late())
	case <-w.pulse: // it has asked again
	}
	w.obey(order)
	if v := <-verdict; v != job.Begin {
		t.Errorf("got %q for a fresh answer", v)
	}
}
