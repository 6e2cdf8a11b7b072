package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"cancha/internal/cellio"
	"cancha/kernel/cell"
)

// TestMain is also the engine of these tests: a small one that does what a cell's first word says.
func TestMain(m *testing.M) {
	if os.Getenv("CANCHA_TEST_ENGINE") != "" {
		serveTestEngine()
		return
	}
	os.Exit(m.Run())
}

func serveTestEngine() {
	if os.Getenv("CANCHA_TEST_ENGINE") == "broken" {
		fmt.Fprintln(os.Stderr, "no such library")
		os.Exit(7)
	}
	c, err := net.FileConn(os.NewFile(ConnFD, "kernel"))
	if err != nil {
		panic(err)
	}
	conn := cellio.NewConn(c)
	out := cellio.NewOutlet(conn.Send)
	if journal, err := cellio.OpenJournal(os.NewFile(JournalFD, "journal")); err == nil {
		out.Keep(journal)
	}
	cellio.Attach(out)
	if os.Getenv("CANCHA_TEST_ENGINE") == "mute" { // never comes to serve, and reads on
		_, _ = io.Copy(io.Discard, c)
		return
	}
	if at := os.Getenv("CANCHA_TEST_READY"); at != "" {
		for _, err := os.Stat(at); err != nil; _, err = os.Stat(at) {
			time.Sleep(time.Millisecond) // polls: the test that starts it has no other way to tell
		}
	}
	catches := os.Getenv("CANCHA_TEST_ENGINE") == "catches"
	if catches {
		cellio.DivertRuntime(os.NewFile(WordsFD, "words"))
		if _, err := out.CatchPast(os.NewFile(StdoutFD, "stdout"), os.NewFile(StderrFD, "stderr")); err != nil {
			panic(err)
		}
	}
	_ = out.Emit(cellio.KindReady, 0, cell.Ready{PID: os.Getpid(), GoVersion: "1.26", Engine: "test", Catches: catches})
	stop := make(chan bool, 1)
	asker := cellio.NewAsker(out.Send)
	for {
		f, err := conn.Receive()
		if err != nil || f.Kind == cellio.KindExit {
			return
		}
		switch f.Kind {
		case cellio.KindInterrupt:
			if run := cellio.CurrentRun(); run != nil {
				run.Interrupt()
			}
			select {
			case stop <- true:
			default:
			}
		case cellio.KindCredit:
			var c cellio.Credit
			_ = json.Unmarshal(f.Body, &c)
			out.Grant(c)
		case cellio.KindExecute:
			go runTestCell(out, f, stop, asker)
		case cellio.KindInputReply:
			var reply cellio.InputReply
			_ = json.Unmarshal(f.Body, &reply)
			asker.Answer(f.Seq, reply)
		case cellio.KindCommMsg:
			go serveTestComm(out, f)
		default:
			_ = out.Send(cellio.Frame{Kind: cellio.KindAnswer, Seq: f.Seq, Body: json.RawMessage(`{"matches":[{"text":"Println"}]}`)})
		}
	}
}

