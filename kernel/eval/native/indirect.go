package native

import (
	"go/ast"
	"go/token"
	"go/types"

	"cancha/kernel/eval/check"
)

// The compiler makes some calls direct that are not written so: of a method value, of a function that a variable holds, of the method of an
// interface whose value it knows. It then leaves on the stack what such a guarded function is handed. Text with such calls is written so
// that everything whose address it takes, or that it makes, lies on the heap.

// indirect reports whether a node may call guarded functions in such ways, and whether it does so by an interface: then even a call of the
// function around it, written into its caller, would be made direct there.
func (w *writer) indirect(n ast.Node) (found, byInterface bool) {
	callees := map[*ast.Ident]bool{}
	ast.Inspect(n, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok {
			if id := w.callee(call); id != nil {
				callees[id] = true
			}
		}
		return true
	})
	ast.Inspect(n, func(n ast.Node) bool {
		id, ok := n.(*ast.Ident)
		f, isFunc := w.info.Uses[id].(*types.Func)
		if !ok || !isFunc {
			return true
		}
		f = f.Origin()
		if recv := f.Signature().Recv(); recv != nil && types.IsInterface(recv.Type()) {
			byInterface = byInterface || w.isGuardedName(f.Name())
		} else if !callees[id] && w.isGuarded(f) {
			found = true
		}
		return true
	})
	return found || byInterface, byInterface
}

// callee is the name of the function or method that is called directly, nil for none.
func (w *writer) callee(call *ast.CallExpr) *ast.Ident {
	switch fun := ast.Unparen(call.Fun).(type) {
	case *ast.Ident:
		return fun
	case *ast.SelectorExpr:
		if s := w.info.Selections[fun]; s == nil || s.Kind() == types.MethodVal {
			return fun.Sel
		}
	}
	return nil
}

func (w *writer) isGuarded(f *types.Func) bool {
	_, earlier := w.engine.guarded[f]
	return earlier || w.guarded[f]
}

// isGuardedName reports whether a guarded method of any type is called so.
func (w *writer) isGuardedName(name string) bool {
	for f := range w.guarded {
		if f.Name() == name && check.Receiver(f) != nil {
			return true
		}
	}
	for f := range w.engine.guarded {
		if f.Name() == name && check.Receiver(f) != nil {
			return true
		}
	}
	return false
}

// onHeap writes a node whose value points to something new, which is to lie on the heap.
func (w *writer) onHeap(n ast.Node, text string) string {
	if !w.heap || !w.pointsToNew(n) {
		return text
	}
	return supportName + ".Heap(" + text + ")"
}

func (w *writer) pointsToNew(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.UnaryExpr:
		return n.Op == token.AND
	case *ast.FuncLit:
		return !w.trusted[n]
	case *ast.CompositeLit:
		if n.Type == nil {
			return false
		}
		switch w.info.TypeOf(n).Underlying().(type) {
		case *types.Slice, *types.Map:
			return true
		}
	case *ast.CallExpr:
		id, ok := ast.Unparen(n.Fun).(*ast.Ident)
		b, isBuiltin := w.info.Uses[id].(*types.Builtin)
		return ok && isBuiltin && (b.Name() == "new" || b.Name() == "make")
	}
	return false
}
