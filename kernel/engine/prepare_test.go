package engine

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"cancha/internal/cellio"
	"cancha/kernel/cell"
)

// newPreparedEngine returns an engine whose preparation is f.
func newPreparedEngine(t *testing.T, f func(ctx context.Context, say func(string))) (*Engine, *recorder) {
	t.Helper()
	rec := &recorder{text: map[int64]map[string]string{}}
	e := New(Config{Sink: rec.sink, Prepare: f, Command: func() *exec.Cmd {
		c := exec.Command(os.Args[0])
		c.Env = append(os.Environ(), "CANCHA_TEST_ENGINE=yes")
		return c
	}})
	t.Cleanup(func() { e.Close() })
	return e, rec
}

// until polls: what a cell shows comes while it waits, and nobody tells the test of it.
func until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for limit := time.Now().Add(20 * time.Second); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(limit) {
			t.Fatalf("not in time: %s", what)
		}
	}
}

// TestWrongSettingsKeepEnginesFromStarting corrects a setting between two cells.
func TestWrongSettingsKeepEnginesFromStarting(t *testing.T) {
	var wrong atomic.Bool
	wrong.Store(true)
	release := make(chan struct{})
	e := New(Config{
		Sink: func(cellio.Frame) {}, Prepare: func(ctx context.Context, _ func(string)) {
			select {
			case <-release:
			case <-ctx.Done():
			}
		},
		Check: func() error {
			if wrong.Load() {
				return errors.New("X is 7: it may be 5")
			}
			return nil
		},
		Command: func() *exec.Cmd {
			c := exec.Command(os.Args[0])
			c.Env = append(os.Environ(), "CANCHA_TEST_ENGINE=yes")
			return c
		},
	})
	t.Cleanup(func() { e.Close() })
	for id := range int64(2) {
		if r := run(t, e, id, "print x"); r.Status != cell.Failed || r.Err.Value != "no engine starts with wrong settings: X is 7: it may be 5" {
			t.Fatalf("cell %d with a wrong setting: %+v", id, r.Err)
		}
		if id == 0 { // the first cell did not wait for the preparation
			close(release)
		}
	}
	wrong.Store(false)
	if r := run(t, e, 2, "print x"); r.Status != cell.OK {
		t.Errorf("after it was corrected: %+v", r.Err)
	}
}

func TestCellWaitsForPreparation(t *testing.T) {
	step := make(chan string)
	e, rec := newPreparedEngine(t, func(_ context.Context, say func(string)) {
		for line := range step {
			say(line)
		}
	})
	if _, err := e.Complete(t.Context(), cell.Question{Code: "fm"}); !errors.Is(err, errPreparing) {
		t.Errorf("a question meanwhile: got %v, want errPreparing", err)
	}
	end := make(chan cell.Result)
	go func() { end <- run(t, e, 1, "print done") }()
	step <- "building: 10 of 20"
	until(t, "the first line", func() bool { return rec.get(1, "stderr") == "building: 10 of 20" })
	step <- "built"
	until(t, "the second line", func() bool { return strings.Contains(rec.get(1, "stderr"), "\rbuilt ") })
	close(step)
	if r := <-end; r.Status != cell.OK || rec.get(1, "stdout") != "done" {
		t.Errorf("got %v, %q", r.Err, rec.get(1, "stdout"))
	}
	if got, want := rec.get(1, "stderr"), "building: 10 of 20\rbuilt             \n"; got != want {
		t.Errorf("stderr: got %q, want %q", got, want)
	}
	if r := run(t, e, 2, "print again"); r.Status != cell.OK || rec.get(2, "stderr") != "" {
		t.Errorf("the next cell: got %v, %q", r.Err, rec.get(2, "stderr"))
	}
}

// What takes a moment is not worth a word.
func TestShortPreparationIsSilent(t *testing.T) {
	e, rec := newPreparedEngine(t, func(_ context.Context, say func(string)) { say("looking") })
	if r := run(t, e, 1, "print x"); r.Status != cell.OK || rec.get(1, "stderr") != "" {
		t.Errorf("got %v, %q", r.Err, rec.get(1, "stderr"))
	}
}

