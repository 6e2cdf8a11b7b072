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

// A function of this process runs as jobs; where it fails for good, the rest ends.
func TestMap(t *testing.T) {
	k := opened(t, jobs.Config{Folder: t.TempDir()})
	squares, err := jobs.Map(t.Context(), k, []int{1, 2, 3, 4}, func(_ context.Context, n int) (int, error) { return n * n, nil })
	if err != nil || fmt.Sprint(squares) != "[1 4 9 16]" {
		t.Errorf("got %v, %v", squares, err)
	}
	words, err := jobs.Map(t.Context(), k, []string{"a", "b"}, func(_ context.Context, s string) (string, error) { return s + s, nil }) // another call, the same worker
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
	if _, err := jobs.Map(ctx, k, []int{1}, func(ctx context.Context, _ int) (int, error) { <-ctx.Done(); return 0, ctx.Err() }); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
}

func TestRefused(t *testing.T) {
	k := opened(t, jobs.Config{Folder: t.TempDir()})
	for _, s := range []jobs.Spec{{}, {Type: "t", Parameters: jobs.Parameters{"f": func() {}}.JSON()}, {Type: jobs.MatrixMultiply, Parameters: jobs.Parameters{"size": -1}.JSON()}} {
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
	if one["state"] != "completed" || one["device"] != "cpu" || one["predicted_s"] == 0.0 || two["state"] != "failed" || !strings.Contains(fmt.Sprint(two["why"]), "deadline") {
		t.Errorf("got %v and %v", one, two)
	}
	if _, err := k.Results(t.Context(), "nobody"); !errors.Is(err, jobs.ErrUnknown) {
		t.Errorf("got %v", err)
	}
}
