//go:build !windows

package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"

	"cancha/cmd/internal/own"
	"cancha/internal/cellio"
	"cancha/kernel"
	"cancha/kernel/engine"
	"cancha/kernel/wire"
	"cancha/kernel/zmq"
	"cancha/runtime/session"
)

func runKernel(ctx context.Context, args []string) error {
	flags := newFlags("kernel", " CONNECTION_FILE", "Serves one Jupyter session. Jupyter calls it, by the kernel.json that \"cancha install\" writes.")
	flags.Func("memory", "end an engine that exceeds this `size`, such as 4GiB; default: $"+memoryVariable, setMemory)
	if err := parse(flags, args); err != nil {
		return err
	}
	if flags.NArg() != 1 {
		return usageError{"kernel", errors.New("give one file, the connection file that Jupyter wrote")}
	}
	ctx, cancel := untilParentEnds(ctx)
	defer cancel()
	// A log that nobody reads any more must not end the kernel, nor an interrupt that comes before it serves.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE, os.Interrupt)
	conn, err := wire.ReadConnection(flags.Arg(0))
	if err != nil {
		return err
	}
	program, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find my own program to start engines: %w", err)
	}
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	if openToAll(conn) {
		log.Warn("messages are not signed: "+unsigned, "connection_file", flags.Arg(0), "advice", signIt)
	}
	return serveKernel(ctx, conn, newEngineChoice(program, log), log)
}

// setMemory sets the limit of the engines that this process starts.
func setMemory(size string) error {
	if _, err := session.ParseMemory(size); err != nil {
		return err
	}
	return os.Setenv(memoryVariable, size)
}

// serveKernel wires engine, kernel and channels, and serves until a client shuts the kernel down or ctx ends.
func serveKernel(ctx context.Context, conn wire.Connection, choice *engineChoice, log *slog.Logger) error {
	var k *kernel.Kernel
	made := make(chan struct{}) // closed when k is set
	e := engine.New(engine.Config{
		Prepare: func(ctx context.Context, say func(line string)) { // an engine speaks as soon as it is started, to the kernel
			select {
			case <-made:
				choice.prepare(ctx, say)
			case <-ctx.Done(): // there will be no kernel, nor an engine
			}
		},
		Command: choice.command,
		Check:   wrongSettings,
		Failed:  choice.failed,
		Replace: choice.replace,
		Sink:    func(f cellio.Frame) { k.Output(f) },
		Ended:   func() { k.EngineEnded() },
		Gate:    gate{&k},
		Logger:  log,
	})
	defer end(e, choice, log)
	var err error
	k, err = kernel.New(kernel.Config{Connection: conn, Engine: e, Version: own.Version, History: historyFolder(), Overflow: overflowFolder(), Logger: log})
	if err != nil {
		return err
	}
	close(made)
	channels, err := zmq.Listen(zmq.Config{Connection: conn, Welcome: k.Welcome, Signed: k.Signed, Logger: log})
	if err != nil {
		return err
	}
	defer channels.Close()
	defer interruptOnSignal(k)()
	defer figuresOnSignal(log)()
	return k.Run(ctx, kernel.Channels{
		Shell: channels.Shell, Control: channels.Control, Stdin: channels.Stdin, IOPub: channels.IOPub,
	})
}

// endLimit is how long the engine has to end where the kernel has not ended it: a little more than an engine is given to leave in
// order before it is killed.
const endLimit = 700 * time.Millisecond

// end ends the engine and lets go of its workspace. One that does not end is left behind, as the kernel leaves it that shuts down:
// nothing is to hold up the end of this process.
func end(e *engine.Engine, choice *engineChoice, log *slog.Logger) {
	ended := make(chan error, 1)
	go func() {
		err := e.Close()
		choice.close()
		ended <- err
	}()
	select {
	case err := <-ended:
		if err != nil {
			log.Error("close the engine", "error", err)
		}
	case <-time.After(endLimit):
		log.Error("the engine does not end", "limit", endLimit)
	}
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
