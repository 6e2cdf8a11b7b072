package lower

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"strings"

	"cancha/kernel/eval/check"
)

func (f *fn) rangeStmt(s *ast.RangeStmt, label string) {
	f.inOrderOf(s.X)
	switch t := f.typeOf(s.X).Underlying().(type) {
	case *types.Signature:
		f.rangeFunc(s, t, label)
	case *types.Basic:
		if t.Info()&types.IsInteger != 0 {
			f.rangeInt(s, label)
			return
		}
		f.rangeString(s, label)
	case *types.Chan:
		f.rangeChan(s, t.Elem(), label)
	case *types.Slice:
		f.rangeOver(s, label, types.Typ[types.Int], t.Elem())
	case *types.Array:
		f.rangeOver(s, label, types.Typ[types.Int], t.Elem())
	case *types.Map:
		f.rangeOver(s, label, t.Key(), t.Elem())
	case *types.Pointer:
		f.rangeOver(s, label, types.Typ[types.Int], t.Elem().Underlying().(*types.Array).Elem())
	default:
		refuse(s.Pos(), "range over %s is not supported by the interpreter", t)
	}
}

// rangeVars names the variables of an iteration. Where the statement assigns to existing ones, the assignments are what
// comes first in the body.
func (f *fn) rangeVars(s *ast.RangeStmt, key, value types.Type) (names [2]string, first string) {
	if s.Tok == token.ASSIGN && s.Value != nil && !isBlank(s.Key) && !isBlank(s.Value) {
		_, plainKey := ast.Unparen(s.Key).(*ast.Ident)
		_, plainValue := ast.Unparen(s.Value).(*ast.Ident)
		if !plainKey || !plainValue { // Go finds the places of both before it sets either
			refuse(s.Pos(), "a range that assigns to an element or a field beside another variable is not supported by the interpreter: declare the variables with := and assign in the body")
		}
	}
	names = [2]string{"_", "_"}
	first = f.capture(func() {
		for i, x := range []ast.Expr{s.Key, s.Value} {
			if x == nil {
				continue
			}
			if id, ok := ast.Unparen(x).(*ast.Ident); ok && (id.Name == "_" || s.Tok == token.DEFINE) {
				if id.Name != "_" {
					names[i] = f.local(f.info.Defs[id])
				}
				continue
			}
			names[i] = f.l.unique("k")
			from := []types.Type{key, value}[i]
			f.set(f.lvalue(x), f.convText(names[i], f.l.sub(from, f.env), f.typeOf(x), x.Pos()), f.typeOf(x))
		}
	})
	return names, first
}

func (f *fn) rangeOver(s *ast.RangeStmt, label string, key, value types.Type) {
	if n, ok := f.countOnly(s); ok {
		f.countTo(s, label, types.Typ[types.Int], n)
		return
	}
	names, first := f.rangeVars(s, key, value)
	x := f.expr(s.X)
	if isPointer(f.typeOf(s.X)) {
		f.rangePointer(s, label, names, first, x)
		return
	}
	if names[0] == "_" && names[1] == "_" {
		names[0] = f.l.unique("k")
	}
	// A temporary, since a literal in the clause would be read as the body.
	over := f.l.unique("x")
	if _, ok := f.l.sub(value, f.env).Underlying().(*types.Chan); ok && names[1] != "_" { // the interpreter takes it for a range over a channel
		if names[0] == "_" {
			names[0] = f.l.unique("k")
		}
		first = fmt.Sprintf("var %s %s = %s[%s]\n%s", names[1], f.typ(value), over, names[0], first)
		names[1] = "_"
	}
	vars := names[0]
	if names[1] != "_" {
		vars += ", " + names[1]
	}
	f.line("{ var %s %s = %s", over, f.rangeType(s), x)
	f.head(label, "for %s := range %s {", vars, over)
	f.loopBody(s.Body, label, first)
	f.line("}")
}

