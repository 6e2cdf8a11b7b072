package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"slices"
	"strings"
)

// sentinel is what each program prints at the end of main: most print nothing, and that they came to their end is what
// tells that they worked.
const sentinel = "conformance: the end of main"

// shape is how a program becomes cells.
type shape string

const (
	whole shape = "a" // the program is one cell
	split shape = "b" // its declarations but main are one cell, what is in main is the next
)

// withSentinel returns a program whose main ends by printing the sentinel.
func withSentinel(source string) (string, error) {
	_, file, err := parseProgram(source)
	if err != nil {
		return "", err
	}
	m := mainOf(file)
	if m == nil {
		return "", fmt.Errorf("it has no main")
	}
	at := int(m.Body.Rbrace - file.FileStart)
	if !declares(file, "println") {
		return source[:at] + fmt.Sprintf("\nprintln(%q)\n", sentinel) + source[at:], nil
	}
	name := int(file.Name.End() - file.FileStart)
	return source[:name] + "\nimport sentinelOS \"os\"" + source[name:at] +
		fmt.Sprintf("\nsentinelOS.Stderr.WriteString(\"%s\\n\")\n", sentinel) + source[at:], nil
}

// declares tells whether a program gives a name a meaning of its own.
func declares(file *ast.File, name string) bool {
	found := false
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			found = found || n.Name.Name == name
		case *ast.ValueSpec:
			for _, id := range n.Names {
				found = found || id.Name == name
			}
		case *ast.Field:
			for _, id := range n.Names {
				found = found || id.Name == name
			}
		case *ast.AssignStmt:
			for _, x := range n.Lhs {
				id, ok := x.(*ast.Ident)
				found = found || ok && id.Name == name
			}
		}
		return !found
	})
	return found
}

func parseProgram(source string) (*token.FileSet, *ast.File, error) {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, "program.go", source, parser.ParseComments)
	if err != nil {
		return nil, nil, fmt.Errorf("parse it: %w", err)
	}
	return fset, file, nil
}

func mainOf(file *ast.File) *ast.FuncDecl {
	for _, d := range file.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil && f.Name.Name == "main" && f.Body != nil {
			return f
		}
	}
	return nil
}

// cellsOf returns a program as cells.
func cellsOf(source string, s shape) ([]string, error) {
	if s == whole {
		return []string{source}, nil
	}
	fset, file, err := parseProgram(source)
	if err != nil {
		return nil, err
	}
	m := mainOf(file)
	if m == nil {
		return nil, fmt.Errorf("it has no main")
	}
	offset := func(p token.Pos) int { return int(p - file.FileStart) }
	begin := m.Pos()
	if m.Doc != nil {
		begin = m.Doc.Pos()
	}
	edits, block := apart(fset, file, m)
	body := edits.apply(source, offset(m.Body.Lbrace)+1, offset(m.Body.Rbrace), offset)
	if block {
		body = "{\n" + body + "\n}"
	}
	return []string{source[:offset(begin)] + source[offset(m.End()):], body}, nil
}

// edits are new names for identifiers.
type edits []edit

type edit struct {
	at  *ast.Ident
	new string
}

func (e edits) apply(source string, from, to int, offset func(token.Pos) int) string {
	slices.SortFunc(e, func(a, b edit) int { return int(a.at.Pos() - b.at.Pos()) })
	var out strings.Builder
	for _, edit := range e {
		at := offset(edit.at.Pos())
		out.WriteString(source[from:at] + edit.new)
		from = at + len(edit.at.Name)
	}
	out.WriteString(source[from:to])
	return out.String()
}

// apart gives variables and constants of main other names where they have those of the program's own: in a cell they
// would not hide these but take their place. Where that would show (a type's name is printed) the statements become a
// block.
func apart(fset *token.FileSet, file *ast.File, m *ast.FuncDecl) (e edits, block bool) {
	info := &types.Info{Defs: map[*ast.Ident]types.Object{}, Uses: map[*ast.Ident]types.Object{}, Scopes: map[ast.Node]*types.Scope{}, Implicits: map[ast.Node]types.Object{}}
	conf := types.Config{Importer: noImports{}, Error: func(error) {}} // only names matter, and they resolve without types
	pkg, _ := conf.Check("main", fset, []*ast.File{file}, info)
	scope := info.Scopes[m.Type]
	if scope == nil {
		return nil, false
	}
	taken := map[types.Object]string{}
	for _, name := range scope.Names() {
		o := scope.Lookup(name)
		if pkg.Scope().Lookup(name) == nil && info.Scopes[file].Lookup(name) == nil {
			continue
		}
		if _, isType := o.(*types.TypeName); isType {
			return nil, true
		}
		taken[o] = name + "OfMain"
	}
	for _, uses := range []map[*ast.Ident]types.Object{info.Defs, info.Uses} {
		for id, o := range uses {
			if name := taken[o]; name != "" && id.Pos() >= m.Body.Pos() && id.End() <= m.Body.End() {
				e = append(e, edit{id, name})
			}
		}
	}
	return e, false
}

// noImports knows no package: whatever is selected from one has no type, which is fine for names.
type noImports struct{}

func (noImports) Import(path string) (*types.Package, error) {
	return nil, fmt.Errorf("package %s is not looked at", path)
}
