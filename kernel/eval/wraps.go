package eval

import (
	"fmt"
	"go/ast"
	"go/types"
	"reflect"
	"strings"

	"cancha/kernel/eval/check"
	"cancha/kernel/eval/native"
)

// A value that is a function of a name means what the name means now. But a function that is declared anew in order to wrap what it was calls
// that by way of a variable, and would call itself; so what it wraps stays as it was. One that only reads a table which it stands in wraps nothing.

// keepsOld says what keeps a function of that name as it was: functions that call it, and cells whose values it is.
func (p *Program) keepsOld(old *types.Func, why string) (notes []string) {
	if callers := p.native.Callers(old); len(callers) > 0 {
		notes = append(notes, fmt.Sprintf("functions of earlier cells that call %s keep the old one, since %s: %s", old.Name(), why, strings.Join(callers, ", ")))
	}
	if holders := p.native.Holders(old); len(holders) > 0 {
		notes = append(notes, fmt.Sprintf("function values and literals of earlier cells keep the old %s, since %s: %s", old.Name(), why, strings.Join(holders, ", ")))
	}
	return notes
}

// wrapping is why what a function wraps stays as it was.
func wrapping(f *types.Func, variable string) string {
	return "the new one uses " + variable + ", which holds " + f.Name() + " as it was"
}

// wraps finds a variable that a function of the cell calls, or hands on, and that holds a function of that name: an earlier one, which must
// not call the new one then, or both would call each other without end. It returns the variable's name, "" if there is none.
func (p *Program) wraps(c *check.Cell, f *types.Func) string {
	release, alone := p.machine.Exclude()
	if alone {
		defer release()
	}
	for _, d := range c.Decls {
		decl, ok := d.(*ast.FuncDecl)
		if !ok || c.Info.Defs[decl.Name] != types.Object(f) {
			continue
		}
		for _, v := range check.HandedOn(c.Info, decl.Body, f.Signature()) {
			if holds(p.variable(p.lowerer.Place(v)), f.Name(), alone, 0) {
				return v.Name()
			}
		}
	}
	return ""
}

// holds tells whether a value is a function of cells by a name, or has one in it, as a table of functions does. Maps are looked into where
// nothing else runs: reading one that is written ends a process.
func holds(v reflect.Value, name string, alone bool, depth int) bool {
	const deepest, most = 3, 1000
	if !v.IsValid() || depth > deepest {
		return false
	}
	within := func(n int, at func(i int) reflect.Value) bool {
		for i := range min(n, most) {
			if holds(at(i), name, alone, depth+1) {
				return true
			}
		}
		return false
	}
	switch v.Kind() {
	case reflect.Func:
		return !v.IsNil() && native.IsNamed(v, name)
	case reflect.Interface, reflect.Pointer:
		return holds(v.Elem(), name, alone, depth+1)
	case reflect.Slice, reflect.Array:
		return within(v.Len(), v.Index)
	case reflect.Struct:
		return within(v.NumField(), v.Field)
	case reflect.Map:
		if !alone {
			return false
		}
		for i := v.MapRange(); i.Next() && v.Len() <= most; {
			if holds(i.Value(), name, alone, depth+1) {
				return true
			}
		}
	}
	return false
}
