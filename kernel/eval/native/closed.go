package native

import (
	"go/ast"
	"go/token"
	"go/types"

	"cancha/kernel/eval/check"
)

// closed reports whether a function of a cell computes with what it is given, and reaches nothing else: its parameters are numbers, texts and
// truth values, it mentions no variable of the session, and it calls only functions that are closed too. It may panic, and it may take long,
// but then it looks for interrupts itself.
func (w *writer) closed(f *types.Func) bool {
	f = f.Origin()
	if is, known := w.closedFuncs[f]; known {
		return is
	}
	w.closedFuncs[f] = true // as far as a recursion is concerned
	c, d := w.declarationOf(f)
	is := d != nil && d.Body != nil && takesBasics(f.Signature()) && every(d.Body, func(n ast.Node) bool { return w.closedNode(c, d, n) })
	if !is {
		clear(w.closedFuncs) // what calls it was taken for closed
	}
	w.closedFuncs[f] = is
	return is
}

// declarationOf finds the declaration of a function, not of a method.
func (w *writer) declarationOf(f *types.Func) (*check.Cell, *ast.FuncDecl) {
	for _, d := range w.cell.Decls {
		if d, ok := d.(*ast.FuncDecl); ok && w.cell.Info.Defs[d.Name] == f {
			return w.cell, d
		}
	}
	if d := w.engine.declared[f]; d != nil && d.function != nil {
		return d.cell, d.function
	}
	return nil, nil
}

func takesBasics(sig *types.Signature) bool {
	if sig.Recv() != nil || sig.TypeParams() != nil {
		return false
	}
	for v := range sig.Params().Variables() {
		if b, ok := v.Type().Underlying().(*types.Basic); !ok || b.Kind() == types.UnsafePointer {
			return false
		}
	}
	return true
}

// closedNode looks at a node of the function d of the cell c.
func (w *writer) closedNode(c *check.Cell, d *ast.FuncDecl, n ast.Node) bool {
	switch n := n.(type) {
	case *ast.FuncLit, *ast.GoStmt, *ast.DeferStmt, *ast.SelectStmt, *ast.SendStmt:
		return false
	case *ast.UnaryExpr:
		return n.Op != token.ARROW
	case *ast.RangeStmt:
		_, isFunc := c.Info.TypeOf(n.X).Underlying().(*types.Signature)
		return !isFunc && !isMapOrChannel(c.Info.TypeOf(n.X))
	case *ast.Ident:
		v, ok := c.Info.ObjectOf(n).(*types.Var)
		return !ok || v.IsField() || d.Pos() <= v.Pos() && v.Pos() < d.End() && small(v.Type(), 0)
	case *ast.CallExpr:
		return w.closedCall(c, n)
	}
	return true
}

func (w *writer) closedCall(c *check.Cell, n *ast.CallExpr) bool {
	if c.Info.Types[n.Fun].IsType() || c.Info.Types[n.Fun].IsBuiltin() {
		return true
	}
	f := check.Callee(c.Info, n)
	if f == nil || f.Pkg() == nil {
		return false
	}
	return shortPackages[f.Pkg().Path()] || f.Pkg().Path() == "main" && w.closed(f)
}
