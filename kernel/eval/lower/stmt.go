package lower

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"strings"

	"cancha/kernel/eval/check"
)

// stmt lowers a statement. label is the label in front of it, "" for none.
func (f *fn) stmt(s ast.Stmt, label string) {
	f.l.at = s.Pos()
	clear(f.held)
	f.inOrder(f.operands(s)...)
	switch s := s.(type) {
	case *ast.ExprStmt:
		f.exprStmt(s)
	case *ast.AssignStmt:
		f.assign(s)
	case *ast.IncDecStmt:
		if ix, ok := f.mapElement(s.X); ok {
			f.line("{")
			place := f.elementPlace(ix)
			f.line("%s = %s %s 1\n}", place, place, s.Tok.String()[:1])
			return
		}
		f.line("%s%s", operand(f.lvalue(s.X)), s.Tok)
	case *ast.DeclStmt:
		f.declStmt(s)
	case *ast.ReturnStmt:
		f.returnStmt(s)
	case *ast.BlockStmt:
		f.block(s)
	case *ast.IfStmt:
		f.ifStmt(s)
	case *ast.ForStmt:
		f.forStmt(s, label)
	case *ast.RangeStmt:
		f.rangeStmt(s, label)
	case *ast.SwitchStmt:
		f.switchStmt(s, label)
	case *ast.TypeSwitchStmt:
		f.typeSwitch(s, label)
	case *ast.SelectStmt:
		f.selectStmt(s, label)
	case *ast.LabeledStmt:
		f.labeled(s)
	case *ast.BranchStmt:
		f.branch(s.Tok, s.Label, s.Pos())
	case *ast.SendStmt:
		f.send(s)
	case *ast.GoStmt:
		f.line("{")
		start := "Go("
		if f.statements && f.marker != "" { // the goroutine is at lines of its own
			f.line("var %s *int = %s.LineOf(*%s)", LineVariable, runtimeAlias, LineVariable)
			start = "GoAt(" + LineVariable + ", "
		}
		call := f.delayed(s.Call)
		f.line("%s.%s%s)\n}", runtimeAlias, start, apart("func() { "+call+" }", "func()"))
	case *ast.DeferStmt:
		f.deferStmt(s)
	case *ast.EmptyStmt:
	default:
		refuse(s.Pos(), "this statement is not supported by the interpreter")
	}
}

func (f *fn) send(s *ast.SendStmt) {
	elem := f.typeOf(s.Chan).Underlying().(*types.Chan).Elem()
	value := f.l.unique("v")
	f.line("{")
	ch := f.expr(s.Chan)
	if check.HasCall(s.Chan) { // which comes before the value
		ch = f.keep(part{text: ch, typ: f.typeOf(s.Chan)})
	}
	f.line("var %s %s = %s", value, f.typ(elem), f.conv(s.Value, elem))
	f.line("%s.Send(%s, &%s) }", runtimeAlias, ch, value)
}

func (f *fn) exprStmt(s *ast.ExprStmt) {
	x := ast.Unparen(s.X)
	if u, ok := x.(*ast.UnaryExpr); ok && u.Op == token.ARROW {
		f.line("%s.Recv(%s, nil)", runtimeAlias, f.expr(u.X))
		return
	}
	call, ok := x.(*ast.CallExpr)
	if !ok || f.info.Types[call.Fun].IsType() || f.info.Types[s.X].Value != nil {
		f.discard(s.X) // the last expression of a cell that is not to be shown
		return
	}
	if tv := f.info.Types[call.Fun]; tv.IsBuiltin() && f.info.Types[x].IsValue() {
		f.discard(x)
		return
	}
	f.line("%s", f.call(call))
}

func (f *fn) declStmt(s *ast.DeclStmt) {
	d, ok := s.Decl.(*ast.GenDecl)
	if !ok || d.Tok != token.VAR {
		return // constants are folded, types are emitted where they are used
	}
	for _, spec := range d.Specs {
		vs := spec.(*ast.ValueSpec)
		f.inOrder(f.specified(vs)...)
		targets := make([]target, len(vs.Names))
		for i, id := range vs.Names {
			targets[i] = f.target(id, true)
		}
		switch {
		case len(vs.Values) == 0:
			for _, t := range targets {
				f.declareZero(t)
			}
		case len(vs.Values) < len(targets):
			f.assignTuple(targets, vs.Values[0])
		default:
			values := make([]string, len(targets))
			for i, x := range vs.Values {
				t := targets[i].typ
				if t == nil {
					t = f.typeOf(x)
					if vs.Type != nil {
						t = f.typeOf(vs.Type)
					}
					if b := f.blank(t); b.typ != nil {
						targets[i], t = b, b.typ
					}
				}
				values[i] = f.conv(x, t)
			}
			f.store(targets, values)
		}
	}
}

func (f *fn) declareZero(t target) {
	switch {
	case t.typ == nil:
	case t.new:
		f.line("var %s %s", t.text, f.typ(t.typ))
	default:
		f.set(t.text, f.zero(t.typ), t.typ)
	}
}

func (f *fn) block(s *ast.BlockStmt) {
	f.line("{")
	f.list(s.List)
	f.line("}")
}

func (f *fn) list(list []ast.Stmt) {
	for _, s := range list {
		f.mark(s, false)
		f.stmt(s, "")
		f.unread(s)
		f.unusedErrors(s)
	}
}

