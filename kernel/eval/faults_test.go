package eval_test

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"text/tabwriter"
	"time"

	"cancha/internal/cellio"
	"cancha/kernel/cell"
	"cancha/kernel/eval"
	"cancha/runtime/display"
)

// The ways in which a function that a library was handed can go wrong.
const (
	aPanic = iota + 1
	aGoexit
	aLoop
	anExit
)

var faultNames = [...]string{aPanic: "panic", aGoexit: "Goexit", aLoop: "endless loop", anExit: "os.Exit"}

// names is what an error of a fault has in it.
var names = [...]string{aPanic: "boom", aGoexit: "Goexit", aLoop: "interrupted", anExit: "exit status 7"}

// patience is longer than any of it takes on a loaded machine.
const patience = time.Minute

// TestFaults hands a function that goes wrong to each place that takes one, from a cell: the cell, or what it waits for, ends with an error
// that names the fault; the next cell runs, and variables are kept.
func TestFaults(t *testing.T) {
	if raceEnabled {
		t.Skip("interrupts are a race by design: see raceEnabled")
	}
	if os.Getenv("CANCHA_FAULTS") == "" {
		t.Skip("it takes minutes: make faults")
	}
	t.Setenv("TMPDIR", t.TempDir())
	n := faultyNotebook(t)
	var table strings.Builder
	w := tabwriter.NewWriter(&table, 0, 8, 2, ' ', 0)
	fmt.Fprintln(w, "place\t"+strings.Join(faultNames[aPanic:], "\t"))
	for i, p := range faultPlaces() {
		if p.compiled != "" && tools(t) == nil {
			fmt.Fprintln(w, p.name+strings.Repeat("\tcompiled only", len(faultNames)-1)) // since p.compiled
			continue
		}
		ok := t.Run(p.name, func(t *testing.T) {
			n.t = t
			n.ok(strings.ReplaceAll(p.code, "func place(", fmt.Sprintf("func place%d(", i)))
			comm := n.lastComm()
			fmt.Fprint(w, p.name)
			for f := aPanic; f <= anExit; f++ {
				if why, left := p.not[f]; left {
					fmt.Fprint(w, "\t"+why)
					continue
				}
				got := n.try(faultTrial{p, f, fmt.Sprintf("place%d()", i), comm})
				t.Logf("%s: %s", faultNames[f], got)
				fmt.Fprint(w, "\t"+got)
			}
			fmt.Fprintln(w)
		})
		if !ok { // what has gone wrong there is not to hide what comes behind it
			n = faultyNotebook(t)
		}
	}
	w.Flush()
	t.Log("\n" + table.String())
	if file := os.Getenv("CANCHA_FAULTS_TABLE"); file != "" {
		if err := os.WriteFile(file, []byte(table.String()), 0o600); err != nil {
			t.Error(err)
		}
	}
	if len(n.exited) > 0 {
		t.Errorf("the process was ended: %v", n.exited)
	}
}

// faultyNotebook is one that draws values as the program does.
func faultyNotebook(t *testing.T) *notebook {
	t.Helper()
	n := newConfiguredNotebook(t, eval.Config{Slow: time.Hour, Render: display.Of})
	n.ok(faultHelpers)
	return n
}

type faultTrial struct {
	faultPlace
	fault int
	call  string
	comm  string // the newest, for the places that a front end's messages call
}

