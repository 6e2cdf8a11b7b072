package worker_test

import (
	"context"
	"encoding/json"
	"runtime"
	"strings"
	"testing"
	"time"

	"cancha/jobs/job"
	"cancha/jobs/placement"
	"cancha/jobs/queue"
	"cancha/jobs/worker"
)

// deaf is a function that does not heed its context: it returns when the test ends, or when it is released.
func deaf(t testing.TB) (f worker.Func, begun chan string, release chan struct{}) {
	begun, release = make(chan string, 100), make(chan struct{})
	over := make(chan struct{})
	t.Cleanup(func() { close(over) })
	return func(_ context.Context, task *worker.Task) (any, error) {
		begun <- task.ID
		select {
		case <-release:
		case <-over:
		}
		return "too late", nil
	}, begun, release
}

// startWith starts a worker with a short grace.
func (b *bench) startWith(c worker.Config) *worker.Worker {
	b.Helper()
	c.Broker, c.Beat, c.Grace = b.Broker, 20*time.Millisecond, 10*time.Millisecond
	c.Worker.ID, c.Worker.Device = "w", placement.CPU
	w, err := worker.Start(b.Context(), c)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = w.Close() }) // it may be closed by then
	return w
}

// says waits for a beat.
func (b *bench) says(what string, is func(*job.Beat) bool) {
	b.Helper()
	wait := time.After(20 * time.Second)
	for {
		select {
		case beat := <-b.beats:
			if is(beat) {
				return
			}
		case <-wait:
			b.Fatalf("no beat says that %s", what)
		}
	}
}

func stuck(n int) func(*job.Beat) bool {
	return func(b *job.Beat) bool { return len(b.Stuck) == n && b.Worker.Stuck == n && len(b.Running) == 0 }
}

