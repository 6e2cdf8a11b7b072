package worker_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"cancha/jobs/job"
	"cancha/jobs/local"
	"cancha/jobs/placement"
	"cancha/jobs/queue"
	"cancha/jobs/worker"
)

// bench is a broker with the queues of a scheduler, of which the test is one that grants all claims.
type bench struct {
	testing.TB
	*local.Broker
	reports queue.Consumer
	beats   chan *job.Beat
}

func newBench(t testing.TB) *bench {
	broker, err := local.Open(t.TempDir(), local.Options{})
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{TB: t, Broker: broker, beats: make(chan *job.Beat, 1000)}
	for _, name := range []string{job.QueueCPU, job.QueueReports} {
		if _, err := b.Declare(t.Context(), queue.Spec{Name: name}); err != nil {
			t.Fatal(err)
		}
	}
	if b.reports, err = b.Consume(t.Context(), job.QueueReports, 100); err != nil {
		t.Fatal(err)
	}
	heard, err := b.Listen(t.Context(), job.TopicWorkers)
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		b.grant(heard)
	}()
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
		<-ended
	})
	return b
}

// grant grants all claims until the broker is closed.
func (b *bench) grant(heard queue.Listener) {
	for {
		m, err := heard.Next(context.Background())
		if err != nil {
			return
		}
		beat, orders := &job.Beat{}, []job.Order{}
		if err := json.Unmarshal(m.Body, beat); err != nil {
			b.Error(err)
			return
		}
		for _, c := range beat.Claims {
			orders = append(orders, job.Order{Job: c.Job, Attempt: c.Attempt, Verdict: job.Begin})
		}
		select {
		case b.beats <- beat:
		default:
		}
		body, _ := json.Marshal(orders)
		_ = b.Announce(context.Background(), job.WorkerTopic(beat.Worker.ID), queue.Message{Body: body}) // or the broker is closed
	}
}

func (b *bench) start(slots int, funcs map[string]worker.Func) *worker.Worker {
	b.Helper()
	w, err := worker.Start(b.Context(), worker.Config{Broker: b.Broker,
		Worker: placement.Worker{ID: "w", Device: placement.CPU, Slots: slots}, Funcs: funcs, Beat: 20 * time.Millisecond})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = w.Close() }) // it may be closed by then
	return w
}

func (b *bench) give(id, body string) {
	b.Helper()
	if err := b.Publish(b.Context(), job.QueueCPU, queue.Message{ID: id, Body: []byte(body), Headers: map[string]string{job.HeaderAttempt: "1"}}); err != nil {
		b.Fatal(err)
	}
}

func (b *bench) next() (r job.Report) {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.Context(), 10*time.Second)
	defer cancel()
	d, err := b.reports.Next(ctx)
	if err == nil {
		err = json.Unmarshal(d.Body, &r)
	}
	if err != nil {
		b.Fatal(err)
	}
	return r
}

// TestTwoMessages: of two messages of one attempt, in two slots or one after the other, one runs.
func TestTwoMessages(t *testing.T) {
	b := newBench(t)
	var calls atomic.Int32
	finish := make(chan struct{})
	b.start(2, map[string]worker.Func{"t": func(context.Context, *worker.Task) (any, error) { calls.Add(1); <-finish; return nil, nil }, "other": nothing})
	b.give("a", `{"job_id":"a","job_type":"t"}`)
	b.give("a", `{"job_id":"a","job_type":"t"}`)
	b.give("b", `{"job_id":"b","job_type":"other"}`) // a slot is free for it: none waits for an answer that never comes
	if r := b.next(); r.Job != "b" {
		t.Errorf("got %+v", r)
	}
	close(finish)
	if r := b.next(); r.Job != "a" {
		t.Errorf("got %+v", r)
	}
	b.give("a", `{"job_id":"a","job_type":"t"}`)
	b.give("c", `{"job_id":"c","job_type":"other"}`)
	if r := b.next(); r.Job != "c" || calls.Load() != 1 {
		t.Errorf("got %+v, and %d calls", r, calls.Load())
	}
}

// TestLargeError: an error and a progress of any length are told.
func TestLargeError(t *testing.T) {
	b := newBench(t)
	begun, told := make(chan struct{}), make(chan struct{})
	b.start(1, map[string]worker.Func{"t": func(_ context.Context, task *worker.Task) (any, error) {
		task.Progress(math.NaN(), "")
		begun <- struct{}{}
		<-told
		task.Progress(0.5, strings.Repeat("x", 17<<20))
		begun <- struct{}{}
		<-told
		return nil, errors.New(strings.Repeat("é", 17<<20))
	}})
	b.give("a", `{"job_id":"a","job_type":"t"}`)
	for _, share := range []float64{0, 0.5} {
		<-begun
		for beat := range b.beats {
			if len(beat.Running) == 1 && beat.Running[0].Progress == share {
				break
			}
		}
		told <- struct{}{}
	}
	if r := b.next(); r.Job != "a" || !strings.HasSuffix(r.Error, "é…") {
		t.Errorf("got %.100s", r.Error)
	}
}

