package lower

import (
	"go/ast"
	"go/token"
	"go/types"
)

// orderWalk goes through the operands of a statement as the compiler does.
type orderWalk struct {
	f       *fn
	keep    bool // what the compiler keeps
	open    bool // something has been read that a call may change
	matters bool // a call comes after that
	effect  bool // there was a call
}

func (w *orderWalk) list(list []operandUse) {
	for _, u := range list {
		switch {
		case u.called:
			w.call(u.x.(*ast.CallExpr))
		case u.place:
			w.place(u.x)
		case u.to != nil:
			w.converted(u.x, u.to)
		default:
			w.read(u.x)
		}
	}
}

func (w *orderWalk) read(x ast.Expr) {
	tv := w.f.info.Types[x]
	if x == nil || tv.IsType() || tv.Value != nil {
		return
	}
	switch x := x.(type) {
	case *ast.ParenExpr:
		w.read(x.X)
	case *ast.Ident:
		w.open = w.open || w.f.changes(x)
	case *ast.SelectorExpr:
		w.selector(x)
	case *ast.StarExpr:
		w.read(x.X)
		w.open = true
	case *ast.IndexExpr:
		w.index(x)
	case *ast.UnaryExpr:
		w.unary(x)
	case *ast.BinaryExpr:
		w.binary(x)
	case *ast.CallExpr:
		w.callOrConversion(x)
	case *ast.CompositeLit:
		w.composite(x)
	case *ast.TypeAssertExpr:
		if isDirect(w.f.typeOf(x)) {
			w.read(x.X)
			w.open = true
			return
		}
		w.kept(x, false, func() { w.read(x.X) })
	case *ast.SliceExpr:
		w.kept(x, false, func() {
			if isPointer(w.f.typeOf(x.X)) || !isArray(w.f.typeOf(x.X)) {
				w.read(x.X)
			} else {
				w.place(x.X)
			}
			w.readAll(x.Low, x.High, x.Max)
		})
	}
}

func (w *orderWalk) readAll(list ...ast.Expr) {
	for _, x := range list {
		if x != nil {
			w.read(x)
		}
	}
}

// kept is for what the compiler keeps in a variable as soon as it has evaluated it.
func (w *orderWalk) kept(x ast.Expr, effect bool, operands func()) {
	open, before := w.open, w.effect
	w.open, w.effect = false, effect
	operands()
	effect = w.effect
	w.open, w.effect = open, before || effect
	w.matters = w.matters || open && effect
	if _, tuple := w.f.typeOf(x).(*types.Tuple); w.keep && !tuple {
		w.f.hold(x)
	}
}

// converted is for a value that is converted to type to. A value whose address the conversion to an interface asks for, since
// it is neither a word nor a string, is kept unless it has an address.
func (w *orderWalk) converted(x ast.Expr, to types.Type) {
	from := w.f.typeOf(x)
	if w.f.info.Types[x].Value != nil || isNil(from) || to == nil || !types.IsInterface(w.f.l.sub(to, w.f.env)) || types.IsInterface(from) || !boxedByAddress(from) {
		w.read(x)
		return
	}
	w.addressed(x)
}

// addressed is for a value whose address is taken: it is kept unless it has one.
func (w *orderWalk) addressed(x ast.Expr) {
	if w.hasAddress(x) || w.f.info.Types[x].Value != nil || w.keepsItself(x) {
		w.read(x)
		return
	}
	w.kept(x, false, func() { w.read(x) })
}

func (w *orderWalk) hasAddress(x ast.Expr) bool { return w.f.info.Types[x].Addressable() }

// keepsItself reports whether x is a call or a receive, which is kept anyway, once.
func (w *orderWalk) keepsItself(x ast.Expr) bool {
	switch x := ast.Unparen(x).(type) {
	case *ast.CallExpr:
		return !w.f.info.Types[x.Fun].IsType()
	case *ast.UnaryExpr:
		return x.Op == token.ARROW
	}
	return false
}

