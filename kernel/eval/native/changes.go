package native

import (
	"go/ast"
	"go/types"
	"maps"
	"slices"

	"cancha/kernel/eval/check"
)

// Variables are the session's variables that a function or method of a compiled cell mentions, in its own text or in that of the functions
// named there. A call of it may change them. Ok is false if not all of them are known.
func (e *Engine) Variables(f *types.Func) (list []*types.Var, ok bool) {
	found := map[*types.Var]bool{}
	ok = e.addVariables(f.Origin(), found, map[types.Object]bool{})
	return slices.Collect(maps.Keys(found)), ok
}

func (e *Engine) addVariables(o types.Object, found map[*types.Var]bool, seen map[types.Object]bool) (ok bool) {
	if seen[o] || o.Pkg() == nil || o.Pkg().Path() != "main" {
		return true
	}
	seen[o], ok = true, true
	look := func(c *check.Cell, decl *ast.FuncDecl) {
		ast.Inspect(decl, func(n ast.Node) bool {
			id, isName := n.(*ast.Ident)
			if !isName {
				return true
			}
			switch u := c.Info.Uses[id].(type) {
			case *types.Var:
				found[u] = true
				if same := c.Local[u]; same != nil {
					found[same] = true
				}
			case *types.Func:
				ok = e.addVariables(u.Origin(), found, seen) && ok
			}
			return true
		})
	}
	f, _ := o.(*types.Func)
	if named := check.Receiver(f); named != nil {
		d := e.declared[named.Origin().Obj()]
		if d == nil {
			return false
		}
		for _, m := range d.methods {
			if m.f == f {
				look(m.cell, m.decl)
				return ok
			}
		}
		return false // of an interface: nobody knows whose it is
	}
	if d := e.declared[o]; d != nil && d.function != nil {
		look(d.cell, d.function)
		return ok
	}
	return false
}
