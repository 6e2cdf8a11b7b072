package eval

import (
	"context"
	"fmt"
)

// The engines that cells can be run by.
const (
	engineAuto   = "auto"   // whatever suits the cell
	engineInterp = "interp" // always the interpreter
	engineNative = "native" // always compiled
)

// SetEngine chooses what runs cells from the next one on: "native", "interp" or "auto", the default.
func (p *Program) SetEngine(mode string) error {
	switch mode {
	case engineAuto, engineInterp:
		p.mode = mode
		return nil
	case engineNative:
		return fmt.Errorf("cells cannot be compiled: %s", interpretedBecause)
	}
	return fmt.Errorf("there is no engine %q: it is native, interp or auto", mode)
}

// interpretedBecause is why nothing is compiled.
const interpretedBecause = "this engine has no native back end"

// Engine tells what SetEngine chose, and why cells are run as they are.
func (p *Program) Engine() (mode, reason string) {
	if p.mode == engineInterp {
		return engineInterp, "cells are interpreted, as asked for"
	}
	return engineAuto, "cells are interpreted: " + interpretedBecause
}

// Get makes the packages of a module ready for import: args is a module's path, with @version behind it or not, or the folder of
// one, beginning with ./ or /. It ends early when ctx does.
func (p *Program) Get(_ context.Context, args string) error {
	return fmt.Errorf("%%get %s: modules need the compiled engine, and %s", args, interpretedBecause)
}
