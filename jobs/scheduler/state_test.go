package scheduler

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"cancha/jobs/job"
	"cancha/jobs/placement"
	"cancha/jobs/queue"
)

// A job's whole way.
func TestWay(t *testing.T) {
	b := newBench(t)
	b.submit(simple)
	b.is("a", job.Queued, "")
	b.went()
	b.beats(cpu("w"), "", "")
	b.is("a", job.Assigned, "cpu: ")
	b.went("cpu_queue a1")
	if v := b.beats(cpu("w"), "", "a/1")["a/1"]; v != job.Begin {
		t.Errorf("got %q", v)
	}
	b.is("a", job.Running, "")
	b.reports(job.Report{Job: "a", Attempt: 1, Ran: 0.5, Result: json.RawMessage(`{"sum":1}`)})
	b.is("a", job.Completed, "")
	b.went("result_queue a")
	if j := b.past["a"]; string(j.Result) != `{"sum":1}` || j.Begun != 1 || j.Worker != "w" || j.Ran != 0.5 || len(j.Predicted) == 0 {
		t.Errorf("%+v", j)
	}
	b.submit(simple) // again: it is answered, and not done again
	b.went("result_queue a")
	b.reports(job.Report{Job: "a", Attempt: 1}) // as after a crash
	b.reports(job.Report{Job: "a", Attempt: 2})
	if b.counts["reports again"] != 1 || b.counts["executed twice"] != 1 {
		t.Errorf("counts %v", b.counts)
	}
}

// What fails is tried again after a while, until it is dead; a fault for good is none of that.
func TestRetry(t *testing.T) {
	b := newBench(t)
	b.beats(cpu("w"), "", "")
	b.submit(simple)
	for attempt := 1; attempt <= 3; attempt++ {
		b.beats(cpu("w"), "", fmt.Sprint("a/", attempt))
		b.is("a", job.Running, "")
		b.reports(job.Report{Job: "a", Attempt: attempt, Error: "it burns"})
		if attempt < 3 {
			b.is("a", job.Queued, fmt.Sprintf("attempt %d of 3 failed; tried again in %ds", attempt, attempt))
			b.beats(cpu("w"), "", "")
			b.is("a", job.Queued, "it burns")
			b.step(time.Duration(attempt)*time.Second, func() { b.beat(&job.Beat{Worker: cpu("w")}, b.now) })
		}
	}
	b.is("a", job.Dead, "it burns")
	b.went("cpu_queue a1", "cpu_queue a2", "cpu_queue a3", "result_queue a")
	b.step(time.Second, func() {
		if err := b.replay("a", b.now); err != nil {
			t.Fatal(err)
		}
	})
	b.beats(cpu("w"), "", "a/4")
	b.reports(job.Report{Job: "a", Attempt: 4, Error: "no such picture", Final: true})
	b.is("a", job.Failed, "no such picture")
	b.step(0, func() {
		if err := b.replay("a", b.now); err == nil || !strings.Contains(err.Error(), "only dead ones") {
			t.Errorf("got %v", err)
		}
	})
}

// A worker that falls silent loses its jobs; when it speaks again, what it did is of no account.
func TestSilent(t *testing.T) {
	b := newBench(t)
	b.beats(cpu("w"), "", "")
	b.submit(simple)
	b.beats(cpu("w"), "", "a/1")
	b.step(11*time.Second, func() {})
	b.is("a", job.Queued, "worker w has not been heard of for 11")
	b.beats(cpu("x"), "", "")
	b.is("a", job.Assigned, "")
	if v := b.beats(cpu("w"), "a/1", "")["a/1"]; v != job.Drop {
		t.Errorf("the late worker is told %q", v)
	}
	if v := b.beats(cpu("x"), "", "a/1! a/2"); v["a/1"] != job.Drop || v["a/2"] != job.Begin {
		t.Errorf("got %v", v)
	}
	b.reports(job.Report{Job: "a", Attempt: 1})
	b.is("a", job.Running, "")
	b.reports(job.Report{Job: "a", Attempt: 2, Worker: "x"})
	b.is("a", job.Completed, "")
	if b.past["a"].Begun != 2 || b.counts["executed twice"] != 1 {
		t.Errorf("%+v, %v", b.past["a"], b.counts)
	}
}

