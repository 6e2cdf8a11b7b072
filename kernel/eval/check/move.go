package check

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
)

// A cell's variables are checked where they stand, as locals of its body, so that Go's own rules of order and redeclaration
// hold. Two kinds have to be seen from the package level instead: those that a function of the same cell mentions, and those
// that a var declaration further up mentions (package-level initialisation runs in order of dependency).

// moveVariables moves such declarations to the package level and leaves a placeholder.
func (b *builder) moveVariables() {
	list := b.statements()
	wanted := namesOf(append(slices.Clone(b.decls.Unresolved), keyNames(b.decls, isIndexed)...))
	b.wantForward(list, wanted)
	if b.isProgram(list) {
		for _, stmt := range list {
			for _, id := range declaredBy(stmt) {
				wanted[id.Name] = true
			}
		}
	}
	moved := map[int]bool{}
	for again := true; again; {
		again = false
		for i, stmt := range list {
			if moved[i] || !slices.ContainsFunc(declaredBy(stmt), func(id *ast.Ident) bool { return wanted[id.Name] }) {
				continue
			}
			moved[i], again = true, true
			for name := range freeNames(stmt) {
				wanted[name] = true
			}
			for _, id := range declaredBy(stmt) { // it may assign to variables declared above, which have to be the same
				for _, above := range list[:i] {
					wanted[id.Name] = wanted[id.Name] || id.Name != "_" && declares(above, id.Name)
				}
			}
		}
	}
	b.refuseSecond(list, moved)
	b.placeholders, b.short = map[ast.Stmt]*ast.GenDecl{}, map[*ast.GenDecl]bool{}
	first := map[string]bool{}
	for i, stmt := range list {
		if moved[i] {
			b.move(list, i, stmt, first)
		}
	}
}

// refuseSecond refuses "b, err := g()" that has not moved behind "a, err := f()" that has: err would be another variable there.
// That shows only where the first is shared: by a function literal or a pointer.
func (b *builder) refuseSecond(list []ast.Stmt, moved map[int]bool) {
	for i, stmt := range list {
		s, ok := stmt.(*ast.AssignStmt)
		if moved[i] || !ok {
			continue
		}
		for _, id := range declaredBy(stmt) {
			for k, above := range list[:i] {
				if moved[k] && declares(above, id.Name) && slices.ContainsFunc(list[k:i+1], func(s ast.Stmt) bool { return shares(s, id.Name) }) {
					b.refuseParts(s)
				}
			}
		}
	}
}

func declares(stmt ast.Stmt, name string) bool {
	return slices.ContainsFunc(declaredBy(stmt), func(id *ast.Ident) bool { return id.Name == name })
}

// shares reports whether stmt may keep a variable: it names it in a function literal, in something whose address is taken, or with a
// selector, which may be a method that takes the address.
func shares(stmt ast.Stmt, name string) (found bool) {
	look := func(n ast.Node) {
		ast.Inspect(n, func(n ast.Node) bool {
			id, ok := n.(*ast.Ident)
			found = found || ok && id.Name == name
			return !found
		})
	}
	ast.Inspect(stmt, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			look(n)
		case *ast.UnaryExpr:
			if n.Op == token.AND {
				look(n.X)
			}
		case *ast.SliceExpr: // of an array
			look(n.X)
		case *ast.SelectorExpr:
			_, isCall := n.X.(*ast.CallExpr)
			if !isCall && n.Sel.Name != "Error" {
				look(n.X)
			}
		}
		return !found
	})
	return found
}

// isProgram reports whether a cell is nothing but declarations, functions among them. In such a cell all variables are initialised in the
// order of a package, which depends on what functions and methods mention.
func (b *builder) isProgram(list []ast.Stmt) bool {
	for _, stmt := range list {
		if _, isVar := stmt.(*ast.DeclStmt); !isVar {
			return false
		}
	}
	return slices.ContainsFunc(b.decls.Decls, func(d ast.Decl) bool {
		_, isFunc := d.(*ast.FuncDecl)
		return isFunc
	})
}

func (b *builder) statements() []ast.Stmt {
	for _, d := range b.body.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && f.Name.Name == bodyName {
			b.cell.Body = f
			return f.Body.List
		}
	}
	b.errs.add(0, "syntax error: the cell cannot be read")
	return nil
}

// isIndexed reports whether the literals of typ surely have indices or keys, not fields.
func isIndexed(typ ast.Expr) bool {
	switch typ.(type) {
	case *ast.MapType, *ast.ArrayType:
		return true
	}
	return false
}

func namesOf(ids []*ast.Ident) map[string]bool {
	names := map[string]bool{}
	for _, id := range ids {
		names[id.Name] = true
	}
	return names
}

