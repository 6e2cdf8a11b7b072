//go:build !windows

package main

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"testing"
	"time"

	"cancha/kernel/wire"
	"cancha/kernel/workspace"
)

// testChoice returns a choice that takes what ensure does, and then a program that is no engine.
func testChoice(t *testing.T, ensure func()) *engineChoice {
	t.Helper()
	t.Setenv(engineVariable, "")
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	return &engineChoice{program: "/bin/true", log: slog.New(slog.DiscardHandler), ensure: func(context.Context, func(string)) (*workspace.Workspace, error) {
		ensure()
		return nil, errors.New("no workspace")
	}}
}

// served returns what serveKernel does, if that is within limit.
func served(t *testing.T, ctx context.Context, conn wire.Connection, choice *engineChoice, limit time.Duration) error {
	t.Helper()
	ended := make(chan error, 1)
	go func() { ended <- serveKernel(ctx, conn, choice, choice.log) }()
	select {
	case err := <-ended:
		return err
	case <-time.After(limit):
		t.Fatal("it does not end")
		return nil
	}
}

// TestKernelEndsBesideAPreparationThatDoesNot: who ends a kernel waits no longer than the kernel itself does.
func TestKernelEndsBesideAPreparationThatDoesNot(t *testing.T) {
	begun, release := make(chan struct{}), make(chan struct{})
	defer close(release)
	choice := testChoice(t, func() { close(begun); <-release })
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() { <-begun; cancel() }()
	conn := wire.Connection{Transport: "ipc", IP: filepath.Join(t.TempDir(), "s"), ShellPort: 1, IOPubPort: 2, StdinPort: 3, ControlPort: 4, HBPort: 5}
	if err := served(t, ctx, conn, choice, 8*time.Second); err != nil {
		t.Error(err)
	}
}

// TestKernelThatCannotBeMade: the engine, which may run by then, does not wait for a kernel that there will not be.
func TestKernelThatCannotBeMade(t *testing.T) {
	choice := testChoice(t, func() {})
	for range 2000 { // how far the engine would be is a matter of chance; this takes a second in all
		if err := served(t, t.Context(), wire.Connection{Scheme: "none"}, choice, endLimit/2); err == nil {
			t.Fatal("a kernel with a signature that is none")
		}
	}
}
