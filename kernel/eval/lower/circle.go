package lower

import (
	"go/token"
	"go/types"
)

// Types that refer to each other in circles.

// mentions tells whether a type reaches the declared type o, without looking into other structs of the cells.
func (l *Lowerer) mentions(t types.Type, o *types.TypeName, seen map[types.Type]bool) bool {
	if seen[t] {
		return false
	}
	seen[t] = true
	found := false
	l.parts(t, func(n *types.Named) {
		if n.Obj() == o {
			found = true
		} else if _, isStruct := n.Underlying().(*types.Struct); !isStruct && n.Obj().Pkg() != nil && !types.IsInterface(n) {
			found = found || l.mentions(n.Underlying(), o, seen)
		}
	})
	return found
}

// parts calls visit for each declared type that t is made of, not looking into it.
func (l *Lowerer) parts(t types.Type, visit func(*types.Named)) {
	switch t := types.Unalias(t).(type) {
	case *types.Named:
		visit(t)
	case *types.Pointer:
		l.parts(t.Elem(), visit)
	case *types.Slice:
		l.parts(t.Elem(), visit)
	case *types.Array:
		l.parts(t.Elem(), visit)
	case *types.Chan:
		l.parts(t.Elem(), visit)
	case *types.Map:
		l.parts(t.Key(), visit)
		l.parts(t.Elem(), visit)
	case *types.Signature:
		for v := range t.Params().Variables() {
			l.parts(v.Type(), visit)
		}
		for v := range t.Results().Variables() {
			l.parts(v.Type(), visit)
		}
	case *types.Struct:
		for v := range t.Fields() {
			l.parts(v.Type(), visit)
		}
	}
}

// erase finds the fields through which a struct reaches itself. The interpreter can build a struct whose only way to
// itself is a plain field of its own; every other such field is kept as interface{}.
func (l *Lowerer) erase(t *types.Named, u *types.Struct, pos token.Pos) map[int]bool {
	erased := map[int]bool{}
	direct := true
	for i := range u.NumFields() {
		v := u.Field(i)
		if !l.reaches(v.Type(), t, map[string]bool{}) {
			continue
		}
		if _, byValue := v.Type().Underlying().(*types.Struct); byValue {
			direct = false // a struct in the circle; the circle is cut in there
			continue
		}
		erased[i] = true
		direct = direct && l.plain(v.Type(), t)
	}
	if direct {
		return nil
	}
	for i := range erased {
		if _, isArray := u.Field(i).Type().Underlying().(*types.Array); isArray {
			refuse(pos, "field %s of %s: an array in a circle of types that refer to each other is not supported by the interpreter (a slice is)", u.Field(i).Name(), t.Obj().Name())
		}
	}
	return erased
}

// plain reports whether the interpreter can build a field of this type in a struct that reaches itself.
func (l *Lowerer) plain(field types.Type, t *types.Named) bool {
	elem := func(x types.Type) bool {
		if p, ok := x.(*types.Pointer); ok {
			x = p.Elem()
		}
		return types.Identical(x, t)
	}
	switch f := types.Unalias(field).(type) {
	case *types.Pointer:
		return types.Identical(f.Elem(), t)
	case *types.Slice:
		return elem(f.Elem())
	case *types.Array:
		return elem(f.Elem())
	case *types.Map:
		return !l.reaches(f.Key(), t, map[string]bool{}) && elem(f.Elem())
	}
	return false
}

// reaches tells whether t is part of x, through structs and all.
func (l *Lowerer) reaches(x types.Type, t *types.Named, seen map[string]bool) bool {
	found := false
	l.parts(x, func(n *types.Named) {
		if types.Identical(n, t) {
			found = true
		}
		if found || n.Obj().Pkg() == nil || types.IsInterface(n) || l.isCompiled(n) && n.Obj().Pkg().Path() != "main" {
			return
		}
		key := l.key(n)
		if seen[key] {
			return
		}
		seen[key] = true
		found = found || l.reaches(n.Underlying(), t, seen)
	})
	return found
}
