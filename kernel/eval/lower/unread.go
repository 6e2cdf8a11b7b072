package lower

import (
	"go/ast"
	"go/token"
	"go/types"

	"cancha/kernel/eval/check"
)

// unread tells of the errors that a statement leaves in variables of the session which nothing looks at.
func (f *fn) unread(s ast.Stmt) {
	for _, id := range f.l.cell.Unread[s] {
		if v, ok := f.object(id).(*types.Var); ok {
			f.line("%s.Unread(%q, %s)", runtimeAlias, id.Name, f.variable(v, id.Pos()))
		}
	}
}

// unusedErrors does so for variables of an inner block that nothing uses.
func (f *fn) unusedErrors(s ast.Stmt) {
	for _, id := range declared(s) {
		if !f.l.cell.Unused[id.Pos()] || !check.IsError(f.info, id) {
			continue
		}
		f.line("%s.Unread(%q, %s)", runtimeAlias, id.Name, f.variable(f.info.Defs[id].(*types.Var), id.Pos()))
	}
}

// declared are the names that a statement may declare.
func declared(s ast.Stmt) []*ast.Ident {
	var names []*ast.Ident
	switch s := s.(type) {
	case *ast.AssignStmt:
		if s.Tok != token.DEFINE {
			return nil
		}
		for _, x := range s.Lhs {
			if id, ok := x.(*ast.Ident); ok {
				names = append(names, id)
			}
		}
	case *ast.DeclStmt:
		if d, ok := s.Decl.(*ast.GenDecl); ok && d.Tok == token.VAR {
			for _, spec := range d.Specs {
				names = append(names, spec.(*ast.ValueSpec).Names...)
			}
		}
	}
	return names
}
