package lower

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"cancha/kernel/eval/check"
)

// clause is a case of a lowered switch: a condition ("" for default) and its body.
type clause struct {
	cond string
	body func()
}

// switchOn writes a switch over conditions, default last unless a fallthrough makes order count.
func (f *fn) switchOn(label string, clauses []clause, ordered bool) {
	if ordered {
		clauses = f.numbered(clauses)
	}
	f.head(label, "switch {")
	f.within(&branchable{label: label}, func() {
		last := -1
		for i, c := range clauses {
			if c.cond == "" && !ordered {
				last = i
				continue
			}
			f.clause(c)
		}
		if last >= 0 {
			f.clause(clauses[last])
		}
	})
	f.line("}")
}

// numbered chooses the clause first where default is not the last one: the interpreter puts it there, which changes what
// falls through.
func (f *fn) numbered(clauses []clause) []clause {
	n := slices.IndexFunc(clauses, func(c clause) bool { return c.cond == "" })
	if n < 0 || n == len(clauses)-1 {
		return clauses
	}
	chosen := f.l.unique("chosen")
	f.line("var %s int = %d", chosen, n)
	f.line("switch {")
	out := make([]clause, len(clauses))
	for i, c := range clauses {
		if i != n {
			f.line("case %s: %s = %d", c.cond, chosen, i)
		}
		out[i] = clause{fmt.Sprintf("%s == %d", chosen, i), c.body}
	}
	f.line("}")
	return out
}

func (f *fn) clause(c clause) {
	if c.cond == "" {
		f.line("default:")
	} else {
		f.line("case %s:", c.cond)
	}
	c.body()
}

func (f *fn) switchStmt(s *ast.SwitchStmt, label string) {
	f.line("{")
	defer f.line("}")
	if s.Init != nil {
		f.stmt(s.Init, "")
	}
	tag, tagType := "", types.Type(nil)
	if s.Tag != nil {
		f.inOrderOf(s.Tag)
		tag, tagType = f.l.unique("tag"), f.typeOf(s.Tag)
		if b, ok := tagType.(*types.Basic); ok && b.Info()&types.IsUntyped != 0 {
			tagType = types.Default(b)
		}
		f.line("var %s %s = %s", tag, f.typ(tagType), f.conv(s.Tag, tagType))
	}
	var clauses []clause
	ordered := false
	for _, c := range s.Body.List {
		cc := c.(*ast.CaseClause)
		conds := make([]string, len(cc.List))
		for i, x := range cc.List {
			if tag == "" && !types.IsInterface(f.typeOf(x)) {
				conds[i] = operand(f.orderedCondition(x))
				continue
			}
			conds[i] = f.orderedText(x, types.Typ[types.Bool], func() string { return f.caseCond(tag, tagType, x) })
		}
		if n := len(cc.Body); n > 0 {
			if b, ok := cc.Body[n-1].(*ast.BranchStmt); ok && b.Tok == token.FALLTHROUGH {
				ordered = true
			}
		}
		clauses = append(clauses, clause{anyOf(conds), func() { f.list(cc.Body) }})
	}
	f.switchOn(label, clauses, ordered)
}

// anyOf joins the conditions of a case.
func anyOf(conds []string) string {
	for i := range conds[:max(0, len(conds)-1)] {
		conds[i] = settle(conds[i], token.LOR)
	}
	return strings.Join(conds, " || ")
}

// caseCond is the condition that a case's expression matches the switch's value.
func (f *fn) caseCond(tag string, tagType types.Type, x ast.Expr) string {
	t := f.typeOf(x)
	if tag == "" { // it has to hold true
		return fmt.Sprintf("%s.Equal(%s, interface{}(true))", runtimeAlias, f.conv(x, anyType))
	}
	if isNil(t) {
		return tag + " == nil"
	}
	if types.IsInterface(tagType) || types.IsInterface(t) {
		return fmt.Sprintf("%s.Equal(%s, %s)", runtimeAlias, f.convText(tag, tagType, anyType, x.Pos()), f.conv(x, anyType))
	}
	return tag + " == " + operand(f.solid(x, f.conv(x, tagType)))
}

func (f *fn) typeSwitch(s *ast.TypeSwitchStmt, label string) {
	f.line("{")
	defer f.line("}")
	if s.Init != nil {
		f.stmt(s.Init, "")
	}
	var x ast.Expr
	bound := false
	switch a := s.Assign.(type) {
	case *ast.ExprStmt:
		x = a.X.(*ast.TypeAssertExpr).X
	case *ast.AssignStmt:
		x, bound = a.Rhs[0].(*ast.TypeAssertExpr).X, true
	}
	value := f.l.unique("x")
	f.inOrderOf(x)
	f.line("var %s interface{} = %s", value, f.openValue(x))
	var clauses []clause
	for _, c := range s.Body.List {
		clauses = append(clauses, f.typeClause(c.(*ast.CaseClause), value, f.typeOf(x), bound))
	}
	f.switchOn(label, clauses, false)
}

