package lower

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strconv"
	"strings"

	"cancha/kernel/eval/check"
)

// expr lowers x as a value of its own type.
func (f *fn) expr(x ast.Expr) string {
	if name, ok := f.held[x]; ok {
		return name
	}
	if tv, ok := f.info.Types[x]; ok && tv.Value != nil {
		return f.constant(tv.Value, tv.Type, x.Pos())
	}
	switch x := x.(type) {
	case *ast.ParenExpr:
		return "(" + f.expr(x.X) + ")"
	case *ast.Ident:
		return f.ident(x)
	case *ast.SelectorExpr:
		return f.shownField(x, f.selector(x))
	case *ast.CallExpr:
		return f.call(x)
	case *ast.FuncLit:
		f.refuseRecovering(x.Pos(), "a function literal", check.CallsRecover(f.info, x.Body))
		return apart(f.literal(x, ""), f.typ(f.typeOf(x)))
	case *ast.CompositeLit:
		return f.composite(x)
	case *ast.IndexExpr:
		return f.index(x)
	case *ast.IndexListExpr:
		return f.expr(x.X) // an instance of a function; ident and selector know the arguments
	case *ast.SliceExpr:
		return f.slice(x)
	case *ast.StarExpr:
		return "*" + operand(f.expr(x.X))
	case *ast.UnaryExpr:
		return f.declaredBool(x, f.unary(x))
	case *ast.BinaryExpr:
		return f.declaredBool(x, f.binary(x))
	case *ast.TypeAssertExpr:
		t := f.typeOf(x)
		if tuple, ok := t.(*types.Tuple); ok {
			return f.l.asserter(tuple.At(0).Type(), "", true, x.Pos()) + "(" + f.openValue(x.X) + ")"
		}
		return f.l.asserter(t, shownType(f.typeOf(x.X)), false, x.Pos()) + "(" + f.openValue(x.X) + ")"
	}
	refuse(x.Pos(), "this expression is not supported by the interpreter: %s", types.ExprString(x))
	return ""
}

// operand puts text in parentheses unless it binds as tight as a name. Literals get none: the interpreter stumbles over
// them.
func operand(text string) string {
	if isLiteral(text) {
		return text
	}
	for i, r := range text {
		if r == '_' || r == '.' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r > 127 {
			continue
		}
		if i > 0 && (r == '(' || r == '[') && closes(text[i:]) {
			return text
		}
		return "(" + text + ")"
	}
	return text
}

func isLiteral(text string) bool {
	if _, err := strconv.Unquote(text); err == nil {
		return true
	}
	_, err := strconv.ParseFloat(text, 64)
	return err == nil
}

// closes tells whether the bracket that text begins with is closed by its last byte.
func closes(text string) bool {
	depth := 0
	for i := range len(text) {
		switch text[i] {
		case '(', '[', '{':
			depth++
		case ')', ']', '}':
			if depth--; depth == 0 {
				return i == len(text)-1
			}
		case '"', '`', '\'':
			return false
		}
	}
	return false
}

// openValue lowers the operand of a type assertion: an interface value in the form of interface{}.
func (f *fn) openValue(x ast.Expr) string {
	return f.convText(f.expr(x), f.typeOf(x), anyType, x.Pos())
}

func (f *fn) ident(x *ast.Ident) string {
	o := f.object(x)
	switch o := o.(type) {
	case *types.Nil:
		return "nil"
	case *types.Func:
		return f.funcValue(x, o)
	case *types.Var:
		return f.variable(o, x.Pos())
	case nil:
		if x.Name == "_" {
			return "_"
		}
	}
	if x.Name == "_" {
		return "_"
	}
	refuse(x.Pos(), "%s is not supported by the interpreter", x.Name)
	return ""
}

func (f *fn) variable(v *types.Var, pos token.Pos) string {
	if name, ok := f.l.names[v]; ok {
		if f.l.hidden[name] {
			refuse(pos, "variable %s has a type that only compiled cells know", v.Name())
		}
		if f.statements {
			return "(*" + name + ")"
		}
		return name
	}
	if v.Name() == "_" {
		return "_"
	}
	if v.Pkg() != nil && v.Parent() == v.Pkg().Scope() {
		if v.Exported() && f.l.cfg.Has(v.Pkg().Path(), v.Name()) {
			return f.l.qualified(v, pos)
		}
		refuse(pos, "the interpreter has no access to variable %s.%s", v.Pkg().Path(), v.Name())
	}
	return f.local(v)
}

