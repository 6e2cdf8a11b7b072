package check

import (
	"fmt"
	"go/ast"
	"go/types"
)

// A variable that has moved to the package level is seen by statements above its declaration, which Go would refuse, or give an
// earlier cell's variable of that name. They would find it zero, and so would the functions that they call.

// early refuses what uses a moved variable before its place among the statements. Only var declarations may use those below, as
// those of a package do.
type early struct {
	b      *builder
	at     map[*types.Var]int // place among the statements
	isVar  map[int]bool       // places of moved var declarations
	bodies map[*types.Func]*ast.FuncDecl
	uses   map[*types.Func]map[*types.Var]bool // what functions of the cell mention, and those that they mention
}

func (b *builder) refuseEarly() {
	c := b.cell
	if len(b.placeholders) == 0 {
		return
	}
	e := &early{b: b, at: map[*types.Var]int{}, isVar: map[int]bool{}, bodies: map[*types.Func]*ast.FuncDecl{}, uses: map[*types.Func]map[*types.Var]bool{}}
	for i, stmt := range c.Body.Body.List {
		if decl := b.placeholders[stmt]; decl != nil {
			e.isVar[i] = !b.short[decl]
			for _, spec := range decl.Specs {
				for _, id := range specNames(spec) {
					if v, ok := c.Info.Defs[id].(*types.Var); ok {
						e.at[v] = i
					}
				}
			}
		}
	}
	var inits []*ast.FuncDecl
	for _, d := range c.Decls {
		if f, ok := d.(*ast.FuncDecl); ok {
			if f.Recv == nil && f.Name.Name == "init" {
				inits = append(inits, f)
			} else if o, ok := c.Info.Defs[f.Name].(*types.Func); ok {
				e.bodies[o] = f
			}
		}
	}
	for _, m := range c.Methods {
		e.bodies[m.Func] = m.Decl
	}
	for i, stmt := range c.Body.Body.List {
		var n ast.Node = stmt
		if decl := b.placeholders[stmt]; decl != nil {
			n = decl
		} else if _, isVar := stmt.(*ast.DeclStmt); !isVar { // in front of which init functions run
			for _, f := range inits {
				e.calls(f.Body, i, false)
				e.names(f.Body, i)
			}
			inits = nil
		}
		e.names(n, i)
		e.calls(n, i, false)
	}
}

// late tells that place i is too early for a variable.
func (e *early) late(v *types.Var, i int) bool {
	at, moved := e.at[v]
	return moved && at > i && !(e.isVar[i] && e.isVar[at])
}

// names refuses the variables that a statement names itself.
func (e *early) names(n ast.Node, i int) {
	ast.Inspect(n, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok {
			if v, ok := e.b.cell.Info.Uses[id].(*types.Var); ok && e.late(v, i) {
				e.refuse(id, "%s is used before it is declared; since a function of the cell mentions it too, declare it further up", v.Name())
			}
		}
		return true
	})
}

// calls refuses the variables that functions name which a statement calls or hands to a call. What it defers or only keeps runs
// later.
func (e *early) calls(n ast.Node, i int, called bool) {
	ast.Inspect(n, func(x ast.Node) bool {
		switch x := x.(type) {
		case *ast.FuncLit:
			return called
		case *ast.DeferStmt:
			for _, a := range x.Call.Args {
				e.calls(a, i, false)
			}
			return false
		case *ast.CallExpr:
			if called || e.b.cell.Info.Types[x.Fun].IsType() {
				return true
			}
			e.calls(x, i, true)
			return false
		case *ast.Ident:
			f, ok := e.b.cell.Info.Uses[x].(*types.Func)
			if !called || !ok {
				return true
			}
			for v := range e.reached(f.Origin()) {
				if e.late(v, i) {
					e.refuse(x, "%s uses %s, which is declared further down: declare it above this", f.Name(), v.Name())
					break
				}
			}
		}
		return true
	})
}

// reached are the moved variables that a function mentions, or one that it mentions.
func (e *early) reached(f *types.Func) map[*types.Var]bool {
	if found, ok := e.uses[f]; ok {
		return found
	}
	found := map[*types.Var]bool{}
	seen := map[*types.Func]bool{}
	var look func(f *types.Func)
	look = func(f *types.Func) {
		if seen[f] || e.bodies[f] == nil {
			return
		}
		seen[f] = true
		ast.Inspect(e.bodies[f], func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok {
				switch o := e.b.cell.Info.Uses[id].(type) {
				case *types.Var:
					if _, moved := e.at[o]; moved {
						found[o] = true
					}
				case *types.Func:
					look(o.Origin())
				}
			}
			return true
		})
	}
	look(f)
	e.uses[f] = found
	return found
}

func (e *early) refuse(n ast.Node, format string, args ...any) {
	e.b.errs.add(e.b.cell.text.offset(e.b.fset, n.Pos()), fmt.Sprintf(format, args...))
}