// A scheduler that was stopped itself does not take its workers for silent.
func TestSlept(t *testing.T) {
	b := newBench(t)
	b.beats(cpu("w"), "", "")
	b.submit(simple)
	b.beats(cpu("w"), "", "a/1")
	b.step(time.Hour, func() { b.slept(time.Hour) })
	b.is("a", job.Running, "")
	b.step(11*time.Second, func() {})
	b.is("a", job.Queued, "has not been heard of for 11")
}

// A job whose message was for a queue that has expired waits again, for a moment, though its worker lives.
func TestBounced(t *testing.T) {
	b := newBench(t)
	own := placement.Worker{ID: "own", Device: placement.CPU, Types: []string{"vector_addition"}}
	b.beats(placement.Worker{ID: "other", Device: placement.CPU, Types: []string{"t"}}, "", "")
	b.beats(own, "", "")
	b.submit(simple)
	b.went("cpu_queue.own a1")
	messages := b.did.messages
	b.step(time.Millisecond, func() { b.bounced(messages, b.now) })
	b.is("a", job.Queued, "")
	b.step(time.Second, func() { b.beat(&job.Beat{Worker: own}, b.now); b.bounced(messages, b.now) })
	b.is("a", job.Assigned, "")
	b.went("cpu_queue.own a2")
}

// Jobs that have ended leave nothing behind, though their deadlines are far away, or they were not to run yet.
func TestNothingLeft(t *testing.T) {
	b := newBench(t)
	for i := range 1200 {
		id := fmt.Sprint(i)
		b.submit(`{"job_type":"vector_addition","job_id":"` + id + `","deadline":1900000000,"key":"k` + id + `"}`)
		b.submit(`{"job_type":"vector_addition","job_id":"same` + id + `","key":"k` + id + `","not_before":1850000000}`)
		b.submit(`{"job_type":"vector_addition","job_id":"after` + id + `","after":["` + id + `"]}`)
		b.submit(`{"job_type":"vector_addition","job_id":"later` + id + `","not_before":1850000000}`)
		for _, id := range []string{"later" + id, id} {
			if err := b.cancel(id, b.now); err != nil {
				t.Fatal(err)
			}
		}
	}
	b.step(0, func() {})
	for name, n := range map[string]int{"waiting": len(b.waiting[""].all) + len(b.waiting[placement.CPU].all) +
		len(b.waiting[placement.GPU].all), "later": len(b.later.all), "deadlines": len(b.deadlines.all), "tasks": len(b.tasks), "keys": len(b.keys),
		"followers": len(b.followers), "blocked": len(b.blocked), "out": len(b.out)} {
		if n > spare {
			t.Errorf("%d are left in %s", n, name)
		}
	}
}

// A deadline is a job's own: not that of another one which had its id, and also that of one which ends as another does.
func TestDeadlines(t *testing.T) {
	b := newBench(t)
	b.submit(`{"job_type":"vector_addition","job_id":"a","deadline":1800000020}`)
	b.step(0, func() {
		if err := b.cancel("a", b.now); err != nil {
			t.Fatal(err)
		}
	})
	delete(b.past, "a") // its time was over
	b.submit(`{"job_type":"vector_addition","job_id":"a","key":"k"}`)
	b.submit(`{"job_type":"vector_addition","job_id":"same","key":"k","deadline":1800000030}`)
	b.step(time.Minute, func() {})
	b.is("a", job.Queued, "")
	b.is("same", job.Failed, "its deadline, 2027-01-15T08:00:30Z, has passed")
}

