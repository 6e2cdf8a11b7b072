package native

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"reflect"
	"slices"
	"strings"
)

// A look at the interrupt flag in each iteration makes a tight loop take up to three times as long. So a loop whose iterations are plainly
// short looks only now and then. One that counts is cut into pieces:
//
//	for i := 0; i < n; {
//		e, cut := support.Piece(i, n)
//		if cut { look }
//		for ; i < e; i++ { … }
//	}
//
// so that the inner one is as it was. Any other gets a counter.

// turns is how many turns a loop has that need not look for interrupts, and a mask of a counter: a power of two.
const turns = 128

// Names of what such loops get: a counter; the end of a piece, and whether that is before the loop's; the index of a range statement,
// that in a piece, and what it runs over and to.
const (
	counterName = "k" + mark
	endName     = "e" + mark
	cutName     = "c" + mark
	indexName   = "i" + mark
	innerName   = "j" + mark
	overName    = "x" + mark
	lastName    = "n" + mark
)

// forLoop writes a for statement.
func (w *writer) forLoop(n *ast.ForStmt) string {
	if !w.bounded(n.Body) || !w.tightHead(n) {
		w.begin(n.Body, w.look(""))
		return w.copy(n)
	}
	tight := w.tight(n.Body)
	if c, ok := w.counting(n); ok && !w.labeled[n] && (tight || c.step == nil) {
		if c.short() && tight {
			return w.copy(n)
		}
		return w.cut(n, c)
	}
	if init, ok := n.Init.(*ast.AssignStmt); tight && n.Init == nil || tight && ok && init.Tok == token.DEFINE && len(init.Lhs) == len(init.Rhs) {
		w.begin(n.Body, counterName+"++; "+w.look(counterName))
		return w.counted(n)
	}
	w.begin(n.Body, w.look(""))
	return w.copy(n)
}

// look is check in a loop's body, in those of its turns that the counter chooses; in each where there is none. In a loop over copies
// it writes these back first.
func (w *writer) look(counter string) string {
	store := w.store()
	text := fmt.Sprintf("if %s.Loaded(&%s) { %s%s.Check() }; ", supportName, stopName, store, machineName)
	if counter != "" {
		return fmt.Sprintf("if %s&%d == 0 { %s}; ", counter, turns-1, text)
	}
	return text
}

// store writes back the copies of the loop that is being written.
func (w *writer) store() string {
	for _, s := range w.stored {
		if s != "" {
			return s + "; "
		}
	}
	return ""
}

// counting is a loop that counts: one variable, which only the post statement changes, by a step that stays the same, up or down to a
// limit that stays the same.
type counting struct {
	w           *writer
	name        string
	op          token.Token
	limit, step ast.Expr // no step: 1
	from        ast.Expr
	down        bool
}

func (w *writer) counting(n *ast.ForStmt) (c counting, ok bool) {
	cond, ok := n.Cond.(*ast.BinaryExpr)
	init, isInit := n.Init.(*ast.AssignStmt)
	if !ok || !isInit || init.Tok != token.DEFINE || len(init.Lhs) != len(init.Rhs) {
		return c, false
	}
	id, ok := cond.X.(*ast.Ident)
	if !ok {
		return c, false
	}
	v, ok := w.info.Uses[id].(*types.Var)
	if !ok || !isWide(v.Type()) || w.changes(n.Body, v) {
		return c, false
	}
	c = counting{w: w, name: id.Name, op: cond.Op, limit: cond.Y}
	declared := false
	for i, x := range init.Lhs {
		switch o, _ := w.info.Defs[x.(*ast.Ident)].(*types.Var); {
		case o != nil && w.shared(o): // each turn has its own
			return c, false
		case o == v:
			declared, c.from = true, init.Rhs[i]
		}
	}
	if !declared || !c.steps(n.Post, v) || !w.stays(n, c.limit) || c.step != nil && !w.stays(n, c.step) {
		return c, false
	}
	up := c.op == token.LSS || c.op == token.LEQ
	return c, c.down && (c.op == token.GTR || c.op == token.GEQ) || !c.down && up
}

