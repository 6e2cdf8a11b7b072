//go:build !windows

package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
)

// usageError is a command line that cannot be followed: exit code 2.
type usageError struct {
	command string // whose -h helps
	cause   error
}

func (e usageError) Error() string {
	return fmt.Sprintf("%v\n\"cancha %s -h\" tells what it takes", e.cause, e.command)
}

func (e usageError) Unwrap() error { return e.cause }

// newFlags returns a command without flags yet. operands is what its usage line shows after the flags, about what it does.
func newFlags(command, operands, about string) *flag.FlagSet {
	flags := flag.NewFlagSet(command, flag.ContinueOnError)
	flags.Usage = func() {
		fmt.Fprintf(flags.Output(), "usage: cancha %s", command)
		has := false
		flags.VisitAll(func(*flag.Flag) { has = true })
		if has {
			fmt.Fprint(flags.Output(), " [flags]")
		}
		fmt.Fprintf(flags.Output(), "%s\n\n%s\n", operands, about)
		if has {
			fmt.Fprintln(flags.Output())
			flags.PrintDefaults()
		}
	}
	return flags
}

// parse reads the flags before the first argument that is none. -h prints the usage and returns flag.ErrHelp.
func parse(flags *flag.FlagSet, args []string) error {
	flags.SetOutput(io.Discard) // at a slip one line is read, a page of usage is not
	err := flags.Parse(args)
	flags.SetOutput(os.Stdout)
	switch {
	case errors.Is(err, flag.ErrHelp):
		flags.Usage()
		return err
	case err != nil:
		return usageError{flags.Name(), err}
	}
	return nil
}

// parseMixed reads flags and operands in any order, as people write them.
func parseMixed(flags *flag.FlagSet, args []string) (operands []string, err error) {
	for {
		if err := parse(flags, args); err != nil {
			return nil, err
		}
		if flags.NArg() == 0 {
			return operands, nil
		}
		operands = append(operands, flags.Arg(0))
		args = flags.Args()[1:]
	}
}

// parseAll reads flags and refuses what is none.
func parseAll(flags *flag.FlagSet, args []string) error {
	if err := parse(flags, args); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return usageError{flags.Name(), fmt.Errorf("unexpected argument %q", flags.Arg(0))}
	}
	return nil
}
