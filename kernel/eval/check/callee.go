package check

import (
	"go/ast"
	"go/token"
	"go/types"
	"strings"
)

// Callee is the function that a call names, nil where it calls a value.
func Callee(info *types.Info, x *ast.CallExpr) *types.Func {
	fun := ast.Unparen(x.Fun)
	switch ix := fun.(type) {
	case *ast.IndexExpr:
		fun = ix.X
	case *ast.IndexListExpr:
		fun = ix.X
	}
	var id *ast.Ident
	switch fun := fun.(type) {
	case *ast.Ident:
		id = fun
	case *ast.SelectorExpr:
		id = fun.Sel
	default:
		return nil
	}
	f, _ := info.Uses[id].(*types.Func)
	return f
}

// Receiver is the declared type of a method's receiver, nil for a function.
func Receiver(f *types.Func) *types.Named {
	recv := f.Signature().Recv()
	if recv == nil {
		return nil
	}
	t := types.Unalias(recv.Type())
	if p, ok := t.(*types.Pointer); ok {
		t = types.Unalias(p.Elem())
	}
	n, _ := t.(*types.Named)
	return n
}

// IsRecover reports whether x is a call of the predeclared recover.
func IsRecover(info *types.Info, x *ast.CallExpr) bool {
	id, ok := ast.Unparen(x.Fun).(*ast.Ident)
	return ok && info.Uses[id] == types.Universe.Lookup("recover")
}

// CallsRecover tells whether a function calls recover itself, not in a literal. The body may be nil.
func CallsRecover(info *types.Info, body *ast.BlockStmt) (found bool) {
	if body == nil {
		return false
	}
	ast.Inspect(body, func(n ast.Node) bool {
		if _, ok := n.(*ast.FuncLit); ok || found {
			return false
		}
		call, ok := n.(*ast.CallExpr)
		found = ok && IsRecover(info, call)
		return !found
	})
	return found
}

// CallsBack tells whether a function belongs to the library wing, which calls functions that it is handed on goroutines of its own, and
// recovers their panics.
func CallsBack(f *types.Func) bool {
	return f.Pkg() != nil && strings.HasPrefix(f.Pkg().Path(), "cancha/")
}

// StartsGoroutines tells whether a function starts goroutines that begin with its callbacks. A panic there would end the process.
func StartsGoroutines(f *types.Func) bool {
	if f.Pkg() == nil {
		return false
	}
	switch f.Pkg().Path() + "." + f.Name() {
	case "time.AfterFunc", "context.AfterFunc", "sync.Go", "golang.org/x/sync/errgroup.Go", "golang.org/x/sync/errgroup.TryGo":
		return true
	}
	return false
}

// HasCall tells whether an expression makes a call, or receives, when it is evaluated. A conversion counts as one.
func HasCall(x ast.Expr) (found bool) {
	ast.Inspect(x, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			return false
		case *ast.CallExpr:
			found = true
		case *ast.UnaryExpr:
			found = found || n.Op == token.ARROW
		}
		return !found
	})
	return found
}