func runTestCell(out *cellio.Outlet, f cellio.Frame, stop chan bool, asker *cellio.Asker) {
	var r cell.Request
	_ = json.Unmarshal(f.Body, &r)
	word, rest, _ := strings.Cut(r.Code, " ")
	result := cell.Result{Status: cell.OK}
	interrupted := cell.Result{Status: cell.Failed, Err: &cell.Error{Name: "interrupted"}}
	switch word {
	case "flood": // until it is interrupted
		run := cellio.NewRun(r.Cell)
		run.Do(func() {
			for run.Context().Err() == nil {
				_, _ = fmt.Fprintln(cellio.Stdout, rest)
			}
		})
		result = interrupted
	case "fdflood":
		for len(stop) == 0 {
			fmt.Println(rest)
		}
		<-stop
		result = interrupted
	case "ask":
		run := cellio.NewAside(r.Cell)
		asker.Begin(run)
		line, err := asker.Ask(run, cellio.Input{Prompt: rest})
		out.Write(r.Cell, "stdout", fmt.Append(nil, line, " ", err))
		asker.End(run)
	case "replace": // asks for the engine that the rest names, and in that says what it was given
		if r.Carried == nil || rest == "always" {
			result.Replacement = &cell.Replacement{Workspace: rest, Carried: cell.Carried{Imports: []string{`"fmt"`}}}
			break
		}
		out.Write(r.Cell, "stdout", fmt.Append(nil, os.Getenv("CANCHA_TEST_WORKSPACE"), " ", r.Carried.Imports))
	case "print":
		out.Write(r.Cell, "stdout", []byte(rest))
	case "mixed": // frames and descriptors by turns
		cellio.NewRun(r.Cell)
		for i := range 100 {
			out.Write(r.Cell, "stdout", fmt.Appendln(nil, "frame", i))
			fmt.Println("fd", i)
		}
	case "fdlast":
		cellio.NewRun(r.Cell)
		out.Write(r.Cell, "stdout", []byte("a"))
		fmt.Print("b")
		fmt.Fprint(os.Stderr, "panic: words\n")
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		<-stop
	case "lastwords":
		out.Write(r.Cell, "stdout", []byte(rest))
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		<-stop
	case "fd":
		fmt.Print(rest)
		fmt.Fprint(os.Stderr, "E"+rest)
	case "child": // a child that keeps the pipes open beyond the cell
		c := exec.Command("sh", "-c", "echo from child; sleep 60")
		c.Stdout = os.Stdout
		_ = c.Start()
	case "exit":
		os.Exit(3)
	case "panic":
		panic("boom")
	case "overflow":
		debug.SetMaxStack(16 << 20)
		var f func(int) int
		f = func(n int) int { return f(n+1) + 1 }
		f(0)
	case "manypanic": // with a trace that is longer than a pipe holds
		debug.SetTraceback("all")
		for range 500 {
			go func() { select {} }()
		}
		panic("boom")
	case "likeexit":
		fmt.Fprintln(os.Stderr, "panic: only words")
		os.Exit(3)
	case "likehang": // until it is interrupted
		fmt.Fprintln(os.Stderr, "panic: only words")
		<-stop
		result = interrupted
	case "likepanic":
		fmt.Fprintln(os.Stderr, "panic: only words")
	case "hang":
		<-stop
		result = interrupted
	}
	_ = out.Emit(cellio.KindDone, r.Cell, result)
}

// recorder is a sink that remembers.
type recorder struct {
	mu   sync.Mutex
	text map[int64]map[string]string
}

func (r *recorder) sink(f cellio.Frame) {
	var s cellio.Stream
	_ = json.Unmarshal(f.Body, &s)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.text[f.Cell] == nil {
		r.text[f.Cell] = map[string]string{}
	}
	r.text[f.Cell][s.Name] += s.Text
}

func (r *recorder) get(cell int64, name string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.text[cell][name]
}

func newTestEngine(t *testing.T, mode string) (*Engine, *recorder) {
	t.Helper()
	return newGatedEngine(t, mode, nil)
}

func newGatedEngine(t *testing.T, mode string, gate Gate) (*Engine, *recorder) {
	t.Helper()
	rec := &recorder{text: map[int64]map[string]string{}}
	e := New(Config{Sink: rec.sink, Gate: gate, Command: func() *exec.Cmd {
		c := exec.Command(os.Args[0])
		c.Env = append(os.Environ(), "CANCHA_TEST_ENGINE="+mode)
		return c
	}})
	t.Cleanup(func() { e.Close() })
	return e, rec
}

func run(t *testing.T, e *Engine, id int64, code string) cell.Result {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	return e.Execute(ctx, cell.Request{Cell: id, Code: code})
}

