package eval_test

import (
	"os/exec"
	"strings"
	"testing"
	"time"
)

// TestInterruptEndsCommands: an interrupt ends what the cell has started, with what that has started, and nothing of other cells.
func TestInterruptEndsCommands(t *testing.T) {
	once(t)
	if raceEnabled {
		t.Skip("interrupts are a race by design: see raceEnabled")
	}
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip(err)
	}
	const declarations = `type printer struct{}
func (printer) Write(b []byte) (int, error) { fmt.Print(string(b)); return len(b), nil }
const script = "sleep 600 & echo $!; sleep 600 & echo $!; echo go; wait"
var reached bool
func run() error { cmd := exec.Command("sh", "-c", script); cmd.Stdout = printer{}; return cmd.Run() }
func output() { cmd := exec.Command("sh", "-c", script); cmd.Stderr = printer{}; cmd.Args[2] = "(" + script + ") >&2"; cmd.Output() }
server := exec.Command("sleep", "600")
server.Start()
prepared := exec.Command("sh", "-c", script)
prepared.Stdout = printer{}`
	for _, test := range []struct{ name, code string }{
		{"run", "cmd := exec.Command(\"sh\", \"-c\", script)\ncmd.Stdout = printer{}\ncmd.Run()\nreached = true"},
		{"a function of an earlier cell", "run()\nreached = true"},
		{"output", "output()\nreached = true"},
		{"start and wait", "cmd := exec.Command(\"sh\", \"-c\", script)\ncmd.Stdout = printer{}\ncmd.Start()\ncmd.Wait()\nreached = true"},
		{"of an earlier cell, started now", "prepared.Run()\nreached = true"},
		{"a literal", "sh, _ := exec.LookPath(\"sh\")\ncmd := &exec.Cmd{Path: sh, Args: []string{\"sh\", \"-c\", script}, Stdout: printer{}}\ncmd.Run()\nreached = true"},
		{"with a context", "cmd := exec.CommandContext(context.Background(), \"sh\", \"-c\", script)\ncmd.Stdout = printer{}\ncmd.Run()\nreached = true"},
		{"that is not waited for", "cmd := exec.Command(\"sh\", \"-c\", script)\ncmd.Stdout = printer{}\ncmd.Start()\ntime.Sleep(time.Minute)\nreached = true"},
		{"deaf", "cmd := exec.Command(\"sh\", \"-c\", \"trap '' INT; \" + script)\ncmd.Stdout = printer{}\ncmd.Run()\nreached = true"},
	} {
		t.Run(test.name, func(t *testing.T) {
			n := newNotebook(t)
			n.ok(declarations)
			r, took := n.interrupt(test.code)
			if r.Err == nil || r.Err.Name != "interrupted" || strings.Contains(r.Err.Value, "left behind") {
				t.Errorf("got %v, want interrupted", r.Err)
			}
			if took > 5*time.Second {
				t.Errorf("took %v", took)
			}
			pids := strings.Fields(strings.TrimSuffix(n.stream("stdout"), "go\n"))
			if len(pids) != 2 {
				t.Fatalf("got %q, want two process ids", n.stream("stdout"))
			}
			for _, pid := range pids {
				ended := time.Now().Add(10 * time.Second)
				for runs(pid) {
					if time.Now().After(ended) {
						t.Fatalf("process %s, started by the command, still runs", pid)
					}
					time.Sleep(time.Millisecond) // polls; how long does not matter
				}
			}
			n.ok("fmt.Println(reached, server.Process.Signal(syscall.Signal(0)))", "server.Process.Kill()\n_ = server.Wait()")
			if got := lastLine(n.stream("stdout")); got != "false <nil>" {
				t.Errorf("got %q, want false <nil>: no statement after the command has run, and the earlier cell's one runs on", got)
			}
		})
	}
}

// runs tells whether a process runs. One that has ended may be there until the system's first process asks for its end.
func runs(pid string) bool {
	state, err := exec.Command("ps", "-o", "stat=", "-p", pid).Output()
	return err == nil && !strings.HasPrefix(string(state), "Z")
}

// TestInterruptLeavesOtherCellsCommands: who waits for a command of an earlier cell is stopped, and it runs on.
func TestInterruptLeavesOtherCellsCommands(t *testing.T) {
	once(t)
	if raceEnabled {
		t.Skip("interrupts are a race by design: see raceEnabled")
	}
	n := newNotebook(t)
	n.ok("server := exec.Command(\"sleep\", \"600\")\nserver.Start()")
	if r, _ := n.interrupt("fmt.Println(\"go\")\n_ = server.Wait()"); r.Err == nil || r.Err.Value != "the cell was interrupted" {
		t.Errorf("got %v, want interrupted", r.Err)
	}
	n.ok("fmt.Println(server.Process.Signal(syscall.Signal(0)))", "server.Process.Kill()")
	if got := lastLine(n.stream("stdout")); got != "<nil>" {
		t.Errorf("got %q: the command of the earlier cell was ended", got)
	}
}

// TestCommandsAsInGo: what an interrupt needs of commands shows nowhere else.
func TestCommandsAsInGo(t *testing.T) {
	once(t)
	n := newNotebook(t)
	n.ok(`ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
fmt.Println(exec.CommandContext(ctx, "sleep", "600").Run())
cancel()
fmt.Println(exec.CommandContext(ctx, "true").Run())
out, err := exec.Command("sh", "-c", "echo out; echo err >&2; exit 3").Output()
fmt.Printf("%q %v %q\n", out, err, err.(*exec.ExitError).Stderr)
both, err := exec.Command("sh", "-c", "echo out; echo err >&2").CombinedOutput()
fmt.Printf("%q %v\n", both, err)
odd := exec.Command("true")
odd.Cancel = func() error { return nil }
fmt.Println(odd.Run())
again := exec.Command("true")
fmt.Println(again.Run(), again.Run(), again.Wait())
fmt.Println(exec.Command("sh", "-c", "echo $0 $1", "a", "b"), exec.Command("no such command").Start())`)
	want := `signal: killed
context deadline exceeded
"out\n" exit status 3 "err\n"
"out\nerr\n" <nil>
exec: command with a non-nil Cancel was not created with CommandContext
<nil> exec: already started exec: Wait was already called
/bin/sh -c echo $0 $1 a b exec: "no such command": executable file not found in $PATH
`
	if got := strings.ReplaceAll(n.stream("stdout"), "/usr/bin/sh", "/bin/sh"); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
