package lower

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"strings"
)

// branchable is a statement that break or continue may leave: a loop, a switch or select, or a range over a function, whose
// body is a function literal after lowering.
type branchable struct {
	loop  bool
	label string // as the cell has it
	again string // what to write in front of the next turn
	state string // of a range over a function: the variable that says how its body was left
	exits []exit
	ends  bool // the body returns from the function around
}

type exit struct {
	tok   token.Token
	label *ast.Ident
}

func (f *fn) within(b *branchable, run func()) {
	f.frames = append(f.frames, b)
	run()
	f.frames = f.frames[:len(f.frames)-1]
}

// innermostRange is the innermost range over a function that the current statement is in, nil outside of any.
func (f *fn) innermostRange() *branchable {
	for i := len(f.frames) - 1; i >= 0; i-- {
		if f.frames[i].state != "" {
			return f.frames[i]
		}
	}
	return nil
}

// leave returns from the function after its results have been assigned.
func (f *fn) leave(ranges *branchable) {
	switch {
	case ranges != nil:
		ranges.ends = true
		f.line("%s = -1\nreturn false", ranges.state)
	case f.closed:
		f.line("return")
	default:
		f.line("return %s", strings.Join(f.results, ", "))
	}
}

func (f *fn) branch(tok token.Token, label *ast.Ident, pos token.Pos) {
	switch tok {
	case token.FALLTHROUGH:
		f.line("fallthrough")
		return
	case token.GOTO:
		if f.innermostRange() != nil {
			refuse(pos, "goto inside of a range over a function is not supported by the interpreter")
		}
		f.line("goto %s", gotoLabel(label.Name))
		return
	}
	var crossed *branchable
	for i := len(f.frames) - 1; i >= 0; i-- {
		b := f.frames[i]
		if b.matches(tok, label) {
			f.branchTo(b, crossed, tok, label)
			return
		}
		if b.state != "" && crossed == nil {
			crossed = b
		}
	}
	refuse(pos, "%s has no target here", tok)
}

func (b *branchable) matches(tok token.Token, label *ast.Ident) bool {
	if label != nil {
		return b.label == label.Name
	}
	return b.loop || tok == token.BREAK
}

func (f *fn) branchTo(b, crossed *branchable, tok token.Token, label *ast.Ident) {
	switch {
	case crossed != nil:
		crossed.exits = append(crossed.exits, exit{tok, label})
		f.line("%s = %d\nreturn false", crossed.state, len(crossed.exits))
	case b.state != "":
		f.line("return %v", tok == token.CONTINUE)
	case label != nil:
		f.next(b, tok)
		f.line("%s %s", tok, loopLabel(label.Name))
	default:
		f.next(b, tok)
		f.line("%s", tok)
	}
}

// next writes what has to be in front of a loop's next turn.
func (f *fn) next(b *branchable, tok token.Token) {
	if tok == token.CONTINUE {
		f.out.WriteString(b.again)
	}
}

// A label serves goto and loops. Since lowering may put statements in front of a loop, it becomes two.
func loopLabel(label string) string { return label + "ᐧl" }
func gotoLabel(label string) string { return label + "ᐧg" }

func (f *fn) labeled(s *ast.LabeledStmt) {
	if f.gotos[s.Label.Name] {
		f.line("%s: {}", gotoLabel(s.Label.Name))
		f.out.WriteString(checkText) // a goto backwards makes a loop
	}
	switch s.Stmt.(type) {
	case *ast.ForStmt, *ast.RangeStmt, *ast.SwitchStmt, *ast.TypeSwitchStmt, *ast.SelectStmt:
		f.stmt(s.Stmt, s.Label.Name)
	default:
		f.stmt(s.Stmt, "")
	}
}

// head writes a loop or switch with its label.
func (f *fn) head(label, format string, args ...any) {
	if label != "" {
		f.line("%s:", loopLabel(label))
	}
	f.line(format, args...)
}

