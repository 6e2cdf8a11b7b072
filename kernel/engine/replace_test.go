package engine

import (
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"cancha/kernel/cell"
)

// newReplaceable returns an engine whose cells may ask for another one.
func newReplaceable(t *testing.T) (*Engine, *recorder) {
	t.Helper()
	rec := &recorder{text: map[int64]map[string]string{}}
	workspace := "the first" // of the next process: Replace is called while none is started
	e := New(Config{
		Sink: rec.sink,
		Command: func() *exec.Cmd {
			c := exec.Command(os.Args[0])
			c.Env = append(os.Environ(), "CANCHA_TEST_ENGINE=yes", "CANCHA_TEST_WORKSPACE="+workspace)
			return c
		},
		Replace: func(dir string) error {
			if dir == "gone" {
				return errors.New("its folder has gone")
			}
			workspace = dir
			return nil
		},
	})
	t.Cleanup(func() { e.Close() })
	return e, rec
}

// TestReplace: a cell that asks for another engine runs in that, with what it has handed on, and nobody is told of a loss.
func TestReplace(t *testing.T) {
	e, rec := newReplaceable(t)
	run(t, e, 1, "print x")
	before := e.Info().PID
	if r := run(t, e, 2, "replace another"); r.Status != cell.OK {
		t.Fatal(r.Err)
	}
	if got, want := rec.get(2, "stdout"), `another ["fmt"]`; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if e.Info().PID == before {
		t.Error("the same process")
	}
	if r := run(t, e, 3, "print y"); r.Status != cell.OK || rec.get(2, "stderr")+rec.get(3, "stderr") != "" {
		t.Errorf("the next cell: got %+v and %q", r, rec.get(3, "stderr"))
	}
	if r := run(t, e, 4, "exit"); r.Status != cell.Failed {
		t.Errorf("got %+v", r)
	}
	run(t, e, 5, "replace third")
	if got, want := rec.get(5, "stdout"), `third ["fmt"]`; got != want {
		t.Errorf("after an end: got %q, want %q", got, want)
	}
}

// TestReplaceFails: an engine that cannot be replaced stays, and one that asks again for the same cell is not asked for ever.
func TestReplaceFails(t *testing.T) {
	e, _ := newReplaceable(t)
	run(t, e, 1, "print x")
	before := e.Info().PID
	if r := run(t, e, 2, "replace gone"); r.Status != cell.Failed || !strings.Contains(r.Err.Value, "its folder has gone") {
		t.Errorf("got %+v", r)
	}
	if r := run(t, e, 3, "print y"); r.Status != cell.OK || e.Info().PID != before {
		t.Errorf("the engine was lost: %+v", r)
	}
	if r := run(t, e, 4, "replace always"); r.Status != cell.Failed || !strings.Contains(r.Err.Value, "asks for another one") {
		t.Errorf("got %+v", r)
	}
}

// TestReplaceBesideACell: a cell that runs while its engine is replaced is told so.
func TestReplaceBesideACell(t *testing.T) {
	e, _ := newReplaceable(t)
	run(t, e, 1, "print x")
	ended := make(chan cell.Result)
	go func() { ended <- e.Execute(t.Context(), cell.Request{Cell: 2, Code: "hang"}) }()
	for e.current.latest.Load() != 2 {
		time.Sleep(time.Millisecond) // polls
	}
	if r := e.Execute(t.Context(), cell.Request{Cell: 3, Code: "replace another", Subshell: true}); r.Status != cell.OK {
		t.Fatal(r.Err)
	}
	if r := <-ended; r.Err == nil || !strings.Contains(r.Err.Value, "its engine was replaced") {
		t.Errorf("got %+v, want to be told why", r.Err)
	}
}
