package lower

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"strings"
)

// selector lowers x.f: a name of a package, a field, or a method used as a value.
func (f *fn) selector(x *ast.SelectorExpr) string {
	if id, ok := x.X.(*ast.Ident); ok {
		if _, ok := f.info.Uses[id].(*types.PkgName); ok {
			return f.packageMember(x)
		}
	}
	if tv := f.info.Types[x.X]; tv.IsType() {
		return f.methodExpr(x)
	}
	s := f.resolve(x)
	if s.method != nil {
		return f.methodValue(x, s)
	}
	return s.text
}

// shownFields are fields that would show how cells are compiled, and the functions that make of them what a program would have.
var shownFields = map[string]string{"reflect.PkgPath": "CellPath", "runtime.Function": "PlainName"}

// shownField is the value of such a field: of a reflect.StructField, a reflect.Method or a runtime.Frame.
func (f *fn) shownField(x *ast.SelectorExpr, text string) string {
	v, ok := f.info.Uses[x.Sel].(*types.Var)
	if !ok || !v.IsField() || v.Pkg() == nil || shownFields[v.Pkg().Path()+"."+v.Name()] == "" {
		return text
	}
	return runtimeAlias + "." + shownFields[v.Pkg().Path()+"."+v.Name()] + "(" + text + ")"
}

func (f *fn) packageMember(x *ast.SelectorExpr) string {
	switch o := f.info.Uses[x.Sel].(type) {
	case *types.Func:
		return f.funcValue(x.Sel, o)
	case *types.Var:
		return f.variable(o, x.Pos())
	}
	refuse(x.Pos(), "%s is not supported by the interpreter", types.ExprString(x))
	return ""
}

// selected is what a selector names: a field, whose value text is, or a method of the value in text of type typ, which may be
// addressable.
type selected struct {
	text        string
	typ         types.Type
	method      *types.Func
	addressable bool
}

// resolve follows a selector through embedded fields. In an instance of a generic function the types are known only now,
// so go/types' own selections do not serve.
func (f *fn) resolve(x *ast.SelectorExpr) selected {
	t := f.typeOf(x.X)
	o := f.info.Uses[x.Sel]
	o, index, _ := types.LookupFieldOrMethod(t, true, o.Pkg(), x.Sel.Name)
	if o == nil {
		refuse(x.Sel.Pos(), "%s is not known to %s", x.Sel.Name, t)
	}
	text := operand(f.expr(x.X))
	if star, ok := ast.Unparen(x.X).(*ast.StarExpr); ok && len(index) == 1 && takesPointer(o) {
		text = "(*" + f.checked(star.X) + ")"
	}
	addressable := f.info.Types[x.X].Addressable()
	for _, i := range index[:len(index)-1] {
		if v, ok := o.(*types.Var); f.compiledStruct(t) && (!ok || !f.l.hiddenField(v)) { // promoted: the fields between need not be exported
			if m, ok := o.(*types.Func); ok {
				return selected{text, t, m, addressable}
			}
			return selected{text: text + "." + o.Name(), typ: o.Type()}
		}
		text, t, addressable = f.fieldOf(text, t, i, addressable, x.Pos())
	}
	if m, ok := o.(*types.Func); ok {
		return selected{text, t, m, addressable}
	}
	text, t, _ = f.fieldOf(text, t, index[len(index)-1], addressable, x.Pos())
	return selected{text: text, typ: t}
}

// takesPointer reports whether o is a method whose receiver is a pointer.
func takesPointer(o types.Object) bool {
	m, ok := o.(*types.Func)
	return ok && isPointer(m.Signature().Recv().Type())
}

// compiledStruct reports whether t is a struct type of a compiled package, or a pointer to one.
func (f *fn) compiledStruct(t types.Type) bool {
	n, ok := types.Unalias(deref(t)).(*types.Named)
	return ok && n.Obj().Pkg() != nil && f.l.isCompiled(n) && isStruct(n)
}

