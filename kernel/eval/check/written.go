package check

import (
	"cmp"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"strings"
)

// Library tells what is known of compiled packages beyond their types. Each function may be nil.
type Library struct {
	// Docs returns a package's doc comments: under "" its own, under "Name" and "Type.Name" those of its members. Package
	// builtin holds the language's own names.
	Docs func(path string) map[string]string
	// Source returns the folder with a package's source, an error where there is none on this machine.
	Source func(path string) (folder string, err error)
}

// written is what the author of an object wrote about it, and in which cell.
type written struct {
	doc, source string
	cell        string
	line        int
}

// written looks an object up: in the sketched cell, in the cells before it, or in the docs of its package. Owner is the type
// that it was selected from.
func (s *Scope) written(o types.Object, owner string, b *builder) written {
	if p, ok := o.(*types.PkgName); ok {
		return written{doc: s.docs(p.Imported().Path())[""]}
	}
	if f, ok := o.(*types.Func); ok {
		if name, _, ok := Known(f); ok {
			return written{doc: knownDocs[name]}
		}
	}
	home := s
	if o.Pkg() == b.cell.Pkg {
		home = b.Scope
	}
	pos := o.Pos()
	if t, ok := o.(*types.TypeName); ok && home.again[t].IsValid() {
		pos = home.again[t]
	}
	if name, line, _, ok := home.Position(pos); ok {
		t := home.texts[home.fset.File(pos).Name()]
		w := declarationAt(t.code, t.offset(home.fset, pos))
		w.cell, w.line = name, line
		return w
	}
	path := "builtin"
	if o.Pkg() != nil {
		path = o.Pkg().Path()
	}
	docs := s.docs(path)
	if f, ok := o.(*types.Func); ok && f.Signature().Recv() != nil {
		own := docs[owner+"."+o.Name()] // of a method promoted from an unexported type too
		return written{doc: cmp.Or(own, docs[receiver(f)+"."+o.Name()])}
	}
	if v, ok := o.(*types.Var); ok && v.IsField() {
		return written{doc: docs[owner+"."+o.Name()]}
	}
	return written{doc: docs[o.Name()]}
}

func (s *Scope) docs(path string) map[string]string {
	if s.Library.Docs == nil {
		return nil
	}
	return s.Library.Docs(path)
}

// receiver is the name of the type that a method was declared for, "" where it has none.
func receiver(f *types.Func) string {
	t := f.Signature().Recv().Type()
	if p, ok := t.(*types.Pointer); ok {
		t = p.Elem()
	}
	if named, ok := types.Unalias(t).(*types.Named); ok {
		return named.Obj().Name()
	}
	return ""
}

// declarationAt finds the declaration or statement of a cell that holds a byte.
func declarationAt(code string, offset int) written {
	pieces, _ := split(code)
	for _, p := range pieces {
		if p.start <= offset && offset < p.end {
			return written{doc: leading(code[:p.start]), source: strings.TrimRight(code[p.start:p.end], "; \n\t")}
		}
	}
	return written{}
}

// leading is the line comment right in front of a piece.
func leading(before string) string {
	lines := strings.Split(before, "\n")
	if len(lines) < 2 || strings.TrimSpace(lines[len(lines)-1]) != "" {
		return ""
	}
	lines = lines[:len(lines)-1]
	first := len(lines)
	for first > 0 && strings.HasPrefix(strings.TrimSpace(lines[first-1]), "//") {
		first--
	}
	group := &ast.CommentGroup{}
	for _, l := range lines[first:] {
		group.List = append(group.List, &ast.Comment{Text: strings.TrimSpace(l)})
	}
	return group.Text()
}

// source is the text of an object's declaration: of its cell, or from the source of its package where that is at hand.
func (s *Scope) source(o types.Object, w written) string {
	if w.source != "" || o.Pkg() == nil || s.Library.Source == nil {
		return w.source
	}
	folder, err := s.Library.Source(o.Pkg().Path())
	if err != nil {
		return ""
	}
	at := s.fset.Position(o.Pos())
	file := filepath.Join(folder, filepath.Base(at.Filename))
	code, err := os.ReadFile(file)
	if err != nil {
		return ""
	}
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, "", code, parser.SkipObjectResolution)
	if err != nil {
		return ""
	}
	for _, d := range f.Decls {
		from, to := fset.Position(d.Pos()), fset.Position(d.End())
		if from.Line <= at.Line && at.Line <= to.Line {
			return string(code[from.Offset:to.Offset])
		}
	}
	return ""
}
