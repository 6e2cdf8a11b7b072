// Command cancha is a Jupyter kernel for Go and the tools around it. This package is wiring only: it alone sees both wings
// of the house, builds what each process needs and hands it over.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

// command is one word after "cancha". run gets the arguments after that word.
type command struct {
	name     string
	synopsis string
	run      func(ctx context.Context, args []string) error
}

// keepsInterrupt reports whether SIGINT is not a command's end: a terminal sends it to a kernel too, where it means interrupt.
func keepsInterrupt(name string) bool { return name == "kernel" || name == "engine" }

// commands lists what cancha can do, in the order of its help.
func commands() []command {
	return []command{
		{"run", "run notebooks without a browser", runRun},
		{"broker", "serve Kafka clients, without a Kafka", runBroker},
		{"producer", "play matches into a topic", runProducer},
		{"data", "fetch, simulate or list matches", runData},
		{"install", "put the kernel where Jupyter looks for kernels", runInstall},
		{"uninstall", "take it away again", runUninstall},
		{"doctor", "check what notebooks need, and say what to do", runDoctor},
		{"kernel", "serve a connection file (Jupyter calls this)", runKernel},
		{"engine", "run cells (the kernel calls this)", runEngine},
		{"version", "print the version", runVersion},
	}
}

func main() { os.Exit(Main(os.Args[1:])) }

// Main runs one command and returns the process's exit code: 0 done, 1 failed, 2 wrong usage.
func Main(args []string) int {
	if len(args) == 0 || args[0] == "help" || args[0] == "-h" || args[0] == "--help" {
		usage()
		return 2
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
	switch err := c.run(ctx, args); {
	case err == nil:
		return 0
	case errors.Is(err, flag.ErrHelp):
		return 2
	default:
		fmt.Fprintf(os.Stderr, "cancha %s: %v\n", c.name, err)
		return 1
	}
}

func usage() {
	fmt.Fprint(os.Stderr, "Cancha: a Jupyter kernel for Go.\n\nusage: cancha COMMAND [arguments]\n\n")
	for _, c := range commands() {
		fmt.Fprintf(os.Stderr, "  %-10s %s\n", c.name, c.synopsis)
	}
	fmt.Fprint(os.Stderr, "\n\"cancha COMMAND -h\" tells what a command takes.\n")
}
