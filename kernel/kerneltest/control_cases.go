package kerneltest

import (
	"context"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"cancha/kernel/cell"
	"cancha/kernel/client"
	"cancha/kernel/wire"
)

// controlCases are the properties of a kernel that is busy.
func controlCases() []namedCase {
	return []namedCase{
		{"control and heartbeat while a cell runs; interrupt keeps the state", whileBusy},
		{"what waits is interrupted", waits},
		{"interrupt while idle", interruptIdle},
		{"SIGINT while idle", signalIdle},
		{"two clients", twoClients},
	}
}

// whileRunning starts code that does not end, waits for its first output, calls f and returns the reply.
func (s *subject) whileRunning(t *testing.T, code string, f func()) client.Reply {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
	defer cancel()
	started := make(chan struct{})
	once := sync.OnceFunc(func() { close(started) })
	type end struct {
		reply client.Reply
		err   error
	}
	ended := make(chan end, 1)
	go func() {
		r, err := s.client.Execute(ctx, code, func(m wire.Message) {
			if m.Header.Type == "stream" {
				once()
			}
		})
		once()
		ended <- end{r, err}
	}()
	<-started
	f()
	e := <-ended
	if e.err != nil {
		t.Fatal(e.err)
	}
	return e.reply
}

func whileBusy(t *testing.T, s *subject) {
	need(t, s.Endless, s.Keep, s.Kept)
	s.run(t, s.Keep)
	var interrupted time.Time
	r := s.whileRunning(t, s.Endless, func() {
		began := time.Now()
		got := s.ask(t, client.Control, "kernel_info_request", struct{}{})
		want(t, "kernel_info on control", got["status"], "ok")
		if took := time.Since(began); took > 500*time.Millisecond {
			t.Errorf("control answered after %v", took)
		}
		var beats []time.Duration
		for range 20 {
			beats = append(beats, s.heartbeat(t))
		}
		slices.Sort(beats)
		if median := beats[len(beats)/2]; median > 100*time.Millisecond {
			t.Errorf("the heartbeat's median is %v", median)
		}
		interrupted = time.Now()
		if err := s.client.Interrupt(t.Context()); err != nil {
			t.Error(err)
		}
	})
	want(t, "status", r.Status, cell.Failed)
	if took := time.Since(interrupted); took > 2*time.Second {
		t.Errorf("the cell ended %v after the interrupt", took)
	}
	_, ms := s.run(t, s.Kept)
	want(t, "state", printed(ms, "stdout"), "kept\n")
}

func waits(t *testing.T, s *subject) {
	if len(s.Waits) == 0 {
		t.Skip("no sample")
	}
	for name, code := range s.Waits {
		var began time.Time
		r := s.whileRunning(t, code, func() {
			began = time.Now()
			if err := s.client.Interrupt(t.Context()); err != nil {
				t.Error(err)
			}
		})
		want(t, name+": status", r.Status, cell.Failed)
		if took := time.Since(began); took > 2*time.Second {
			t.Errorf("%s: the cell ended %v after the interrupt", name, took)
		}
	}
}

func interruptIdle(t *testing.T, s *subject) {
	got := s.ask(t, client.Control, "interrupt_request", struct{}{})
	want(t, "status", got["status"], "ok")
	r, _ := s.run(t, s.Hello)
	want(t, "next cell", r.Status, "ok")
}

func signalIdle(t *testing.T, s *subject) {
	if err := s.kernel.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	s.alive(t)
	r, _ := s.run(t, s.Hello)
	want(t, "next cell", r.Status, "ok")
}

func twoClients(t *testing.T, s *subject) {
	other := connect(t, Target{Samples: s.Samples, Sockets: s.sockets}, s.kernel)
	var all sync.WaitGroup
	for _, c := range []*subject{s, other} {
		all.Go(func() {
			for range 10 {
				ctx, cancel := context.WithTimeout(t.Context(), patience)
				r, err := c.client.Execute(ctx, s.Hello, nil)
				cancel()
				if err != nil || r.Status != "ok" {
					t.Errorf("got %s, %v", r.Status, err)
				}
			}
		})
	}
	all.Wait()
}
