package kerneltest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"cancha/kernel/client"
	"cancha/kernel/wire"
)

// patience is how long the suite waits for what must come. It is generous, because test machines are busy.
const patience = 20 * time.Second

// Run runs every case against the target, most of them on one kernel, and writes a table of what has held. After a case that
// fails the next has a new kernel: what one case breaks is not the others' failure.
func Run(t *testing.T, target Target) {
	results := &results{}
	defer results.write(t)
	kernel := &shared{target: target}
	defer kernel.end()
	for _, group := range [][]namedCase{
		wireCases(), peerCases(), statusCases(), outputCases(), controlCases(), questionCases(), inputCases(), commCases(), subshellCases(),
	} {
		for _, c := range group {
			s := kernel.subject(t)
			held := t.Run(c.name, func(t *testing.T) {
				t.Cleanup(func() { results.note(t, c.name) })
				c.run(t, s)
				kernel.alive(t)
			})
			if !held {
				kernel.end()
			}
		}
	}
	for _, c := range lifeCases() {
		t.Run(c.name, func(t *testing.T) {
			t.Cleanup(func() { results.note(t, c.name) })
			c.run(t, target)
		})
	}
}

// shared is the kernel that cases have in common.
type shared struct {
	target  Target
	process *client.Kernel // nil before it is started and after its end
	current *subject
}

// subject returns the running kernel.
func (k *shared) subject(t *testing.T) *subject {
	t.Helper()
	if k.process != nil {
		return k.current
	}
	var err error
	if k.process, err = client.Start(quiet(t, k.target.Config)); err != nil {
		t.Fatal(err)
	}
	k.current = connect(t, k.target, k.process)
	return k.current
}

// alive fails where the kernel process has ended.
func (k *shared) alive(t *testing.T) {
	select {
	case <-k.process.Exited():
		t.Error("the kernel process has ended")
	default:
	}
}

func (k *shared) end() {
	if k.process != nil {
		k.process.Kill()
		k.process = nil
	}
}

// namedCase is one property on a running kernel.
type namedCase struct {
	name string
	run  func(t *testing.T, s *subject)
}

// lifeCase is one property that needs a kernel of its own.
type lifeCase struct {
	name string
	run  func(t *testing.T, target Target)
}

// subject is a running kernel and the client that most cases use.
type subject struct {
	Samples
	kernel  *client.Kernel
	client  *client.Client
	seen    *recorder
	sockets Sockets
}

// start starts a kernel, ends it with the test, and fails if it has ended before.
func start(t *testing.T, target Target, c client.Config) *subject {
	t.Helper()
	k, err := client.Start(quiet(t, c))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		select {
		case <-k.Exited():
			t.Error("the kernel process has ended")
		default:
			k.Kill()
		}
	})
	return connect(t, target, k)
}

// quiet sends what the kernel process says to the test's log, which shows it where the test fails.
func quiet(t *testing.T, c client.Config) client.Config {
	if c.Stderr == nil {
		c.Stderr = t.Output()
	}
	return c
}

// connect waits until the kernel serves.
func connect(t *testing.T, target Target, k *client.Kernel) *subject {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	seen := &recorder{}
	c, err := k.Connect(ctx, client.Options{Watch: seen.add, Sockets: target.sockets()})
	if err != nil {
		k.Kill()
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return &subject{target.Samples, k, c, seen, target.sockets()}
}

// recorder keeps what was published.
type recorder struct {
	mu       sync.Mutex
	messages []wire.Message
}

func (r *recorder) add(m wire.Message) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.messages = append(r.messages, m)
}

// take returns the messages so far and forgets them.
func (r *recorder) take() []wire.Message {
	r.mu.Lock()
	defer r.mu.Unlock()
	ms := r.messages
	r.messages = nil
	return ms
}

// restore puts back messages that were taken too early.
func (r *recorder) restore(ms []wire.Message) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.messages = append(slices.Clone(ms), r.messages...)
}

// need skips a case whose sample is empty.
func need(t *testing.T, samples ...string) {
	t.Helper()
	for _, s := range samples {
		if s == "" {
			t.Skip("no sample")
		}
	}
}

// run executes code and returns the reply and what was published for it.
func (s *subject) run(t *testing.T, code string) (client.Reply, []wire.Message) {
	t.Helper()
	return s.runWith(t, code, client.ExecuteOptions{})
}

func (s *subject) runWith(t *testing.T, code string, o client.ExecuteOptions) (client.Reply, []wire.Message) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 6*patience) // a recursion takes a minute to be told on a busy machine
	defer cancel()
	var seen recorder
	r, err := s.client.ExecuteWith(ctx, code, o, seen.add)
	if err != nil {
		t.Fatalf("execute %q: %v%s", code, err, s.fate(err))
	}
	return r, seen.take()
}

