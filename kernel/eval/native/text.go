package native

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"
)

// text writes a node: its own text, with what has to be changed in it changed.
func (w *writer) text(n ast.Node) string {
	switch n := n.(type) {
	case *ast.Ident:
		return w.ident(n)
	case *ast.SelectorExpr:
		return w.selector(n)
	case *ast.CallExpr:
		return w.call(n)
	case *ast.UnaryExpr:
		return w.unary(n)
	case *ast.CompositeLit:
		return w.composite(n, false)
	case *ast.KeyValueExpr:
		if n.Key.Pos() == n.Value.Pos() { // a name that the check has put in
			return n.Key.(*ast.Ident).Name + ": " + w.text(n.Value)
		}
	case *ast.FuncLit:
		w.literal(n)
	case *ast.ForStmt:
		w.begin(n.Body, w.loopCheck(n.Body))
	case *ast.RangeStmt:
		return w.rangeOver(n)
	case *ast.SendStmt:
		return fmt.Sprintf("%s.To(%s, %s).Send(%s)", supportName, machineName, w.text(n.Chan), w.text(n.Value))
	case *ast.SelectStmt:
		return w.selection(n)
	case *ast.GoStmt:
		return w.spawn(n)
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
	at := w.offset(n.Pos())
	for _, c := range children(n) {
		from := w.offset(c.Pos())
		if from < at {
			continue
		}
		b.WriteString(w.code[at:from])
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
	b.WriteString(w.code[at:w.offset(n.End())])
	text := b.String()
	if block, ok := n.(*ast.BlockStmt); ok && w.inside[block] != "" {
		text = "{ " + w.inside[block] + strings.TrimPrefix(text, "{")
	}
	return text
}

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

// loopCheck is check at the beginning of a loop's body; in a loop over copies it writes these back first.
func (w *writer) loopCheck(*ast.BlockStmt) string {
	for _, store := range w.stored {
		return fmt.Sprintf("if %s.Loaded(&%s) { %s; %s.Check() }; ", supportName, stopName, store, machineName)
	}
	return w.check()
}

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
		switch n.(type) {
		case *ast.CallExpr, *ast.ForStmt, *ast.RangeStmt:
			return true
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
			return "(*" + w.variable(o, id.Pos()) + ")"
		}
	case *types.Func:
		return w.funcName(id, o)
	case *types.TypeName:
		w.typeName(o, id.Pos())
	case *types.Const:
		w.constant(o, id.Pos())
	case *types.PkgName:
		w.importAs(id.Name, o.Imported().Path(), id.Pos())
	}
	w.noteDot(o)
	return id.Name
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

// isSession tells a variable of the session, this cell's own included.
func (w *writer) isSession(v *types.Var) bool {
	if v.IsField() || v.Pkg() == nil || v.Pkg().Path() != "main" {
		return false
	}
	return w.source.Local[v] != nil || v.Parent() == v.Pkg().Scope() || w.place(v) != ""
}

// funcName writes the name of a function or method.
func (w *writer) funcName(id *ast.Ident, f *types.Func) string {
	f = f.Origin()
	switch {
	case f.Signature().Recv() != nil:
		return methodName(f)
	case standsFor[f.FullName()] != "":
		return machineName + "." + standsFor[f.FullName()]
	case f.Pkg() == w.cell.Pkg && f.Name() == "main":
		return "main" + mark
	case w.isOwn(f):
		return ownName(id.Name)
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

// standsFor are functions of the standard library for which the machine has its own.
var standsFor = map[string]string{
	"fmt.Print": "Print", "fmt.Println": "Println", "fmt.Printf": "Printf",
	"os.Exit": "Exit", "time.Sleep": "Sleep",
	"log.Fatal": "LogFatal", "log.Fatalln": "LogFatalln", "log.Fatalf": "LogFatalf",
}

// standsForMethod are methods for which the machine has functions, with the pointer to the receiver in front.
var standsForMethod = map[string]string{
	"(*sync.Mutex).Lock": "Lock", "(*sync.RWMutex).Lock": "Lock", "(*sync.RWMutex).RLock": "RLock",
	"(*sync.WaitGroup).Wait": "WaitGroupWait", "(*sync.Cond).Wait": "CondWait",
}

func (w *writer) call(x *ast.CallExpr) string {
	if id, ok := ast.Unparen(x.Fun).(*ast.Ident); ok {
		if b, ok := w.info.Uses[id].(*types.Builtin); ok {
			switch b.Name() {
			case "print":
				return machineName + ".BuiltinPrint(" + w.args(x) + ")"
			case "println":
				return machineName + ".BuiltinPrintln(" + w.args(x) + ")"
			case "recover":
				return machineName + ".Recovered(recover())"
			}
		}
	}
	if sel, ok := ast.Unparen(x.Fun).(*ast.SelectorExpr); ok {
		if s := w.info.Selections[sel]; s != nil && s.Kind() == types.MethodVal {
			if name := standsForMethod[s.Obj().(*types.Func).FullName()]; name != "" {
				return fmt.Sprintf("%s.%s(%s)", machineName, name, w.receiver(sel, s))
			}
			if stream := w.stream(sel.X); stream != "" {
				w.replaced[sel.X] = stream
			}
		}
	}
	if f := callee(w.info, x); f != nil {
		for _, a := range x.Args {
			if lit, ok := ast.Unparen(a).(*ast.FuncLit); ok && startsGoroutines(f) {
				w.begin(lit.Body, "defer "+machineName+".Caught(); ")
			}
		}
	}
	if f := callee(w.info, x); f != nil && f.FullName() == "fmt.Sprintf" && len(x.Args) > 0 && w.namesTypes(x.Args[0]) {
		w.replaced[x.Fun] = machineName + ".Sprintf"
	}
	w.streams(x)
	return w.copy(x)
}

// namesTypes tells a format that may write the names of types, which the machine writes as a program would.
func (w *writer) namesTypes(format ast.Expr) bool {
	v := w.info.Types[format].Value
	return v == nil || strings.Contains(v.ExactString(), "%T") || strings.Contains(v.ExactString(), "%#")
}

// streams writes os.Stdout and os.Stderr among a call's arguments, where only their being written to counts, as the cell's
// output.
func (w *writer) streams(x *ast.CallExpr) {
	sig, ok := w.info.TypeOf(x.Fun).(*types.Signature)
	if !ok {
		return
	}
	for i, a := range x.Args {
		if stream := w.stream(a); stream != "" && i < sig.Params().Len() {
			u, ok := sig.Params().At(i).Type().Underlying().(*types.Interface)
			if ok && u.NumMethods() == 1 && u.Method(0).Name() == "Write" {
				w.replaced[a] = stream
			}
		}
	}
}

// stream is the cell's own output for os.Stdout and os.Stderr, "" for anything else.
func (w *writer) stream(x ast.Expr) string {
	sel, ok := ast.Unparen(x).(*ast.SelectorExpr)
	if !ok {
		return ""
	}
	switch o, _ := w.info.Uses[sel.Sel].(*types.Var); {
	case o == nil || o.Pkg() == nil || o.Pkg().Path() != "os":
		return ""
	case o.Name() == "Stdout" || o.Name() == "Stderr":
		return machineName + "." + o.Name() + "()"
	}
	return ""
}

// startsGoroutines tells functions that run their callbacks on goroutines which no cell has started.
func startsGoroutines(f *types.Func) bool {
	if f.Pkg() == nil {
		return false
	}
	path := f.Pkg().Path()
	if strings.HasPrefix(path, "cancha/") {
		return true
	}
	switch path + "." + f.Name() {
	case "time.AfterFunc", "context.AfterFunc", "sync.Go", "golang.org/x/sync/errgroup.Go", "golang.org/x/sync/errgroup.TryGo":
		return true
	}
	return false
}

func (w *writer) args(x *ast.CallExpr) string {
	texts := make([]string, len(x.Args))
	for i, a := range x.Args {
		texts[i] = w.text(a)
	}
	return strings.Join(texts, ", ")
}

func (w *writer) unary(x *ast.UnaryExpr) string {
	switch x.Op {
	case token.AND:
		if lit, ok := ast.Unparen(x.X).(*ast.CompositeLit); ok && w.hidesField(lit) {
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

func (w *writer) rangeOver(n *ast.RangeStmt) string {
	w.begin(n.Body, w.loopCheck(n.Body))
	t := w.info.TypeOf(n.X)
	if _, ok := t.Underlying().(*types.Chan); !ok {
		return w.copy(n)
	}
	if _, ok := types.Unalias(t).(*types.TypeParam); ok {
		return w.copy(n)
	}
	w.replaced[n.X] = fmt.Sprintf("%s.Range(%s, %s)", supportName, machineName, w.text(n.X))
	return w.copy(n)
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
		text = strings.TrimSuffix(text, "}") + fmt.Sprintf("; case <-%s.Done(): panic(%s.Interrupted()) }", machineName, machineName)
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
		lhs := make([]string, len(s.Lhs))
		for i, x := range s.Lhs {
			lhs[i] = w.text(x)
		}
		return strings.Join(lhs, ", ") + " " + s.Tok.String() + " " + receive(s.Rhs[0])
	}
	return w.text(s)
}

func operand(text string) string {
	if strings.ContainsAny(text, " (<{[") {
		return "(" + text + ")"
	}
	return text
}

// spawn writes a go statement: what is called and its arguments are evaluated now, and the goroutine reports its panic to
// its cell.
func (w *writer) spawn(n *ast.GoStmt) string {
	guard := fmt.Sprintf("defer %s.Ended(%s.Began()); ", machineName, machineName)
	if lit, ok := ast.Unparen(n.Call.Fun).(*ast.FuncLit); ok {
		w.begin(lit.Body, guard)
		return "go " + w.copy(n.Call)
	}
	if id, ok := ast.Unparen(n.Call.Fun).(*ast.Ident); ok {
		if _, ok := w.info.Uses[id].(*types.Builtin); ok {
			return w.spawnBuiltin(n, guard)
		}
	}
	if w.info.Types[n.Call.Fun].IsType() {
		return w.copy(n)
	}
	sig := w.info.TypeOf(n.Call.Fun).Underlying().(*types.Signature)
	params, args := w.parameters(sig, n.Pos())
	plain := "func(" + strings.Join(w.paramTypes(sig, n.Pos()), ", ") + ")"
	fun := w.typeText(sig, n.Pos())
	value := w.text(n.Call.Fun)
	if s, ok := ast.Unparen(n.Call.Fun).(*ast.SelectorExpr); ok {
		if sel := w.info.Selections[s]; sel != nil && sel.Kind() == types.MethodVal && standsForMethod[sel.Obj().(*types.Func).FullName()] != "" {
			return fmt.Sprintf("go func() { %s%s }()", guard, w.call(n.Call))
		}
	}
	w.streams(n.Call)
	return fmt.Sprintf("go func(f%s %s) %s { return func(%s) { %sf%s(%s) } }(%s)(%s)", mark, fun, plain, params, guard, mark, args, value, w.callArgs(n.Call))
}

func (w *writer) callArgs(x *ast.CallExpr) string {
	text := w.args(x)
	if x.Ellipsis.IsValid() {
		text += "..."
	}
	return text
}

func (w *writer) spawnBuiltin(n *ast.GoStmt, guard string) string {
	var params, args, names []string
	for i, a := range n.Call.Args {
		name := fmt.Sprintf("p%s%d", mark, i)
		params = append(params, name+" "+w.typeText(types.Default(w.info.TypeOf(a)), a.Pos()))
		args = append(args, w.text(a))
		names = append(names, name)
	}
	id := ast.Unparen(n.Call.Fun).(*ast.Ident)
	call := id.Name
	switch id.Name {
	case "print":
		call = machineName + ".BuiltinPrint"
	case "println":
		call = machineName + ".BuiltinPrintln"
	}
	return fmt.Sprintf("go func(%s) { %s%s(%s) }(%s)", strings.Join(params, ", "), guard, call, strings.Join(names, ", "), strings.Join(args, ", "))
}

// literal prepares a function literal.
func (w *writer) literal(n *ast.FuncLit) {
	code := ""
	if calls(n.Body) {
		code = w.check()
	}
	if defers(n.Body) {
		code = w.leaveCheck() + code
	}
	w.inside[n.Body] += code
}