// fieldOf is field, for structs of compiled cells too.
func (f *fn) fieldOf(text string, t types.Type, i int, addressable bool, pos token.Pos) (string, types.Type, bool) {
	_, pointer := t.Underlying().(*types.Pointer)
	if u, ok := types.Unalias(deref(t)).(*types.Struct); ok {
		f.l.refuseOwnForm(u, pos)
	}
	if f.compiledStruct(t) {
		v := deref(t).Underlying().(*types.Struct).Field(i)
		return f.compiledField(text, t, v, addressable), v.Type(), addressable || pointer
	}
	text, t = f.field(text, t, i, pos)
	return text, t, addressable || pointer
}

// field selects the i-th field of a struct or of what a pointer points to.
func (f *fn) field(text string, t types.Type, i int, pos token.Pos) (string, types.Type) {
	text, v, erased := f.rawField(text, t, i)
	if erased {
		return f.l.unerase(v.Type(), pos) + "(" + text + ")", v.Type()
	}
	return text, v.Type()
}

func (f *fn) rawField(text string, t types.Type, i int) (string, *types.Var, bool) {
	if p, ok := t.Underlying().(*types.Pointer); ok {
		t = p.Elem()
	}
	u := t.Underlying().(*types.Struct)
	erased := false
	if n, ok := types.Unalias(t).(*types.Named); ok && n.Obj().Pkg() != nil {
		erased = f.l.named(n, token.NoPos).erased[i]
	}
	return text + "." + fieldName(u, i), u.Field(i), erased
}

// unerase is a helper that gives the value of an erased field its type; a field never set is nil.
func (l *Lowerer) unerase(t types.Type, pos token.Pos) string {
	text := l.typeText(t, pos)
	return l.helper("unerase "+text, "get", func(name string) string {
		return fmt.Sprintf("func %s(x interface{}) %s { if x == nil { return nil }; return x.(%s) }", name, text, text)
	})
}

// receiverArg adapts the value of a selected method to the method's receiver.
func (f *fn) receiverArg(s selected) string {
	_, wantsPointer := types.Unalias(s.method.Signature().Recv().Type()).(*types.Pointer)
	_, isPointer := s.typ.Underlying().(*types.Pointer)
	switch {
	case wantsPointer && !isPointer:
		return address(s.text)
	case !wantsPointer && isPointer:
		return "*" + s.text
	}
	return s.text
}

// ownMethod tells whether a method is lowered, that is a function with its receiver in front, and returns its name.
func (f *fn) ownMethod(s selected, pos token.Pos) (name string, own bool) {
	if types.IsInterface(s.typ) {
		return "", false
	}
	t := types.Unalias(s.typ)
	if p, ok := t.(*types.Pointer); ok {
		t = types.Unalias(p.Elem())
	}
	n, ok := t.(*types.Named)
	if !ok || n.Obj().Pkg() == nil {
		return "", false
	}
	m := s.method.Origin()
	if f.l.isCompiled(n) && n.Obj().Pkg().Path() == "main" {
		return "", false
	}
	if n.Obj().Pkg().Path() != "main" && f.l.decls[n.Origin().Obj()] == nil {
		if n.TypeArgs().Len() == 0 {
			return "", false
		}
		source, _ := f.l.sourceOf(m, pos)
		m = source.(*types.Func)
	}
	args := make([]types.Type, n.TypeArgs().Len())
	for i := range args {
		args[i] = n.TypeArgs().At(i)
	}
	return f.l.function(m, args, pos), true
}

