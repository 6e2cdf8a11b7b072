package engine

import (
	"context"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"cancha/internal/cellio"
	"cancha/kernel/cell"
)

// slowGate lets in a step at a time, each after a pause; nothing where the pause is zero.
type slowGate struct {
	step  cellio.Credit
	pause time.Duration
	most  int // bytes; none after that where it is not 0

	mu   sync.Mutex
	let  cellio.Credit // in all
	kept cellio.Credit
}

func (g *slowGate) Acquire(ctx context.Context, want cellio.Credit) (cellio.Credit, error) {
	if g.pause == 0 {
		<-ctx.Done()
		return cellio.Credit{}, ctx.Err()
	}
	select {
	case <-time.After(g.pause):
	case <-ctx.Done():
		return cellio.Credit{}, ctx.Err()
	}
	if let, _ := g.sums(); g.most > 0 && let.Bytes >= g.most {
		<-ctx.Done()
		return cellio.Credit{}, ctx.Err()
	}
	got := cellio.Credit{Messages: min(want.Messages, g.step.Messages), Bytes: min(want.Bytes, g.step.Bytes)}
	g.add(got)
	return got, nil
}

func (g *slowGate) add(c cellio.Credit) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.let, g.kept = g.let.Add(c), g.kept.Add(c)
}

func (g *slowGate) Release(c cellio.Credit) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.kept = g.kept.Sub(c)
}

func (g *slowGate) sums() (let, kept cellio.Credit) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.let, g.kept
}

// TestAFloodHoldsUpNothingElse has a cell write without end, as frames and to a file descriptor, while little is let in.
func TestAFloodHoldsUpNothingElse(t *testing.T) {
	for _, word := range []string{"flood", "fdflood"} {
		t.Run(word, func(t *testing.T) {
			gate := &slowGate{step: cellio.Credit{Messages: 2, Bytes: 16 << 10}, pause: 20 * time.Millisecond}
			e, rec := newGatedEngine(t, "yes", gate)
			done := make(chan cell.Result, 1)
			go func() { done <- run(t, e, 1, word+" 0123456789abcdef") }()
			for begin := time.Now(); rec.get(1, "stdout") == ""; time.Sleep(time.Millisecond) { // polls: a sink has no other way to tell
				if time.Since(begin) > 10*time.Second {
					t.Fatal("nothing was written")
				}
			}
			var longest time.Duration
			for begin := time.Now(); time.Since(begin) < time.Second; {
				before := time.Now()
				if _, err := e.Complete(t.Context(), cell.Question{Code: "fmt.Pri", Cursor: 7}); err != nil {
					t.Fatal(err)
				}
				longest = max(longest, time.Since(before))
			}
			before := time.Now()
			e.Interrupt()
			r := <-done
			took := time.Since(before)
			if r.Err == nil || r.Err.Name != "interrupted" {
				t.Errorf("got %+v, want interrupted", r)
			}
			if longest > 500*time.Millisecond || took > 500*time.Millisecond { // they take milliseconds
				t.Errorf("a completion took %v, the interrupt %v", longest, took)
			}
			let, _ := gate.sums()
			if got, most := len(rec.get(1, "stdout")), let.Bytes+512<<10; got > most {
				t.Errorf("%d bytes were handed over, %d let in", got, let.Bytes)
			}
			if r := run(t, e, 2, "print after"); r.Status != cell.OK || rec.get(2, "stdout") != "after" {
				t.Errorf("the next cell: %+v, %q", r, rec.get(2, "stdout"))
			}
			t.Logf("the longest completion took %v, the interrupt %v", longest, took)
		})
	}
}

// TestInterruptWhileNothingIsLetIn has a cell hang in a write, of frames and to a file descriptor.
func TestInterruptWhileNothingIsLetIn(t *testing.T) {
	for _, word := range []string{"flood", "fdflood"} {
		t.Run(word, func(t *testing.T) {
			gate := &slowGate{step: cellio.Credit{Messages: 8, Bytes: 64 << 10}, pause: time.Millisecond, most: 300 << 10}
			e, rec := newGatedEngine(t, "yes", gate)
			done := make(chan cell.Result, 1)
			go func() { done <- run(t, e, 1, word+" 0123456789abcdef") }()
			for begin, seen := time.Now(), -1; ; time.Sleep(100 * time.Millisecond) { // polls: a sink has no other way to tell
				n := len(rec.get(1, "stdout"))
				if n > 0 && n == seen {
					break
				}
				if seen = n; time.Since(begin) > 10*time.Second {
					t.Fatalf("it still writes, %d bytes", n)
				}
			}
			before := time.Now()
			e.Interrupt()
			r := <-done
			if took := time.Since(before); took > 10*time.Second || r.Err == nil || r.Err.Name != "interrupted" {
				t.Errorf("got %+v after %v, want interrupted soon", r, took)
			}
			if let, _ := gate.sums(); len(rec.get(1, "stdout")) > let.Bytes+last().Bytes+256<<10 {
				t.Errorf("%d bytes were handed over, %d let in", len(rec.get(1, "stdout")), let.Bytes)
			}
		})
	}
}

