package native

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"cancha/kernel/eval/check"
)

// run writes the function that runs the cell's statements.
func (w *writer) run(inits []string) string {
	var b strings.Builder
	w.statements = true
	w.heap, _ = w.indirect(w.cell.Body.Body)
	list := w.cell.Body.Body.List
	initialise := func() { // after the variables in front, as in a program
		for _, init := range inits {
			fmt.Fprintf(&b, "%s()\n", init)
		}
		inits = nil
	}
	for i, stmt := range list {
		moved := w.cell.Moved[stmt]
		if _, isVar := stmt.(*ast.DeclStmt); !isVar && moved == nil {
			initialise()
		}
		b.WriteString(w.line(stmt))
		switch shown := w.cell.Shown(); {
		case moved != nil:
			b.WriteString(w.moved(moved))
		case shown != nil && i == len(list)-1:
			w.out.Shows = true
			fmt.Fprintf(&b, "%s.ShowOf(%d)(%s)", machineName, w.serial, w.shown(shown))
		default:
			b.WriteString(w.outer(stmt))
		}
		if n := w.cell.Ran(stmt); n > 0 {
			fmt.Fprintf(&b, "; %s.Ran(%d, %d)", machineName, w.serial, n)
		}
		if text := w.unread(stmt); text != "" {
			b.WriteString("; " + text)
		}
		b.WriteString("\n")
	}
	initialise()
	if w.cell.Main != nil {
		fmt.Fprintf(&b, "main%s()\n", mark)
	}
	b.WriteString("}\n")
	head := fmt.Sprintf("\nfunc %s() {\n", runName)
	if defers(w.cell.Body.Body) {
		head += w.leaveCheck()
	}
	for _, place := range w.looped {
		head += fmt.Sprintf("l%s%s := %s; _ = l%s%s\n", mark, place, place, mark, place)
	}
	return head + b.String()
}

func (w *writer) shown(x ast.Expr) string {
	if values := w.cell.Values(x); values != nil {
		return w.texts(values)
	}
	return w.text(x)
}

// moved writes the initialisation of variables that functions of the cell mention, at its place among the statements.
func (w *writer) moved(m *check.Moved) string {
	var parts []string
	for _, v := range m.Vars {
		if v.Name() != "_" {
			parts = append(parts, fmt.Sprintf("%s.Zero(%s)", supportName, w.variable(v, v.Pos())))
		}
	}
	for _, init := range m.Inits {
		lhs := make([]string, len(init.Lhs))
		for i, v := range init.Lhs {
			lhs[i] = "_"
			if v.Name() != "_" {
				lhs[i] = "*" + w.variable(v, v.Pos())
			}
		}
		if len(lhs) == 1 && lhs[0] == "_" { // nil and untyped constants have a type only where they are declared
			parts = append(parts, fmt.Sprintf("{ var _ %s = %s }", w.typeText(init.Lhs[0].Type(), init.Rhs.Pos()), w.text(init.Rhs)))
			continue
		}
		parts = append(parts, strings.Join(lhs, ", ")+" = "+w.text(init.Rhs))
	}
	return strings.Join(parts, "; ")
}

// outer writes a statement of the cell's outermost block, where declarations are assignments to the session's variables.
func (w *writer) outer(stmt ast.Stmt) string {
	w.note(stmt)
	switch s := stmt.(type) {
	case *ast.LabeledStmt:
		if w.unused[s.Label.Pos()] {
			return w.outer(s.Stmt)
		}
		w.labeled[s.Stmt] = true
		return s.Label.Name + ": " + w.outer(s.Stmt)
	case *ast.AssignStmt:
		if s.Tok != token.DEFINE {
			break
		}
		return w.texts(s.Lhs) + " = " + w.texts(s.Rhs)
	case *ast.DeclStmt:
		if d := s.Decl.(*ast.GenDecl); d.Tok == token.VAR {
			return w.outerVars(d)
		}
	}
	return w.text(stmt)
}

// outerVars writes a var declaration of the outermost block.
func (w *writer) outerVars(d *ast.GenDecl) string {
	var parts []string
	for _, spec := range d.Specs {
		vs := spec.(*ast.ValueSpec)
		lhs := make([]string, len(vs.Names))
		for i, id := range vs.Names {
			lhs[i] = w.text(id)
			if v, ok := w.info.Defs[id].(*types.Var); ok && len(vs.Values) == 0 && id.Name != "_" {
				parts = append(parts, fmt.Sprintf("%s.Zero(%s)", supportName, w.variable(v, id.Pos())))
			}
		}
		if len(vs.Values) == 0 {
			continue
		}
		if vs.Type != nil && slices.Contains(lhs, "_") { // what is assigned to it is checked against the type only in a declaration
			if len(lhs) > 1 {
				refuse(vs.Pos(), "a blank name among several of a var declaration with a type cannot be compiled: leave out the type")
			}
			parts = append(parts, fmt.Sprintf("{ var _ %s = %s }", w.text(vs.Type), w.texts(vs.Values)))
			continue
		}
		parts = append(parts, strings.Join(lhs, ", ")+" = "+w.texts(vs.Values))
	}
	return strings.Join(parts, "; ")
}
