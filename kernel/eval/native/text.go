package native

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"cancha/kernel/eval/check"
)

// text writes a node: its own text, with what has to be changed in it changed.
func (w *writer) text(n ast.Node) string { return w.onHeap(n, w.plainText(n)) }

func (w *writer) plainText(n ast.Node) string {
	switch n := n.(type) {
	case *ast.Ident:
		return w.ident(n)
	case *ast.SelectorExpr:
		return w.selector(n)
	case *ast.CallExpr:
		return w.call(n)
	case *ast.UnaryExpr:
		if n.Op == token.AND {
			w.assigns(n.X)
		}
		return w.unary(n)
	case *ast.AssignStmt:
		w.assigns(n.Lhs...)
	case *ast.CompositeLit:
		return w.composite(n, false)
	case *ast.KeyValueExpr:
		if n.Key.Pos() == n.Value.Pos() { // a name that the check has put in
			return n.Key.(*ast.Ident).Name + ": " + w.text(n.Value)
		}
	case *ast.StructType:
		if s, ok := w.info.TypeOf(n).(*types.Struct); ok {
			refuseHiding(s, n.Pos())
			w.refuseAside(s, n.Pos())
			if name := w.structName(s); name != "" {
				return name
			}
		}
	case *ast.LabeledStmt:
		if w.unused[n.Label.Pos()] {
			return w.text(n.Stmt) + w.after[n.Stmt]
		}
		w.labeled[n.Stmt] = true
	case *ast.FuncLit:
		w.literal(n)
		direct, statements := w.direct, w.statements
		w.direct, w.statements = false, false
		defer func() { w.direct, w.statements = direct, statements }()
	case *ast.ForStmt:
		w.loops++
		defer func() { w.loops-- }()
		if text, ok := w.pureLoop(n); ok {
			return text
		}
		return w.forLoop(n)
	case *ast.RangeStmt:
		w.assigns(n.Key, n.Value)
		w.loops++
		defer func() { w.loops-- }()
		if text, ok := w.pureLoop(n); ok {
			return text
		}
		return w.rangeOver(n)
	case *ast.BranchStmt:
		if n.Tok == token.GOTO {
			return "{ " + w.check() + w.copy(n) + " }"
		}
	case *ast.SendStmt:
		return w.send(n)
	case *ast.SelectStmt:
		return w.selection(n)
	case *ast.GoStmt:
		return w.spawn(n)
	case *ast.DeferStmt:
		if w.isRecover(n.Call) { // which ends no panic; to evaluate it now would
			return "defer recover()"
		}
		if text, ok := w.deferred(n); ok {
			return text
		}
	case *ast.BlockStmt:
		w.noteAll(n.List)
	case *ast.CaseClause:
		w.noteAll(n.Body)
	}
	return w.copy(n)
}

// copy writes a node's own text around that of its children.
func (w *writer) copy(n ast.Node) string {
	var b strings.Builder
	at, colon := w.offset(n.Pos()), -1
	clause, _ := n.(*ast.CaseClause)
	if clause != nil && w.clause[clause] != "" {
		colon = w.offset(clause.Colon) + 1
	}
	between := func(to int) {
		if at <= colon && colon <= to {
			b.WriteString(w.code[at:colon] + w.clause[clause])
			at, colon = colon, -1
		}
		b.WriteString(w.code[at:to])
	}
	for _, c := range children(n) {
		from := w.offset(c.Pos())
		if from < at {
			continue
		}
		between(from)
		if s, ok := c.(ast.Stmt); ok && len(w.stored) > 0 && isBlock(n) {
			b.WriteString(w.guardIndexes(s))
		}
		if text, ok := w.replaced[c]; ok {
			b.WriteString(text)
		} else {
			b.WriteString(w.text(c))
		}
		if s, ok := c.(ast.Stmt); ok {
			b.WriteString(w.after[s])
		}
		at = w.offset(c.End())
	}
	between(w.offset(n.End()))
	text := b.String()
	if block, ok := n.(*ast.BlockStmt); ok && w.inside[block] != "" {
		text = "{ " + w.inside[block] + strings.TrimPrefix(text, "{")
	}
	return text
}

func isBlock(n ast.Node) bool { _, ok := n.(*ast.BlockStmt); return ok }

func (w *writer) offset(pos token.Pos) int { return w.source.Offset(pos) }

// children are the nodes right below n, in the order of the text.
func children(n ast.Node) []ast.Node {
	var list []ast.Node
	if f, ok := n.(*ast.FuncType); ok {
		for _, l := range []*ast.FieldList{f.TypeParams, f.Params, f.Results} {
			if l != nil {
				list = append(list, l)
			}
		}
		return list
	}
	depth := 0
	ast.Inspect(n, func(c ast.Node) bool {
		if c == nil {
			depth--
			return true
		}
		if depth == 1 {
			if _, comment := c.(*ast.CommentGroup); !comment {
				list = append(list, c)
			}
			return false
		}
		depth++
		return true
	})
	slices.SortStableFunc(list, func(a, b ast.Node) int { return int(a.Pos()) - int(b.Pos()) })
	return list
}

// begin puts code at the beginning of a block.
func (w *writer) begin(b *ast.BlockStmt, code string) { w.inside[b] = code + w.inside[b] }

