package eval_test

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"cancha/internal/cellio"
	"cancha/kernel/cell"
)

// begin starts a cell of a subshell, or of the main shell, and returns where its result comes.
func (n *notebook) begin(subshell bool, code string) <-chan cell.Result {
	n.serial++
	run := n.program.Start(cell.Request{Cell: n.serial, Count: int(n.serial), Code: code, Subshell: subshell})
	done := make(chan cell.Result, 1)
	go func() { done <- run() }()
	return done
}

// ended waits for a cell's result.
func (n *notebook) ended(done <-chan cell.Result) cell.Result {
	n.t.Helper()
	select {
	case r := <-done:
		return r
	case <-time.After(20 * time.Second):
		n.t.Fatal("the cell does not end")
		return cell.Result{}
	}
}

// of returns what a cell has written to a stream.
func (n *notebook) of(serial int64, name string) string {
	n.out.Flush()
	n.mu.Lock()
	defer n.mu.Unlock()
	var b strings.Builder
	for _, f := range n.frames {
		var s cellio.Stream
		if f.Cell == serial && f.Kind == cellio.KindStream && json.Unmarshal(f.Body, &s) == nil && s.Name == name {
			b.WriteString(s.Text)
		}
	}
	return b.String()
}

// value is the text of a cell's value.
func (n *notebook) value(serial int64) string {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, f := range n.frames {
		var d cellio.Display
		if f.Cell == serial && f.Kind == cellio.KindResult && json.Unmarshal(f.Body, &d) == nil {
			return fmt.Sprint(d.Data["text/plain"])
		}
	}
	return ""
}

// interp has cells interpreted, whatever the notebook has.
func (n *notebook) interp() {
	n.t.Helper()
	if err := n.program.SetEngine("interp"); err != nil {
		n.t.Fatal(err)
	}
}

// hold is a cell that runs until the test calls letGo.
const hold = "fmt.Println(\"go\")\nfor os.Getenv(\"TURN_TEST\") == \"\" {\n\ttime.Sleep(time.Millisecond)\n}"

func letGo(t *testing.T) {
	t.Helper()
	if err := os.Setenv("TURN_TEST", "go"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Unsetenv("TURN_TEST") })
}

const waitsFor = ": both are interpreted, and the interpreter runs one cell at a time\n"

// TestInterpretedCellsTakeTurns: of several shells' cells that have to be interpreted one runs; the others wait in their order and
// say for whom. One that is wrong is told so at once.
func TestInterpretedCellsTakeTurns(t *testing.T) {
	n := newNotebook(t)
	n.interp()
	n.ok("order := []string{}")
	cells := []<-chan cell.Result{n.begin(false, hold)}
	n.await("stdout", "go\n")
	cells = append(cells, n.begin(true, `order = append(order, "second"); len(order)`))
	n.await("stderr", "waits for cell 2"+waitsFor)
	cells = append(cells, n.begin(true, `order = append(order, "third"); len(order)`))
	for n.of(4, "stderr") == "" {
		time.Sleep(time.Millisecond) // polls
	}
	if r := n.ended(n.begin(true, "nope")); r.Err == nil || r.Err.Name != "compile error" {
		t.Errorf("a cell that is wrong: got %+v, want to be told at once", r)
	}
	cells = append(cells, n.begin(false, `%time order = append(order, "magic")`))
	for n.of(6, "stderr") == "" {
		time.Sleep(time.Millisecond) // polls
	}
	letGo(t)
	for i, done := range cells {
		if r := n.ended(done); r.Status != cell.OK {
			t.Errorf("cell %d of them: %+v", i, r.Err)
		}
	}
	for serial, want := range map[int64]string{2: "", 3: "waits for cell 2" + waitsFor, 4: "waits for cell 2" + waitsFor, 6: "waits for cell 2" + waitsFor} {
		if got := n.of(serial, "stderr"); got != want {
			t.Errorf("cell %d wrote %q, want %q", serial, got, want)
		}
	}
	if got := n.value(3) + " " + n.value(4); got != "1 2" {
		t.Errorf("the values are %s, want 1 2", got)
	}
	n.ok("fmt.Println(order)")
	if got := lastLine(n.stream("stdout")); got != "[second third magic]" {
		t.Errorf("they ran as %s", got)
	}
}

// TestShortWaitsAreNotTold: who waits for a moment says nothing.
func TestShortWaitsAreNotTold(t *testing.T) {
	once(t)
	n := newNotebook(t)
	n.interp()
	var cells []<-chan cell.Result
	for i := range 20 {
		cells = append(cells, n.begin(i%2 == 0, fmt.Sprintf("x%d := %d\nx%d * 2", i, i, i)))
	}
	for i, done := range cells {
		if r := n.ended(done); r.Status != cell.OK {
			t.Fatalf("cell %d: %+v", i+1, r.Err)
		}
		if got, want := n.value(int64(i+1)), fmt.Sprint(2*i); got != want {
			t.Errorf("cell %d has the value %s, want %s", i+1, got, want)
		}
	}
	if got := n.stream("stderr"); got != "" {
		t.Errorf("on stderr got %q", got)
	}
}

