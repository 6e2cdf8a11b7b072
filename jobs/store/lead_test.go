package store_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"cancha/jobs/job"
	"cancha/jobs/store"
)

// leaderVariable has the test binary be a process that has a folder until it is killed.
const leaderVariable = "CANCHA_STORE_LEADER"

func TestMain(m *testing.M) {
	if folder := os.Getenv(leaderVariable); folder != "" {
		lead(folder)
	}
	os.Exit(m.Run())
}

// lead opens a folder, says so, and puts a job down each ten milliseconds.
func lead(folder string) {
	s, err := store.Open(folder)
	if err != nil {
		panic(err)
	}
	for {
		if err := s.Commit(&store.Changes{Jobs: []*job.Job{queued("leader")}}); err != nil {
			panic(err)
		}
		os.Stdout.WriteString("\n")
		time.Sleep(10 * time.Millisecond)
	}
}

// leader starts such a process, and waits until it has the folder.
func leader(t *testing.T, folder string) *exec.Cmd {
	t.Helper()
	p := exec.Command(os.Args[0])
	p.Env = append(os.Environ(), leaderVariable+"="+folder)
	out, err := p.StdoutPipe()
	if err == nil {
		err = p.Start()
	}
	if err == nil {
		_, err = out.Read(make([]byte, 1))
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = p.Process.Kill() // it may be dead
		_ = p.Wait()
	})
	return p
}

// awaited is a standby: its store comes when it has it, after the words that tell who has had it.
func awaited(t *testing.T, folder string) (held chan error, got chan *store.Store) {
	held, got = make(chan error, 10), make(chan *store.Store, 1)
	go func() {
		s, err := store.Await(t.Context(), folder, func(err error) { held <- err })
		if err != nil {
			t.Error(err)
		}
		got <- s
	}()
	return held, got
}

// A standby waits, says for whom, and has the folder within seconds when that process is killed.
func TestAwaitKilled(t *testing.T) {
	folder := t.TempDir()
	p := leader(t, folder)
	held, got := awaited(t, folder)
	if err := <-held; !errors.Is(err, store.ErrHeld) || !strings.Contains(err.Error(), "held by process ") {
		t.Errorf("got %v", err)
	}
	killed := time.Now()
	if err := p.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	s := <-got
	if took := time.Since(killed); took > 5*time.Second {
		t.Errorf("it took over after %v", took)
	}
	defer s.Close()
	if _, err := s.Get("leader"); err != nil || s.Epoch() != 2 {
		t.Errorf("epoch %d, %v", s.Epoch(), err)
	}
}

// A leader that is only stopped is not replaced, so that two never write; it goes on, and is followed when it ends.
func TestAwaitStopped(t *testing.T) {
	folder := t.TempDir()
	p := leader(t, folder)
	if err := p.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*store.Looks)
	defer cancel()
	if _, err := store.Await(ctx, folder, nil); !errors.Is(err, store.ErrHeld) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
	_, got := awaited(t, folder)
	if err := p.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	if err := p.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	s := <-got
	if err := errors.Join(s.Commit(&store.Changes{Jobs: []*job.Job{queued("next")}}), s.Close()); err != nil {
		t.Error(err)
	}
}

// Who has lost its folder writes nothing, though it does not know yet: here the folder was moved, and another process has made a new one.
func TestDeposed(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "jobs")
	first := opened(t, folder)
	defer first.Close()
	if err := errors.Join(first.Leads(), os.Rename(folder, folder+".old")); err != nil {
		t.Fatal(err)
	}
	second := opened(t, folder)
	defer second.Close()
	_, expired := first.Expire(noon, 1)
	for _, err := range []error{first.Commit(&store.Changes{Jobs: []*job.Job{queued("a")}}), first.Begin([]*job.Job{queued("a")}, nil),
		first.Leads(), expired} {
		if !errors.Is(err, store.ErrDeposed) {
			t.Errorf("got %v", err)
		}
	}
	if _, err := first.Get("a"); !errors.Is(err, store.ErrUnknown) {
		t.Errorf("the job that was refused: %v", err)
	}
	if err := second.Leads(); err != nil {
		t.Error(err)
	}
}
