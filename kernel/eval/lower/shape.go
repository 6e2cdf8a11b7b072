package lower

import (
	"fmt"
	"go/token"
	"go/types"
	"strconv"
	"strings"
)

// What reflection cannot see of the cells' types is told to the primitives: names, and where values of boxed types are.

// shownName is a declared type's name as the runtime writes it: main.Pair[string,main.T].
func shownName(t *types.Named) string {
	name := t.Obj().Name()
	if t.Obj().Pkg() != nil {
		name = t.Obj().Pkg().Name() + "." + name
	}
	if t.TypeArgs().Len() == 0 {
		return name
	}
	args := make([]string, t.TypeArgs().Len())
	for i := range args {
		args[i] = shownArg(t.TypeArgs().At(i))
	}
	return name + "[" + strings.Join(args, ",") + "]"
}

// shownArg is a type as it is written between the brackets of another one's name: with the paths of packages.
func shownArg(t types.Type) string {
	switch t := types.Unalias(t).(type) {
	case *types.Named:
		name := shownName(t)
		if p := t.Obj().Pkg(); p != nil {
			name = p.Path() + strings.TrimPrefix(name, p.Name())
		}
		return name
	case *types.Pointer:
		return "*" + shownArg(t.Elem())
	case *types.Slice:
		return "[]" + shownArg(t.Elem())
	case *types.Array:
		return fmt.Sprintf("[%d]%s", t.Len(), shownArg(t.Elem()))
	case *types.Map:
		return "map[" + shownArg(t.Key()) + "]" + shownArg(t.Elem())
	case *types.Chan:
		return "chan " + shownArg(t.Elem())
	}
	return shownType(t)
}

// fieldShapes tells the primitives which fields hold values of boxed types: by reflection they are plain.
func (l *Lowerer) fieldShapes(u *types.Struct, text string, erased map[int]bool) {
	for i := range u.NumFields() {
		if shape := l.fieldShape(u.Field(i).Type()); shape != "nil" && !erased[i] {
			l.setup("%s.FieldShape(new(%s), %d, %s)", runtimeAlias, text, i, shape)
		}
	}
}

// fieldShape is shape for a field, which may be a pointer to a value of a boxed type.
func (l *Lowerer) fieldShape(t types.Type) string {
	if p, ok := types.Unalias(t).(*types.Pointer); ok {
		if n, ok := types.Unalias(p.Elem()).(*types.Named); ok && n.Obj().Pkg() != nil && !types.IsInterface(n) {
			if r := l.named(n, token.NoPos); r.kind == boxed {
				return fmt.Sprintf("%s.Boxed(new(%s))", runtimeAlias, r.pointer)
			}
		}
	}
	return l.shape(t)
}

// shape writes an expression that tells the primitives where in a value of type t there are values of boxed types; "nil"
// where there are none.
func (l *Lowerer) shape(t types.Type) string {
	switch u := types.Unalias(t).(type) {
	case *types.Named:
		if u.Obj().Pkg() == nil || types.IsInterface(u) {
			return "nil"
		}
		if r := l.named(u, token.NoPos); r.kind == boxed {
			return fmt.Sprintf("%s.Boxed(new(%s))", runtimeAlias, r.identity)
		}
	case *types.Slice:
		return l.holding(t, "nil", l.heldShape(u.Elem()))
	case *types.Array:
		return l.holding(t, "nil", l.heldShape(u.Elem()))
	case *types.Map:
		return l.holding(t, l.heldShape(u.Key()), l.heldShape(u.Elem()))
	case *types.Pointer, *types.Chan, *types.Signature:
		if l.blurred(t) {
			return fmt.Sprintf("%s.Boxed(new(%s))", runtimeAlias, l.boxOf(t))
		}
	}
	return "nil"
}

// heldShape is shape for what a slice, array or map holds: reflection shows each interface of the cells there as any.
func (l *Lowerer) heldShape(t types.Type) string {
	if shown := shownType(t); l.isOpen(t) && shown != "interface {}" {
		return fmt.Sprintf("%s.Holding(%q, nil, nil)", runtimeAlias, shown)
	}
	return l.shape(t)
}

