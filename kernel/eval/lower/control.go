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
	state string // of a range over a function: the variable that tells whether the body may be called
	left  string // and the one that says how it was left
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
		f.finish(f.frames)
		f.line("%s = -1\nreturn false", ranges.left)
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
			f.finish(f.frames[i+1:])
			f.branchTo(b, crossed, tok, label)
			return
		}
		if b.state != "" && crossed == nil {
			crossed = b
		}
	}
	refuse(pos, "%s has no target here", tok)
}

// finish tells the ranges over functions among statements that are left that they are done.
func (f *fn) finish(frames []*branchable) {
	for _, b := range frames {
		if b.state != "" {
			f.line("%s = %d", b.state, rangeDone)
		}
	}
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
		f.line("%s = %d\nreturn false", crossed.left, len(crossed.exits))
	case b.state != "" && tok == token.CONTINUE:
		f.line("%s = %d\nreturn true", b.state, rangeReady)
	case b.state != "":
		f.line("%s = %d\nreturn false", b.state, rangeDone)
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
		cond = f.orderedCondition(s.Cond)
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
			f.line("if !(%s) { break }", f.orderedCondition(s.Cond))
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
