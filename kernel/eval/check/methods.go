package check

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"regexp"
	"slices"
)

// adoptMethods turns methods of types that earlier cells declared into functions with the receiver in front, which go/types
// can check, and gives the types those methods. What a type has already, word for word, stays as it is. A type that the cell declares again
// loses the methods that stood beside its declaration and stand there no more.
func (b *builder) adoptMethods() {
	var adopted, originals []*ast.FuncDecl
	standing := map[*ast.FuncDecl]bool{}
	for i, d := range b.decls.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok || f.Recv == nil || len(f.Recv.List) != 1 {
			continue
		}
		base, generic := receiverName(f.Recv.List[0].Type)
		if base == nil {
			continue
		}
		base = b.behindAlias(base)
		if b.declared[base.Name] {
			continue
		}
		obj, ok := b.objects[base.Name].(*types.TypeName)
		switch {
		case !ok: // go/types says what is wrong
		case b.stands(obj, f):
			standing[f] = true
		case obj.IsAlias():
			b.errs.add(b.cell.text.offset(b.fset, f.Recv.Pos()), "methods of an alias belong into the cell that declares it: write the type that "+base.Name+" stands for")
		case generic && isGeneric(obj) && canEditMethods:
			if fn := b.asGeneric(f, obj); fn != nil {
				b.decls.Decls[i] = fn
				adopted, originals = append(adopted, fn), append(originals, f)
			}
		default: // a generic type without its parameters, or another with some, is what go/types refuses
			fn := asFunction(f, base.Name)
			b.decls.Decls[i] = fn
			adopted, originals = append(adopted, fn), append(originals, f)
		}
	}
	b.decls.Decls = slices.DeleteFunc(b.decls.Decls, func(d ast.Decl) bool {
		f, ok := d.(*ast.FuncDecl)
		return ok && standing[f]
	})
	if len(b.errs.list) > 0 { // a method of an earlier cell's generic type is nothing that go/types could check
		return
	}
	b.dropMethods()
	if len(adopted) > 0 {
		b.declareMethods(adopted, originals)
	}
}

// behindAlias is the name that an alias of this cell stands for, or name itself.
func (b *builder) behindAlias(name *ast.Ident) *ast.Ident {
	for _, d := range b.decls.Decls {
		for _, ts := range typeSpecs(d) {
			if id, ok := ast.Unparen(ts.Type).(*ast.Ident); ok && ts.Assign.IsValid() && ts.Name.Name == name.Name && id.Name != name.Name {
				return id
			}
		}
	}
	return name
}

// dropMethods takes from the types that the cell declares again what no longer stands beside them.
func (b *builder) dropMethods() {
	for _, o := range b.cell.kept {
		for _, m := range b.lost(o) {
			b.cell.Dropped = append(b.cell.Dropped, Method{Type: o.Type().(*types.Named), Func: m})
		}
	}
	for _, m := range b.cell.Dropped {
		b.editMethods(m.Type, func(list []*types.Func) []*types.Func {
			return slices.DeleteFunc(list, func(f *types.Func) bool { return f == m.Func })
		})
	}
}

// lost are the methods that stood beside a type and that this cell, which declares the type again, does not declare.
func (b *builder) lost(o *types.TypeName) (list []*types.Func) {
	for m := range o.Type().(*types.Named).Methods() {
		if b.besides[o][m.Name()] && !b.cell.beside[o.Name()][m.Name()] && !b.phantom[m] {
			list = append(list, m)
		}
	}
	return list
}

// receiverName is the type name in a receiver; generic tells of type parameters.
func receiverName(x ast.Expr) (name *ast.Ident, generic bool) {
	for {
		switch t := x.(type) {
		case *ast.Ident:
			return t, generic
		case *ast.StarExpr:
			x = t.X
		case *ast.ParenExpr:
			x = t.X
		case *ast.IndexExpr:
			x, generic = t.X, true
		case *ast.IndexListExpr:
			x, generic = t.X, true
		default:
			return nil, generic
		}
	}
}

// adoptedAgain is what go/types says of two methods of one name.
var adoptedAgain = regexp.MustCompile(`^([\pL_][\pL\pN_]*)` + nameMark + `([\pL_][\pL\pN_]*) redeclared in this block`)

func asFunction(f *ast.FuncDecl, base string) *ast.FuncDecl {
	t := *f.Type
	params := *f.Type.Params
	params.List = nil
	for _, field := range append([]*ast.Field{f.Recv.List[0]}, f.Type.Params.List...) {
		if len(field.Names) == 0 { // as all of them have names, or none
			named := *field
			named.Names = []*ast.Ident{{NamePos: field.Pos(), Name: "_"}}
			field = &named
		}
		params.List = append(params.List, field)
	}
	t.Params = &params
	name := &ast.Ident{NamePos: f.Name.Pos(), Name: base + nameMark + f.Name.Name}
	return &ast.FuncDecl{Doc: f.Doc, Name: name, Type: &t, Body: f.Body}
}