// TestAShutGateHoldsUpNoEnd: what a cell has written is handed over when it ends, whatever the gate says.
func TestAShutGateHoldsUpNoEnd(t *testing.T) {
	e, rec := newGatedEngine(t, "yes", &slowGate{})
	for i, code := range []string{"print " + strings.Repeat("x", 10_000), "fd " + strings.Repeat("x", 10_000)} {
		if r := run(t, e, int64(i+1), code); r.Status != cell.OK {
			t.Fatalf("%.10s: %+v", code, r)
		}
		if got := len(rec.get(int64(i+1), "stdout")); got != 10_000 {
			t.Errorf("%.10s: %d bytes, want 10,000", code, got)
		}
	}
	if r := run(t, e, 3, "exit"); r.Err == nil || r.Err.Name != "engine died" {
		t.Errorf("exit: got %+v", r)
	}
}

func TestCloseDuringAFlood(t *testing.T) {
	for _, word := range []string{"flood", "fdflood"} {
		gate := &slowGate{step: cellio.Credit{Messages: 2, Bytes: 16 << 10}, pause: 20 * time.Millisecond}
		e, rec := newGatedEngine(t, "yes", gate)
		done := make(chan cell.Result, 1)
		go func() { done <- run(t, e, 1, word+" 0123456789abcdef") }()
		until(t, "something is written", func() bool { return rec.get(1, "stdout") != "" })
		before := time.Now()
		if err := e.Close(); err != nil {
			t.Error(err)
		}
		if took := time.Since(before); took > time.Second {
			t.Errorf("%s: closing took %v", word, took)
		}
		<-done
		if _, kept := gate.sums(); kept != (cellio.Credit{}) {
			t.Errorf("%s: room is kept for %+v of an engine that is gone", word, kept)
		}
	}
}

// TestInterruptIsReadLate: what an interrupt lets out before the engine reads it may be used up by then, so it is let out again, until nothing runs.
func TestInterruptIsReadLate(t *testing.T) {
	ours, theirs := net.Pipe()
	granted := make(chan cellio.Credit, mostLetOut)
	grant := func(c cellio.Credit) { granted <- c }
	p := &process{conn: cellio.NewConn(ours), logger: slog.New(slog.DiscardHandler), ended: make(chan struct{}), stop: make(chan chan struct{}, 1),
		done: map[int64]chan cell.Result{1: nil}}
	p.flows = [2]*flow{newFlow(nil, frameWindow(), nil), newFlow(&slowGate{}, pipeWindow(), grant)}
	var sender sync.WaitGroup
	sender.Go(p.sendInterrupts)
	p.interrupt() // nobody reads it
	p.flows[1].used(cellio.Frame{Kind: cellio.KindStream, Body: make([]byte, (<-granted).Bytes)})
	if f, err := cellio.NewConn(theirs).Receive(); err != nil || f.Kind != cellio.KindInterrupt {
		t.Fatalf("got %+v, %v, want an interrupt", f, err)
	}
	select {
	case <-granted:
	case <-time.After(20 * time.Second):
		t.Error("nothing is let out behind an interrupt that was read late")
	}
	p.mu.Lock()
	delete(p.done, 1)
	p.mu.Unlock()
	close(p.ended)
	sender.Wait()
}

// TestInterruptAtAnEnginesEnd: an interrupt that comes when a flow is over, but its process not yet gone, keeps no room.
func TestInterruptAtAnEnginesEnd(t *testing.T) {
	gate := &slowGate{}
	f := newFlow(gate, pipeWindow(), func(cellio.Credit) {})
	over, cancel := context.WithCancel(t.Context())
	cancel()
	f.run(over)
	f.letOut()
	if _, kept := gate.sums(); kept != (cellio.Credit{}) {
		t.Errorf("room is kept for %+v of a flow that is over", kept)
	}
}

// TestInterruptLetsOutWhateverIsLeft: what an outlet has left may be on its way already, so an interrupt grants more, and many interrupts no more than two.
func TestInterruptLetsOutWhateverIsLeft(t *testing.T) {
	gate, granted := &slowGate{}, 0
	f := newFlow(gate, pipeWindow(), func(c cellio.Credit) { granted += c.Bytes })
	f.add(pipeWindow(), cellio.Credit{})
	for i, want := range []int{1, 2, 2, 2} {
		if f.letOut(); granted != want*last().Bytes {
			t.Errorf("interrupt %d: %d bytes were granted in all, want %d", i+1, granted, want*last().Bytes)
		}
	}
}
