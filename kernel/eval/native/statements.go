package native

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"strings"

	"cancha/kernel/eval/check"
)

// What is put into loops, functions and channel operations, so that an interrupt ends them.

// leaveCheck stops a function that recovered an interrupt as it returns.
func (w *writer) leaveCheck() string {
	return fmt.Sprintf("defer func() { if %s.Loaded(&%s) { %s.Check() } }(); ", supportName, stopName, machineName)
}

// defers tells whether a function has deferred calls of its own.
func defers(body *ast.BlockStmt) bool {
	return holds(body, func(n ast.Node) bool { _, ok := n.(*ast.DeferStmt); return ok })
}

// calls tells whether a function calls anything or loops, its function literals left out.
func calls(body *ast.BlockStmt) bool {
	return holds(body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr, *ast.ForStmt, *ast.RangeStmt:
			return true
		case *ast.BranchStmt:
			return n.Tok == token.GOTO
		}
		return false
	})
}

func holds(body *ast.BlockStmt, want func(ast.Node) bool) (found bool) {
	ast.Inspect(body, func(n ast.Node) bool {
		if _, ok := n.(*ast.FuncLit); ok || found {
			return false
		}
		found = n != nil && want(n)
		return !found
	})
	return found
}

// rangeOver writes a range statement. One over a channel becomes a loop of receives: over a function its body would be a function of
// its own, in which recover returns nothing.
func (w *writer) rangeOver(n *ast.RangeStmt) string {
	t := w.info.TypeOf(n.X)
	if _, ok := t.Underlying().(*types.Chan); !ok {
		return w.rangeLoop(n)
	}
	if _, ok := types.Unalias(t).(*types.TypeParam); ok {
		return w.rangeLoop(n)
	}
	w.begin(n.Body, w.look(""))
	name, assign := "_", ""
	switch {
	case n.Key == nil:
	case n.Tok == token.DEFINE:
		name = w.text(n.Key)
	default:
		name = "v" + mark
		assign = w.text(n.Key) + " = " + name + "; "
	}
	return fmt.Sprintf("for c%s := %s; ; { %s, ok%s := %s.Recv2(%s, c%s); if !ok%s { break }; %s%s }",
		mark, w.text(n.X), name, mark, supportName, machineName, mark, mark, assign, w.text(n.Body))
}

// selection writes a select statement, which an interrupt ends if nothing else would. Its communications stay operations of
// channels.
func (w *writer) selection(n *ast.SelectStmt) string {
	waits := true
	for _, c := range n.Body.List {
		waits = waits && c.(*ast.CommClause).Comm != nil
	}
	text := "select " + w.clauses(n.Body)
	if waits {
		end := "; "
		if len(n.Body.List) == 0 {
			end = ""
		}
		text = strings.TrimSuffix(text, "}") + fmt.Sprintf("%scase <-%s.Done(): panic(%s.Interrupted()) }", end, machineName, machineName)
	}
	return text
}

// clauses writes the body of a select statement.
func (w *writer) clauses(body *ast.BlockStmt) string {
	var b strings.Builder
	at := w.offset(body.Pos())
	for _, c := range body.List {
		clause := c.(*ast.CommClause)
		b.WriteString(w.code[at:w.offset(clause.Pos())])
		at = w.offset(clause.Pos())
		if clause.Comm != nil {
			b.WriteString(w.code[at:w.offset(clause.Comm.Pos())])
			b.WriteString(w.operation(clause.Comm))
			at = w.offset(clause.Comm.End())
		}
		colon := w.offset(clause.Colon) + 1
		b.WriteString(w.code[at:colon])
		b.WriteString(w.unusedOf(clause.Comm))
		at = colon
		for _, s := range clause.Body {
			b.WriteString(w.code[at:w.offset(s.Pos())])
			w.note(s)
			b.WriteString(w.text(s) + w.after[s])
			at = w.offset(s.End())
		}
	}
	b.WriteString(w.code[at:w.offset(body.End())])
	return b.String()
}

// operation writes a communication with its channel operation as it is.
func (w *writer) operation(s ast.Stmt) string {
	receive := func(x ast.Expr) string {
		u := ast.Unparen(x).(*ast.UnaryExpr)
		return "<-" + operand(w.text(u.X))
	}
	switch s := s.(type) {
	case *ast.SendStmt:
		return w.text(s.Chan) + " <- " + w.text(s.Value)
	case *ast.ExprStmt:
		return receive(s.X)
	case *ast.AssignStmt:
		return w.texts(s.Lhs) + " " + s.Tok.String() + " " + receive(s.Rhs[0])
	}
	return w.text(s)
}

// deferred has the function of a defer statement look at its beginning whether os.Exit was called, after which it does nothing. Most look
// anyway. Ok is false where the statement stays as it is.
func (w *writer) deferred(n *ast.DeferStmt) (text string, ok bool) {
	if lit, isLiteral := ast.Unparen(n.Call.Fun).(*ast.FuncLit); isLiteral {
		w.deferLits[lit] = true
		return "", false
	}
	f := check.Callee(w.info, n.Call)
	if f == nil || f.Signature().Recv() != nil || isGeneric(f) {
		return "", false
	}
	_, d := w.declarationOf(f)
	if d == nil || d.Body == nil || asks(d.Body, f) {
		return "", false
	}
	sig := f.Signature()
	params, args := w.parameters(sig, n.Pos())
	return fmt.Sprintf("defer func(f%s %s) func(%s) { return func(%s) { %sf%s(%s) } }(%s)(%s)", mark, w.typeText(sig, n.Pos()),
		strings.Join(w.paramTypes(sig, n.Pos()), ", "), params, w.check(), mark, args, w.text(n.Call.Fun), w.callArgs(n.Call)), true
}

// literal prepares a function literal. It looks for interrupts even where it neither calls nor loops: a library may call it again and
// again, as sorting does. One that is trusted need not.
func (w *writer) literal(n *ast.FuncLit) {
	code := ""
	if sig, _ := w.info.TypeOf(n).(*types.Signature); !w.trusted[n] || w.deferLits[n] || sig == nil || calls(n.Body) || compares(sig) {
		code = w.check()
	}
	if defers(n.Body) {
		code = w.leaveCheck() + code
	}
	w.inside[n.Body] += code
}
