// Command conformance measures how a kernel's Go compares with compiled Go. It runs Go's own test programs as cells, each in
// two shapes, beside the same programs compiled ("make conformance-go"), or an archive of cells with the output that is
// expected of them ("make conformance"), and prints a table. It speaks to the kernel as any client does, and ends at that:
// what a cell means is the evaluator's business, and the protocol itself is kerneltest's.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"time"
)

// options is what the command is asked for.
type options struct {
	kernel  string
	modes   []string
	cells   []string
	tree    string
	out     string
	run     *regexp.Regexp
	n       int
	mutants int
	seed    uint64
	workers int
	limit   time.Duration
	memory  int
	fresh   bool
}

func main() {
	o, err := parse(os.Args[1:])
	if err != nil {
		if !errors.Is(err, flag.ErrHelp) {
			fmt.Fprintln(os.Stderr, "conformance:", err)
		}
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := measure(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, "conformance:", err)
		stop()
		os.Exit(1)
	}
}

func parse(args []string) (options, error) {
	var o options
	var modes, run, cells string
	flags := flag.NewFlagSet("conformance", flag.ContinueOnError)
	flags.StringVar(&o.kernel, "kernel", "bin/cancha", "the program whose command \"kernel\" serves")
	flags.StringVar(&modes, "mode", "auto,interp", "engines to ask for, separated by commas: auto, interp, native")
	flags.StringVar(&cells, "cells", "", "run these archives of cells, separated by commas, instead of Go's test programs")
	flags.StringVar(&o.tree, "tree", "", "Go's test programs (default: the folder test of GOROOT)")
	flags.StringVar(&o.out, "out", "out/conformance-go", "where reports and what compiled programs print are kept")
	flags.StringVar(&run, "run", "", "only programs or cells whose name this regular expression matches")
	flags.IntVar(&o.n, "n", 0, "only so many programs, chosen by -seed; 0 means all")
	flags.IntVar(&o.mutants, "mutants", 100, "programs of which a copy with one check inverted runs too")
	flags.Uint64Var(&o.seed, "seed", 1, "chooses programs and mutants")
	flags.IntVar(&o.workers, "p", runtime.NumCPU(), "kernels at work side by side")
	flags.DurationVar(&o.limit, "limit", 0, "time for one program (default: 60s interpreted, 30s otherwise)")
	flags.IntVar(&o.memory, "memory", 12, "address space of a kernel and its engine in GB")
	flags.BoolVar(&o.fresh, "fresh", false, "build and run compiled programs anew, whatever is known of them")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	if flags.NArg() > 0 {
		return o, fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	var err error
	if o.run, err = regexp.Compile(run); err != nil {
		return o, fmt.Errorf("-run: %w", err)
	}
	if o.kernel, err = filepath.Abs(o.kernel); err != nil {
		return o, fmt.Errorf("-kernel: %w", err)
	}
	if _, err := os.Stat(o.kernel); err != nil {
		return o, fmt.Errorf("-kernel: %w (\"make build\" makes it)", err)
	}
	if cells != "" {
		o.cells = strings.Split(cells, ",")
	}
	o.modes = strings.Split(modes, ",")
	for _, mode := range o.modes {
		if mode != "auto" && mode != "interp" && mode != "native" {
			return o, fmt.Errorf("-mode: there is no engine %q", mode)
		}
	}
	o.workers = max(o.workers, 1)
	return o, nil
}

// measure runs what is asked for and returns an error if the kernel's Go is not as it should be.
func measure(ctx context.Context, o options) error {
	for _, mode := range o.modes {
		n := notebook{kernel: o.kernel, memory: o.memory, mode: mode, limit: o.limitFor(mode)}
		engine, err := n.describe(ctx)
		if err != nil {
			return err
		}
		fmt.Printf("-mode %s: %s\n", mode, engine)
	}
	if o.cells == nil {
		return measurePrograms(ctx, o)
	}
	var errs []error
	for _, file := range o.cells {
		errs = append(errs, measureCells(ctx, o, file))
	}
	return errors.Join(errs...)
}

// limitFor is the time that one program may take.
func (o options) limitFor(mode string) time.Duration {
	switch {
	case o.limit > 0:
		return o.limit
	case mode == "interp":
		return 60 * time.Second
	}
	return 30 * time.Second
}