// steps looks at a post statement.
func (c *counting) steps(post ast.Stmt, v *types.Var) bool {
	switch s := post.(type) {
	case *ast.IncDecStmt:
		id, ok := s.X.(*ast.Ident)
		c.down = s.Tok == token.DEC
		return ok && c.w.info.Uses[id] == v
	case *ast.AssignStmt:
		id, ok := s.Lhs[0].(*ast.Ident)
		c.step = s.Rhs[0]
		return ok && s.Tok == token.ADD_ASSIGN && c.w.info.Uses[id] == v && types.Identical(v.Type(), types.Typ[types.Int])
	}
	return false
}

// short reports whether the loop is known to have few iterations.
func (c counting) short() bool {
	from, ok := c.w.number(c.from)
	to, known := c.w.number(c.limit)
	return ok && known && c.step == nil && !c.endless(to) && max(from-to, to-from) < turns
}

// endless reports whether a loop runs to the last of its numbers, behind which comes the first.
func (c counting) endless(limit int64) bool {
	b := c.w.info.TypeOf(c.limit).Underlying().(*types.Basic)
	bits := map[types.BasicKind]int{types.Int16: 16, types.Uint16: 16, types.Int32: 32, types.Uint32: 32}[b.Kind()]
	if bits == 0 {
		bits = 64
	}
	least, most := int64(-1)<<(bits-1), int64(1)<<(bits-1)-1
	if b.Info()&types.IsUnsigned != 0 {
		least, most = 0, most<<1|1 // of 64 bits no number of ours
	}
	return c.op == token.GEQ && limit == least || c.op == token.LEQ && limit == most
}

// number is an integer constant that is not large.
func (w *writer) number(x ast.Expr) (int64, bool) {
	v := w.info.Types[x].Value
	if v == nil {
		return 0, false
	}
	n, ok := constant.Int64Val(constant.ToInt(v))
	return n, ok && max(n, -n) < 1<<31
}

// stays reports whether x has the same value in all iterations of loop: it is a constant, or a local variable or its length, that nothing
// in the loop changes.
func (w *writer) stays(loop *ast.ForStmt, x ast.Expr) bool {
	x = ast.Unparen(x)
	if w.info.Types[x].Value != nil {
		return true
	}
	if call, ok := x.(*ast.CallExpr); ok {
		id, ok := ast.Unparen(call.Fun).(*ast.Ident)
		if !ok || len(call.Args) != 1 {
			return false
		}
		if b, ok := w.info.Uses[id].(*types.Builtin); !ok || b.Name() != "len" {
			return false
		}
		x = ast.Unparen(call.Args[0])
		switch w.info.TypeOf(x).Underlying().(type) {
		case *types.Slice, *types.Basic:
		default:
			return false
		}
	}
	id, ok := x.(*ast.Ident)
	if !ok {
		return false
	}
	v, ok := w.info.Uses[id].(*types.Var)
	return ok && (w.copied[v] != "" || !w.isSession(v)) && !w.shared(v) && !w.changes(loop.Body, v) && !w.changes(loop.Post, v)
}

// cut writes a loop in pieces.
func (w *writer) cut(n *ast.ForStmt, c counting) string {
	if c.step != nil {
		return w.cutSteps(n, c)
	}
	piece, inner := "Piece", c.op.String()
	if c.down {
		piece += "Down"
	}
	if c.op == token.LEQ || c.op == token.GEQ {
		piece, inner = piece+"To", "!="
	}
	body, out := w.inner(n.Body)
	return fmt.Sprintf("%sfor %s; %s; { %s := %s; %s = %s; %s%sfor ; %s %s %s; %s %s }",
		out, w.text(n.Init), w.text(n.Cond), endName, c.name, endName, w.text(c.limit), w.pieceOf(piece, c.name), c.within(), c.name, inner, endName, w.text(n.Post), body)
}

// withinText tells the compiler that a piece lies within what has this length, so that it does not look at each index. In deeper loops
// it would take a register too many.
func withinText(index, length string) string {
	return fmt.Sprintf("if %s < 0 || %s > %s { break }; ", index, endName, length)
}

