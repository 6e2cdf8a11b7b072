package eval

import (
	"go/ast"
	"go/types"

	"cancha/kernel/eval/check"
)

// disguises tells whether a cell has values of types without a name that the interpreter builds otherwise than Go: structs with fields that are
// embedded or not exported, and interfaces with methods. In an interface, a compiled cell would take such a value for one of another type.
func disguises(c *check.Cell) bool {
	seen, found := map[types.Type]bool{}, false
	look := func(n ast.Node) bool {
		if _, ok := n.(*ast.TypeSpec); ok {
			return false // which gives its type a name
		}
		x, ok := n.(ast.Expr)
		found = found || ok && disguised(c.Info.TypeOf(x), seen)
		return !found
	}
	for _, d := range c.Decls {
		ast.Inspect(d, look)
	}
	ast.Inspect(c.Body, look)
	return found
}

// disguised looks for such a type in a cell's type; seen are those that the question is about already.
func disguised(t types.Type, seen map[types.Type]bool) bool {
	if t == nil || seen[t] {
		return false
	}
	seen[t] = true
	switch t := types.Unalias(t).(type) {
	case *types.Struct:
		for v := range t.Fields() {
			if ofCell(v) && (v.Embedded() || !v.Exported()) || disguised(v.Type(), seen) {
				return true
			}
		}
	case *types.Interface:
		for m := range t.Methods() {
			if ofCell(m) {
				return true
			}
		}
	case *types.Map:
		return disguised(t.Key(), seen) || disguised(t.Elem(), seen)
	case interface{ Elem() types.Type }: // pointers, slices, arrays, channels
		return disguised(t.Elem(), seen)
	case *types.Signature:
		return disguised(t.Params(), seen) || disguised(t.Results(), seen)
	case *types.Tuple:
		for v := range t.Variables() {
			if disguised(v.Type(), seen) {
				return true
			}
		}
	}
	return false
}

// ofCell reports whether a cell has written a field or method.
func ofCell(o types.Object) bool { return o.Pkg() != nil && o.Pkg().Path() == "main" }