// funcValue lowers a function that is used as a value. The interpreter's own functions have to pass through a primitive,
// which makes them values that interfaces and compiled code can hold.
func (f *fn) funcValue(x *ast.Ident, o *types.Func) string {
	name, own := f.funcName(x, o)
	f.refuseRecovering(x.Pos(), o.Name(), f.l.recovers(o))
	if !own {
		return f.compiledFunc(x, o, name)
	}
	t := o.Type()
	if inst, ok := f.info.Instances[x]; ok {
		t = inst.Type
	}
	// In a function of its own: where the interpreter comes upon a function that is declared later, it reads the function around
	// it twice, and then does not call what a literal has asserted.
	typ := f.typ(t)
	return f.l.helper("value "+name, "value", func(helper string) string {
		return fmt.Sprintf("func %s() %s { return %s.Value(%s).(%s) }", helper, typ, runtimeAlias, name, typ)
	}) + "()"
}

// compiledFunc is funcValue for a compiled function.
func (f *fn) compiledFunc(x *ast.Ident, o *types.Func, name string) string {
	f.refuseBlind(x.Pos(), o)
	if !f.shows(o) {
		return name
	}
	params, args := f.forward(o.Signature())
	f.showArgs(o, args)
	return apart(fmt.Sprintf("func(%s)%s { %s%s(%s) }", params, f.resultList(o.Signature()), f.returning(o.Signature()), name, strings.Join(args, ", ")), f.typ(o.Type()))
}

// funcName is the name by which a function is called; own tells that it is one of the lowered program.
func (f *fn) funcName(x *ast.Ident, o *types.Func) (name string, own bool) {
	args := f.instanceArgs(x)
	o = o.Origin()
	if f.l.ofCompiledCell(o) {
		if o.Signature().TypeParams().Len() > 0 {
			refuse(x.Pos(), "the interpreter has no instance of the compiled function %s", o.Name())
		}
		text, _ := f.l.compiledSymbol(o)
		return text, false
	}
	if o.Pkg() != nil && o.Pkg().Path() != "main" {
		refuseUnfit(x, o)
	}
	if o.Pkg() != nil && o.Pkg().Path() != "main" && len(args) == 0 {
		if primitive, ok := replaced[o.Pkg().Path()+"."+o.Name()]; ok {
			return runtimeAlias + "." + primitive, false
		}
		if o.Exported() && f.l.cfg.Has(o.Pkg().Path(), o.Name()) {
			return f.l.qualified(o, x.Pos()), false
		}
		if f.l.decls[o] == nil {
			if !strings.HasPrefix(o.Pkg().Path(), "internal/") && !isStandard(o.Pkg().Path()) {
				refuse(x.Pos(), "%s.%s is not among the compiled symbols of the interpreter", o.Pkg().Path(), o.Name())
			}
			source, d := f.l.sourceOf(o, x.Pos())
			if d.fn == nil {
				refuse(x.Pos(), "%s.%s is not a function", o.Pkg().Path(), o.Name())
			}
			o = source.(*types.Func)
		}
	}
	if len(args) > 0 && f.l.decls[o] == nil {
		if !isStandard(o.Pkg().Path()) {
			refuse(x.Pos(), "%s.%s is generic: the interpreter has no source of package %s to build it from; call it from a compiled function of that package instead", o.Pkg().Path(), o.Name(), o.Pkg().Path())
		}
		source, _ := f.l.sourceOf(o, x.Pos())
		o = source.(*types.Func)
	}
	name = f.l.function(o, args, x.Pos())
	f.calls(name)
	return name, true
}

// isStandard reports whether path is that of a package of the standard library: its first element has no dot. The library wing's paths have
// none either; they are recognised by name.
func isStandard(path string) bool {
	first, _, _ := strings.Cut(path, "/")
	return !strings.Contains(first, ".") && first != "cancha"
}

// instanceArgs are the type arguments of a generic function at one of its uses.
func (f *fn) instanceArgs(x *ast.Ident) []types.Type {
	inst, ok := f.info.Instances[x]
	if !ok {
		return nil
	}
	args := make([]types.Type, inst.TypeArgs.Len())
	for i := range args {
		args[i] = f.l.sub(inst.TypeArgs.At(i), f.env)
	}
	return args
}

func (f *fn) unary(x *ast.UnaryExpr) string {
	switch x.Op {
	case token.ARROW:
		return f.receive(x)
	case token.AND:
		if lit, ok := ast.Unparen(x.X).(*ast.CompositeLit); ok {
			if text, ok := f.made(lit, f.typeOf(lit)); ok {
				return f.addressOf(text, f.typeOf(lit), x.Pos())
			}
			return "&" + f.composite(lit)
		}
		f.refuseErased(x.X)
		if star, ok := ast.Unparen(x.X).(*ast.StarExpr); ok {
			return f.checked(star.X)
		}
		return "&" + f.lvalue(x.X)
	}
	return x.Op.String() + operand(f.expr(x.X))
}

