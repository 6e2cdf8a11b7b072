package eval_test

import (
	"encoding/json"
	"io"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"cancha/internal/cellio"
	"cancha/internal/symbols"
	"cancha/kernel/cell"
	"cancha/kernel/eval"
)

// notebook runs cells in a program and keeps what they say.
type notebook struct {
	t       *testing.T
	program *eval.Program
	exited  []int
	onExit  func() // called when a cell ends the process
	out     *cellio.Outlet

	mu     sync.Mutex
	frames []cellio.Frame
	serial int64
}

// testGrace is how long an interrupted cell may take to stop.
const testGrace = time.Second

func newNotebook(t *testing.T) *notebook {
	t.Helper()
	return newSlowNotebook(t, time.Hour) // a busy machine makes no test print more
}

// newSlowNotebook returns one whose cells say after a time that they are interpreted.
func newSlowNotebook(t *testing.T, slow time.Duration) *notebook {
	t.Helper()
	return newConfiguredNotebook(t, eval.Config{Slow: slow})
}

// newConfiguredNotebook returns one whose configuration says what the others leave out.
func newConfiguredNotebook(t *testing.T, c eval.Config) *notebook {
	t.Helper()
	n := &notebook{t: t}
	out := cellio.NewOutlet(n.take)
	n.out = out
	cellio.Attach(out)
	t.Cleanup(func() {
		out.Close()
		cellio.Attach(nil)
	})
	var packages []eval.Package
	for _, p := range symbols.Packages() {
		packages = append(packages, eval.Package{Path: p.Path, Name: p.Name, Standard: p.Standard})
	}
	if c.Native == nil {
		c.Native = tools(t)
	}
	c.Logger = logger(t)
	c.Symbols, c.Packages = symbols.Table(), packages
	c.Export = func(path string) (io.ReadCloser, error) { return symbols.Export(path) }
	c.Outlet, c.Exit, c.Grace = out, n.exit, testGrace
	c.Embedded = "cancha/runtime/embedded"
	p, err := eval.New(c)
	if err != nil {
		t.Fatal(err)
	}
	n.program = p
	t.Cleanup(p.Close)
	return n
}

// catch has the notebook's outlet catch what is written to os.Stdout and os.Stderr, whoever keeps them, until the test's end.
func (n *notebook) catch() (release func()) {
	n.t.Helper()
	var undo []func()
	release = sync.OnceFunc(func() {
		for _, f := range slices.Backward(undo) {
			f()
		}
	})
	n.t.Cleanup(release)
	if os.Stderr == os.Stdout { // as package testing has it with -json
		other := *os.Stdout
		os.Stderr = &other
		undo = append(undo, func() { os.Stderr = os.Stdout })
	}
	var reading [2]*os.File
	for i, own := range []*os.File{os.Stdout, os.Stderr} {
		r, w, err := os.Pipe()
		if err != nil {
			n.t.Fatal(err)
		}
		before := *own
		*own = *w // the same pointer, which is all that anybody has kept
		reading[i] = r
		undo = append(undo, func() { *own = before; w.Close() })
	}
	stop, err := n.out.CatchPast(reading[0], reading[1])
	if err != nil {
		n.t.Fatal(err)
	}
	undo = append(undo, stop)
	return release
}

func (n *notebook) exit(code int) {
	n.exited = append(n.exited, code)
	if n.onExit != nil {
		n.onExit()
	}
}

func (n *notebook) take(f cellio.Frame) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.frames = append(n.frames, f)
	return nil
}

// run runs a cell and returns how it ended.
func (n *notebook) run(code string) cell.Result {
	n.serial++
	return n.program.Run(cell.Request{Cell: n.serial, Count: int(n.serial), Code: code})
}

// ok runs cells that must not fail.
func (n *notebook) ok(cells ...string) {
	n.t.Helper()
	for _, code := range cells {
		if r := n.run(code); r.Status != cell.OK {
			n.t.Fatalf("cell\n%s\nfailed: %s", code, strings.Join(r.Err.Traceback, "\n"))
		}
	}
}

// stream returns what all cells so far have written to a stream.
func (n *notebook) stream(name string) string {
	n.out.Flush()
	return n.sent(name)
}

// sent returns what of a stream has left the engine.
func (n *notebook) sent(name string) string {
	n.mu.Lock()
	defer n.mu.Unlock()
	var b strings.Builder
	for _, f := range n.frames {
		var s cellio.Stream
		if f.Kind == cellio.KindStream && json.Unmarshal(f.Body, &s) == nil && s.Name == name {
			b.WriteString(s.Text)
		}
	}
	return b.String()
}

// results are the texts of the values shown so far.
func (n *notebook) results() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	var out []string
	for _, f := range n.frames {
		var d cellio.Display
		if f.Kind == cellio.KindResult && json.Unmarshal(f.Body, &d) == nil {
			out = append(out, d.Data["text/plain"].(string))
		}
	}
	return out
}

// logger writes what the engine says of itself to the file that CANCHA_LOG names; nil without one.
func logger(t testing.TB) *slog.Logger {
	name := os.Getenv("CANCHA_LOG")
	if name == "" {
		return nil
	}
	f, err := os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return slog.New(slog.NewTextHandler(f, &slog.HandlerOptions{Level: slog.LevelDebug}))
}
