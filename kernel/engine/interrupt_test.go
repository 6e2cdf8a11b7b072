package engine

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"cancha/kernel/cell"
)

// watched is a context that says when somebody has begun to wait for its end.
type watched struct {
	context.Context
	waits func()
}

func (w watched) Done() <-chan struct{} {
	w.waits()
	return w.Context.Done()
}

// execute runs a cell in the background and returns when it waits: for its engine to serve, where that does not yet.
func execute(t *testing.T, e *Engine, id int64, code string) (result <-chan cell.Result) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	begun := make(chan struct{})
	results := make(chan cell.Result, 1)
	go func() {
		defer cancel()
		results <- e.Execute(watched{ctx, sync.OnceFunc(func() { close(begun) })}, cell.Request{Cell: id, Code: code})
	}()
	<-begun
	return results
}

// TestInterruptBeforeAnEngineServes ends the wait, of an engine that never comes to serve too, and tells nobody that it failed.
func TestInterruptBeforeAnEngineServes(t *testing.T) {
	e, rec := newTestEngine(t, "mute")
	e.config.Failed = func(why string) bool { t.Errorf("failed: %s", why); return false }
	for id := range int64(2) {
		result := execute(t, e, id, "print x")
		e.Interrupt()
		if r := <-result; r.Err == nil || r.Err.Name != "interrupted" || rec.get(id, "stdout") != "" {
			t.Errorf("cell %d: got %+v", id, r.Err)
		}
	}
}

// TestInterruptBeforeServing: a cell that was interrupted before its engine served does not run there, and the next one does.
func TestInterruptBeforeServing(t *testing.T) {
	at := filepath.Join(t.TempDir(), "ready")
	rec := &recorder{text: map[int64]map[string]string{}}
	e := New(Config{Sink: rec.sink, Command: func() *exec.Cmd {
		c := exec.Command(os.Args[0])
		c.Env = append(os.Environ(), "CANCHA_TEST_ENGINE=yes", "CANCHA_TEST_READY="+at)
		return c
	}})
	t.Cleanup(func() { e.Close() })
	first := execute(t, e, 1, "print x")
	e.Interrupt()
	if err := os.WriteFile(at, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if r := <-first; r.Err == nil || r.Err.Name != "interrupted" || rec.get(1, "stdout") != "" {
		t.Errorf("got %+v, output %q", r, rec.get(1, "stdout"))
	}
	if r := run(t, e, 2, "print y"); r.Status != cell.OK || rec.get(2, "stdout") != "y" {
		t.Errorf("the next cell: %+v, output %q", r, rec.get(2, "stdout"))
	}
}

// TestInterruptJustBeforeACellIsSent stops the cell: the engine got the interrupt's frame when it knew of no cell.
func TestInterruptJustBeforeACellIsSent(t *testing.T) {
	e, _ := newTestEngine(t, "yes")
	run(t, e, 1, "print x")
	interrupted := e.interrupts.await()
	e.interrupts.tell() // as a whole Interrupt before the cell is sent
	r, err := e.current.execute(t.Context(), cell.Request{Cell: 2, Code: "hang"}, interrupted)
	if err != nil || r.Err == nil || r.Err.Name != "interrupted" {
		t.Errorf("got %+v, %v", r, err)
	}
}
