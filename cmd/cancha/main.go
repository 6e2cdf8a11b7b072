//go:build !windows

// Command cancha is a Jupyter kernel for Go and the tools around it. This package is wiring only: it alone sees both wings
// of the house, builds what each process needs and hands it over.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"syscall"
)

// command is one word after "cancha". run gets the arguments after that word.
type command struct {
	name     string
	synopsis string
	run      func(ctx context.Context, args []string) error
}

// keepsInterrupt reports whether SIGINT is not a command's end but means, or may mean, the running cell's.
func keepsInterrupt(name string) bool { return name == "kernel" || name == "engine" || name == "run" }

// commands lists what cancha can do, in the order of its help.
func commands() []command {
	return []command{
		{"run", "run notebooks without a browser", runRun},
		{"query", "run the queries of a notebook or a file as a process", runQuery},
		{"broker", "serve Kafka clients without a Kafka cluster", runBroker},
		{"producer", "play matches into a topic", runProducer},
		{"scheduler", "see jobs to their end, on this machine or through RabbitMQ", runScheduler},
		{"worker", "run jobs on the CPU or a GPU", runWorker},
		{"job", "submit, list, show, cancel or replay jobs, list workers", runJob},
		{"monitor", "follow how jobs end, and write their results into a file", runMonitor},
		{"report", "make tables and figures of a file of results", runReport},
		{"mod", "write the library beside a Go module, for programs of one's own", runMod},
		{"data", "fetch, simulate or list matches", runData},
		{"install", "put the kernel where Jupyter looks for kernels", runInstall},
		{"uninstall", "remove it again", runUninstall},
		{"doctor", "check what notebooks need, and say what to do", runDoctor},
		{"kernel", "serve a connection file (Jupyter calls this)", runKernel},
		{"engine", "run cells (the kernel calls this)", runEngine},
		{"attempt", "run one attempt at a job (a worker calls this)", runAttempt},
		{"lastwill", "release what a killed engine has left on servers (the engine calls this)", runLastWill},
		{"version", "print the version", runVersion},
	}
}

func main() { os.Exit(Main(os.Args[1:])) }

// Main runs one command and returns the process's exit code: 0 done, 1 failed, 2 wrong usage.
func Main(args []string) int {
	if len(args) == 0 {
		usage(os.Stderr)
		return 2
	}
	switch args[0] {
	case "help", "-h", "-help", "--help":
		usage(os.Stdout)
		return 0
	case "-version", "--version":
		args[0] = "version"
	}
	for _, c := range commands() {
		if c.name == args[0] {
			return exit(c, args[1:])
		}
	}
	fmt.Fprintf(os.Stderr, "cancha: no command %q; \"cancha help\" lists them\n", args[0])
	return 2
}

func exit(c command, args []string) int {
	ends := []os.Signal{syscall.SIGTERM}
	if !keepsInterrupt(c.name) {
		ends = append(ends, os.Interrupt)
	}
	ctx, stop := signal.NotifyContext(context.Background(), ends...)
	defer stop()
	if c.name == "query" {
		var listen context.CancelFunc
		ctx, listen = untilHangup(ctx)
		defer listen()
	}
	context.AfterFunc(ctx, stop) // a second ^C ends what does not end in order
	err := unlessZero(c.run(ctx, args))
	if code, ok := exitStatus(err); ok && code != 0 {
		fmt.Fprintf(os.Stderr, "cancha %s: %v\n", c.name, err)
		return code
	}
	switch {
	case err == nil, errors.Is(err, flag.ErrHelp):
		return 0
	case errors.As(err, new(usageError)):
		fmt.Fprintf(os.Stderr, "cancha %s: %v\n", c.name, err)
		return 2
	default:
		fmt.Fprintf(os.Stderr, "cancha %s: %v\n", c.name, err)
		return 1
	}
}

// exitError is the failure of a command whose cells have called os.Exit.
type exitError interface{ ExitStatus() (code int, ok bool) }

// exitStatus is the status with which a cell, or a function of a query, has called os.Exit; ok is false where none has.
func exitStatus(err error) (code int, ok bool) {
	var exit exitError
	if !errors.As(err, &exit) {
		return 0, false
	}
	return exit.ExitStatus()
}

// unlessZero is an error, or nil where it tells of nothing but calls of os.Exit(0), which end what runs and are no failure of it.
func unlessZero(err error) error {
	if exitedZero(err) {
		return nil
	}
	return err
}

func exitedZero(err error) bool {
	if joined, ok := err.(interface{ Unwrap() []error }); ok { // a query may have failed beside the cell that has exited
		return !slices.ContainsFunc(joined.Unwrap(), func(e error) bool { return !exitedZero(e) })
	}
	code, ok := exitStatus(err)
	return ok && code == 0
}

// untilHangup returns a context that ends when the terminal is closed too. Only the first hangup counts: of a closed terminal come two, from the
// system and from the shell. With nohup none does.
func untilHangup(ctx context.Context) (context.Context, context.CancelFunc) {
	if signal.Ignored(syscall.SIGHUP) {
		return ctx, func() {}
	}
	return signal.NotifyContext(ctx, syscall.SIGHUP)
}

func usage(out io.Writer) {
	fmt.Fprint(out, "Cancha: a Jupyter kernel for Go.\n\nusage: cancha COMMAND [arguments]\n\n")
	for _, c := range commands() {
		fmt.Fprintf(out, "  %-10s %s\n", c.name, c.synopsis)
	}
	fmt.Fprint(out, "\n\"cancha COMMAND -h\" lists what a command takes.\n")
}
