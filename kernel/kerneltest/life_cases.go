package kerneltest

import (
	"context"
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"cancha/kernel/client"
	"cancha/kernel/wire"
)

// lifeCases are the properties that need a kernel of their own: how it starts, how it ends, other connections.
func lifeCases() []lifeCase {
	return []lifeCase{
		{"20 starting comes once, of nobody", starting},
		{"20 starting comes to a subscriber that was there first", startingFirst},
		{"04 without a key", withoutKey},
		{"17 hmac-sha512", sha512},
		{"16 ipc", ipc},
		{"a message that is none is logged", logged},
		{"33 a fresh session after a restart", freshSession},
		{"connection files that cannot be served", badConnections},
		{"52 shutdown while idle", func(t *testing.T, x Target) { shutdown(t, x, "", false) }},
		{"52 shutdown for a restart", func(t *testing.T, x Target) { shutdown(t, x, "", true) }},
		{"52 shutdown while a cell waits for an answer", shutdownWhileAsking},
		{"52 shutdown while a cell runs", func(t *testing.T, x Target) { shutdown(t, x, x.Samples.Endless, true) }},
		{"shutdown on shell", shutdownOnShell},
		{"SIGTERM", terminated},
		{"57 history across restarts", historyAcrossRestarts},
		{"the death of the parent", orphaned},
		{"the death of the kernel", kernelKilled},
		{"a stalled subscriber", stalled},
		{"cells that end their process", deadly},
		{"a panic in a goroutine", panics},
		{"the process that runs cells is killed", killed},
	}
}

func starting(t *testing.T, target Target) {
	s := start(t, target, target.Config)
	s.alive(t)
	var states []wire.Message
	for _, m := range s.seen.take() {
		if client.State(m) == "starting" {
			states = append(states, m)
		}
	}
	if len(states) != 1 || string(states[0].Parent) != "{}" {
		t.Errorf("%d messages of starting, want one of nobody", len(states))
	}
}

// startingFirst: the subscriber tries to connect before there is a kernel. Sockets that make one attempt only cannot.
func startingFirst(t *testing.T, target Target) {
	lender, ok := target.sockets().(*bridge)
	if !ok {
		t.Skip("these sockets connect once: give CANCHA_PYTHON for libzmq's")
	}
	path, c := writeConnection(t, target.Config.Encrypted)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	sub, err := lender.Subscriber(ctx, c.Endpoint(c.IOPubPort), "")
	if err != nil {
		t.Fatal(err)
	}
	defer sub.Close()
	defer context.AfterFunc(ctx, func() { _ = sub.Close() })()
	config := quiet(t, target.Config)
	config.Argv = replaceConnection(config.Argv, path)
	k, err := client.Start(config)
	if err != nil {
		t.Fatal(err)
	}
	defer k.Kill()
	session, err := wire.NewSession(c.Key, c.Scheme, "subscriber")
	if err != nil {
		t.Fatal(err)
	}
	for _, expected := range []string{"iopub_welcome", "starting"} {
		m := wire.Message{}
		for m.Header.ID == "" || isLog(m) {
			frames, err := sub.Receive()
			if err != nil {
				t.Fatalf("no %s: %v", expected, err)
			}
			if m, err = session.Decode(frames); err != nil {
				t.Fatal(err)
			}
		}
		want(t, "message", kinds([]wire.Message{m}), expected)
		want(t, "its parent", content(m.Parent), map[string]any{})
	}
}

