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

// invocation is a call taken apart: what is evaluated when the statement is reached, and the call made of it. go and defer
// evaluate the parts now and call later.
type invocation struct {
	parts []part
	text  func(parts []string) string
}

// part is a function value, a receiver or an argument.
type part struct {
	text   string
	typ    types.Type
	suffix string // "..." of a spread argument
}

// call lowers a call, conversion or use of a builtin.
func (f *fn) call(x *ast.CallExpr) string {
	tv := f.info.Types[x.Fun]
	if tv.IsType() {
		return f.conversion(x, tv.Type)
	}
	if tv.IsBuiltin() {
		return f.builtin(x)
	}
	if text, ok := f.errorsAs(x); ok {
		return text
	}
	inv, spread := f.invocation(x, false)
	texts := make([]string, len(inv.parts))
	for i, p := range inv.parts {
		texts[i] = p.text + p.suffix
	}
	if spread == nil {
		return inv.text(texts)
	}
	names := f.temps(spread.Len(), "v")
	inner := strings.Join(names, ", ") + " := " + f.expr(x.Args[0])
	if f.hasEffect(x.Fun) { // which comes before the arguments
		inner = f.capture(func() {
			for i, p := range inv.parts {
				texts[i] = f.keep(p)
			}
		}) + inner
	}
	sig := f.signature(x)
	return fmt.Sprintf("func()%s { %s; %s%s }()", f.resultList(sig), inner, f.returning(sig),
		inv.text(append(texts, f.spreadArgs(names, spread, sig, x)...)))
}

// errorsAs lowers errors.As for a target of an interface of the cells, which asks for methods.
func (f *fn) errorsAs(x *ast.CallExpr) (text string, ok bool) {
	o := f.callee(x)
	if o == nil || o.Pkg() == nil || o.FullName() != "errors.As" || len(x.Args) != 2 {
		return "", false
	}
	p, ok := f.typeOf(x.Args[1]).Underlying().(*types.Pointer)
	if !ok || !f.l.isOpen(p.Elem()) {
		return "", false
	}
	return fmt.Sprintf("%s.ErrorsAsInterface(%s, %s, %s)", runtimeAlias, f.conv(x.Args[0], errorType), f.expr(x.Args[1]), f.l.methodList(p.Elem())), true
}

func (f *fn) signature(x *ast.CallExpr) *types.Signature {
	sig, ok := f.typeOf(x.Fun).Underlying().(*types.Signature)
	if !ok {
		refuse(x.Pos(), "call of a value of type %s is not supported by the interpreter", f.typeOf(x.Fun))
	}
	return sig
}

// invocation takes a call of a function apart, one that is made later for go and defer. spread is the type of f's results in a call
// g(f()), whose arguments are then not among the parts.
func (f *fn) invocation(x *ast.CallExpr, later bool) (inv invocation, spread *types.Tuple) {
	sig := f.signature(x)
	fun := ast.Unparen(x.Fun)
	if ix, ok := fun.(*ast.IndexExpr); ok && f.info.Types[ix.Index].IsType() {
		fun = ix.X
	}
	if ix, ok := fun.(*ast.IndexListExpr); ok {
		fun = ix.X
	}
	callee := f.callee(x)
	switch fun := fun.(type) {
	case *ast.Ident:
		if o, ok := f.object(fun).(*types.Func); ok {
			name, own := f.funcName(fun, o)
			if own {
				name = f.callable(name, nil, sig)
			}
			inv = named(name, nil)
		}
	case *ast.SelectorExpr:
		inv = f.selectedCall(fun, sig, later)
	}
	if inv.text == nil {
		value := part{typ: f.typeOf(x.Fun)}
		if lit, ok := fun.(*ast.FuncLit); ok {
			value.text = f.literal(lit, "")
		} else {
			value.text = operand(f.solid(x.Fun, f.expr(x.Fun)))
		}
		inv = invocation{[]part{value}, func(p []string) string { return p[0] + "(" + strings.Join(p[1:], ", ") + ")" }}
	}
	if len(x.Args) == 1 {
		if tuple, ok := f.typeOf(x.Args[0]).(*types.Tuple); ok && tuple.Len() > 1 {
			return inv, tuple
		}
	}
	inv.parts = append(inv.parts, f.args(x, sig, callee)...)
	return inv, nil
}

func named(name string, first []part) invocation {
	return invocation{first, func(p []string) string { return name + "(" + strings.Join(p, ", ") + ")" }}
}

