package eval

import (
	"errors"
	"os/exec"
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
	if c.Args == "" {
		return fail(c, "! needs a command, such as !ls")
	}
	cmd := exec.CommandContext(ctx, "sh", "-c", c.Args)
	cmd.Stdout, cmd.Stderr = cellio.Stdout, cellio.Stderr
	cmd.SysProcAttr = childProcess()
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGINT) }
	cmd.WaitDelay = shellGrace
	err := cmd.Run()
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
