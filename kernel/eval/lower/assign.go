package lower

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"
)

// target is what is assigned to: the text of a variable and its type; no type for the blank identifier.
type target struct {
	text string
	typ  types.Type
	new  bool
}

func (f *fn) target(x ast.Expr, define bool) target {
	if id, ok := ast.Unparen(x).(*ast.Ident); ok {
		if id.Name == "_" {
			return target{text: "_"}
		}
		if v, ok := f.info.Defs[id].(*types.Var); ok && define {
			_, session := f.l.names[v]
			return target{f.variable(v, id.Pos()), f.l.sub(v.Type(), f.env), !session}
		}
	}
	return target{text: f.lvalue(x), typ: f.typeOf(x)}
}

func (f *fn) assign(s *ast.AssignStmt) {
	if s.Tok != token.ASSIGN && s.Tok != token.DEFINE {
		f.opAssign(s)
		return
	}
	if len(s.Lhs) > 1 && len(s.Rhs) == 1 {
		f.assignResults(s)
		return
	}
	targets := f.targets(s)
	values := make([]string, len(s.Rhs))
	for i, x := range s.Rhs {
		if targets[i].typ == nil { // a variable of its own, since the interpreter's _ has one type
			targets[i] = f.blank(f.typeOf(x))
		}
		if targets[i].typ == nil {
			values[i] = f.expr(x)
			continue
		}
		values[i] = f.conv(x, targets[i].typ)
	}
	if _, element := f.mapElement(s.Lhs[0]); element && len(targets) == 1 && f.derefs(s.Rhs[0]) { // the interpreter puts nothing into a map for what a nil pointer points to
		values[0] = f.keep(part{text: values[0], typ: targets[0].typ})
	}
	if len(targets) == 1 && f.isPackageVariable(s.Lhs[0]) { // the interpreter puts nothing but a variable's value there
		values[0] = f.keep(part{text: values[0], typ: targets[0].typ})
	}
	f.store(targets, values)
}

// isPackageVariable reports whether x is a variable of an imported package.
func (f *fn) isPackageVariable(x ast.Expr) bool {
	s, ok := ast.Unparen(x).(*ast.SelectorExpr)
	if !ok || f.info.Selections[s] != nil {
		return false
	}
	_, ok = f.info.Uses[s.Sel].(*types.Var)
	return ok
}

// targets finds the places of what is assigned to.
func (f *fn) targets(s *ast.AssignStmt) []target {
	targets := make([]target, len(s.Lhs))
	for i, x := range s.Lhs {
		targets[i] = f.target(x, s.Tok == token.DEFINE)
		if len(s.Lhs) > 1 && !targets[i].new && targets[i].typ != nil {
			targets[i].text = f.place(x)
		}
	}
	return targets
}

// assignResults assigns what one expression gives to several variables, whose places are found after a call.
func (f *fn) assignResults(s *ast.AssignStmt) {
	x := s.Rhs[0]
	if !f.hasEffect(x) || !slices.ContainsFunc(s.Lhs, isPlace) {
		f.assignTuple(f.targets(s), x)
		return
	}
	from := f.tupleOf(x, len(s.Lhs))
	temps := f.tupleTemps(x, from)
	f.assignTemps(f.targets(s), temps, from, x)
}

// isPlace tells what is assigned to and is no variable.
func isPlace(x ast.Expr) bool {
	_, name := ast.Unparen(x).(*ast.Ident)
	return !name
}

// blank is a variable in place of the blank identifier, where its type can be written.
func (f *fn) blank(t types.Type) target {
	named := true
	f.l.parts(t, func(n *types.Named) {
		named = named && (n.Obj().Pkg() == nil || n.Obj().Exported() || !f.l.isCompiled(n))
	})
	switch {
	case isNil(t):
		t = anyType
	case !named:
		return target{text: "_"}
	}
	return target{f.l.unique("v"), types.Default(t), true}
}

// discard evaluates x for what it does.
func (f *fn) discard(x ast.Expr) {
	if t := f.blank(f.typeOf(x)); t.typ != nil {
		f.store([]target{t}, []string{f.conv(x, t.typ)})
		return
	}
	f.line("_ = %s", f.expr(x))
}

