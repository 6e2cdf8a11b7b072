//go:build !windows

package main

import (
	"context"
	"os"
	"os/exec"
	"os/signal"
	"syscall"

	"cancha/internal/lastwill"
)

// leaveWills has this program carry out what the library leaves to be done when this process has ended.
func leaveWills() error {
	program, err := os.Executable()
	if err != nil {
		return err
	}
	lastwill.Process().By(func() *exec.Cmd { return exec.Command(program, "lastwill") })
	return nil
}

// runLastWill carries out the wills of the engine that has started it. Signals do not end it: the end of its input does.
func runLastWill(_ context.Context, args []string) error {
	flags := newFlags("lastwill", "", "Releases what an engine that has ended left on servers. The engine starts it: nothing to call by hand.")
	if err := parseAll(flags, args); err != nil {
		return err
	}
	signal.Ignore(os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	return lastwill.Execute(context.Background(), os.Stdin)
}