// typeClause lowers a case of a type switch. v has the case's type where there is one, else the operand's.
func (f *fn) typeClause(cc *ast.CaseClause, value string, operandType types.Type, bound bool) clause {
	var conds []string
	for _, x := range cc.List {
		conds = append(conds, f.is(value, f.typeOf(x), x.Pos()))
	}
	c := clause{cond: anyOf(conds)}
	c.body = func() {
		if bound {
			f.bindCase(cc, value, operandType)
		}
		f.list(cc.Body)
	}
	return c
}

func (f *fn) bindCase(cc *ast.CaseClause, value string, operandType types.Type) {
	v, ok := f.info.Implicits[cc].(*types.Var)
	if !ok {
		return
	}
	t := f.l.sub(v.Type(), f.env)
	name := f.local(v)
	if len(cc.List) == 1 && !isNil(f.typeOf(cc.List[0])) {
		if f.l.isOpen(t) {
			f.line("var %s interface{} = %s", name, value)
			return
		}
		f.line("%s, _ := %s(%s)", name, f.l.asserter(t, "", true, cc.Pos()), value)
		return
	}
	f.line("var %s %s = %s", name, f.typ(t), f.convText(value, anyType, t, cc.Pos()))
}

// selectStmt lowers select to a primitive, which also waits for an interrupt, and a switch over what it chose.
func (f *fn) selectStmt(s *ast.SelectStmt, label string) {
	f.line("{")
	defer f.line("}")
	chosen, ok := f.l.unique("chosen"), f.l.unique("ok")
	var cases []string
	var clauses []clause
	hasDefault, calls := false, slices.ContainsFunc(s.Body.List, func(c ast.Stmt) bool { return hasCallIn(c.(*ast.CommClause).Comm) })
	for _, c := range s.Body.List {
		cc := c.(*ast.CommClause)
		if cc.Comm == nil {
			hasDefault = true
			clauses = append(clauses, clause{"", func() { f.list(cc.Body) }})
			continue
		}
		text, bind := f.commCase(cc.Comm, ok, calls)
		clauses = append(clauses, clause{fmt.Sprintf("%s == %d", chosen, len(cases)), func() {
			bind()
			f.list(cc.Body)
		}})
		cases = append(cases, text)
	}
	args := append([]string{fmt.Sprint(hasDefault)}, cases...)
	f.line("%s, %s := %s.Select(%s)", chosen, ok, runtimeAlias, strings.Join(args, ", "))
	f.line("_ = %s", ok)
	f.switchOn(label, clauses, false)
}

// hasCallIn tells whether what a communication sends, or the channel, is of a call.
func hasCallIn(s ast.Stmt) bool {
	switch s := s.(type) {
	case *ast.SendStmt:
		return check.HasCall(s.Chan) || check.HasCall(s.Value)
	case *ast.ExprStmt:
		return check.HasCall(ast.Unparen(s.X).(*ast.UnaryExpr).X)
	case *ast.AssignStmt:
		return check.HasCall(ast.Unparen(s.Rhs[0]).(*ast.UnaryExpr).X)
	}
	return false
}

// commCase evaluates a communication's operands and returns it as an argument of the primitive; bind is what assigns the
// received value. calls tells that a communication of the statement calls something.
func (f *fn) commCase(s ast.Stmt, ok string, calls bool) (text string, bind func()) {
	switch s := s.(type) {
	case *ast.SendStmt:
		elem := f.typeOf(s.Chan).Underlying().(*types.Chan).Elem()
		ch, value := f.channel(s.Chan, true), f.l.unique("v")
		f.inOrderOf(s.Value)
		f.line("var %s %s = %s", value, f.typ(elem), f.conv(s.Value, elem))
		return fmt.Sprintf("%s.SendCase(%s, &%s)", runtimeAlias, ch, value), func() {}
	case *ast.ExprStmt:
		u := ast.Unparen(s.X).(*ast.UnaryExpr)
		return fmt.Sprintf("%s.RecvCase(%s, nil)", runtimeAlias, f.channel(u.X, calls)), func() {}
	case *ast.AssignStmt:
		return f.receiveCase(s, ok, calls)
	}
	refuse(s.Pos(), "this communication is not supported by the interpreter")
	return "", nil
}

// channel lowers the channel of a communication. Among calls it is kept in its place.
func (f *fn) channel(x ast.Expr, keep bool) string {
	f.inOrderOf(x)
	if !keep {
		return f.expr(x)
	}
	return f.keep(part{text: f.expr(x), typ: f.typeOf(x)})
}

func (f *fn) receiveCase(s *ast.AssignStmt, ok string, calls bool) (text string, bind func()) {
	u := ast.Unparen(s.Rhs[0]).(*ast.UnaryExpr)
	elem := f.typeOf(u.X).Underlying().(*types.Chan).Elem()
	value := f.l.unique("v")
	f.line("var %s %s", value, f.typ(elem))
	text = fmt.Sprintf("%s.RecvCase(%s, &%s)", runtimeAlias, f.channel(u.X, calls), value)
	return text, func() {
		sources := []part{{text: value, typ: elem}, {text: ok, typ: types.Typ[types.Bool]}}
		for i, x := range s.Lhs {
			t := f.target(x, s.Tok == token.DEFINE)
			if t.typ == nil {
				continue
			}
			f.store([]target{t}, []string{f.convText(sources[i].text, f.l.sub(sources[i].typ, f.env), t.typ, x.Pos())})
		}
	}
}
