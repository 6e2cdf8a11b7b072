package check

import (
	"go/ast"
	"go/token"
	"go/types"
)

// A declaration that a goto runs again makes a new variable in Go. The variables of the cell's own block are those of the session,
// one each, which shows where somebody has the old one still.

// refuseJumps refuses a goto of the cell's own statements back over the declaration of a variable that a pointer or a function
// literal may keep.
func (b *builder) refuseJumps() {
	list := b.cell.Body.Body.List
	labels := map[string]int{} // those of the block, with the places of their statements
	for i, stmt := range list {
		if l, ok := stmt.(*ast.LabeledStmt); ok {
			labels[l.Label.Name] = i
		}
		ast.Inspect(stmt, func(n ast.Node) bool {
			if _, literal := n.(*ast.FuncLit); literal {
				return false
			}
			if jump, ok := n.(*ast.BranchStmt); ok && jump.Tok == token.GOTO {
				if first, back := labels[jump.Label.Name]; back {
					b.refuseJump(jump, list[first:i+1])
				}
			}
			return true
		})
	}
}

// refuseLabelled refuses a type or constant that is declared behind a label: it would not be one of the session, as it looks.
func (b *builder) refuseLabelled() {
	for _, stmt := range b.cell.Body.Body.List {
		l, labelled := stmt.(*ast.LabeledStmt)
		for labelled {
			stmt = l.Stmt
			l, labelled = stmt.(*ast.LabeledStmt)
			if d, ok := stmt.(*ast.DeclStmt); ok && d.Decl.(*ast.GenDecl).Tok != token.VAR {
				b.errs.add(b.cell.text.offset(b.fset, d.Pos()), "a "+d.Decl.(*ast.GenDecl).Tok.String()+
					" declared behind a label is not supported in a cell's own statements: put an empty statement behind the label (L: ;)")
			}
		}
	}
}

// refuseJump refuses a goto that runs statements again, the last of which it is in.
func (b *builder) refuseJump(jump *ast.BranchStmt, again []ast.Stmt) {
	for _, stmt := range again {
		if l, ok := stmt.(*ast.LabeledStmt); ok {
			stmt = l.Stmt
		}
		names := declaredBy(stmt)
		if decl := b.placeholders[stmt]; decl != nil {
			names = declaredBy(&ast.DeclStmt{Decl: decl})
		}
		for _, id := range names {
			if v, ok := b.cell.Info.Defs[id].(*types.Var); ok && id.Name != "_" && b.kept(v) {
				b.errs.add(b.cell.text.offset(b.fset, jump.Pos()), "goto "+jump.Label.Name+" would make "+id.Name+
					" a new variable while a pointer or function literal may have the old one, which a cell's own variable cannot be: "+
					"put the statements into braces, or use for")
			}
		}
	}
}

// kept reports whether v is a variable of the cell's block that a function literal mentions or whose address may be taken.
func (b *builder) kept(v *types.Var) (found bool) {
	info := b.cell.Info
	look := func(n ast.Node) {
		ast.Inspect(n, func(n ast.Node) bool {
			id, ok := n.(*ast.Ident)
			found = found || ok && info.Uses[id] == v
			return !found
		})
	}
	visit := func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			look(n)
		case *ast.UnaryExpr:
			if n.Op == token.AND {
				look(n.X)
			}
		case *ast.SliceExpr: // of an array
			look(n.X)
		case *ast.SelectorExpr: // a method may take the address
			if s := info.Selections[n]; s != nil && s.Kind() == types.MethodVal {
				look(n.X)
			}
		}
		return !found
	}
	ast.Inspect(b.cell.Body, visit)
	for _, decl := range b.placeholders {
		ast.Inspect(decl, visit)
	}
	return found
}
