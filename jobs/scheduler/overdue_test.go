package scheduler

import (
	"slices"
	"strings"
	"testing"
	"time"

	"cancha/jobs/job"
	"cancha/jobs/placement"
)

const limited = `{"job_type":"vector_addition","job_id":"a","size":1000,"timeout":60,"max_attempts":2}`

// lasts lets time pass in which a worker beats that it runs something.
func (b *bench) lasts(d time.Duration, w placement.Worker, runs string) {
	b.Helper()
	for end := b.now.Add(d); b.now.Before(end); {
		b.step(2*time.Second, func() {})
		b.beats(w, runs, "")
	}
}

// An attempt whose worker lives, and says that it goes on, ends all the same when its timeout and the grace are over; the job is tried
// again, and dead after its attempts.
func TestTimeoutEnforced(t *testing.T) {
	b := newBench(t)
	b.beats(cpu("w"), "", "")
	b.submit(limited)
	b.beats(cpu("w"), "", "a/1")
	b.lasts(80*time.Second, cpu("w"), "a/1")
	b.is("a", job.Running, "")
	b.lasts(6*time.Second, cpu("w"), "a/1")
	b.step(4*time.Second, func() {})
	b.is("a", job.Queued, "it has taken longer than its timeout, 1m0s, and worker w has not ended it within 30s more")
	if o := b.ordered("w"); len(o) != 1 || o[0].Verdict != job.Drop || o[0].Attempt != 1 {
		t.Errorf("it is told %v", o)
	}
	if n := len(b.workers["w"].running); n != 0 {
		t.Errorf("its worker has %d jobs", n)
	}
	b.reports(job.Report{Job: "a", Attempt: 1, Worker: "w", Device: placement.CPU, Result: []byte("1")})
	b.is("a", job.Queued, "")
	b.lasts(4*time.Second, cpu("w"), "")
	b.beats(cpu("w"), "", "a/2")
	b.is("a", job.Running, "")
	b.lasts(92*time.Second, cpu("w"), "a/2")
	b.is("a", job.Dead, "longer than its timeout")
	if b.counts["attempts overdue"] != 2 || b.counts["executed twice"] != 0 {
		t.Errorf("%v", b.counts)
	}
}

// One that ends in time, or within the grace, is told of by its worker alone; so is one of a scheduler that did not run, or did not hear
// itself, meanwhile.
func TestTimeoutNotEnforced(t *testing.T) {
	for name, meanwhile := range map[string]func(b *bench){
		"in time":          func(b *bench) { b.lasts(30*time.Second, cpu("w"), "a/1") },
		"within the grace": func(b *bench) { b.lasts(70*time.Second, cpu("w"), "a/1") },
		"it did not run": func(b *bench) {
			b.now = b.now.Add(time.Hour)
			b.slept(time.Hour)
			b.lasts(40*time.Second, cpu("w"), "a/1")
		},
		"it was not heard": func(b *bench) {
			b.step(0, func() { b.echo(b.now) })
			b.step(time.Hour, func() {})
			b.step(0, func() { b.echo(b.now) })
		},
		"another scheduler": func(b *bench) { b.until("a", b.now.Add(time.Hour)); b.lasts(95*time.Second, cpu("w"), "a/1") },
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.beats(cpu("w"), "", "")
			b.submit(limited)
			b.beats(cpu("w"), "", "a/1")
			meanwhile(b)
			b.is("a", job.Running, "")
			b.reports(job.Report{Job: "a", Attempt: 1, Worker: "w", Device: placement.CPU, Result: []byte("1")})
			b.is("a", job.Completed, "")
			b.step(time.Hour, func() {})
			b.is("a", job.Completed, "")
		})
	}
}

func (b *bench) until(id string, at time.Time) { b.tasks[id].until = at }

// What runs when a scheduler takes over is limited by it, too.
func TestTimeoutAfterTakeover(t *testing.T) {
	b := newBench(t)
	b.beats(cpu("w"), "", "")
	b.submit(limited)
	b.beats(cpu("w"), "", "a/1")
	j := *b.past["a"]
	next := newBench(t)
	next.now, next.past = b.now, b.past
	next.step(time.Second, func() {
		if err := next.restore([]*job.Job{&j}, true, next.now); err != nil {
			t.Fatal(err)
		}
	})
	next.lasts(94*time.Second, cpu("w"), "a/1")
	next.is("a", job.Assigned, "longer than its timeout") // once more
}

