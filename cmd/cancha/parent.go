//go:build !windows

package main

import (
	"context"
	"errors"
	"os"
	"strconv"
	"syscall"
	"time"
)

// parentVariable is where a client that starts kernels puts its process id, if they are to end with it.
const parentVariable = "JPY_PARENT_PID"

// parentInterval is how often the parent is looked for: nobody tells a process that another one has ended.
const parentInterval = time.Second

// untilParentEnds returns a context that ends with the process that parentVariable names: a client that was killed cannot shut its
// kernel down. That is the parent itself, or one further up where the kernel was started through another command; a number that
// names no process, such as one of another container, is nobody's wish.
func untilParentEnds(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	parent, err := strconv.Atoi(os.Getenv(parentVariable))
	if err != nil || parent <= 1 {
		return ctx, cancel
	}
	lives := func() bool { return processExists(parent) }
	if os.Getppid() == parent {
		lives = func() bool { return os.Getppid() == parent } // also where the number has been given to another process
	}
	if !lives() {
		return ctx, cancel
	}
	go func() {
		tick := time.NewTicker(parentInterval)
		defer tick.Stop()
		for lives() {
			select {
			case <-tick.C:
			case <-ctx.Done():
				return
			}
		}
		cancel()
	}()
	return ctx, cancel
}

// processExists tells whether there is a process by a number, one that may not be signalled included.
func processExists(pid int) bool { return !errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) }
