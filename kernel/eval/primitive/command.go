package primitive

import (
	"context"
	"fmt"
	"os/exec"
	"reflect"
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
	bindCommand(cmd)
	return cmd.Start()
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
	if owner, known := commandRun(cmd); !known || run == nil || owner == run {
		err = cmd.Wait()
		m.Check()
		return err
	}
	over := make(chan struct{})
	if interrupted := m.wait(func() { defer close(over); err = cmd.Wait() }, over); interrupted != nil {
		panic(interrupted)
	}
	return err
}

// commandContext is the context of a command, which ends with its cell's run.
type commandContext struct {
	context.Context
	run *cellio.Run
}

// bindCommand gives a command that is about to start a context that ends with the run of the calling goroutine as well as with its own.
// Over releases what that takes.
func bindCommand(cmd *exec.Cmd) (over func()) {
	run, field := cellio.CurrentRun(), contextOf(cmd)
	if run == nil || !field.IsValid() || cmd.Process != nil {
		return func() {}
	}
	own, _ := field.Interface().(context.Context)
	if own == nil {
		if cmd.Cancel == nil { // else Start says what is wrong
			field.Set(reflect.ValueOf(&commandContext{run.Context(), run}))
			cmd.Cancel = func() error { endTree(cmd.Process.Pid); return nil }
		}
		return func() {}
	}
	if _, bound := own.(*commandContext); bound {
		return func() {}
	}
	both, cancel := context.WithCancel(own)
	stop := context.AfterFunc(run.Context(), cancel)
	field.Set(reflect.ValueOf(&commandContext{both, run}))
	if ends := cmd.Cancel; ends != nil {
		cmd.Cancel = func() error {
			if own.Err() != nil {
				return ends()
			}
			endTree(cmd.Process.Pid)
			return nil
		}
	}
	return func() { stop(); cancel() }
}

// commandRun is the run that has started a command; known is false where its context is not ours.
func commandRun(cmd *exec.Cmd) (run *cellio.Run, known bool) {
	field := contextOf(cmd)
	if !field.IsValid() {
		return nil, false
	}
	c, ok := field.Interface().(*commandContext)
	if !ok {
		return nil, false
	}
	return c.run, true
}

// contextOf is a command's context, which package os/exec hides: there is no other way to give one to a command that has none, such
// as an earlier cell has made. Where a later Go has none of that name, an interrupt leaves commands alone.
func contextOf(cmd *exec.Cmd) reflect.Value {
	f := reflect.ValueOf(cmd).Elem().FieldByName("ctx")
	if !f.IsValid() || f.Type() != reflect.TypeFor[context.Context]() {
		return reflect.Value{}
	}
	return reflect.NewAt(f.Type(), f.Addr().UnsafePointer()).Elem()
}

// process is a process, by more than its number, which another one may get.
type process struct {
	pid    int
	parent int
	start  string // "" where that is not known
}

// endTree asks a process and all below it to end, as a terminal does, and a moment later kills those that have not.
func endTree(pid int) {
	asked := tree(pid, processes())
	for _, p := range asked {
		_ = syscall.Kill(p.pid, syscall.SIGINT) // it may be gone
	}
	time.AfterFunc(commandGrace, func() {
		all := processes()
		alive := map[string]bool{}
		for _, p := range all {
			alive[p.identity()] = true
		}
		for _, p := range append(asked, tree(pid, all)...) {
			if alive[p.identity()] {
				_ = syscall.Kill(p.pid, syscall.SIGKILL)
			}
		}
	})
}

func (p process) identity() string { return fmt.Sprint(p.pid, " ", p.start) }

// tree is a process with all below it. It is empty where there is no such process.
func tree(pid int, all []process) (found []process) {
	for _, p := range all {
		if p.pid == pid {
			found = append(found, p)
		}
	}
	for i := 0; i < len(found); i++ {
		for _, p := range all {
			if p.parent == found[i].pid {
				found = append(found, p)
			}
		}
	}
	return found
}