// place is for what is assigned to or whose address is taken: what tells where it is counts.
func (w *orderWalk) place(x ast.Expr) {
	f := w.f
	switch x := ast.Unparen(x).(type) {
	case *ast.Ident:
	case *ast.IndexExpr:
		if isArray(f.typeOf(x.X)) {
			w.place(x.X)
			w.read(x.Index)
			w.open = w.open || f.varies(x.Index)
			return
		}
		w.index(x)
	case *ast.SelectorExpr:
		sel := f.info.Selections[x]
		switch {
		case sel == nil:
		case sel.Indirect():
			w.read(x.X)
			w.open = true
		default:
			w.place(x.X)
		}
	default:
		w.read(x)
	}
}

func (w *orderWalk) selector(x *ast.SelectorExpr) {
	f := w.f
	sel := f.info.Selections[x]
	switch {
	case f.info.Types[x.X].IsType():
	case sel == nil:
		w.open = w.open || f.changes(x.Sel)
	case sel.Kind() == types.MethodVal && !types.IsInterface(f.typeOf(x.X)):
		w.receiver(x.X, sel)
	default:
		w.read(x.X)
		w.open = w.open || sel.Indirect()
	}
}

// receiver is for the x of a method x.M.
func (w *orderWalk) receiver(x ast.Expr, sel *types.Selection) {
	m, _ := sel.Obj().(*types.Func)
	if wants := isPointer(m.Signature().Recv().Type()); wants && !isPointer(w.f.typeOf(x)) && !sel.Indirect() {
		w.place(x)
		return
	}
	w.read(x)
	w.open = w.open || sel.Indirect() && !isPointer(m.Signature().Recv().Type())
}

func (w *orderWalk) index(x *ast.IndexExpr) {
	f := w.f
	if f.info.Types[x.Index].IsType() {
		w.read(x.X)
		return
	}
	w.read(x.X)
	m, ok := f.typeOf(x.X).Underlying().(*types.Map)
	if ok {
		w.key(x.Index, m)
	} else {
		w.read(x.Index)
	}
	w.open = w.open || ok || !isArray(f.typeOf(x.X)) || f.varies(x.Index)
}

// key is for a map's key, whose address most maps are given.
func (w *orderWalk) key(x ast.Expr, m *types.Map) {
	if w.f.info.Types[x].Value == nil && byAddress(w.f.l.sub(m.Key(), w.f.env), w.f.l.sub(m.Elem(), w.f.env)) {
		w.addressed(x)
		return
	}
	w.converted(x, m.Key())
}

func (w *orderWalk) unary(x *ast.UnaryExpr) {
	switch x.Op {
	case token.ARROW:
		w.kept(x, true, func() { w.read(x.X) })
	case token.AND:
		if lit, ok := ast.Unparen(x.X).(*ast.CompositeLit); ok {
			w.read(lit)
			return
		}
		w.place(x.X)
	default:
		w.read(x.X)
	}
}

func (w *orderWalk) binary(x *ast.BinaryExpr) {
	f := w.f
	switch x.Op {
	case token.LAND, token.LOR:
		w.kept(x, false, func() {
			w.read(x.X)
			w.effect = w.effect || f.hasEffect(x.Y)
		})
		return
	case token.EQL, token.NEQ:
		tx, ty := f.typeOf(x.X), f.typeOf(x.Y)
		if isStruct(tx) || isArray(tx) {
			w.compared(x.X, x.Y)
			return
		}
		w.converted(x.X, ty)
		w.converted(x.Y, tx)
		w.open = w.open || types.IsInterface(tx) && types.IsInterface(ty)
		return
	}
	w.readAll(x.X, x.Y)
	w.open = w.open || f.mayDivideByZero(x)
}

// compared is for structs or arrays, whose addresses are taken after both have been evaluated.
func (w *orderWalk) compared(x, y ast.Expr) {
	open := w.open
	w.readAll(x, y)
	if w.hasAddress(x) || w.hasAddress(y) {
		return
	}
	w.open = open
	for _, x := range []ast.Expr{x, y} {
		if _, held := w.f.held[x]; w.keep && !held {
			w.f.hold(x)
		}
	}
}

func (f *fn) mayDivideByZero(x *ast.BinaryExpr) bool {
	if x.Op != token.QUO && x.Op != token.REM || !f.varies(x.Y) {
		return false
	}
	b, ok := f.typeOf(x).Underlying().(*types.Basic)
	return ok && b.Info()&types.IsInteger != 0
}

