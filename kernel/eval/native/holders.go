package native

import (
	"go/ast"
	"go/token"
	"go/types"
	"maps"
	"slices"

	"cancha/kernel/eval/check"
)

// NoteHolders notes the functions that a cell's statements, variables and init functions take as values, or that its function literals mention: they may
// keep them after the cell has run.
func (e *Engine) NoteHolders(c *check.Cell) {
	note := func(n ast.Node) {
		called := map[*ast.Ident]bool{}
		inLiteral := 0
		var stack []ast.Node
		ast.Inspect(n, func(n ast.Node) bool {
			if n == nil {
				if _, ok := stack[len(stack)-1].(*ast.FuncLit); ok {
					inLiteral--
				}
				stack = stack[:len(stack)-1]
				return true
			}
			stack = append(stack, n)
			switch n := n.(type) {
			case *ast.FuncLit:
				inLiteral++
			case *ast.CallExpr:
				if id := functionName(n.Fun); id != nil {
					called[id] = true
				}
			case *ast.Ident:
				if f, ok := c.Info.Uses[n].(*types.Func); ok && (inLiteral > 0 || !called[n]) {
					e.noteHolder(f.Origin(), c.Name)
				}
			}
			return true
		})
	}
	note(c.Body.Body)
	for _, d := range c.Decls {
		switch d := d.(type) {
		case *ast.GenDecl:
			if d.Tok == token.VAR {
				note(d)
			}
		case *ast.FuncDecl:
			if d.Recv == nil && d.Name.Name == "init" && d.Body != nil {
				note(d.Body)
			}
		}
	}
}

// functionName is the name of what is called, without type arguments; nil where it has none.
func functionName(x ast.Expr) *ast.Ident {
	switch x := ast.Unparen(x).(type) {
	case *ast.Ident:
		return x
	case *ast.IndexExpr:
		return functionName(x.X)
	case *ast.IndexListExpr:
		return functionName(x.X)
	}
	return nil
}

func (e *Engine) noteHolder(f *types.Func, cell string) {
	if f.Pkg() == nil || f.Pkg().Path() != "main" || f.Signature().Recv() != nil {
		return
	}
	if e.holders[f] == nil {
		e.holders[f] = map[string]bool{}
	}
	e.holders[f][cell] = true
}

// Holders names the cells whose values and function literals have a function, in order.
func (e *Engine) Holders(f *types.Func) []string { return slices.Sorted(maps.Keys(e.holders[f])) }
