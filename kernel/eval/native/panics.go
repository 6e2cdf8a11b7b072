package native

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"strings"
)

// What a loop over copies indexes may panic, and the variables have to hold then what they held at that moment. So a statement that
// indexes stands behind a look at its indexes: where one is out of range the copies are written back first. The compiler then knows that
// the indexes are in range, and does not look again.

// indexable tells an index of a slice, an array or a string that is found by names and indexes only.
func (w *writer) indexable(n *ast.IndexExpr) bool {
	switch x := ast.Unparen(n.X).(type) {
	case *ast.Ident:
		if _, ok := w.info.Uses[x].(*types.Var); !ok {
			return false
		}
	case *ast.IndexExpr:
	default:
		return false
	}
	switch t := types.Unalias(w.info.TypeOf(n.X)).(type) {
	case *types.TypeParam:
		return false
	default:
		switch u := t.Underlying().(type) {
		case *types.Slice, *types.Array:
		case *types.Basic:
			return u.Info()&types.IsString != 0
		default:
			return false
		}
	}
	return true
}

// mayPanic reports whether a node of a loop over copies may panic: it indexes, or calls a function.
func (w *writer) mayPanic(n ast.Node) (found bool) {
	ast.Inspect(n, func(n ast.Node) bool {
		_, ok := n.(*ast.IndexExpr)
		found = found || ok || w.callsAny(n)
		return !found
	})
	return found
}

// callsAny reports whether a node is a call of a cell's function.
func (w *writer) callsAny(n ast.Node) bool {
	call, ok := n.(*ast.CallExpr)
	return ok && w.callsClosed(call)
}

// guardable reports whether what is needed can stand before each statement of a loop that may panic.
func (w *writer) guardable(loop ast.Stmt) bool {
	ok := true
	ast.Inspect(loop, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ForStmt:
			ok = (n.Init == nil || !w.mayPanic(n.Init)) && (n.Cond == nil || !w.mayPanic(n.Cond)) && (n.Post == nil || !w.mayPanic(n.Post)) && ok
		case *ast.IfStmt:
			ok = ok && (n.Init == nil || !w.mayPanic(n.Init) && !w.mayPanic(n.Cond)) // what the first declares is not known before
			if e, chained := n.Else.(*ast.IfStmt); chained {
				ok = ok && !w.mayPanic(e.Cond)
			}
		case *ast.AssignStmt:
			ok = ok && (len(n.Lhs) == 1 || !w.mayPanic(n))
		case *ast.ValueSpec:
			ok = ok && !w.mayPanic(n)
		}
		return ok
	})
	return ok
}

// guardIndexes is what stands before a statement of a loop over copies.
func (w *writer) guardIndexes(s ast.Stmt) string {
	var looked ast.Node = s
	switch s := s.(type) {
	case *ast.AssignStmt, *ast.IncDecStmt, *ast.ExprStmt:
	case *ast.IfStmt:
		looked = s.Cond
	case *ast.RangeStmt:
		looked = s.X
	default:
		return ""
	}
	if w.store() == "" {
		return ""
	}
	if _, isCall := s.(*ast.ExprStmt); isCall && w.mayPanic(s) || !every(looked, func(n ast.Node) bool { return !w.callsAny(n) }) {
		return w.store()
	}
	conditions, always := w.outOfRange(looked)
	if len(conditions) == 0 {
		return ""
	}
	then := ""
	if always { // it panics, which the compiler is to know
		switch s := s.(type) {
		case *ast.AssignStmt:
			then = w.text(s)
			if s.Tok == token.DEFINE {
				then = "_ = " + w.text(s.Rhs[0])
			}
		case *ast.IncDecStmt:
			then = w.text(s)
		case *ast.IfStmt:
			then = "_ = " + w.text(s.Cond)
		case *ast.RangeStmt:
			then = "_ = " + w.text(s.X)
		}
		then += "; panic(nil)"
	}
	text := "if " + strings.Join(conditions, " || ") + " { " + w.store() + then + " }; "
	if strings.Contains(text, "\n") {
		text += w.line(s)
	}
	return text
}

// outOfRange are the conditions under which the indexes of a node are out of range, inner ones first. Always tells that each is looked at
// whenever the node is.
func (w *writer) outOfRange(n ast.Node) (conditions []string, always bool) {
	always = true
	var walk func(n ast.Node)
	walk = func(n ast.Node) {
		if b, ok := n.(*ast.BinaryExpr); ok && (b.Op == token.LAND || b.Op == token.LOR) && w.mayPanic(b.Y) {
			always = false
		}
		for _, c := range children(n) {
			walk(c)
		}
		if x, ok := n.(*ast.IndexExpr); ok {
			length := ""
			switch t := w.info.TypeOf(x.X).Underlying().(type) {
			case *types.Array:
				if w.info.Types[x.Index].Value != nil {
					return
				}
				length = fmt.Sprint(t.Len())
			case *types.Slice:
				length = fmt.Sprintf("%s.Len(%s)", supportName, w.text(x.X))
			default:
				length = fmt.Sprintf("%s.LenString(%s)", supportName, w.text(x.X))
			}
			index := w.text(x.Index)
			if v := w.info.Types[x.Index].Value; v != nil {
				index = constant.ToInt(v).ExactString()
			}
			conditions = append(conditions, fmt.Sprintf("%s.Beyond(%s, %s)", supportName, index, length))
		}
	}
	walk(n)
	return conditions, always
}
