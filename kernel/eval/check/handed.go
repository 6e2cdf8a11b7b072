package check

import (
	"go/ast"
	"go/types"
)

// HandedOn returns the variables from outside a function's body that it calls, or hands on to what may call them, be it in part: those whose
// values may be functions of a signature. To read a table, to store into it or to compare what it holds calls nothing.
func HandedOn(info *types.Info, body ast.Node, sig *types.Signature) (list []*types.Var) {
	candidates := map[*types.Var]bool{}
	ast.Inspect(body, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok {
			if v, ok := info.Uses[id].(*types.Var); ok && !v.IsField() && (v.Pos() < body.Pos() || v.Pos() >= body.End()) && canHold(v.Type(), sig, nil) {
				if !candidates[v] {
					candidates[v] = true
					list = append(list, v)
				}
			}
		}
		return true
	})
	kept := list[:0]
	for _, v := range list {
		if (&flow{info, sig, map[types.Object]bool{v: true}}).leaves(body) {
			kept = append(kept, v)
		}
	}
	return kept
}

// canHold reports whether values of a type may be functions of a signature, or have such in them.
func canHold(t types.Type, sig *types.Signature, seen []types.Type) bool {
	for _, s := range seen {
		if s == t {
			return false
		}
	}
	if len(seen) > 20 {
		return true
	}
	seen = append(seen, t)
	switch u := t.Underlying().(type) {
	case *types.Basic:
		return u.Kind() == types.UnsafePointer
	case *types.Signature:
		return types.Identical(u, sig) || sameButReceiver(u, sig)
	case *types.Struct:
		for v := range u.Fields() {
			if canHold(v.Type(), sig, seen) {
				return true
			}
		}
		return false
	case *types.Map:
		return canHold(u.Elem(), sig, seen)
	case interface{ Elem() types.Type }:
		return canHold(u.Elem(), sig, seen)
	}
	return true
}

func sameButReceiver(x, y *types.Signature) bool {
	return x.Variadic() == y.Variadic() && types.Identical(x.Params(), y.Params()) && types.Identical(x.Results(), y.Results())
}

// flow follows a variable's value, and what is taken of it, through local variables.
type flow struct {
	info    *types.Info
	sig     *types.Signature
	tracked map[types.Object]bool
}

// leaves reports whether a value is called, or goes where it may be.
func (f *flow) leaves(body ast.Node) (found bool) {
	for before := -1; before != len(f.tracked) && !found; { // a variable may be set below its use
		before = len(f.tracked)
		var stack []ast.Node
		ast.Inspect(body, func(n ast.Node) bool {
			if n == nil {
				stack = stack[:len(stack)-1]
				return true
			}
			stack = append(stack, n)
			if id, ok := n.(*ast.Ident); ok && f.tracked[f.info.Uses[id]] {
				found = found || f.used(stack)
			}
			return true
		})
	}
	return found
}

// used reports whether the name at the end of a path through the tree is called, or handed on.
func (f *flow) used(path []ast.Node) bool {
	for i := len(path) - 1; i > 0; i-- {
		x := path[i].(ast.Expr)
		if t := f.info.TypeOf(x); t != nil && !f.holds(t) {
			return false
		}
		part, leaves := f.step(x, path[i-1])
		if !part {
			return leaves
		}
	}
	return true
}

func (f *flow) holds(t types.Type) bool {
	if list, ok := t.(*types.Tuple); ok { // v, ok := m[k]
		for v := range list.Variables() {
			if canHold(v.Type(), f.sig, nil) {
				return true
			}
		}
		return false
	}
	return canHold(t, f.sig, nil)
}

// step looks at what stands around an expression: part tells that this is an expression of the same value or of a part of it, leaves that the
// value may be called there or later.
func (f *flow) step(x ast.Expr, parent ast.Node) (part, leaves bool) {
	switch p := parent.(type) {
	case *ast.ParenExpr, *ast.StarExpr, *ast.UnaryExpr, *ast.SliceExpr:
		return true, false
	case *ast.IndexExpr:
		return p.X == x, false
	case *ast.SelectorExpr:
		s := f.info.Selections[p]
		return s != nil && s.Kind() == types.FieldVal, s != nil && s.Kind() != types.FieldVal
	case *ast.TypeAssertExpr:
		return p.Type != nil, true
	case *ast.BinaryExpr, *ast.ExprStmt, *ast.IncDecStmt, *ast.SwitchStmt, *ast.CaseClause:
		return false, false
	case *ast.CallExpr:
		return f.argument(x, p)
	case *ast.AssignStmt:
		return false, f.assigned(x, p.Lhs, p.Rhs)
	case *ast.ValueSpec:
		names := make([]ast.Expr, len(p.Names))
		for i, name := range p.Names {
			names[i] = name
		}
		return false, f.assigned(x, names, p.Values)
	case *ast.RangeStmt:
		return false, f.ranged(x, p)
	case *ast.SendStmt:
		return false, p.Value == x
	}
	return false, true
}

// argument is step for a call.
func (f *flow) argument(x ast.Expr, call *ast.CallExpr) (part, leaves bool) {
	if call.Fun == x {
		return false, true
	}
	if f.info.Types[call.Fun].IsType() {
		return true, false
	}
	id, _ := ast.Unparen(call.Fun).(*ast.Ident)
	if b, ok := f.info.Uses[id].(*types.Builtin); ok && id != nil {
		switch b.Name() {
		case "append", "min", "max":
			return true, false
		case "len", "cap", "delete", "clear":
			return false, false
		}
	}
	return false, true
}

// assigned tracks the local variable that a value goes into. It reports whether the value goes elsewhere.
func (f *flow) assigned(x ast.Expr, to, values []ast.Expr) bool {
	for i, value := range values {
		if value != x {
			continue
		}
		if len(values) != len(to) { // v, ok := m[k]
			i = 0
		}
		return f.into(to[i])
	}
	return false // it is what is assigned to
}

func (f *flow) into(x ast.Expr) bool {
	id, ok := ast.Unparen(x).(*ast.Ident)
	if !ok {
		return true
	}
	if id.Name == "_" {
		return false
	}
	o := f.info.ObjectOf(id)
	v, ok := o.(*types.Var)
	if f.tracked[o] {
		return false
	}
	if !ok || v.Parent() == nil || v.Pkg() != nil && v.Parent() == v.Pkg().Scope() {
		return true
	}
	f.tracked[o] = true
	return false
}

// ranged is assigned for a range statement.
func (f *flow) ranged(x ast.Expr, n *ast.RangeStmt) bool {
	if n.X != x {
		return false
	}
	switch f.info.TypeOf(x).Underlying().(type) {
	case *types.Signature, *types.TypeParam, *types.Interface:
		return true
	case *types.Chan:
		return n.Key != nil && f.into(n.Key)
	}
	return n.Value != nil && f.into(n.Value)
}
