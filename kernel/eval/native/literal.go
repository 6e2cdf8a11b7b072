package native

import (
	"fmt"
	"go/ast"
	"go/types"
	"slices"
)

// Literals of structs with hidden fields, and conversions between such structs: see the mirrors in fields.go.

// hiddenIn is the first hidden field that a literal names, or counts; nil where there is none.
func (w *writer) hiddenIn(lit *ast.CompositeLit) *types.Var {
	s, _ := structOf(w.info.TypeOf(lit))
	if s == nil {
		return nil
	}
	for i := range lit.Elts {
		if v := s.Field(literalField(s, lit, i)); w.hidden(v) {
			return v
		}
	}
	return nil
}

// literalField is the number of the field that the i-th element of a struct literal sets.
func literalField(s *types.Struct, lit *ast.CompositeLit, i int) int {
	kv, ok := lit.Elts[i].(*ast.KeyValueExpr)
	if !ok {
		return i
	}
	name := kv.Key.(*ast.Ident).Name
	return slices.IndexFunc(slices.Collect(s.Fields()), func(f *types.Var) bool { return f.Name() == name })
}

// composite writes a composite literal. One with hidden fields becomes a literal of the mirror, a pointer to which is seen as one
// to the struct.
func (w *writer) composite(lit *ast.CompositeLit, address bool) string {
	hidden := w.hiddenIn(lit)
	if hidden == nil {
		return w.copy(lit)
	}
	t := w.info.TypeOf(lit)
	if p, ok := t.Underlying().(*types.Pointer); ok { // an elided &T
		t, address = p.Elem(), true
	}
	name, literal := "", "&"+w.mirror(t, hidden, lit.Pos())
	if lit.Type != nil {
		name = w.text(lit.Type)
		w.replaced[lit.Type], literal = literal, ""
	} else {
		name = w.typeText(t, lit.Pos())
	}
	s, _ := structOf(t)
	for i, x := range lit.Elts {
		value := x
		if kv, ok := x.(*ast.KeyValueExpr); ok {
			value = kv.Value
		}
		w.replaced[x] = fmt.Sprintf("F%d: %s", literalField(s, lit, i), w.text(value))
	}
	literal += w.copy(lit)
	if address {
		return fmt.Sprintf("(*%s)(%s)", name, w.unsafePointer(literal))
	}
	return w.seenAs(name, literal)
}

// otherFields tells structs, or pointers to such, with fields that are the same in the cells but, since these are packages of
// their own, not to the compiler.
func (w *writer) otherFields(a, b types.Type) bool {
	s, pointer := structOf(a)
	t, both := structOf(b)
	if s == nil || t == nil || pointer != both || s.NumFields() != t.NumFields() {
		return false
	}
	for i := range s.NumFields() {
		v, other := s.Field(i), t.Field(i)
		if !v.Exported() && v.Name() != "_" && v != other && (w.hidden(v) || w.hidden(other)) {
			return true
		}
	}
	return false
}

// conversion writes the conversion of a struct, or pointer to one, with such fields.
func (w *writer) conversion(x *ast.CallExpr) string {
	to, arg := w.text(ast.Unparen(x.Fun)), x.Args[0]
	text, from := operand(w.text(arg)), w.info.TypeOf(arg)
	if _, pointer := from.Underlying().(*types.Pointer); pointer {
		return fmt.Sprintf("(%s)(%s)", to, w.unsafePointer(text))
	}
	return w.seenAs(to, w.pointerTo(text, from, w.info.Types[arg].Addressable(), x.Pos()))
}