// place is a variable to be assigned to of which everything that says where it is has been evaluated now: what a pointer
// points to, an index, the map or slice.
func (f *fn) place(x ast.Expr) string {
	switch x := ast.Unparen(x).(type) {
	case *ast.StarExpr:
		return "*" + f.keep(part{text: f.expr(x.X), typ: f.typeOf(x.X)})
	case *ast.IndexExpr:
		return f.placeIndex(x)
	case *ast.SelectorExpr:
		if f.info.Selections[x] != nil {
			return f.placeField(x)
		}
	}
	return f.lvalue(x)
}

// placeField is place for a field, which may be promoted: each pointer on the way to it is evaluated now.
func (f *fn) placeField(x *ast.SelectorExpr) string {
	t := f.typeOf(x.X)
	v, index, _ := types.LookupFieldOrMethod(t, true, f.info.Uses[x.Sel].Pkg(), x.Sel.Name)
	text, addressable := "", f.info.Types[x.X].Addressable()
	if isPointer(t) {
		text = f.keep(part{text: f.expr(x.X), typ: t})
	} else {
		text = operand(f.place(x.X))
	}
	for n, i := range index {
		if n > 0 && isPointer(t) {
			text = f.keep(part{text: text, typ: t})
		}
		last := n == len(index)-1
		switch {
		case f.compiledStruct(t) && !last && !f.l.hiddenField(v.(*types.Var)): // the fields between need not be exported
			return text + "." + v.Name()
		case last && !f.compiledStruct(t):
			text, _, _ = f.rawField(text, t, i)
		default:
			text, t, addressable = f.fieldOf(text, t, i, addressable, x.Pos())
		}
	}
	return text
}

func (f *fn) placeIndex(x *ast.IndexExpr) string {
	t := f.typeOf(x.X)
	base := ""
	switch t.Underlying().(type) {
	case *types.Array:
		base = operand(f.place(x.X))
	case *types.Pointer:
		base = "(*" + f.keep(part{text: f.expr(x.X), typ: t}) + ")"
	default:
		base = f.keep(part{text: f.expr(x.X), typ: t})
	}
	var key types.Type = types.Typ[types.Int]
	if m, ok := t.Underlying().(*types.Map); ok {
		key = m.Key()
	} else if f.info.Types[x.Index].Value != nil {
		return base + "[" + f.indexValue(x.Index) + "]"
	} else {
		key = f.typeOf(x.Index)
	}
	return base + "[" + f.keep(part{text: f.key(x.Index, key), typ: key}) + "]"
}

func isPointer(t types.Type) bool {
	_, ok := t.Underlying().(*types.Pointer)
	return ok
}

// store assigns values, which have the targets' types already. New variables among several are declared first.
func (f *fn) store(targets []target, values []string) {
	if len(targets) == 1 && targets[0].new {
		f.line("var %s %s = %s", targets[0].text, f.typ(targets[0].typ), values[0])
		return
	}
	if len(targets) == 1 {
		f.set(targets[0].text, values[0], targets[0].typ)
		return
	}
	temps := f.temps(len(targets), "t")
	for i, t := range targets {
		if t.typ == nil {
			f.line("_ = %s", values[i])
			continue
		}
		f.line("var %s %s = %s", temps[i], f.typ(t.typ), values[i])
	}
	for i, t := range targets {
		switch {
		case t.typ == nil:
		case t.new:
			f.line("var %s %s = %s", t.text, f.typ(t.typ), temps[i])
		default:
			f.line("%s = %s", t.text, temps[i])
		}
	}
}

// set assigns a value to a variable of type t. A struct's literal, and a function that a call returns, the interpreter would put into
// the variable's place instead of the variable, where closures that were made before do not see it; not so in parentheses.
func (f *fn) set(variable, value string, t types.Type) {
	switch f.l.sub(t, f.env).Underlying().(type) {
	case *types.Struct, *types.Signature:
		if !isName(value) {
			value = "(" + value + ")"
		}
	}
	f.line("%s = %s", variable, value)
}

