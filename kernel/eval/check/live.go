package check

import (
	"go/ast"
	"go/constant"
	"go/types"
	"reflect"
	"slices"
	"strings"

	"cancha/kernel/cell"
)

// Outside is what completion asks about things that the code does not tell. Each function may be nil; they are called while the scope
// is locked.
type Outside struct {
	// Value returns what a variable of the session holds, the zero Value if it cannot be read.
	Value func(v *types.Var) reflect.Value
	// Exclude keeps code of cells from beginning until release is called; ok is false where some may be running, which may change what a
	// variable holds.
	Exclude func() (release func(), ok bool)
	// Files returns the files and folders that a path can become, folders with a separator behind them.
	Files func(path string) []cell.Match
}

// live reads the values of expressions in a sketched cell, as far as that takes no code of cells to run. Where such code is running, it
// reads pointers only, which are there or not.
type live struct {
	b     *builder
	scope *Scope
	busy  bool
}

// still returns l with busy set, and keeps what it found out true until release is called.
func (l live) still() (_ live, release func()) {
	if l.scope.Outside.Exclude == nil {
		return l, func() {}
	}
	release, ok := l.scope.Outside.Exclude()
	if l.busy = !ok; l.busy {
		release = func() {}
	}
	return l, release
}

// maxKeys is how many keys of a map are offered at most.
const maxKeys = 1000

// keys are those of a map from strings or, for what a table's method returns, the columns.
func (l live) keys(x ast.Expr) candidates {
	t := l.b.cell.Info.TypeOf(x)
	if t == nil {
		return nil
	}
	m, ok := t.Underlying().(*types.Map)
	if !ok {
		return nil
	}
	if k, ok := m.Key().Underlying().(*types.Basic); !ok || k.Info()&types.IsString == 0 {
		return nil
	}
	v := l.value(x)
	if v.Kind() != reflect.Map || v.Type().Key().Kind() != reflect.String {
		return l.columns(x)
	}
	var c candidates
	for keys := v.MapRange(); keys.Next() && len(c) < maxKeys; {
		c.add(rankField, keys.Key().String(), "field", types.TypeString(m.Elem(), qualifier))
	}
	return c
}

// columned is what has named columns. The method of our own may be called from any goroutine.
type columned interface{ Columns() []string }

// columns are those of an expression's value or, where that is the result of a call, of what the call is made on or with: what
// becomes of a table has columns of it.
func (l live) columns(x ast.Expr) (c candidates) {
	if v := l.value(x); v.IsValid() {
		for i, name := range l.columnsOf(v) {
			c.add(i, name, "field", "column") // in their order
		}
		return c
	}
	switch x := ast.Unparen(x).(type) {
	case *ast.CallExpr:
		if sel, ok := ast.Unparen(x.Fun).(*ast.SelectorExpr); ok {
			if c := l.columns(sel.X); len(c) > 0 {
				return c
			}
		}
		for _, a := range x.Args {
			if c := l.columns(a); len(c) > 0 {
				return c
			}
		}
	case *ast.IndexExpr:
		return l.columns(x.X)
	}
	return nil
}

// columnsOf asks a value of a library's type, of our own where cells may be using it; code of cells is not run to complete code.
func (l live) columnsOf(v reflect.Value) (names []string) {
	t := v.Type()
	if t.Kind() == reflect.Pointer {
		if v.IsNil() {
			return nil
		}
		t = t.Elem()
	}
	path := t.PkgPath()
	if l.busy && !strings.HasPrefix(path, "cancha/") {
		return nil
	}
	if path == "" || path == "main" || strings.HasPrefix(path, "cells/") || !v.CanInterface() {
		return nil
	}
	defer func() {
		if recover() != nil { // a library's, of a value that is not complete
			names = nil
		}
	}()
	h, ok := v.Interface().(columned)
	if !ok && v.CanAddr() {
		h, ok = v.Addr().Interface().(columned)
	}
	if !ok {
		return nil
	}
	return slices.Clone(h.Columns())
}

// value is what an expression of variables, fields and constant indices holds, the zero Value for any other.
func (l live) value(x ast.Expr) reflect.Value {
	id, isName := ast.Unparen(x).(*ast.Ident)
	if isName {
		v := l.variable(id)
		if v.IsValid() && l.busy && v.Kind() != reflect.Pointer {
			return reflect.Value{}
		}
		return v
	}
	if l.busy {
		return reflect.Value{}
	}
	switch x := ast.Unparen(x).(type) {
	case *ast.StarExpr:
		return follow(l.value(x.X))
	case *ast.SelectorExpr:
		if v := follow(l.value(x.X)); v.Kind() == reflect.Struct {
			return v.FieldByName(x.Sel.Name)
		}
	case *ast.IndexExpr:
		if c := l.b.cell.Info.Types[x.Index].Value; c != nil {
			return element(follow(l.value(x.X)), c)
		}
	}
	return reflect.Value{}
}

// variable is the value of a variable of the session. One of the sketched cell stands for that of the same name and type which the
// cell has declared when it ran before.
func (l live) variable(id *ast.Ident) reflect.Value {
	used, ok := l.b.cell.Info.Uses[id].(*types.Var)
	if !ok {
		return reflect.Value{}
	}
	v, ok := l.scope.objects[id.Name].(*types.Var)
	if !ok || v != used && !types.Identical(v.Type(), used.Type()) {
		return reflect.Value{}
	}
	return l.scope.Outside.Value(v)
}

// follow is what a pointer points to, and any other value itself.
func follow(v reflect.Value) reflect.Value {
	if v.Kind() == reflect.Pointer {
		return v.Elem()
	}
	return v
}

// element is what a map, slice or array has at a constant index.
func element(v reflect.Value, index constant.Value) reflect.Value {
	switch v.Kind() {
	case reflect.Map:
		if v.Type().Key().Kind() == reflect.String && index.Kind() == constant.String {
			return v.MapIndex(reflect.ValueOf(constant.StringVal(index)).Convert(v.Type().Key()))
		}
	case reflect.Slice, reflect.Array:
		if i, ok := constant.Int64Val(constant.ToInt(index)); ok && 0 <= i && i < int64(v.Len()) {
			return v.Index(int(i))
		}
	}
	return reflect.Value{}
}
