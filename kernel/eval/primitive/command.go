package primitive

import (
	"context"
	"fmt"
	"os/exec"
	"reflect"
	"slices"
	"syscall"
	"time"

	"cancha/internal/cellio"
)

// What a cell runs with package os/exec ends with an interrupt of that cell: the commands that it has started, with what these have
// started. Those of other cells live on. No list is kept: package os/exec ends a command when its context does, so a command gets one
// that ends with its cell's run, too.

// commandGrace is how long a command may take to end by itself after an interrupt.
const commandGrace = 300 * time.Millisecond

// CmdStart is the method Start of an exec.Cmd.
func (m *Machine) CmdStart(c any) error {
	cmd := c.(*exec.Cmd)
	over := bindCommand(cmd)
	err := cmd.Start()
	if err != nil {
		over()
	}
	return err
}

// CmdRun is the method Run.
func (m *Machine) CmdRun(c any) error {
	cmd := c.(*exec.Cmd)
	defer bindCommand(cmd)()
	err := cmd.Run()
	m.Check()
	return err
}

// CmdOutput is the method Output.
func (m *Machine) CmdOutput(c any) ([]byte, error) {
	cmd := c.(*exec.Cmd)
	defer bindCommand(cmd)()
	out, err := cmd.Output()
	m.Check()
	return out, err
}

// CmdCombinedOutput is the method CombinedOutput.
func (m *Machine) CmdCombinedOutput(c any) ([]byte, error) {
	cmd := c.(*exec.Cmd)
	defer bindCommand(cmd)()
	out, err := cmd.CombinedOutput()
	m.Check()
	return out, err
}

// CmdWait is the method Wait. An interrupt ends the wait for a command of another cell, which runs on; nobody can wait for that again.
func (m *Machine) CmdWait(c any) (err error) {
	cmd := c.(*exec.Cmd)
	run := cellio.CurrentRun()
	bound := bindingOf(cmd)
	wait := func() {
		err = cmd.Wait()
		if bound != nil {
			bound.over()
		}
	}
	if bound == nil || run == nil || bound.run == run {
		wait()
		m.Check()
		return err
	}
	done := make(chan struct{})
	if interrupted := m.wait(func() { defer close(done); wait() }, done); interrupted != nil {
		panic(interrupted)
	}
	return err
}

// commandContext is the context of a command, which ends with its cell's run. Over releases what that takes, when the command has ended or
// could not be started.
type commandContext struct {
	context.Context
	run  *cellio.Run
	over func()
}

// bindCommand gives a command that is about to start a context that ends with the run of the calling goroutine as well as with its own.
// Over is the context's.
func bindCommand(cmd *exec.Cmd) (over func()) {
	run, field := cellio.CurrentRun(), contextOf(cmd)
	if run == nil || field == nil || cmd.Process != nil || bindingOf(cmd) != nil {
		return func() {}
	}
	own, over := *field, func() {}
	if own == nil {
		if cmd.Cancel == nil { // else Start says what is wrong
			*field = &commandContext{run.Context(), run, over}
			cmd.Cancel = func() error { endTree(cmd.Process.Pid); return nil }
		}
		return over
	}
	both, cancel := context.WithCancel(own)
	stop := context.AfterFunc(run.Context(), cancel)
	over = func() { stop(); cancel() }
	*field = &commandContext{both, run, over}
	if ends := cmd.Cancel; ends != nil {
		cmd.Cancel = func() error {
			if own.Err() != nil {
				return ends()
			}
			endTree(cmd.Process.Pid)
			return nil
		}
	}
	return over
}

// bindingOf is the context that a command has got, nil where it has none of ours.
func bindingOf(cmd *exec.Cmd) *commandContext {
	field := contextOf(cmd)
	if field == nil {
		return nil
	}
	c, _ := (*field).(*commandContext)
	return c
}

// contextOf is a command's context, which package os/exec hides: there is no other way to give one to a command that has none, such
// as an earlier cell has made. Where a later Go has none of that name, it is nil, and an interrupt leaves commands alone.
func contextOf(cmd *exec.Cmd) *context.Context {
	f := reflect.ValueOf(cmd).Elem().FieldByName("ctx")
	if !f.IsValid() || f.Type() != reflect.TypeFor[context.Context]() {
		return nil
	}
	return (*context.Context)(f.Addr().UnsafePointer())
}

// process is a process, by more than its number, which another one may get.
type process struct {
	pid    int
	parent int
	start  string // when it began, as the system tells it
}

// endTree asks a process and all below it to end, as a terminal does, and a moment later kills those that have not.
func endTree(pid int) {
	all := processes()
	asked := tree(slices.DeleteFunc(slices.Clone(all), func(p process) bool { return p.pid != pid }), all)
	for _, p := range asked {
		_ = syscall.Kill(p.pid, syscall.SIGINT) // it may be gone
	}
	time.AfterFunc(commandGrace, func() {
		all := processes()
		for _, p := range tree(remaining(asked, all), all) {
			_ = syscall.Kill(p.pid, syscall.SIGKILL)
		}
	})
}

// remaining are the processes that still exist: not another one that has got the number of one.
func remaining(asked, all []process) []process {
	exists := map[string]bool{}
	for _, p := range all {
		exists[p.identity()] = true
	}
	return slices.DeleteFunc(slices.Clone(asked), func(p process) bool { return !exists[p.identity()] })
}

func (p process) identity() string { return fmt.Sprint(p.pid, " ", p.start) }

// tree is processes with all below them, each once.
func tree(roots, all []process) []process {
	found, seen := slices.Clone(roots), map[int]bool{}
	for _, p := range roots {
		seen[p.pid] = true
	}
	for i := 0; i < len(found); i++ {
		for _, p := range all {
			if p.parent == found[i].pid && !seen[p.pid] {
				seen[p.pid] = true
				found = append(found, p)
			}
		}
	}
	return found
}