func (f *fn) forStmt(s *ast.ForStmt, label string) {
	if s.Init != nil {
		f.line("{")
		defer f.line("}")
	}
	as, ok := s.Init.(*ast.AssignStmt)
	if ok && as.Tok == token.DEFINE && f.keepsVars(s, as) {
		f.forEach(s, as, label)
		return
	}
	if s.Init != nil {
		f.stmt(s.Init, "")
	}
	cond, post := "true", ""
	if s.Cond != nil {
		cond = f.expr(s.Cond)
	}
	if s.Post != nil {
		post = strings.TrimSpace(f.capture(func() { f.stmt(s.Post, "") }))
		if strings.Contains(post, "\n") {
			post = "func() {\n" + post + "\n}()"
		}
	}
	if post == "" {
		f.head(label, "for %s {", cond)
	} else {
		f.head(label, "for ; %s; %s {", cond, post)
	}
	f.turns(s.Body, &branchable{loop: true, label: label, again: f.again(s)}, "")
}

// keepsVars tells whether something may outlive an iteration that refers to the loop's own variables: a function literal or
// a pointer. Only then it shows that each iteration has variables of its own.
func (f *fn) keepsVars(s *ast.ForStmt, init *ast.AssignStmt) bool {
	vars := map[types.Object]bool{}
	for _, x := range init.Lhs {
		if id, ok := x.(*ast.Ident); ok && f.info.Defs[id] != nil {
			vars[f.info.Defs[id]] = true
		}
	}
	found := false
	mentions := func(n ast.Node) {
		ast.Inspect(n, func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok && vars[f.info.Uses[id]] {
				found = true
			}
			return !found
		})
	}
	for _, part := range []ast.Node{s.Cond, s.Post, s.Body} {
		if isNilNode(part) {
			continue
		}
		ast.Inspect(part, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncLit:
				mentions(n)
			case *ast.UnaryExpr:
				if n.Op == token.AND {
					mentions(n.X)
				}
			case *ast.SliceExpr: // of an array: shares it
				if _, ok := f.typeOf(n.X).Underlying().(*types.Array); ok {
					mentions(n.X)
				}
			case *ast.SelectorExpr: // of a method with a pointer receiver
				if sel := f.info.Selections[n]; sel != nil && sel.Kind() == types.MethodVal {
					mentions(n.X)
				}
			case *ast.RangeStmt: // over a function: its body is a literal
				if _, ok := f.typeOf(n.X).Underlying().(*types.Signature); ok {
					mentions(n)
				}
			}
			return !found
		})
	}
	return found
}

func isNilNode(n ast.Node) bool {
	switch n := n.(type) {
	case ast.Expr:
		return n == nil
	case ast.Stmt:
		return n == nil
	}
	return n == nil
}

// forEach lowers a loop whose variables are new in each iteration: it remembers where those of the iteration before are.
func (f *fn) forEach(s *ast.ForStmt, init *ast.AssignStmt, label string) {
	values := f.capture(func() { f.stmt(init, "") })
	var ids []*ast.Ident
	for _, x := range init.Lhs {
		if id, ok := x.(*ast.Ident); ok && id.Name != "_" && f.info.Defs[id] != nil {
			ids = append(ids, id)
		}
	}
	starts, olds := f.temps(len(ids), "s"), f.temps(len(ids), "o")
	first := f.l.unique("first")
	f.out.WriteString(values)
	var fresh, later, keep strings.Builder
	for i, id := range ids {
		v := f.info.Defs[id]
		name, typ := f.variable(v.(*types.Var), id.Pos()), f.typ(v.Type())
		f.line("var %s %s = %s", starts[i], typ, name)
		f.line("var %s *%s", olds[i], typ)
		inner := f.l.unique(id.Name)
		f.names[v] = inner
		fmt.Fprintf(&fresh, "var %s %s\n", inner, typ)
		fmt.Fprintf(&later, "%s = *%s\n", inner, olds[i])
		fmt.Fprintf(&keep, "%s = &%s\n", olds[i], inner)
	}
	f.line("var %s bool = true", first)
	f.head(label, "for {")
	head := f.capture(func() {
		f.out.WriteString(f.again(s))
		f.out.WriteString(fresh.String())
		f.line("if %s {", first)
		f.line("%s = false", first)
		for i, id := range ids {
			f.line("%s = %s", f.names[f.info.Defs[id]], starts[i])
		}
		f.line("} else {")
		f.out.WriteString(later.String())
		if s.Post != nil {
			f.stmt(s.Post, "")
		}
		f.line("}")
		f.out.WriteString(keep.String())
		if s.Cond != nil {
			f.line("if !(%s) { break }", f.expr(s.Cond))
		}
	})
	f.loopBody(s.Body, label, head)
}

