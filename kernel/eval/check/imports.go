package check

import (
	"errors"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strconv"
)

// imports reads the cell's import declarations; the names count from now on, in all of the cell.
func (b *builder) imports() {
	for _, spec := range b.imps.Imports {
		path, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			continue // the parser has told
		}
		pkg, err := b.importer.Import(path)
		if err != nil {
			text := fmt.Sprintf("could not import %s (%v)", path, err)
			if errors.As(err, new(unknown)) {
				text = err.Error()
			}
			b.errs.add(b.cell.text.offset(b.fset, spec.Path.Pos()), text)
			continue
		}
		switch name := pkg.Name(); {
		case spec.Name == nil:
			b.cell.imported[name] = path
		case spec.Name.Name == ".":
			b.cell.dots = append(b.cell.dots, path)
		case spec.Name.Name == "_":
			b.cell.Blank = append(b.cell.Blank, pkg.Path())
		default:
			b.cell.imported[spec.Name.Name] = path
		}
	}
}

// resolve finds the package behind each name that the cell uses and does not declare: one it imports, one imported by an
// earlier cell, or a package of the standard library that no other shares its name with.
func (b *builder) resolve() {
	b.declared = map[string]bool{}
	for _, d := range b.decls.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Recv == nil {
				b.declared[d.Name.Name] = true
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				for _, id := range specNames(spec) {
					b.declared[id.Name] = true
				}
			}
		}
	}
	members := map[*ast.Ident]string{}
	for _, f := range []*ast.File{b.decls, b.body} {
		ast.Inspect(f, func(n ast.Node) bool {
			if sel, ok := n.(*ast.SelectorExpr); ok {
				if id, ok := sel.X.(*ast.Ident); ok {
					members[id] = sel.Sel.Name
				}
			}
			return true
		})
	}
	calls := callsOf(b.decls, b.body)
	for _, id := range append(slices.Clone(b.decls.Unresolved), b.body.Unresolved...) {
		if b.resolveName(id, members) {
			b.meet(id, calls)
		}
	}
	for _, path := range append(slices.Clone(b.dots), b.cell.dots...) {
		b.addSpec(".", path)
	}
}

// resolveName finds the package behind a name. Universal tells that the name means a function that every cell knows.
func (b *builder) resolveName(id *ast.Ident, members map[*ast.Ident]string) (universal bool) {
	name := id.Name
	if b.declared[name] || name == embedName {
		return false
	}
	if path, ok := b.cell.imported[name]; ok {
		b.addSpec(name, path)
		return false
	}
	if b.objects[name] != nil {
		return false
	}
	if path, ok := b.Scope.imports[name]; ok {
		b.addSpec(name, path)
		return false
	}
	if gone, ok := b.stopped[name]; ok {
		b.errs.hints["undefined: "+name] = gone.cell + " ended before it declared it"
	}
	member, qualifies := members[id]
	if !qualifies {
		return isUniverse(name)
	}
	if types.Universe.Lookup(name) != nil {
		return false
	}
	if path, ok := b.assume(name, member); ok {
		b.cell.imported[name] = path
		b.assumed[name] = true
		b.addSpec(name, path)
		return false
	}
	if found := b.offering(name, member); len(found) > 0 {
		b.errs.hints["undefined: "+name] = importText(found)
	}
	return false
}

// standard are the packages of the standard library by that name which anybody may import.
func (s *Scope) standard(name string) []string {
	var paths []string
	for _, p := range s.byName[name] {
		if p.Standard {
			paths = append(paths, p.Path)
		}
	}
	return paths
}

func (b *builder) addSpec(name, path string) {
	spec := &ast.ImportSpec{Name: ast.NewIdent(name), Path: &ast.BasicLit{Kind: token.STRING, Value: strconv.Quote(path)}}
	for _, old := range b.specs {
		if o := old.(*ast.ImportSpec); o.Name.Name == name && o.Path.Value == spec.Path.Value {
			return
		}
	}
	b.specs = append(b.specs, spec)
}

// withImports puts the imports in front of a file's declarations.
func (b *builder) withImports(f *ast.File) {
	if len(b.specs) == 0 {
		return
	}
	f.Decls = append([]ast.Decl{&ast.GenDecl{Tok: token.IMPORT, Specs: b.specs}}, f.Decls...)
}