// An interrupt ends the cell's wait, and the preparation goes on for the next one.
func TestInterruptWhilePreparing(t *testing.T) {
	finish := make(chan bool)
	e, rec := newPreparedEngine(t, func(_ context.Context, say func(string)) { say("building"); <-finish })
	end := make(chan cell.Result)
	go func() { end <- run(t, e, 1, "print x") }()
	until(t, "progress", func() bool { return rec.get(1, "stderr") == "building" })
	e.Interrupt()
	if r := <-end; r.Status != cell.Failed || r.Err.Name != "interrupted" {
		t.Errorf("got %+v, want an interrupted cell", r)
	}
	close(finish)
	if r := run(t, e, 2, "print y"); r.Status != cell.OK || rec.get(2, "stdout") != "y" {
		t.Errorf("the next cell: got %v, %q", r.Err, rec.get(2, "stdout"))
	}
}

// An engine that never serves is replaced by another one, if there is another, before a cell has seen it.
func TestAnotherCommand(t *testing.T) {
	for _, mode := range []string{"broken", "missing"} {
		t.Run(mode, func(t *testing.T) {
			rec := &recorder{text: map[int64]map[string]string{}}
			var why []string
			var mu sync.Mutex
			e := New(Config{Sink: rec.sink, Command: func() *exec.Cmd {
				mu.Lock()
				defer mu.Unlock()
				if len(why) == 0 && mode == "missing" {
					return exec.Command("/no/such/engine")
				}
				c := exec.Command(os.Args[0])
				c.Env = append(os.Environ(), "CANCHA_TEST_ENGINE=yes")
				if len(why) == 0 {
					c.Env = append(c.Env, "CANCHA_TEST_ENGINE=broken")
				}
				return c
			}, Failed: func(text string) bool {
				mu.Lock()
				defer mu.Unlock()
				why = append(why, text)
				return len(why) == 1
			}})
			t.Cleanup(func() { e.Close() })
			if r := run(t, e, 1, "print x"); r.Status != cell.OK || rec.get(1, "stdout") != "x" || rec.get(1, "stderr") != "" {
				t.Errorf("got %v, %q, %q", r.Err, rec.get(1, "stdout"), rec.get(1, "stderr"))
			}
			if len(why) != 1 || why[0] == "" {
				t.Errorf("told %q, want one reason", why)
			}
		})
	}
}

// twoCommands returns an engine whose first command does not come to serve, in that mode, and whose other one does. It counts how
// often it was told so.
func twoCommands(t *testing.T, mode string) (e *Engine, rec *recorder, told *atomic.Int32) {
	t.Helper()
	rec, told = &recorder{text: map[int64]map[string]string{}}, new(atomic.Int32)
	e = New(Config{
		Sink: rec.sink,
		Command: func() *exec.Cmd {
			c := exec.Command(os.Args[0])
			c.Env = append(os.Environ(), "CANCHA_TEST_ENGINE=yes")
			if told.Load() == 0 {
				c.Env = append(c.Env, "CANCHA_TEST_ENGINE="+mode)
			}
			return c
		},
		Failed: func(string) bool {
			time.Sleep(20 * time.Millisecond) // whoever does not wait for the answer gets the first command again
			return told.Add(1) == 1
		},
	})
	t.Cleanup(func() { e.Close() })
	return e, rec, told
}

// All who waited for an engine that did not come to serve get the other one, which is asked for once.
func TestAnotherCommandForAllWhoWait(t *testing.T) {
	e, _, told := twoCommands(t, "mute")
	var waiting []<-chan cell.Result
	for id := range int64(8) {
		waiting = append(waiting, execute(t, e, id, "print x"))
	}
	if err := e.current.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	for id, result := range waiting {
		if r := <-result; r.Status != cell.OK {
			t.Errorf("cell %d: %v", id, r.Err)
		}
	}
	if got := told.Load(); got != 1 {
		t.Errorf("told %d times", got)
	}
}

// An engine that did not come to serve before there was a cell had no variables to lose, and is replaced all the same.
func TestAnotherCommandBeforeTheFirstCell(t *testing.T) {
	e, rec, told := twoCommands(t, "broken")
	e.current.wait()
	if r := run(t, e, 1, "print x"); r.Status != cell.OK || rec.get(1, "stderr") != "" || told.Load() != 1 {
		t.Errorf("got %v, error output %q, told %d times", r.Err, rec.get(1, "stderr"), told.Load())
	}
}

// A shutdown does not wait for a build: it ends it.
func TestCloseEndsPreparation(t *testing.T) {
	ended := make(chan error, 1)
	e, _ := newPreparedEngine(t, func(ctx context.Context, _ func(string)) { <-ctx.Done(); ended <- ctx.Err() })
	e.Close()
	if err := <-ended; err == nil {
		t.Error("its context did not end")
	}
	if r := run(t, e, 1, "print x"); r.Status != cell.Failed {
		t.Errorf("a cell after it: got %+v", r)
	}
}
