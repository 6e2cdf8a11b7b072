package lower

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"strings"
)

// The interpreter's error for an index out of range gives neither index nor length. A comparison before the statement can give both and
// costs 35 ns. It is possible if nothing else in the statement may panic or change what is compared. Elsewhere a primitive checks the
// index, which costs 1 µs, unless the statement is run over and over.

// checkBounds writes the comparisons for a statement.
func (f *fn) checkBounds(s ast.Stmt) {
	var indexes []*ast.IndexExpr
	for _, x := range evaluated(s) {
		var ok bool
		if indexes, ok = f.simpleIndexes(x, indexes); !ok {
			return
		}
	}
	for _, x := range indexes {
		if _, array := f.typeOf(x.X).Underlying().(*types.Array); !array || f.info.Types[x.Index].Value == nil {
			f.checkIndex(x)
		}
	}
}

// evaluated are the expressions that a statement surely evaluates, in that order.
func evaluated(s ast.Stmt) (list []ast.Expr) {
	switch s := s.(type) {
	case *ast.AssignStmt:
		return append(append(list, s.Rhs...), s.Lhs...)
	case *ast.IncDecStmt:
		return append(list, s.X)
	case *ast.ReturnStmt:
		return s.Results
	case *ast.IfStmt:
		if s.Init == nil {
			return append(list, s.Cond)
		}
	}
	return nil
}

// simpleIndexes adds the index expressions in x to a list, inner ones first; ok is false where something else may panic, or
// has an effect.
func (f *fn) simpleIndexes(x ast.Expr, list []*ast.IndexExpr) (_ []*ast.IndexExpr, ok bool) {
	switch x := x.(type) {
	case *ast.Ident, *ast.BasicLit:
		return list, true
	case *ast.ParenExpr:
		return f.simpleIndexes(x.X, list)
	case *ast.SelectorExpr:
		return list, !f.panics(x)
	case *ast.UnaryExpr:
		if x.Op == token.ARROW {
			return nil, false
		}
		return f.simpleIndexes(x.X, list)
	case *ast.BinaryExpr:
		if f.operatorPanics(x.Op, x.X) {
			return nil, false
		}
		if list, ok = f.simpleIndexes(x.X, list); !ok || x.Op == token.LAND || x.Op == token.LOR {
			return list, ok && !f.panics(x.Y)
		}
		return f.simpleIndexes(x.Y, list)
	case *ast.CallExpr:
		if !f.isHarmless(x) {
			return nil, false
		}
		for _, arg := range x.Args {
			if list, ok = f.simpleIndexes(arg, list); !ok {
				return nil, false
			}
		}
		return list, true
	case *ast.IndexExpr:
		return f.simpleIndex(x, list)
	}
	return nil, false
}

func (f *fn) simpleIndex(x *ast.IndexExpr, list []*ast.IndexExpr) (_ []*ast.IndexExpr, ok bool) {
	if f.info.Types[x.Index].IsType() || f.panics(x.Index) {
		return nil, false
	}
	switch f.typeOf(x.X).Underlying().(type) {
	case *types.Slice, *types.Array, *types.Basic:
	default:
		return nil, false
	}
	switch base := ast.Unparen(x.X).(type) {
	case *ast.Ident:
	case *ast.IndexExpr:
		if list, ok = f.simpleIndex(base, list); !ok {
			return nil, false
		}
	default:
		return nil, false
	}
	return append(list, x), true
}

// checkIndex writes the comparison for an index expression.
func (f *fn) checkIndex(x *ast.IndexExpr) {
	base, index := operand(f.expr(x.X)), f.indexValue(x.Index)
	if t := f.typeOf(x.Index); t != types.Typ[types.Int] {
		index = "int(" + index + ")"
	}
	index = operand(index)
	first := ""
	if strings.HasPrefix(index, "((") { // see settle
		first = "false || "
	}
	f.line("if %s%s >= len(%s) || %s < 0 { %s }", first, index, base, index, f.indexCheck(x.Index, f.indexValue(x.Index), base))
}

// indexCheck is the call of the primitive that checks an index.
func (f *fn) indexCheck(x ast.Expr, index, base string) string {
	if f.isUnsigned(x) {
		return fmt.Sprintf("%s.IndexUnsigned(uint64(%s), len(%s))", runtimeAlias, index, base)
	}
	return fmt.Sprintf("%s.Index(int(%s), len(%s))", runtimeAlias, index, base)
}

// isUnsigned reports whether x varies and has an unsigned type.
func (f *fn) isUnsigned(x ast.Expr) bool {
	b, ok := f.typeOf(x).Underlying().(*types.Basic)
	return ok && f.varies(x) && b.Info()&types.IsUnsigned != 0
}
