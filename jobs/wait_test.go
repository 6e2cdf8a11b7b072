package jobs_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"cancha/jobs"
	"cancha/jobs/job"
	"cancha/jobs/local"
	"cancha/jobs/queue"
)

// each calls a test with a process that has the scheduler, and with one that uses it.
func each(t *testing.T, test func(t *testing.T, k *jobs.Cluster)) {
	t.Run("with the scheduler", func(t *testing.T) { test(t, opened(t, jobs.Config{Folder: t.TempDir()})) })
	t.Run("elsewhere", func(t *testing.T) {
		folder := t.TempDir()
		opened(t, jobs.Config{Folder: folder})
		broker, err := local.Dial(t.Context(), local.Socket(folder), "")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = broker.Close() })
		test(t, opened(t, jobs.Config{Broker: broker}))
	})
}

func sized(id string, n int) jobs.Spec {
	return jobs.Spec{ID: id, Type: "sized", Parameters: jobs.Parameters{"n": n}.JSON()}
}

// register has jobs of a type wait for release, and return 42.
func register(t *testing.T, k *jobs.Cluster, name string, release <-chan struct{}) {
	t.Helper()
	err := k.Register(t.Context(), name, func(ctx context.Context, task *jobs.Task) (any, error) {
		select {
		case <-release:
			return 42, nil
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}, 4)
	if err != nil {
		t.Fatal(err)
	}
}

func completes(t *testing.T, k *jobs.Cluster, id string) {
	t.Helper()
	if r, err := k.Wait(t.Context(), id); err != nil || r.State != job.Completed || string(r.Value) != "42" {
		t.Errorf("%s: got %+v, %v, want 42", id, r, err)
	}
}

// becomes waits until the scheduler knows a job, in a state; "": in any.
func becomes(t *testing.T, k *jobs.Cluster, id string, state jobs.State) {
	t.Helper()
	for {
		j, err := k.Job(t.Context(), id)
		if err != nil && !errors.Is(err, jobs.ErrUnknown) {
			t.Fatal(err)
		}
		if err == nil && (state == "" || j.State == state) {
			return
		}
	}
}

// Other content under an id or a key that is taken is refused, and has nothing to do with the end of the job that has it; the same content
// is the same job, also when that has ended.
func TestSubmitOther(t *testing.T) {
	each(t, func(t *testing.T, k *jobs.Cluster) {
		release := make(chan struct{})
		register(t, k, "sized", release)
		first := sized("x", 1)
		first.Key = "k"
		submit := func(s jobs.Spec) error {
			_, err := k.Submit(t.Context(), s)
			return err
		}
		if err := submit(first); err != nil {
			t.Fatal(err)
		}
		becomes(t, k, "x", "")
		refuses := func(when string) {
			t.Helper()
			other, keyed, another := sized("x", 2), sized("y", 2), sized("x", 1)
			keyed.Key, another.Type = "k", "other"
			for what, s := range map[string]jobs.Spec{"parameters": other, "parameters under its key": keyed, "type": another} {
				if err := submit(s); !errors.Is(err, jobs.ErrOther) {
					t.Errorf("%s, other %s: got %v", when, what, err)
				}
			}
			if _, err := k.Submit(t.Context(), sized("z", 1), sized("z", 2)); !errors.Is(err, jobs.ErrOther) {
				t.Errorf("%s, two at once: got %v", when, err)
			}
			if _, err := k.Job(t.Context(), "y"); !errors.Is(err, jobs.ErrUnknown) {
				t.Errorf("%s: y is there: %v", when, err)
			}
		}
		refuses("while it runs")
		if err := submit(sized("x", 1)); err != nil {
			t.Error(err)
		}
		close(release)
		completes(t, k, "x")
		refuses("when it has ended")
		completes(t, k, "x")
		if err := submit(sized("x", 1)); err != nil {
			t.Error(err)
		}
		completes(t, k, "x")
	})
}

// A job of another process is refused likewise, and this process waits for that one then.
func TestSubmitOtherOfAnother(t *testing.T) {
	each(t, func(t *testing.T, k *jobs.Cluster) {
		release := make(chan struct{})
		register(t, k, "sized", release)
		m, err := (&job.Spec{ID: "x", Type: "sized", Parameters: jobs.Parameters{"n": 1}.JSON()}).Message()
		if err == nil {
			err = k.Broker().Publish(t.Context(), job.QueueJobs, m)
		}
		if err != nil {
			t.Fatal(err)
		}
		becomes(t, k, "x", "")
		if _, err := k.Submit(t.Context(), sized("x", 2)); !errors.Is(err, jobs.ErrOther) {
			t.Errorf("got %v", err)
		}
		close(release)
		completes(t, k, "x")
	})
}

// A dead job that is tried again has not ended, whoever has it tried again, and Wait tells its next end.
func TestWaitReplayed(t *testing.T) {
	for _, how := range []string{"replayed", "replayed before its end was told", "replayed by another one"} {
		t.Run(how, func(t *testing.T) {
			folder := t.TempDir()
			k, other := opened(t, jobs.Config{Folder: folder}), opened(t, jobs.Config{Folder: folder})
			var again atomic.Bool
			release := make(chan struct{})
			err := k.Register(t.Context(), "flaky", func(context.Context, *jobs.Task) (any, error) {
				if !again.Load() {
					return nil, errors.New("not yet")
				}
				<-release
				return 42, nil
			}, 1)
			if err != nil {
				t.Fatal(err)
			}
			ids, err := k.Submit(t.Context(), jobs.Spec{Type: "flaky", Attempts: 1})
			if err != nil {
				t.Fatal(err)
			}
			if how == "replayed before its end was told" {
				becomes(t, k, ids[0], job.Dead)
			} else if r, err := k.Wait(t.Context(), ids[0]); err != nil || r.State != job.Dead {
				t.Fatalf("got %+v, %v", r, err)
			}
			again.Store(true)
			by := k
			if how == "replayed by another one" {
				by = other
			}
			if err := by.Replay(t.Context(), ids[0]); err != nil {
				t.Fatal(err)
			}
			ended := make(chan struct{})
			go func() { defer close(ended); completes(t, k, ids[0]) }()
			close(release)
			<-ended
			completes(t, k, ids[0])
		})
	}
}

// Wait tells the end of a job whatever correlation id its result has, and wherever that goes.
func TestWaitElsewhere(t *testing.T) {
	each(t, func(t *testing.T, k *jobs.Cluster) {
		release := make(chan struct{})
		close(release)
		register(t, k, "sized", release)
		if _, err := k.Broker().Declare(t.Context(), queue.Spec{Name: "mine"}); err != nil {
			t.Fatal(err)
		}
		for i, s := range []jobs.Spec{{Correlation: "foo"}, {ReplyTo: "mine"}, {Correlation: "foo", ReplyTo: "mine"}, {ReplyTo: "nowhere"}, {ReplyTo: job.QueueResults}} {
			for _, id := range []string{"", fmt.Sprint("named", i)} {
				s.ID, s.Type = id, "sized"
				ids, err := k.Submit(t.Context(), s)
				if err != nil {
					t.Fatal(err)
				}
				completes(t, k, ids[0])
			}
		}
	})
}

// Who submits before there is a scheduler learns from the result that the id is another job's, also where that goes elsewhere.
func TestSubmitOtherUnseen(t *testing.T) {
	folder := t.TempDir()
	b, err := local.Open(folder, local.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	before := []*jobs.Cluster{opened(t, jobs.Config{Broker: b}), opened(t, jobs.Config{Broker: b}), opened(t, jobs.Config{Broker: b})}
	for n, k := range before {
		s := jobs.Spec{ID: "x", Type: jobs.VectorAddition, Parameters: jobs.Parameters{"size": n + 1}.JSON()}
		if n == 2 {
			s.ReplyTo = job.QueueResults
		}
		if _, err := k.Submit(t.Context(), s); err != nil {
			t.Fatal(err)
		}
	}
	opened(t, jobs.Config{Broker: b, Schedule: true, Folder: t.TempDir()})
	for n, k := range before[1:] {
		if r, err := k.Wait(t.Context(), "x"); err != nil || r.State != job.Failed || !strings.Contains(r.Error, "other parameters") {
			t.Errorf("%d: got %+v, %v", n+1, r, err)
		}
	}
}