// fate tells how the kernel process has ended, or that it lives, where err says that it has exited: then a connection has ended.
func (s *subject) fate(err error) string {
	if !errors.Is(err, client.ErrExited) {
		return ""
	}
	select {
	case <-s.kernel.Exited():
		return fmt.Sprintf("; the process has ended: %v", s.kernel.Err())
	case <-time.After(2 * time.Second):
		return "; the process lives"
	}
}

// ask sends a request and returns the reply's content.
func (s *subject) ask(t *testing.T, on client.Channel, msgType string, body any) map[string]any {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	m, err := s.client.Request(ctx, on, msgType, body, nil)
	if err != nil {
		t.Fatal(err)
	}
	return content(m.Content)
}

// alive checks that the kernel still answers.
func (s *subject) alive(t *testing.T) {
	t.Helper()
	began := time.Now()
	if got := s.ask(t, client.Shell, "kernel_info_request", struct{}{}); got["status"] != "ok" {
		t.Errorf("kernel_info_reply: %v", got)
	}
	if took := time.Since(began); took > 2*time.Second {
		t.Errorf("the kernel answered after %v", took)
	}
}

// kinds lists message types, with the state of a status.
func kinds(ms []wire.Message) string {
	var words []string
	for _, m := range ms {
		if state := client.State(m); state != "" {
			words = append(words, state)
		} else {
			words = append(words, m.Header.Type)
		}
	}
	return strings.Join(words, " ")
}

// printed returns what was written to a stream.
func printed(ms []wire.Message, name string) string {
	var b strings.Builder
	for _, m := range ms {
		if c := content(m.Content); m.Header.Type == "stream" && c["name"] == name {
			b.WriteString(c["text"].(string))
		}
	}
	return b.String()
}

// of returns the messages of one type.
func of(ms []wire.Message, msgType string) (some []wire.Message) {
	for _, m := range ms {
		if m.Header.Type == msgType {
			some = append(some, m)
		}
	}
	return some
}

// raw is a client that sends frames as it likes.
type raw struct {
	client.Conn
	session *wire.Session
	key     string
	replies chan [][]byte
}

// dial connects a raw client to a channel of the kernel.
func (s *subject) dial(t *testing.T, port int, identity string) *raw {
	t.Helper()
	return s.dialWith(t, port, identity, s.kernel.Connection().Key)
}

// dialWith is dial with a key that may not be the kernel's.
func (s *subject) dialWith(t *testing.T, port int, identity, key string) *raw {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	conn, err := s.sockets.Dealer(ctx, s.kernel.Connection().Endpoint(port), identity)
	if err != nil {
		t.Fatal(err)
	}
	return s.speak(t, conn, key)
}

// speak makes a raw client of a connection, which ends with the test.
func (s *subject) speak(t *testing.T, conn client.Conn, key string) *raw {
	t.Helper()
	session, err := wire.NewSession(key, s.kernel.Connection().Scheme, "raw")
	if err != nil {
		t.Fatal(err)
	}
	r := &raw{conn, session, key, make(chan [][]byte, 100)}
	read, closed := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(read)
		for {
			m, err := conn.Receive()
			if err != nil {
				return
			}
			select {
			case r.replies <- m:
			case <-closed:
				return
			}
		}
	}()
	t.Cleanup(func() { close(closed); _ = conn.Close(); <-read })
	return r
}

// message returns the frames of a request, and its msg_id.
func (r *raw) message(t *testing.T, msgType string, body any) ([][]byte, string) {
	t.Helper()
	m, err := r.session.New(msgType, nil, body)
	if err != nil {
		t.Fatal(err)
	}
	return r.session.Encode(m), m.Header.ID
}

func (r *raw) send(t *testing.T, frames [][]byte) {
	t.Helper()
	if err := r.Send(frames); err != nil {
		t.Fatal(err)
	}
}

// reply waits for the next reply.
func (r *raw) reply(t *testing.T) wire.Message {
	t.Helper()
	select {
	case frames := <-r.replies:
		m, err := r.session.Decode(frames)
		if err != nil {
			t.Fatal(err)
		}
		return m
	case <-time.After(patience):
		t.Fatal("no reply came")
		return wire.Message{}
	}
}

// want reports a value that is not as it should be.
func want(t *testing.T, what string, got, want any) {
	t.Helper()
	g, _ := json.Marshal(got) // what comes from JSON goes back to it
	w, _ := json.Marshal(want)
	if !bytes.Equal(g, w) {
		t.Errorf("%s: got %s, want %s", what, g, w)
	}
}
