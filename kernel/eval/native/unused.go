package native

import (
	"fmt"
	"go/ast"
	"go/token"

	"cancha/kernel/eval/check"
)

// A cell may declare what it does not use, which the compiler refuses: such names are used in the text that it gets.

func (w *writer) noteAll(list []ast.Stmt) {
	for _, s := range list {
		w.note(s)
	}
}

// note sees to the names that a statement declares.
func (w *writer) note(s ast.Stmt) {
	switch s := s.(type) {
	case *ast.LabeledStmt:
		w.note(s.Stmt)
	case *ast.AssignStmt, *ast.DeclStmt:
		if use := w.unusedOf(s) + w.unread(s); use != "" {
			w.after[s] = "; " + use
		}
	case *ast.IfStmt:
		w.use(s.Body, s.Init)
		if e, ok := s.Else.(*ast.IfStmt); ok {
			w.note(e)
		}
	case *ast.ForStmt:
		w.use(s.Body, s.Init)
	case *ast.RangeStmt:
		w.inside[s.Body] += w.unusedNames(s.Key, s.Value)
	case *ast.SwitchStmt:
		w.useInClause(s.Body, s.Init)
	case *ast.TypeSwitchStmt:
		w.useInClause(s.Body, s.Init)
		if a, ok := s.Assign.(*ast.AssignStmt); ok && w.unusedNames(a.Lhs...) != "" {
			w.replaced[a] = w.text(a.Rhs[0])
		}
	}
}

func (w *writer) use(body *ast.BlockStmt, init ast.Stmt) { w.inside[body] += w.unusedOf(init) }

// useInClause uses the names of a switch's init statement in its first clause: there is no other place for it.
func (w *writer) useInClause(body *ast.BlockStmt, init ast.Stmt) {
	use := w.unusedOf(init)
	switch {
	case use == "":
	case len(body.List) == 0:
		refuse(init.Pos(), "a variable of this statement is declared and not used: leave it out")
	default:
		w.clause[body.List[0].(*ast.CaseClause)] = use
	}
}

// unusedOf is the statement that uses what s declares and nobody uses, with a semicolon behind; "" where there is none.
func (w *writer) unusedOf(s ast.Stmt) string {
	switch s := s.(type) {
	case *ast.AssignStmt:
		if s.Tok == token.DEFINE {
			return w.unusedNames(s.Lhs...)
		}
	case *ast.DeclStmt:
		use := ""
		for _, spec := range s.Decl.(*ast.GenDecl).Specs {
			if vs, ok := spec.(*ast.ValueSpec); ok {
				for _, id := range vs.Names {
					use += w.unusedNames(id)
				}
			}
		}
		return use
	}
	return ""
}

func (w *writer) unusedNames(list ...ast.Expr) string {
	use := ""
	for _, x := range list {
		id, ok := x.(*ast.Ident)
		switch {
		case !ok || !w.unused[id.Pos()]:
		case check.IsError(w.info, id):
			use += unreadError(id.Name, id.Name)
		default:
			use += "_ = " + id.Name + "; "
		}
	}
	return use
}

// unread are the statements that tell of the errors which s leaves in variables of the session that nothing looks at, with a
// semicolon behind; "" where there are none.
func (w *writer) unread(s ast.Stmt) string {
	text := ""
	for _, id := range w.source.Unread[s] {
		text += unreadError(id.Name, w.text(id))
	}
	return text
}

func unreadError(name, value string) string {
	return fmt.Sprintf("if %s != nil { %s.Unread(%q, %s) }; ", value, machineName, name, value)
}
