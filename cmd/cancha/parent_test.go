//go:build !windows

package main

import (
	"os"
	"os/exec"
	"strconv"
	"testing"
	"time"
)

// TestUntilParentEnds watches processes that are no parent of this one; the parent itself is for the kernel's suite.
func TestUntilParentEnds(t *testing.T) {
	sleeper := exec.Command("sleep", "60")
	if err := sleeper.Start(); err != nil {
		t.Fatal(err)
	}
	t.Setenv(parentVariable, strconv.Itoa(sleeper.Process.Pid))
	ctx, cancel := untilParentEnds(t.Context())
	defer cancel()
	if ctx.Err() != nil {
		t.Fatal("the context ended while the process lives")
	}
	_ = sleeper.Process.Kill()
	_ = sleeper.Wait()
	select {
	case <-ctx.Done():
	case <-time.After(10 * parentInterval):
		t.Error("the context does not end with the process")
	}
	for name, value := range map[string]string{
		"a process that is gone": strconv.Itoa(sleeper.Process.Pid), "none": "", "no number": "x", "the first process": "1", "a group": "-5",
		"this process": strconv.Itoa(os.Getpid()),
	} {
		t.Setenv(parentVariable, value)
		ctx, cancel := untilParentEnds(t.Context())
		select {
		case <-ctx.Done():
			t.Errorf("%s: the context ended", name)
		case <-time.After(10 * time.Millisecond):
		}
		cancel()
	}
}
