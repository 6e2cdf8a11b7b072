package check

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strconv"
)

// A method of an earlier cell's generic type is checked as a generic function with the receiver in front. Its type parameters are those of
// the receiver, whose constraints stand where the type was declared. So they are given names here, which no cell spells by accident.

// asGeneric is asFunction for a method of a generic type; nil where that cannot be written, which it says.
func (b *builder) asGeneric(f *ast.FuncDecl, o *types.TypeName) *ast.FuncDecl {
	at := b.cell.text.offset(b.fset, f.Recv.Pos())
	params, ids := o.Type().(*types.Named).TypeParams(), receiverParams(f.Recv.List[0].Type)
	if params.Len() != len(ids) {
		b.errs.add(at, fmt.Sprintf("receiver declares %d type parameters, but receiver base type declares %d", len(ids), params.Len()))
		return nil
	}
	c := constraints{b: b, of: b.generics[o], names: map[*types.TypeParam]string{}}
	for i, id := range ids {
		if id.Name == "_" {
			id.Name = unusedLetter(f)
		}
		c.names[params.At(i)] = id.Name
	}
	fn := asFunction(f, o.Name())
	fn.Type.TypeParams = &ast.FieldList{}
	for i, id := range ids {
		x := c.constraint(params.At(i), id.Pos())
		if x == nil {
			b.errs.add(at, fmt.Sprintf("the constraints of %s cannot be repeated in another cell: declare its methods in the cell that declares it, under another name", o.Name()))
			return nil
		}
		fn.Type.TypeParams.List = append(fn.Type.TypeParams.List, &ast.Field{Names: []*ast.Ident{{NamePos: id.Pos(), Name: id.Name}}, Type: x})
	}
	return fn
}

// unusedLetter is a name for what has none in a method, as long as a blank: positions in the text stay what they are.
func unusedLetter(f *ast.FuncDecl) string {
	used := map[string]bool{}
	ast.Inspect(f, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok {
			used[id.Name] = true
		}
		return true
	})
	for letter := 'A'; letter <= 'z'; letter++ {
		if name := string(letter); token.IsIdentifier(name) && !used[name] {
			return name
		}
	}
	return "_" // which the check refuses
}

// receiverParams are the type parameters that a receiver declares.
func receiverParams(x ast.Expr) (ids []*ast.Ident) {
	var indices []ast.Expr
	for {
		switch t := x.(type) {
		case *ast.StarExpr:
			x = t.X
			continue
		case *ast.ParenExpr:
			x = t.X
			continue
		case *ast.IndexExpr:
			indices = []ast.Expr{t.Index}
		case *ast.IndexListExpr:
			indices = t.Indices
		}
		break
	}
	for _, x := range indices {
		if id, ok := x.(*ast.Ident); ok {
			ids = append(ids, id)
		}
	}
	return ids
}

// constraints writes the constraints of a generic type with other names for its parameters.
type constraints struct {
	b     *builder
	of    *typeSource
	names map[*types.TypeParam]string
}

// typeSource is where a generic type has been declared.
type typeSource struct {
	spec *ast.TypeSpec
	cell *Cell
}

// noteGenerics remembers where the cell's generic types are declared.
func (s *Scope) noteGenerics(c *Cell) {
	for _, d := range c.Decls {
		for _, ts := range typeSpecs(d) {
			if o, ok := c.Info.Defs[ts.Name].(*types.TypeName); ok && ts.TypeParams != nil {
				s.generics[o] = &typeSource{ts, c}
			}
		}
	}
}

// constraint writes that of a parameter; nil where it cannot.
func (c *constraints) constraint(p *types.TypeParam, at token.Pos) ast.Expr {
	if c.of == nil || c.of.spec.TypeParams == nil {
		return nil
	}
	for _, field := range c.of.spec.TypeParams.List {
		for _, id := range field.Names {
			if o := c.of.cell.Info.Defs[id]; o == nil || o.Type() != p {
				continue
			}
			if !c.dependent(field.Type) {
				return c.b.typeAlias(p.Constraint(), at)
			}
			return c.expr(field.Type, at)
		}
	}
	return nil
}

// dependent reports whether x mentions parameters.
func (c *constraints) dependent(x ast.Expr) (found bool) {
	ast.Inspect(x, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok {
			found = found || c.param(id) != nil
		}
		return !found
	})
	return found
}

func (c *constraints) param(id *ast.Ident) *types.TypeParam {
	if o := c.of.cell.Info.Uses[id]; o != nil {
		p, _ := o.Type().(*types.TypeParam)
		return p
	}
	return nil
}

// expr copies a type expression; nil where it is one that cannot be copied.
func (c *constraints) expr(x ast.Expr, at token.Pos) ast.Expr {
	if x == nil {
		return nil
	}
	if !c.dependent(x) {
		return c.b.typeAlias(c.of.cell.Info.TypeOf(x), at)
	}
	switch x := x.(type) {
	case *ast.Ident:
		return &ast.Ident{NamePos: at, Name: c.names[c.param(x)]}
	case *ast.ParenExpr:
		return c.expr(x.X, at)
	case *ast.UnaryExpr:
		of := c.expr(x.X, at)
		return whole(&ast.UnaryExpr{OpPos: at, Op: x.Op, X: of}, of)
	case *ast.StarExpr:
		elem := c.expr(x.X, at)
		return whole(&ast.StarExpr{Star: at, X: elem}, elem)
	case *ast.BinaryExpr:
		l, r := c.expr(x.X, at), c.expr(x.Y, at)
		return whole(&ast.BinaryExpr{X: l, OpPos: at, Op: x.Op, Y: r}, l, r)
	case *ast.ArrayType:
		if x.Len != nil {
			return nil
		}
		elem := c.expr(x.Elt, at)
		return whole(&ast.ArrayType{Lbrack: at, Elt: elem}, elem)
	case *ast.MapType:
		k, v := c.expr(x.Key, at), c.expr(x.Value, at)
		return whole(&ast.MapType{Map: at, Key: k, Value: v}, k, v)
	case *ast.ChanType:
		elem := c.expr(x.Value, at)
		return whole(&ast.ChanType{Begin: at, Dir: x.Dir, Value: elem}, elem)
	case *ast.IndexExpr:
		return c.instance(x.X, []ast.Expr{x.Index}, at)
	case *ast.IndexListExpr:
		return c.instance(x.X, x.Indices, at)
	case *ast.FuncType:
		return c.function(x, at)
	case *ast.InterfaceType:
		return c.iface(x, at)
	}
	return nil
}