// check is the statement that stops the cell when it has been interrupted.
func (w *writer) check() string {
	return fmt.Sprintf("if %s.Loaded(&%s) { %s.Check() }; ", supportName, stopName, machineName)
}

// ident writes a name.
func (w *writer) ident(id *ast.Ident) string {
	if name, ok := w.renamed[id]; ok {
		return name
	}
	o := w.info.Uses[id]
	if o == nil {
		o = w.info.Defs[id]
	}
	switch o := o.(type) {
	case *types.Var:
		if name, ok := w.copied[o]; ok {
			return name
		}
		if id.Name != "_" && w.isSession(o) {
			return "(*" + w.inLoop(w.variable(o, id.Pos())) + ")"
		}
	case *types.Func:
		return w.funcName(id, o)
	case *types.TypeName:
		w.typeName(o, id.Pos())
		return w.nameOf(o)
	case *types.Const:
		w.constant(o, id.Pos())
		w.noteDot(o)
		return w.nameOf(o)
	case *types.PkgName:
		w.importAs(id.Name, o.Imported().Path(), id.Pos())
	}
	w.noteDot(o)
	return id.Name
}

// inLoop is the name of the pointer to a variable, in a loop of the cell's statements that of a copy of the pointer: to the compiler anything
// that is written in the loop may be the pointer itself, so that each turn would read it again.
func (w *writer) inLoop(place string) string {
	if !w.statements || w.loops == 0 {
		return place
	}
	if !slices.Contains(w.looped, place) {
		w.looped = append(w.looped, place)
	}
	return "l" + mark + place
}

// noteDot imports a package with a dot if o is one of its names.
func (w *writer) noteDot(o types.Object) {
	if o != nil && o.Pkg() != nil && o.Pkg().Path() != "main" && o.Parent() == o.Pkg().Scope() {
		w.dots[o.Pkg().Path()] = true
	}
}

// importAs imports a package by the name that a cell uses for it.
func (w *writer) importAs(name, path string, pos token.Pos) {
	if other, ok := w.imports[name]; ok && other != path {
		refuse(pos, "two packages are called %s in what has to be compiled together: %s and %s", name, other, path)
	}
	w.imports[name] = path
}

// isSession reports whether v is a variable of the session, this cell's own included.
func (w *writer) isSession(v *types.Var) bool {
	if v.IsField() || v.Pkg() == nil || v.Pkg().Path() != "main" {
		return false
	}
	return w.source.Local[v] != nil || v.Parent() == v.Pkg().Scope() || w.place(v) != ""
}

// funcName writes the name of a function or method.
func (w *writer) funcName(id *ast.Ident, f *types.Func) string {
	f = w.engine.latest(f.Origin())
	if name, values, ok := check.Known(f); ok {
		return supportName + "." + knownName(name, values)
	}
	switch {
	case f.Signature().Recv() != nil:
		return w.methodName(f)
	case standsFor[f.FullName()] != "":
		return machineName + "." + standsFor[f.FullName()]
	case mends[f.FullName()] != "":
		return supportName + "." + mends[f.FullName()]
	case w.isOwn(f):
		return ownName(w.nameOf(f))
	case f.Pkg().Path() != "main":
		w.noteDot(f)
		return id.Name
	}
	if f.Parent() != nil && f.Parent() != f.Pkg().Scope() {
		return id.Name
	}
	x := w.earlier(f, id.Pos())
	if f.Signature().TypeParams().Len() > 0 {
		return w.packageName(x.unit) + "." + x.name
	}
	return w.packageName(x.unit) + "x." + x.name
}

// knownName is what package support calls a function that every cell knows.
func knownName(name string, values int) string {
	name = strings.ToUpper(name[:1]) + name[1:]
	if values < 0 {
		return name
	}
	return fmt.Sprint(name, values)
}

// texts writes expressions with commas between them.
func (w *writer) texts(list []ast.Expr) string {
	texts := make([]string, len(list))
	for i, x := range list {
		if text, ok := w.replaced[x]; ok {
			texts[i] = text
			continue
		}
		texts[i] = w.text(x)
	}
	return strings.Join(texts, ", ")
}

func (w *writer) unary(x *ast.UnaryExpr) string {
	switch x.Op {
	case token.AND:
		if lit, ok := ast.Unparen(x.X).(*ast.CompositeLit); ok && w.hiddenIn(lit) != nil {
			return w.composite(lit, true)
		}
	case token.ARROW:
		if _, ok := types.Unalias(w.info.TypeOf(x.X)).(*types.TypeParam); ok {
			break
		}
		name := "Recv"
		if t, ok := w.info.Types[x].Type.(*types.Tuple); ok && t.Len() == 2 {
			name = "Recv2"
		}
		return fmt.Sprintf("%s.%s(%s, %s)", supportName, name, machineName, w.text(x.X))
	}
	return w.copy(x)
}

func operand(text string) string {
	if strings.ContainsAny(text, " (<{[") {
		return "(" + text + ")"
	}
	return text
}

// isRecover reports whether x is a call of recover.
func (w *writer) isRecover(x *ast.CallExpr) bool {
	id, ok := ast.Unparen(x.Fun).(*ast.Ident)
	if !ok {
		return false
	}
	b, ok := w.info.Uses[id].(*types.Builtin)
	return ok && b.Name() == "recover"
}
