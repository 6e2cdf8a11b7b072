package native

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"runtime"
)

// Fields that are not exported can be named only in the package of their cell. For each struct type with such fields that package declares
// another one, its mirror. The mirror has fields of the very same types, so that it looks the same in memory, under names that every
// package can use. Where a cell says p.x, its text becomes (*mirror)(unsafe.Pointer(p)).F0, and its literals become literals of the mirror.
// These are conversions only. Unlike calls of functions, they are not evaluated before what stands to their left; they keep the lengths of
// arrays constant; and a nil pointer is found where Go finds it.

// hidden reports whether v is a field that this cell's package cannot name.
func (w *writer) hidden(v *types.Var) bool {
	if v.Exported() || v.Name() == "_" || v.Pkg() == nil || v.Pkg().Path() != "main" || w.ownField[v.Origin()] {
		return false
	}
	_, known := w.engine.fields[v.Origin()]
	return known || v.Pkg() != w.cell.Pkg
}

// mirrorName is the name of a struct type's mirror.
func mirrorName(owner string) string { return "M" + mark + owner }

// mirror is the mirror of a struct type t with the hidden field v.
func (w *writer) mirror(t types.Type, v *types.Var, pos token.Pos) string {
	at, ok := w.engine.fields[v.Origin()]
	if !ok {
		refuse(pos, "field %s belongs to a type without a name of an earlier cell: give the type a name", v.Name())
	}
	x := w.earlier(at.owner, pos)
	name := w.packageName(x.unit) + "." + mirrorName(x.own())
	if typeParamsOf(at.owner).Len() == 0 {
		return name
	}
	n, _ := types.Unalias(t).(*types.Named)
	if n == nil || n.Origin().Obj() != at.owner {
		refuse(pos, "field %s belongs to the generic type %s of an earlier cell: use that type here", v.Name(), at.owner.Name())
	}
	return name + w.typeArgs(n, pos)
}

// unsafePointer converts a pointer.
func (w *writer) unsafePointer(text string) string {
	return w.imported("unsafe") + ".Pointer(" + text + ")"
}

// pointerTo is a pointer to a value of type t, to a copy of one that has no address.
func (w *writer) pointerTo(text string, t types.Type, addressable bool, pos token.Pos) string {
	if addressable {
		return "&" + text
	}
	return fmt.Sprintf("&[1]%s{%s}", w.typeText(t, pos), text)
}

// seenAs is what a pointer points to, seen as a value of another type. It has no address: of what has one the compiler may put
// off the reading until calls that follow have been made.
func (w *writer) seenAs(typ, pointer string) string {
	return fmt.Sprintf("(struct{ X %s }{*(*%s)(%s)}.X)", typ, typ, w.unsafePointer(pointer))
}

// selector writes x.f.
func (w *writer) selector(x *ast.SelectorExpr) string {
	if id, ok := x.X.(*ast.Ident); ok {
		if pkg, ok := w.info.Uses[id].(*types.PkgName); ok {
			if f, ok := w.info.Uses[x.Sel].(*types.Func); ok && (standsFor[f.FullName()] != "" || mends[f.FullName()] != "") {
				return w.funcName(x.Sel, f)
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
		return w.shownField(x, o, w.between(x, x.X, x.Sel, x.Sel.Name))
	}
	return w.between(x, x.X, x.Sel, x.Sel.Name)
}

// method writes x.m.
func (w *writer) method(x *ast.SelectorExpr, m *types.Func) string {
	if stream, ok := w.replaced[x.X]; ok {
		return stream + "." + x.Sel.Name
	}
	text := w.between(x, x.X, x.Sel, w.methodName(m))
	if w.heap && !w.called[x] && w.takesAddress(x) {
		return supportName + ".Heap(&" + operand(w.text(x.X)) + ")." + w.methodName(m)
	}
	return text
}

// takesAddress reports whether a method value holds the address of the variable that it is taken of.
func (w *writer) takesAddress(x *ast.SelectorExpr) bool {
	s := w.info.Selections[x]
	if s == nil || s.Kind() != types.MethodVal || s.Indirect() {
		return false
	}
	_, has := s.Recv().Underlying().(*types.Pointer)
	_, wants := s.Obj().(*types.Func).Signature().Recv().Type().Underlying().(*types.Pointer)
	return wants && !has
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
	pointer := text
	if p, ok := t.Underlying().(*types.Pointer); ok {
		t, addressable = p.Elem(), true
	} else {
		pointer = w.pointerTo(text, t, addressable, pos)
	}
	at, known := w.engine.fields[v.Origin()]
	switch {
	case !known && addressable:
		return w.fieldAt(pointer, t, v, pos)
	case addressable:
		return fmt.Sprintf("(*%s)(%s).F%d", w.mirror(t, v, pos), w.unsafePointer(pointer), at.index)
	}
	return fmt.Sprintf("%s.F%d", w.seenAs(w.mirror(t, v, pos), pointer), at.index)
}

// fieldAt writes the hidden field of a struct type without a name, which has no mirror: what is in its place.
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
	return fmt.Sprintf("(*(*%s)(%s.Add(%s, %d)))", w.typeText(v.Type(), pos), w.imported("unsafe"), w.unsafePointer(pointer), offset)
}

// receiver writes the pointer to the receiver of a method of package sync, which may be an embedded field.
func (w *writer) receiver(x *ast.SelectorExpr, s *types.Selection) string {
	text, t, _ := w.path(x, s)
	if _, pointer := t.Underlying().(*types.Pointer); pointer {
		return text
	}
	return "&" + text
}

// refuseHiding refuses a struct type with a field that bears the name of a method which is not exported and comes with an embedded
// type: in compiled cells the method has another name than the field, and would not be hidden by it.
func refuseHiding(s *types.Struct, pos token.Pos) {
	for v := range s.Fields() {
		if !v.Embedded() {
			continue
		}
		for m := range types.NewMethodSet(withPointer(v.Type())).Methods() {
			name := m.Obj().Name()
			o, _, _ := types.LookupFieldOrMethod(s, true, m.Obj().Pkg(), name)
			if _, isMethod := o.(*types.Func); methodName(m.Obj().(*types.Func)) != name && !isMethod && hasField(s, name, 0) {
				refuse(pos, "field %s hides a method of the embedded %s: give one of them another name", name, v.Name())
			}
		}
	}
}

// withPointer is the type whose methods a struct gets from an embedded field, those of pointers included.
func withPointer(t types.Type) types.Type {
	if _, pointer := t.Underlying().(*types.Pointer); pointer || types.IsInterface(t) {
		return t
	}
	return types.NewPointer(t)
}

// hasField reports whether s has a field of that name, be it in an embedded struct.
func hasField(s *types.Struct, name string, depth int) bool {
	for v := range s.Fields() {
		if v.Name() == name {
			return true
		}
		if inner, _ := structOf(v.Type()); v.Embedded() && inner != nil && depth < 8 && hasField(inner, name, depth+1) {
			return true
		}
	}
	return false
}
