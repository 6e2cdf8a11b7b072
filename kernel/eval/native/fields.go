package native

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"runtime"
	"strings"
)

// Fields that are not exported can be named in the package of their cell only. For each such field of a declared struct that
// package has a function that returns a pointer to it, and one that returns the field of a value.

// hidden tells a field that this cell's package cannot name.
func (w *writer) hidden(v *types.Var) bool {
	if v.Exported() || v.Name() == "_" || v.Pkg() == nil || v.Pkg().Path() != "main" || w.ownField[v.Origin()] {
		return false
	}
	_, known := w.engine.fields[v.Origin()]
	return known || v.Pkg() != w.cell.Pkg
}

// fieldCall is the call of one of the functions of a hidden field; form is "P" for the pointer, "G" for the value. value has
// type t, or is a pointer to it.
func (w *writer) fieldCall(form, value string, t types.Type, v *types.Var, pos token.Pos) string {
	at, ok := w.engine.fields[v.Origin()]
	if !ok {
		refuse(pos, "field %s belongs to a type without a name of an earlier cell: give the type a name", v.Name())
	}
	n, _ := types.Unalias(t).(*types.Named)
	args := ""
	if n == nil || n.Origin().Obj() != at.owner {
		if typeParamsOf(at.owner).Len() > 0 {
			refuse(pos, "field %s belongs to the generic type %s of an earlier cell: use that type here", v.Name(), at.owner.Name())
		}
		owner := w.typeText(at.owner.Type(), pos)
		if form == "P" {
			owner = "(*" + owner + ")"
		}
		value = owner + "(" + value + ")"
	} else if n.TypeArgs().Len() > 0 {
		list := make([]string, n.TypeArgs().Len())
		for i := range list {
			list[i] = w.typeText(n.TypeArgs().At(i), pos)
		}
		args = "[" + strings.Join(list, ", ") + "]"
	}
	x := w.earlier(at.owner, pos)
	name := fieldFunc(form, at.owner, at.index)
	dot := "x."
	if args != "" {
		dot = "."
	}
	return w.packageName(x.unit) + dot + name + args + "(" + value + ")"
}

func fieldFunc(form string, owner *types.TypeName, index int) string {
	return fmt.Sprintf("%s%s%s%s%d", form, mark, owner.Name(), mark, index)
}

// selector writes x.f.
func (w *writer) selector(x *ast.SelectorExpr) string {
	if id, ok := x.X.(*ast.Ident); ok {
		if pkg, ok := w.info.Uses[id].(*types.PkgName); ok {
			if f, ok := w.info.Uses[x.Sel].(*types.Func); ok && standsFor[f.FullName()] != "" {
				return machineName + "." + standsFor[f.FullName()]
			}
			w.importAs(id.Name, pkg.Imported().Path(), id.Pos())
			return id.Name + "." + x.Sel.Name
		}
	}
	s := w.info.Selections[x]
	if s == nil {
		return w.copy(x)
	}
	switch o := s.Obj().(type) {
	case *types.Func:
		return w.method(x, o)
	case *types.Var:
		if w.hidden(o) {
			text, t, addressable := w.path(x, s)
			return w.field(text, t, o, addressable, x.Pos())
		}
	}
	return w.between(x, x.X, x.Sel, x.Sel.Name)
}

// method writes x.m.
func (w *writer) method(x *ast.SelectorExpr, m *types.Func) string {
	if stream, ok := w.replaced[x.X]; ok {
		return stream + "." + x.Sel.Name
	}
	return w.between(x, x.X, x.Sel, methodName(m))
}

// between writes x.sel with the text that stands between the two.
func (w *writer) between(x *ast.SelectorExpr, left ast.Expr, sel *ast.Ident, name string) string {
	return w.text(left) + w.code[w.offset(left.End()):w.offset(sel.Pos())] + name
}

// path follows a selection through embedded fields up to its last step.
func (w *writer) path(x *ast.SelectorExpr, s *types.Selection) (text string, t types.Type, addressable bool) {
	text, t = operand(w.text(x.X)), w.info.TypeOf(x.X)
	addressable = w.info.Types[x.X].Addressable()
	for _, i := range s.Index()[:len(s.Index())-1] {
		st, pointer := structOf(t)
		v := st.Field(i)
		if w.hidden(v) {
			text = w.field(text, t, v, addressable, x.Pos())
		} else {
			text += "." + v.Name()
		}
		addressable = addressable || pointer
		t = v.Type()
	}
	return text, t, addressable
}