// selectedCall handles calls of x.f where f is a function of a package or a method.
func (f *fn) selectedCall(x *ast.SelectorExpr, sig *types.Signature, later bool) invocation {
	if id, ok := x.X.(*ast.Ident); ok {
		if _, ok := f.info.Uses[id].(*types.PkgName); ok {
			if o, ok := f.info.Uses[x.Sel].(*types.Func); ok {
				name, own := f.funcName(x.Sel, o)
				if own {
					name = f.callable(name, nil, sig)
				}
				return named(name, nil)
			}
			return invocation{}
		}
	}
	if f.info.Types[x.X].IsType() {
		return invocation{}
	}
	s := f.resolve(x)
	if s.method == nil {
		return invocation{}
	}
	if f.l.isOpen(s.typ) {
		return invocation{[]part{{text: f.dynamic(s.text, s.method.Name(), sig), typ: sig}},
			func(p []string) string { return p[0] + "(" + strings.Join(p[1:], ", ") + ")" }}
	}
	if name, own := f.ownMethod(s, x.Pos()); own {
		recv := f.receiverType(s)
		return named(f.callable(name, recv, sig), []part{{text: f.receiverArg(s), typ: recv}})
	}
	if later {
		s = f.promoted(s, x.Pos())
	}
	return f.compiledMethod(x, s, later)
}

// callable is what is written to call a function of the lowered program; recv is nil where it has no receiver. The interpreter
// does not copy an argument that equals the zero value of its type, and -0.0 equals 0.0: a function that is given such
// numbers is called as a value, whose arguments reflection copies. Statements call values anyway.
func (f *fn) callable(name string, recv types.Type, sig *types.Signature) string {
	if f.statements {
		return name
	}
	sig = f.l.sub(sig, f.env).(*types.Signature)
	params := slices.Collect(sig.Params().Variables())
	if recv != nil {
		params = slices.Insert(params, 0, types.NewParam(token.NoPos, nil, "", recv))
	}
	if !slices.ContainsFunc(params, func(p *types.Var) bool { return holdsFloats(p.Type()) }) {
		return name
	}
	sig = types.NewSignatureType(nil, nil, nil, types.NewTuple(params...), sig.Results(), sig.Variadic())
	return f.l.valueOf(name, f.typ(sig))
}

// valueOf is the variable that holds a function of the lowered program as a value.
func (l *Lowerer) valueOf(name, typ string) string {
	if v, ok := l.values[name]; ok {
		return v
	}
	v := l.unique("v")
	set(l, l.values, name, v)
	l.out.vars = append(l.out.vars, "var "+v+" "+typ)
	l.setup("%s = %s.Value(%s).(%s)", v, runtimeAlias, name, typ)
	return v
}

// holdsFloats reports whether values of t contain floating-point numbers themselves, not behind a pointer.
func holdsFloats(t types.Type) bool {
	switch t := t.Underlying().(type) {
	case *types.Basic:
		return t.Info()&(types.IsFloat|types.IsComplex) != 0
	case *types.Array:
		return holdsFloats(t.Elem())
	case *types.Struct:
		return slices.ContainsFunc(slices.Collect(t.Fields()), func(v *types.Var) bool { return holdsFloats(v.Type()) })
	}
	return false
}

// receiverType is the type of a lowered method's first parameter.
func (f *fn) receiverType(s selected) types.Type {
	t := deref(s.typ)
	if _, ptr := types.Unalias(s.method.Signature().Recv().Type()).(*types.Pointer); ptr {
		return types.NewPointer(t)
	}
	return t
}

func (f *fn) compiledMethod(x *ast.SelectorExpr, s selected, later bool) invocation {
	if stream := f.standardStream(x.X, nil); stream != "" {
		return named(stream+"."+x.Sel.Name, nil)
	}
	recv := part{text: s.text, typ: s.typ}
	if f.isReplaced(s) {
		if !isPointer(s.typ) {
			recv = part{text: address(s.text), typ: types.NewPointer(s.typ)}
		}
		return named(runtimeAlias+"."+replacedMethods[s.method.FullName()], []part{recv})
	}
	switch s.method.FullName() {
	case "(reflect.Type).PkgPath":
		return named(runtimeAlias+".ReflectPkgPath", []part{recv})
	case "(*runtime.Func).Name":
		return named(runtimeAlias+".FuncName", []part{recv})
	}
	name := f.l.methodName(s.method)
	method := func(p []string) string {
		return operand(p[0]) + "." + name + "(" + strings.Join(p[1:], ", ") + ")"
	}
	wantsPointer := isPointer(s.method.Signature().Recv().Type())
	switch {
	case later && types.IsInterface(s.typ): // nil is noticed now
		sig := f.typeOf(x).(*types.Signature)
		value := part{text: f.dynamic(f.convText(s.text, s.typ, anyType, x.Pos()), name, sig), typ: sig}
		return invocation{[]part{value}, func(p []string) string { return p[0] + "(" + strings.Join(p[1:], ", ") + ")" }}
	case later && !wantsPointer && isPointer(s.typ): // and the value is the one that is there now
		recv = part{text: "*" + operand(s.text), typ: deref(s.typ)}
	case !isPointer(s.typ) && wantsPointer && !types.IsInterface(s.typ):
		// A variable of a compiled struct type: the interpreter takes the address itself, except of a copy made for go and defer.
		return invocation{[]part{{text: address(s.text), typ: types.NewPointer(s.typ)}}, func(p []string) string {
			return operand(strings.TrimPrefix(p[0], "&")) + "." + name + "(" + strings.Join(p[1:], ", ") + ")"
		}}
	}
	return invocation{[]part{recv}, method}
}