// within is withinText for a loop that counts from 0, or more, to a length.
func (c counting) within() string {
	from, known := c.w.number(c.from)
	if call, ok := ast.Unparen(c.limit).(*ast.CallExpr); ok && c.op == token.LSS && known && from >= 0 && c.w.loops <= 2 && !c.w.info.Types[call.Fun].IsType() {
		return withinText(c.name, c.w.text(call))
	}
	return ""
}

// pieceOf writes how the end of a loop becomes that of a piece; between two pieces the loop looks for interrupts.
func (w *writer) pieceOf(function, index string) string {
	return fmt.Sprintf("%s, %s := %s.%s(%s, %s); if %s { %s}; ", endName, cutName, supportName, function, index, endName, cutName, w.look(""))
}

// cutSteps writes one that counts by a step. Where it cannot be cut it looks in each turn.
func (w *writer) cutSteps(n *ast.ForStmt, c counting) string {
	body, out := w.inner(n.Body)
	cond, post := w.text(n.Cond), w.text(n.Post)
	again := ""
	if strings.Contains(body, "\n") {
		again = w.line(n)
	}
	return fmt.Sprintf("%sfor %s; %s; { %s, %s, ok%s := %s.PieceSteps(%s, %s, %s); if !ok%s { for ; %s; %s { %s%s; break }; if %s { %s}; %sfor ; %s %s %s; %s %s }",
		out, w.text(n.Init), cond, endName, cutName, mark, supportName, c.name, w.text(c.limit), w.text(c.step), mark, cond, post, w.look(""), strings.TrimPrefix(body, "{"),
		cutName, w.look(""), again, c.name, c.op, endName, post, body)
}

// inner writes the body of a loop that is cut, and the label of the outer loop, which a break statement leaves.
func (w *writer) inner(body *ast.BlockStmt) (text, label string) {
	name := fmt.Sprintf("out%s%d", mark, body.Pos())
	for _, b := range breaks(body) {
		w.replaced[b] = "break " + name
		label = name + ": "
	}
	return w.text(body), label
}

// breaks are the statements in a loop's body that end the loop.
func breaks(body *ast.BlockStmt) (list []*ast.BranchStmt) {
	ast.Inspect(body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SwitchStmt, *ast.TypeSwitchStmt, *ast.ForStmt, *ast.RangeStmt: // their own
			return false
		case *ast.BranchStmt:
			if n.Tok == token.BREAK && n.Label == nil {
				list = append(list, n)
			}
		}
		return true
	})
	return list
}

// counted writes a loop with a counter of ours.
func (w *writer) counted(n *ast.ForStmt) string {
	if init, ok := n.Init.(*ast.AssignStmt); ok {
		w.replaced[init] = fmt.Sprintf("%s, %s := %s, %s.Start", w.texts(init.Lhs), counterName, w.texts(init.Rhs), supportName)
		return w.copy(n)
	}
	text := "for " + counterName + " := " + supportName + ".Start; "
	if n.Cond != nil {
		text += w.text(n.Cond)
	}
	text += "; "
	if n.Post != nil {
		text += w.text(n.Post) + " "
	}
	return text + w.text(n.Body)
}

// rangeLoop writes a range statement that is one in the package too.
func (w *writer) rangeLoop(n *ast.RangeStmt) string {
	if !w.bounded(n.Body) || n.Value != nil && !small(w.info.TypeOf(n.Value), 0) {
		return w.eachTurn(n)
	}
	tight := w.tight(n.Body)
	t := w.info.TypeOf(n.X)
	if _, parameter := types.Unalias(t).(*types.TypeParam); parameter {
		return w.eachTurn(n)
	}
	cut := !w.labeled[n] && (n.Key == nil || n.Tok == token.DEFINE)
	switch u := t.Underlying().(type) {
	case *types.Array:
		if u.Len() < turns && tight {
			return w.copy(n)
		}
	case *types.Slice:
		if cut {
			return w.cutSlice(n)
		}
	case *types.Basic:
		if count, known := w.number(n.X); known && count < turns && tight {
			return w.copy(n)
		}
		if cut && (isWide(t) || u.Kind() == types.UntypedInt) && (n.Key == nil || isWide(w.info.TypeOf(n.Key))) {
			return w.cutRange(n)
		}
	}
	return w.eachTurn(n)
}