func TestExecuteHandsOverAllOutput(t *testing.T) {
	e, rec := newTestEngine(t, "yes")
	for i, c := range []struct{ name, code, stdout, stderr string }{
		{"frames", "print héllo", "héllo", ""},
		{"pipes, read until empty before the cell ends", "fd raw", "raw", "Eraw"},
		{"much on a pipe", "fd " + strings.Repeat("x", 200_000), strings.Repeat("x", 200_000), "E" + strings.Repeat("x", 200_000)},
		{"words that look like a crash", "likepanic", "", "panic: only words\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			id := int64(i + 1)
			if r := run(t, e, id, c.code); r.Status != cell.OK {
				t.Fatalf("status %v: %v", r.Status, r.Err)
			}
			if got := rec.get(id, "stdout"); got != c.stdout {
				t.Errorf("stdout: got %.60q (%d bytes), want %.60q", got, len(got), c.stdout)
			}
			if got := rec.get(id, "stderr"); got != c.stderr {
				t.Errorf("stderr: got %.60q (%d bytes), want %.60q", got, len(got), c.stderr)
			}
		})
	}
}

// TestEngineThatCatches: an engine that reads its fd 1 and 2 itself puts them in order; what it leaves there when it ends is shown, and
// what its runtime says is its death's cause, though it is more than a pipe holds.
func TestEngineThatCatches(t *testing.T) {
	e, rec := newTestEngine(t, "catches")
	var want strings.Builder
	for i := range 100 {
		fmt.Fprintf(&want, "frame %d\nfd %d\n", i, i)
	}
	for i, c := range []struct{ code, stdout, stderr, err string }{
		{"mixed", want.String(), "", ""},
		{"fdlast", "ab", "panic: words\n", "signal 9"},
		{"manypanic", "", "", "boom"},
		{"mixed", want.String(), "", ""},
	} {
		t.Run(c.code, func(t *testing.T) {
			id := int64(i + 1)
			r := run(t, e, id, c.code)
			// what the engine has just taken out of the pipe, and has not passed on yet, is lost with it: then it is killed again
			for again := int64(1); c.code == "fdlast" && rec.get(id, "stderr") == "" && again < 20; again++ {
				id = 100 + again
				r = run(t, e, id, c.code)
			}
			if (r.Err == nil) != (c.err == "") || r.Err != nil && !strings.Contains(r.Err.Value, c.err) {
				t.Errorf("got %v, want %q", r.Err, c.err)
			}
			if got := rec.get(id, "stdout"); got != c.stdout {
				t.Errorf("stdout: got %q, want %q", got, c.stdout)
			}
			if got := rec.get(id, "stderr"); got != c.stderr {
				t.Errorf("stderr: got %q, want %q", got, c.stderr)
			}
		})
	}
}

func TestChildThatKeepsThePipeDoesNotHoldTheCell(t *testing.T) {
	e, rec := newTestEngine(t, "yes")
	begin := time.Now()
	if r := run(t, e, 1, "child"); r.Status != cell.OK {
		t.Fatal(r.Err)
	}
	all := func() string { return rec.get(1, "stdout") + rec.get(2, "stdout") }
	for !strings.Contains(all(), "from child") && time.Since(begin) < 10*time.Second {
		run(t, e, 2, "print x")
	}
	if got := all(); !strings.Contains(got, "from child") {
		t.Errorf("child's output: got %q", got)
	}
	e.Close()
	if d := time.Since(begin); d > 20*time.Second {
		t.Errorf("took %v: the child's sleep was waited for", d)
	}
}