// assignTuple assigns the results of a call, or of a form with "ok".
func (f *fn) assignTuple(targets []target, x ast.Expr) {
	types := f.tupleOf(x, len(targets))
	direct := true
	_, element := ast.Unparen(x).(*ast.IndexExpr)
	for i, t := range targets {
		if t.new {
			f.line("var %s %s", t.text, f.typ(t.typ))
			targets[i].new = false
		} else if element { // the interpreter leaves what was there where a map has no such element, and does not look where nobody asks
			direct = false
		}
	}
	texts := make([]string, len(targets))
	for i, t := range targets {
		texts[i] = t.text
		direct = direct && isName(t.text) // the interpreter loses what is for an element of a map
		if t.typ != nil && f.convText("x", types[i], t.typ, x.Pos()) != "x" {
			direct = false
		}
	}
	if direct {
		f.line("%s = %s", strings.Join(texts, ", "), f.tupleValue(x))
		return
	}
	f.assignTemps(targets, f.tupleTemps(x, types), types, x)
}

// tupleTemps puts the values that x gives into variables.
func (f *fn) tupleTemps(x ast.Expr, types []types.Type) []string {
	temps, value := f.temps(len(types), "t"), f.tupleValue(x)
	if _, element := ast.Unparen(x).(*ast.IndexExpr); !element {
		f.line("%s := %s", strings.Join(temps, ", "), value)
		return temps
	}
	for i, name := range temps {
		f.line("var %s %s", name, f.typ(types[i]))
	}
	f.line("%s = %s", strings.Join(temps, ", "), value)
	return temps
}

// assignTemps assigns variables that hold the values of x.
func (f *fn) assignTemps(targets []target, temps []string, from []types.Type, x ast.Expr) {
	for i, t := range targets {
		switch {
		case t.typ == nil:
		case t.new:
			f.line("var %s %s = %s", t.text, f.typ(t.typ), f.convText(temps[i], from[i], t.typ, x.Pos()))
		default:
			f.set(t.text, f.convText(temps[i], from[i], t.typ, x.Pos()), t.typ)
		}
	}
}

// tupleOf are the types of the values that x gives when n are asked for.
func (f *fn) tupleOf(x ast.Expr, n int) []types.Type {
	out := make([]types.Type, n)
	if tuple, ok := f.typeOf(x).(*types.Tuple); ok {
		for i := range out {
			out[i] = tuple.At(i).Type()
		}
		return out
	}
	out[0], out[1] = f.typeOf(x), types.Typ[types.Bool]
	return out
}

// tupleValue lowers an expression that gives several values.
func (f *fn) tupleValue(x ast.Expr) string { return f.expr(ast.Unparen(x)) }

// opAssign lowers x op= y.
func (f *fn) opAssign(s *ast.AssignStmt) {
	lhs, rhs := s.Lhs[0], s.Rhs[0]
	value := ""
	if s.Tok == token.SHL_ASSIGN || s.Tok == token.SHR_ASSIGN {
		value = f.shiftCount(rhs)
	} else {
		value = f.solid(rhs, f.conv(rhs, f.typeOf(lhs)))
	}
	if ix, ok := f.mapElement(lhs); ok {
		f.line("{")
		place := f.elementPlace(ix)
		f.line("%s = %s %s (%s)\n}", place, place, strings.TrimSuffix(s.Tok.String(), "="), value)
		return
	}
	f.line("%s %s %s", f.lvalue(lhs), s.Tok, value)
}

// mapElement reports whether x is an element of a map. The interpreter loses what it adds to one, or does not notice that the map is nil.
func (f *fn) mapElement(x ast.Expr) (*ast.IndexExpr, bool) {
	ix, ok := ast.Unparen(x).(*ast.IndexExpr)
	if !ok {
		return nil, false
	}
	_, isMap := f.typeOf(ix.X).Underlying().(*types.Map)
	return ix, isMap
}

// elementPlace is the text of a map's element that can be written twice.
func (f *fn) elementPlace(ix *ast.IndexExpr) string {
	_, simple := ast.Unparen(ix.X).(*ast.Ident)
	_, plainKey := ast.Unparen(ix.Index).(*ast.Ident)
	if simple && (plainKey || f.info.Types[ix.Index].Value != nil) {
		return f.index(ix)
	}
	return f.placeIndex(ix)
}
