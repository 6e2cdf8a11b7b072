package kerneltest

import (
	"net"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"cancha/kernel/client"
)

// leaveLimit is how long a kernel may take to notice that its parent is gone, and to leave.
const leaveLimit = 5 * time.Second

// engineOf is the process that runs cells, 0 where the target does not tell it.
func (s *subject) engineOf(t *testing.T) (pid int) {
	t.Helper()
	if s.PID == "" {
		return 0
	}
	_, ms := s.run(t, s.PID)
	pid, err := strconv.Atoi(strings.TrimSpace(printed(ms, "stdout")))
	if err != nil {
		t.Fatal(err)
	}
	return pid
}

// busy has a cell run that does not end, where there is a sample of one.
func (s *subject) busy(t *testing.T) {
	t.Helper()
	if s.Endless == "" {
		return
	}
	r := s.dial(t, s.kernel.Connection().ShellPort, "")
	frames, id := r.message(t, "execute_request", map[string]any{"code": s.Endless})
	r.send(t, frames)
	s.until(t, id, "stream")
}

// vanishes waits until nobody listens on the kernel's port any more and the process that ran cells is gone.
func (s *subject) vanishes(t *testing.T, engine int) {
	t.Helper()
	c := s.kernel.Connection()
	network, address := c.Address(c.ShellPort)
	for deadline := time.Now().Add(leaveLimit); ; time.Sleep(5 * time.Millisecond) { // polls: they are no children of this process
		conn, err := net.Dial(network, address)
		if err == nil {
			_ = conn.Close()
		}
		if err != nil && (engine == 0 || syscall.Kill(engine, 0) != nil) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("after %v the kernel listens: %v; the process that ran cells is there: %v", leaveLimit, err == nil, engine != 0 && syscall.Kill(engine, 0) == nil)
		}
	}
}

// orphaned kills the process that has started the kernel, while a cell runs.
func orphaned(t *testing.T, target Target) {
	need(t, target.Samples.PID)
	c := target.Config
	c.Argv = append([]string{"/bin/sh", "-c", `JPY_PARENT_PID=$$ "$0" "$@" & wait`}, c.Argv...)
	killedWhileBusy(t, target, c)
}

// kernelKilled kills the kernel while a cell runs: what runs cells ends with it.
func kernelKilled(t *testing.T, target Target) {
	killedWhileBusy(t, target, target.Config)
}

// killedWhileBusy kills what c has started while a cell runs, and waits until nothing is left.
func killedWhileBusy(t *testing.T, target Target, c client.Config) {
	t.Helper()
	k, err := client.Start(quiet(t, c))
	if err != nil {
		t.Fatal(err)
	}
	defer k.Kill()
	s := connect(t, target, k)
	engine := s.engineOf(t)
	s.busy(t)
	if err := k.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	s.vanishes(t, engine)
}

// shutdownWhileAsking: a user who does not answer holds up no shutdown.
func shutdownWhileAsking(t *testing.T, target Target) {
	need(t, target.Samples.Questions.Line)
	k, err := client.Start(quiet(t, target.Config))
	if err != nil {
		t.Fatal(err)
	}
	defer k.Kill()
	s := connect(t, target, k)
	engine := s.engineOf(t)
	p := s.party(t, "asker")
	p.execute(t, s.Questions.Line, true)
	want(t, "the question", p.stdin.reply(t).Header.Type, "input_request")
	began := time.Now()
	got := s.ask(t, client.Control, "shutdown_request", map[string]any{"restart": false})
	want(t, "reply", []any{got["status"], got["restart"]}, []any{"ok", false})
	ends(t, k)
	if took := time.Since(began); took > 2*time.Second {
		t.Errorf("it took %v", took)
	}
	if engine != 0 && syscall.Kill(engine, 0) == nil {
		t.Error("the process that ran cells is left")
	}
}
