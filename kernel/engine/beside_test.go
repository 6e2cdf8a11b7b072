package engine

import (
	"errors"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"cancha/kernel/cell"
)

// TestCellsBesideEachOther: each has its own result; the one of a subshell takes the output that comes by the pipes only where no
// other runs; what runs on has it when the other has ended.
func TestCellsBesideEachOther(t *testing.T) {
	e, rec := newTestEngine(t, "yes")
	run(t, e, 1, "print x")
	first := make(chan cell.Result, 1)
	go func() { first <- run(t, e, 2, "hang") }()
	for e.current.latest.Load() != 2 {
		time.Sleep(time.Millisecond) // polls
	}
	beside := cell.Request{Cell: 3, Code: "fd words", Subshell: true}
	if r := e.Execute(t.Context(), beside); r.Status != cell.OK {
		t.Errorf("beside: %+v", r)
	}
	if got := rec.get(2, "stdout") + rec.get(3, "stdout"); got != "words" || rec.get(3, "stdout") != "" {
		t.Errorf("the pipes' output went to cell 3: %q", rec.get(3, "stdout"))
	}
	e.Interrupt()
	if r := <-first; r.Err == nil || r.Err.Name != "interrupted" {
		t.Errorf("the first: %+v", r)
	}
	beside.Cell = 4
	if r := e.Execute(t.Context(), beside); r.Status != cell.OK || rec.get(4, "stdout") != "words" {
		t.Errorf("alone: %+v, output %q", r, rec.get(4, "stdout"))
	}
}

// TestDeathOfCellsBesideEachOther: each cell's error tells the cause.
func TestDeathOfCellsBesideEachOther(t *testing.T) {
	e, _ := newTestEngine(t, "yes")
	run(t, e, 1, "print x")
	var all sync.WaitGroup
	results := make([]cell.Result, 3)
	for i := range results {
		all.Go(func() { results[i] = run(t, e, int64(i+2), []string{"hang", "hang", "panic"}[i]) })
	}
	all.Wait()
	for i, r := range results {
		if r.Err == nil || !strings.Contains(r.Err.Value, "boom") {
			t.Errorf("cell %d: %+v, want the panic told", i+2, r.Err)
		}
	}
	if r := run(t, e, 9, "print y"); r.Status != cell.OK {
		t.Errorf("the next cell: %+v", r)
	}
}

// TestEngineThatDoesNotRead: an interrupt returns though a large frame has filled the connection before it, and Close ends the
// engine in time.
func TestEngineThatDoesNotRead(t *testing.T) {
	e, _ := newTestEngine(t, "yes")
	run(t, e, 1, "print x")
	if err := syscall.Kill(e.Info().PID, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	stuck := make(chan cell.Result, 1)
	go func() { stuck <- run(t, e, 2, strings.Repeat("x", 8<<20)) }()
	for e.current.latest.Load() != 2 {
		time.Sleep(time.Millisecond) // polls
	}
	began := time.Now()
	for range 3 {
		e.Interrupt()
	}
	if took := time.Since(began); took > 10*interruptLimit {
		t.Errorf("interrupts took %v", took)
	}
	began = time.Now()
	if err := e.Close(); err != nil {
		t.Error(err)
	}
	if took := time.Since(began); took > closeGrace+time.Second {
		t.Errorf("close took %v", took)
	}
	if r := <-stuck; r.Status != cell.Failed {
		t.Errorf("the cell: %+v", r)
	}
}

// TestInterruptWhileAnEngineIsPrepared ends the wait of all cells.
func TestInterruptWhileAnEngineIsPrepared(t *testing.T) {
	p := &preparation{done: make(chan struct{}), changed: make(chan struct{})}
	var all interrupts
	const cells = 3
	begun, ended := make(chan bool, cells), make(chan error, cells)
	for range cells {
		go func() {
			said := sync.OnceFunc(func() { begun <- true })
			ended <- p.wait(t.Context(), all.await(), func(string) { said() })
		}()
	}
	p.say("building")
	for range cells {
		<-begun
	}
	all.tell()
	for range cells {
		if err := <-ended; !errors.Is(err, errInterrupted) {
			t.Errorf("got %v, want the interrupt", err)
		}
	}
}
