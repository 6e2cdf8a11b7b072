// Command bootstrap makes the program on a machine that has nothing of it yet: it builds the workspace's engine, which is the program,
// and puts it where it is asked to. So its packages are compiled once, and "cancha install" finds the engine built. It ends there:
// where no engine that compiles cells can be built, "go build" makes a program that interprets them (scripts/build.sh).
//
//	bootstrap FILE
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	_ "plugin" // without which the linker does not link what scripts/build.sh compiles this with, and shares with the engine
	"syscall"
	"time"

	"cancha/cmd/internal/own"
	"cancha/kernel/workspace"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: bootstrap FILE")
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "bootstrap:", err)
		os.Exit(1)
	}
}

// run builds the engine, unless there is one of these very sources, and copies it.
func run(ctx context.Context, file string) error {
	w, err := workspace.New(own.Workspace()).Ensure(ctx, nil, newLines(os.Stderr).say)
	if err != nil {
		return err
	}
	defer w.Close()
	return put(w.Engine(), file)
}

// put makes file a copy of from, whole or not at all; a program that runs as file goes on with what it is.
func put(from, file string) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.CreateTemp(filepath.Dir(file), filepath.Base(file)+".new*") // a name of its own: two builds may run at once
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	if err := errors.Join(err, out.Chmod(0o755), out.Close()); err != nil {
		_ = os.Remove(out.Name()) // the disk may be full
		return err
	}
	return os.Rename(out.Name(), file)
}

// every is how often progress is a new line.
const every = 5 * time.Second

// lines prints progress, now and then.
type lines struct {
	out  io.Writer
	last time.Time
}

func newLines(out io.Writer) *lines { return &lines{out: out} }

// say takes a line of progress; one goroutine at a time calls it.
func (l *lines) say(text string) {
	if time.Since(l.last) >= every {
		l.last = time.Now()
		fmt.Fprintln(l.out, text)
	}
}
