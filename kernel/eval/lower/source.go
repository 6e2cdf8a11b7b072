package lower

import (
	"embed"
	"fmt"
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"path/filepath"
	"strings"

	"cancha/kernel/eval/check"
)

// Generic functions and types have no compiled form: an instance is lowered from source. For cells the source is at hand.
// For the standard library it is, in this order, our own version of it below overlay (of what is slow when interpreted, or
// needs package unsafe), and the source of a Go installation.

//go:embed overlay
var overlay embed.FS

// sourcePackage is a package of which declarations are lowered.
type sourcePackage struct {
	pkg   *types.Package
	decls map[string]*decl // by name; methods as "Type.Method"
	objs  map[string]types.Object
}

// sourceOf finds the source of a function, type or method of a compiled package.
func (l *Lowerer) sourceOf(o types.Object, pos token.Pos) (types.Object, *decl) {
	name := o.Name()
	if f, ok := o.(*types.Func); ok {
		if recv := check.Receiver(f); recv != nil {
			name = recv.Obj().Name() + "." + name
		}
	}
	path := o.Pkg().Path()
	if p := l.overlayPackage(path); p != nil && p.decls[name] != nil {
		return p.objs[name], p.decls[name]
	}
	p := l.installedPackage(path, name, pos)
	if p.decls[name] == nil {
		refuse(pos, "%s.%s is not available to the interpreter: its source is not among the files of package %s", path, name, path)
	}
	return p.objs[name], p.decls[name]
}

// sourceType is the type of a package whose source is lowered that stands for a generic type of the compiled package.
func (l *Lowerer) sourceType(t *types.Named, pos token.Pos) *types.Named {
	o, d := l.sourceOf(t.Origin().Obj(), pos)
	if d.spec == nil {
		refuse(pos, "%s is not a type", t)
	}
	args := make([]types.Type, t.TypeArgs().Len())
	for i := range args {
		args[i] = t.TypeArgs().At(i)
	}
	r, err := types.Instantiate(l.context, o.Type(), args, false)
	if err != nil {
		refuse(pos, "%v", err)
	}
	return r.(*types.Named)
}

func (l *Lowerer) overlayPackage(path string) *sourcePackage {
	key := "overlay " + path
	if p, ok := l.packages[key]; ok {
		return p
	}
	file := "overlay/" + strings.ReplaceAll(path, "/", "_") + ".go.txt"
	code, err := fs.ReadFile(overlay, file)
	if err != nil {
		l.packages[key] = nil
		return nil
	}
	f, err := parser.ParseFile(l.cfg.FileSet, file, code, parser.SkipObjectResolution)
	if err != nil {
		panic(fmt.Sprintf("overlay of %s: %v", path, err)) // ours, and parsed by a test
	}
	l.packages[key] = l.checkSource(path, []*ast.File{f})
	return l.packages[key]
}

func (l *Lowerer) installedPackage(path, name string, pos token.Pos) *sourcePackage {
	if p, ok := l.packages[path]; ok {
		return p
	}
	dir, err := l.cfg.Source(path)
	if err != nil {
		refuse(pos, "%s.%s is generic and has to be built from source: %v", path, name, err)
	}
	ctx := build.Default
	ctx.CgoEnabled = false
	list, err := ctx.ImportDir(dir, 0)
	if err != nil {
		refuse(pos, "%s.%s is generic and has to be built from source: %v", path, name, err)
	}
	var files []*ast.File
	for _, file := range list.GoFiles {
		f, err := parser.ParseFile(l.cfg.FileSet, filepath.Join(dir, file), nil, parser.SkipObjectResolution)
		if err == nil {
			files = append(files, f)
		}
	}
	l.packages[path] = l.checkSource(path, files)
	return l.packages[path]
}

// checkSource type-checks a package from source. Errors are not told: only what is lowered has to be right, and what is
// not shows there.
func (l *Lowerer) checkSource(path string, files []*ast.File) *sourcePackage {
	info := &types.Info{
		Types: map[ast.Expr]types.TypeAndValue{}, Defs: map[*ast.Ident]types.Object{}, Uses: map[*ast.Ident]types.Object{},
		Instances: map[*ast.Ident]types.Instance{}, Selections: map[*ast.SelectorExpr]*types.Selection{},
		Implicits: map[ast.Node]types.Object{}, Scopes: map[ast.Node]*types.Scope{},
	}
	conf := types.Config{Importer: l.cfg.Importer, Error: func(error) {}}
	pkg, _ := conf.Check(path, l.cfg.FileSet, files, info)
	p := &sourcePackage{pkg: pkg, decls: map[string]*decl{}, objs: map[string]types.Object{}}
	for _, f := range files {
		for _, d := range f.Decls {
			l.addSource(p, d, info)
		}
	}
	return p
}

func (l *Lowerer) addSource(p *sourcePackage, d ast.Decl, info *types.Info) {
	add := func(name string, o types.Object, d *decl) {
		p.decls[name], p.objs[name] = d, o
		l.decls[o] = d // source stays, whatever becomes of the cell that asked for it
	}
	switch d := d.(type) {
	case *ast.FuncDecl:
		f, ok := info.Defs[d.Name].(*types.Func)
		if !ok {
			return
		}
		name := f.Name()
		if recv := check.Receiver(f); recv != nil {
			name = recv.Obj().Name() + "." + name
		}
		add(name, f, &decl{fn: d, info: info, pkg: p.pkg, recover: check.CallsRecover(info, d.Body)})
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			if ts, ok := spec.(*ast.TypeSpec); ok && info.Defs[ts.Name] != nil {
				add(ts.Name.Name, info.Defs[ts.Name], &decl{spec: ts, info: info, pkg: p.pkg})
			}
		}
	}
}