// A message that comes again while its worker may live waits; it begins elsewhere when that is silent.
func TestRedelivered(t *testing.T) {
	b := newBench(t)
	b.beats(cpu("w"), "", "")
	b.submit(simple)
	b.beats(cpu("w"), "", "a/1")
	if v := b.beats(cpu("x"), "", "a/1!")["a/1"]; v != job.Later {
		t.Errorf("got %q", v)
	}
	b.beats(cpu("w"), "a/1", "")
	b.step(5*time.Second, func() {})
	if v := b.beats(cpu("x"), "", "a/1!")["a/1"]; v != job.Begin {
		t.Errorf("got %q", v)
	}
	if v := b.beats(cpu("x"), "", "a/1!")["a/1"]; v != job.Begin || b.tasks["a"].Begun != 2 {
		t.Errorf("an answer that was lost: %q, begun %d times", v, b.tasks["a"].Begun)
	}
}

// A worker that was started again under its name begins anew with what it ran, at once or when that is missed; it is not taken for the one
// that was before.
func TestStartedAgain(t *testing.T) {
	b := newBench(t)
	b.beats(cpu("w"), "", "")
	b.submit(simple)
	b.beats(cpu("w"), "", "a/1")
	if v := b.beats(cpu("w"), "", "a/1!")["a/1"]; v != job.Begin || b.tasks["a"].Begun != 2 {
		t.Errorf("got %q, begun %d times", v, b.tasks["a"].Begun)
	}
	for range 6 { // it is heard of, and without the job, whose message does not come again
		b.step(2*time.Second, func() { b.beat(&job.Beat{Worker: cpu("w")}, b.now) })
	}
	if b.tasks["a"].Attempt != 2 || b.past["a"].Error != "worker w does not run it any more" {
		t.Errorf("%+v", b.past["a"])
	}
}

// A message that has come too often while its job runs is not the job's end.
func TestWorn(t *testing.T) {
	b := newBench(t)
	b.beats(cpu("w"), "", "")
	b.submit(simple)
	b.beats(cpu("w"), "", "a/1")
	lost := &queue.Delivery{Message: queue.Message{ID: "a", Headers: map[string]string{job.HeaderAttempt: "1"}}, Count: 20}
	b.step(time.Second, func() { b.worn(lost, b.now) })
	b.is("a", job.Running, "")
	for range 6 {
		b.step(2*time.Second, func() { b.beat(&job.Beat{Worker: cpu("w"), Running: []job.Run{{Job: "a", Attempt: 1}}}, b.now) })
	}
	b.is("a", job.Running, "")
	b.reports(job.Report{Job: "a", Attempt: 1})
	b.is("a", job.Completed, "")
}

// A job that kills its workers is dead when it has been begun as often as it may.
func TestKiller(t *testing.T) {
	b := newBench(t)
	b.beats(cpu("w"), "", "")
	b.submit(simple)
	for n := range 3 {
		w := cpu(fmt.Sprint("w", n))
		if v := b.beats(w, "", "a/1!")["a/1"]; v != job.Begin {
			t.Fatalf("worker %d: %q", n, v)
		}
		b.step(5*time.Second, func() {})
	}
	if v := b.beats(cpu("x"), "", "a/1!")["a/1"]; v != job.Drop {
		t.Errorf("got %q", v)
	}
	b.is("a", job.Dead, "as often as it may")
}

// A job that was in hand when others killed their workers is sent anew, and dead when that does not help: with none of them it was begun.
func TestWornInHand(t *testing.T) {
	b := newBench(t)
	b.beats(cpu("w"), "", "")
	b.submit(simple)
	b.went("cpu_queue a1")
	for n := 1; n < mostWorn; n++ {
		lost := &queue.Delivery{Message: queue.Message{ID: "a", Headers: map[string]string{job.HeaderAttempt: fmt.Sprint(n)}}, Count: 20}
		b.step(time.Second, func() { b.worn(lost, b.now); b.beat(&job.Beat{Worker: cpu("w")}, b.now) })
		b.is("a", job.Assigned, "")
		b.went(fmt.Sprint("cpu_queue a", n+1))
	}
	b.step(time.Second, func() {
		b.worn(&queue.Delivery{Message: queue.Message{ID: "a", Headers: map[string]string{job.HeaderAttempt: fmt.Sprint(mostWorn)}}, Count: 20}, b.now)
	})
	b.is("a", job.Dead, "its workers ended each time")
}

