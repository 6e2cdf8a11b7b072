package jobs_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"cancha/jobs"
	"cancha/jobs/job"
	"cancha/jobs/local"
)

func opened(t *testing.T, c jobs.Config) *jobs.Cluster {
	t.Helper()
	k, err := jobs.Open(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := k.Close(); err != nil {
			t.Error(err)
		}
	})
	return k
}

// A name that is registered again has the later function alone.
func TestRegisteredAgain(t *testing.T) {
	k := opened(t, jobs.Config{Folder: t.TempDir()})
	for version := range 3 {
		f := func(context.Context, *jobs.Task) (any, error) { return version, nil }
		if err := k.Register(t.Context(), "mine", f, 1); err != nil {
			t.Fatal(err)
		}
		for range 4 {
			ids, err := k.Submit(t.Context(), jobs.Spec{Type: "mine"})
			if err != nil {
				t.Fatal(err)
			}
			if r, err := k.Wait(t.Context(), ids[0]); err != nil || string(r.Value) != fmt.Sprint(version) {
				t.Fatalf("version %d: got %+v, %v", version, r, err)
			}
		}
	}
}

// What is asked of a closed cluster is an error, also where it was asked before; closed twice is closed.
func TestClosed(t *testing.T) {
	k := opened(t, jobs.Config{Folder: t.TempDir()})
	ids, err := k.Submit(t.Context(), jobs.Spec{Type: "nobody's"})
	if err != nil {
		t.Fatal(err)
	}
	waited := make(chan error, 2)
	go func() { _, err := k.Wait(t.Context(), ids[0]); waited <- err }()
	go func() { _, err := k.Results(t.Context(), ids...); waited <- err }()
	if err := k.Close(); err != nil {
		t.Fatal(err)
	}
	_, submitted := k.Submit(t.Context(), jobs.Spec{Type: "nobody's"})
	_, mapped := jobs.Map(t.Context(), k, []int{1}, func(context.Context, int) (int, error) { return 1, nil })
	_, results := k.Results(t.Context(), ids...)
	_, shown := k.Job(t.Context(), ids[0])
	registered := k.Register(t.Context(), "mine", func(context.Context, *jobs.Task) (any, error) { return nil, nil }, 1)
	for i, err := range []error{<-waited, <-waited, submitted, mapped, results, shown, registered} {
		if !errors.Is(err, jobs.ErrClosed) {
			t.Errorf("%d: got %v", i, err)
		}
	}
}

// Of two who open a folder the second uses the first one's scheduler and workers.
func TestTwo(t *testing.T) {
	folder := t.TempDir()
	first := opened(t, jobs.Config{Folder: folder})
	broker, err := local.Dial(t.Context(), local.Socket(folder), "") // as another process does
	if err != nil {
		t.Fatal(err)
	}
	defer broker.Close()
	second := opened(t, jobs.Config{Broker: broker})
	for _, k := range []*jobs.Cluster{first, second} {
		ids, err := k.Submit(t.Context(), jobs.Spec{Type: jobs.VectorAddition, Parameters: jobs.Parameters{"size": 1000}.JSON()})
		if err != nil {
			t.Fatal(err)
		}
		for _, other := range []*jobs.Cluster{first, second} { // who has submitted it hears of it, and the other asks
			r, err := other.Wait(t.Context(), ids[0])
			if err != nil || r.State != job.Completed || r.Device != "cpu" || r.Attempts != 1 || !strings.Contains(r.Reason, "cpu: ") {
				t.Fatalf("got %+v, %v", r, err)
			}
		}
		workers, err := k.Workers(t.Context())
		if err != nil || len(workers) != 1 {
			t.Errorf("%+v, %v", workers, err)
		}
		all, more, err := k.Jobs(t.Context(), jobs.Query{States: []jobs.State{job.Completed}})
		if err != nil || len(all) == 0 || more {
			t.Errorf("%d jobs, %v, %v", len(all), more, err)
		}
		if _, err := k.Job(t.Context(), "nobody"); !errors.Is(err, jobs.ErrUnknown) {
			t.Errorf("got %v", err)
		}
		if err := k.Replay(t.Context(), ids[0]); err == nil || !strings.Contains(err.Error(), "only dead ones") {
			t.Errorf("got %v", err)
		}
	}
}

