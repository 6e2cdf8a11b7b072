package native

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"slices"
	"strings"
)

// A variable of the session is reached by a pointer, which costs a loop that only counts three times its time. Such a loop of
// the cell's outermost block works on copies, if nobody else can have the variables and nothing in it can panic: the copies are
// written back when it ends and when the cell is interrupted in it.

// pureLoop writes a loop over copies; ok is false where that would show.
func (w *writer) pureLoop(s ast.Stmt) (text string, ok bool) {
	var body *ast.BlockStmt
	switch s := s.(type) {
	case *ast.ForStmt:
		body = s.Body
	case *ast.RangeStmt:
		if _, isInt := w.info.TypeOf(s.X).Underlying().(*types.Basic); !isInt || s.Tok == token.ASSIGN {
			return "", false
		}
		body = s.Body
	default:
		return "", false
	}
	copies := w.copies(s)
	if len(copies) == 0 || !w.pure(s) {
		return "", false
	}
	var load, names, places []string
	for i, v := range copies {
		name := fmt.Sprintf("l%s%d", mark, i)
		place := w.variable(v, s.Pos())
		w.copied[v] = name
		load = append(load, name+" := *"+place)
		names, places = append(names, name), append(places, "*"+place)
	}
	store := strings.Join(places, ", ") + " = " + strings.Join(names, ", ")
	w.stored[body] = store
	text = w.text(s)
	clear(w.copied)
	clear(w.stored)
	return "{ " + strings.Join(load, "; ") + "; " + text + "; " + store + " }", true
}

// copies are the variables of a loop that nobody else can have: of basic types, declared in this cell's own block, and neither
// in a function literal nor behind a pointer.
func (w *writer) copies(loop ast.Stmt) []*types.Var {
	var found []*types.Var
	ast.Inspect(loop, func(n ast.Node) bool {
		id, ok := n.(*ast.Ident)
		if !ok {
			return true
		}
		v, ok := w.info.Uses[id].(*types.Var)
		if ok && w.cell.Local[v] != nil && !w.shared(v) && !slices.Contains(found, v) {
			if _, basic := v.Type().Underlying().(*types.Basic); basic {
				found = append(found, v)
			}
		}
		return true
	})
	return found
}

// addShared adds the variables that function literals mention or whose address is taken.
func (w *writer) addShared(n ast.Node, shared map[*types.Var]bool) {
	mark := func(n ast.Node) {
		_, literal := n.(*ast.FuncLit)
		from, to := n.Pos(), n.End()
		ast.Inspect(n, func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok {
				v, ok := w.info.Uses[id].(*types.Var)
				if own := ok && literal && from <= v.Pos() && v.Pos() < to; ok && !own {
					shared[v] = true
				}
			}
			return true
		})
	}
	ast.Inspect(n, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			mark(n)
		case *ast.UnaryExpr:
			if n.Op == token.AND {
				mark(n.X)
			}
		case *ast.SelectorExpr: // a method may take the address
			mark(n.X)
		}
		return true
	})
}

// pure reports whether s can neither panic nor call anything, and is left only at its end.
func (w *writer) pure(s ast.Stmt) bool { return every(s, w.pureNode) }

func (w *writer) pureNode(n ast.Node) bool {
	switch n := n.(type) {
	case nil, *ast.Ident, *ast.BasicLit, *ast.ParenExpr, *ast.BlockStmt, *ast.IfStmt, *ast.ForStmt, *ast.IncDecStmt,
		*ast.EmptyStmt, *ast.ExprStmt:
		return true
	case *ast.RangeStmt:
		_, isInt := w.info.TypeOf(n.X).Underlying().(*types.Basic)
		return isInt && n.Tok != token.ASSIGN
	case *ast.AssignStmt:
		return n.Tok != token.QUO_ASSIGN && n.Tok != token.REM_ASSIGN && n.Tok != token.SHL_ASSIGN && n.Tok != token.SHR_ASSIGN ||
			len(n.Rhs) == 1 && w.harmless(n.Lhs[0], n.Rhs[0], n.Tok == token.SHL_ASSIGN || n.Tok == token.SHR_ASSIGN)
	case *ast.BranchStmt:
		return n.Label == nil && (n.Tok == token.BREAK || n.Tok == token.CONTINUE)
	case *ast.UnaryExpr:
		return n.Op != token.AND && n.Op != token.ARROW
	case *ast.BinaryExpr:
		switch n.Op {
		case token.QUO, token.REM:
			return w.harmless(n.X, n.Y, false)
		case token.SHL, token.SHR:
			return w.harmless(n.X, n.Y, true)
		case token.EQL, token.NEQ:
			return !types.IsInterface(w.info.TypeOf(n.X)) && !types.IsInterface(w.info.TypeOf(n.Y))
		}
		return true
	case *ast.CallExpr: // a conversion between numbers
		if !w.info.Types[n.Fun].IsType() || len(n.Args) != 1 {
			return false
		}
		return isNumber(w.info.TypeOf(n)) && isNumber(w.info.TypeOf(n.Args[0]))
	}
	return false
}

// harmless reports whether a divisor or a count cannot make a panic.
func (w *writer) harmless(x, y ast.Expr, shift bool) bool {
	tv := w.info.Types[y]
	if shift {
		b, ok := tv.Type.Underlying().(*types.Basic)
		return tv.Value != nil || ok && b.Info()&types.IsUnsigned != 0
	}
	b, ok := w.info.TypeOf(x).Underlying().(*types.Basic)
	if ok && b.Info()&types.IsInteger == 0 {
		return true // floats divide by zero
	}
	return tv.Value != nil && constant.Sign(tv.Value) != 0
}

func isNumber(t types.Type) bool {
	b, ok := t.Underlying().(*types.Basic)
	return ok && b.Info()&types.IsNumeric != 0
}
