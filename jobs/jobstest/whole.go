package jobstest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"cancha/jobs/job"
	"cancha/jobs/placement"
	"cancha/jobs/queue"
	"cancha/jobs/scheduler"
	"cancha/jobs/store"
	"cancha/jobs/worker"
)

// TestJobs holds the whole to what it promises, on a broker of one kind or another: a scheduler, workers, and programs that know no more
// than the contract. Open makes a broker of which each test has its own, for the contract's queues have fixed names.
func TestJobs(t *testing.T, open func(t *testing.T) Bench) {
	for name, test := range map[string]func(*whole){
		"a foreign program": testForeign,
		"bad input":         testBadJobs,
		"bad results":       testBadResults,
		"an id twice":       testSameID,
		"retry":             testRetries,
		"cancel":            testCancel,
		"timeout":           testTimeout,
		"a worker ends":     testWorkerEnds,
		"drain":             testDrain,
		"scheduler again":   testSchedulerAgain,
		"priority":          testJobPriority,
		"one worker alone":  testAlone,
		"progress":          testProgress,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(newWhole(t, open(t)))
		})
	}
}

// whole is a scheduler on a broker of its own.
type whole struct {
	testing.TB
	bench     Bench
	broker    queue.Broker
	folder    string
	scheduler *scheduler.Scheduler
	stop      func()
	results   queue.Consumer
}

// settings are quicker than usual, so that a test does not wait.
var settings = scheduler.Settings{Lease: 2 * time.Second, Backoff: 20 * time.Millisecond, Unknown: 3 * time.Second, Placement: placement.Settings{Explore: -1}}

func newWhole(t testing.TB, bench Bench) *whole {
	w := &whole{TB: t, bench: bench, broker: bench.Connect(t), folder: t.TempDir()}
	w.start()
	t.Cleanup(func() { w.stop() })
	c, err := w.broker.Consume(t.Context(), job.QueueResults, 100)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() }) // the broker may be closed by then
	w.results = c
	return w
}

// start starts a scheduler on the folder; stop ends it.
func (w *whole) start() {
	w.Helper()
	s, err := store.Open(w.folder)
	if err != nil {
		w.Fatal(err)
	}
	logger := slog.New(slog.DiscardHandler)
	if os.Getenv("CANCHA_LOG") != "" {
		logger = slog.Default()
	}
	if w.scheduler, err = scheduler.Start(w.Context(), w.broker, s, settings, logger); err != nil {
		w.Fatal(errors.Join(err, s.Close()))
	}
	w.stop = func() {
		if err := errors.Join(w.scheduler.Close(), s.Close()); err != nil {
			w.Error(err)
		}
		w.stop = func() {}
	}
}

// work starts a worker.
func (w *whole) work(id string, funcs map[string]worker.Func, change ...func(*worker.Config)) *worker.Worker {
	w.Helper()
	c := worker.Config{Broker: w.bench.Connect(w), Worker: placement.Worker{ID: id, Device: placement.CPU, Model: "test"}, Funcs: funcs,
		Beat: 200 * time.Millisecond}
	for _, f := range change {
		f(&c)
	}
	k, err := worker.Start(w.Context(), c)
	if err != nil {
		w.Fatal(err)
	}
	w.Cleanup(func() { _ = k.Close() }) // it may be closed by then
	return k
}

// submit publishes a body, as a foreign program does.
func (w *whole) submit(bodies ...string) {
	w.Helper()
	for _, body := range bodies {
		if err := w.broker.Publish(w.Context(), job.QueueJobs, queue.Message{Body: []byte(body)}); err != nil {
			w.Fatal(err)
		}
	}
}

// outcome is what a foreign program reads of a result.
type outcome struct {
	ID      string          `json:"job_id"`
	Status  string          `json:"status"`
	Error   string          `json:"error"`
	Result  json.RawMessage `json:"result"`
	Worker  string          `json:"worker_id"`
	Reason  string          `json:"reason"`
	Attempt int             `json:"attempts"`
	Note    string          `json:"note"`
	Took    float64         `json:"execution_time"`
}

// next waits for a result.
func (w *whole) next() (o outcome) {
	w.Helper()
	ctx, cancel := context.WithTimeout(w.Context(), patience)
	defer cancel()
	d, err := w.results.Next(ctx)
	if err == nil {
		go func() { _ = d.Ack(w.Context()) }() // or it comes again, to nobody
		err = json.Unmarshal(d.Body, &o)
	}
	if err != nil {
		states, counts, _ := w.scheduler.Counts(w.Context())
		w.Fatalf("no result comes: %v (%v, %v, %s)", err, states, counts, w.scheduler.Trouble())
	}
	return o
}

