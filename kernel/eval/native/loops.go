package native

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"cancha/kernel/eval/check"
)

// A variable of the session is reached by a pointer, which costs a loop that only counts three times its time. Such a loop among
// the cell's statements works on copies, if nobody else can have the variables and nothing in it can panic but an index: the copies are
// written back when it ends, before an index panics, before a function is called and when the cell is interrupted in it. Slices that it only indexes or runs over are
// copied too, and arrays have their pointers copied.

// pureLoop writes a loop over copies; ok is false where that would show.
func (w *writer) pureLoop(s ast.Stmt) (text string, ok bool) {
	var body *ast.BlockStmt
	switch s := s.(type) {
	case *ast.ForStmt:
		body = s.Body
	case *ast.RangeStmt:
		body = s.Body
	default:
		return "", false
	}
	if !w.statements || w.labeled[s] || len(w.copied) > 0 || !w.pure(s) || !w.guardable(s) {
		return "", false
	}
	copies, views := w.copies(s)
	if len(copies)+len(views) == 0 {
		return "", false
	}
	var load, names, places []string
	for i, v := range copies {
		name := fmt.Sprintf("l%s%d", mark, i)
		place := w.variable(v, s.Pos())
		w.copied[v] = name
		load = append(load, name+" := *"+place)
		if w.changes(s, v) {
			names, places = append(names, name), append(places, "*"+place)
		}
	}
	for i, v := range views {
		name := fmt.Sprintf("w%s%d", mark, i)
		place := w.variable(v, s.Pos())
		w.copied[v] = name
		if _, isArray := v.Type().Underlying().(*types.Array); isArray {
			w.copied[v] = "(*" + name + ")"
		} else {
			place = "*" + place
		}
		load = append(load, name+" := "+place)
	}
	store := ""
	if len(names) > 0 {
		store = strings.Join(places, ", ") + " = " + strings.Join(names, ", ")
	}
	w.stored[body] = store
	w.loops-- // which it is in already
	text = w.text(s)
	w.loops++
	if r, ok := s.(*ast.RangeStmt); ok && w.mayPanic(r.X) {
		text = w.guardIndexes(r) + text
	}
	clear(w.copied)
	clear(w.stored)
	return "{ " + strings.Join(load, "; ") + "; " + text + "; " + store + " }", true
}

// copies are the variables of a loop that nobody else can have: of basic types, declared in this cell's own block, and neither
// in a function literal nor behind a pointer. Views are its slices and arrays: a slice itself is not assigned in the loop.
func (w *writer) copies(loop ast.Stmt) (copies, views []*types.Var) {
	ast.Inspect(loop, func(n ast.Node) bool {
		id, ok := n.(*ast.Ident)
		if !ok {
			return true
		}
		v, ok := w.info.Uses[id].(*types.Var)
		if !ok || slices.Contains(copies, v) || slices.Contains(views, v) || !w.isSession(v) {
			return true
		}
		switch v.Type().Underlying().(type) {
		case *types.Basic:
			if w.cell.Local[v] != nil && !w.shared(v) {
				copies = append(copies, v)
			}
		case *types.Slice:
			switch {
			case !w.changes(loop, v):
				if w.views(loop, v) {
					views = append(views, v)
				}
			case w.cell.Local[v] != nil && !w.shared(v):
				copies = append(copies, v)
			}
		case *types.Array:
			views = append(views, v)
		}
		return true
	})
	return copies, views
}

// views tells whether a loop indexes a slice or runs over it: one that only asks for its length may wait for another goroutine.
func (w *writer) views(loop ast.Stmt, v *types.Var) (found bool) {
	is := func(x ast.Expr) bool {
		id, ok := ast.Unparen(x).(*ast.Ident)
		return ok && w.info.Uses[id] == v
	}
	ast.Inspect(loop, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.IndexExpr:
			found = found || is(n.X)
		case *ast.RangeStmt:
			found = found || is(n.X)
		}
		return !found
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

// pure reports whether s is left only at its end or by an index out of range, and calls nothing that others wrote.
func (w *writer) pure(s ast.Stmt) bool { return every(s, w.pureNode) }

func (w *writer) pureNode(n ast.Node) bool {
	switch n := n.(type) {
	case nil, *ast.Ident, *ast.BasicLit, *ast.ParenExpr, *ast.BlockStmt, *ast.IfStmt, *ast.ForStmt, *ast.IncDecStmt,
		*ast.EmptyStmt, *ast.ExprStmt, *ast.DeclStmt, *ast.ValueSpec, *ast.ArrayType:
		return true
	case *ast.GenDecl:
		return n.Tok == token.VAR
	case *ast.SelectorExpr:
		if s := w.info.Selections[n]; s != nil {
			return s.Kind() == types.FieldVal && !s.Indirect()
		}
		return true // of a package
	case *ast.RangeStmt:
		switch n.X.(type) {
		case *ast.Ident, *ast.BasicLit, *ast.IndexExpr, *ast.BinaryExpr:
		default:
			return false
		}
		switch w.info.TypeOf(n.X).Underlying().(type) {
		case *types.Basic, *types.Slice, *types.Array:
			return n.Tok != token.ASSIGN
		}
		return false
	case *ast.IndexExpr:
		return w.indexable(n)
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
			return comparesSafely(w.info.TypeOf(n.X)) && comparesSafely(w.info.TypeOf(n.Y))
		}
		return true
	case *ast.CallExpr:
		return w.pureCall(n)
	}
	return false
}

// pureCall reports whether n is a conversion between numbers, a call of one of a few builtin functions, or of one that computes with
// numbers.
func (w *writer) pureCall(n *ast.CallExpr) bool {
	if w.info.Types[n.Fun].IsType() {
		return len(n.Args) == 1 && isNumber(w.info.TypeOf(n)) && isNumber(w.info.TypeOf(n.Args[0]))
	}
	if id, ok := n.Fun.(*ast.Ident); ok {
		if b, ok := w.info.Uses[id].(*types.Builtin); ok {
			switch b.Name() {
			case "len":
				_, isName := n.Args[0].(*ast.Ident)
				return isName && !isMapOrChannel(w.info.TypeOf(n.Args[0]))
			case "append":
				return !n.Ellipsis.IsValid()
			}
			return b.Name() == "min" || b.Name() == "max"
		}
	}
	f := check.Callee(w.info, n)
	if f == nil || f.Pkg() == nil {
		return false
	}
	return w.callsClosed(n) || shortPackages[f.Pkg().Path()] && !strings.HasPrefix(f.Name(), "Div") && !strings.HasPrefix(f.Name(), "Rem")
}

// callsClosed reports whether n is a call of a closed function of a cell.
func (w *writer) callsClosed(n *ast.CallExpr) bool {
	f := check.Callee(w.info, n)
	return f != nil && f.Pkg() != nil && f.Pkg().Path() == "main" && w.closed(f)
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

func isMapOrChannel(t types.Type) bool {
	switch t.Underlying().(type) {
	case *types.Map, *types.Chan:
		return true
	}
	return false
}

// comparesSafely tells types whose values can be compared without a panic.
func comparesSafely(t types.Type) bool {
	switch t.Underlying().(type) {
	case *types.Interface, *types.Struct, *types.Array:
		return false
	}
	return true
}
