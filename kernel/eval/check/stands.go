package check

import (
	"go/ast"
	"go/scanner"
	"go/token"
	"go/types"
	"strconv"
)

// A method that a cell declares again, word for word, of the same names, is left as it is: its type need not be compiled again.

// methodSource is what a method of a cell has been declared as.
type methodSource struct {
	text string
	decl *ast.FuncDecl
	cell *Cell
}

// source is the cell's text of a declaration.
func (b *builder) source(n ast.Node) string {
	t := b.cell.text
	return t.code[t.offset(b.fset, n.Pos()):t.offset(b.fset, n.End())]
}

// stands reports whether a type of an earlier cell has a method already, as this cell declares it.
func (b *builder) stands(o *types.TypeName, f *ast.FuncDecl) bool {
	named, ok := o.Type().(*types.Named)
	if !ok || f.Body == nil {
		return false
	}
	for m := range named.Methods() {
		if m.Name() == f.Name.Name {
			old := b.methods[m]
			return old != nil && !b.phantom[m] && sameTokens(old.text, b.source(f)) && b.meansTheSame(old)
		}
	}
	return false
}

// sameTokens compares two texts but for comments and the space between tokens. A comment that tells the compiler something counts.
func sameTokens(x, y string) bool {
	next := func(text string) func() (token.Token, string) {
		var s scanner.Scanner
		s.Init(token.NewFileSet().AddFile("", -1, len(text)), []byte(text), nil, 0)
		return func() (token.Token, string) {
			_, tok, lit := s.Scan()
			if tok == token.SEMICOLON {
				lit = "" // written or implied
			}
			return tok, lit
		}
	}
	nextX, nextY := next(x), next(y)
	for {
		tok, lit := nextX()
		if other, text := nextY(); tok != other || lit != text {
			return false
		}
		if tok == token.EOF {
			return true
		}
	}
}

// meansTheSame reports whether the names in an earlier declaration mean the same now, in this cell.
func (b *builder) meansTheSame(old *methodSource) bool {
	same := true
	skip := map[*ast.Ident]bool{}
	ast.Inspect(old.decl, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			skip[n.Sel] = true
		case *ast.Ident:
			o := old.cell.Info.Uses[n]
			if o == nil || skip[n] || old.decl.Pos() <= o.Pos() && o.Pos() < old.decl.End() {
				return true // nothing, a member of something, or the declaration's own
			}
			same = same && b.means(n.Name, o)
		}
		return same
	})
	return same
}

// means reports whether a name means an object of the package level, or of a package.
func (b *builder) means(name string, o types.Object) bool {
	if v, ok := o.(*types.Var); ok && v.IsField() {
		return true
	}
	if b.declared[name] {
		return false
	}
	if p, ok := o.(*types.PkgName); ok {
		return b.objects[name] == nil && b.importedAs(name) == p.Imported().Path()
	}
	if o.Pkg() == nil || o.Pkg().Path() != "main" { // the language's own, or of a package that is imported with a dot
		return b.objects[name] == nil && b.importedAs(name) == ""
	}
	return b.objects[name] == o
}

// importedAs is the path that a name stands for in this cell, "" for none.
func (b *builder) importedAs(name string) string {
	for _, spec := range b.specs {
		if s := spec.(*ast.ImportSpec); s.Name.Name == name {
			path, _ := strconv.Unquote(s.Path.Value)
			return path
		}
	}
	return ""
}