// methodValue lowers x.m used as a value: the receiver is evaluated and kept now.
func (f *fn) methodValue(x *ast.SelectorExpr, s selected) string {
	sig := f.typeOf(x).(*types.Signature)
	if f.l.isOpen(s.typ) {
		return f.dynamic(s.text, s.method.Name(), sig)
	}
	name, own := f.ownMethod(s, x.Pos())
	f.refuseRecovering(x.Pos(), s.method.Name(), f.l.recovers(s.method))
	if !own {
		return f.compiledValue(x, s, sig)
	}
	recv := f.l.unique("v")
	params, args := f.forward(sig)
	rt := f.typ(s.method.Signature().Recv().Type())
	if n, ok := types.Unalias(deref(s.typ)).(*types.Named); ok {
		rt = f.typ(n)
		if _, ptr := types.Unalias(s.method.Signature().Recv().Type()).(*types.Pointer); ptr {
			rt = "*" + rt
		}
	}
	body := f.returning(sig) + f.callable(name, f.receiverType(s), sig) + "(" + strings.Join(append([]string{recv}, args...), ", ") + ")"
	fun := fmt.Sprintf("func(%s)%s { %s }", params, f.resultList(sig), body)
	return fmt.Sprintf("func(%s %s) %s { return %s }(%s)", recv, rt, f.typ(sig), fun, f.receiverArg(s))
}

// compiledValue is methodValue for methods of compiled types and interfaces. The interpreter would read the receiver when the value
// is called, so the primitives make it, of a copy.
func (f *fn) compiledValue(x *ast.SelectorExpr, s selected, sig *types.Signature) string {
	f.refuseBlind(x.Pos(), s.method)
	if stream := f.standardStream(x.X, nil); stream != "" {
		return f.dynamic(stream, x.Sel.Name, sig)
	}
	s = f.promoted(s, x.Pos())
	if types.IsInterface(s.typ) {
		return f.dynamic(f.convText(s.text, s.typ, anyType, x.Pos()), f.l.methodName(s.method), sig)
	}
	if !f.isReplaced(s) && !f.shows(s.method) {
		return f.dynamic("interface{}("+f.receiverArg(s)+")", f.l.methodName(s.method), sig)
	}
	recv, typ := f.l.unique("v"), f.typ(f.receiverType(s))
	params, args := f.forward(sig)
	kept := selected{text: recv, typ: f.receiverType(s), method: s.method, addressable: true}
	fun := fmt.Sprintf("func(%s)%s { %s%s }", params, f.resultList(sig), f.returning(sig), f.compiledCall(kept, args))
	return fmt.Sprintf("func(%s %s) %s { return %s }(%s)", recv, typ, f.typ(sig), fun, f.receiverArg(s))
}

// promoted follows a method that a compiled struct has from an embedded field to that field. What is on the way is evaluated with
// the receiver, so a field there that the interpreter cannot select is passed over only where a copy of the struct is as good.
func (f *fn) promoted(s selected, pos token.Pos) selected {
	_, index, _ := types.LookupFieldOrMethod(s.typ, true, s.method.Pkg(), s.method.Name())
	for n, i := range index[:len(index)-1] {
		u := deref(s.typ).Underlying().(*types.Struct)
		if v := u.Field(i); !v.Exported() && !f.l.hiddenField(v) {
			if behindPointer(u, index[n:len(index)-1]) {
				refuse(pos, "%s is a method of what a field points to that the interpreter cannot select: call it in a function literal", s.method.Name())
			}
			return s
		}
		s.text, s.typ, s.addressable = f.fieldOf(s.text, s.typ, i, s.addressable, pos)
	}
	return s
}

// behindPointer tells whether a path of embedded fields leads through a pointer or an interface.
func behindPointer(u *types.Struct, path []int) bool {
	for _, i := range path {
		t := u.Field(i).Type()
		next, ok := t.Underlying().(*types.Struct)
		if !ok {
			return isPointer(t) || types.IsInterface(t)
		}
		u = next
	}
	return false
}

// isReplaced reports whether the primitives have a function in place of a method.
func (f *fn) isReplaced(s selected) bool {
	return replacedMethods[s.method.FullName()] != "" && isReceiver(s.method, s.typ)
}

