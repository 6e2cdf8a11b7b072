package lower

import (
	"go/token"
	"go/types"
)

// The primitives keep a value of a declared type in a compiled interface in the form of a wrapper. For error and fmt.Stringer that
// is a stand-in, which is compared as the value; the wrappers for other interfaces cannot be compared.

// hasStandIns reports whether t is a compiled interface with stand-ins.
func hasStandIns(t types.Type) bool {
	n, ok := types.Unalias(t).(*types.Named)
	return ok && (n.Obj().Pkg() == nil || n.Obj().Pkg().Path() == "fmt" && n.Obj().Name() == "Stringer")
}

// refuseWrapped refuses what is compared with its wrapper, or is part of what is: a key of type t, or a struct or array.
func (l *Lowerer) refuseWrapped(t types.Type, as string, pos token.Pos) {
	if i := l.wrappedIn(t); i != nil {
		refuse(pos, "an interface of type %s that is %s, or a part of one, is not supported by the interpreter where types of cells implement it",
			types.TypeString(i, func(p *types.Package) string { return p.Name() }), as)
	}
}

// wrappedIn is an interface in a value of type t whose values may be in wrappers that cannot be compared, nil for none.
func (l *Lowerer) wrappedIn(t types.Type) types.Type {
	switch u := t.Underlying().(type) {
	case *types.Array:
		return l.wrappedIn(u.Elem())
	case *types.Struct:
		for v := range u.Fields() {
			if i := l.wrappedIn(v.Type()); i != nil {
				return i
			}
		}
	case *types.Interface:
		if l.isCompiledIf(t) && !hasStandIns(t) && l.implemented(u) {
			return t
		}
	}
	return nil
}

// implemented tells whether a type of the cells has the methods of an interface.
func (l *Lowerer) implemented(i *types.Interface) bool {
	for o := range l.decls {
		n, ok := o.(*types.TypeName)
		if !ok || types.IsInterface(n.Type()) || isGeneric(n.Type()) {
			continue
		}
		if types.Implements(types.NewPointer(n.Type()), i) { // or the type itself
			return true
		}
	}
	return false
}

func isGeneric(t types.Type) bool {
	n, ok := t.(*types.Named)
	return ok && n.TypeParams().Len() > 0
}