func (w *orderWalk) composite(x *ast.CompositeLit) {
	t := w.f.typeOf(x)
	if p, ok := t.Underlying().(*types.Pointer); ok {
		t = p.Elem()
	}
	switch u := t.Underlying().(type) {
	case *types.Map:
		w.kept(x, false, func() {
			earlier := false
			for _, e := range x.Elts {
				earlier = w.entry(e.(*ast.KeyValueExpr), u, earlier)
			}
		})
	case *types.Struct:
		for i, e := range x.Elts {
			w.field(u, i, e)
		}
	case *types.Slice:
		w.elements(x.Elts, u.Elem())
	case *types.Array:
		w.elements(x.Elts, u.Elem())
	}
}

// entry is for an entry of a map's literal: the compiler makes it before it comes to the next. earlier tells that an entry in
// front has read what a call may change.
func (w *orderWalk) entry(kv *ast.KeyValueExpr, m *types.Map, earlier bool) bool {
	before := w.effect
	w.open, w.effect = false, false
	w.key(kv.Key, m)
	w.converted(kv.Value, m.Elem())
	w.matters = w.matters || earlier && w.effect
	earlier = earlier || w.open
	w.open, w.effect = false, w.effect || before
	for _, x := range []ast.Expr{kv.Key, kv.Value} {
		if _, held := w.f.held[x]; w.keep && !held && w.f.info.Types[x].Value == nil && !isNil(w.f.typeOf(x)) {
			w.f.hold(x)
		}
	}
	return earlier
}

func (w *orderWalk) field(u *types.Struct, i int, e ast.Expr) {
	if kv, ok := e.(*ast.KeyValueExpr); ok {
		for v := range u.Fields() {
			if v.Name() == kv.Key.(*ast.Ident).Name {
				w.converted(kv.Value, v.Type())
			}
		}
		return
	}
	w.converted(e, u.Field(i).Type())
}

func (w *orderWalk) elements(elts []ast.Expr, elem types.Type) {
	for _, e := range elts {
		if kv, ok := e.(*ast.KeyValueExpr); ok {
			e = kv.Value
		}
		w.converted(e, elem)
	}
}

func (w *orderWalk) callOrConversion(x *ast.CallExpr) {
	f := w.f
	tv := f.info.Types[x.Fun]
	if tv.IsType() {
		if from, ok := f.typeOf(x.Args[0]).Underlying().(*types.Basic); ok && from.Info()&types.IsString != 0 && !isBasic(f.typeOf(x)) {
			w.kept(x, false, func() { w.read(x.Args[0]) })
			return
		}
		w.converted(x.Args[0], f.typeOf(x))
		w.open = w.open || isSlice(f.typeOf(x.Args[0])) && !isSlice(f.typeOf(x)) // whose elements a string or an array is made of
		return
	}
	w.kept(x, f.isEffect(x), func() { w.call(x) })
}

// call is for the operands of a call.
func (w *orderWalk) call(x *ast.CallExpr) {
	f := w.f
	if f.info.Types[x.Fun].IsBuiltin() {
		for i, a := range x.Args {
			w.builtinArg(x, i, a)
		}
		return
	}
	w.read(x.Fun)
	sig := f.signature(x)
	for i, a := range x.Args {
		if f.isTuple(x.Args) {
			w.read(a)
			continue
		}
		t, _ := paramType(sig, i, x.Ellipsis.IsValid())
		w.converted(a, t)
	}
}

func (w *orderWalk) builtinArg(x *ast.CallExpr, i int, a ast.Expr) {
	id, _ := ast.Unparen(x.Fun).(*ast.Ident)
	if id == nil {
		return
	}
	if id.Name == "panic" {
		w.converted(a, anyType)
		return
	}
	switch t := w.f.typeOf(x.Args[0]).Underlying().(type) {
	case *types.Slice:
		if id.Name == "append" && i > 0 && !x.Ellipsis.IsValid() {
			w.converted(a, t.Elem())
			return
		}
	case *types.Map:
		if id.Name == "delete" && i == 1 {
			w.key(a, t)
			return
		}
	}
	w.read(a)
}