// Nobody is told to begin before it is put down that the attempt has begun: alone where the store knows the job, and with the job where it does not.
func TestBeginsOnceStored(t *testing.T) {
	for name, known := range map[string]bool{"known": true, "not known yet": false} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.beats(cpu("w"), "", "")
			b.submit(simple)
			if !known { // its message was faster than the commit
				b.tasks["a"].down = 0
			}
			for range 2 { // and when it asks once more
				b.beats(cpu("w"), "", "a/1")
				if o := b.did.orders["w"]; len(o) != 0 {
					t.Errorf("it is told %v at once", o)
				}
				alone, with := b.alone.grants["w"], b.did.grants["w"]
				if known {
					alone, with = with, alone
				}
				if len(alone) != 0 || len(with) != 1 || with[0].Verdict != job.Begin {
					t.Errorf("it is told %v and %v", alone, with)
				}
			}
			if j := b.past["a"]; j.Begun != 1 || j.State != job.Running {
				t.Errorf("%+v", j)
			}
		})
	}
}

// A claim that is repeated while its answer is under way gets no other one, and what is put down alone is taken out when the store has the whole.
func TestBeginsOnce(t *testing.T) {
	b := newBench(t)
	b.beats(cpu("w"), "", "")
	b.submit(simple)
	claims := &job.Beat{Worker: cpu("w"), Claims: []job.Claim{{Job: "a", Attempt: 1, Token: "first", Count: 1}}}
	for range 3 {
		b.beat(claims, b.now)
	}
	if len(b.starts.jobs) != 1 || len(b.starts.grants["w"]) != 1 || b.starts.jobs[0].Begun != 1 {
		t.Errorf("got %+v", b.starts)
	}
	b.step(time.Millisecond, func() {})
	if !slices.Equal(b.covered, []string{"a"}) || len(b.noted) != 0 {
		t.Errorf("covered are %q, noted %v", b.covered, b.noted)
	}
}

// A worker whose slots are all stuck is given nothing, and what it was given runs elsewhere; it is shown, and takes jobs when it has a slot again.
func TestStuckWorker(t *testing.T) {
	b := newBench(t)
	stuck := cpu("w")
	b.beats(stuck, "", "")
	b.submit(simple)
	b.went("cpu_queue a1")
	stuck.Stuck = 1
	b.beats(stuck, "", "")
	b.is("a", job.Queued, "cpu workers are stuck")
	b.beats(cpu("v"), "", "")
	b.is("a", job.Assigned, "")
	b.went("cpu_queue a2")
	b.beats(cpu("v"), "", "a/2")
	b.submit(strings.Replace(simple, `"a"`, `"b"`, 1))
	if p := b.tasks["b"].planned; p != "v" {
		t.Errorf("b goes to %q", p)
	}
	stuck.Stuck = 0
	b.beats(stuck, "", "")
	b.step(time.Second, func() {})
	b.submit(strings.Replace(simple, `"a"`, `"c"`, 1))
	if p := b.tasks["c"].planned; p != "w" {
		t.Errorf("c goes to %q", p)
	}
}

// What a worker that has fallen silent may have fetched is sent again at once, though all others are busy; what was sent since, and it has
// got all the same, is when others have had their turn.
func TestSilentWorkerHoldsMessages(t *testing.T) {
	b := newBench(t)
	v := cpu("v")
	v.Slots = 2
	named := func(id string) string { return strings.Replace(simple, `"a"`, `"`+id+`"`, 1) }
	b.beats(v, "", "")
	b.beats(cpu("w"), "", "")
	b.submit(named("a"))
	b.submit(named("b"))
	b.submit(named("c"))
	b.went("cpu_queue a1", "cpu_queue b1", "cpu_queue c1")
	b.beats(v, "", "a/1")
	b.beats(cpu("w"), "", "b/1") // it has fetched c, too, and is stopped
	b.lasts(14*time.Second, v, "a/1")
	if got := b.tasks["c"].Attempt; got != 2 {
		t.Fatalf("c is in attempt %d: %s", got, b.tasks["c"].Reason)
	}
	b.sent = nil
	b.beats(v, "a/1", "c/2")
	b.step(0, func() { _ = b.cancel("b", b.now) })
	b.submit(named("d")) // w, whose connection stands, gets it
	b.lasts(12*time.Second, v, "a/1 c/2")
	if got := b.tasks["d"].Attempt; got != 1 {
		t.Fatalf("d is in attempt %d: %s", got, b.tasks["d"].Reason)
	}
	b.submit(named("e"))
	b.beats(v, "a/1 c/2", "e/1")
	b.lasts(4*time.Second, v, "a/1 c/2 e/1")
	if d := b.tasks["d"]; d.Attempt != 2 || d.State != job.Assigned || !d.own {
		t.Errorf("d, which was sent before e: attempt %d, %s", d.Attempt, d.Reason)
	}
}

// A job whose last slot is lost is dead, whatever its attempts.
func TestLastSlot(t *testing.T) {
	b := newBench(t)
	b.beats(cpu("w"), "", "")
	b.submit(simple)
	b.beats(cpu("w"), "", "a/1")
	b.reports(job.Report{Job: "a", Attempt: 1, Worker: "w", Device: placement.CPU, Error: "it does not end", Last: true})
	b.is("a", job.Dead, "it does not end")
}
