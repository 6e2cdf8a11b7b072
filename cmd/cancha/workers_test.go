//go:build !windows

package main

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// A worker whose slots all have jobs that do not end starts itself anew, in its own process, and goes on. Here the grace is so short that no job ends within it.
func TestWorkerStartsAnew(t *testing.T) {
	dir := t.TempDir()
	t.Setenv(jobsVariable, filepath.Join(dir, "jobs"))
	scheduler := serving(t, dir, "scheduler of", "scheduler", "-http", "off")
	worker := serving(t, dir, "on the cpu", "worker", "-id", "first", "-grace", "1ns")
	large := []string{"-p", "input_size=784", "-p", "hidden_size=256", "-p", "output_size=10", "-p", "batch_size=4096", "-p", "epochs=100000"}
	code, _, stderr := outcome(t, dir, append([]string{"job", "submit", "-wait", "-attempts", "1", "-timeout", "200ms", "-type", "neural_network"}, large...)...)
	if code != 1 || !strings.Contains(stderr, "longer than its timeout, 200ms") {
		t.Errorf("%d: %s", code, stderr)
	}
	until(t, worker.out, "it starts anew")
	until(t, worker.out, "worker first on the cpu")
	if code, stdout, stderr := outcome(t, dir, "job", "submit", "-wait", "-type", "vector_addition", "-p", "size=100"); code != 0 {
		t.Errorf("%d: %s%s", code, stdout, stderr)
	}
	if _, stdout, stderr := outcome(t, dir, "job", "workers"); !strings.Contains(stdout, "first   cpu  ready  1      0") {
		t.Errorf("got %s%s", stdout, stderr)
	}
	finished(t, worker, syscall.SIGTERM)
	finished(t, scheduler, syscall.SIGTERM)
}