func (f *fn) ifStmt(s *ast.IfStmt) {
	if s.Init != nil {
		f.line("{")
		f.stmt(s.Init, "")
		f.unusedErrors(s.Init)
		defer f.line("}")
	}
	f.inOrderOf(s.Cond)
	f.line("if %s {", f.condition(s.Cond))
	f.list(s.Body.List)
	switch e := s.Else.(type) {
	case nil:
	case *ast.BlockStmt:
		f.line("} else {")
		f.list(e.List)
	default:
		f.line("} else {")
		f.mark(e, false)
		f.stmt(e, "")
	}
	f.line("}")
}

func (f *fn) deferStmt(s *ast.DeferStmt) {
	if lit, ok := ast.Unparen(s.Call.Fun).(*ast.FuncLit); ok && len(s.Call.Args) == 0 {
		text := f.literal(lit, f.deferVar)
		if f.typeOf(lit).(*types.Signature).Results().Len() > 0 {
			text = "func() { " + text + "() }"
		}
		f.line("%s.Defer(%s)", f.deferVar, text)
		return
	}
	f.line("{")
	saved := f.recoverVar
	if _, ok := ast.Unparen(s.Call.Fun).(*ast.FuncLit); ok {
		f.line("%s", f.deferLiteral(s.Call))
	} else {
		f.refuseDeferred(s.Call)
		call, add := f.delayed(s.Call), "Defer"
		if o := f.callee(s.Call); o != nil {
			call = f.passRecover(call, o)
			if o.Pkg() != nil && o.Pkg().Path() != "main" && f.l.decls[o.Origin()] == nil && replaced[o.FullName()] == "" && replacedMethods[o.FullName()] == "" {
				add = "DeferLibrary"
			}
		}
		f.line("%s.%s(func() { %s })", f.deferVar, add, call)
	}
	f.recoverVar = saved
	f.line("}")
}

// deferLiteral defers the call of a literal with arguments, which are evaluated now.
func (f *fn) deferLiteral(call *ast.CallExpr) string {
	lit := ast.Unparen(call.Fun).(*ast.FuncLit)
	names := []string{}
	for _, p := range f.args(call, f.signature(call), nil) {
		names = append(names, f.keep(p))
	}
	fun := f.l.unique("v")
	f.line("var %s %s = %s", fun, f.typ(f.typeOf(lit)), f.literal(lit, f.deferVar))
	return fmt.Sprintf("%s.Defer(func() { %s(%s) })", f.deferVar, fun, strings.Join(names, ", "))
}

// passRecover makes the deferred call of a function that calls recover one of its variant that is given the panic.
func (f *fn) passRecover(call string, o *types.Func) string {
	d := f.l.decls[o.Origin()]
	if d == nil || !d.recover {
		return call
	}
	name, args, _ := strings.Cut(call, "(")
	sep := ", "
	if args == ")" {
		sep = ""
	}
	return recovering(name) + "(" + f.deferVar + sep + args
}

// returnStmt returns, or assigns to the results where the body is a literal of its own.
func (f *fn) returnStmt(s *ast.ReturnStmt) {
	ranges := f.innermostRange()
	if f.resultTypes == nil || f.resultTypes.Len() == 0 {
		f.leave(ranges)
		return
	}
	if ranges == nil && !f.closed {
		f.plainReturn(s)
		return
	}
	if len(s.Results) > 0 {
		targets := make([]target, len(f.results))
		for i, name := range f.results {
			targets[i] = target{text: name, typ: f.l.sub(f.resultTypes.At(i).Type(), f.env)}
		}
		if len(s.Results) == 1 && len(targets) > 1 {
			f.assignTuple(targets, s.Results[0])
		} else {
			values := make([]string, len(targets))
			for i, x := range s.Results {
				values[i] = f.conv(x, targets[i].typ)
			}
			f.store(targets, values)
		}
	}
	f.leave(ranges)
}

func (f *fn) plainReturn(s *ast.ReturnStmt) {
	if len(s.Results) == 0 {
		f.line("return %s", strings.Join(f.results, ", "))
		return
	}
	n := f.resultTypes.Len()
	if len(s.Results) == 1 && n > 1 {
		f.returnTuple(s.Results[0], n)
		return
	}
	values := make([]string, n)
	for i, x := range s.Results {
		values[i] = f.conv(x, f.resultTypes.At(i).Type())
	}
	if n > 1 && (len(f.results) > 0 || f.callsField(s.Results)) { // the interpreter assigns named results one after another
		for i := range values {
			values[i] = f.keep(part{text: values[i], typ: f.resultTypes.At(i).Type()})
		}
	}
	f.line("return %s", strings.Join(values, ", "))
}

// callsField reports whether one of the results calls a function that a field holds: among several results the interpreter returns zero for
// it.
func (f *fn) callsField(results []ast.Expr) bool {
	for _, x := range results {
		call, ok := ast.Unparen(x).(*ast.CallExpr)
		if !ok {
			continue
		}
		if sel, ok := ast.Unparen(call.Fun).(*ast.SelectorExpr); ok && f.callee(call) == nil && f.info.Selections[sel] != nil {
			return true
		}
	}
	return false
}

func (f *fn) returnTuple(x ast.Expr, n int) {
	from := f.tupleOf(x, n)
	temps := f.temps(n, "t")
	f.line("%s := %s", strings.Join(temps, ", "), f.tupleValue(x))
	for i, name := range temps {
		temps[i] = f.convText(name, from[i], f.resultTypes.At(i).Type(), x.Pos())
	}
	f.line("return %s", strings.Join(temps, ", "))
}
