package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"

	"cancha/internal/cellio"
	"cancha/kernel"
	"cancha/kernel/engine"
	"cancha/kernel/wire"
	"cancha/kernel/zmq"
)

func runKernel(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("kernel", flag.ContinueOnError)
	flags.Usage = func() { fmt.Fprintln(flags.Output(), "usage: cancha kernel CONNECTION_FILE") }
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() != 1 {
		return errors.New("give the connection file that Jupyter wrote")
	}
	conn, err := wire.ReadConnection(flags.Arg(0))
	if err != nil {
		return err
	}
	return serveKernel(ctx, conn, slog.New(slog.NewTextHandler(os.Stderr, nil)))
}

// serveKernel wires engine, kernel and channels, and serves until a client shuts the kernel down or ctx ends.
func serveKernel(ctx context.Context, conn wire.Connection, log *slog.Logger) error {
	program, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find my own program to start engines: %w", err)
	}
	var k *kernel.Kernel
	made := make(chan struct{}) // closed when k is set: an engine may speak before
	e := engine.New(engine.Config{
		Command: func() *exec.Cmd { return exec.Command(program, "engine") },
		Sink:    func(f cellio.Frame) { <-made; k.Output(f) },
		Logger:  log,
	})
	defer e.Close()
	k, err = kernel.New(kernel.Config{Connection: conn, Engine: e, Version: version, Logger: log})
	if err != nil {
		return err
	}
	close(made)
	channels, err := zmq.Listen(zmq.Config{Connection: conn, Welcome: k.Welcome, Logger: log})
	if err != nil {
		return err
	}
	defer channels.Close()
	defer interruptOnSignal(k)()
	return k.Run(ctx, kernel.Channels{
		Shell: channels.Shell, Control: channels.Control, Stdin: channels.Stdin, IOPub: channels.IOPub,
	})
}

// interruptOnSignal interrupts the running cell at SIGINT until stop is called.
func interruptOnSignal(k *kernel.Kernel) (stop func()) {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for range signals {
			k.Interrupt()
		}
	}()
	return func() {
		signal.Stop(signals)
		close(signals)
		<-done
	}
}
