package kerneltest

import (
	"context"
	"fmt"
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
		{"18 the heartbeat while a cell runs", busyHeartbeat},
		{"46 kernel_info on control while a cell runs", busyControl},
		{"47 an interrupt ends an endless cell and keeps the state", interruptEndless},
		{"48 what waits is interrupted", waits},
		{"29 an interrupt aborts the cells that wait", interruptAborts},
		{"49 interrupt while idle", interruptIdle},
		{"49 SIGINT while idle", signalIdle},
		{"49 SIGINT while a cell runs", signalBusy},
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

// endless runs the endless cell, calls f meanwhile and then interrupts it.
func (s *subject) endless(t *testing.T, f func()) client.Reply {
	t.Helper()
	need(t, s.Endless)
	return s.whileRunning(t, s.Endless, func() {
		defer func() {
			if err := s.client.Interrupt(t.Context()); err != nil {
				t.Error(err)
			}
		}()
		f()
	})
}

func busyHeartbeat(t *testing.T, s *subject) {
	s.endless(t, func() {
		var beats []time.Duration
		for range 20 {
			beats = append(beats, s.heartbeat(t))
		}
		slices.Sort(beats)
		if median := beats[len(beats)/2]; median > 100*time.Millisecond {
			t.Errorf("the heartbeat's median is %v", median)
		}
	})
}

// busyControl: the reply comes on the connection that asked, which is one to control.
func busyControl(t *testing.T, s *subject) {
	s.endless(t, func() {
		r := s.dial(t, s.kernel.Connection().ControlPort, "")
		for i := range 3 {
			began := time.Now()
			frames, id := r.message(t, "kernel_info_request", struct{}{})
			r.send(t, frames)
			m := r.reply(t)
			want(t, "reply", []any{m.ParentID(), m.Header.Type}, []any{id, "kernel_info_reply"})
			if took := time.Since(began); took > 500*time.Millisecond {
				t.Errorf("reply %d on control came after %v", i, took)
			}
		}
	})
}

func interruptEndless(t *testing.T, s *subject) {
	need(t, s.Keep, s.Kept)
	s.run(t, s.Keep)
	var interrupted time.Time
	r := s.endless(t, func() { interrupted = time.Now() })
	want(t, "status", r.Status, cell.Failed)
	if took := time.Since(interrupted); took > 2*time.Second {
		t.Errorf("the cell ended %v after the interrupt", took)
	}
	if r.Err == nil || r.Err.Name == "" || len(r.Err.Traceback) == 0 {
		t.Errorf("error %+v, want a name and a traceback", r.Err)
	}
	_, ms := s.run(t, s.Kept)
	want(t, "state", printed(ms, "stdout"), "kept\n")
}

// interruptAborts: the cells that wait behind an interrupted one do not run.
func interruptAborts(t *testing.T, s *subject) {
	need(t, s.Endless)
	r := s.dial(t, s.kernel.Connection().ShellPort, "")
	s.seen.take()
	var ids []string
	for _, code := range []string{s.Endless, s.Hello, s.Hello} {
		frames, id := r.message(t, "execute_request", map[string]any{"code": code})
		r.send(t, frames)
		ids = append(ids, id)
	}
	s.until(t, ids[0], "stream")
	if err := s.client.Interrupt(t.Context()); err != nil {
		t.Fatal(err)
	}
	for i, id := range ids {
		m := r.reply(t)
		want(t, fmt.Sprintf("order of reply %d", i), m.ParentID(), id)
		if status := content(m.Content)["status"]; status != "error" && status != "aborted" {
			t.Errorf("cell %d ended %v", i, status)
		}
	}
	s.alive(t)
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

// signalIdle: a signal takes its time, on a busy machine until the next cell has begun, and may hit that. One that the kernel keeps for the
// next cell would hit each.
func signalIdle(t *testing.T, s *subject) {
	var r client.Reply
	for range 5 {
		if err := s.kernel.Signal(os.Interrupt); err != nil {
			t.Fatal(err)
		}
		s.alive(t)
		if r, _ = s.run(t, s.Hello); r.Status == cell.OK {
			return
		}
	}
	want(t, "next cell, five times", r.Status, cell.OK)
}

// signalBusy: whether SIGINT stops a cell is the kernel's to say; it ends no kernel, and an interrupt still works.
func signalBusy(t *testing.T, s *subject) {
	s.endless(t, func() {
		if err := s.kernel.Signal(os.Interrupt); err != nil {
			t.Error(err)
		}
	})
	s.alive(t)
	r, _ := s.run(t, s.Hello)
	want(t, "next cell", r.Status, "ok")
}

// twoClients: each gets the replies to its own requests, and both hear everything.
func twoClients(t *testing.T, s *subject) {
	const cells = 10
	other := connect(t, Target{Samples: s.Samples, Sockets: s.sockets}, s.kernel)
	s.seen.take()
	var mu sync.Mutex
	asked := map[string]bool{} // msg_id of each request
	var all sync.WaitGroup
	for _, c := range []*subject{s, other} {
		all.Go(func() {
			for range cells {
				ctx, cancel := context.WithTimeout(t.Context(), patience)
				r, err := c.client.Execute(ctx, s.Hello, nil)
				cancel()
				if err != nil || r.Status != "ok" {
					t.Errorf("got %s, %v", r.Status, err)
					return
				}
				mu.Lock()
				asked[r.Message.ParentID()] = true
				mu.Unlock()
			}
		})
	}
	all.Wait()
	want(t, "requests", len(asked), 2*cells)
	for _, c := range []*subject{s, other} {
		c.alive(t) // its idle comes after all that was published before
		heard := 0
		for _, m := range of(c.seen.take(), "stream") {
			if asked[m.ParentID()] {
				heard++
			}
		}
		want(t, "outputs heard", heard, 2*cells)
	}
	a, b := s.dial(t, s.kernel.Connection().ShellPort, ""), s.dial(t, s.kernel.Connection().ShellPort, "")
	mine, id := a.message(t, "kernel_info_request", struct{}{})
	theirs, otherID := b.message(t, "kernel_info_request", struct{}{})
	a.send(t, mine)
	b.send(t, theirs)
	want(t, "the one's reply", a.reply(t).ParentID(), id)
	want(t, "the other's reply", b.reply(t).ParentID(), otherID)
	s.alive(t)
	if len(a.replies)+len(b.replies) != 0 {
		t.Error("a client got a reply that was not its own")
	}
}
