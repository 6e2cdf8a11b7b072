package primitive

import (
	"errors"
	"flag"
	"os"
)

// Package flag ends the process where flags are wrong, which the interpreter's cells are to hear of also where nobody is told of os.Exit.

// FlagParse is flag.Parse.
func (m *Machine) FlagParse() { _ = m.FlagSetParse(flag.CommandLine, os.Args[1:]) }

// FlagSetParse is the method Parse of a flag.FlagSet.
func (m *Machine) FlagSetParse(f *flag.FlagSet, args []string) error {
	if f.ErrorHandling() != flag.ExitOnError {
		return f.Parse(args)
	}
	f.Init(f.Name(), flag.ContinueOnError)
	defer f.Init(f.Name(), flag.ExitOnError)
	err := f.Parse(args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		m.Exit(0)
	case err != nil:
		m.Exit(2) // as package flag has it
	}
	return nil
}