// until waits until something is so.
func (w *whole) until(what string, is func() bool) {
	w.Helper()
	for end := time.Now().Add(patience); !is(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			w.Fatalf("%s: it does not become so", what)
		}
	}
}

func (w *whole) state(id string) job.State {
	j, err := w.scheduler.Job(w.Context(), id)
	if err != nil {
		return ""
	}
	return j.State
}

// echo returns a job's parameters.
func echo(_ context.Context, t *worker.Task) (any, error) { return t.Parameters, nil }

// block waits until its context ends, or nothing of it is wanted.
func block(ctx context.Context, _ *worker.Task) (any, error) {
	<-ctx.Done()
	return nil, context.Cause(ctx)
}

func testForeign(w *whole) {
	w.submit(`{"job_type":"echo","job_id":"a","data":{"x":1},"note":"mine"}`)
	w.work("w", map[string]worker.Func{"echo": echo})
	if o := w.next(); o.ID != "a" || o.Status != "completed" || string(o.Result) != `{"x":1}` || o.Worker != "w" || o.Note != "mine" ||
		o.Attempt != 1 || o.Reason == "" {
		w.Errorf("got %+v", o)
	}
	reply := fresh("reply")
	if _, err := w.broker.Declare(w.Context(), queue.Spec{Name: reply}); err != nil {
		w.Fatal(err)
	}
	w.submit(fmt.Sprintf(`{"job_type":"echo","job_id":"b","reply_to":%q}`, reply), `{"job_type":"echo","job_id":"c","reply_to":"nowhere"}`)
	if o := w.next(); o.ID != "c" {
		w.Errorf("got %+v", o)
	}
	c, err := w.broker.Consume(w.Context(), reply, 1)
	if err != nil {
		w.Fatal(err)
	}
	defer c.Close()
	if d, err := c.Next(w.Context()); err != nil || d.ID != "b" {
		w.Errorf("got %v, %v", d, err)
	}
}

// testBadJobs: each fails and says why; what nobody can read is a dead letter, too; and none of them does anything to the others.
func testBadJobs(w *whole) {
	big := strings.Repeat("x", job.MaxParameters)
	for body, why := range map[string]string{
		"no JSON": "want a JSON object", "": "want a JSON object", "[]": "want a JSON object", "null": "want a JSON object",
		"{\"job_type\":\"echo\",\"x\":\"\xff\"}": "it is no UTF-8",
		`{"job_type":"echo"`:                     "want a JSON object", `{"job_type":"echo","parameters":` + strings.Repeat(`{"a":`, 20_000) + "1" +
			strings.Repeat("}", 20_001): "exceeded max depth",
		`{"job_type":"matrix_multiply","size":1e12}`: "at most 4 TB", `{"job_type":"vector_addition","size":-1}`: "size: -1; it is 1 to",
		`{"job_type":"matrix_multiply","size":1e400}`:           "size: 1e400; it is",
		`{"job_type":"vector_addition","size":null,"seed":0.5}`: "seed: 0.5; it is a whole number",
		`{"job_type":"echo","parameters":{"x":"` + big + `"}}`:  "write large data into a file",
		`{"job_type":"echo","x":"` + big + `"}`:                 "at most", `{"job_type":"echo","deadline":1}`: "has passed",
	} {
		w.submit(body)
		if o := w.next(); o.Status != "failed" || !strings.Contains(o.Error, why) {
			w.Errorf("%.60s: got %+v, want %s", body, o, why)
		}
	}
	err := w.broker.Publish(w.Context(), job.QueueJobs, queue.Message{Body: make([]byte, queue.MaxBody+1)})
	if !errors.Is(err, queue.ErrTooLarge) {
		w.Errorf("a body that is too large: %v", err)
	}
	w.until("dead letters", func() bool {
		info, err := w.broker.Inspect(w.Context(), queue.DeadLetters)
		return err == nil && info.Ready >= 13
	})
}