// loopBody writes the rest of a loop after its opening brace; first is what comes before the body's own statements.
func (f *fn) loopBody(body *ast.BlockStmt, label, first string) {
	f.turns(body, &branchable{loop: true, label: label}, first)
}

func (f *fn) turns(body *ast.BlockStmt, b *branchable, first string) {
	f.out.WriteString(checkText)
	f.out.WriteString(first)
	f.within(b, func() { f.list(body.List) })
	f.out.WriteString(b.again)
	f.line("}")
}

func (f *fn) rangeStmt(s *ast.RangeStmt, label string) {
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
			f.line("%s = %s", f.lvalue(x), f.convText(names[i], f.l.sub(from, f.env), f.typeOf(x), x.Pos()))
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

// countOnly tells a range over an array of which only the length counts: the array may be behind a nil pointer.
func (f *fn) countOnly(s *ast.RangeStmt) (n string, ok bool) {
	if id, isName := s.Value.(*ast.Ident); s.Value != nil && (!isName || id.Name != "_") {
		return "", false
	}
	a, ok := deref(f.typeOf(s.X)).Underlying().(*types.Array)
	if !ok {
		return "", false
	}
	if hasCall(s.X) {
		f.discard(s.X)
	}
	return fmt.Sprint(a.Len()), true
}

// hasCall tells whether evaluating x calls or receives.
func hasCall(x ast.Expr) bool {
	found := false
	ast.Inspect(x, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			return false
		case *ast.CallExpr:
			found = true
		case *ast.UnaryExpr:
			found = found || n.Op == token.ARROW
		}
		return !found
	})
	return found
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
	pointer := "nil"
	if names[0] != "_" {
		first = fmt.Sprintf("var %s %s\nif !%s.Recv(%s, &%s) { break }\n", names[0], f.typ(elem), runtimeAlias, ch, names[0]) + first
		pointer = ""
	}
	if pointer == "nil" {
		first = fmt.Sprintf("if !%s.Recv(%s, nil) { break }\n", runtimeAlias, ch)
	}
	f.loopBody(s.Body, label, first)
	f.line("}")
}

// rangeFunc lowers a range over a function: the body becomes the function that is handed over. How it was left (return,
// or break and continue of a statement further out) is kept in a variable and acted upon afterwards.
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
	b := &branchable{loop: true, label: label, state: f.l.unique("left")}
	x := f.l.unique("x") // the interpreter does not call what stands in parentheses at the beginning of a statement
	f.line("{ var %s %s = %s", x, f.typ(f.typeOf(s.X)), f.expr(s.X))
	f.line("var %s int", b.state)
	f.line("%s(func(%s) bool {", x, strings.Join(params, ", "))
	f.out.WriteString(checkText)
	f.out.WriteString(first)
	f.within(b, func() { f.list(s.Body.List) })
	f.line("return true\n})")
	if b.ends {
		f.line("if %s == -1 {", b.state)
		f.leave(f.innermostRange())
		f.line("}")
	}
	for i, e := range b.exits {
		f.line("if %s == %d {", b.state, i+1)
		f.branch(e.tok, e.label, s.Pos())
		f.line("}")
	}
	f.line("}")
}
