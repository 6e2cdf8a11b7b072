package primitive

import (
	"context"
	"os/exec"
	"slices"
	"testing"

	"cancha/internal/cellio"
)

// watched counts who waits for its end.
type watched struct {
	context.Context
	waiting int
}

func (w *watched) AfterFunc(func()) (stop func() bool) {
	w.waiting++
	return func() bool { w.waiting--; return true }
}

// TestCommandReleasesContext: a command's own context keeps nothing of commands that have ended or were never begun.
func TestCommandReleasesContext(t *testing.T) {
	m, done := newMachine(), make(chan struct{})
	defer close(done)
	own := &watched{Context: doneContext{t.Context(), done}}
	cellio.NewRun(1).Do(func() {
		good := exec.CommandContext(own, "true")
		if err := m.CmdStart(good); err != nil {
			t.Skip(err)
		}
		if own.waiting == 0 {
			t.Error("a command that runs does not wait for its context")
		}
		if err := m.CmdWait(good); err != nil {
			t.Error(err)
		}
		bad := exec.CommandContext(own, "true")
		bad.Path = "/nowhere"
		if err := m.CmdStart(bad); err == nil {
			t.Error("a command that does not exist was started")
		}
	})
	if own.waiting != 0 {
		t.Errorf("%d contexts of commands are kept", own.waiting)
	}
}

// doneContext has a channel of its own, so that package context does not look behind it.
type doneContext struct {
	context.Context
	done chan struct{}
}

func (c doneContext) Done() <-chan struct{} { return c.done }

// TestRemaining: a process that has got the number of one that has ended is not taken for it, nor is what it has started.
func TestRemaining(t *testing.T) {
	asked := []process{{10, 1, "5"}, {11, 10, "6"}}
	now := []process{{10, 1, "99"}, {12, 10, "100"}, {11, 1, "6"}, {13, 11, "7"}}
	got := tree(remaining(asked, now), now)
	if want := []process{{11, 10, "6"}, {13, 11, "7"}}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