// testBadResults: a result that is none is a failure that says why, also one that is larger than the worker's memory could be; and the
// worker goes on. So does a job that no worker knows, when it has waited.
func testBadResults(w *whole) {
	big := strings.Repeat("x", 2*job.MaxParameters)
	w.work("w", map[string]worker.Func{"echo": echo, "big": func(context.Context, *worker.Task) (any, error) { return big, nil },
		"huge":  func(context.Context, *worker.Task) (any, error) { return make([]byte, 1<<30), nil },
		"nan":   func(context.Context, *worker.Task) (any, error) { return map[string]float64{"loss": math.NaN()}, nil },
		"odd":   func(context.Context, *worker.Task) (any, error) { return func() {}, nil },
		"panic": func(context.Context, *worker.Task) (any, error) { panic("oh") }})
	for body, why := range map[string]string{`{"job_type":"big"}`: "bytes of JSON; at most",
		`{"job_type":"huge"}`: "more than 1048576 bytes of JSON; at most", `{"job_type":"nan"}`: "unsupported value: NaN",
		`{"job_type":"odd"}`: "cannot be written as JSON", `{"job_type":"panic","max_attempts":2}`: "panic: oh",
		`{"job_type":"unheard"}`: `"unheard"; no worker runs it`} {
		w.submit(body)
		if o := w.next(); !strings.Contains(o.Error, why) || (o.Status == "failed") != (o.Attempt < 2) {
			w.Errorf("%.60s: got %+v, want %s", body, o, why)
		}
	}
	w.submit(`{"job_type":"echo","job_id":"good"}`)
	if o := w.next(); o.ID != "good" || o.Status != "completed" {
		w.Errorf("got %+v", o)
	}
}

// testSameID: of two workers under one id the second ends and says why, and the first goes on; when that is gone, another one has the id at once.
func testSameID(w *whole) {
	first := w.work("w", map[string]worker.Func{"t": echo})
	w.until("the first works", func() bool { all, err := w.scheduler.Workers(w.Context()); return err == nil && len(all) == 1 })
	second := w.work("w", map[string]worker.Func{"t": echo})
	select {
	case <-second.Done():
	case <-time.After(patience):
		w.Fatal("the second goes on")
	}
	if err := second.Err(); !errors.Is(err, worker.ErrSameID) || !strings.Contains(err.Error(), `"w"; give this one an id of its own`) {
		w.Errorf("got %v", err)
	}
	w.submit(`{"job_type":"t","job_id":"a"}`)
	if o := w.next(); o.Status != "completed" || first.Err() != nil {
		w.Errorf("got %+v, %v", o, first.Err())
	}
	if err := first.Close(); err != nil {
		w.Error(err)
	}
	third := w.work("w", map[string]worker.Func{"t": echo})
	w.submit(`{"job_type":"t","job_id":"b"}`)
	if o := w.next(); o.Status != "completed" || third.Err() != nil {
		w.Errorf("got %+v, %v", o, third.Err())
	}
}

func testRetries(w *whole) {
	var calls atomic.Int32
	w.work("w", map[string]worker.Func{
		"third": func(context.Context, *worker.Task) (any, error) {
			if calls.Add(1) < 3 {
				return nil, errors.New("not yet")
			}
			return "now", nil
		},
		"never": func(context.Context, *worker.Task) (any, error) { return nil, errors.New("never") },
		"final": func(context.Context, *worker.Task) (any, error) { return nil, worker.Final(errors.New("not at all")) },
	})
	w.submit(`{"job_type":"third"}`)
	if o := w.next(); o.Status != "completed" || o.Attempt != 3 || o.Error != "" {
		w.Errorf("got %+v", o)
	}
	w.submit(`{"job_type":"never","max_attempts":2}`)
	if o := w.next(); o.Status != "dead" || o.Attempt != 2 || o.Error != "never" {
		w.Errorf("got %+v", o)
	}
	w.submit(`{"job_type":"final"}`)
	if o := w.next(); o.Status != "failed" || o.Attempt != 1 || o.Error != "not at all" {
		w.Errorf("got %+v", o)
	}
}

