package jobs_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"cancha/jobs"
	"cancha/jobs/job"
	"cancha/jobs/scheduler"
)

// endless returns when the test ends, whatever its context says.
func endless(t *testing.T) jobs.Func {
	over := make(chan struct{})
	t.Cleanup(func() { close(over) })
	return func(context.Context, *jobs.Task) (any, error) { <-over; return nil, nil }
}

// A job ends by its timeout whatever its function does, and tells why; so does one that was cancelled, and their slots are told to be
// stuck. Registered again, the function has all its slots.
func TestNotHeeded(t *testing.T) {
	k := opened(t, jobs.Config{Folder: t.TempDir(), Grace: 10 * time.Millisecond})
	if err := k.Register(t.Context(), "endless", endless(t), 2); err != nil {
		t.Fatal(err)
	}
	run := func(s jobs.Spec, state jobs.State, why string) {
		t.Helper()
		s.Type = "endless"
		ids, err := k.Submit(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		if r, err := k.Wait(t.Context(), ids[0]); err != nil || r.State != state || !strings.Contains(r.Error, why) {
			t.Errorf("got %+v, %v; want %s, %s", r, err, state, why)
		}
	}
	run(jobs.Spec{Timeout: 10 * time.Millisecond, Attempts: 1}, job.Dead, "does not heed its context")
	run(jobs.Spec{Timeout: 10 * time.Millisecond}, job.Dead, "No slot is left to try it again")
	for told := false; !told; {
		all, err := k.Workers(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, w := range all {
			told = told || w.Stuck == 2 && len(w.Hung) == 2 && len(w.Runs) == 0
		}
	}
	if err := k.Register(t.Context(), "endless", func(context.Context, *jobs.Task) (any, error) { return 1, nil }, 1); err != nil {
		t.Fatal(err)
	}
	run(jobs.Spec{}, job.Completed, "")
	if err := k.Register(t.Context(), "leaves", func(context.Context, *jobs.Task) (any, error) { runtime.Goexit(); return 1, nil }, 1); err != nil {
		t.Fatal(err)
	}
	ids, err := k.Submit(t.Context(), jobs.Spec{Type: "leaves", Attempts: 1})
	if err != nil {
		t.Fatal(err)
	}
	if r, err := k.Wait(t.Context(), ids[0]); err != nil || r.State != job.Dead || !strings.Contains(r.Error, "runtime.Goexit") {
		t.Errorf("got %+v, %v", r, err)
	}
}

// A call of Map whose functions do not end does not take the slots of the next one.
func TestMapAfterEndless(t *testing.T) {
	k := opened(t, jobs.Config{Folder: t.TempDir(), Grace: 10 * time.Millisecond})
	f, begun := endless(t), make(chan struct{}, 100)
	ctx, cancel := context.WithCancel(t.Context())
	mapped := make(chan error)
	items := make([]int, runtime.GOMAXPROCS(0))
	go func() {
		_, err := jobs.Map(ctx, k, items, func(ctx context.Context, _ int) (any, error) { begun <- struct{}{}; return f(ctx, nil) })
		mapped <- err
	}()
	for range items {
		<-begun
	}
	cancel()
	if err := <-mapped; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	got, err := jobs.Map(t.Context(), k, []int{1, 2}, func(_ context.Context, n int) (int, error) { return 10 * n, nil })
	if err != nil || fmt.Sprint(got) != "[10 20]" {
		t.Errorf("got %v, %v", got, err)
	}
}

const exitsVariable = "CANCHA_TEST_EXITS"

// A job that ends its process at once, which is the scheduler's, too, is dead after its attempts: the program that registers it goes on then.
func TestExits(t *testing.T) {
	if folder := os.Getenv(exitsVariable); folder != "" {
		exits(t, folder)
		return
	}
	folder := t.TempDir()
	ended := ""
	starts := 0
	for ended == "" && starts < 8 {
		starts++
		c := exec.Command(os.Args[0], "-test.run=^TestExits$")
		c.Env = append(os.Environ(), exitsVariable+"="+folder)
		out, err := c.CombinedOutput()
		switch {
		case err == nil:
			ended = string(out)
		case c.ProcessState.ExitCode() != 7:
			t.Fatalf("start %d: %v: %s", starts, err, out)
		}
	}
	begins, err := os.ReadFile(filepath.Join(folder, "begins"))
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(begins), "\n"); n < 1 || n > 2 || starts != n+1 || !strings.Contains(ended, "it is dead, and fine") {
		t.Errorf("begun %d times in %d starts, of which the last said %q", n, starts, ended)
	}
}

// exits is a program whose job ends it.
func exits(t *testing.T, folder string) {
	k := opened(t, jobs.Config{Folder: filepath.Join(folder, "jobs"), Settings: scheduler.Settings{Lease: time.Second, Backoff: time.Millisecond}})
	exit := func(context.Context, *jobs.Task) (any, error) {
		f, err := os.OpenFile(filepath.Join(folder, "begins"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err == nil {
			_, err = f.WriteString("begun\n")
		}
		if err != nil {
			t.Error(err)
		}
		os.Exit(7)
		return nil, nil
	}
	fine := func(context.Context, *jobs.Task) (any, error) { return "fine", nil }
	if err := errors.Join(k.Register(t.Context(), "exit", exit, 1), k.Register(t.Context(), "fine", fine, 1)); err != nil {
		t.Fatal(err)
	}
	if _, err := k.Submit(t.Context(), jobs.Spec{ID: "x", Type: "exit", Attempts: 2}); err != nil {
		t.Fatal(err)
	}
	r, err := k.Wait(t.Context(), "x")
	if err != nil {
		t.Fatal(err)
	}
	ids, err := k.Submit(t.Context(), jobs.Spec{Type: "fine"})
	if err != nil {
		t.Fatal(err)
	}
	other, err := k.Wait(t.Context(), ids[0])
	fmt.Printf("it is %s, and %s (%v)\n", r.State, strings.Trim(string(other.Value), `"`), err)
}

// unwritable is a result that cannot be written.
type unwritable int

func (u unwritable) MarshalJSON() ([]byte, error) { panic(fmt.Sprintf("no JSON of %d", int(u))) }

// A result of Map that cannot be written is an error of Map, as a panic of its function is, and not the end of the process.
func TestMapUnwritable(t *testing.T) {
	k := opened(t, jobs.Config{Folder: t.TempDir()})
	_, err := jobs.Map(t.Context(), k, []int{1, 2}, func(_ context.Context, n int) (any, error) { return unwritable(n), nil })
	if err == nil || !strings.Contains(err.Error(), "the result cannot be written as JSON: panic: no JSON of ") {
		t.Errorf("got %v", err)
	}
}
