package lower

import (
	"go/ast"
	"go/token"
	"go/types"
)

// Go's specification orders calls and receives only. In x + f() it leaves open whether x is read before or after f is called. Programs have
// come to rely on the compiler's order: it makes the calls of a statement first, from left to right, and reads variables, fields, elements
// and what pointers point to when it needs them, after the last call. An operand whose value has to be kept is evaluated where it stands,
// among the calls. The interpreter goes from left to right. So if a call comes after an operand that it might change, what the compiler
// keeps is kept here too, before the statement. Most statements are not of that kind and stay as they are.

// operandUse is an expression in a statement: one that is read, one that is assigned to, or a call whose operands alone are evaluated
// before the statement.
type operandUse struct {
	x      ast.Expr
	to     types.Type // that it is converted to, nil where it keeps its own
	place  bool       // is assigned to
	called bool       // is the statement's own call
}

// inOrder keeps what the compiler evaluates before it reads the operands of a statement, if that makes a difference.
func (f *fn) inOrder(list ...operandUse) {
	w := orderWalk{f: f}
	w.list(list)
	if w.matters {
		w = orderWalk{f: f, keep: true}
		w.list(list)
	}
}

// inOrderOf is inOrder for expressions that are read.
func (f *fn) inOrderOf(list ...ast.Expr) {
	uses := make([]operandUse, 0, len(list))
	for _, x := range list {
		if x != nil {
			uses = append(uses, operandUse{x: x})
		}
	}
	f.inOrder(uses...)
}

// ordered lowers a condition that is not evaluated in front of its statement: of a loop or case, or what is behind && or ||.
func (f *fn) ordered(x ast.Expr) string {
	return f.orderedText(x, types.Default(f.typeOf(x)), func() string { return f.expr(x) })
}

func (f *fn) orderedText(x ast.Expr, t types.Type, lower func() string) string {
	text := ""
	kept := f.capture(func() {
		f.inOrderOf(x)
		text = lower()
	})
	if kept == "" {
		return text
	}
	return "func() " + f.typ(t) + " {\n" + kept + "return " + text + "\n}()"
}

// operands are the expressions that a simple statement evaluates.
func (f *fn) operands(s ast.Stmt) []operandUse {
	switch s := s.(type) {
	case *ast.ExprStmt:
		return f.root(s.X, nil)
	case *ast.AssignStmt:
		return f.assigned(s)
	case *ast.IncDecStmt:
		return []operandUse{{x: s.X}}
	case *ast.SendStmt:
		return []operandUse{{x: s.Chan}, {x: s.Value, to: f.typeOf(s.Chan).Underlying().(*types.Chan).Elem()}}
	case *ast.ReturnStmt:
		return f.returned(s)
	case *ast.GoStmt:
		return f.root(s.Call, nil)
	case *ast.DeferStmt:
		return f.root(s.Call, nil)
	}
	return nil
}

// root is an expression whose value the statement itself takes: a call, or a receive, needs no variable.
func (f *fn) root(x ast.Expr, to types.Type) []operandUse {
	switch x := ast.Unparen(x).(type) {
	case *ast.CallExpr:
		if !f.info.Types[x.Fun].IsType() && f.info.Types[x].Value == nil {
			return []operandUse{{x: x, called: true}}
		}
	case *ast.UnaryExpr:
		if x.Op == token.ARROW {
			return []operandUse{{x: x.X}}
		}
	}
	return []operandUse{{x: x, to: to}}
}

func (f *fn) assigned(s *ast.AssignStmt) (list []operandUse) {
	if s.Tok != token.ASSIGN && s.Tok != token.DEFINE {
		return []operandUse{{x: s.Lhs[0]}, {x: s.Rhs[0]}}
	}
	for _, x := range s.Lhs {
		list = append(list, operandUse{x: x, place: true})
	}
	_, name := ast.Unparen(s.Lhs[0]).(*ast.Ident)
	if len(s.Rhs) == 1 && (name && len(s.Lhs) == 1 || f.isAppend(s.Rhs[0])) {
		return append(list, f.root(s.Rhs[0], f.assignedTo(s.Lhs[0]))...)
	}
	for i, x := range s.Rhs {
		use := operandUse{x: x}
		if len(s.Rhs) == len(s.Lhs) {
			use.to = f.assignedTo(s.Lhs[i])
		}
		list = append(list, use)
	}
	return list
}

// assignedTo is the type of what is assigned to, nil of the blank identifier.
func (f *fn) assignedTo(x ast.Expr) types.Type {
	if isBlank(x) {
		return nil
	}
	return f.typeOf(x)
}

// isAppend reports whether x is a call of append: what that changes in memory does not decide where the result is put.
func (f *fn) isAppend(x ast.Expr) bool {
	call, ok := ast.Unparen(x).(*ast.CallExpr)
	if !ok || !f.info.Types[call.Fun].IsBuiltin() {
		return false
	}
	id, ok := ast.Unparen(call.Fun).(*ast.Ident)
	return ok && id.Name == "append"
}

// specified are the values of a declaration.
func (f *fn) specified(s *ast.ValueSpec) (list []operandUse) {
	for i, x := range s.Values {
		use := operandUse{x: x}
		if v := f.info.Defs[s.Names[i]]; len(s.Values) == len(s.Names) && v != nil {
			use.to = v.Type()
		}
		if len(s.Values) == 1 && len(s.Names) == 1 {
			return f.root(x, use.to)
		}
		list = append(list, use)
	}
	return list
}

func (f *fn) returned(s *ast.ReturnStmt) (list []operandUse) {
	n := len(s.Results)
	if f.resultTypes == nil || n != f.resultTypes.Len() {
		n = 0
	}
	if len(s.Results) == 1 && n == 1 {
		return f.root(s.Results[0], f.resultTypes.At(0).Type())
	}
	for i, x := range s.Results {
		use := operandUse{x: x}
		if n > 0 {
			use.to = f.resultTypes.At(i).Type()
		}
		list = append(list, use)
	}
	return list
}

// hold keeps the value of x in a variable, whose name stands for x until the next statement.
func (f *fn) hold(x ast.Expr) {
	delete(f.held, x)
	text, t := f.expr(x), f.typeOf(x)
	if b := f.blank(t); b.typ != nil {
		f.line("var %s %s = %s", b.text, f.typ(b.typ), text)
		f.setHeld(x, b.text)
		return
	}
	name := f.l.unique("v") // of a type that only compiled cells can write
	f.line("%s := %s", name, text)
	f.setHeld(x, name)
}

func (f *fn) setHeld(x ast.Expr, name string) {
	if f.held == nil {
		f.held = map[ast.Expr]string{}
	}
	f.held[x] = name
}