func nothing(context.Context, *worker.Task) (any, error) { return nil, nil }

// stubborn is a broker whose deliveries cannot be settled at first, as where its disk is full.
type stubborn struct {
	queue.Broker
	faults atomic.Int32 // still to come
}

func (s *stubborn) Consume(ctx context.Context, name string, prefetch int) (queue.Consumer, error) {
	c, err := s.Broker.Consume(ctx, name, prefetch)
	return &stubbornConsumer{c, s}, err
}

type stubbornConsumer struct {
	queue.Consumer
	s *stubborn
}

func (c *stubbornConsumer) Next(ctx context.Context) (*queue.Delivery, error) {
	d, err := c.Consumer.Next(ctx)
	if err == nil {
		d.Settler = &stubbornSettler{d.Settler, c.s}
	}
	return d, err
}

type stubbornSettler struct {
	queue.Settler
	s *stubborn
}

func (s *stubbornSettler) Settle(ctx context.Context, o queue.Outcome) error {
	if s.s.faults.Add(-1) >= 0 {
		return queue.ErrFull
	}
	return s.Settler.Settle(ctx, o)
}

// TestSettles: a message that cannot be settled now is settled later, and does not stay in hand.
func TestSettles(t *testing.T) {
	b := newBench(t)
	s := &stubborn{Broker: b.Broker}
	s.faults.Store(16)
	w, err := worker.Start(t.Context(), worker.Config{Broker: s, Worker: placement.Worker{ID: "w", Device: placement.CPU},
		Funcs: map[string]worker.Func{"t": nothing}})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	for i := range 17 { // one more than it has in hand at most
		b.give(fmt.Sprint(i), fmt.Sprintf(`{"job_id":"%d","job_type":"t"}`, i))
	}
	for range 17 {
		b.next()
	}
}

// TestDrainGivesBack: what a worker had taken and not begun when it was told to drain goes elsewhere while it ends what it runs.
func TestDrainGivesBack(t *testing.T) {
	b := newBench(t)
	begun, finish := make(chan struct{}), make(chan struct{})
	w := b.start(1, map[string]worker.Func{"t": func(context.Context, *worker.Task) (any, error) { close(begun); <-finish; return nil, nil }})
	defer close(finish)
	b.give("a", `{"job_id":"a","job_type":"t"}`)
	<-begun
	b.give("b", `{"job_id":"b","job_type":"t"}`)
	for info := (queue.Info{}); info.InHand < 2; {
		var err error
		if info, err = b.Inspect(t.Context(), job.QueueCPU); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := w.Drain(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	c, err := b.Consume(t.Context(), job.QueueCPU, 1)
	if err != nil {
		t.Fatal(err)
	}
	wait, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if d, err := c.Next(wait); err != nil || d.ID != "b" {
		t.Errorf("got %+v, %v", d, err)
	}
}

// TestOwnQueueGone: a worker whose own queue has expired, as after it was stopped for long, makes it anew and goes on.
func TestOwnQueueGone(t *testing.T) {
	b := newBench(t)
	e := &expiring{Broker: b.Broker}
	w, err := worker.Start(t.Context(), worker.Config{Broker: e, Worker: placement.Worker{ID: "w", Device: placement.CPU},
		Funcs: map[string]worker.Func{"t": nothing}, Own: true})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if err := b.Publish(t.Context(), job.WorkerQueue(placement.CPU, "w"),
		queue.Message{Body: []byte(`{"job_id":"a","job_type":"t"}`), Headers: map[string]string{job.HeaderAttempt: "1"}}); err != nil {
		t.Fatal(err)
	}
	if r := b.next(); r.Job != "a" || e.declared.Load() != 2 {
		t.Errorf("got %+v, declared %d times", r, e.declared.Load())
	}
}

// expiring is a broker whose first consumer finds its queue gone.
type expiring struct {
	queue.Broker
	declared atomic.Int32
}

func (e *expiring) Declare(ctx context.Context, s queue.Spec) ([]string, error) {
	e.declared.Add(1)
	return e.Broker.Declare(ctx, s)
}

func (e *expiring) Consume(ctx context.Context, name string, prefetch int) (queue.Consumer, error) {
	c, err := e.Broker.Consume(ctx, name, prefetch)
	if e.declared.Load() == 1 {
		c = &goneConsumer{c}
	}
	return c, err
}

type goneConsumer struct{ queue.Consumer }

func (*goneConsumer) Next(context.Context) (*queue.Delivery, error) {
	return nil, queue.ErrUnknownQueue
}