func testCancel(w *whole) {
	began, ended := make(chan bool, 1), make(chan error, 1)
	w.submit(`{"job_type":"block","job_id":"queued"}`)
	w.until("queued", func() bool { return w.state("queued") == job.Queued })
	if err := w.scheduler.Cancel(w.Context(), "queued"); err != nil {
		w.Error(err)
	}
	w.work("w", map[string]worker.Func{"block": func(ctx context.Context, t *worker.Task) (any, error) {
		began <- true
		<-ctx.Done()
		ended <- context.Cause(ctx)
		return nil, ctx.Err()
	}})
	w.submit(`{"job_type":"block","job_id":"runs"}`)
	<-began // a job that is running for the scheduler begins once that is on the disk, and is dropped if it is cancelled before
	if err := w.scheduler.Cancel(w.Context(), "runs"); err != nil {
		w.Error(err)
	}
	if err := <-ended; !errors.Is(err, worker.ErrDropped) {
		w.Errorf("got %v", err)
	}
	for _, id := range []string{"queued", "runs"} {
		if o := w.next(); o.ID != id || o.Status != "cancelled" {
			w.Errorf("got %+v", o)
		}
	}
	if err := w.scheduler.Cancel(w.Context(), "runs"); err == nil || !strings.Contains(err.Error(), "cancelled already") {
		w.Errorf("got %v", err)
	}
	if err := w.scheduler.Cancel(w.Context(), "nobody"); !errors.Is(err, store.ErrUnknown) {
		w.Errorf("got %v", err)
	}
}

func testTimeout(w *whole) {
	w.work("w", map[string]worker.Func{"block": block})
	w.submit(`{"job_type":"block","timeout":0.05,"max_attempts":2}`)
	if o := w.next(); o.Status != "dead" || o.Attempt != 2 || !strings.Contains(o.Error, "longer than its timeout, 50ms") {
		w.Errorf("got %+v", o)
	}
}

// testWorkerEnds: what a worker has that is closed, or falls silent, runs elsewhere.
func testWorkerEnds(w *whole) {
	first := w.work("first", map[string]worker.Func{"t": block})
	w.submit(`{"job_type":"t","job_id":"a"}`)
	w.until("runs", func() bool { return w.state("a") == job.Running })
	w.work("second", map[string]worker.Func{"t": echo})
	if err := first.Close(); err != nil {
		w.Error(err)
	}
	if o := w.next(); o.Status != "completed" || o.Worker != "second" || o.Attempt != 2 {
		w.Errorf("got %+v", o)
	}
}

func testDrain(w *whole) {
	begun, finish := make(chan struct{}), make(chan struct{})
	k := w.work("w", map[string]worker.Func{"t": func(context.Context, *worker.Task) (any, error) { close(begun); <-finish; return 1, nil }})
	w.submit(`{"job_type":"t","job_id":"a"}`)
	<-begun
	drained := make(chan error, 1)
	go func() { drained <- k.Drain(w.Context()) }()
	w.submit(`{"job_type":"t","job_id":"b"}`)
	w.until("draining", func() bool {
		all, err := w.scheduler.Workers(w.Context())
		return err == nil && len(all) == 1 && all[0].Draining
	})
	close(finish)
	if err := <-drained; err != nil {
		w.Error(err)
	}
	if o := w.next(); o.ID != "a" || o.Status != "completed" {
		w.Errorf("got %+v", o)
	}
	if err := k.Close(); err != nil {
		w.Error(err)
	}
	w.work("next", map[string]worker.Func{"t": echo})
	if o := w.next(); o.ID != "b" || o.Worker != "next" {
		w.Errorf("got %+v", o)
	}
}

// testSchedulerAgain: a scheduler that comes after another one goes on with what that had, and what runs meanwhile is not run twice.
func testSchedulerAgain(w *whole) {
	begun, finish := make(chan struct{}), make(chan struct{})
	w.work("w", map[string]worker.Func{"t": func(context.Context, *worker.Task) (any, error) { close(begun); <-finish; return "once", nil }, "echo": echo})
	w.submit(`{"job_type":"t","job_id":"a"}`, `{"job_type":"echo","job_id":"b"}`, `{"job_type":"echo","job_id":"c","after":["a"]}`)
	<-begun
	w.until("c waits", func() bool { return w.state("c") == job.Queued })
	w.stop()
	w.submit(`{"job_type":"echo","job_id":"d"}`)
	close(finish)
	w.start()
	seen := map[string]outcome{}
	for range 4 {
		o := w.next()
		seen[o.ID] = o
		if o.Status != "completed" || o.Attempt != 1 {
			w.Errorf("got %+v", o)
		}
	}
	if len(seen) != 4 || string(seen["a"].Result) != `"once"` {
		w.Errorf("got %+v", seen)
	}
	if _, counts, err := w.scheduler.Counts(w.Context()); err != nil || counts["executed twice"] != 0 {
		w.Errorf("%v, %v", counts, err)
	}
}

