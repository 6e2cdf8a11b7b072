package scheduler

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"cancha/jobs/job"
	"cancha/jobs/placement"
	"cancha/jobs/queue"
)

// TestRandom has anything happen in any order: submissions that name each other, workers that claim, run and report what they have and what
// they have not, time that passes, cancelling, replaying, and schedulers that take over. None of it is a fault of the states; and when
// honest workers are left alone, all jobs end.
func TestRandom(t *testing.T) {
	rounds := 100
	if testing.Short() {
		rounds = 10
	}
	for range rounds {
		seed := rand.Uint64()
		ok := t.Run(fmt.Sprint(seed), func(t *testing.T) {
			r := &hazard{newBench(t), rand.New(rand.NewPCG(seed, 1)), map[string]queue.Message{}}
			for range 300 {
				r.happen()
			}
			r.settle()
		})
		if !ok {
			return
		}
	}
}

// hazard is a bench to which anything happens; messages are those that are in the queues of workers.
type hazard struct {
	*bench
	*rand.Rand
	messages map[string]queue.Message
}

func (r *hazard) id() string { return fmt.Sprint("j", r.IntN(30)) }

func (r *hazard) do(after time.Duration, what func()) {
	r.step(after, what)
	for _, m := range r.did.messages {
		if m.result == "" {
			r.messages[m.ID+"/"+m.Headers[job.HeaderAttempt]] = m.Message
		}
	}
}

func (r *hazard) worker() placement.Worker {
	w := cpu(fmt.Sprint("w", r.IntN(3)))
	if w.ID == "w2" {
		w.Types = []string{"t"}
	}
	return w
}

func (r *hazard) happen() {
	wait := time.Duration(r.IntN(2000)) * time.Millisecond
	if r.IntN(20) == 0 {
		wait *= 10
	}
	switch r.IntN(12) {
	case 0, 1, 2:
		r.do(wait, func() { r.submission() })
	case 3, 4, 5, 6:
		r.do(wait, func() { r.beat(r.beatOf(), r.now) })
	case 7, 8:
		report := &job.Report{Job: r.id(), Attempt: r.IntN(4), Worker: r.worker().ID, Device: placement.CPU, Final: r.IntN(8) == 0}
		if r.IntN(2) == 0 {
			report.Error = "it burns"
		}
		r.do(wait, func() { r.report(report, r.now) })
	case 9:
		d := &queue.Delivery{Message: queue.Message{ID: r.id(), Headers: map[string]string{job.HeaderAttempt: fmt.Sprint(r.IntN(4))}}, Count: 20}
		r.do(wait, func() { r.worn(d, r.now) })
	case 10:
		r.do(wait, func() { _ = r.cancel(r.id(), r.now) }) // it may have ended
		r.do(0, func() { _ = r.replay(r.id(), r.now) })    // few are dead
	case 11:
		r.takeOver()
	}
}

func (r *hazard) submission() {
	id, fields := r.id(), map[string]any{"job_type": "t", "priority": r.IntN(10)}
	fields["job_id"] = id
	if r.IntN(3) == 0 {
		fields["key"] = fmt.Sprint("k", r.IntN(5))
	}
	if other := r.id(); r.IntN(3) == 0 && other != id {
		fields["after"] = []string{other}
	}
	if r.IntN(6) == 0 {
		fields["deadline"] = float64(r.now.Add(time.Duration(r.IntN(60)-5) * time.Second).Unix())
	}
	if r.IntN(6) == 0 {
		fields["not_before"] = float64(r.now.Add(time.Duration(r.IntN(5)-2) * time.Second).Unix())
	}
	body, err := json.Marshal(fields)
	if err == nil {
		_, err = r.accept(&queue.Message{Body: body}, false, r.now)
	}
	if err != nil {
		r.Error(err)
	}
}

func (r *hazard) beatOf() *job.Beat {
	b := &job.Beat{Worker: r.worker(), Gone: r.IntN(15) == 0}
	b.Worker.Draining = r.IntN(10) == 0
	for range r.IntN(4) {
		b.Running = append(b.Running, job.Run{Job: r.id(), Attempt: r.IntN(4), Elapsed: float64(r.IntN(10))})
		b.Claims = append(b.Claims, job.Claim{Job: r.id(), Attempt: r.IntN(4), Count: 1 + r.IntN(2), Token: fmt.Sprint(r.IntN(4))})
	}
	return b
}

// takeOver goes on with another scheduler, and what was put down.
func (r *hazard) takeOver() {
	next := newBench(r.T)
	next.now, next.past = r.now, r.bench.past
	var open []*job.Job
	for i := range 30 {
		if j := r.bench.past[fmt.Sprint("j", i)]; j != nil && !j.State.Ended() {
			c := *j
			open = append(open, &c)
		}
	}
	r.bench = next
	r.do(0, func() {
		if err := r.restore(open, r.IntN(2) == 0, r.now); err != nil {
			r.Error(err)
		}
	})
}

// settle lets one honest worker do what is to be done, until all has ended.
func (r *hazard) settle() {
	w := cpu("honest")
	for range 600 {
		b := &job.Beat{Worker: w}
		for name := range r.messages {
			c := job.Claim{Token: "honest", Count: 1}
			r.scan(name, &c.Job, &c.Attempt)
			b.Claims = append(b.Claims, c)
		}
		r.do(time.Second, func() { r.beat(b, r.now) })
		for _, o := range r.ordered(w.ID) {
			if o.Verdict == job.Later {
				continue
			}
			delete(r.messages, fmt.Sprintf("%s/%d", o.Job, o.Attempt))
			if o.Verdict == job.Begin {
				r.do(0, func() {
					r.report(&job.Report{Job: o.Job, Attempt: o.Attempt, Worker: w.ID, Device: placement.CPU}, r.now)
				})
			}
		}
		if len(r.tasks) == 0 {
			if len(r.out)+len(r.keys)+len(r.blocked)+len(r.followers) > 0 {
				r.Errorf("no job is open, and there are left: %v, %v, %v, %v", r.out, r.keys, r.blocked, r.followers)
			}
			return
		}
	}
	for _, t := range r.tasks {
		r.Errorf("%s does not end: %+v", t.ID, *t.Job)
	}
}
