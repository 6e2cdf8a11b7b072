package eval

import (
	"errors"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"cancha/internal/cellio"
	"cancha/kernel/eval/magic"
)

// shellGrace is how long a command may take to end after an interrupt, and how long its output is read after it has ended:
// what it has left in the background may hold that open.
const shellGrace = 300 * time.Millisecond

// shell runs a line with sh, its output going to the cell as it comes. An interrupt ends it with all that it has started. A status
// other than 0 is told and fails nothing, as in other notebooks.
func (s *steps) shell(c *magic.Command) error {
	ctx := cellio.CurrentRun().Context()
	cmd := exec.CommandContext(ctx, "sh", "-c", c.Args)
	cmd.Stdout, cmd.Stderr = cellio.Stdout, cellio.Stderr
	cmd.SysProcAttr = childProcess()
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) } // what sh has in the background ignores SIGINT
	cmd.WaitDelay = shellGrace
	err := s.children.run(cmd)
	if ctx.Err() != nil && cmd.Process != nil {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // most often they are gone
	}
	s.machine.Check() // after an interrupt it does not return
	var exit *exec.ExitError
	switch {
	case err == nil, errors.Is(err, exec.ErrWaitDelay):
	case errors.As(err, &exit):
		_, _ = cellio.Stderr.Write([]byte("!" + c.Args + ": " + exit.Error() + "\n"))
	default:
		return fail(c, "!%s: %v", c.Args, err)
	}
	return nil
}

// children are the process groups of commands that run. The zero value has none.
type children struct {
	mu     sync.Mutex
	groups map[int]bool
	ended  bool
}

var errEnding = errors.New("the engine is ending")

// run runs a command that is the head of its group.
func (c *children) run(cmd *exec.Cmd) error {
	c.mu.Lock()
	err := errEnding
	if !c.ended {
		err = cmd.Start()
	}
	if err != nil {
		c.mu.Unlock()
		return err
	}
	if c.groups == nil {
		c.groups = map[int]bool{}
	}
	group := cmd.Process.Pid
	c.groups[group] = true
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.groups, group)
	}()
	return cmd.Wait()
}

// end kills them all, and lets no other start.
func (c *children) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ended = true
	for group := range c.groups {
		_ = syscall.Kill(-group, syscall.SIGKILL)
	}
}

// Close ends the commands that cells have started and that still run, and the compilations in the background. No cell may run after it.
func (p *Program) Close() {
	p.children.end()
	p.later.close()
	p.native.close()
}
