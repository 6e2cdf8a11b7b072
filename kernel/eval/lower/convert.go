package lower

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"strconv"
	"strings"
)

// isOpen reports whether t is an interface whose values are kept as interface{}; isCompiledIf, whether it is one that the back end has as a
// type.
func (l *Lowerer) isOpen(t types.Type) bool {
	if !types.IsInterface(t) {
		return false
	}
	if n, ok := types.Unalias(t).(*types.Named); ok {
		return l.named(n, token.NoPos).kind != compiledIf
	}
	return true
}

func (l *Lowerer) isCompiledIf(t types.Type) bool { return types.IsInterface(t) && !l.isOpen(t) }

// conv lowers x as a value of type to, to which it is assignable.
func (f *fn) conv(x ast.Expr, to types.Type) string {
	to = f.l.sub(to, f.env)
	from := f.typeOf(x)
	if tv := f.info.Types[x]; tv.Value != nil && !types.IsInterface(to) {
		return f.constant(tv.Value, to, x.Pos())
	}
	return f.convText(f.expr(x), from, to, x.Pos())
}

// convText converts lowered text of one type to another.
func (f *fn) convText(text string, from, to types.Type, pos token.Pos) string {
	l := f.l
	to = l.sub(to, f.env)
	if b, ok := from.(*types.Basic); ok && b.Kind() == types.UntypedNil {
		return "nil"
	}
	if !types.IsInterface(to) {
		if needsConversion(from, to) {
			return l.typeText(to, pos) + "(" + text + ")"
		}
		return text
	}
	switch {
	case l.isOpen(to) && l.isOpen(from):
		return text
	case l.isOpen(to) && types.IsInterface(from):
		return runtimeAlias + ".Any(" + text + ")"
	case l.isOpen(to):
		return l.boxText(text, from)
	case l.isCompiledIf(from) && !(hasStandIns(to) && !hasStandIns(from)):
		return text
	case l.isCompiledIf(from):
		return l.toInterface(to, pos) + "(" + runtimeAlias + ".Any(" + text + "))"
	case l.isOpen(from) || l.ownMethods(from):
		if !types.IsInterface(from) {
			l.refuseHiddenAbilities(from, to, pos)
			text = l.boxText(text, from)
		}
		return l.toInterface(to, pos) + "(" + text + ")"
	}
	return text
}

// needsConversion tells where assignability crosses from an unnamed struct to a marked one or back.
func needsConversion(from, to types.Type) bool {
	return !types.Identical(from, to) && isStruct(from) && isStruct(to)
}

// boxText wraps a value so that its dynamic type tells its declared type.
func (l *Lowerer) boxText(text string, t types.Type) string {
	if r := l.boxOf(t); r != "" {
		return r + "{V: " + text + "}"
	}
	if _, ok := t.Underlying().(*types.Signature); ok {
		return text
	}
	return "interface{}(" + text + ")"
}

// boxOf is the struct that values of t are wrapped in while in an interface, "" for none.
func (l *Lowerer) boxOf(t types.Type) string {
	t = types.Unalias(t)
	if p, ok := t.(*types.Pointer); ok {
		if r := l.pointed(p.Elem()); r != nil && r.pointer != "" {
			return r.pointer
		}
	}
	if n, ok := t.(*types.Named); ok {
		if r := l.named(n, token.NoPos); r.kind == boxed {
			return r.identity
		}
		return ""
	}
	if r := l.composite(t); r != nil {
		return r.identity
	}
	return ""
}

// pointed is the representation of what a pointer points to, if that is declared or may be boxed; nil for other types.
func (l *Lowerer) pointed(t types.Type) *rep {
	switch t := types.Unalias(t).(type) {
	case *types.Named:
		return l.named(t, token.NoPos)
	case *types.Slice, *types.Array, *types.Map:
		return l.composite(t)
	}
	return nil
}

// ownMethods tells whether a concrete type's methods are the cells' business: a declared type, a pointer to one, or a struct
// with embedded fields. A compiled type satisfies compiled interfaces by itself.
func (l *Lowerer) ownMethods(t types.Type) bool {
	t = types.Unalias(t)
	if p, ok := t.(*types.Pointer); ok {
		t = types.Unalias(p.Elem())
	}
	switch t := t.(type) {
	case *types.Named:
		if t.Obj().Pkg() == nil {
			return false
		}
		return l.named(t, token.NoPos).identity != ""
	case *types.Struct:
		return true
	}
	return false
}

// toInterface is a helper of the lowered program that gives a value the form of a compiled interface.
func (l *Lowerer) toInterface(t types.Type, pos token.Pos) string {
	text := l.typeText(t, pos)
	return l.helper("to "+text, "to", func(name string) string {
		return fmt.Sprintf("func %s(x interface{}) %s { var r %s; %s.Set(x, &r); return r }", name, text, text, runtimeAlias)
	})
}