// callee is the function that a call names, nil where it calls a value.
func (f *fn) callee(x *ast.CallExpr) *types.Func { return check.Callee(f.info, x) }

// args lowers the arguments of a call.
func (f *fn) args(x *ast.CallExpr, sig *types.Signature, callee *types.Func) []part {
	parts := make([]part, len(x.Args))
	for i, a := range x.Args {
		t, spread := paramType(sig, i, x.Ellipsis.IsValid())
		parts[i] = part{text: f.arg(a, t, callee), typ: f.l.sub(t, f.env)}
		if spread {
			parts[i].suffix = "..."
		}
		if spread && parts[i].text == "nil" { // of which the interpreter wants a type
			parts[i].text = "(" + f.typ(t) + ")(nil)"
		}
	}
	if n := sig.Params().Len() - 1; sig.Variadic() && !x.Ellipsis.IsValid() && len(parts) > n+1 && f.callsFieldForSeveral(x, sig) {
		return append(parts[:n:n], f.packed(x.Args[n:], sig))
	}
	if n := sig.Params().Len(); sig.Variadic() && len(parts) == n-1 && !f.isTuple(x.Args) && f.isOwnCall(callee) { // the interpreter passes a slice that is empty
		last := f.l.sub(sig.Params().At(n-1).Type(), f.env)
		parts = append(parts, part{text: "(" + f.l.typ(last) + ")(nil)", typ: last, suffix: "..."})
	}
	return parts
}

// callsFieldForSeveral reports whether x calls a function that a field holds and that has several results. If it is variadic, the
// interpreter counts its arguments as results.
func (f *fn) callsFieldForSeveral(x *ast.CallExpr, sig *types.Signature) bool {
	sel, ok := ast.Unparen(x.Fun).(*ast.SelectorExpr)
	return ok && sig.Results().Len() > 1 && f.callee(x) == nil && f.info.Selections[sel] != nil
}

// packed makes the slice of a variadic parameter's arguments.
func (f *fn) packed(args []ast.Expr, sig *types.Signature) part {
	t := f.l.sub(sig.Params().At(sig.Params().Len()-1).Type(), f.env)
	return part{text: f.typ(t) + "{" + strings.Join(f.elements(args, t.(*types.Slice).Elem()), ", ") + "}", typ: t, suffix: "..."}
}

// isTuple reports whether args are those of f(g()) where g returns several values.
func (f *fn) isTuple(args []ast.Expr) bool {
	if len(args) != 1 {
		return false
	}
	_, ok := f.typeOf(args[0]).(*types.Tuple)
	return ok
}

// isOwnCall reports whether callee is declared by cells. The parameters of a function value may be of compiled types, for which nil is as
// good.
func (f *fn) isOwnCall(callee *types.Func) bool {
	return callee == nil || callee.Pkg() != nil && !f.l.ofCompiledCell(callee.Origin()) && (callee.Pkg().Path() == "main" || f.l.decls[callee.Origin()] != nil)
}

// paramType is the type that the i-th argument is assigned to; spread tells of "xs...".
func paramType(sig *types.Signature, i int, ellipsis bool) (t types.Type, spread bool) {
	n := sig.Params().Len()
	if !sig.Variadic() || i < n-1 {
		return sig.Params().At(i).Type(), false
	}
	last := sig.Params().At(n - 1).Type()
	if ellipsis {
		return last, true
	}
	return last.(*types.Slice).Elem(), false
}

// spreadArgs converts the results of f in g(f()) to the parameters of g.
func (f *fn) spreadArgs(names []string, tuple *types.Tuple, sig *types.Signature, x *ast.CallExpr) []string {
	out := make([]string, len(names))
	for i, name := range names {
		t, _ := paramType(sig, i, false)
		out[i] = f.convText(name, tuple.At(i).Type(), t, x.Pos())
		if callee := f.callee(x); callee != nil && f.shows(callee) && f.l.isOpen(t) {
			out[i] = fmt.Sprintf("%s.%s(%s)", runtimeAlias, shownBy(callee), out[i])
		}
	}
	return out
}