// wantForward adds the names that a var declaration mentions and a later one declares.
func (b *builder) wantForward(list []ast.Stmt, wanted map[string]bool) {
	later := map[string]bool{}
	for _, stmt := range slices.Backward(list) {
		if _, isVar := stmt.(*ast.DeclStmt); !isVar {
			continue
		}
		own := declaredBy(stmt)
		for name := range freeNames(stmt) {
			if later[name] && !slices.ContainsFunc(own, func(id *ast.Ident) bool { return id.Name == name }) {
				wanted[name] = true
				for _, id := range own {
					wanted[id.Name] = true
				}
			}
		}
		for _, id := range own {
			later[id.Name] = true
		}
	}
}

// freeNames are the names that the right side of a declaration may take from outside: too many rather than too few.
func freeNames(stmt ast.Stmt) map[string]bool {
	names := map[string]bool{}
	own := map[*ast.Ident]bool{}
	for _, id := range declaredBy(stmt) {
		own[id] = true
	}
	ast.Inspect(stmt, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			ast.Inspect(n.X, func(n ast.Node) bool {
				if id, ok := n.(*ast.Ident); ok {
					names[id.Name] = true
				}
				return true
			})
			return false
		case *ast.Ident:
			if !own[n] {
				names[n.Name] = true
			}
		}
		return true
	})
	return names
}

// move turns a := or var statement, the i-th, into a declaration of the package. First are the names that statements further up
// declare: a := that assigns to one of them is refused.
func (b *builder) move(list []ast.Stmt, i int, stmt ast.Stmt, first map[string]bool) {
	var decl *ast.GenDecl
	switch s := stmt.(type) {
	case *ast.DeclStmt:
		decl = s.Decl.(*ast.GenDecl)
	case *ast.AssignStmt:
		spec := &ast.ValueSpec{Values: s.Rhs}
		fresh := false
		for _, l := range s.Lhs {
			id, ok := l.(*ast.Ident)
			if !ok {
				b.errs.add(b.cell.text.offset(b.fset, l.Pos()), "non-name on left side of :=")
				return
			}
			fresh = fresh || id.Name != "_" && !first[id.Name]
			spec.Names = append(spec.Names, id)
		}
		if !fresh {
			b.errs.add(b.cell.text.offset(b.fset, s.TokPos), "no new variables on left side of :=")
			return
		}
		if b.refuseReassign(s, first) {
			return
		}
		decl = &ast.GenDecl{TokPos: s.Pos(), Tok: token.VAR, Specs: []ast.Spec{spec}}
		b.short[decl] = true
	}
	for _, id := range declaredBy(stmt) {
		first[id.Name] = true
	}
	mark := &ast.EmptyStmt{Semicolon: stmt.Pos(), Implicit: true}
	list[i] = mark
	b.placeholders[mark] = decl
	b.decls.Decls = append(b.decls.Decls, decl)
}

// refuseReassign refuses "b, err := g()" after "a, err := f()" where both have moved: a declaration of the package declares all
// its names.
func (b *builder) refuseReassign(s *ast.AssignStmt, first map[string]bool) bool {
	old := slices.ContainsFunc(s.Lhs, func(l ast.Expr) bool { return first[l.(*ast.Ident).Name] })
	if !old {
		return false
	}
	b.refuseParts(s)
	return true
}

func (b *builder) refuseParts(s *ast.AssignStmt) {
	b.errs.add(b.cell.text.offset(b.fset, s.TokPos),
		"a function of this cell uses variables of this statement, some of them declared further up: declare the new ones with var, or put the function into a cell of its own")
}

// orderInits gives each placeholder the initialisers that have to run at its place: its own and those that they need.
func (b *builder) orderInits() {
	c := b.cell
	done := map[*types.Initializer]bool{}
	for _, stmt := range c.Body.Body.List {
		decl := b.placeholders[stmt]
		if decl == nil {
			continue
		}
		m := &Moved{}
		own := map[*types.Var]bool{}
		for _, spec := range decl.Specs {
			vs := spec.(*ast.ValueSpec)
			for _, id := range vs.Names {
				v, ok := c.Info.Defs[id].(*types.Var)
				if !ok {
					continue
				}
				own[v] = true
				if len(vs.Values) == 0 {
					m.Vars = append(m.Vars, v)
				}
			}
		}
		last := -1
		for k, init := range c.Info.InitOrder {
			if slices.ContainsFunc(init.Lhs, func(v *types.Var) bool { return own[v] }) {
				last = k
			}
		}
		for _, init := range c.Info.InitOrder[:last+1] {
			if !done[init] {
				done[init] = true
				m.Inits = append(m.Inits, init)
			}
		}
		c.Moved[stmt] = m
	}
}
