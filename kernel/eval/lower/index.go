package lower

import (
	"fmt"
	"go/ast"
	"go/types"
	"strings"
)

func (f *fn) index(x *ast.IndexExpr) string {
	if tv := f.info.Types[x.Index]; tv.IsType() {
		return f.expr(x.X) // an instance of a function
	}
	t := f.typeOf(x.X)
	base := operand(f.expr(x.X))
	switch u := t.Underlying().(type) {
	case *types.Map:
		return base + "[" + f.key(x.Index, u.Key()) + "]"
	case *types.Pointer:
		return "(*" + base + ")[" + f.expr(x.Index) + "]"
	}
	index := f.indexValue(x.Index)
	if f.isUnnamed(x) {
		return f.element(x, base, index)
	}
	_, array := t.Underlying().(*types.Array) // of which a constant index is checked already
	if f.once() && isName(strings.Trim(base, "(*)")) && !strings.Contains(base, "()") && (!array || f.varies(x.Index)) && !f.isParam(x.Index) {
		index = f.indexCheck(x.Index, index, base)
	}
	return base + "[" + index + "]"
}

// isUnnamed reports whether x is an index that is worth a check, into something that is no variable, as in [...]string{"a", "b"}[i] or
// words()[0].
func (f *fn) isUnnamed(x *ast.IndexExpr) bool {
	slice := isSlice(f.typeOf(x.X))
	if !f.once() || !f.varies(x.Index) && !slice {
		return false
	}
	switch base := ast.Unparen(x.X).(type) {
	case *ast.CompositeLit, *ast.SliceExpr:
	case *ast.CallExpr:
		if f.info.Types[base.Fun].IsType() && !slice {
			return false
		}
	case *ast.IndexExpr:
		if _, element := f.mapElement(base); !element {
			return false
		}
	default:
		return false
	}
	if slice {
		return true
	}
	_, plain := f.typeOf(x).Underlying().(*types.Basic)
	return plain && !holdsFloats(f.typeOf(x.X))
}

// element lowers such an index to the call of a function that checks it; of a slice, whose elements are places, that returns
// the elements from there on.
func (f *fn) element(x *ast.IndexExpr, base, index string) string {
	list, number := f.typ(f.typeOf(x.X)), "int"
	if f.isUnsigned(x.Index) {
		number = "uint64"
	}
	elem, form, first := f.typ(f.typeOf(x)), "%s", ""
	if _, slice := f.typeOf(x.X).Underlying().(*types.Slice); slice {
		elem, form, first = list, "%s:", "[0]"
	}
	at := f.l.helper("element "+list+" "+number, "element", func(name string) string {
		check := fmt.Sprintf(form, f.indexCheck(x.Index, "i", "x"))
		return fmt.Sprintf("func %s(x %s, i %s) %s { return x[%s] }", name, list, number, elem, check)
	})
	return fmt.Sprintf("%s(%s, %s(%s))%s", at, base, number, index, first)
}

// key lowers the key of a map, in which the interpreter wants a type for nil.
func (f *fn) key(x ast.Expr, t types.Type) string {
	text := f.conv(x, t)
	if text == "nil" {
		return "(" + f.typ(t) + ")(nil)"
	}
	return text
}

// pointed lowers a value of a map's literal: the interpreter leaves out what a nil pointer points to.
func (f *fn) pointed(x ast.Expr, t types.Type) string {
	text := f.conv(x, t)
	if !f.derefs(x) {
		return text
	}
	return f.same(text, t)
}

// same hands a value of type t through a function, which the interpreter evaluates it for.
func (f *fn) same(text string, t types.Type) string {
	typ := f.typ(t)
	same := f.l.helper("same "+typ, "same", func(name string) string {
		return fmt.Sprintf("func %s(v %s) %s { return v }", name, typ, typ)
	})
	return f.callable(same, nil, helperType(t, t)) + "(" + text + ")"
}

// solid is the text of x as an operand, or as what is called: for a string behind a nil pointer the operators of the interpreter
// take what reflection calls a value that is none, and the call of such a function does not end.
func (f *fn) solid(x ast.Expr, text string) string {
	if !f.derefs(x) {
		return text
	}
	switch t := f.typeOf(x).Underlying().(type) {
	case *types.Signature:
		return f.same(text, f.typeOf(x))
	case *types.Basic:
		if t.Info()&types.IsString != 0 {
			return f.same(text, f.typeOf(x))
		}
	}
	return text
}

// checked is the text of a pointer that may not be nil: of &*p and (*p).m() the interpreter leaves out what a nil one points to.
func (f *fn) checked(p ast.Expr) string {
	typ := f.typ(f.typeOf(p).Underlying())
	return f.l.helper("checked "+typ, "checked", func(name string) string {
		return fmt.Sprintf("func %s(p %s) %s { if p == nil { %s.NilPointer() }; return p }", name, typ, typ, runtimeAlias)
	}) + "(" + f.expr(p) + ")"
}