// Of two processes that work under one id the first one goes on, and the other is told to leave; it gets no answer to what it claims.
func TestSameID(t *testing.T) {
	b := newBench(t)
	b.beatOf("first", 0)
	b.submit(simple)
	b.beatOf("second", 0, claims("a", 1))
	b.beatOf("first", time.Second/2) // this may have been on its way when it was killed
	if len(b.ordered("w")) != 0 {
		t.Errorf("got %v", b.did.orders)
	}
	b.beatOf("second", time.Second/2, claims("a", 1))
	b.beatOf("first", time.Second, claims("a", 1))
	if got := fmt.Sprint(b.ordered("w")); got != "[{second  0 leave} {first a 1 begin}]" {
		t.Errorf("got %v", got)
	}
	b.beatOf("second", 0, func(b *job.Beat) { b.Gone = true })
	b.is("a", job.Running, "")
	if len(b.workers) != 1 || b.workers["w"].process != "first" || b.counts["workers refused"] != 1 {
		t.Errorf("%+v, %v", b.workers["w"], b.counts)
	}
}

// A worker that was killed and started again has its id when the process before was silent for two beats, and what that ran runs anew; at
// once where that has said that it is gone.
func TestTakesOver(t *testing.T) {
	b := newBench(t)
	b.beatOf("first", 0)
	b.submit(simple)
	b.beatOf("first", 0, claims("a", 1))
	b.beatOf("second", time.Second)
	b.is("a", job.Running, "")
	b.beatOf("second", 3500*time.Millisecond)
	b.is("a", job.Assigned, "")
	if b.workers["w"].process != "second" || b.tasks["a"].Attempt != 2 || b.counts["attempts lost"] != 1 {
		t.Errorf("%+v, %+v, %v", b.workers["w"], b.tasks["a"], b.counts)
	}
	b.beatOf("first", time.Second, runs("a", 1)) // it was only stopped
	b.beatOf("second", 2*time.Second, func(b *job.Beat) { b.Gone = true })
	b.beatOf("third", 0)
	if b.workers["w"].process != "third" {
		t.Errorf("%+v", b.workers["w"])
	}
}

// While the scheduler does not hear itself, silence is nobody's fault: what runs goes on running, and who asks for it is to ask later.
func TestDeaf(t *testing.T) {
	b := newBench(t)
	b.step(0, func() { b.echo(b.now) })
	b.beats(cpu("w"), "", "")
	b.submit(simple)
	b.beats(cpu("w"), "", "a/1")
	b.step(30*time.Second, func() {})
	if at := b.next(b.now); !at.IsZero() {
		t.Errorf("it is time for something at %v", at)
	}
	if v := b.beats(cpu("x"), "", "a/1!")["a/1"]; v != job.Later {
		t.Errorf("got %q", v)
	}
	b.step(0, func() { b.echo(b.now) })
	b.is("a", job.Running, "")
	b.beats(cpu("w"), "a/1", "")
	for range 10 { // it hears itself, and not the worker
		b.step(2*time.Second, func() { b.echo(b.now) })
	}
	if j := b.past["a"]; !strings.Contains(j.Error, "worker w has not been heard of") {
		t.Errorf("%+v", j)
	}
}

// A worker that was thought to be stalled takes jobs again when it is heard of: a job that waits is not forgotten when nothing else happens.
func TestStalled(t *testing.T) {
	b := newBench(t)
	b.beats(cpu("w"), "", "")
	b.step(6*time.Second, func() {})
	b.submit(simple)
	b.is("a", job.Queued, "take nothing now")
	b.beats(cpu("w"), "", "")
	b.step(anew, func() {})
	b.is("a", job.Assigned, "")
}

