package check

import (
	"go/ast"
	"go/types"
	"slices"
)

// noteMentions notes which types of cells the bodies of the cell's functions name, and of the function literals that its variables begin with:
// a type switch there knows a type, not its name.
func (s *Scope) noteMentions(c *Cell) {
	for _, d := range c.Decls {
		if decl, ok := d.(*ast.FuncDecl); ok && decl.Body != nil {
			s.mention(c, c.Info.Defs[decl.Name], decl.Body)
		}
	}
	for _, m := range c.Methods {
		if m.Decl != nil && m.Decl.Body != nil {
			s.mention(c, m.Func, m.Decl.Body)
		}
	}
	for _, stmt := range c.Body.Body.List {
		for _, id := range declaredBy(stmt) {
			if v, ok := c.Info.Defs[id].(*types.Var); ok && c.Local[v] != nil {
				eachLiteral(stmt, func(l *ast.FuncLit) { s.mention(c, c.Local[v], l.Body) })
			}
		}
	}
}

func (s *Scope) mention(c *Cell, by types.Object, in ast.Node) {
	ast.Inspect(in, func(n ast.Node) bool {
		id, ok := n.(*ast.Ident)
		if !ok {
			return true
		}
		if t, ok := c.Info.Uses[id].(*types.TypeName); ok && s.isOfCell(t) && !slices.Contains(s.mentions[by], t) {
			s.mentions[by] = append(s.mentions[by], t)
		}
		return true
	})
}

func (s *Scope) isOfCell(t *types.TypeName) bool {
	_, ok := s.cells[t.Pkg()]
	return ok && t.Parent() == t.Pkg().Scope()
}

func eachLiteral(in ast.Node, do func(l *ast.FuncLit)) {
	ast.Inspect(in, func(n ast.Node) bool {
		l, ok := n.(*ast.FuncLit)
		if ok {
			do(l)
		}
		return !ok
	})
}

// mentionsIn names the functions and methods, and the variables that hold literals, whose code names an old type.
func (c *Cell) mentionsIn(old *types.TypeName) (names []string) {
	for by, all := range c.scope.mentions {
		if !slices.Contains(all, old) {
			continue
		}
		name, of := by.Name(), by
		if f, ok := by.(*types.Func); ok && Receiver(f) != nil {
			of = Receiver(f).Obj()
			name = of.Name() + "." + name
		}
		if of == types.Object(old) || c.scope.objects[of.Name()] != of || c.declaresName(of.Name()) {
			continue
		}
		cell, _, _, _ := c.scope.Position(by.Pos())
		names = append(names, name+" ("+cell+")")
	}
	return names
}

// mayHold names the variables whose interfaces an old type has the methods of: a value of it in there is none of the new type.
func (c *Cell) mayHold(old *types.TypeName) (names []string) {
	for name, o := range c.scope.objects {
		if v, ok := o.(*types.Var); ok && !c.declaresName(name) && c.holdsInterface(v.Type(), old, 0) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// holdsInterface reports whether a type is one of interfaces that old implements, or is made of such. Types of libraries count as they are
// named: what they hold inside is their own business.
func (c *Cell) holdsInterface(t types.Type, old *types.TypeName, depth int) bool {
	const deepest = 8
	if depth > deepest {
		return false
	}
	has := func(t types.Type) bool { return c.holdsInterface(t, old, depth+1) }
	if n, ok := types.Unalias(t).(*types.Named); ok && !types.IsInterface(n) && !c.scope.isOfCell(n.Obj()) {
		return false
	}
	switch u := t.Underlying().(type) {
	case *types.Interface:
		return types.Implements(old.Type(), u) || types.Implements(types.NewPointer(old.Type()), u)
	case *types.Map:
		return has(u.Key()) || has(u.Elem())
	case *types.Struct:
		return slices.ContainsFunc(slices.Collect(u.Fields()), func(v *types.Var) bool { return has(v.Type()) })
	case interface{ Elem() types.Type }: // pointers, slices, arrays, channels
		return has(u.Elem())
	}
	return false
}