func (l *Lowerer) holding(t types.Type, key, elem string) string {
	if key == "nil" && elem == "nil" {
		return "nil"
	}
	return fmt.Sprintf("%s.Holding(%q, %s, %s)", runtimeAlias, shownType(t), key, elem)
}

// fieldList tells the primitives of a struct's fields: an embedded one has a star in front of its name, one of an interface
// type that type behind it.
func fieldList(u *types.Struct) string {
	names := make([]string, u.NumFields())
	for i := range names {
		v := u.Field(i)
		names[i] = v.Name()
		if v.Embedded() {
			names[i] = "*" + names[i]
		}
		if types.IsInterface(v.Type()) {
			names[i] += " " + shownType(v.Type())
		}
		names[i] = strconv.Quote(names[i])
	}
	return "[]string{" + strings.Join(names, ", ") + "}"
}

// declareAnonymous tells the primitives of a struct type without a name, so that they know its fields by the names that the
// cell gave them.
func (l *Lowerer) declareAnonymous(u *types.Struct, text string) {
	if u.NumFields() == 0 {
		return
	}
	l.helper("anonymous "+text, "anonymous", func(string) string {
		l.setup("%s.Declare(new(%s), %q, %s)", runtimeAlias, text, "", fieldList(u))
		l.queue = append(l.queue, func() { l.fieldShapes(u, text, nil); l.promotions(u, text, nil) })
		return ""
	})
}

// boxShape tells the primitives what the values in a box hold.
func (l *Lowerer) boxShape(r *rep, t types.Type) {
	if shape := l.shape(t); shape != "nil" {
		l.setup("%s.BoxShape(new(%s), new(%s), %s)", runtimeAlias, r.identity, r.pointer, shape)
	}
}

// composite returns the representation of a type without a name that reflection shows as another one: in an interface it is boxed
// itself, so that it and the values of boxed types in it are known there. It is nil for other types.
func (l *Lowerer) composite(t types.Type) *rep {
	if !l.blurred(t) {
		return nil
	}
	key := "composite " + shownType(t) + l.identities(t)
	if r, ok := l.reps[key]; ok {
		return r
	}
	r := &rep{kind: boxed, text: l.typ(t)}
	set(l, l.reps, key, r)
	l.box(r, "composite", r.text, shownType(t))
	switch t.(type) {
	case *types.Slice, *types.Array, *types.Map:
		l.boxShape(r, t)
	}
	return r
}

// blurred reports whether t is a type without a name that reflection shows as another one, because it is made of interfaces of the cells or
// of boxed types. A struct never is: its mark tells it from others.
func (l *Lowerer) blurred(t types.Type) bool {
	switch t := types.Unalias(t).(type) {
	case *types.Pointer:
		return l.blurs(t.Elem())
	case *types.Slice:
		return l.blurs(t.Elem())
	case *types.Array:
		return l.blurs(t.Elem())
	case *types.Chan:
		return l.blurs(t.Elem())
	case *types.Map:
		return l.blurs(t.Key()) || l.blurs(t.Elem())
	case *types.Signature:
		return l.blursOne(t.Params()) || l.blursOne(t.Results())
	}
	return false
}

func (l *Lowerer) blursOne(list *types.Tuple) bool {
	for v := range list.Variables() {
		if l.blurs(v.Type()) {
			return true
		}
	}
	return false
}

// blurs reports whether types that are made of t are blurred.
func (l *Lowerer) blurs(t types.Type) bool {
	n, ok := types.Unalias(t).(*types.Named)
	switch {
	case ok && (n.Obj().Pkg() == nil || l.isCompiled(n)):
		return false
	case l.isOpen(t):
		return shownType(t) != "interface {}"
	case ok:
		return !isStruct(n) && l.named(n, token.NoPos).kind == boxed
	}
	return l.blurred(t)
}

// structMark is what tells a struct type without a name from others that have the same fields for reflection, "" where none needs it.
func (l *Lowerer) structMark(t *types.Struct) string {
	for v := range t.Fields() {
		if l.blurs(v.Type()) {
			return shownType(t) + l.identities(t)
		}
	}
	return ""
}