// A job of a type that no worker has fails after a while, unless there is nobody to tell, or one was there that had it.
func TestUnknownType(t *testing.T) {
	b := newBench(t)
	w := cpu("w")
	w.Types = []string{"known"}
	b.submit(`{"job_type":"unheard","job_id":"a"}`)
	b.step(11*time.Minute, func() {})
	b.is("a", job.Queued, "")
	b.submit(`{"job_type":"known","job_id":"b","not_before":1.9e9}`)
	b.beats(w, "", "")
	beating := func() {
		for range 100 {
			b.step(8*time.Second, func() { b.beat(&job.Beat{Worker: w}, b.now) })
		}
	}
	beating()
	b.is("a", job.Failed, `job_type: "unheard"; no worker runs it, and none has come in 30s that does. They run known`)
	b.submit(`{"job_type":"known","job_id":"c"}`)
	b.submit(`{"job_type":"matrix_multiply","job_id":"d"}`)
	const once = "map.ABCDEFGHIJKLMNOPQRSTUVWXYZ" // a type of one process
	w.Types = []string{"other", once}
	b.beats(w, "", "")
	for i := range 10 {
		b.submit(fmt.Sprintf(`{"job_type":%q,"job_id":"m%d"}`, once, i))
	}
	beating()
	b.is("m9", job.Queued, "")
	w.Types = []string{"other"} // it is gone, and does not come back
	beating()
	b.is("m9", job.Failed, "no worker runs it")
	b.is("d", job.Queued, "") // no worker has this one, and it is one of all
	if b.past["c"].State.Ended() || b.past["b"].State.Ended() {
		t.Errorf("%+v, %+v", b.past["b"], b.past["c"])
	}
}

// Cancelled, late and depending jobs end, whatever state they are in.
func TestEnds(t *testing.T) {
	b := newBench(t)
	w := cpu("w")
	b.submit(`{"job_type":"vector_addition","job_id":"early","not_before":1800000100}`)
	b.submit(`{"job_type":"vector_addition","job_id":"late","deadline":1800000020}`)
	b.submit(`{"job_type":"vector_addition","job_id":"c"}`)
	b.submit(`{"job_type":"vector_addition","job_id":"d","after":["c"]}`)
	b.submit(`{"job_type":"vector_addition","job_id":"e","after":["d"]}`)
	b.submit(`{"job_type":"vector_addition","job_id":"f","after":["nobody"]}`)
	b.is("f", job.Failed, `there is no job "nobody"`)
	b.is("d", job.Queued, "waits for 1 jobs")
	b.beats(w, "", "")
	b.beats(w, "", "c/1")
	b.step(0, func() {
		if err := b.cancel("c", b.now); err != nil {
			t.Error(err)
		}
	})
	b.is("c", job.Cancelled, "")
	b.is("d", job.Failed, "after: job c is cancelled")
	b.is("e", job.Failed, "after: job d is failed")
	if o := b.did.orders["w"]; len(o) != 1 || o[0].Job != "c" || o[0].Verdict != job.Drop {
		t.Errorf("the worker is told %+v", o)
	}
	b.reports(job.Report{Job: "c", Attempt: 1})
	b.is("c", job.Cancelled, "")
	b.step(20*time.Second, func() { b.beat(&job.Beat{Worker: w}, b.now) })
	b.is("late", job.Failed, "its deadline, 2027-01-15T08:00:20Z, has passed")
	b.is("early", job.Queued, "")
	b.step(80*time.Second, func() { b.beat(&job.Beat{Worker: w}, b.now) })
	b.is("early", job.Assigned, "")
}

// Two submissions of a key are one job, unless it has failed.
func TestKey(t *testing.T) {
	b := newBench(t)
	b.beats(cpu("w"), "", "")
	keyed := func(id string) string { return `{"job_type":"vector_addition","key":"k","job_id":"` + id + `"}` }
	b.submit(keyed("a"))
	b.submit(keyed("b"))
	b.is("b", job.Queued, "job a was submitted before")
	b.beats(cpu("w"), "", "a/1")
	b.reports(job.Report{Job: "a", Attempt: 1, Result: json.RawMessage("7")})
	b.is("b", job.Completed, "as job a")
	b.submit(keyed("c"))
	b.is("c", job.Completed, "as job ")
	if string(b.past["c"].Result) != "7" || b.past["c"].Begun != 0 {
		t.Errorf("%+v", b.past["c"])
	}
	if told := string(b.did.messages[0].Body); !strings.Contains(told, `"same_as":"a"`) {
		t.Errorf("told %s", told)
	}
	b.went("cpu_queue a1", "result_queue a", "result_queue b", "result_queue c")
}