// delayed evaluates the parts of a call now and returns the text of the call to be made later.
func (f *fn) delayed(x *ast.CallExpr) string {
	if f.info.Types[x.Fun].IsBuiltin() {
		return f.delayedBuiltin(x)
	}
	if f.info.Types[x.Fun].IsType() {
		return "_ = " + f.call(x)
	}
	inv, spread := f.invocation(x, true)
	names := make([]string, len(inv.parts))
	for i, p := range inv.parts {
		if _, ok := ast.Unparen(x.Fun).(*ast.FuncLit); ok && i == 0 {
			p.text = apart(p.text, f.typ(p.typ))
		}
		names[i] = f.keep(p)
	}
	if spread != nil {
		temps := f.temps(spread.Len(), "v")
		f.line("%s := %s", strings.Join(temps, ", "), f.expr(x.Args[0]))
		names = append(names, f.spreadArgs(temps, spread, f.signature(x), x)...)
	}
	return inv.text(names)
}

// keep stores a part in a variable of its own.
func (f *fn) keep(p part) string {
	name := f.l.unique("v")
	if p.text == "nil" {
		return "nil" + p.suffix
	}
	f.line("var %s %s = %s", name, f.typ(p.typ), p.text)
	return name + p.suffix
}

func (f *fn) delayedBuiltin(x *ast.CallExpr) string {
	id := ast.Unparen(x.Fun).(*ast.Ident)
	switch id.Name {
	case "recover":
		if f.recoverVar == "" || f.deferVar == "" {
			return "_ = " + f.recoverCall()
		}
		return f.deferVar + ".RecoverOf(" + f.recoverVar + ")"
	case "panic":
		return runtimeAlias + ".Throw(" + f.keep(part{text: f.conv(x.Args[0], anyType), typ: anyType}) + ")"
	case "print", "println":
		args := make([]string, len(x.Args))
		for i, a := range x.Args {
			args[i] = f.keep(part{text: f.printed(a), typ: anyType})
		}
		return printers[id.Name] + "(" + strings.Join(args, ", ") + ")"
	}
	args := make([]string, len(x.Args))
	for i, a := range x.Args {
		t := f.typeOf(a)
		if m, ok := f.typeOf(x.Args[0]).Underlying().(*types.Map); ok && i == 1 {
			t = m.Key()
		}
		args[i] = f.keep(part{text: f.conv(a, t), typ: t})
	}
	if id.Name == "clear" {
		return f.clearer(f.typeOf(x.Args[0])) + "(" + args[0] + ")"
	}
	return id.Name + "(" + strings.Join(args, ", ") + ")"
}

// conversion lowers T(x).
func (f *fn) conversion(x *ast.CallExpr, to types.Type) string {
	to = f.l.sub(to, f.env)
	arg := x.Args[0]
	from := f.typeOf(arg)
	text := f.l.typeText(to, x.Pos())
	if types.IsInterface(to) {
		if isNil(from) && f.l.isOpen(to) {
			return "interface{}(nil)"
		}
		if isNil(from) {
			return "(" + text + ")(nil)"
		}
		return f.conv(arg, to)
	}
	if isNil(from) {
		return "(" + text + ")(nil)"
	}
	value := f.expr(arg)
	if tv := f.info.Types[arg]; tv.Value != nil {
		if b, ok := from.Underlying().(*types.Basic); ok && b.Info()&types.IsUntyped != 0 {
			value = f.constant(tv.Value, types.Default(b), arg.Pos())
		}
	}
	if _, pointer := from.Underlying().(*types.Pointer); text == f.l.typeText(from, x.Pos()) && !pointer {
		return operand(value)
	}
	return "(" + text + ")(" + value + ")"
}

// standardStream lowers os.Stdout and os.Stderr where only their being written to counts: then the cell's output is meant.
// to is the interface that is asked for, nil for a method call.
func (f *fn) standardStream(x ast.Expr, to types.Type) string {
	sel, ok := ast.Unparen(x).(*ast.SelectorExpr)
	if !ok {
		return ""
	}
	v, ok := f.info.Uses[sel.Sel].(*types.Var)
	if !ok || v.Pkg() == nil || v.Pkg().Path() != "os" || v.Name() != "Stdout" && v.Name() != "Stderr" {
		return ""
	}
	if to != nil {
		u := to.Underlying().(*types.Interface)
		for i := range u.NumMethods() {
			switch u.Method(i).Name() {
			case "Write", "WriteString", "Close", "Sync", "Name", "Fd":
			default:
				return ""
			}
		}
	}
	return fmt.Sprintf("%s.%s()", runtimeAlias, v.Name())
}

// isReceiver tells whether t, or what it points to, is the type that declares a method: not one that embeds it.
func isReceiver(m *types.Func, t types.Type) bool {
	recv := check.Receiver(m)
	return recv != nil && types.Identical(deref(t), recv)
}