// rangePointer lowers a range over an array behind a pointer x: it is not copied, so that each turn sees what the ones before
// have assigned.
func (f *fn) rangePointer(s *ast.RangeStmt, label string, names [2]string, first, x string) {
	array := f.typeOf(s.X).Underlying().(*types.Pointer).Elem()
	over := f.l.unique("x")
	if names[0] == "_" {
		names[0] = f.l.unique("k")
	}
	if names[1] != "_" {
		first = fmt.Sprintf("var %s %s = (*%s)[%s]\n%s", names[1], f.typ(array.Underlying().(*types.Array).Elem()), over, names[0], first)
	}
	f.line("{ var %s *%s = %s", over, f.typ(array), x)
	f.head(label, "for %s := range *%s {", names[0], over)
	f.loopBody(s.Body, label, first)
	f.line("}")
}

func isBlank(x ast.Expr) bool {
	id, ok := ast.Unparen(x).(*ast.Ident)
	return ok && id.Name == "_"
}

// rangeString lowers a range over a string to one over its characters, since the interpreter miscounts bytes that are no
// UTF-8.
func (f *fn) rangeString(s *ast.RangeStmt, label string) {
	names, first := f.rangeVars(s, types.Typ[types.Int], types.Typ[types.Rune])
	at, runes, k := f.l.unique("at"), f.l.unique("runes"), f.l.unique("k")
	f.line("{ %s, %s := %s.Runes(string(%s))", at, runes, runtimeAlias, f.expr(s.X))
	f.head(label, "for %s := range %s {", k, at)
	if names[1] != "_" {
		first = fmt.Sprintf("var %s rune = %s[%s]\n%s", names[1], runes, k, first)
	}
	if names[0] != "_" {
		first = fmt.Sprintf("var %s int = %s[%s]\n%s", names[0], at, k, first)
	}
	f.loopBody(s.Body, label, first)
	f.line("}")
}

// rangeType is the type of the value that is ranged over.
func (f *fn) rangeType(s *ast.RangeStmt) string {
	t := f.typeOf(s.X)
	if p, ok := t.Underlying().(*types.Pointer); ok {
		t = p.Elem()
	}
	if b, ok := t.(*types.Basic); ok && b.Info()&types.IsUntyped != 0 {
		t = types.Default(b)
	}
	return f.typ(t)
}

// countOnly reports whether s is a range over an array of which only the length counts: the array may be behind a nil pointer.
func (f *fn) countOnly(s *ast.RangeStmt) (n string, ok bool) {
	if id, isName := s.Value.(*ast.Ident); s.Value != nil && (!isName || id.Name != "_") {
		return "", false
	}
	a, ok := deref(f.typeOf(s.X)).Underlying().(*types.Array)
	if !ok {
		return "", false
	}
	if check.HasCall(s.X) {
		f.discard(s.X)
	}
	return fmt.Sprint(a.Len()), true
}

func (f *fn) rangeInt(s *ast.RangeStmt, label string) {
	t := f.typeOf(s.X)
	if s.Key != nil {
		if id, ok := s.Key.(*ast.Ident); !ok || id.Name != "_" {
			t = f.typeOf(s.Key)
		}
	}
	if b, ok := t.(*types.Basic); ok && b.Info()&types.IsUntyped != 0 {
		t = types.Default(b)
	}
	f.countTo(s, label, t, f.conv(s.X, t))
}

// countTo lowers a loop over the numbers of type t from 0 to below n.
func (f *fn) countTo(s *ast.RangeStmt, label string, t types.Type, count string) {
	names, first := f.rangeVars(s, t, nil)
	n, i := f.l.unique("n"), f.l.unique("i")
	f.line("{ var %s %s = %s", n, f.typ(t), count)
	f.line("var %s %s = %s", i, f.typ(t), f.zero(t))
	f.head(label, "for ; %s < %s; %s++ {", i, n, i)
	if names[0] != "_" {
		first = fmt.Sprintf("var %s %s = %s\n%s", names[0], f.typ(t), i, first)
	}
	f.loopBody(s.Body, label, first)
	f.line("}")
}