// writeConnection writes a connection file of ports that were free a moment ago.
func writeConnection(t *testing.T, encrypted bool) (path string, c wire.Connection) {
	t.Helper()
	c = wire.Connection{Transport: "tcp", IP: "127.0.0.1", Key: "a key", Scheme: "hmac-sha256"}
	for _, port := range []*int{&c.ShellPort, &c.IOPubPort, &c.StdinPort, &c.ControlPort, &c.HBPort} {
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer ln.Close() // after all are found, so that they differ
		*port = ln.Addr().(*net.TCPAddr).Port
	}
	if encrypted {
		c.CurveKeys = wire.NewCurveKeys()
	}
	raw, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	path = filepath.Join(t.TempDir(), "connection.json")
	if err := os.WriteFile(path, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	return path, c
}

func withoutKey(t *testing.T, target Target) {
	c := target.Config
	c.Unsigned = true
	s := start(t, target, c)
	r := s.dial(t, s.kernel.Connection().ShellPort, "")
	frames, id := r.message(t, "kernel_info_request", struct{}{})
	for range 2 { // unsigned messages may repeat
		r.send(t, frames)
		m := <-r.replies
		want(t, "frames", len(m), 6)
		want(t, "signature", string(m[1]), "")
		reply, err := r.session.Decode(m)
		if err != nil {
			t.Fatal(err)
		}
		want(t, "reply", reply.ParentID(), id)
	}
	frames, id = r.message(t, "kernel_info_request", struct{}{})
	frames[1] = []byte("signed nevertheless")
	r.send(t, frames)
	want(t, "reply to a signed message", r.reply(t).ParentID(), id)
}

func sha512(t *testing.T, target Target) {
	c := target.Config
	c.Scheme = "hmac-sha512"
	s := start(t, target, c)
	s.alive(t)
	r := s.dial(t, s.kernel.Connection().ShellPort, "")
	frames, _ := r.message(t, "execute_request", map[string]any{"code": s.Hello})
	want(t, "digits of a signature", len(frames[1]), 128)
	frames[1] = frames[1][:64]
	s.drops(t, r, "half a signature", frames)
}

func ipc(t *testing.T, target Target) {
	c := target.Config
	c.Transport = "ipc"
	s := start(t, target, c)
	r, ms := s.run(t, s.Hello)
	want(t, "status", r.Status, "ok")
	want(t, "output", printed(ms, "stdout"), "hello\n")
	s.heartbeat(t)
	s.ask(t, client.Control, "kernel_info_request", struct{}{})
	network, address := s.kernel.Connection().Address(s.kernel.Connection().StdinPort)
	conn, err := net.Dial(network, address) // the suite's client has no question to answer
	if err != nil {
		t.Fatalf("stdin: %v", err)
	}
	_ = conn.Close()
}

// logged: what is ignored leaves a line in the log.
func logged(t *testing.T, target Target) {
	need(t, target.Samples.Ignored)
	c := target.Config
	log := &logBuffer{}
	c.Stderr = log
	s := start(t, target, c)
	r := s.dial(t, s.kernel.Connection().ShellPort, "")
	frames, _ := r.message(t, "execute_request", map[string]any{"code": s.Hello})
	frames[1] = []byte(strings.Repeat("a", 64))
	r.send(t, frames)
	at := s.kernel.Connection().Endpoint(s.kernel.Connection().ShellPort)
	at.CurveKeys = wire.NewCurveKeys() // those of a stranger, who is logged too
	if conn, err := (client.Own{}).Dealer(t.Context(), at, ""); err == nil {
		_ = conn.Close()
		t.Error("a client with other keys is connected")
	}
	for deadline := time.Now().Add(patience); !strings.Contains(log.String(), s.Ignored); time.Sleep(time.Millisecond) { // polls
		if time.Now().After(deadline) {
			t.Fatalf("no %q in the log: %s", s.Ignored, log)
		}
	}
	s.alive(t)
	s.keysStay(t, log.String())
}

// keysStay: what the kernel says names none of its keys.
func (s *subject) keysStay(t *testing.T, said string) {
	t.Helper()
	c := s.kernel.Connection()
	public, _ := c.CurvePublic.MarshalText() // it never fails
	secret, _ := c.CurveSecret.MarshalText()
	for name, key := range map[string]string{"key": c.Key, "curve_publickey": string(public), "curve_secretkey": string(secret)} {
		if strings.Contains(said, key) {
			t.Errorf("the log shows the %s: %s", name, said)
		}
	}
}

// logBuffer is a log that is read while it is written.
type logBuffer struct {
	mu sync.Mutex
	b  strings.Builder
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// freshSession: the session id tells one kernel process from the next.
func freshSession(t *testing.T, target Target) {
	session := func() string {
		s := start(t, target, target.Config)
		r, _ := s.run(t, s.Hello)
		return r.Message.Header.Session
	}
	if a, b := session(), session(); a == b || a == "" {
		t.Errorf("two processes have the sessions %q and %q", a, b)
	}
}

// badConnections starts the command with connection files that ask for what is not there: it must say so and end.
func badConnections(t *testing.T, target Target) {
	ports := map[string]any{"shell_port": 1, "iopub_port": 2, "stdin_port": 3, "control_port": 4, "hb_port": 5}
	for name, extra := range map[string]map[string]any{
		"no ports":       {"shell_port": 0},
		"unknown scheme": {"signature_scheme": "hmac-rot13"},
		"no CURVE keys":  {"curve_publickey": "x", "curve_secretkey": "y"},
		"half of a pair": {"curve_publickey": "1V][G(}&/D2*VeM1mGVBTj1UyTCz4D!v6[.Rev$0"},
	} {
		file := map[string]any{"transport": "tcp", "ip": "127.0.0.1", "key": "k"}
		for _, m := range []map[string]any{ports, extra} {
			for k, v := range m {
				file[k] = v
			}
		}
		raw, err := json.Marshal(file)
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(t.TempDir(), "connection.json")
		if err := os.WriteFile(path, raw, 0o600); err != nil {
			t.Fatal(err)
		}
		c := quiet(t, target.Config)
		c.Argv = replaceConnection(c.Argv, path)
		k, err := client.Start(c)
		if err != nil {
			t.Fatal(err)
		}
		select {
		case <-k.Exited():
			if k.Err() == nil {
				t.Errorf("%s: the kernel ended with exit code 0, want a failure", name)
			}
		case <-time.After(patience):
			k.Kill()
			t.Errorf("%s: the kernel does not end", name)
		}
	}
}

func replaceConnection(argv []string, path string) []string {
	replaced := make([]string, len(argv))
	for i, a := range argv {
		replaced[i] = a
		if a == "{connection_file}" {
			replaced[i] = path
		}
	}
	return replaced
}

// shutdown asks on control and expects the reply there, a broadcast, and exit code 0 within two seconds, with nothing left of
// the process that runs cells.
func shutdown(t *testing.T, target Target, during string, restart bool) {
	k, err := client.Start(quiet(t, target.Config))
	if err != nil {
		t.Fatal(err)
	}
	defer k.Kill()
	s := connect(t, target, k)
	s.run(t, s.Hello)
	engine := 0
	if s.PID != "" {
		_, ms := s.run(t, s.PID)
		engine, _ = strconv.Atoi(strings.TrimSpace(printed(ms, "stdout")))
	}
	if during != "" {
		r := s.dial(t, k.Connection().ShellPort, "")
		frames, id := r.message(t, "execute_request", map[string]any{"code": during})
		r.send(t, frames)
		s.until(t, id, "stream")
	}
	began := time.Now()
	got := s.ask(t, client.Control, "shutdown_request", map[string]any{"restart": restart})
	want(t, "reply", []any{got["status"], got["restart"]}, []any{"ok", restart})
	select {
	case <-k.Exited():
		if err := k.Err(); err != nil {
			t.Errorf("the process ended with %v", err)
		}
		if took := time.Since(began); took > 2*time.Second {
			t.Errorf("it took %v", took)
		}
	case <-time.After(patience):
		t.Error("the process does not end")
	}
	if engine != 0 && syscall.Kill(engine, 0) == nil {
		t.Error("the process that ran cells is left")
	}
}

// shutdownOnShell: the protocol's older way, which clients still use.
func shutdownOnShell(t *testing.T, target Target) {
	k, err := client.Start(quiet(t, target.Config))
	if err != nil {
		t.Fatal(err)
	}
	defer k.Kill()
	s := connect(t, target, k)
	got := s.ask(t, client.Shell, "shutdown_request", map[string]any{"restart": false})
	want(t, "reply", []any{got["status"], got["restart"]}, []any{"ok", false})
	ends(t, k)
}

// ends waits for a kernel that has been told to go.
func ends(t *testing.T, k *client.Kernel) {
	t.Helper()
	select {
	case <-k.Exited():
	case <-time.After(patience):
		t.Error("the process does not end")
	}
}

// terminated: SIGTERM ends the kernel, and what runs its cells.
func terminated(t *testing.T, target Target) {
	need(t, target.Samples.PID)
	k, err := client.Start(quiet(t, target.Config))
	if err != nil {
		t.Fatal(err)
	}
	defer k.Kill()
	s := connect(t, target, k)
	_, ms := s.run(t, s.PID)
	engine, err := strconv.Atoi(strings.TrimSpace(printed(ms, "stdout")))
	if err != nil {
		t.Fatal(err)
	}
	if err := k.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	ends(t, k)
	for deadline := time.Now().Add(patience); syscall.Kill(engine, 0) == nil; time.Sleep(time.Millisecond) { // polls
		if time.Now().After(deadline) {
			t.Fatal("the process that ran cells is left")
		}
	}
}

// panics: a goroutine that panics is told, in the cell's error or on its stderr, and the next cell runs.
func panics(t *testing.T, target Target) {
	need(t, target.Samples.Panics)
	s := start(t, target, target.Config)
	r, ms := s.run(t, s.Panics)
	told := printed(ms, "stderr")
	if r.Err != nil {
		told += r.Err.Value
	}
	if !strings.Contains(told, "boom") {
		t.Errorf("the cell ended %s with %q, want the panic told", r.Status, told)
	}
	r, _ = s.run(t, s.Hello)
	want(t, "the next cell", r.Status, "ok")
}

// deadly runs cells that end the process they run in: each is an error, and the next cell runs.
func deadly(t *testing.T, target Target) {
	if len(target.Samples.Deadly) == 0 {
		t.Skip("no sample")
	}
	s := start(t, target, target.Config)
	for name, code := range target.Samples.Deadly {
		r, ms := s.run(t, code)
		want(t, name+": status", r.Status, "error")
		want(t, name+": errors", len(of(ms, "error")), 1)
		if r.Err != nil {
			t.Logf("%s: %s", name, r.Err.Value)
		}
		r, ms = s.run(t, s.Hello)
		want(t, name+": the next cell", r.Status, "ok")
		want(t, name+": its output", printed(ms, "stdout"), "hello\n")
	}
}

// killed sends SIGKILL to the process that runs cells, first while it does nothing, then while it runs one.
func killed(t *testing.T, target Target) {
	need(t, target.Samples.PID, target.Samples.Endless)
	s := start(t, target, target.Config)
	kill := func() {
		_, ms := s.run(t, s.PID)
		pid, err := strconv.Atoi(strings.TrimSpace(printed(ms, "stdout")))
		if err != nil || pid == s.kernel.PID() {
			t.Fatalf("pid %d, %v", pid, err)
		}
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
	}
	kill()
	if r, _ := s.run(t, s.Hello); r.Status != "ok" { // the first cell may have to tell of the death
		r, _ = s.run(t, s.Hello)
		want(t, "a cell after the death", r.Status, "ok")
	}
	_, ms := s.run(t, s.PID)
	pid, err := strconv.Atoi(strings.TrimSpace(printed(ms, "stdout")))
	if err != nil {
		t.Fatal(err)
	}
	r := s.whileRunning(t, s.Endless, func() { _ = syscall.Kill(pid, syscall.SIGKILL) })
	want(t, "the cell that ran", r.Status, "error")
	r, _ = s.run(t, s.Hello)
	want(t, "the next cell", r.Status, "ok")
}

// stalled leaves one subscriber unread while another gets some 100 MB.
func stalled(t *testing.T, target Target) {
	need(t, target.Samples.Large)
	s := start(t, target, target.Config)
	blocked := make(chan struct{})
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	deaf, err := s.kernel.Connect(ctx, client.Options{Sockets: target.sockets(), Watch: func(m wire.Message) {
		if m.Header.Type == "execute_input" {
			<-blocked
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer deaf.Close()
	defer close(blocked)
	for range 5 {
		r, ms := s.run(t, s.Large)
		want(t, "status", r.Status, "ok")
		want(t, "displays", len(of(ms, "display_data")), 1)
	}
}
