package check

import (
	"go/ast"
	"go/token"
	"go/types"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// assume is the path of the package that a name means without being imported: the only one of the standard library, unless the
// member is in another library's alone.
func (s *Scope) assume(name, member string) (path string, ok bool) {
	standard := s.standard(name)
	if len(standard) != 1 {
		return "", false
	}
	pkg, err := s.importer.Import(standard[0])
	if err != nil {
		return "", false
	}
	if len(s.byName[name]) == 1 || !ast.IsExported(member) || pkg.Scope().Lookup(member) != nil {
		return standard[0], true
	}
	return standard[0], s.offering(name, member)[0].Standard
}

// offering are the packages by a name that can be imported: those that have an exported member by the other name, and all of them
// where none has. The standard library's come first.
func (s *Scope) offering(name, member string) []Package {
	var usable, fitting []Package
	for _, p := range s.byName[name] {
		pkg, err := s.importer.Import(p.Path)
		if err != nil {
			continue
		}
		usable = append(usable, p)
		if ast.IsExported(member) && pkg.Scope().Lookup(member) != nil {
			fitting = append(fitting, p)
		}
	}
	if len(fitting) == 0 {
		fitting = usable
	}
	slices.SortStableFunc(fitting, func(a, b Package) int {
		switch {
		case a.Standard == b.Standard:
			return 0
		case a.Standard:
			return -1
		}
		return 1
	})
	return fitting
}

// importText tells which package to import, or which ones there are: import "math/rand".
func importText(packages []Package) string {
	paths := make([]string, len(packages))
	for i, p := range packages {
		paths[i] = strconv.Quote(p.Path)
	}
	if len(paths) == 1 {
		return "import " + paths[0]
	}
	return "import one of " + strings.Join(paths, ", ")
}

// unimported are the names of all packages that a cell may import, as they are offered where it has not. The list is made once.
func (s *Scope) unimported() candidates {
	if s.library != nil {
		return s.library
	}
	for name, packages := range s.byName {
		rank := rankLibrary
		if len(s.standard(name)) == 0 {
			rank = rankForeign
		}
		s.library.add(rank, name, "module", importText(packages))
	}
	return s.library
}

// unimportedMembers are the members of the packages by a name that are not imported. Each tells what to import.
func (b *builder) unimportedMembers(c *candidates, name string) {
	path := b.cell.imported[name]
	var found candidates
	owners := map[string][]Package{}
	for _, p := range b.byName[name] {
		pkg, err := b.importer.Import(p.Path)
		if err != nil || p.Path == path {
			continue
		}
		from := len(found)
		exported(&found, rankForeign, pkg)
		for _, one := range found[from:] {
			owners[one.Text] = append(owners[one.Text], p)
		}
	}
	for _, one := range found {
		one.Signature = strings.TrimSpace(one.Signature + " // " + importText(owners[one.Text]))
		*c = append(*c, one)
	}
}

// unimportedObject is what an identifier would mean if the package that it names, or whose member it is, were imported: nil if that
// is not known.
func (b *builder) unimportedObject(id *ast.Ident, around []ast.Node) types.Object {
	sel, ok := around[len(around)-1].(*ast.SelectorExpr)
	if !ok || sel.Sel != id {
		return b.unimportedPackage(id.Name)
	}
	x, ok := sel.X.(*ast.Ident)
	if !ok || b.cell.Info.ObjectOf(x) != nil && !b.assumed[x.Name] {
		return nil
	}
	for _, p := range b.offering(x.Name, id.Name) {
		if pkg, err := b.importer.Import(p.Path); err == nil && ast.IsExported(id.Name) {
			if o := pkg.Scope().Lookup(id.Name); o != nil {
				return o
			}
		}
	}
	return nil
}

// unimportedPackage is the one by that name, of the standard library if there is one, nil if it is not clear which.
func (s *Scope) unimportedPackage(name string) types.Object {
	paths := s.standard(name)
	if len(paths) == 0 {
		for _, p := range s.byName[name] {
			paths = append(paths, p.Path)
		}
	}
	if len(paths) != 1 {
		return nil
	}
	p, err := s.importer.Import(paths[0])
	if err != nil {
		return nil
	}
	return types.NewPkgName(token.NoPos, nil, name, p)
}

// toImport is the comment that tells what to import for an object, "" where nothing has to be.
func (b *builder) toImport(o types.Object) string {
	pkg := o.Pkg()
	if pkg == nil || pkg.Path() == "main" || o.Parent() != pkg.Scope() {
		return ""
	}
	imported := slices.Concat(b.dots, b.cell.dots, slices.Collect(maps.Values(b.Scope.imports)), slices.Collect(maps.Values(b.cell.imported)))
	path, _ := b.importer.(*listed).renames.written(pkg.Path())
	if slices.Contains(imported, path) {
		return ""
	}
	return " // " + importText([]Package{{Path: path}})
}