// declareMethods checks the signatures alone and adds the methods, so that the rest of the cell can call them.
func (b *builder) declareMethods(adopted, originals []*ast.FuncDecl) {
	info := newInfo()
	pkg := types.NewPackage("main", "main")
	b.insertObjects(pkg)
	conf := types.Config{Importer: b.importer, IgnoreFuncBodies: true, GoVersion: GoVersion,
		Error: func(err error) { b.errs.addType(b.fset, err, "") }}
	file := *b.decls
	file.Decls = slices.DeleteFunc(slices.Clone(file.Decls), func(d ast.Decl) bool {
		if f, ok := d.(*ast.FuncDecl); ok {
			return !slices.Contains(adopted, f)
		}
		return d.(*ast.GenDecl).Tok == token.VAR // which may call the methods
	})
	b.withImports(&file)
	defer b.nameCells()()
	_ = types.NewChecker(&conf, b.fset, pkg, info).Files([]*ast.File{&file}) // errors are collected
	if len(b.errs.list) > 0 {
		return
	}
	for i, fn := range adopted {
		b.declareMethod(info.Defs[fn.Name].(*types.Func), fn, originals[i])
	}
}

func (b *builder) declareMethod(f *types.Func, fn, original *ast.FuncDecl) {
	t := types.Unalias(f.Signature().Params().At(0).Type())
	if p, ok := t.(*types.Pointer); ok {
		t = types.Unalias(p.Elem())
	}
	named, ok := t.(*types.Named)
	if !ok {
		return
	}
	named = named.Origin()
	at, name := b.cell.text.offset(b.fset, original.Name.Pos()), original.Name.Name
	if fault := noMethod(named, name); fault != "" {
		b.errs.add(at, fault)
		return
	}
	fresh := freshParams(f)
	method, err := asMethod(f, fresh)
	if err != nil {
		b.errs.add(at, err.Error())
		return
	}
	for m := range named.Methods() {
		if m.Name() != name {
			continue
		}
		if same, err := asMethod(f, slices.Collect(m.Signature().RecvTypeParams().TypeParams())); err != nil || !sameSignature(m.Signature(), same) {
			b.replaceMethod(named, m, types.NewFunc(f.Pos(), b.cell.Pkg, name, method), original, fn)
			return
		}
		b.addMethod(Method{named, m, fn}, original)
		return
	}
	m := types.NewFunc(f.Pos(), b.cell.Pkg, name, method)
	if isGeneric(named.Obj()) {
		b.editMethods(named, func(list []*types.Func) []*types.Func { return append(list, m) })
	} else {
		named.AddMethod(m)
		b.phantom[m] = true // until the cell is committed
	}
	b.addMethod(Method{named, m, fn}, original)
}

// noMethod says why a type cannot have a method of that name, as the compiler does; "" where it can.
func noMethod(named *types.Named, method string) string {
	switch u := named.Underlying().(type) {
	case *types.Pointer, *types.Interface:
		return fmt.Sprintf("invalid receiver type %s (pointer or interface type)", named.Obj().Name())
	case *types.Struct:
		for v := range u.Fields() {
			if v.Name() == method {
				return fmt.Sprintf("field and method with the same name %s", method)
			}
		}
	}
	return ""
}

func (b *builder) addMethod(m Method, original *ast.FuncDecl) {
	b.cell.Methods = append(b.cell.Methods, m)
	b.cell.methods[m.Func] = &methodSource{b.source(original), m.Decl, b.cell}
}

// replaceMethod gives a type a method with another signature in the place of one that it has.
func (b *builder) replaceMethod(named *types.Named, old, m *types.Func, original, fn *ast.FuncDecl) {
	if !canEditMethods {
		b.errs.add(b.cell.text.offset(b.fset, original.Name.Pos()), "method "+named.Obj().Name()+"."+m.Name()+" exists with another signature: restart the kernel, or give it another name")
		return
	}
	if !b.phantom[old] {
		b.cell.Dropped = append(b.cell.Dropped, Method{Type: named, Func: old})
	}
	b.editMethods(named, func(list []*types.Func) []*types.Func {
		list[slices.Index(list, old)] = m
		return list
	})
	b.addMethod(Method{named, m, fn}, original)
}

func sameSignature(a, b *types.Signature) bool {
	return types.Identical(a, b) && types.Identical(a.Recv().Type(), b.Recv().Type())
}

// Lacks tells whether go/types knows a method that the program lacks, because the earlier cell that was to add it was refused.
func (c *Cell) Lacks(m *types.Func) bool {
	return c.scope.phantom[m] && !slices.ContainsFunc(c.Methods, func(own Method) bool { return own.Func == m })
}