// What has ended has, though the store does not know yet: it is not run again, and who comes after it does not wait for it.
func TestUncommitted(t *testing.T) {
	b := newBench(t)
	b.beats(cpu("w"), "", "")
	b.submit(`{"job_type":"vector_addition","job_id":"a","key":"k"}`)
	b.beats(cpu("w"), "", "a/1")
	for name, settle := range map[string]func(){"not taken": func() {}, "under way": func() { b.state.take() }} {
		if b.tasks["a"] != nil {
			b.report(&job.Report{Job: "a", Attempt: 1, Worker: "w", Device: placement.CPU, Result: json.RawMessage("7")}, b.now)
		}
		settle()
		for _, body := range []string{`{"job_type":"vector_addition","job_id":"a","key":"k"}`, `{"job_type":"vector_addition","job_id":"b%s","key":"k"}`,
			`{"job_type":"vector_addition","job_id":"c%s","after":["a"]}`} {
			if _, err := b.accept(&queue.Message{Body: []byte(strings.ReplaceAll(body, "%s", name))}, false, b.now); err != nil {
				t.Fatal(err)
			}
		}
		if b.tasks["a"] != nil || b.tasks["b"+name] != nil || b.tasks["c"+name] == nil || b.tasks["c"+name].left != 0 {
			t.Errorf("%s: %v", name, b.tasks)
		}
	}
}

// A submission that could not be looked at for a fault of the store comes again, and is taken then.
func TestFaultOfTheStore(t *testing.T) {
	b := newBench(t)
	b.fault = errors.New("the disk is away")
	m := &queue.Message{Body: []byte(`{"job_type":"vector_addition","job_id":"a","after":["in-the-store"]}`)}
	b.step(0, func() {
		if _, err := b.accept(m, false, b.now); !errors.Is(err, b.fault) {
			t.Errorf("got %v", err)
		}
	})
	b.fault, b.past["in-the-store"] = nil, &job.Job{State: job.Completed}
	b.submit(string(m.Body))
	b.beats(cpu("w"), "", "")
	b.went("cpu_queue a1")
}

// A submission that nobody can run fails, and says why to whom it may.
func TestRefused(t *testing.T) {
	b := newBench(t)
	for body, why := range map[string]string{`{`: "want a JSON object", `{"job_type":"matrix_multiply","size":1e12}`: "at most 4 TB",
		`{"job_type":"x","after":[""]}`: "empty job_id"} {
		b.submit(body)
		if len(b.did.messages) != 1 || !strings.Contains(string(b.did.messages[0].Body), why) ||
			!strings.Contains(string(b.did.messages[0].Body), `"status":"failed"`) {
			t.Errorf("%s: %+v", body, b.did.messages)
		}
	}
}

// No text that a worker sends makes a result or an answer that no broker takes.
func TestLargeTexts(t *testing.T) {
	b := newBench(t)
	b.beats(cpu("w"), "", "")
	b.submit(simple)
	b.beats(cpu("w"), "", "a/1")
	large := strings.Repeat("\x01é", 5<<20)
	b.step(0, func() {
		b.beat(&job.Beat{Worker: cpu("w"), Running: []job.Run{{Job: "a", Attempt: 1, Doing: large}}}, b.now)
		b.beat(&job.Beat{Worker: cpu(large)}, b.now)
	})
	b.reports(job.Report{Job: "a", Attempt: 1, Worker: large, Device: placement.CPU, Model: large, Error: large, Final: true})
	b.is("a", job.Failed, "…")
	for _, m := range b.did.messages {
		if len(m.Body) > 1<<20 {
			t.Errorf("a message of %d bytes", len(m.Body))
		}
	}
	if len(b.workers) != 1 || b.counts["beats that make no sense"] != 1 {
		t.Errorf("%v, %v", len(b.workers), b.counts)
	}
}