// whole is x, if all of its parts could be copied.
func whole(x ast.Expr, parts ...ast.Expr) ast.Expr {
	for _, p := range parts {
		if p == nil {
			return nil
		}
	}
	return x
}

// instance copies an instance of a generic type of the cells that has its name still.
func (c *constraints) instance(x ast.Expr, args []ast.Expr, at token.Pos) ast.Expr {
	id, ok := x.(*ast.Ident)
	if !ok || c.b.declared[id.Name] || c.b.objects[id.Name] != c.of.cell.Info.Uses[id] {
		return nil
	}
	c.b.recalled[id.Name] = true
	list := make([]ast.Expr, len(args))
	for i, a := range args {
		list[i] = c.expr(a, at)
	}
	generic := &ast.Ident{NamePos: at, Name: id.Name}
	if len(list) == 1 {
		return whole(&ast.IndexExpr{X: generic, Lbrack: at, Index: list[0]}, list...)
	}
	return whole(&ast.IndexListExpr{X: generic, Lbrack: at, Indices: list}, list...)
}

func (c *constraints) function(x *ast.FuncType, at token.Pos) ast.Expr {
	params, ok1 := c.fields(x.Params, at)
	results, ok2 := c.fields(x.Results, at)
	if !ok1 || !ok2 {
		return nil
	}
	return &ast.FuncType{Func: at, Params: params, Results: results}
}

func (c *constraints) iface(x *ast.InterfaceType, at token.Pos) ast.Expr {
	methods, ok := c.fields(x.Methods, at)
	if !ok {
		return nil
	}
	return &ast.InterfaceType{Interface: at, Methods: methods}
}

// fields copies a list with the names of methods, and of nothing else.
func (c *constraints) fields(list *ast.FieldList, at token.Pos) (*ast.FieldList, bool) {
	if list == nil {
		return nil, true
	}
	copied := &ast.FieldList{Opening: at, Closing: at}
	for _, field := range list.List {
		var x ast.Expr
		f, isMethod := field.Type.(*ast.FuncType)
		isMethod = isMethod && len(field.Names) == 1
		if isMethod {
			x = c.function(f, at)
		} else {
			x = c.expr(field.Type, at)
		}
		if x == nil {
			return nil, false
		}
		if isMethod {
			copied.List = append(copied.List, &ast.Field{Names: []*ast.Ident{{NamePos: at, Name: field.Names[0].Name}}, Type: x})
			continue
		}
		for range max(len(field.Names), 1) {
			copied.List = append(copied.List, &ast.Field{Type: x})
		}
	}
	return copied, true
}

// typeAlias gives a type a name in the cell.
func (b *builder) typeAlias(t types.Type, at token.Pos) ast.Expr {
	if t == nil {
		return nil
	}
	o := types.NewTypeName(token.NoPos, b.cell.Pkg, "C"+nameMark+strconv.Itoa(len(b.named)), nil)
	types.NewAlias(o, t)
	b.named = append(b.named, o)
	return &ast.Ident{NamePos: at, Name: o.Name()}
}

// asMethod is the signature of a method that has been checked as a function with the receiver in front. Params are the receiver's type
// parameters, in place of the function's.
func asMethod(f *types.Func, params []*types.TypeParam) (*types.Signature, error) {
	sig := f.Signature()
	if sig.TypeParams().Len() > 0 || len(params) > 0 {
		args := make([]types.Type, len(params))
		for i, p := range params {
			args[i] = p
		}
		x, err := types.Instantiate(nil, sig, args, false)
		if err != nil {
			return nil, err
		}
		sig = x.(*types.Signature)
	}
	recv := sig.Params().At(0)
	rest := slices.Collect(sig.Params().Variables())[1:]
	return types.NewSignatureType(types.NewParam(recv.Pos(), recv.Pkg(), recv.Name(), recv.Type()), unbound(params), nil, types.NewTuple(rest...), sig.Results(), sig.Variadic()), nil
}

// unbound are those of the type parameters that no other signature has.
func unbound(params []*types.TypeParam) (list []*types.TypeParam) {
	for _, p := range params {
		if p.Index() < 0 {
			list = append(list, p)
		}
	}
	return list
}

// freshParams are type parameters for the receiver of a method.
func freshParams(f *types.Func) (list []*types.TypeParam) {
	for p := range f.Signature().TypeParams().TypeParams() {
		o := types.NewTypeName(p.Obj().Pos(), p.Obj().Pkg(), p.Obj().Name(), nil)
		list = append(list, types.NewTypeParam(o, types.Universe.Lookup("any").Type()))
	}
	return list
}
