package cellio

import (
	"encoding/json"
	"errors"
	"io"
	"sync"
	"testing"
)

// asked starts an Asker whose questions arrive on a channel.
func asked(t *testing.T) (*Asker, <-chan Frame, *Run) {
	t.Helper()
	frames := make(chan Frame, 10)
	a := NewAsker(func(f Frame) error { frames <- f; return nil })
	r := NewRun(7)
	a.Begin(r)
	return a, frames, r
}

func TestAskReplies(t *testing.T) {
	for _, c := range []struct {
		name  string
		reply InputReply
		value string
		err   error
	}{
		{"a line", InputReply{Value: "Ada ø 𝔊"}, "Ada ø 𝔊", nil},
		{"an empty line", InputReply{}, "", nil},
		{"the end", InputReply{EOF: true}, "", io.EOF},
		{"denied", InputReply{Err: "no"}, "", ErrNoInput},
	} {
		t.Run(c.name, func(t *testing.T) {
			a, frames, r := asked(t)
			go func() {
				f := <-frames
				a.Answer(f.Seq+1, InputReply{Value: "to somebody else"})
				a.Answer(f.Seq, c.reply)
				a.Answer(f.Seq, InputReply{Value: "too late"})
			}()
			got, err := a.Ask(r, Input{Prompt: "Name? ", Password: true})
			if got != c.value || !errors.Is(err, c.err) {
				t.Errorf("got %q, %v, want %q, %v", got, err, c.value, c.err)
			}
		})
	}
}

func TestAskFrame(t *testing.T) {
	a, frames, r := asked(t)
	done := make(chan struct{})
	go func() { defer close(done); _, _ = a.Ask(r, Input{Prompt: "Name? ", Password: true}) }()
	f := <-frames
	var in Input
	if err := json.Unmarshal(f.Body, &in); err != nil || f.Kind != KindInput || f.Cell != 7 || in != (Input{"Name? ", true}) {
		t.Errorf("got %s of cell %d: %+v, %v", f.Kind, f.Cell, in, err)
	}
	a.Answer(f.Seq, InputReply{})
	<-done
}

// TestAskTurns: several goroutines ask, one question is open at a time, each gets its own answer.
func TestAskTurns(t *testing.T) {
	a, frames, r := asked(t)
	var all sync.WaitGroup
	for _, prompt := range []string{"a", "b", "c", "d"} {
		all.Go(func() {
			if got, err := a.Ask(r, Input{Prompt: prompt}); got != "re "+prompt || err != nil {
				t.Errorf("%s: got %q, %v", prompt, got, err)
			}
		})
	}
	for range 4 {
		f := <-frames
		if len(frames) > 0 {
			t.Error("two questions are open at once")
		}
		var in Input
		_ = json.Unmarshal(f.Body, &in)
		a.Answer(f.Seq, InputReply{Value: "re " + in.Prompt})
	}
	all.Wait()
}

func TestAskTakenBack(t *testing.T) {
	for _, c := range []struct {
		name string
		take func(*Asker, *Run)
		asks int // goroutines; one is asked, the others wait for their turn, or come late
		want error
		cut  bool
	}{
		{"by an interrupt", func(a *Asker, r *Run) { r.Interrupt(); a.Interrupt(r) }, 3, ErrInterrupted, true},
		{"by an interrupt that the cell handles", func(a *Asker, r *Run) { a.Interrupt(r) }, 1, ErrInterrupted, true},
		{"by the cell's end", func(a *Asker, r *Run) { a.End(r) }, 3, ErrEnded, false},
		{"by a stop", func(a *Asker, r *Run) { r.Stop(ErrNoInput) }, 3, ErrNoInput, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			a, frames, r := asked(t)
			errs := make(chan error, c.asks)
			for range c.asks {
				go func() { _, err := a.Ask(r, Input{}); errs <- err }()
			}
			f := <-frames
			c.take(a, r)
			a.Answer(f.Seq, InputReply{Value: "late"})
			for range c.asks {
				if err := <-errs; !errors.Is(err, c.want) {
					t.Errorf("got %v, want %v", err, c.want)
				}
			}
			if got := a.Cut(r); got != c.cut {
				t.Errorf("cut: got %v, want %v", got, c.cut)
			}
		})
	}
}

// TestAskAgain: a cell that has handled an interrupt may ask again; one that was interrupted, or has ended, may not.
func TestAskAgain(t *testing.T) {
	a, frames, r := asked(t)
	a.Interrupt(r)
	go func() { a.Answer((<-frames).Seq, InputReply{Value: "again"}) }()
	if got, err := a.Ask(r, Input{}); got != "again" || err != nil {
		t.Errorf("after an interrupt that was handled: got %q, %v", got, err)
	}
	r.Interrupt()
	a.Interrupt(r)
	if _, err := a.Ask(r, Input{}); !errors.Is(err, ErrInterrupted) {
		t.Errorf("after an interrupt: got %v", err)
	}
	a.End(r)
	if _, err := a.Ask(r, Input{}); !errors.Is(err, ErrEnded) || !errors.Is(err, ErrNoInput) {
		t.Errorf("after the end: got %v", err)
	}
	if len(frames) > 0 {
		t.Error("a question was asked that nobody waits for")
	}
}

func TestAskDetached(t *testing.T) {
	if _, err := Ask(Input{}); !errors.Is(err, ErrDetached) {
		t.Errorf("got %v, want %v", err, ErrDetached)
	}
}
