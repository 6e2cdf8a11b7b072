package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"
)

// process is one of a trial. Whoever begins it waits for its end.
type process struct {
	*exec.Cmd
	said  *strings.Builder // on standard error; to be read when it has ended
	ended chan struct{}
	err   error // once it has ended
}

// command is the command that does what a role says.
func (r role) command(program string) (*exec.Cmd, error) {
	text, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	c := exec.Command(program)
	c.Env = append(os.Environ(), roleVariable+"="+string(text))
	return c, nil
}

// begin starts a process.
func begin(c *exec.Cmd) (*process, error) {
	p := &process{Cmd: c, said: &strings.Builder{}, ended: make(chan struct{})}
	c.Stderr = p.said
	if err := c.Start(); err != nil {
		return nil, err
	}
	go func() { // ends with the process
		p.err = c.Wait()
		close(p.ended)
	}()
	return p, nil
}

// wait waits for the end of a process, and returns what it said if that was no good one.
func (p *process) wait() error {
	<-p.ended
	if p.err != nil {
		return fmt.Errorf("%w: %s", p.err, p.said)
	}
	return nil
}

// lives waits for a while, or until the process has ended, and tells whether it has not.
func (p *process) lives(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-p.ended:
		return false
	case <-timer.C:
		return true
	}
}

// kill kills a process with -9 and waits until it is gone.
func (p *process) kill() {
	_ = p.Process.Kill() // it may have ended by now
	<-p.ended
}
