package lower

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
)

// Where something of the lowered program comes from is told in two ways. Comments say it in the text, for what the interpreter
// refuses. At run time a statement that may panic first sets a variable of its function to the line: the interpreter's own trace
// knows functions, but no lines in them. That costs 15 ns.

// Place is the comment in front of what comes from a line of a cell.
const place = "//at %s:%d"

// describe makes a function known to those who read traces, unless it is not from a cell.
func (l *Lowerer) describe(f *fn, name, shown string, d *decl) {
	cell, line, _, ok := l.cfg.Position(d.fn.Pos())
	if !ok {
		return
	}
	l.out.funcs = append(l.out.funcs, fmt.Sprintf(place, cell, line))
	f.lowered = name
	f.caller = fmt.Sprintf("%s (%s)", shown, cell)
	if !l.cfg.Unmarked {
		f.marker = name + "ᐧl"
		set(l, l.variables, f.marker, "int")
		l.out.vars = append(l.out.vars, "var "+f.marker+" int")
	}
	l.out.names[name] = Function{Name: shown, Cell: cell, Marker: f.marker}
	if d.recover {
		l.out.names[recovering(name)] = l.out.names[name]
	}
}

// mark tells where the next statement is.
func (f *fn) mark(s ast.Stmt, always bool) {
	cell, line, _, ok := f.l.cfg.Position(s.Pos())
	if !ok {
		return
	}
	f.line(place, cell, line)
	if !always && !f.mayPanic(s) {
		return
	}
	if f.marker != "" {
		f.line("%s = %d", f.marker, line)
	}
	f.checkBounds(s)
}

// again is the statement that marks a loop's head anew where evaluating it may panic after a turn, "" where it may not.
func (f *fn) again(s *ast.ForStmt) string {
	_, line, _, ok := f.l.cfg.Position(s.Pos())
	if f.marker == "" || !ok || !f.panics(s.Cond) && !f.mayPanic(s.Post) {
		return ""
	}
	return fmt.Sprintf("%s = %d\n", f.marker, line)
}

// mayPanic tells whether evaluating a statement may panic: the whole of a simple one, the head of one with blocks.
func (f *fn) mayPanic(s ast.Stmt) bool {
	switch s := s.(type) {
	case nil:
		return false
	case *ast.BlockStmt, *ast.BranchStmt, *ast.EmptyStmt:
		return false
	case *ast.SendStmt, *ast.DeferStmt, *ast.GoStmt, *ast.SelectStmt:
		return true
	case *ast.LabeledStmt:
		return f.mayPanic(s.Stmt)
	case *ast.IfStmt:
		return f.mayPanic(s.Init) || f.panics(s.Cond)
	case *ast.ForStmt:
		return f.mayPanic(s.Init) || f.panics(s.Cond) || f.mayPanic(s.Post)
	case *ast.RangeStmt:
		return f.panics(s.X) || f.panics(s.Key) || f.panics(s.Value) || isFunc(f.typeOf(s.X))
	case *ast.SwitchStmt:
		return f.mayPanic(s.Init) || f.panics(s.Tag) || f.casesPanic(s)
	case *ast.TypeSwitchStmt:
		return f.mayPanic(s.Init)
	}
	return f.panics(s)
}

func isFunc(t types.Type) bool {
	_, ok := t.Underlying().(*types.Signature)
	return ok
}

func (f *fn) casesPanic(s *ast.SwitchStmt) bool {
	for _, c := range s.Body.List {
		for _, x := range c.(*ast.CaseClause).List {
			if f.panics(x) {
				return true
			}
		}
	}
	return false
}

// panics tells whether something in n, function literals left out, may panic. It errs on the side of yes.
func (f *fn) panics(n ast.Node) bool {
	if isNilNode(n) {
		return false
	}
	found := false
	ast.Inspect(n, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			return false
		case *ast.CallExpr:
			found = found || !f.isHarmless(n)
		case *ast.IndexExpr, *ast.SliceExpr, *ast.StarExpr, *ast.TypeAssertExpr:
			found = true
		case *ast.SelectorExpr:
			sel := f.info.Selections[n]
			found = found || sel != nil && (sel.Indirect() || sel.Kind() != types.FieldVal)
		case *ast.UnaryExpr:
			found = found || n.Op == token.ARROW
		case *ast.BinaryExpr:
			found = found || f.operatorPanics(n.Op, n.X)
		case *ast.AssignStmt:
			found = found || f.operatorPanics(n.Tok, n.Lhs[0])
		}
		return !found
	})
	return found
}

func (f *fn) operatorPanics(op token.Token, x ast.Expr) bool {
	switch op {
	case token.QUO, token.REM, token.SHL, token.SHR, token.QUO_ASSIGN, token.REM_ASSIGN, token.SHL_ASSIGN, token.SHR_ASSIGN:
		return true
	case token.EQL, token.NEQ: // of interfaces, or of what holds some
		_, basic := f.typeOf(x).Underlying().(*types.Basic)
		return !basic
	}
	return false
}

// isHarmless reports whether call is a conversion, or a call of a builtin, that cannot panic.
func (f *fn) isHarmless(call *ast.CallExpr) bool {
	tv := f.info.Types[call.Fun]
	if tv.IsType() {
		_, basic := tv.Type.Underlying().(*types.Basic)
		return basic
	}
	id, ok := ast.Unparen(call.Fun).(*ast.Ident)
	if !ok || !tv.IsBuiltin() {
		return false
	}
	switch id.Name {
	case "len", "cap", "min", "max", "append", "new", "copy", "real", "imag", "complex":
		return true
	}
	return false
}
