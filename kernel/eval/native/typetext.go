package native

import (
	"fmt"
	"go/constant"
	"go/token"
	"go/types"
	"strconv"
	"strings"
)

// typeText writes a type in names that no declaration of the cell hides.
func (w *writer) typeText(t types.Type, pos token.Pos) string {
	switch t := t.(type) {
	case *types.Basic:
		switch t.Kind() {
		case types.UnsafePointer:
			return w.imported("unsafe") + ".Pointer"
		case types.UntypedNil:
			refuse(pos, "nil has no type here")
		}
		return types.Default(t).(*types.Basic).Name()
	case *types.Alias:
		return w.typeText(types.Unalias(t), pos)
	case *types.Pointer:
		return "*" + w.typeText(t.Elem(), pos)
	case *types.Slice:
		return "[]" + w.typeText(t.Elem(), pos)
	case *types.Array:
		return fmt.Sprintf("[%d]%s", t.Len(), w.typeText(t.Elem(), pos))
	case *types.Map:
		return "map[" + w.typeText(t.Key(), pos) + "]" + w.typeText(t.Elem(), pos)
	case *types.Chan:
		return map[types.ChanDir]string{types.SendRecv: "chan ", types.SendOnly: "chan<- ", types.RecvOnly: "<-chan "}[t.Dir()] + "(" + w.typeText(t.Elem(), pos) + ")"
	case *types.Signature:
		return "func(" + strings.Join(w.paramTypes(t, pos), ", ") + ")" + w.resultText(t, pos)
	case *types.Struct:
		return w.structText(t, pos)
	case *types.Interface:
		return w.interfaceText(t, pos)
	case *types.Union:
		terms := make([]string, t.Len())
		for i := range terms {
			terms[i] = map[bool]string{true: "~"}[t.Term(i).Tilde()] + w.typeText(t.Term(i).Type(), pos)
		}
		return strings.Join(terms, " | ")
	case *types.TypeParam:
		return t.Obj().Name()
	case *types.Named:
		return w.namedText(t, pos)
	}
	refuse(pos, "type %s cannot be written", t)
	return ""
}

func (w *writer) structText(t *types.Struct, pos token.Pos) string {
	if name := w.structName(t); name != "" {
		return name
	}
	fields := make([]string, t.NumFields())
	for i := range fields {
		v := t.Field(i)
		text := w.typeText(v.Type(), pos)
		if !v.Embedded() {
			text = v.Name() + " " + text
		} else if own := w.embedded(v.Type(), pos); own != "" {
			text = own
		}
		if tag := t.Tag(i); tag != "" {
			text += " " + strconv.Quote(tag)
		}
		fields[i] = text
	}
	return "struct{ " + strings.Join(fields, "; ") + " }"
}

// embedded is the type of an embedded field by the name that the field gets from it, "" where that is any other type.
func (w *writer) embedded(t types.Type, pos token.Pos) string {
	star := ""
	if p, ok := types.Unalias(t).(*types.Pointer); ok {
		star, t = "*", p.Elem()
	}
	n, ok := types.Unalias(t).(*types.Named)
	if !ok || n.Obj().Pkg() == nil || n.Obj().Pkg().Path() != "main" || n.TypeArgs().Len() > 0 {
		return ""
	}
	w.typeName(n.Obj(), pos)
	return star + w.embeddedName(n.Obj(), pos)
}

func (w *writer) interfaceText(t *types.Interface, pos token.Pos) string {
	if t.NumMethods() == 0 && t.NumEmbeddeds() == 0 {
		return "interface{}"
	}
	var parts []string
	for m := range t.ExplicitMethods() {
		sig := m.Signature()
		parts = append(parts, methodName(m)+"("+strings.Join(w.paramTypes(sig, pos), ", ")+")"+w.resultText(sig, pos))
	}
	for e := range t.EmbeddedTypes() {
		parts = append(parts, w.typeText(e, pos))
	}
	return "interface{ " + strings.Join(parts, "; ") + " }"
}

func (w *writer) namedText(t *types.Named, pos token.Pos) string {
	o := t.Obj()
	name := ""
	switch {
	case o.Pkg() == nil:
		return o.Name()
	case o.Pkg().Path() != "main":
		if !o.Exported() {
			refuse(pos, "type %s.%s is not exported: a compiled cell cannot name it", o.Pkg().Path(), o.Name())
		}
		name = w.imported(o.Pkg().Path()) + "." + o.Name()
	case o.Parent() != nil && o.Parent() != o.Pkg().Scope(): // of a function
		name = o.Name()
	case w.isOwn(o):
		name = typeExport(w.nameOf(o))
	default:
		x := w.earlier(o, pos)
		name = w.packageName(x.unit) + "." + x.name
	}
	return name + w.typeArgs(t, pos)
}