// address is the text of a variable's address: of what a call's result points to it is the result.
func address(text string) string {
	inner, ok := strings.CutPrefix(text, "(*")
	if inner = strings.TrimSuffix(inner, ")"); ok && strings.HasSuffix(inner, ")") && operand(inner) == inner {
		return inner
	}
	return "&" + text
}

// derefs tells *p, or a conversion of it.
func (f *fn) derefs(x ast.Expr) bool {
	switch x := ast.Unparen(x).(type) {
	case *ast.StarExpr:
		return true
	case *ast.CallExpr:
		return f.info.Types[x.Fun].IsType() && f.derefs(x.Args[0])
	}
	return false
}

// once reports whether a place is not run over and over. There an index is worth a check of its own, since the interpreter's error gives
// neither index nor length. The check costs about 1 µs.
func (f *fn) once() bool {
	for _, b := range f.frames {
		if b.loop {
			return false
		}
	}
	return true
}

// isParam reports whether x is a parameter of a function literal: functions that order elements are called with indices, over and over.
func (f *fn) isParam(x ast.Expr) bool {
	id, ok := ast.Unparen(x).(*ast.Ident)
	return ok && f.params[f.info.Uses[id]]
}

// isName tells text that can be written twice: names and dots only.
func isName(text string) bool {
	for _, r := range text {
		if strings.ContainsRune("()[]{} ,*&\"", r) {
			return false
		}
	}
	return true
}

// indexValue lowers an index; constants of any type are plain there.
func (f *fn) indexValue(x ast.Expr) string {
	if tv := f.info.Types[x]; tv.Value != nil {
		return literal(tv.Value, types.Typ[types.Int])
	}
	return f.expr(x)
}

func (f *fn) slice(x *ast.SliceExpr) string {
	base := operand(f.expr(x.X))
	if star, ok := ast.Unparen(x.X).(*ast.StarExpr); ok && isArray(f.typeOf(x.X)) {
		base = "(*" + f.checked(star.X) + ")"
	}
	pointer := isPointer(f.typeOf(x.X))
	if f.once() && (f.varies(x.Low) || f.varies(x.High) || f.varies(x.Max)) {
		return f.checkedSlice(x, base)
	}
	if pointer {
		base = "(*" + base + ")"
	}
	part := func(x ast.Expr) string {
		if x == nil {
			return ""
		}
		return f.indexValue(x)
	}
	text := base + "[" + part(x.Low) + ":" + part(x.High)
	if x.Slice3 {
		text += ":" + part(x.Max)
	}
	return text + "]"
}

func isArray(t types.Type) bool {
	_, ok := t.Underlying().(*types.Array)
	return ok
}

// varies reports whether a bound is there and not constant.
func (f *fn) varies(x ast.Expr) bool { return x != nil && f.info.Types[x].Value == nil }

// checkedSlice lowers a slice expression to the call of a literal that checks the bounds first.
func (f *fn) checkedSlice(x *ast.SliceExpr, base string) string {
	t := f.typeOf(x.X)
	if b, ok := t.(*types.Basic); ok {
		t = types.Default(b)
	}
	param, over, capacity := f.typ(t), "x", "cap(x)"
	switch t.Underlying().(type) {
	case *types.Array:
		param, base, over, capacity = "*"+f.typ(t), address(base), "(*x)", "-1"
	case *types.Pointer:
		over, capacity = "(*x)", "-1"
	case *types.Basic:
		capacity = "-1"
	}
	bounds, args, kind := []string{"0", "len(" + over + ")", "-1"}, base, ""
	params := "x " + param
	for i, part := range []ast.Expr{x.Low, x.High, x.Max} {
		if part == nil {
			continue
		}
		bounds[i] = []string{"i", "j", "k"}[i]
		if f.isUnsigned(part) {
			kind += strings.ToUpper(bounds[i])
		} else {
			kind += bounds[i]
		}
		params += ", " + bounds[i] + " int"
		args += ", int(" + f.indexValue(part) + ")"
	}
	text := over + "["
	if x.Low != nil {
		text += "i"
	}
	text += ":"
	if x.High != nil {
		text += "j"
	}
	if x.Slice3 {
		text += ":k"
	}
	return fmt.Sprintf("func(%s) %s { %s.Bounds(%q, %s, len(%s), %s); return %s] }(%s)",
		params, f.typ(f.typeOf(x)), runtimeAlias, kind, strings.Join(bounds, ", "), over, capacity, text, args)
}