// refuseErased refuses to take the address of a field that is not kept in its own type.
func (f *fn) refuseErased(x ast.Expr) {
	if _, erased := f.erasedField(x); erased {
		refuse(x.Pos(), "the address of %s, a field in a circle of types that refer to each other, is not supported by the interpreter", types.ExprString(x))
	}
}

func (f *fn) binary(x *ast.BinaryExpr) string {
	switch x.Op {
	case token.EQL, token.NEQ:
		return f.comparison(x)
	case token.SHL, token.SHR:
		left := operand(f.expr(x.X))
		if f.info.Types[x.X].Value != nil && isLiteral(left) { // the interpreter drops the statement with a plain constant
			left = f.typ(f.defaultType(x.X)) + "(" + left + ")"
		}
		return left + " " + x.Op.String() + " " + operand(f.shiftCount(x.Y))
	case token.LAND, token.LOR:
		return settle(operand(f.expr(x.X)), x.Op) + " " + x.Op.String() + " " + operand(f.ordered(x.Y))
	}
	return operand(f.solid(x.X, f.expr(x.X))) + " " + x.Op.String() + " " + operand(f.solid(x.Y, f.expr(x.Y)))
}

// settle prepares the left operand of && or ||. The interpreter does not evaluate one that begins with parentheses around a
// name, a literal or a type: it takes what it comes upon first for the whole operand, unless that is a constant.
func settle(left string, op token.Token) string {
	if !strings.ContainsAny(strings.Trim(left, "()"), "([{") && !strings.HasPrefix(left, "((") && !strings.HasPrefix(left, "(*") {
		return left
	}
	return map[token.Token]string{token.LAND: "true && ", token.LOR: "false || "}[op] + left
}

// shiftCount lowers the right operand of a shift; a constant may have any numeric type.
func (f *fn) shiftCount(x ast.Expr) string {
	if tv := f.info.Types[x]; tv.Value != nil {
		return f.constant(tv.Value, types.Typ[types.Uint], x.Pos())
	}
	if b, ok := f.typeOf(x).Underlying().(*types.Basic); ok && b.Info()&types.IsUnsigned == 0 {
		return fmt.Sprintf("%s.ShiftCount(int64(%s))", runtimeAlias, f.expr(x)) // the interpreter takes a negative one for a large one
	}
	return f.expr(x)
}

// defaultType is the type of x, where it is not typed the one that it gets by itself.
func (f *fn) defaultType(x ast.Expr) types.Type { return types.Default(f.typeOf(x)) }

// comparison lowers == and !=. Values in interfaces are compared by a primitive, which knows what they stand for.
func (f *fn) comparison(x *ast.BinaryExpr) string {
	tx, ty := f.typeOf(x.X), f.typeOf(x.Y)
	direct := isNil(tx) && !f.toInterface(x.Y) || isNil(ty) && !f.toInterface(x.X)
	if direct || !types.IsInterface(tx) && !types.IsInterface(ty) {
		if !direct {
			f.l.refuseWrapped(tx, "compared", x.Pos())
		}
		if made := f.madeChannel(x); made != nil && direct { // the interpreter fails where there is no variable
			return fmt.Sprintf("func() bool { c := %s; return c %s nil }()", f.expr(made), x.Op)
		}
		left, right := f.solid(x.X, f.expr(x.X)), f.solid(x.Y, f.expr(x.Y))
		if needsConversion(tx, ty) {
			right = f.l.typ(tx) + "(" + right + ")"
		}
		return operand(left) + " " + x.Op.String() + " " + operand(right)
	}
	text := fmt.Sprintf("%s.Equal(%s, %s)", runtimeAlias, f.conv(x.X, anyType), f.conv(x.Y, anyType))
	if x.Op == token.NEQ {
		return "!" + text
	}
	return text
}

// madeChannel is the operand of a comparison with nil that makes a channel, nil where there is none.
func (f *fn) madeChannel(x *ast.BinaryExpr) ast.Expr {
	for _, side := range []ast.Expr{x.X, x.Y} {
		call, ok := ast.Unparen(side).(*ast.CallExpr)
		if !ok {
			continue
		}
		_, isChan := f.typeOf(side).Underlying().(*types.Chan)
		if id, ok := ast.Unparen(call.Fun).(*ast.Ident); isChan && ok && f.info.Uses[id] == types.Universe.Lookup("make") {
			return side
		}
	}
	return nil
}

