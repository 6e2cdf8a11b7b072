package engine

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"cancha/internal/cellio"
	"cancha/kernel/cell"
)

// serveTestComm handles a comm's frame in the test engine: "die" ends the process, "hang" waits for its end, all else is sent back.
func serveTestComm(out *cellio.Outlet, f cellio.Frame) {
	var c cellio.Comm
	_ = json.Unmarshal(f.Body, &c)
	if string(c.Data) == `"die"` {
		os.Exit(4)
	}
	if string(c.Data) == `"hang"` {
		select {}
	}
	_ = out.Emit(f.Kind, f.Cell, c, f.Buffers...)
	_ = out.Emit(cellio.KindDone, f.Cell, cell.Result{Status: cell.OK})
}

func comm(t *testing.T, e *Engine, id int64, data string, buffers ...[]byte) (cell.Result, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	body, _ := json.Marshal(cellio.Comm{ID: "c", Data: json.RawMessage(data)})
	return e.Comm(ctx, cellio.Frame{Kind: cellio.KindCommMsg, Cell: id, Body: body, Buffers: buffers})
}

func TestComm(t *testing.T) {
	frames := make(chan cellio.Frame, 10)
	var ended atomic.Int32
	release := make(chan struct{})
	e := New(Config{
		Sink:  func(f cellio.Frame) { frames <- f },
		Ended: func() { ended.Add(1) },
		Command: func() *exec.Cmd {
			<-release
			c := exec.Command(os.Args[0])
			c.Env = append(os.Environ(), "CANCHA_TEST_ENGINE=yes")
			return c
		},
		Prepare: func(ctx context.Context, _ func(string)) { <-release },
	})
	defer e.Close()
	if _, err := comm(t, e, 1, `1`); err == nil {
		t.Error("a comm was handed to an engine that does not serve")
	}
	close(release)
	run(t, e, 2, "print x")
	<-frames
	if r, err := comm(t, e, 3, `{"a":1}`, []byte{0, 255}); err != nil || r.Status != cell.OK {
		t.Fatalf("got %v, %v", r, err)
	}
	if f := <-frames; f.Kind != cellio.KindCommMsg || f.Cell != 3 || string(f.Body) != `{"comm_id":"c","data":{"a":1}}` || string(f.Buffers[0]) != "\x00\xff" {
		t.Errorf("the sink got %s %d %s %q", f.Kind, f.Cell, f.Body, f.Buffers)
	}
	if r, err := comm(t, e, 4, `"die"`); err != nil || r.Status != cell.Failed || r.Err.Name != "engine died" {
		t.Errorf("an engine that dies in a handler: got %+v, %v", r, err)
	}
	if got := ended.Load(); got != 1 {
		t.Errorf("Ended was called %d times", got)
	}
	if r := run(t, e, 5, "print y"); r.Status != cell.OK {
		t.Errorf("the next cell: %v", r.Err)
	}
	run(t, e, 6, "exit")
	if got := ended.Load(); got != 2 {
		t.Errorf("Ended was called %d times before its cell ended, want 2", got)
	}
}

// TestHandlerBesideCells: what comes by the pipes is a cell's, never that of a comm's handler, though one runs on.
func TestHandlerBesideCells(t *testing.T) {
	e, rec := newTestEngine(t, "yes")
	run(t, e, 1, "print x")
	handled := make(chan error, 1)
	go func() { _, err := comm(t, e, 3, `"hang"`); handled <- err }()
	until(t, "the handler runs", func() bool {
		e.current.mu.Lock()
		defer e.current.mu.Unlock()
		return len(e.current.done) == 1
	})
	run(t, e, 2, "print y")
	if got := e.current.latest.Load(); got != 2 {
		t.Errorf("what comes after cell 2 goes to %d", got)
	}
	beside := cell.Request{Cell: 4, Code: "fd words", Subshell: true}
	if r := e.Execute(t.Context(), beside); r.Status != cell.OK || rec.get(4, "stdout") != "words" {
		t.Errorf("a subshell's cell beside the handler: %+v, output %q", r, rec.get(4, "stdout"))
	}
	e.Close()
	<-handled
}

// TestTooLarge: what no frame can carry is an error, and the engine goes on. JSON writes each < in six bytes.
func TestTooLarge(t *testing.T) {
	if testing.Short() {
		t.Skip("300 MB: takes seconds")
	}
	e, _ := newTestEngine(t, "yes")
	if r := run(t, e, 1, strings.Repeat("<", cellio.MaxFrame/6+1)); r.Status != cell.Failed || r.Err.Name != "too large" {
		t.Errorf("a cell: got %+v", r.Err)
	}
	if r, err := comm(t, e, 2, `1`, make([]byte, cellio.MaxFrame)); err != nil || r.Status != cell.Failed {
		t.Errorf("a comm: got %+v, %v", r, err)
	}
	if _, err := e.Complete(t.Context(), cell.Question{Code: strings.Repeat("<", cellio.MaxFrame/6+1)}); !errors.Is(err, cellio.ErrTooLarge) {
		t.Errorf("a question: got %v", err)
	}
	if r := run(t, e, 3, "print x"); r.Status != cell.OK {
		t.Errorf("a cell afterwards: %v", r.Err)
	}
}