// eachTurn writes a range statement that looks for interrupts in each turn.
func (w *writer) eachTurn(n *ast.RangeStmt) string {
	w.begin(n.Body, w.look(""))
	return w.copy(n)
}

// named is the name of a range statement's variable, "" for none.
func named(x ast.Expr) string {
	if id, ok := x.(*ast.Ident); ok && id.Name != "_" {
		return id.Name
	}
	return ""
}

// cutSlice writes a loop over a slice in pieces of it.
func (w *writer) cutSlice(n *ast.RangeStmt) string {
	key, value := named(n.Key), named(n.Value)
	head := fmt.Sprintf("for %s, %s, %s := %s.Slice(%s); %s < %s; { %s := %s; %s",
		overName, indexName, lastName, supportName, w.text(n.X), indexName, lastName, endName, lastName, w.pieceOf("Piece", indexName))
	switch {
	case value == "" && key != "":
		w.begin(n.Body, fmt.Sprintf("%s := %s; ", key, indexName))
	case key != "":
		w.begin(n.Body, fmt.Sprintf("%s := %s + %s; ", key, indexName, innerName))
	}
	body, out := w.inner(n.Body)
	if value == "" {
		within := ""
		if w.loops > 2 {
			head = strings.Replace(head, overName, "_", 1)
		} else {
			within = withinText(indexName, fmt.Sprintf("%s.Len(%s)", supportName, overName))
		}
		return out + head + within + fmt.Sprintf("for ; %s < %s; %s++ %s }", indexName, endName, indexName, body)
	}
	inner := innerName
	if key == "" {
		inner = "_"
	}
	return out + head + fmt.Sprintf("for %s, %s := range %s[%s:%s] %s; %s = %s }", inner, value, overName, indexName, endName, body, indexName, endName)
}

// cutRange writes a loop over an integer in pieces.
func (w *writer) cutRange(n *ast.RangeStmt) string {
	if key := named(n.Key); key != "" {
		w.begin(n.Body, fmt.Sprintf("%s := %s; ", key, indexName))
	}
	over := w.text(n.X)
	body, out := w.inner(n.Body)
	return fmt.Sprintf("%sfor %s, %s := %s.Range(%s); %s < %s; { %s := %s; %sfor ; %s < %s; %s++ %s }",
		out, lastName, indexName, supportName, over, indexName, lastName, endName, lastName, w.pieceOf("Piece", indexName), indexName, endName, indexName, body)
}

// isWide reports whether t is an integer type that holds twice a piece.
func isWide(t types.Type) bool {
	b, ok := t.Underlying().(*types.Basic)
	return ok && b.Info()&types.IsInteger != 0 && b.Info()&types.IsUntyped == 0 && b.Kind() != types.Int8 && b.Kind() != types.Uint8
}

// shared reports whether v is a variable whose address is taken, or that a function literal mentions.
func (w *writer) shared(v *types.Var) bool {
	set, ok := w.sharing[w.source]
	if !ok {
		set = map[*types.Var]bool{}
		for _, d := range w.source.Decls {
			w.addShared(d, set)
		}
		w.addShared(w.source.Body, set)
		w.sharing[w.source] = set
	}
	return set[v]
}

// changes tells whether a node assigns a variable, or takes its address.
func (w *writer) changes(n ast.Node, v *types.Var) (found bool) {
	if n == nil || reflect.ValueOf(n).IsNil() {
		return false
	}
	is := func(x ast.Expr) bool {
		if x == nil {
			return false
		}
		id, ok := ast.Unparen(x).(*ast.Ident)
		return ok && w.info.ObjectOf(id) == v
	}
	ast.Inspect(n, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			found = found || slices.ContainsFunc(n.Lhs, is)
		case *ast.IncDecStmt:
			found = found || is(n.X)
		case *ast.RangeStmt:
			found = found || is(n.Key) || is(n.Value)
		case *ast.UnaryExpr:
			found = found || n.Op == token.AND && is(ast.Unparen(n.X))
		case *ast.SelectorExpr: // a method may take the address
			found = found || is(ast.Unparen(n.X))
		}
		return true
	})
	return found
}
