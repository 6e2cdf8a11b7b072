package kernel_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"cancha/kernel"
	"cancha/kernel/kerneltest"
	"cancha/kernel/wire"
)

// bench is a kernel on channels in memory, and the client that talks to it.
type bench struct {
	t       *testing.T
	kernel  *kernel.Kernel
	engine  *kerneltest.Engine
	session *wire.Session
	shell   *channel
	control *channel
	stdin   *channel
	iopub   *channel
	log     *safeBuffer
	ended   chan error
}

// channel is a Router and a Publisher in memory.
type channel struct {
	in  chan [][]byte // to the kernel
	out chan [][]byte // from the kernel
}

func newChannel() *channel { return &channel{make(chan [][]byte, 100), make(chan [][]byte, 1000)} }

func (c *channel) Receive(ctx context.Context) ([][]byte, error) {
	select {
	case m, ok := <-c.in:
		if !ok {
			return nil, net.ErrClosed
		}
		return m, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (c *channel) Send(frames [][]byte) error    { c.out <- frames; return nil }
func (c *channel) Publish(frames [][]byte) error { c.out <- frames; return nil }

type safeBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *safeBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *safeBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

const key = "secret"

// newBench starts a kernel; it is shut down with the test.
func newBench(t *testing.T) *bench {
	t.Helper()
	b := &bench{
		t: t, engine: &kerneltest.Engine{}, shell: newChannel(), control: newChannel(), stdin: newChannel(), iopub: newChannel(),
		log: &safeBuffer{}, ended: make(chan error, 1),
	}
	var err error
	if b.session, err = wire.NewSession(key, "", "tester"); err != nil {
		t.Fatal(err)
	}
	b.kernel, err = kernel.New(kernel.Config{
		Connection: wire.Connection{Key: key, ShellPort: 11, HBPort: 15}, Engine: b.engine, Version: "0.0",
		Logger: slog.New(slog.NewTextHandler(b.log, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	b.engine.Sink = b.kernel.Output
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		b.ended <- b.kernel.Run(ctx, kernel.Channels{Shell: b.shell, Control: b.control, Stdin: b.stdin, IOPub: b.iopub})
	}()
	t.Cleanup(func() {
		cancel()
		select {
		case err := <-b.ended:
			if err != nil {
				t.Errorf("run: %v", err)
			}
		case <-time.After(5 * time.Second):
			t.Error("the kernel does not end")
		}
	})
	if m := b.next(b.iopub); m.Header.Type != "status" || string(m.Parent) != "{}" || !strings.Contains(string(m.Content), "starting") {
		t.Fatalf("first message %s %s, want starting of nobody", m.Header.Type, m.Content)
	}
	return b
}

// send sends a request and returns its header as sent.
func (b *bench) send(to *channel, msgType string, content any) string {
	b.t.Helper()
	m, err := b.session.New(msgType, nil, content)
	if err != nil {
		b.t.Fatal(err)
	}
	m.Identities = [][]byte{[]byte("client"), []byte("hop")}
	to.in <- b.session.Encode(m)
	return string(m.RawHeader)
}

func (b *bench) next(from *channel) wire.Message {
	b.t.Helper()
	select {
	case frames := <-from.out:
		m, err := b.session.Decode(frames)
		if err != nil {
			b.t.Fatal(err)
		}
		return m
	case <-time.After(30 * time.Second):
		b.t.Fatal("no message came")
		return wire.Message{}
	}
}

// heard returns what was published up to the idle of header, as "type key=value …" lines; it checks parents.
func (b *bench) heard(header string) []string {
	b.t.Helper()
	var said []string
	for {
		m := b.next(b.iopub)
		if string(m.Parent) != header {
			b.t.Fatalf("%s has parent %s, want %s", m.Header.Type, m.Parent, header)
		}
		said = append(said, m.Header.Type+" "+string(m.Content))
		if said[len(said)-1] == `status {"execution_state":"idle"}` {
			return said
		}
	}
}

// ask sends a request and returns its reply's content and what was published.
func (b *bench) ask(to *channel, msgType string, content any) (reply map[string]any, said []string) {
	b.t.Helper()
	header := b.send(to, msgType, content)
	m := b.next(to)
	if string(m.Parent) != header {
		b.t.Errorf("the reply's parent is %s, want %s byte for byte", m.Parent, header)
	}
	if got := string(bytes.Join(m.Identities, []byte("/"))); got != "client/hop" {
		b.t.Errorf("the reply goes to %s, want client/hop", got)
	}
	if want := strings.TrimSuffix(msgType, "_request") + "_reply"; m.Header.Type != want {
		b.t.Errorf("got a %s, want %s", m.Header.Type, want)
	}
	if err := json.Unmarshal(m.Content, &reply); err != nil {
		b.t.Fatal(err)
	}
	return reply, b.heard(header)
}

func (b *bench) run(code string) (reply map[string]any, said []string) {
	b.t.Helper()
	return b.ask(b.shell, "execute_request", map[string]any{"code": code})
}

func (b *bench) want(what string, got, want any) {
	b.t.Helper()
	if g, w := fmt.Sprint(got), fmt.Sprint(want); g != w {
		b.t.Errorf("%s: got %s, want %s", what, g, w)
	}
}

const (
	busy = `status {"execution_state":"busy"}`
	idle = `status {"execution_state":"idle"}`
)

func lines(ls ...string) string { return strings.Join(ls, "\n") }