// toInterface reports whether x is a conversion to an interface, which the interpreter compares as the value before the conversion.
func (f *fn) toInterface(x ast.Expr) bool {
	call, ok := ast.Unparen(x).(*ast.CallExpr)
	return ok && f.info.Types[call.Fun].IsType() && types.IsInterface(f.typeOf(x))
}

func isNil(t types.Type) bool {
	b, ok := t.(*types.Basic)
	return ok && b.Kind() == types.UntypedNil
}

// composite lowers a composite literal; its type is written out, and a struct's fields are named.
func (f *fn) composite(x *ast.CompositeLit) string {
	t := f.typeOf(x)
	prefix := ""
	if p, ok := t.Underlying().(*types.Pointer); ok { // elided &T
		t, prefix = p.Elem(), "&"
	}
	if text, ok := f.made(x, t); ok {
		if prefix == "" {
			return text
		}
		return f.addressOf(text, t, x.Pos())
	}
	var parts []string
	switch u := t.Underlying().(type) {
	case *types.Struct:
		for i, e := range x.Elts {
			parts = append(parts, f.structElement(u, i, e))
		}
	case *types.Map:
		for _, e := range x.Elts {
			kv := e.(*ast.KeyValueExpr)
			parts = append(parts, f.key(kv.Key, u.Key())+": "+f.pointed(kv.Value, u.Elem()))
		}
	case *types.Slice:
		parts = f.elements(x.Elts, u.Elem())
	case *types.Array:
		parts = f.elements(x.Elts, u.Elem())
	}
	return prefix + f.l.typeText(t, x.Pos()) + "{" + strings.Join(parts, ", ") + "}"
}

func (f *fn) structElement(u *types.Struct, i int, e ast.Expr) string {
	if kv, ok := e.(*ast.KeyValueExpr); ok {
		name := kv.Key.(*ast.Ident).Name
		for k := range u.NumFields() {
			if u.Field(k).Name() == name {
				return fieldName(u, k) + ": " + f.conv(kv.Value, u.Field(k).Type())
			}
		}
	}
	return fieldName(u, i) + ": " + f.conv(e, u.Field(i).Type())
}

func (f *fn) elements(elts []ast.Expr, elem types.Type) []string {
	parts, keyed := make([]string, len(elts)), slices.ContainsFunc(elts, isKeyed)
	for i, e := range elts {
		if kv, ok := e.(*ast.KeyValueExpr); ok {
			parts[i] = f.indexValue(kv.Key) + ": " + f.conv(kv.Value, elem)
			continue
		}
		parts[i] = f.conv(e, elem)
		if !keyed && isFieldOfElement(e) { // whose type the interpreter asks for too early, unless it has a key
			parts[i] = strconv.Itoa(i) + ": " + parts[i]
		}
	}
	return parts
}

func isKeyed(e ast.Expr) bool {
	_, ok := e.(*ast.KeyValueExpr)
	return ok
}

// isFieldOfElement tells x[i].f.
func isFieldOfElement(e ast.Expr) bool {
	s, ok := ast.Unparen(e).(*ast.SelectorExpr)
	if !ok {
		return false
	}
	_, ok = ast.Unparen(s.X).(*ast.IndexExpr)
	return ok || isFieldOfElement(s.X)
}

// lvalue lowers what is assigned to or whose address is taken.
func (f *fn) lvalue(x ast.Expr) string {
	switch x := ast.Unparen(x).(type) {
	case *ast.SelectorExpr:
		if text, erased := f.erasedField(x); erased {
			return text
		}
		if name, ok := f.held[x]; ok {
			return name
		}
		return f.selector(x)
	case *ast.StarExpr:
		return "*" + operand(f.expr(x.X))
	}
	return f.expr(x)
}

// erasedField returns the text of an erased field as it is kept.
func (f *fn) erasedField(x ast.Expr) (string, bool) {
	sel, ok := ast.Unparen(x).(*ast.SelectorExpr)
	if !ok || f.info.Selections[sel] == nil || f.info.Selections[sel].Kind() != types.FieldVal {
		return "", false
	}
	t := f.typeOf(sel.X)
	_, index, _ := types.LookupFieldOrMethod(t, true, f.info.Uses[sel.Sel].Pkg(), sel.Sel.Name)
	text := operand(f.expr(sel.X))
	for _, i := range index[:len(index)-1] {
		text, t, _ = f.fieldOf(text, t, i, f.info.Types[sel.X].Addressable(), x.Pos())
	}
	text, _, erased := f.rawField(text, t, index[len(index)-1])
	return text, erased
}
