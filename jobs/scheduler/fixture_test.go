package scheduler

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"cancha/jobs/job"
	"cancha/jobs/placement"
	"cancha/jobs/queue"
	"cancha/jobs/store"
)

// bench is a state with a clock of its own, and a past in memory.
type bench struct {
	*testing.T
	*state
	now   time.Time
	past  map[string]*job.Job
	did   effects // of the last step
	alone starts  // likewise
	sent  []string
	fault error // of the past
}

func newBench(t *testing.T) *bench {
	b := &bench{T: t, now: time.Unix(1_800_000_000, 0).UTC(), past: map[string]*job.Job{}}
	settings, err := Settings{Placement: placement.Settings{Explore: -1}}.normalize()
	if err != nil {
		t.Fatal(err)
	}
	if b.state, err = newState(settings, b, &placement.History{}); err != nil {
		t.Fatal(err)
	}
	n := 0
	b.newID = func() string { n++; return fmt.Sprint("made-", n) }
	b.random = func() float64 { return 0.5 }
	return b
}

func (b *bench) Get(id string) (*job.Job, error) {
	if j := b.past[id]; j != nil {
		return j, nil
	}
	if b.fault != nil && strings.HasPrefix(id, "in-the-store") {
		return nil, b.fault
	}
	return nil, store.ErrUnknown
}

func (b *bench) ByKey(key string) (*job.Job, error) {
	for _, j := range b.past {
		if j.Key == key && j.SameAs == "" && (!j.State.Ended() || j.State == job.Completed) { // as the store, which has the last one
			return j, nil
		}
	}
	return nil, store.ErrUnknown
}

// step lets so much time pass, does something, and carries out what is to be done.
func (b *bench) step(after time.Duration, do func()) {
	b.Helper()
	b.now = b.now.Add(after)
	do()
	b.tick(b.now)
	if b.replan {
		b.place(b.now)
	}
	for id, t := range b.tasks {
		if with := t.State == job.Assigned || t.State == job.Running; with != (b.out[id] == t) {
			b.Errorf("job %s is %s, and on the list of those that are with workers: %v", id, t.State, b.out[id] == t)
		}
	}
	for id, t := range b.out {
		if b.tasks[id] != t {
			b.Errorf("job %s has ended, and is on the list of those that are with workers", id)
		}
	}
	b.did = b.state.take()
	b.alone = b.starts
	b.starts = starts{}
	b.state.told(b.alone.grants)
	b.landed(b.now)
	for _, j := range b.did.changed {
		c := *j
		b.past[j.ID] = &c
	}
	for _, m := range b.did.messages {
		b.sent = append(b.sent, m.queue+" "+m.ID+m.Headers[job.HeaderAttempt])
	}
}

func (b *bench) submit(body string) {
	b.Helper()
	b.step(time.Millisecond, func() {
		if _, err := b.accept(&queue.Message{Body: []byte(body)}, false, b.now); err != nil {
			b.Fatal(err)
		}
	})
}

func cpu(id string) placement.Worker {
	return placement.Worker{ID: id, Device: placement.CPU, Memory: 8e9}
}

// beats has a worker beat, with what it runs and what it claims: "job/attempt".
func (b *bench) beats(w placement.Worker, runs, claims string) (verdicts map[string]job.Verdict) {
	b.Helper()
	beat := &job.Beat{Worker: w}
	for _, f := range strings.Fields(runs) {
		r := job.Run{}
		b.scan(f, &r.Job, &r.Attempt)
		beat.Running = append(beat.Running, r)
	}
	for _, f := range strings.Fields(claims) {
		c := job.Claim{Token: "first", Count: 1}
		if again := strings.TrimSuffix(f, "!"); again != f {
			f, c.Token, c.Count = again, "second", 2
		}
		b.scan(f, &c.Job, &c.Attempt)
		beat.Claims = append(beat.Claims, c)
	}
	b.step(time.Millisecond, func() { b.beat(beat, b.now) })
	verdicts = map[string]job.Verdict{}
	for _, o := range b.ordered(w.ID) {
		verdicts[fmt.Sprintf("%s/%d", o.Job, o.Attempt)] = o.Verdict
	}
	return verdicts
}

// ordered is all that a worker was told in the last step.
func (b *bench) ordered(worker string) []job.Order {
	return slices.Concat(b.did.orders[worker], b.did.grants[worker], b.alone.grants[worker])
}

func (b *bench) scan(text string, name *string, attempt *int) {
	b.Helper()
	at := strings.LastIndex(text, "/")
	*name = text[:at]
	if _, err := fmt.Sscan(text[at+1:], attempt); err != nil {
		b.Fatal(err)
	}
}

func (b *bench) reports(r job.Report) {
	b.Helper()
	if r.Worker == "" {
		r.Worker, r.Device = "w", placement.CPU
	}
	b.step(time.Millisecond, func() { b.report(&r, b.now) })
}

// is checks in which state a job is, and that what was put down says so.
func (b *bench) is(id string, want job.State, saying string) {
	b.Helper()
	j := b.past[id]
	switch {
	case j == nil:
		b.Fatalf("there is no job %s", id)
	case j.State != want || !strings.Contains(j.Error+" "+j.Reason, saying):
		b.Fatalf("job %s is %s (%s; %s), want %s: %s", id, j.State, j.Error, j.Reason, want, saying)
	case want.Ended() == (b.tasks[id] != nil):
		b.Fatalf("job %s is %s, and open: %v", id, want, b.tasks[id] != nil)
	}
}

// went checks what was sent since the last time.
func (b *bench) went(want ...string) {
	b.Helper()
	if fmt.Sprint(b.sent) != fmt.Sprint(want) {
		b.Fatalf("sent %v, want %v", b.sent, want)
	}
	b.sent = nil
}

const simple = `{"job_type":"vector_addition","job_id":"a","size":1000}`

// beatOf has a process of worker w beat.
func (b *bench) beatOf(process string, after time.Duration, change ...func(*job.Beat)) {
	b.Helper()
	beat := &job.Beat{Worker: cpu("w"), Process: process}
	for _, f := range change {
		f(beat)
	}
	b.step(after, func() { b.beat(beat, b.now) })
}

func claims(name string, attempt int) func(*job.Beat) {
	return func(b *job.Beat) { b.Claims = []job.Claim{{Job: name, Attempt: attempt, Token: b.Process, Count: 1}} }
}

func runs(name string, attempt int) func(*job.Beat) {
	return func(b *job.Beat) { b.Running = []job.Run{{Job: name, Attempt: attempt}} }
}