// try has a place meet a fault, and returns what happened.
func (n *notebook) try(c faultTrial) string {
	n.t.Helper()
	n.ok(fmt.Sprintf("kind.Store(%d); keep++", c.fault))
	from := n.sentSoFar()
	done := make(chan cell.Result, 1)
	go func() { done <- n.faulty(c) }()
	if c.fault == aLoop {
		n.until(c, func() bool { return strings.Contains(n.since(from), `go\n`) })
		n.program.Interrupt()
	}
	var r cell.Result
	select {
	case r = <-done:
	case <-time.After(patience):
		n.t.Fatalf("%s: the cell does not end; so far:\n%s", faultNames[c.fault], n.since(from))
	}
	if c.query {
		n.waitForQuery(c)
	}
	want, asInGo := c.asInGo[c.fault]
	if !asInGo {
		want = names[c.fault]
	}
	got := func() string {
		if r.Err != nil {
			return strings.Join(append([]string{r.Err.Name + " " + r.Err.Value}, r.Err.Traceback...), "\n") + n.since(from)
		}
		return n.since(from)
	}
	n.until(c, func() bool { return strings.Contains(got(), want) })
	n.alive(c)
	switch text := got(); {
	case asInGo:
		return "as in Go: " + c.why
	case r.Err != nil && r.Err.Name == eval.ExitStatus:
		return "cell: exit status " + r.Err.Value
	case r.Err != nil && (strings.Contains(r.Err.Name+r.Err.Value, want)):
		return "cell: " + strings.TrimSpace(r.Err.Name+" "+firstLine(r.Err.Value))
	case strings.Contains(text, "ended: "):
		_, text, _ = strings.Cut(text, "ended: ")
		text, _, _ = strings.Cut(text, `\n`)
		return "error: " + short(text)
	case r.Err != nil:
		return "cell: " + r.Err.Name + " " + short(firstLine(r.Err.Value))
	default:
		return "told: " + names[c.fault]
	}
}

// faulty runs what calls the place: a cell, or a message of a front end.
func (n *notebook) faulty(c faultTrial) cell.Result {
	if c.message == "" {
		if c.last != "" {
			return n.run(c.last)
		}
		return n.run(c.call)
	}
	n.serial++
	body, err := json.Marshal(cellio.Comm{ID: c.comm, Message: "m", Data: json.RawMessage(strings.ReplaceAll(c.message, "N", fmt.Sprint(c.fault)))})
	if err != nil {
		panic(err)
	}
	return n.program.Handle(cellio.Frame{Kind: cellio.KindCommMsg, Cell: n.serial, Body: body})
}

// waitForQuery: what the place belongs to ends, too, when its cell has.
func (n *notebook) waitForQuery(c faultTrial) {
	n.t.Helper()
	done := make(chan cell.Result, 1)
	go func() {
		done <- n.run("func() { cancel(); if query != nil { fmt.Println(query.Wait(context.Background())) } }()")
	}()
	select {
	case <-done:
	case <-time.After(patience):
		n.t.Fatalf("%s: the query does not end", faultNames[c.fault])
	}
}

// alive: the next cell runs.
func (n *notebook) alive(c faultTrial) {
	n.t.Helper()
	from := n.sentSoFar()
	n.ok(`kind.Store(0); fmt.Println("alive", 1+1, keep > 0)`)
	if got := n.since(from); !strings.Contains(got, "alive 2 true") {
		n.t.Fatalf("after %s the next cell prints %q", faultNames[c.fault], got)
	}
}

// until waits for what must come.
func (n *notebook) until(c faultTrial, there func() bool) {
	n.t.Helper()
	for deadline := time.Now().Add(15 * time.Second); !there(); time.Sleep(time.Millisecond) { // polls; how long does not matter
		if time.Now().After(deadline) {
			n.t.Fatalf("%s: it is not told, or has not begun", faultNames[c.fault])
		}
	}
}

func (n *notebook) sentSoFar() int {
	n.out.Flush()
	n.mu.Lock()
	defer n.mu.Unlock()
	return len(n.frames)
}

// since is what was sent since then: texts and values, as they stand in JSON.
func (n *notebook) since(from int) string {
	n.out.Flush()
	n.mu.Lock()
	defer n.mu.Unlock()
	var b strings.Builder
	for _, f := range n.frames[from:] {
		b.Write(f.Body)
	}
	return b.String()
}

// lastComm is the id of the comm that was opened last.
func (n *notebook) lastComm() string {
	n.out.Flush()
	n.mu.Lock()
	defer n.mu.Unlock()
	id := ""
	for _, f := range n.frames {
		var c cellio.Comm
		if f.Kind == cellio.KindCommOpen && json.Unmarshal(f.Body, &c) == nil {
			id = c.ID
		}
	}
	return id
}

func firstLine(s string) string { s, _, _ = strings.Cut(s, "\n"); return short(s) }

func short(s string) string {
	if len(s) > 60 {
		return s[:60] + "…"
	}
	return s
}
