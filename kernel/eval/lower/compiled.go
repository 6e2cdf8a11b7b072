package lower

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"strings"

	"cancha/kernel/eval/check"
)

// Compiled tells where compiled cells keep what they declared: in packages with exported names for everything. Lowered cells use them as
// they use any other compiled package.
type Compiled interface {
	// Symbol returns the place of a type or function; ok is false where no compiled cell has declared it.
	Symbol(o types.Object) (path, name string, ok bool)
	// Field returns the place of the function that returns the pointer to a field that is not exported (form "P"), or the
	// field of a value ("G").
	Field(form string, v *types.Var) (path, name string, ok bool)
	// Maker returns the place of the function that builds a struct with such fields from all of its fields.
	Maker(o *types.TypeName) (path, name string)
	// Method is a method's name.
	Method(m *types.Func) string
	// Only tells whether values must be kept in the form that compiled cells use. What would be kept in another form is then refused.
	Only() bool
}

// compiledSymbol is the name of what a compiled cell declared.
func (l *Lowerer) compiledSymbol(o types.Object) (text string, ok bool) {
	if l.cfg.Compiled == nil {
		return "", false
	}
	path, name, ok := l.cfg.Compiled.Symbol(o)
	if !ok {
		return "", false
	}
	return l.aliasOf(path, "cell") + "." + name, true
}

// ofCompiledCell reports whether o is a type that a compiled cell has declared.
func (l *Lowerer) ofCompiledCell(o types.Object) bool {
	if l.cfg.Compiled == nil {
		return false
	}
	_, _, ok := l.cfg.Compiled.Symbol(o)
	return ok
}

// only tells that values are to be kept as compiled cells keep them.
func (l *Lowerer) only() bool { return l.cfg.Compiled != nil && l.cfg.Compiled.Only() }

// methodName is a compiled method's name.
func (l *Lowerer) methodName(m *types.Func) string {
	if l.cfg.Compiled == nil {
		return m.Name()
	}
	return l.cfg.Compiled.Method(m)
}

// hiddenField reports whether v is a field that the interpreter cannot select in a compiled cell's struct.
func (l *Lowerer) hiddenField(v *types.Var) bool {
	if l.cfg.Compiled == nil || v.Exported() {
		return false
	}
	_, _, ok := l.cfg.Compiled.Field("P", v)
	return ok
}

// compiledField selects a field of a compiled struct, or of what a pointer to one points to.
func (f *fn) compiledField(text string, t types.Type, v *types.Var, addressable bool) string {
	if !f.l.hiddenField(v) {
		return text + "." + v.Name()
	}
	_, pointer := t.Underlying().(*types.Pointer)
	if !pointer && !addressable {
		return f.fieldFunc("G", v) + "(" + text + ")"
	}
	if !pointer {
		text = "&" + text
	}
	return "(*" + f.fieldFunc("P", v) + "(" + text + "))"
}

func (f *fn) fieldFunc(form string, v *types.Var) string {
	path, name, _ := f.l.cfg.Compiled.Field(form, v)
	return f.l.aliasOf(path, "cell") + "." + name
}

// made lowers a literal of a compiled struct with fields that are not exported; ok is false for any other.
func (f *fn) made(x *ast.CompositeLit, t types.Type) (text string, ok bool) {
	n, isNamed := types.Unalias(t).(*types.Named)
	if !isNamed || !f.l.ofCompiledCell(n.Obj()) {
		return "", false
	}
	u, isStruct := n.Underlying().(*types.Struct)
	if !isStruct {
		return "", false
	}
	values, hidden := make([]string, u.NumFields()), false
	for i := range values {
		v := u.Field(i)
		hidden = hidden || !v.Exported()
		if !v.Exported() && !f.l.hiddenField(v) && len(x.Elts) > 0 {
			refuse(x.Pos(), "the interpreter cannot build a %s, which has a field %s", n.Obj().Name(), v.Name())
		}
	}
	if !hidden || len(x.Elts) == 0 {
		return "", false
	}
	last := -1
	for i, e := range x.Elts {
		if kv, ok := e.(*ast.KeyValueExpr); ok {
			for k := range values {
				if u.Field(k).Name() == kv.Key.(*ast.Ident).Name {
					i = k
				}
			}
			e = kv.Value
		}
		if i < last && f.info.Types[e].Value == nil {
			refuse(e.Pos(), "fields in another order than they are declared in are not interpreted: what they are set to is evaluated in the order written")
		}
		last = i
		values[i] = f.conv(e, u.Field(i).Type())
	}
	for i, v := range values {
		if v == "" {
			values[i] = f.zero(u.Field(i).Type())
		}
	}
	path, name := f.l.cfg.Compiled.Maker(n.Obj())
	return fmt.Sprintf("%s.%s(%s)", f.l.aliasOf(path, "cell"), name, strings.Join(values, ", ")), true
}