// typeArgs writes the type arguments of an instance, "" for any other type.
func (w *writer) typeArgs(t *types.Named, pos token.Pos) string {
	if t.TypeArgs().Len() == 0 {
		return ""
	}
	args := make([]string, t.TypeArgs().Len())
	for i := range args {
		args[i] = w.typeText(t.TypeArgs().At(i), pos)
	}
	return "[" + strings.Join(args, ", ") + "]"
}

// imported returns a package's name in what is written into the cell, and imports it.
func (w *writer) imported(path string) string {
	base := path[strings.LastIndex(path, "/")+1:]
	name := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return '_'
	}, base) + mark
	for n := 2; w.imports[name] != "" && w.imports[name] != path; n++ {
		name = fmt.Sprintf("%s%d", strings.TrimRight(name, "0123456789"), n)
	}
	w.imports[name] = path
	return name
}

// typeExport is the name of one of the cell's types for other cells.
func typeExport(own string) string { return "X" + mark + own }

// typeName sees to the name of a type: one of an earlier cell gets an alias in this cell's package.
func (w *writer) typeName(o *types.TypeName, pos token.Pos) {
	if o.Pkg() == nil || o.Pkg().Path() != "main" || w.isOwn(o) {
		return
	}
	if o.Parent() != nil && o.Parent() != o.Pkg().Scope() {
		return
	}
	if _, ok := o.Type().(*types.TypeParam); ok {
		return
	}
	name := w.nameOf(o)
	if _, has := w.aliases[name]; has {
		return
	}
	w.aliases[name] = "" // a constraint may mention the type itself
	x := w.earlier(o, pos)
	params, args := w.typeParams(typeParamsOf(o), pos)
	w.alias(name, fmt.Sprintf("type %s%s = %s.%s%s\n", name, params, w.packageName(x.unit), x.name, args))
}

func (w *writer) alias(name, text string) {
	w.aliases[name] = text
	w.named = append(w.named, name)
}

func typeParamsOf(o *types.TypeName) *types.TypeParamList {
	switch t := o.Type().(type) {
	case *types.Named:
		return t.TypeParams()
	case *types.Alias:
		return t.TypeParams()
	}
	return nil
}

// typeParams writes type parameters with their constraints, and as arguments.
func (w *writer) typeParams(list *types.TypeParamList, pos token.Pos) (params, args string) {
	if list.Len() == 0 {
		return "", ""
	}
	var ps, as []string
	for p := range list.TypeParams() {
		constraint := p.Constraint()
		text := ""
		if i, ok := constraint.(*types.Interface); ok && i.IsImplicit() && i.NumEmbeddeds() == 1 {
			text = w.typeText(i.EmbeddedType(0), pos)
		} else {
			text = w.typeText(constraint, pos)
		}
		name := p.Obj().Name()
		if name == "_" { // nobody can mention it but as an argument
			name = fmt.Sprintf("P%s%d", mark, len(ps))
		}
		ps, as = append(ps, name+" "+text), append(as, name)
	}
	return "[" + strings.Join(ps, ", ") + "]", "[" + strings.Join(as, ", ") + "]"
}

// constant sees to the name of a constant: one of an earlier cell is declared again in this cell's package.
func (w *writer) constant(c *types.Const, pos token.Pos) {
	if c.Pkg() == nil || c.Pkg().Path() != "main" || c.Pkg() == w.cell.Pkg || c.Parent() != nil && c.Parent() != c.Pkg().Scope() {
		return
	}
	name := w.nameOf(c)
	if _, has := w.aliases[name]; has {
		return
	}
	typ := ""
	if b, ok := c.Type().(*types.Basic); !ok || b.Info()&types.IsUntyped == 0 {
		typ = w.typeText(c.Type(), pos) + " "
	}
	w.alias(name, fmt.Sprintf("const %s %s= %s\n", name, typ, constantText(c.Val(), c.Type())))
}

// constantText writes a constant's exact value.
func constantText(v constant.Value, t types.Type) string {
	b, _ := t.Underlying().(*types.Basic)
	switch {
	case b != nil && b.Kind() == types.UntypedRune: // which may be no rune that there is: 'A' - 'a'
		return `('\x00' + ` + v.ExactString() + ")"
	case b != nil && b.Info()&types.IsFloat != 0:
		return floatText(constant.ToFloat(v))
	case b != nil && b.Info()&types.IsComplex != 0:
		v = constant.ToComplex(v)
		return "(" + floatText(constant.ToFloat(constant.Real(v))) + " + " + floatText(constant.ToFloat(constant.Imag(v))) + " * 1i)"
	}
	return v.ExactString()
}

func floatText(v constant.Value) string {
	num, den := constant.Num(v), constant.Denom(v)
	if num.Kind() == constant.Int && den.Kind() == constant.Int {
		return "(" + num.ExactString() + ".0 / " + den.ExactString() + ".0)"
	}
	return v.ExactString()
}
