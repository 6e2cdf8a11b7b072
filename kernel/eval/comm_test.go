package eval_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"cancha/internal/cellio"
	"cancha/kernel/cell"
)

const registerTarget = `import "cancha/runtime/live/comm"
var last *comm.Comm
total := 0
comm.RegisterTarget("t", func(c *comm.Comm, open comm.Message) {
	last = c
	c.OnMessage(func(m comm.Message) {
		switch string(m.Data) {
		case "\"panic\"":
			var none []int
			fmt.Println(none[len(m.Data)])
		case "\"loop\"":
			fmt.Println("go")
			for {
			}
		case "\"sleep\"":
			fmt.Println("go")
			time.Sleep(time.Hour)
		case "\"exit\"":
			runtime.Goexit()
		}
		total++
		fmt.Println("total", total)
		go func() { c.Send(total, nil) }()
	})
})`

// handle delivers a frame of a comm.
func (n *notebook) handle(kind cellio.Kind, data string) cell.Result {
	n.t.Helper()
	n.serial++
	body, err := json.Marshal(cellio.Comm{ID: "c", Target: "t", Message: "m", Data: json.RawMessage(data)})
	if err != nil {
		n.t.Fatal(err)
	}
	return n.program.Handle(cellio.Frame{Kind: kind, Cell: n.serial, Body: body})
}

func TestHandlersOfComms(t *testing.T) {
	once(t)
	n := newNotebook(t)
	n.ok(registerTarget)
	if r := n.handle(cellio.KindCommOpen, `{}`); r.Status != cell.OK {
		t.Fatal(r.Err)
	}
	for range 2 {
		if r := n.handle(cellio.KindCommMsg, `1`); r.Status != cell.OK {
			t.Fatal(r.Err)
		}
	}
	n.await("stdout", "total 2\n")
	if got := n.cellOf("total 2"); got != n.serial {
		t.Errorf("the handler's output is of cell %d, want %d", got, n.serial)
	}
	r := n.handle(cellio.KindCommMsg, `"panic"`)
	if text := strings.Join(traceOf(r), "\n"); r.Status != cell.Failed || r.Err.Name != "panic" || !strings.Contains(text, "index out of range [7]") || !raceEnabled && !strings.Contains(text, "cell 1:10") {
		t.Errorf("panic: got %+v\n%s", r.Err, text)
	}
	if r := n.handle(cellio.KindCommMsg, `"exit"`); r.Err == nil || !strings.Contains(r.Err.Value, "Goexit") {
		t.Errorf("Goexit: got %+v", r.Err)
	}
	n.ok(`fmt.Println("left", total)`) // the handlers that failed have not counted
	if got := n.stream("stdout"); !strings.HasSuffix(got, "left 2\n") {
		t.Errorf("got %q", got)
	}
	n.ok(`last.Close()`)
}

func traceOf(r cell.Result) []string {
	if r.Err == nil {
		return nil
	}
	return r.Err.Traceback
}

// cellOf is the cell that has printed a text.
func (n *notebook) cellOf(text string) int64 {
	n.out.Flush()
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, f := range n.frames {
		if f.Kind == cellio.KindStream && strings.Contains(string(f.Body), text) {
			return f.Cell
		}
	}
	return 0
}

// TestInterruptOfAHandler: what a handler does without end is stopped, beside a running cell or alone; the comm lives on.
func TestInterruptOfAHandler(t *testing.T) {
	once(t)
	if raceEnabled {
		t.Skip("interrupts are a race by design: see raceEnabled")
	}
	n := newNotebook(t)
	n.ok(registerTarget)
	n.handle(cellio.KindCommOpen, `{}`)
	for i, data := range []string{`"loop"`, `"sleep"`} {
		ended := make(chan cell.Result, 1)
		go func() { ended <- n.handle(cellio.KindCommMsg, data) }()
		n.await("stdout", strings.Repeat("go\n", i+1))
		n.program.Interrupt()
		select {
		case r := <-ended:
			if r.Err == nil || r.Err.Name != "interrupted" {
				t.Errorf("%s: got %+v", data, r)
			}
		case <-time.After(10 * time.Second):
			t.Fatalf("%s was not stopped", data)
		}
	}
	n.handle(cellio.KindCommMsg, `1`)
	n.await("stdout", "total 1\n")
}

// TestHandlerBesideACell: a handler changes what a running cell waits for.
func TestHandlerBesideACell(t *testing.T) {
	once(t)
	n := newNotebook(t)
	n.ok(registerTarget, "var ready = make(chan int)\n"+`comm.RegisterTarget("t", func(c *comm.Comm, open comm.Message) { ready <- len(open.Data) })`)
	ended := make(chan cell.Result, 1)
	n.serial++
	id := n.serial
	go func() {
		ended <- n.program.Run(cell.Request{Cell: id, Count: int(id), Code: `fmt.Println("waiting"); fmt.Println("got", <-ready)`})
	}()
	n.await("stdout", "waiting\n")
	if r := n.handle(cellio.KindCommOpen, `"abc"`); r.Status != cell.OK {
		t.Fatal(r.Err)
	}
	if r := <-ended; r.Status != cell.OK {
		t.Fatal(r.Err)
	}
	n.await("stdout", "got 5\n")
}