// TestInterruptReachesWhoWaits: an interrupt ends the cell that runs and those that wait, and nothing of what comes later.
func TestInterruptReachesWhoWaits(t *testing.T) {
	once(t)
	if raceEnabled {
		t.Skip("interrupts are a race by design: see raceEnabled")
	}
	n := newNotebook(t)
	n.interp()
	n.ok("kept := 41")
	first := n.begin(false, "fmt.Println(\"go\")\nfor {\n}")
	n.await("stdout", "go\n")
	second := n.begin(true, "kept = 0")
	third := n.begin(true, "%pwd")
	n.await("stderr", "waits for cell 2"+waitsFor)
	n.program.Interrupt()
	for i, done := range []<-chan cell.Result{first, second, third} {
		if r := n.ended(done); r.Err == nil || r.Err.Name != "interrupted" {
			t.Errorf("cell %d: got %+v, want it interrupted", i+2, r)
		}
	}
	n.ok("fmt.Println(kept + 1)")
	if got := lastLine(n.stream("stdout")); got != "42" {
		t.Errorf("after the interrupt got %q, want 42", got)
	}
}

// TestInterruptBeforeACellRuns: one that comes when the cell has been taken in, and nothing of it runs yet, is not lost.
func TestInterruptBeforeACellRuns(t *testing.T) {
	once(t)
	n := newNotebook(t)
	run := n.program.Start(cell.Request{Cell: 1, Count: 1, Code: "for {\n}"})
	n.program.Interrupt()
	if r := run(); r.Err == nil || r.Err.Name != "interrupted" {
		t.Errorf("got %+v, want it interrupted", r)
	}
	n.serial = 1
	n.ok("x := 1")
}

// TestManyShellsAtOnce runs cells of several shells beside each other, each with variables and functions of its own and all with one
// that they share, and looks whether each has its own results. Under the race detector it shows that what cells share is guarded.
func TestManyShellsAtOnce(t *testing.T) {
	once(t)
	n := newNotebook(t)
	n.ok("var total atomic.Int64\nvar mu sync.Mutex\nshared := map[int]int{}", "func double(n int) int { return 2 * n }")
	const shells, cells = 4, 12
	results := make(chan error, shells)
	for shell := range shells {
		go func() {
			for i := range cells {
				serial := int64(1000 + shell*100 + i)
				code := fmt.Sprintf("v%[1]d_%[2]d := double(%[1]d)\ntotal.Add(1)\nmu.Lock()\nshared[%[2]d] += 1\nmu.Unlock()\nfmt.Println(%[3]d)\nv%[1]d_%[2]d + %[2]d", shell, i, serial)
				if i%4 == 3 {
					code = fmt.Sprintf("func f%[1]d_%[2]d(n int) int { return double(n) + %[2]d }\nfmt.Println(%[3]d)\ntotal.Add(1)\nf%[1]d_%[2]d(%[1]d)", shell, i, serial)
				}
				r := n.program.Run(cell.Request{Cell: serial, Count: int(serial), Code: code, Subshell: shell > 0})
				if r.Status != cell.OK {
					results <- fmt.Errorf("cell %d: %v", serial, r.Err)
					return
				}
				if got, want := n.value(serial), fmt.Sprint(2*shell+i); got != want {
					results <- fmt.Errorf("cell %d has the value %s, want %s", serial, got, want)
					return
				}
				if got, want := n.of(serial, "stdout"), fmt.Sprintln(serial); got != want {
					results <- fmt.Errorf("cell %d printed %q, want %q", serial, got, want)
					return
				}
			}
			results <- nil
		}()
	}
	for range shells {
		if err := <-results; err != nil {
			t.Error(err)
		}
	}
	n.ok("fmt.Println(total.Load())")
	if got, want := lastLine(n.stream("stdout")), fmt.Sprint(shells*cells); got != want {
		t.Errorf("%s cells have run, want %s", got, want)
	}
}

// TestCompiledCellsRunBeside: where cells can be compiled, one that needs no interpreter runs beside one that has it, with the same
// variables, and says nothing; each can be interrupted, and what it has redeclared is seen by later cells.
func TestCompiledCellsRunBeside(t *testing.T) {
	n := newNotebook(t)
	if tools(t) == nil {
		t.Skip("cells cannot be compiled")
	}
	n.ok("count := 41\nhistory := []string{\"a\"}")
	first := n.begin(false, "%%interp\n"+hold)
	n.await("stdout", "go\n")
	n.program.SetEngine("auto")
	for code, want := range map[string]string{
		"count + 1": "42", "len(history)": "1",
		"type point struct{ x, y int }\nfunc (p point) sum() int { return p.x + p.y }\npoint{1, 2}.sum()": "3",
	} {
		serial := n.serial + 1
		if r := n.ended(n.begin(true, code)); r.Status != cell.OK {
			t.Fatalf("%s: %+v", code, r.Err)
		}
		if got := n.value(serial); got != want {
			t.Errorf("%s: got %s, want %s", code, got, want)
		}
	}
	select {
	case r := <-first:
		t.Fatalf("the first cell has ended: %+v", r)
	default:
	}
	letGo(t)
	if r := n.ended(first); r.Status != cell.OK {
		t.Errorf("the first cell: %+v", r.Err)
	}
	if got := n.stream("stderr"); got != "" {
		t.Errorf("on stderr got %q", got)
	}
	n.ok("fmt.Println(point{3, 4}.sum())")
	if got := lastLine(n.stream("stdout")); got != "7" {
		t.Errorf("a later cell got %q, want 7", got)
	}
}
