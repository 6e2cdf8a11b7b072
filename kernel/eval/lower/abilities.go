package lower

import (
	"go/token"
	"go/types"
	"slices"
	"strings"
)

// refuseHiddenAbilities refuses a value of a cell's type as an interface of a library that looks for more methods than the interface has: a
// stream.Sink may be a stream.Closer as well. What the library gets is a wrapper with the methods of the interface alone, so it would never
// call the others. For the standard library, the wrappers have them (see package symbols).
func (l *Lowerer) refuseHiddenAbilities(from, to types.Type, pos token.Pos) {
	n, ok := types.Unalias(to).(*types.Named)
	if !ok || n.Obj().Pkg() == nil || isStandard(n.Obj().Pkg().Path()) {
		return
	}
	hidden := hiddenAbilities(from, n)
	if len(hidden) == 0 {
		return
	}
	refuse(pos, "%s.%s, as which %s is used here, hides its methods of %s, because the type is interpreted: nothing would call them; "+
		"cells are compiled where there is a C compiler", n.Obj().Pkg().Name(), n.Obj().Name(), cellType(from), strings.Join(hidden, ", "))
}

// cellType writes a type as a cell does.
func cellType(t types.Type) string {
	return types.TypeString(t, func(p *types.Package) string {
		if p.Path() == "main" {
			return ""
		}
		return p.Name()
	})
}

// hiddenAbilities names the interfaces beside to in its package that from implements and its wrapper does not. Where one of them has all
// methods, as ml.Classifier has those of ml.Model, its wrapper is taken.
func hiddenAbilities(from types.Type, to *types.Named) (names []string) {
	all := abilities(from, to.Obj().Pkg())
	for _, i := range all {
		shows := func(j *types.Named) bool {
			return types.Implements(j, to.Underlying().(*types.Interface)) && types.Implements(j, i.Underlying().(*types.Interface))
		}
		if !slices.ContainsFunc(all, shows) {
			names = append(names, to.Obj().Pkg().Name()+"."+i.Obj().Name())
		}
	}
	return names
}

// abilities are the exported interfaces of a package that from implements, by name.
func abilities(from types.Type, p *types.Package) (all []*types.Named) {
	for _, name := range p.Scope().Names() {
		o, ok := p.Scope().Lookup(name).(*types.TypeName)
		if !ok || !o.Exported() || !types.IsInterface(o.Type()) || isGeneric(o.Type()) {
			continue
		}
		n, ok := o.Type().(*types.Named)
		if i := o.Type().Underlying().(*types.Interface); ok && i.NumMethods() > 0 && types.Implements(from, i) {
			all = append(all, n)
		}
	}
	return all
}