func TestDeathIsAnErrorAndTheNextCellRuns(t *testing.T) {
	e, _ := newTestEngine(t, "yes")
	for i, c := range []struct{ code, want string }{
		{"exit", "exit status 3"},
		{"panic", "boom"},
		{"overflow", "stack overflow: recursion without end"},
	} {
		t.Run(c.code, func(t *testing.T) {
			r := run(t, e, int64(2*i+1), c.code)
			if r.Status != cell.Failed || !strings.Contains(r.Err.Value, c.want) {
				t.Fatalf("got %+v, want an error with %q", r, c.want)
			}
			if len(strings.Join(r.Err.Traceback, "\n")) > 8<<10 {
				t.Error("the trace is longer than anybody reads")
			}
			if r := run(t, e, int64(2*i+2), "print x"); r.Status != cell.OK {
				t.Errorf("next cell: %v", r.Err)
			}
		})
	}
}

// TestLastWords: what a cell has written is shown though the engine is killed at once. Elsewhere than on Linux it may be lost.
func TestLastWords(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("no journal on " + runtime.GOOS)
	}
	e, rec := newTestEngine(t, "yes")
	for id := int64(1); id <= 20; id++ {
		r := run(t, e, id, "lastwords so far")
		if r.Err == nil || !strings.Contains(r.Err.Value, "killed") || rec.get(id, "stdout") != "so far" {
			t.Fatalf("cell %d: got %+v, output %q", id, r, rec.get(id, "stdout"))
		}
	}
}

func TestDeathBetweenCellsIsTold(t *testing.T) {
	e, rec := newTestEngine(t, "yes")
	run(t, e, 1, "print x")
	pid := e.Info().PID
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	e.current.wait()
	if r := run(t, e, 2, "print y"); r.Status != cell.OK {
		t.Fatal(r.Err)
	}
	if got := rec.get(2, "stderr"); !strings.Contains(got, "killed (signal 9)") {
		t.Errorf("stderr of the next cell: got %q", got)
	}
	if e.Info().PID == pid {
		t.Error("the fresh engine has the pid of the dead one")
	}
}

func TestKillDuringACell(t *testing.T) {
	e, _ := newTestEngine(t, "yes")
	run(t, e, 1, "print x")
	go func() { _ = syscall.Kill(e.Info().PID, syscall.SIGKILL) }()
	r := run(t, e, 2, "hang")
	if r.Status != cell.Failed || !strings.Contains(r.Err.Value, "killed") {
		t.Errorf("got %+v", r)
	}
}

func TestInterruptAndQuestionsWhileACellRuns(t *testing.T) {
	e, _ := newTestEngine(t, "yes")
	done := make(chan cell.Result)
	go func() { done <- run(t, e, 1, "hang") }()
	c, err := e.Complete(t.Context(), cell.Question{Code: "fmt.P", Cursor: 5})
	if err != nil || len(c.Matches) != 1 {
		t.Fatalf("complete: %v, %v", c, err)
	}
	e.Interrupt()
	if r := <-done; r.Err == nil || r.Err.Name != "interrupted" {
		t.Errorf("got %+v", r)
	}
}

// TestInput: a cell's question comes through the sink, and its answer goes to the engine that asked.
func TestInput(t *testing.T) {
	e, rec := newTestEngine(t, "yes")
	questions := make(chan cellio.Frame, 1)
	take := e.config.Sink
	e.Close()
	e = New(Config{Command: e.config.Command, Sink: func(f cellio.Frame) {
		if f.Kind == cellio.KindInput {
			questions <- f
			return
		}
		take(f)
	}})
	t.Cleanup(func() { e.Close() })
	done := make(chan cell.Result, 1)
	go func() { done <- run(t, e, 3, "ask name?") }()
	f := <-questions
	var in cellio.Input
	if err := json.Unmarshal(f.Body, &in); err != nil || in.Prompt != "name?" || f.Cell != 3 {
		t.Errorf("got a question of cell %d: %+v, %v", f.Cell, in, err)
	}
	e.AnswerInput(f.Seq+1, cellio.InputReply{Value: "to another question"})
	e.AnswerInput(f.Seq, cellio.InputReply{Value: "Ada"})
	if r := <-done; r.Status != cell.OK {
		t.Error(r.Err)
	}
	if got := rec.get(3, "stdout"); got != "Ada <nil>" {
		t.Errorf("got %q", got)
	}
	go func() { done <- run(t, e, 4, "ask name?") }()
	f = <-questions
	e.AnswerInput(f.Seq, cellio.InputReply{Value: strings.Repeat("<", cellio.MaxFrame/6+1)}) // six bytes each, in JSON
	<-done
	if got := rec.get(4, "stdout"); !strings.Contains(got, "too large") {
		t.Errorf("an answer that is too large gave %.200q", got)
	}
	e.Close()
	e.AnswerInput(f.Seq, cellio.InputReply{Value: "to nobody"}) // must not block or panic
}