// compiledCall calls a method of a compiled type, whose arguments are parameters of a function that hands them on.
func (f *fn) compiledCall(s selected, args []string) string {
	f.showArgs(s.method, args)
	if !f.isReplaced(s) {
		return s.text + "." + f.l.methodName(s.method) + "(" + strings.Join(args, ", ") + ")"
	}
	recv := s.text
	if !isPointer(s.typ) {
		recv = address(recv)
	}
	return fmt.Sprintf("%s.%s(%s)", runtimeAlias, replacedMethods[s.method.FullName()], strings.Join(append([]string{recv}, args...), ", "))
}

func deref(t types.Type) types.Type {
	if p, ok := t.Underlying().(*types.Pointer); ok {
		return p.Elem()
	}
	return t
}

// methodExpr lowers T.m and (*T).m: a function with the receiver in front.
func (f *fn) methodExpr(x *ast.SelectorExpr) string {
	sig := f.typeOf(x).(*types.Signature)
	params, args := f.forward(sig)
	recv := sig.Params().At(0).Type()
	m, index, _ := types.LookupFieldOrMethod(recv, true, f.info.Uses[x.Sel].Pkg(), x.Sel.Name)
	s := selected{args[0], recv, m.(*types.Func), true}
	for _, i := range index[:len(index)-1] {
		s.text, s.typ = f.field(s.text, s.typ, i, x.Pos())
	}
	f.refuseRecovering(x.Pos(), s.method.Name(), f.l.recovers(s.method))
	call := ""
	switch name, own := f.ownMethod(s, x.Pos()); {
	case own:
		call = f.callable(name, f.receiverType(s), s.method.Signature()) + "(" + strings.Join(append([]string{f.receiverArg(s)}, args[1:]...), ", ") + ")"
	case f.l.isOpen(s.typ):
		call = f.dynamic(s.text, s.method.Name(), s.method.Signature()) + "(" + strings.Join(args[1:], ", ") + ")"
	default:
		f.refuseBlind(x.Pos(), s.method)
		call = f.compiledCall(s, args[1:])
	}
	return apart(fmt.Sprintf("func(%s)%s { %s%s%s }", params, f.resultList(sig), f.needsValue(s, len(index)), f.returning(sig), call), f.typ(sig))
}

// needsValue writes the check of a receiver that is a pointer, for a method expression of the pointer's type, if the method, at
// that depth, takes a value: of that the runtime tells in other words than of a nil dereference.
func (f *fn) needsValue(s selected, depth int) string {
	n, ok := types.Unalias(deref(s.typ)).(*types.Named)
	if !ok || depth > 1 || !isPointer(s.typ) || takesPointer(s.method) {
		return ""
	}
	return fmt.Sprintf("if %s == nil { %s.NilReceiver(%q, %q) }; ", s.text, runtimeAlias, shownName(n), s.method.Name())
}

// forward writes the parameters of a function that hands its arguments on, and these.
func (f *fn) forward(sig *types.Signature) (params string, args []string) {
	args = f.temps(sig.Params().Len(), "a")
	parts := make([]string, len(args))
	for i, a := range args {
		parts[i] = a + " " + f.l.paramText(f.l.sub(sig, f.env).(*types.Signature), i, token.NoPos)
		if sig.Variadic() && i == len(args)-1 {
			args[i] += "..."
		}
	}
	return strings.Join(parts, ", "), args
}

func (f *fn) resultList(sig *types.Signature) string {
	if sig.Results().Len() == 0 {
		return ""
	}
	parts := make([]string, sig.Results().Len())
	for i := range parts {
		parts[i] = f.typ(sig.Results().At(i).Type())
	}
	return " (" + strings.Join(parts, ", ") + ")"
}

func (f *fn) returning(sig *types.Signature) string {
	if sig.Results().Len() == 0 {
		return ""
	}
	return "return "
}

// dynamic finds a method of a value in an interface of the cells at run time.
func (f *fn) dynamic(text, method string, sig *types.Signature) string {
	sig = f.l.sub(sig, f.env).(*types.Signature)
	return fmt.Sprintf("%s.Lookup(%s, %q).(func%s)", runtimeAlias, text, method, f.l.signatureText(sig, token.NoPos))
}
