package check

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
)

// A cell that is run again declares its types again. One that is made of the same as before stays the type that it was, so that the values
// which earlier cells have made of it still belong to it; only its methods are taken anew. One that is made of something else is a new type.

// keepTypes takes those types out of the cell's declarations that are made of the same as the session's types of their names.
func (b *builder) keepTypes() {
	b.noteMethods()
	candidates := b.redeclared()
	if len(candidates) == 0 {
		return
	}
	pairs := b.compareTypes(candidates)
	kept := map[string]bool{}
	for _, old := range pairs {
		kept[old.Name()] = true
	}
	b.withoutTypes(kept)
	for fresh, old := range pairs {
		b.cell.kept = append(b.cell.kept, old)
		b.cell.again[old] = fresh.Pos()
	}
	slices.SortFunc(b.cell.kept, func(a, c *types.TypeName) int { return int(b.cell.again[a] - b.cell.again[c]) })
}

// redeclared are the names of types that the cell declares and that mean types of earlier cells.
func (b *builder) redeclared() map[string]*types.TypeName {
	found, times := map[string]*types.TypeName{}, b.declarations()
	for _, d := range b.decls.Decls {
		for _, ts := range typeSpecs(d) {
			old, ok := b.objects[ts.Name.Name].(*types.TypeName)
			if ok && times[ts.Name.Name] == 1 && !ts.Assign.IsValid() && b.keeps(old) {
				found[old.Name()] = old
			}
		}
	}
	return found
}

// keeps reports whether a type may stay what it is, as far as that depends on anything but what it is made of.
func (b *builder) keeps(old *types.TypeName) bool {
	if old.IsAlias() || b.anew[old.Name()] || !canEditMethods && len(b.lost(old)) > 0 {
		return false
	}
	return b.Keeps == nil || b.Keeps(old)
}

// noteMethods notes the methods that the cell declares.
func (b *builder) noteMethods() {
	for _, d := range b.decls.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok || f.Recv == nil || len(f.Recv.List) != 1 {
			continue
		}
		if base, _ := receiverName(f.Recv.List[0].Type); base != nil {
			base = b.behindAlias(base)
			if b.cell.beside[base.Name] == nil {
				b.cell.beside[base.Name] = map[string]bool{}
			}
			b.cell.beside[base.Name][f.Name.Name] = true
		}
	}
}

// declarations counts how often the cell declares a name: more than once is an error.
func (b *builder) declarations() map[string]int {
	times := map[string]int{}
	for _, d := range b.decls.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Recv == nil {
				times[d.Name.Name]++
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				for _, id := range specNames(spec) {
					times[id.Name]++
				}
			}
		}
	}
	return times
}

// typeSpecs are the types that a declaration declares.
func typeSpecs(d ast.Decl) (specs []*ast.TypeSpec) {
	g, ok := d.(*ast.GenDecl)
	if !ok || g.Tok != token.TYPE {
		return nil
	}
	for _, spec := range g.Specs {
		specs = append(specs, spec.(*ast.TypeSpec))
	}
	return specs
}

// compareTypes returns those of the candidates that are made of the same as before: the cell's type → the session's. It checks the cell's
// types and constants alone; what is wrong with them is told later.
func (b *builder) compareTypes(candidates map[string]*types.TypeName) map[*types.TypeName]*types.TypeName {
	file := *b.decls
	file.Decls = slices.DeleteFunc(slices.Clone(file.Decls), func(d ast.Decl) bool {
		g, ok := d.(*ast.GenDecl)
		return !ok || g.Tok != token.TYPE && g.Tok != token.CONST
	})
	b.withImports(&file)
	pkg := types.NewPackage("main", "main")
	b.insertObjects(pkg)
	conf := types.Config{Importer: b.importer, GoVersion: GoVersion, Error: func(error) {}}
	_ = types.NewChecker(&conf, b.fset, pkg, newInfo()).Files([]*ast.File{&file})
	s := sameness{pairs: map[*types.TypeName]*types.TypeName{}, params: map[*types.TypeParam]*types.TypeParam{}}
	for name, old := range candidates {
		if fresh, ok := pkg.Scope().Lookup(name).(*types.TypeName); ok && fresh.Pkg() == pkg {
			s.pairs[fresh] = old
		}
	}
	s.settle()
	return s.pairs
}

// withoutTypes removes declarations of types, whose names then mean what they meant before the cell.
func (b *builder) withoutTypes(names map[string]bool) {
	b.decls.Decls = slices.DeleteFunc(b.decls.Decls, func(d ast.Decl) bool {
		specs := typeSpecs(d)
		if !slices.ContainsFunc(specs, func(ts *ast.TypeSpec) bool { return names[ts.Name.Name] }) {
			return false
		}
		g := d.(*ast.GenDecl)
		g.Specs = slices.DeleteFunc(g.Specs, func(spec ast.Spec) bool { return names[spec.(*ast.TypeSpec).Name.Name] })
		return len(g.Specs) == 0
	})
	for name := range names {
		delete(b.declared, name)
		b.recalled[name] = true
	}
}

// sameness compares types of a cell with those of the session. Two that refer to themselves, or to each other, are the same if nothing
// else tells them apart: pairs are taken for the same until something does.
type sameness struct {
	pairs  map[*types.TypeName]*types.TypeName // the cell's → the session's
	params map[*types.TypeParam]*types.TypeParam
}

