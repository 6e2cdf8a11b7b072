package native

import (
	"fmt"
	"go/types"
	"slices"
	"strings"
)

// Compiled code tells what an interface holds by the address of a method table, which the compiler makes for each pair of an
// interface and a type that meet in a package. Reflection makes a table at run time where it knows of none, and code that is
// loaded later with a table of its own takes the two for different types. So a cell brings the tables of its types for all
// interfaces in sight, and of its interfaces for all types in sight, before anybody can have made one.

// usual are packages whose interfaces libraries look for in the values that they get.
var usual = []string{"fmt", "io", "sort", "container/heap", "encoding", "encoding/json", "flag", "log/slog", "net/http", "context", "sync", "hash", "image", "image/color"}

// tables writes variables that need the method tables, and the statements that set them.
func (w *writer) tables(b, bind *strings.Builder) {
	own, earlier := w.ownTypes()
	interfaces := append(w.interfacesIn(own), types.Universe.Lookup("error"))
	for _, path := range append(slices.Clone(usual), w.importPaths()...) {
		if p, err := w.cell.Import(path); err == nil {
			interfaces = append(interfaces, exportedInterfaces(p)...)
		}
	}
	seen := map[[2]types.Object]bool{}
	n := 0
	pair := func(i, t types.Object) {
		if seen[[2]types.Object{i, t}] {
			return
		}
		seen[[2]types.Object{i, t}] = true
		n += w.table(b, bind, n, i, t)
	}
	for _, t := range own {
		for _, i := range append(interfaces, w.interfacesIn(earlier)...) {
			pair(i, t)
		}
	}
	for _, i := range w.interfacesIn(own) {
		for _, t := range earlier {
			pair(i, t)
		}
	}
}

// ownTypes are the types that this package declares, and those of earlier cells.
func (w *writer) ownTypes() (own, earlier []types.Object) {
	for _, x := range w.out.exports {
		if plainType(x.object) {
			own = append(own, x.object)
		}
	}
	for o := range w.engine.objects {
		if plainType(o) && !w.isOwn(o) {
			earlier = append(earlier, o)
		}
	}
	slices.SortFunc(earlier, func(a, b types.Object) int { return int(a.Pos()) - int(b.Pos()) })
	return own, earlier
}

// plainType reports whether o is a declared type that has no parameters and is not a constraint.
func plainType(o types.Object) bool {
	tn, ok := o.(*types.TypeName)
	if !ok || tn.IsAlias() || typeParamsOf(tn).Len() > 0 {
		return false
	}
	i, ok := tn.Type().Underlying().(*types.Interface)
	return !ok || i.IsMethodSet()
}

func (w *writer) interfacesIn(list []types.Object) []types.Object {
	var found []types.Object
	for _, o := range list {
		if i, ok := o.Type().Underlying().(*types.Interface); ok && i.NumMethods() > 0 {
			found = append(found, o)
		}
	}
	return found
}

func exportedInterfaces(p *types.Package) []types.Object {
	var found []types.Object
	for _, name := range p.Scope().Names() {
		o, ok := p.Scope().Lookup(name).(*types.TypeName)
		if !ok || !o.Exported() || !plainType(o) {
			continue
		}
		if i, ok := o.Type().Underlying().(*types.Interface); ok && i.NumMethods() > 0 {
			found = append(found, o)
		}
	}
	return found
}

// importPaths are what the cell imports.
func (w *writer) importPaths() []string {
	var paths []string
	for _, p := range w.cell.Pkg.Imports() {
		paths = append(paths, p.Path())
	}
	return paths
}

// table writes what needs the table of a type, or of pointers to it, for an interface. It returns how many there are.
func (w *writer) table(b, bind *strings.Builder, n int, iface, t types.Object) int {
	i := iface.Type().Underlying().(*types.Interface)
	if types.IsInterface(t.Type()) {
		return 0
	}
	made := 0
	for _, typ := range []types.Type{t.Type(), types.NewPointer(t.Type())} {
		if !types.Implements(typ, i) || w.lacks(typ, i) {
			continue
		}
		name := fmt.Sprintf("t%s%d", mark, n+made)
		fmt.Fprintf(b, "var %s %s\n", name, w.typeText(iface.Type(), t.Pos()))
		fmt.Fprintf(bind, "%s = *new(%s)\n", name, w.typeText(typ, t.Pos()))
		made++
	}
	return made
}

// lacks reports whether t has a method of the interface only in the eyes of go/types, because a refused cell tried to add it.
func (w *writer) lacks(t types.Type, i *types.Interface) bool {
	for m := range i.Methods() {
		o, _, _ := types.LookupFieldOrMethod(t, false, m.Pkg(), m.Name())
		if f, ok := o.(*types.Func); ok && w.cell.Lacks(f) {
			return true
		}
	}
	return false
}