// structOf is the struct of a type or of what it points to.
func structOf(t types.Type) (s *types.Struct, pointer bool) {
	if p, ok := t.Underlying().(*types.Pointer); ok {
		t, pointer = p.Elem(), true
	}
	s, _ = t.Underlying().(*types.Struct)
	return s, pointer
}

// field writes the hidden field of a value of type t, or of what it points to.
func (w *writer) field(text string, t types.Type, v *types.Var, addressable bool, pos token.Pos) string {
	_, known := w.engine.fields[v.Origin()]
	if p, ok := t.Underlying().(*types.Pointer); ok && known {
		return "(*" + w.fieldCall("P", text, p.Elem(), v, pos) + ")"
	} else if ok {
		return w.fieldAt(text, p.Elem(), v, pos)
	}
	if addressable && !known {
		return w.fieldAt("&"+text, t, v, pos)
	}
	if addressable {
		return "(*" + w.fieldCall("P", "&"+text, t, v, pos) + ")"
	}
	return w.fieldCall("G", text, t, v, pos)
}

// fieldAt writes the hidden field of a struct type without a name, which has no functions for it: what is in its place.
func (w *writer) fieldAt(pointer string, t types.Type, v *types.Var, pos token.Pos) string {
	s, _ := t.Underlying().(*types.Struct)
	fields := make([]*types.Var, s.NumFields())
	at := -1
	for i := range fields {
		if fields[i] = s.Field(i); fields[i] == v {
			at = i
		}
	}
	if at < 0 {
		refuse(pos, "field %s cannot be found in %s", v.Name(), t)
	}
	offset := types.SizesFor("gc", runtime.GOARCH).Offsetsof(fields)[at]
	unsafe := w.imported("unsafe")
	return fmt.Sprintf("(*(*%s)(%s.Add(%s.Pointer(%s), %d)))", w.typeText(v.Type(), pos), unsafe, unsafe, pointer, offset)
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

// receiver writes the pointer to the receiver of a method of package sync, which may be an embedded field.
func (w *writer) receiver(x *ast.SelectorExpr, s *types.Selection) string {
	text, t, _ := w.path(x, s)
	if _, pointer := t.Underlying().(*types.Pointer); pointer {
		return text
	}
	return "&" + text
}

// hidesField tells a literal that names, or counts, a hidden field.
func (w *writer) hidesField(lit *ast.CompositeLit) bool {
	s, _ := structOf(w.info.TypeOf(lit))
	if s == nil || len(lit.Elts) == 0 {
		return false
	}
	for i := range lit.Elts {
		if w.hidden(w.literalField(s, lit, i)) {
			return true
		}
	}
	return false
}

// literalField is the field of the i-th element of a struct literal.
func (w *writer) literalField(s *types.Struct, lit *ast.CompositeLit, i int) *types.Var {
	if kv, ok := lit.Elts[i].(*ast.KeyValueExpr); ok {
		name := kv.Key.(*ast.Ident).Name
		for f := range s.Fields() {
			if f.Name() == name {
				return f
			}
		}
	}
	return s.Field(i)
}

// composite writes a composite literal. One with hidden fields becomes a function that sets them.
func (w *writer) composite(lit *ast.CompositeLit, address bool) string {
	if !w.hidesField(lit) {
		return w.copy(lit)
	}
	t := w.info.TypeOf(lit)
	if p, ok := t.Underlying().(*types.Pointer); ok { // an elided &T
		t, address = p.Elem(), true
	}
	s, _ := structOf(t)
	name := ""
	if lit.Type != nil {
		name = w.text(lit.Type)
	} else {
		name = w.typeText(t, lit.Pos())
	}
	v := "v" + mark
	var b strings.Builder
	if address {
		fmt.Fprintf(&b, "func() *%s { %s := new(%s); ", name, v, name)
	} else {
		fmt.Fprintf(&b, "func() (%s %s) { ", v, name)
	}
	for i, x := range lit.Elts {
		if kv, ok := x.(*ast.KeyValueExpr); ok {
			x = kv.Value
		}
		f := w.literalField(s, lit, i)
		switch {
		case f.Name() == "_":
			fmt.Fprintf(&b, "_ = %s; ", w.text(x))
		case !w.hidden(f):
			fmt.Fprintf(&b, "%s.%s = %s; ", v, f.Name(), w.text(x))
		case address:
			fmt.Fprintf(&b, "*%s = %s; ", w.fieldCall("P", v, t, f, x.Pos()), w.text(x))
		default:
			fmt.Fprintf(&b, "*%s = %s; ", w.fieldCall("P", "&"+v, t, f, x.Pos()), w.text(x))
		}
	}
	fmt.Fprintf(&b, "return %s }()", v)
	return b.String()
}