// refuseOwnForm refuses types that the interpreter keeps otherwise than compiled cells do.
func (l *Lowerer) refuseOwnForm(t types.Type, pos token.Pos) {
	if !l.only() {
		return
	}
	switch t := t.(type) {
	case *types.Struct:
		for v := range t.Fields() {
			if !v.Exported() {
				refuse(pos, "a struct type without a name and with fields that are not exported is not interpreted beside compiled cells")
			}
		}
	case *types.Interface:
		if t.NumMethods() > 0 {
			refuse(pos, "an interface type without a name is not interpreted beside compiled cells")
		}
	case *types.Named:
		if t.TypeArgs().Len() > 0 && t.NumMethods() > 0 {
			refuse(pos, "generic type %s is not interpreted beside compiled cells", t.Obj().Name())
		}
	}
}

// addressOf is the address of a new variable with a value.
func (f *fn) addressOf(text string, t types.Type, pos token.Pos) string {
	v := f.l.unique("v")
	return fmt.Sprintf("func() *%s { %s := %s; return &%s }()", f.l.typeText(t, pos), v, text, v)
}

// Variables gives the variables of a cell that is compiled their places. The unit declares them; those that the interpreter cannot hold get
// a name only, and cells that use them are refused. Call Keep or Drop afterwards, as after Lower.
func (l *Lowerer) Variables(c *check.Cell) *Unit {
	l.cell, l.out, l.queue, l.undo, l.blame = c, &writer{names: map[string]Function{}}, nil, nil, blame{}
	l.noteRecoverers(c)
	locals := map[*types.Var]*types.Var{}
	for in, out := range c.Local {
		locals[out] = in
	}
	for _, o := range c.Objects {
		v, ok := o.(*types.Var)
		if !ok {
			continue
		}
		name := l.placeOf(c, v)
		set(l, l.names, types.Object(v), name)
		if in := locals[v]; in != nil {
			set(l, l.names, types.Object(in), name)
		}
	}
	l.out.funcs, l.out.setup = nil, nil // helpers belong to cells that are lowered
	l.record()
	u := &Unit{Names: l.out.names}
	l.assembleSource(u)
	return u
}

// placeOf is the name of a variable: the one that it had, if it is declared anew with the same type.
func (l *Lowerer) placeOf(c *check.Cell, v *types.Var) string {
	if old := c.Continues(v); old != nil && l.names[old] != "" {
		return l.names[old]
	}
	name := l.unique(v.Name())
	text, ok := l.held(v)
	if !ok {
		set(l, l.hidden, name, true)
		return name
	}
	set(l, l.variables, name, text)
	l.out.vars = append(l.out.vars, "var "+name+" "+text)
	return name
}

// held writes the type of a variable; ok is false where the interpreter cannot hold its values in the form that compiled cells
// have.
func (l *Lowerer) held(v *types.Var) (text string, ok bool) {
	undo, out := len(l.undo), *l.out
	defer func() {
		if p := recover(); p != nil {
			if _, refused := p.(refusal); !refused {
				panic(p)
			}
			for i := len(l.undo) - 1; i >= undo; i-- {
				l.undo[i]()
			}
			l.undo, *l.out = l.undo[:undo], out
			text, ok = "", false
		}
	}()
	return l.typ(v.Type()), true
}

// Place returns the name of a variable of the session, "" for any other.
func (l *Lowerer) Place(v *types.Var) string { return l.names[v] }

// Places are the names of the session's variables, in order.
func (l *Lowerer) Places() []string {
	names := map[string]bool{}
	for o, name := range l.names {
		if _, ok := o.(*types.Var); ok {
			names[name] = true
		}
	}
	return sortedKeys(names)
}

// Hold looks again at the variables that want accepts, after compiled types have become known. It returns those that the interpreter can
// hold now. From now on the others are for compiled cells only.
func (l *Lowerer) Hold(want func(v *types.Var, hidden bool) bool) []string {
	var held []string
	seen := map[string]bool{}
	for o, name := range l.names {
		v, ok := o.(*types.Var)
		if !ok || seen[name] || !want(v, l.hidden[name]) {
			continue
		}
		seen[name] = true
		text, ok := l.held(v)
		set(l, l.hidden, name, !ok)
		if ok {
			set(l, l.variables, name, text)
			held = append(held, name)
		}
	}
	l.record()
	return held
}

// Retype makes the lowerer look up compiled types anew, after some have been declared again.
func (l *Lowerer) Retype() {
	for key, r := range l.reps {
		if r.kind == compiled || r.kind == compiledIf {
			delete(l.reps, key)
			l.undo = append(l.undo, func() { l.reps[key] = r })
		}
	}
}

// Hide makes a variable one for compiled cells only.
func (l *Lowerer) Hide(name string) { set(l, l.hidden, name, true) }
