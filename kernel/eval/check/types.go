package check

import (
	"errors"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// check runs go/types over the cell.
func (b *builder) check() {
	c := b.cell
	c.Decls = b.decls.Decls
	b.hintCycles()
	b.withImports(b.decls)
	b.withImports(b.body)
	before := b.errs.list
	b.checkTypes()
	for turns := 0; (b.nameFields() || b.fitKnown()) && turns <= len(b.known)+1; turns++ {
		b.errs.list, b.errs.seen = slices.Clone(before), nil // hints stay: imports are resolved once
		c.Info, c.Pkg, c.Unused = newInfo(), types.NewPackage(c.Pkg.Path(), c.Pkg.Name()), map[token.Pos]bool{}
		b.checkTypes()
	}
	b.refusePhantoms()
}

// hintCycles prepares what to say of "old := g" in the cell that declares g anew and uses old in it: there g is the new one.
func (b *builder) hintCycles() {
	for _, d := range b.decls.Decls {
		g, ok := d.(*ast.GenDecl)
		if !ok || g.Tok != token.VAR {
			continue
		}
		for _, spec := range g.Specs {
			for i, x := range spec.(*ast.ValueSpec).Values {
				id, ok := ast.Unparen(x).(*ast.Ident)
				if !ok || i >= len(spec.(*ast.ValueSpec).Names) || !b.declared[id.Name] {
					continue
				}
				if _, ok := b.objects[id.Name].(*types.Func); ok {
					name := spec.(*ast.ValueSpec).Names[i].Name
					b.errs.hints["initialization cycle for "+name] = fmt.Sprintf("%s is the function that this cell declares; to keep the one before, put %s := %s into a cell of its own in front of this one",
						id.Name, name, id.Name)
				}
			}
		}
	}
}

func (b *builder) checkTypes() {
	b.insertObjects(b.cell.Pkg)
	defer b.nameKnown()()
	defer b.nameCells()()
	conf := types.Config{Importer: b.importer, GoVersion: GoVersion, Error: b.typeFault}
	_ = types.NewChecker(&conf, b.fset, b.cell.Pkg, b.cell.Info).Files([]*ast.File{b.decls, b.body}) // errors are collected
}

// plainNames writes the types in an error as a user knows them.
func (b *builder) plainNames(text string) string {
	for _, o := range slices.Backward(b.named) { // or one would be found in the name of another
		constraint := types.TypeString(types.Unalias(o.Type()), func(p *types.Package) string { return p.Name() })
		text = strings.ReplaceAll(text, o.Name(), constraint)
	}
	return b.Scope.plainNames(text, func(name string) bool { return b.declared[name] })
}

// nameFields writes the field names into literals like P{"Ana", 1} whose type an earlier cell declared, with fields that are
// not exported. To go/types each cell is a package of its own, which may name such fields but not leave their names out. It
// tells whether it found any.
func (b *builder) nameFields() (found bool) {
	for _, f := range []*ast.File{b.decls, b.body} {
		ast.Inspect(f, func(n ast.Node) bool {
			if lit, ok := n.(*ast.CompositeLit); ok && b.nameFieldsOf(lit) {
				found = true
			}
			return true
		})
	}
	return found
}

func (b *builder) nameFieldsOf(lit *ast.CompositeLit) bool {
	t := b.cell.Info.TypeOf(lit)
	if t == nil {
		return false
	}
	s, ok := structOf(t)
	if !ok || len(lit.Elts) != s.NumFields() || slices.ContainsFunc(lit.Elts, isNamed) {
		return false
	}
	hidden := false
	for f := range s.Fields() {
		if !accessible(f) || f.Name() == "_" {
			return false
		}
		hidden = hidden || !f.Exported() && f.Pkg() != b.cell.Pkg
	}
	if !hidden {
		return false
	}
	for i, value := range lit.Elts {
		name := &ast.Ident{NamePos: value.Pos(), Name: s.Field(i).Name()}
		lit.Elts[i] = &ast.KeyValueExpr{Key: name, Colon: value.Pos(), Value: value}
	}
	return true
}

func isNamed(x ast.Expr) bool {
	_, named := x.(*ast.KeyValueExpr)
	return named
}

// typeFault takes what the type checker says, but for "is not used" of the cell's last expression: that one is shown.
func (b *builder) typeFault(err error) {
	var e types.Error
	if errors.As(err, &e) && e.Soft && strings.Contains(e.Msg, "declared and not used") {
		b.cell.Unused[e.Pos] = true
		return
	}
	list := b.cell.Body.Body.List
	if errors.As(err, &e) && len(list) > 0 && strings.HasSuffix(e.Msg, "is not used") {
		if last, ok := list[len(list)-1].(*ast.ExprStmt); ok && last.Pos() <= e.Pos && e.Pos < last.End() {
			return
		}
	}
	b.errs.addType(b.fset, err, b.missingMethod(e))
}

// lacksMethod is what go/types says of a method that a type does not have. It says more where the type has one of a similar name.
var lacksMethod = regexp.MustCompile(`^.+ undefined \(type .+ has no field or method [\pL_][\pL\pN_]*\)$`)

// missingMethod is the method that an error is about, "P.Area", if a later cell can declare it: P is a type of cells.
func (b *builder) missingMethod(e types.Error) (name string) {
	if !lacksMethod.MatchString(e.Msg) {
		return ""
	}
	for _, f := range []*ast.File{b.decls, b.body} {
		ast.Inspect(f, func(n ast.Node) bool {
			sel, ok := n.(*ast.SelectorExpr)
			if !ok || sel.Sel.Pos() != e.Pos {
				return true
			}
			t := b.cell.Info.TypeOf(sel.X)
			if p, ok := types.Unalias(t).(*types.Pointer); ok {
				t = p.Elem()
			}
			if named, ok := types.Unalias(t).(*types.Named); ok && named.Obj().Pkg() != nil && named.Obj().Pkg().Path() == "main" && !types.IsInterface(named) {
				name = named.Obj().Name() + "." + sel.Sel.Name
			}
			return false
		})
	}
	return name
}

// keyNames are the names that stand as keys in composite literals of the types that want holds for. The parser leaves them out of
// the unresolved ones, since it cannot tell variables and constants from fields.
func keyNames(f *ast.File, want func(typ ast.Expr) bool) []*ast.Ident {
	var ids []*ast.Ident
	ast.Inspect(f, func(n ast.Node) bool {
		lit, ok := n.(*ast.CompositeLit)
		if !ok || !want(lit.Type) {
			return true
		}
		for _, x := range lit.Elts {
			if kv, ok := x.(*ast.KeyValueExpr); ok {
				if id, ok := kv.Key.(*ast.Ident); ok {
					ids = append(ids, id)
				}
			}
		}
		return true
	})
	return ids
}

// wrapNames puts parentheses around the A of "type B A" where an earlier cell declared A: go/types follows a plain name to its
// declaration, in search of circles, and expects to find it in the package that it checks.
func (b *builder) wrapNames() {
	for _, d := range b.decls.Decls {
		g, ok := d.(*ast.GenDecl)
		if !ok || g.Tok != token.TYPE {
			continue
		}
		for _, spec := range g.Specs {
			ts := spec.(*ast.TypeSpec)
			if id, ok := ts.Type.(*ast.Ident); ok && !b.declared[id.Name] && b.objects[id.Name] != nil {
				ts.Type = &ast.ParenExpr{Lparen: id.Pos(), X: id, Rparen: id.End() - 1} // no wider than the name
			}
		}
	}
}

// insertObjects makes the session's objects visible in a package, except where the cell declares or imports the name anew. They keep
// their own package objects, which have the same path, so that unexported fields stay accessible.
func (b *builder) insertObjects(pkg *types.Package) {
	used := maps.Clone(b.recalled)
	for _, f := range []*ast.File{b.decls, b.body} {
		for _, id := range f.Unresolved {
			used[id.Name] = true
		}
		for _, id := range keyNames(f, func(ast.Expr) bool { return true }) {
			used[id.Name] = true
		}
	}
	for name := range used {
		if o := b.objects[name]; o != nil && !b.declared[name] && b.cell.imported[name] == "" {
			pkg.Scope().Insert(o)
		}
	}
	for _, o := range b.named {
		pkg.Scope().Insert(o)
	}
}

// refusePhantoms refuses calls of methods that only a refused cell declared.
func (b *builder) refusePhantoms() {
	own := map[*types.Func]bool{}
	for _, m := range b.cell.Methods {
		own[m.Func] = true
	}
	for x, sel := range b.cell.Info.Selections {
		if f, ok := sel.Obj().(*types.Func); ok && b.phantom[f] && !own[f] {
			b.errs.add(b.cell.text.offset(b.fset, x.Sel.Pos()), types.ExprString(x)+" undefined (the cell that declared the method was refused)")
		}
	}
}