// TestTimeoutNotHeeded: an attempt ends a grace after its timeout though its function goes on; the slot is lost and said to be, what the
// worker had fetched goes back, and when the function has returned the worker takes jobs again.
func TestTimeoutNotHeeded(t *testing.T) {
	b := newBench(t)
	f, begun, release := deaf(t)
	w := b.startWith(worker.Config{Funcs: map[string]worker.Func{"deaf": f, "other": nothing}})
	b.give("a", `{"job_id":"a","job_type":"deaf","timeout":0.01}`)
	<-begun
	b.give("b", `{"job_id":"b","job_type":"other"}`)
	r := b.next()
	if r.Job != "a" || r.Final || !strings.Contains(r.Error, "longer than its timeout, 10ms") ||
		!strings.Contains(r.Error, `the function of "deaf" does not heed its context`) {
		t.Errorf("got %+v", r)
	}
	<-w.Stuck()
	b.says("a slot is lost", stuck(1))
	c, err := b.Consume(t.Context(), job.QueueCPU, 1)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if d, err := c.Next(ctx); err != nil || d.ID != "b" { // another worker gets it
		t.Fatalf("got %+v, %v", d, err)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	close(release)
	if r := b.next(); r.Job != "b" || r.Error != "" {
		t.Errorf("got %+v", r)
	}
	b.says("no slot is lost", stuck(0))
}

// TestOneSlotLost: the other slots go on.
func TestOneSlotLost(t *testing.T) {
	b := newBench(t)
	f, begun, _ := deaf(t)
	w := b.startWith(worker.Config{Worker: placement.Worker{Slots: 2}, Funcs: map[string]worker.Func{"deaf": f, "other": nothing}})
	b.give("a", `{"job_id":"a","job_type":"deaf","timeout":0.01}`)
	<-begun
	b.next()
	b.says("a slot is lost", stuck(1))
	for _, id := range []string{"b", "c", "d"} {
		b.give(id, `{"job_id":"`+id+`","job_type":"other"}`)
		if r := b.next(); r.Job != id {
			t.Errorf("got %+v", r)
		}
	}
	select {
	case <-w.Stuck():
		t.Error("it says that all slots are stuck")
	default:
	}
}

// TestCancelNotHeeded: a job that was cancelled is reported by nobody, and its message is done; its slot is lost.
func TestCancelNotHeeded(t *testing.T) {
	b := newBench(t)
	f, begun, _ := deaf(t)
	w := b.startWith(worker.Config{Funcs: map[string]worker.Func{"deaf": f}})
	b.give("a", `{"job_id":"a","job_type":"deaf"}`)
	<-begun
	body, _ := json.Marshal([]job.Order{{Job: "a", Attempt: 1, Verdict: job.Drop}})
	if err := b.Announce(t.Context(), job.WorkerTopic("w"), queue.Message{Body: body}); err != nil {
		t.Fatal(err)
	}
	<-w.Stuck()
	b.says("a slot is lost", stuck(1))
	for info := (queue.Info{InHand: 1}); info.InHand+info.Ready > 0; {
		var err error
		if info, err = b.Inspect(t.Context(), job.QueueCPU); err != nil {
			t.Fatal(err)
		}
	}
}

// TestLastSlotOfItsOwn: where only this process runs the type, and no slot is left, the job's attempts are used up: it would wait for ever.
func TestLastSlotOfItsOwn(t *testing.T) {
	for _, c := range []struct {
		name       string
		own, again bool
		last       bool
	}{{"of this process alone", true, false, true}, {"which is started anew", true, true, false}, {"of any worker", false, false, false}} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t)
			f, _, _ := deaf(t)
			b.startWith(worker.Config{Funcs: map[string]worker.Func{"deaf": f}, Own: c.own, Replaced: c.again})
			name := job.QueueCPU
			if c.own {
				name = job.WorkerQueue(placement.CPU, "w")
			}
			m := queue.Message{ID: "a", Body: []byte(`{"job_id":"a","job_type":"deaf","timeout":0.01}`), Headers: map[string]string{job.HeaderAttempt: "1"}}
			if err := b.Publish(t.Context(), name, m); err != nil {
				t.Fatal(err)
			}
			if r := b.next(); r.Final || r.Last != c.last || strings.Contains(r.Error, "No slot is left") != c.last {
				t.Errorf("got %+v, want the last: %v", r, c.last)
			}
		})
	}
}

// TestGoexit: a function that ends its goroutine has failed, with or without a grace, and its slot is free.
func TestGoexit(t *testing.T) {
	b := newBench(t)
	b.startWith(worker.Config{Funcs: map[string]worker.Func{"leaves": func(context.Context, *worker.Task) (any,
		error) {
		runtime.Goexit()
		return 1, nil
	}, "other": nothing}})
	b.give("a", `{"job_id":"a","job_type":"leaves"}`)
	if r := b.next(); !strings.Contains(r.Error, "runtime.Goexit") || r.Final || len(r.Result) > 0 {
		t.Errorf("got %+v", r)
	}
	b.give("b", `{"job_id":"b","job_type":"other"}`)
	if r := b.next(); r.Job != "b" || r.Error != "" {
		t.Errorf("got %+v", r)
	}
}

// TestCloseDoesNotHang: neither draining nor closing waits for a function that does not end.
func TestCloseDoesNotHang(t *testing.T) {
	for name, timeout := range map[string]string{"it runs": "", "it is lost": `,"timeout":0.01`} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			f, begun, _ := deaf(t)
			w := b.startWith(worker.Config{Funcs: map[string]worker.Func{"deaf": f}})
			b.give("a", `{"job_id":"a","job_type":"deaf"`+timeout+`}`)
			<-begun
			if timeout != "" {
				<-w.Stuck()
				if err := w.Drain(t.Context()); err != nil {
					t.Error(err)
				}
			}
			if err := w.Close(); err != nil {
				t.Error(err)
			}
			b.says("it is gone", func(b *job.Beat) bool { return b.Gone })
		})
	}
}