// Who uses another one's scheduler takes its place when that has gone: what was submitted before goes on.
func TestTakeOver(t *testing.T) {
	folder := t.TempDir()
	first, err := jobs.Open(t.Context(), jobs.Config{Folder: folder})
	if err != nil {
		t.Fatal(err)
	}
	second := opened(t, jobs.Config{Folder: folder})
	begun, release := make(chan int, 9), make(chan struct{})
	err = second.Register(t.Context(), "patient", func(ctx context.Context, task *jobs.Task) (any, error) {
		begun <- task.Attempt
		select {
		case <-release:
			return "released", nil
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}, 1)
	if err != nil {
		t.Fatal(err)
	}
	ids, err := second.Submit(t.Context(), jobs.Spec{Type: "patient"}, jobs.Spec{Type: "patient"})
	if err != nil {
		t.Fatal(err)
	}
	<-begun
	if second.Scheduler() != nil {
		t.Error("both have a scheduler")
	}
	if err := first.Close(); err != nil {
		t.Error(err)
	}
	close(release)
	results, err := second.Results(t.Context(), ids...)
	if err != nil {
		t.Fatal(err)
	}
	for i := range ids {
		if row := results.Row(i); row["state"] != "completed" {
			t.Errorf("%v", row)
		}
	}
	if s, err := second.Lead(t.Context()); s == nil || err != nil {
		t.Errorf("%v, %v", s, err)
	}
	if len(begun) != 1 {
		t.Errorf("the second job was begun %d times", len(begun))
	}
}

// A scheduler of a broker's jobs keeps them in a folder, and works for all who use that broker; without one there is nothing to schedule.
func TestSchedule(t *testing.T) {
	b, err := local.Open(t.TempDir(), local.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	k := opened(t, jobs.Config{Broker: b, Schedule: true, Folder: t.TempDir()})
	other := opened(t, jobs.Config{Broker: b, Forget: time.Minute})
	if k.Scheduler() == nil || other.Scheduler() != nil {
		t.Fatal("the scheduler is elsewhere")
	}
	after, err := other.Endings(t.Context(), 1<<62, 0)
	if err != nil || !after.Missed {
		t.Fatalf("got %+v, %v", after, err)
	}
	ids, err := other.Submit(t.Context(), jobs.Spec{Type: "nobody's", Deadline: time.Now().Add(-time.Second)})
	if err != nil {
		t.Fatal(err)
	}
	if r, err := other.Wait(t.Context(), ids[0]); err != nil || r.State != job.Failed {
		t.Errorf("got %+v, %v", r, err)
	}
	for _, c := range []*jobs.Cluster{k, other} {
		if e, err := c.Endings(t.Context(), after.Next, 0); err != nil || len(e.All) != 1 || e.All[0].ID != ids[0] || e.All[0].Job.State != job.Failed {
			t.Errorf("got %+v, %v", e, err)
		}
	}
	if _, err := jobs.Open(t.Context(), jobs.Config{Schedule: true}); err == nil || !strings.Contains(err.Error(), "Broker") {
		t.Errorf("got %v", err)
	}
}

// The environment names a RabbitMQ for whoever says nothing else: one that nobody answers at is an error, and a folder is one all the same.
func TestRemote(t *testing.T) {
	t.Setenv("RABBITMQ_HOST", "127.0.0.1")
	t.Setenv("RABBITMQ_PORT", "1")
	ctx, cancel := context.WithTimeoutCause(t.Context(), 100*time.Millisecond, errors.New("it took too long"))
	defer cancel()
	if _, err := jobs.Open(ctx, jobs.Config{}); err == nil || !strings.Contains(err.Error(), "RABBITMQ_HOST is 127.0.0.1") ||
		!strings.Contains(err.Error(), "it took too long") {
		t.Errorf("got %v", err)
	}
	t.Setenv("RABBITMQ_PORT", "none")
	if _, err := jobs.Open(t.Context(), jobs.Config{}); err == nil || !strings.Contains(err.Error(), "RABBITMQ_PORT") {
		t.Errorf("got %v", err)
	}
	if k := opened(t, jobs.Config{Folder: t.TempDir()}); k.Scheduler() == nil {
		t.Error("a folder is not this process's")
	}
	t.Setenv("RABBITMQ_HOST", "")
	t.Setenv("CANCHA_JOBS", "/there")
	if folder, err := jobs.Folder(); err != nil || folder != "/there" {
		t.Errorf("got %q, %v", folder, err)
	}
}

// Who opens a folder whose process is just closing, and serves nobody any more, has it when that is done.
func TestOpenWhileClosing(t *testing.T) {
	folder := t.TempDir()
	closing, err := local.Open(folder, local.Options{})
	if err != nil {
		t.Fatal(err)
	}
	time.AfterFunc(200*time.Millisecond, func() {
		if err := closing.Close(); err != nil {
			t.Error(err)
		}
	})
	if k := opened(t, jobs.Config{Folder: folder}); k.Scheduler() == nil {
		t.Error("another one has the scheduler")
	}
}

// Jobs that are submitted before any scheduler was there wait for it.
func TestBeforeTheScheduler(t *testing.T) {
	b, err := local.Open(t.TempDir(), local.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.Close() })
	early := opened(t, jobs.Config{Broker: b})
	ids, err := early.Submit(t.Context(), jobs.Spec{Type: "nobody's", Deadline: time.Now()})
	if err != nil {
		t.Fatal(err)
	}
	opened(t, jobs.Config{Broker: b, Schedule: true, Folder: t.TempDir()})
	if r, err := early.Wait(t.Context(), ids[0]); err != nil || r.State != job.Failed {
		t.Errorf("got %+v, %v", r, err)
	}
}

// A job that asks for more memory than any worker has waits, and says so, where it would end the worker.
func TestTooLargeForAll(t *testing.T) {
	k := opened(t, jobs.Config{Folder: t.TempDir()})
	ids, err := k.Submit(t.Context(), jobs.Spec{Type: jobs.MatrixMultiply, Parameters: jobs.Parameters{"size": 500_000}.JSON()}) // 3 TB
	if err != nil {
		t.Fatal(err)
	}
	for {
		j, err := k.Job(t.Context(), ids[0])
		if err == nil && j.State == job.Queued && strings.Contains(j.Reason, "it needs 3 TB, and the largest cpu has") {
			return
		}
		if err != nil && !errors.Is(err, jobs.ErrUnknown) || err == nil && j.State != job.Queued {
			t.Fatalf("%+v, %v", j, err)
		}
	}
}

// A function of this process runs as jobs; where it fails for good, the rest ends.
func TestMap(t *testing.T) {
	k := opened(t, jobs.Config{Folder: t.TempDir()})
	squares, err := jobs.Map(t.Context(), k, []int{1, 2, 3, 4}, func(_ context.Context, n int) (int, error) { return n * n, nil })
	if err != nil || fmt.Sprint(squares) != "[1 4 9 16]" {
		t.Errorf("got %v, %v", squares, err)
	}
	words, err := jobs.Map(t.Context(), k, []string{"a", "b"},
		func(_ context.Context, s string) (string, error) { return s + s, nil }) // another call, the same worker
	if err != nil || fmt.Sprint(words) != "[aa bb]" {
		t.Errorf("got %v, %v", words, err)
	}
	if all, err := k.Workers(t.Context()); err != nil || len(all) != 2 {
		t.Errorf("%d workers, %v", len(all), err)
	}
	_, err = jobs.Map(t.Context(), k, make([]int, 50), func(ctx context.Context, _ int) (int, error) { return 0, jobs.Final(errors.New("no")) })
	if err == nil || !strings.Contains(err.Error(), "is failed: no") {
		t.Errorf("got %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if _, err := jobs.Map(ctx, k, []int{1}, func(ctx context.Context, _ int) (int, error) {
		<-ctx.Done()
		return 0,
			ctx.Err()
	}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
}

func TestRefused(t *testing.T) {
	k := opened(t, jobs.Config{Folder: t.TempDir()})
	for _, s := range []jobs.Spec{{}, {Type: "t", Parameters: jobs.Parameters{"f": func() {}}.JSON()},
		{Type: jobs.MatrixMultiply, Parameters: jobs.Parameters{"size": -1}.JSON()}} {
		if _, err := k.Submit(t.Context(), s); err == nil {
			t.Errorf("%+v was taken", s)
		}
	}
	if _, err := jobs.Open(t.Context(), jobs.Config{Folder: os.Args[0]}); err == nil {
		t.Error("a program was opened as a folder")
	}
}

func Example() {
	ctx := context.Background()
	folder, err := os.MkdirTemp("", "jobs")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(folder)
	k, err := jobs.Open(ctx, jobs.Config{Folder: folder})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer k.Close()
	ids, err := k.Submit(ctx, jobs.Spec{Type: jobs.MatrixMultiply, Parameters: jobs.Parameters{"size": 100, "seed": 1}.JSON(), Priority: 9})
	if err != nil {
		fmt.Println(err)
		return
	}
	r, err := k.Wait(ctx, ids[0])
	if err != nil {
		fmt.Println(err)
		return
	}
	var product struct{ Shape []int }
	fmt.Println(r.State, r.Device, r.Attempts, r.Decode(&product), product.Shape)
	// Output:
	// completed cpu 1 <nil> [100 100]
}

// A table tells how jobs have ended, whichever way.
func TestResults(t *testing.T) {
	k := opened(t, jobs.Config{Folder: t.TempDir()})
	ids, err := k.Submit(t.Context(), jobs.Spec{Type: jobs.VectorAddition}, jobs.Spec{Type: "unheard of", Deadline: time.Now().Add(300 * time.Millisecond)})
	if err != nil {
		t.Fatal(err)
	}
	got, err := k.Results(t.Context(), ids...)
	if err != nil {
		t.Fatal(err)
	}
	one, two := got.Row(0), got.Row(1)
	if one["state"] != "completed" || one["device"] != "cpu" || one["predicted_s"] == 0.0 || two["state"] != "failed" ||
		!strings.Contains(fmt.Sprint(two["why"]), "deadline") {
		t.Errorf("got %v and %v", one, two)
	}
	if _, err := k.Results(t.Context(), "nobody"); !errors.Is(err, jobs.ErrUnknown) {
		t.Errorf("got %v", err)
	}
}

// A worker is listed as soon as the call that began it has returned.
func TestWorkersAtOnce(t *testing.T) {
	for range 10 {
		k := opened(t, jobs.Config{Folder: t.TempDir()})
		for want := 1; want <= 2; want++ {
			if all, err := k.Workers(t.Context()); err != nil || len(all) != want {
				t.Fatalf("%d workers, %v; want %d", len(all), err, want)
			}
			err := k.Register(t.Context(), "mine", func(context.Context, *jobs.Task) (any, error) { return 0, nil }, 1)
			if err != nil {
				t.Fatal(err)
			}
		}
	}
}