func testJobPriority(w *whole) {
	for i := range 10 {
		w.submit(fmt.Sprintf(`{"job_type":"echo","job_id":"%d","priority":%d}`, i, i))
	}
	w.until("all are there", func() bool {
		states, _, err := w.scheduler.Counts(w.Context())
		return err == nil && states[job.Queued] == 10
	})
	order := make(chan string, 10) // results may pass each other on their way
	w.work("w", map[string]worker.Func{"echo": func(_ context.Context, t *worker.Task) (any, error) { order <- t.ID; return nil, nil }})
	for i := range 10 {
		if id := <-order; id != fmt.Sprint(9-i) {
			w.Fatalf("job %s ran when it was the turn of %d", id, 9-i)
		}
	}
	for range 10 {
		w.next()
	}
}

// testAlone: a type that one worker has runs there, and one that nobody has waits and says so.
func testAlone(w *whole) {
	w.work("all", map[string]worker.Func{"echo": echo})
	w.work("mine", map[string]worker.Func{"cell": echo}, func(c *worker.Config) { c.Own = true })
	w.until("two workers", func() bool { all, err := w.scheduler.Workers(w.Context()); return err == nil && len(all) == 2 })
	for range 20 {
		w.submit(`{"job_type":"cell"}`)
	}
	for range 20 {
		if o := w.next(); o.Worker != "mine" || o.Status != "completed" || o.Attempt != 1 {
			w.Errorf("got %+v", o)
		}
	}
	w.submit(`{"job_type":"unheard","job_id":"u"}`)
	w.until("it says why", func() bool {
		j, err := w.scheduler.Job(w.Context(), "u")
		return err == nil && j.State == job.Queued && strings.Contains(j.Reason, "no cpu worker runs this type")
	})
}

func testProgress(w *whole) {
	finish := make(chan struct{})
	w.work("w", map[string]worker.Func{"t": func(_ context.Context, t *worker.Task) (any, error) {
		t.Progress(0.25, "a quarter")
		<-finish
		return nil, nil
	}})
	w.submit(`{"job_type":"t","job_id":"a"}`)
	w.until("progress", func() bool {
		j, err := w.scheduler.Job(w.Context(), "a")
		return err == nil && j.Progress == 0.25 && j.Doing == "a quarter" && j.ETA(time.Now()) > 0
	})
	close(finish)
	if o := w.next(); o.Status != "completed" || string(o.Result) != "null" {
		w.Errorf("got %+v", o)
	}
}

// BenchmarkJobs runs jobs that do nothing, so many in flight at a time, and tells the usual time from submission to result.
func BenchmarkJobs(b *testing.B, bench Bench, workers, inFlight int) {
	const slots = 16
	w := newWhole(b, bench)
	for i := range workers {
		w.work(fmt.Sprint("w", i), map[string]worker.Func{"nothing": func(context.Context, *worker.Task) (any, error) { return nil, nil }},
			func(c *worker.Config) { c.Worker.Slots = slots })
	}
	w.until("workers", func() bool { all, err := w.scheduler.Workers(w.Context()); return err == nil && len(all) == workers })
	send := func(i int) {
		if err := w.broker.Publish(w.Context(), job.QueueJobs, queue.Message{ID: fmt.Sprint(i), Body: []byte(`{"job_type":"nothing"}`)}); err != nil {
			b.Error(err)
		}
	}
	w.submit(`{"job_type":"nothing"}`) // the first message for a new queue may take seconds
	w.next()
	begun := make(map[string]time.Time, b.N)
	took := make([]time.Duration, 0, b.N)
	b.ResetTimer()
	next := 0
	for ; next < min(inFlight, b.N); next++ {
		begun[fmt.Sprint(next)] = time.Now()
		go send(next)
	}
	for range b.N {
		o := w.next()
		took = append(took, time.Since(begun[o.ID]))
		if next < b.N {
			begun[fmt.Sprint(next)] = time.Now()
			go send(next)
			next++
		}
	}
	b.StopTimer()
	report(b, took)
}

func report(b *testing.B, took []time.Duration) {
	slices.Sort(took)
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "jobs/s")
	b.ReportMetric(took[len(took)/2].Seconds()*1e3, "p50-ms")
	b.ReportMetric(took[len(took)*95/100].Seconds()*1e3, "p95-ms")
}
