package eval

import (
	"fmt"
	"reflect"
	"strings"
	"sync/atomic"
)

// The engines that cells can be run by.
const (
	engineAuto   = "auto"   // whatever suits the cell
	engineInterp = "interp" // always the interpreter
	engineNative = "native" // always compiled
)

// mode is what SetEngine chose: a cell sets it while another one may be compiled. The zero value is "".
type mode struct{ v atomic.Pointer[string] }

func (m *mode) get() string {
	if s := m.v.Load(); s != nil {
		return *s
	}
	return ""
}

func (m *mode) set(s string) { m.v.Store(&s) }

// SetEngine chooses what runs cells from the next one on: "native", "interp" or "auto", the default.
func (p *Program) SetEngine(mode string) error {
	if err := p.canRun(mode); err != nil {
		return err
	}
	p.mode.set(mode)
	return nil
}

// canRun tells why an engine cannot be chosen.
func (p *Program) canRun(mode string) error {
	switch mode {
	case engineAuto, engineInterp:
		return nil
	case engineNative:
		if p.native.available() {
			return nil
		}
		return fmt.Errorf("cells cannot be compiled: %s", p.native.reason)
	}
	return fmt.Errorf("there is no engine %q: use native, interp or auto", mode)
}

// Engine tells what SetEngine chose, and why cells are run as they are.
func (p *Program) Engine() (mode, reason string) {
	switch {
	case p.mode.get() == engineInterp:
		return engineInterp, "cells are interpreted, as asked for"
	case p.mode.get() == engineNative:
		return engineNative, "cells are compiled, as asked for"
	case p.native.available():
		return engineAuto, "cells that declare functions or types are compiled, and those that loop; short statements are interpreted"
	}
	return engineAuto, "cells are interpreted: " + p.native.reason
}

// origin finds the cell that declared a compiled type.
func (p *Program) origin(t reflect.Type) (name, cell string, ok bool) {
	if !p.native.available() || t.PkgPath() == "" {
		return "", "", false
	}
	name, _, _ = strings.Cut(t.Name(), "[")
	for o, cell := range p.scope.TypesCalled(name) {
		if path, _, ok := p.native.Symbol(o); ok && path == t.PkgPath() {
			return name, cell, true
		}
	}
	return "", "", false
}
