package lower

import (
	"go/ast"
	"go/token"
	"go/types"

	"cancha/kernel/eval/check"
)

// A function that calls recover is lowered with the panic as a parameter, which only a defer statement that names it, or is of a
// literal, can give it. Deferred in any other way it would find no panic, and one that is compiled would find none anyway. So these
// are refused.

// recovers reports whether o is a function of the cells that calls recover itself.
func (l *Lowerer) recovers(o *types.Func) bool {
	d := l.decls[o.Origin()]
	return d != nil && d.recover || l.recoverers[o.Origin()]
}

// noteRecoverers remembers which functions of a compiled cell call recover.
func (l *Lowerer) noteRecoverers(c *check.Cell) {
	for _, d := range c.Decls {
		if d, ok := d.(*ast.FuncDecl); ok && check.CallsRecover(c.Info, d.Body) {
			if o, ok := c.Info.Defs[d.Name].(*types.Func); ok {
				set(l, l.recoverers, o, true)
			}
		}
	}
	for _, m := range c.Methods {
		set(l, l.recoverers, m.Func, check.CallsRecover(c.Info, m.Decl.Body))
	}
}

// refuseRecovering refuses as a value what calls recover.
func (f *fn) refuseRecovering(pos token.Pos, what string, recovers bool) {
	if recovers {
		refuse(pos, "%s is not interpreted as a value, since it calls recover: call it in the defer statement itself", what)
	}
}

// refuseDeferred refuses to defer what calls recover and is compiled, or a method of an interface if a type that cells declare has one
// of that name which calls recover.
func (f *fn) refuseDeferred(call *ast.CallExpr) {
	o := f.callee(call)
	if o == nil {
		return
	}
	if f.l.recoverers[o.Origin()] {
		refuse(call.Pos(), "defer of %s, which is compiled and calls recover, is not interpreted", o.Name())
	}
	if o.Signature().Recv() == nil || !types.IsInterface(o.Signature().Recv().Type()) {
		return
	}
	match := func(other types.Object, recovers bool) {
		if m, ok := other.(*types.Func); ok && recovers && m.Name() == o.Name() && m.Signature().Recv() != nil {
			refuse(call.Pos(), "defer of an interface's method %s is not interpreted, since a type has one that calls recover: defer that of the type", o.Name())
		}
	}
	for other, d := range f.l.decls {
		match(other, d.recover)
	}
	for other, recovers := range f.l.recoverers {
		match(other, recovers)
	}
}