func (f *fn) rangeChan(s *ast.RangeStmt, elem types.Type, label string) {
	names, first := f.rangeVars(s, elem, nil)
	ch := f.l.unique("ch")
	f.line("{ var %s %s = %s", ch, f.typ(f.typeOf(s.X)), f.expr(s.X))
	f.head(label, "for {")
	if names[0] == "_" {
		first = fmt.Sprintf("if !%s.Recv(%s, nil) { break }\n", runtimeAlias, ch)
	} else {
		first = fmt.Sprintf("var %s %s\nif !%s.Recv(%s, &%s) { break }\n", names[0], f.typ(elem), runtimeAlias, ch, names[0]) + first
	}
	f.loopBody(s.Body, label, first)
	f.line("}")
}

// rangeFunc lowers a range over a function: the body becomes the function that is handed over. How it was left (return,
// or break and continue of a statement further out) is kept in a variable and acted upon afterwards. Another one keeps the loop's
// state, as the compiler's does: the function may be called again only while the loop is ready, and must not hide its panic.
func (f *fn) rangeFunc(s *ast.RangeStmt, sig *types.Signature, label string) {
	yield := sig.Params().At(0).Type().Underlying().(*types.Signature)
	var elems [2]types.Type
	for i := range yield.Params().Len() {
		elems[i] = f.l.sub(yield.Params().At(i).Type(), f.env)
	}
	names, first := f.rangeVars(s, elems[0], elems[1])
	var params []string
	for i := range yield.Params().Len() {
		if names[i] == "_" {
			names[i] = f.l.unique("k")
		}
		params = append(params, names[i]+" "+f.typ(elems[i]))
	}
	b := &branchable{loop: true, label: label, left: f.l.unique("left"), state: f.l.unique("state")}
	x := f.l.unique("x") // the interpreter does not call what stands in parentheses at the beginning of a statement
	f.line("{ var %s %s = %s", x, f.typ(f.typeOf(s.X)), f.expr(s.X))
	f.line("var %s int", b.state)
	body := f.capture(func() { f.within(b, func() { f.list(s.Body.List) }) })
	if b.ends || len(b.exits) > 0 {
		f.line("var %s int", b.left)
	}
	f.line("%s(func(%s) bool {", x, strings.Join(params, ", "))
	f.out.WriteString(checkText)
	f.out.WriteString(first)
	f.line("if %s != %d { %s.RangeFault(&%s) }", b.state, rangeReady, runtimeAlias, b.state)
	f.line("%s = %d", b.state, rangeRunning)
	f.out.WriteString(body)
	f.line("%s = %d\nreturn true\n})", b.state, rangeReady)
	f.line("if %s == %d { %s = %d; %s.RangeFault(&%s) }", b.state, rangeRunning, b.state, rangeHidden, runtimeAlias, b.state)
	f.line("%s = %d", b.state, rangeOver)
	f.exits(b, s.Pos())
	f.line("}")
}

// exits goes on from where the body of a range over a function was left.
func (f *fn) exits(b *branchable, pos token.Pos) {
	if b.ends {
		f.line("if %s == -1 {", b.left)
		f.leave(f.innermostRange())
		f.line("}")
	}
	for i, e := range b.exits {
		f.line("if %s == %d {", b.left, i+1)
		f.branch(e.tok, e.label, pos)
		f.line("}")
	}
}

// The states of a range over a function, known to the primitive RangeFault.
const (
	rangeReady   = iota // for the next turn
	rangeRunning        // in its body, or the body panicked
	rangeDone           // the body returned false
	rangeOver           // the function returned
	rangeHidden         // it did so although the body panicked
)