// asserter is a helper that asserts a value, of which from names the static type, to hold a type; with ok it returns whether it
// does instead of panicking.
func (l *Lowerer) asserter(t types.Type, from string, ok bool, pos token.Pos) string {
	text := l.typeText(t, pos)
	box := l.boxOf(t)
	form, result, primitive := "must", text, "Must"
	if ok {
		form, result, primitive = "as", "("+text+", bool)", "As"
	}
	if l.isOpen(t) {
		return l.openAsserter(t, ok, pos)
	}
	return l.helper(form+" "+from+" "+text+box, form, func(name string) string {
		variable, value := text, "v"
		if box != "" {
			variable, value = box, "v.V"
		}
		if ok {
			return fmt.Sprintf("func %s(x interface{}) %s { var v %s; ok := %s.%s(x, &v); return %s, ok }", name, result, variable, runtimeAlias, primitive, value)
		}
		return fmt.Sprintf("func %s(x interface{}) %s { var v %s; %s.%s(x, &v, %q); return %s }", name, result, variable, runtimeAlias, primitive, from, value)
	})
}

// openAsserter asserts to an interface of the cells: that the value has its methods.
func (l *Lowerer) openAsserter(t types.Type, ok bool, pos token.Pos) string {
	methods, shown := l.methodList(t), shownType(t)
	form := map[bool]string{true: "as", false: "must"}[ok]
	return l.helper(form+" open "+shown+methods, form, func(name string) string {
		if ok {
			return fmt.Sprintf("func %s(x interface{}) (interface{}, bool) { if %s.Has(x, %s) { return x, true }; return nil, false }", name, runtimeAlias, methods)
		}
		return fmt.Sprintf("func %s(x interface{}) interface{} { %s.MustHave(x, %q, %s); return x }", name, runtimeAlias, shown, methods)
	})
}

// methodList writes the names of an interface's methods and a pointer to the type of each as arguments.
func (l *Lowerer) methodList(t types.Type) string {
	var names, forms []string
	for m := range t.Underlying().(*types.Interface).Methods() {
		names = append(names, strconv.Quote(m.Name()))
		forms = append(forms, ", new(func"+l.signatureText(m.Signature(), token.NoPos)+")")
	}
	return "[]string{" + strings.Join(names, ", ") + "}" + strings.Join(forms, "")
}

// is writes the condition that the interface value in text holds type t, nil where t is nil.
func (f *fn) is(text string, t types.Type, pos token.Pos) string {
	l := f.l
	if b, ok := t.(*types.Basic); ok && b.Kind() == types.UntypedNil {
		return text + " == nil"
	}
	if l.isOpen(t) {
		return fmt.Sprintf("%s.Has(%s, %s)", runtimeAlias, text, l.methodList(t))
	}
	name := l.boxOf(t)
	if name == "" {
		name = l.typeText(t, pos)
	}
	return fmt.Sprintf("%s.Is(%s, new(%s))", runtimeAlias, text, name)
}

func (l *Lowerer) helper(key, base string, text func(name string) string) string {
	if name, ok := l.helpers[key]; ok {
		return name
	}
	name := l.unique(base)
	set(l, l.helpers, key, name)
	l.out.funcs = append(l.out.funcs, text(name))
	return name
}

// constant writes a constant as a value of type t.
func (f *fn) constant(v constant.Value, t types.Type, pos token.Pos) string {
	t = f.l.sub(t, f.env)
	b, ok := t.Underlying().(*types.Basic)
	if !ok {
		return literal(v, types.Typ[types.Invalid])
	}
	if b.Info()&types.IsUntyped != 0 {
		b = types.Default(b).(*types.Basic)
		t = b
	}
	text := literal(v, b)
	switch plain := types.Unalias(t) == types.Type(b); {
	case plain && (b.Kind() == types.Int || b.Kind() == types.Float64 || b.Kind() == types.String || b.Kind() == types.Bool):
		return text
	default:
		return f.l.typeText(t, pos) + "(" + text + ")"
	}
}

// literal writes a constant's value in the form that its kind has.
func literal(v constant.Value, b *types.Basic) string {
	switch info := b.Info(); {
	case info&types.IsBoolean != 0:
		return strconv.FormatBool(constant.BoolVal(v))
	case info&types.IsString != 0:
		return strconv.Quote(constant.StringVal(v))
	case info&types.IsInteger != 0:
		return constant.ToInt(v).ExactString()
	case info&types.IsFloat != 0:
		return float(constant.ToFloat(v))
	case info&types.IsComplex != 0:
		c := constant.ToComplex(v)
		return "complex(" + float(constant.Real(c)) + ", " + float(constant.Imag(c)) + ")"
	}
	return v.ExactString()
}

func float(v constant.Value) string {
	x, _ := constant.Float64Val(v)
	s := strconv.FormatFloat(x, 'g', -1, 64)
	if !strings.ContainsAny(s, ".eE") {
		s += ".0"
	}
	return s
}

// zero writes the zero value of a type.
func (f *fn) zero(t types.Type) string {
	t = f.l.sub(t, f.env)
	switch u := t.Underlying().(type) {
	case *types.Basic:
		switch {
		case u.Info()&types.IsBoolean != 0:
			return f.constant(constant.MakeBool(false), t, token.NoPos)
		case u.Info()&types.IsString != 0:
			return f.constant(constant.MakeString(""), t, token.NoPos)
		}
		return f.constant(constant.MakeInt64(0), t, token.NoPos)
	case *types.Struct, *types.Array:
		return f.l.typ(t) + "{}"
	}
	return "nil"
}