// settle removes the pairs that differ, and those that differ because of them.
func (s *sameness) settle() {
	for before := -1; before != len(s.pairs); {
		before = len(s.pairs)
		for fresh, old := range s.pairs {
			if !s.declared(fresh, old) {
				delete(s.pairs, fresh)
			}
		}
	}
}

// declared compares what two types are declared as.
func (s *sameness) declared(fresh, old *types.TypeName) bool {
	x, ok1 := fresh.Type().(*types.Named)
	y, ok2 := old.Type().(*types.Named)
	return ok1 && ok2 && s.typeParams(x.TypeParams(), y.TypeParams()) && s.same(x.Underlying(), y.Underlying())
}

func (s *sameness) typeParams(x, y *types.TypeParamList) bool {
	if x.Len() != y.Len() {
		return false
	}
	for i := range x.Len() {
		s.params[x.At(i)] = y.At(i)
	}
	for i := range x.Len() {
		if !s.same(x.At(i).Constraint(), y.At(i).Constraint()) {
			return false
		}
	}
	return true
}

func (s *sameness) same(x, y types.Type) bool {
	x, y = types.Unalias(x), types.Unalias(y)
	switch x := x.(type) {
	case *types.Basic:
		return x.Kind() != types.Invalid && types.Identical(x, y)
	case *types.Named:
		y, ok := y.(*types.Named)
		return ok && s.named(x, y)
	case *types.TypeParam:
		y, ok := y.(*types.TypeParam)
		return ok && s.params[x] == y
	case *types.Struct:
		y, ok := y.(*types.Struct)
		return ok && s.structs(x, y)
	case *types.Interface:
		y, ok := y.(*types.Interface)
		return ok && s.interfaces(x, y)
	case *types.Union:
		y, ok := y.(*types.Union)
		return ok && s.unions(x, y)
	case *types.Signature:
		y, ok := y.(*types.Signature)
		return ok && x.Variadic() == y.Variadic() && s.tuples(x.Params(), y.Params()) && s.tuples(x.Results(), y.Results())
	case *types.Map:
		y, ok := y.(*types.Map)
		return ok && s.same(x.Key(), y.Key()) && s.same(x.Elem(), y.Elem())
	case *types.Array:
		y, ok := y.(*types.Array)
		return ok && x.Len() == y.Len() && s.same(x.Elem(), y.Elem())
	case *types.Slice:
		y, ok := y.(*types.Slice)
		return ok && s.same(x.Elem(), y.Elem())
	case *types.Pointer:
		y, ok := y.(*types.Pointer)
		return ok && s.same(x.Elem(), y.Elem())
	case *types.Chan:
		y, ok := y.(*types.Chan)
		return ok && x.Dir() == y.Dir() && s.same(x.Elem(), y.Elem())
	}
	return false
}

func (s *sameness) named(x, y *types.Named) bool {
	fresh, old := x.Origin().Obj(), y.Origin().Obj()
	if to, ok := s.pairs[fresh]; ok {
		fresh = to
	}
	if fresh != old || x.TypeArgs().Len() != y.TypeArgs().Len() {
		return false
	}
	for i := range x.TypeArgs().Len() {
		if !s.same(x.TypeArgs().At(i), y.TypeArgs().At(i)) {
			return false
		}
	}
	return true
}

func (s *sameness) structs(x, y *types.Struct) bool {
	if x.NumFields() != y.NumFields() {
		return false
	}
	for i := range x.NumFields() {
		f, g := x.Field(i), y.Field(i)
		if f.Name() != g.Name() || f.Embedded() != g.Embedded() || x.Tag(i) != y.Tag(i) || !s.same(f.Type(), g.Type()) {
			return false
		}
	}
	return true
}

// interfaces compares all methods; of constraints, which have more than methods, what they are written as.
func (s *sameness) interfaces(x, y *types.Interface) bool {
	if x.IsMethodSet() != y.IsMethodSet() || x.IsComparable() != y.IsComparable() || x.NumMethods() != y.NumMethods() {
		return false
	}
	for i := range x.NumMethods() { // in the order of their names
		m, n := x.Method(i), y.Method(i)
		if m.Name() != n.Name() || !s.same(m.Signature(), n.Signature()) {
			return false
		}
	}
	if x.IsMethodSet() {
		return true
	}
	if x.NumEmbeddeds() != y.NumEmbeddeds() {
		return false
	}
	for i := range x.NumEmbeddeds() {
		if !s.same(x.EmbeddedType(i), y.EmbeddedType(i)) {
			return false
		}
	}
	return true
}

func (s *sameness) unions(x, y *types.Union) bool {
	if x.Len() != y.Len() {
		return false
	}
	for i := range x.Len() {
		if x.Term(i).Tilde() != y.Term(i).Tilde() || !s.same(x.Term(i).Type(), y.Term(i).Type()) {
			return false
		}
	}
	return true
}

func (s *sameness) tuples(x, y *types.Tuple) bool {
	if x.Len() != y.Len() {
		return false
	}
	for i := range x.Len() {
		if !s.same(x.At(i).Type(), y.At(i).Type()) {
			return false
		}
	}
	return true
}

// Reduced are the types that the cell declares again as they are, and that lose a method which they had, or its signature.
func (c *Cell) Reduced() (names []string) {
	for _, m := range c.Dropped {
		if slices.Contains(c.kept, m.Type.Obj()) {
			names = append(names, m.Type.Obj().Name())
		}
	}
	return names
}