func TestEngineThatCannotServe(t *testing.T) {
	e, _ := newTestEngine(t, "broken")
	if r := run(t, e, 1, "print x"); r.Status != cell.Failed || !strings.Contains(r.Err.Value, "before it served") {
		t.Errorf("got %+v", r)
	}
	missing := New(Config{Sink: func(cellio.Frame) {}, Command: func() *exec.Cmd { return exec.Command("/nonexistent/engine") }})
	if r := run(t, missing, 1, "print x"); r.Status != cell.Failed {
		t.Errorf("got %+v", r)
	}
	missing.Close()
}

// groupAlive lists the living processes of a group; a zombie, which only its parent can bury, is dead.
func groupAlive(pgid int) (alive []string) {
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, path := range stats {
		b, _ := os.ReadFile(path)
		_, after, _ := strings.Cut(string(b), ") ")
		f := strings.Fields(after) // state, ppid, pgrp
		if len(f) > 2 && f[2] == strconv.Itoa(pgid) && f[0] != "Z" && f[0] != "X" {
			alive = append(alive, path)
		}
	}
	return alive
}

// outliving returns who of a killed group is still there after 2 s: a signal is delivered when its process is next scheduled.
func outliving(pgid int) []string {
	deadline := time.Now().Add(2 * time.Second)
	for {
		alive := groupAlive(pgid)
		if len(alive) == 0 || time.Now().After(deadline) {
			return alive
		}
		time.Sleep(5 * time.Millisecond)
	}
}

func TestCloseLeavesNothing(t *testing.T) {
	before := runtime.NumGoroutine()
	for range 3 {
		e, _ := newTestEngine(t, "yes")
		run(t, e, 1, "child")
		go e.Execute(t.Context(), cell.Request{Cell: 2, Code: "hang"})
		begin := time.Now()
		e.Close()
		if d := time.Since(begin); d > 2*time.Second {
			t.Errorf("close took %v", d)
		}
		if alive := outliving(e.current.cmd.Process.Pid); len(alive) > 0 {
			t.Errorf("processes of the engine's group live on: %v", alive)
		}
	}
	for range 200 { // the goroutines of Execute above end on their own now
		if runtime.NumGoroutine() <= before {
			return
		}
		runtime.Gosched()
		time.Sleep(10 * time.Millisecond)
	}
	t.Errorf("goroutines: %d before, %d after", before, runtime.NumGoroutine())
}

// TestReadable: of a trace only what the writer of a cell can use is shown.
func TestReadable(t *testing.T) {
	const own, others = "\n\nruntime stack:\nruntime.throw()\n\tpanic.go:1", "\n\ngoroutine 7 [running]:\nmain.f()"
	for _, c := range []struct{ name, trace, want string }{
		{"panic", "panic: boom" + others, "panic: boom" + others},
		{"map", "fatal error: concurrent map writes" + others, "fatal error: concurrent map writes" + others},
		{"memory", "fatal error: runtime: out of memory" + own + others, "fatal error: runtime: out of memory"},
		{"other fatal errors", "fatal error: odd" + own + others, "fatal error: odd" + others},
		{"cut off", "fatal error: odd" + own, "fatal error: odd"},
	} {
		if got := readable(c.trace); got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}
