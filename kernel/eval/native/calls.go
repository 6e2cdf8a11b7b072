package native

import (
	"fmt"
	"go/ast"
	"go/types"
	"slices"
	"strings"

	"cancha/kernel/eval/check"
)

// standsFor are functions of the standard library for which the machine has its own.
var standsFor = map[string]string{
	"fmt.Print": "Print", "fmt.Println": "Println", "fmt.Printf": "Printf",
	"os.Exit": "Exit", "time.Sleep": "Sleep",
	"log.Fatal": "LogFatal", "log.Fatalln": "LogFatalln", "log.Fatalf": "LogFatalf",
}

// mends are functions of the standard library that would show how cells are compiled, and those of package support for them.
var mends = map[string]string{"runtime.Stack": "Stack", "runtime/debug.Stack": "DebugStack", "runtime/debug.PrintStack": "DebugPrintStack"}

// standsForMethod are methods for which the machine has functions, with the pointer to the receiver in front.
var standsForMethod = map[string]string{
	"(*sync.Mutex).Lock": "Lock", "(*sync.RWMutex).Lock": "Lock", "(*sync.RWMutex).RLock": "RLock",
	"(*sync.WaitGroup).Wait": "WaitGroupWait", "(*sync.Cond).Wait": "CondWait",
	"(*os/exec.Cmd).Start": "CmdStart", "(*os/exec.Cmd).Run": "CmdRun", "(*os/exec.Cmd).Wait": "CmdWait",
	"(*os/exec.Cmd).Output": "CmdOutput", "(*os/exec.Cmd).CombinedOutput": "CmdCombinedOutput",
}

func (w *writer) call(x *ast.CallExpr) string {
	w.called[ast.Unparen(x.Fun)] = true
	if w.info.Types[x.Fun].IsType() && len(x.Args) == 1 && w.otherFields(w.info.TypeOf(x.Fun), w.info.TypeOf(x.Args[0])) {
		return w.conversion(x)
	}
	if v := w.info.Types[x].Value; v != nil && w.isUnsafe(x.Fun) && w.namesHidden(x) {
		return fmt.Sprintf("uintptr(%s)", v.ExactString()) // of a field that the compiler may not see
	}
	w.refuseNameless(x)
	if id, ok := ast.Unparen(x.Fun).(*ast.Ident); ok {
		if b, ok := w.info.Uses[id].(*types.Builtin); ok {
			switch b.Name() {
			case "print":
				return machineName + ".BuiltinPrint(" + w.printed(x.Args) + ")"
			case "println":
				return machineName + ".BuiltinPrintln(" + w.printed(x.Args) + ")"
			case "recover":
				return fmt.Sprintf("%s.Recovered(%s, recover())", supportName, machineName)
			}
		}
	}
	if sel, ok := ast.Unparen(x.Fun).(*ast.SelectorExpr); ok {
		if s := w.info.Selections[sel]; s != nil && s.Kind() == types.MethodVal {
			if text, ok := w.reflection(x, sel, s); ok {
				return text
			}
			if name := standsForMethod[s.Obj().(*types.Func).FullName()]; name != "" {
				return fmt.Sprintf("%s.%s(%s)", machineName, name, w.receiver(sel, s))
			}
			if stream := w.stream(sel.X); stream != "" {
				w.replaced[sel.X] = stream
			}
		}
	}
	if text, ok := w.testing(x); ok {
		return text
	}
	f := check.Callee(w.info, x)
	w.trust(x, f)
	if f != nil {
		switch {
		case check.StartsGoroutines(f):
			w.guard(x, "Caught")
		case check.CallsBack(f):
			w.guard(x, "Left")
		}
		if text, ok := w.print(x, f); ok {
			return text
		}
		w.streams(x)
		if text, ok := w.guardedCall(x, f); ok {
			return text
		}
	}
	w.streams(x)
	return w.copy(x)
}

// guard makes the functions among the arguments of a call tell that they run; end is what ends that. Caught reports their panics to the cell.
func (w *writer) guard(x *ast.CallExpr, end string) {
	sig, ok := w.info.TypeOf(x.Fun).(*types.Signature)
	if !ok {
		return
	}
	for i, a := range x.Args {
		if lit, ok := ast.Unparen(a).(*ast.FuncLit); ok {
			w.begin(lit.Body, fmt.Sprintf("%s.Called(); defer %s.%s(); ", machineName, machineName, end))
			continue
		}
		f, ok := parameter(sig, i).Underlying().(*types.Signature)
		if !ok || x.Ellipsis.IsValid() && i == len(x.Args)-1 || w.info.Types[a].IsNil() || len(x.Args) < sig.Params().Len()-1 {
			continue
		}
		params, args := w.parameters(f, a.Pos())
		results, leave := w.resultText(f, a.Pos()), ""
		if results != "" {
			leave = "return "
		}
		t := w.typeText(f, a.Pos())
		w.replaced[a] = fmt.Sprintf("func(f%s %s) %s { if f%s == nil { return nil }; return func(%s)%s { %s.Called(); defer %s.%s(); %sf%s(%s) } }(%s)",
			mark, t, t, mark, params, results, machineName, machineName, end, leave, mark, args, w.text(a))
	}
}

// parameter is the type of what a call hands over as its i-th argument.
func parameter(sig *types.Signature, i int) types.Type {
	last := sig.Params().Len() - 1
	t := sig.Params().At(min(i, last)).Type()
	if s, ok := t.(*types.Slice); ok && sig.Variadic() && i >= last {
		return s.Elem()
	}
	return t
}

// prints are functions that write values, with the place of their format, -1 for those without one. The machine has them too.
var prints = map[string]int{
	"fmt.Sprintf": 0, "fmt.Errorf": 0, "fmt.Fprintf": 1, "fmt.Appendf": 1,
	"fmt.Sprint": -1, "fmt.Sprintln": -1, "fmt.Fprint": -1, "fmt.Fprintln": -1, "fmt.Append": -1, "fmt.Appendln": -1,
}

// logs are the same of package log and its loggers; in front of their names stands how they end.
var logs = map[string]string{"Print": "Print", "Printf": "Print", "Println": "Print", "Panic": "Panic", "Panicf": "Panic", "Panicln": "Panic"}

// print writes a call that may write the names of types: the machine writes them as a program would.
func (w *writer) print(x *ast.CallExpr, f *types.Func) (text string, ok bool) {
	if end, ok := logs[f.Name()]; ok && f.Pkg() != nil && f.Pkg().Path() == "log" {
		if format := strings.HasSuffix(f.Name(), "f"); format && !w.namesTypes(x.Args, 0) || !format && !w.showsTypes(x.Args) {
			return "", false
		}
		fun := w.text(x.Fun)
		return fmt.Sprintf("%s(%s.Sprint%s(%s))", strings.TrimSuffix(fun, f.Name())+end, machineName, strings.TrimPrefix(f.Name(), end), w.callArgs(x)), true
	}
	format, ok := prints[f.FullName()]
	if ok && (format >= 0 && w.namesTypes(x.Args, format) || format < 0 && w.showsTypes(x.Args)) {
		w.replaced[x.Fun] = machineName + "." + f.Name()
	}
	return "", false
}

// namesTypes tells whether arguments have a format that may write the names of types. A format with the letters of %T and %p is left to fmt
// unless it has to go to the machine: the machine numbers the operands of such a format and no longer notices when there are too many.
func (w *writer) namesTypes(args []ast.Expr, format int) bool {
	if format >= len(args) {
		return true
	}
	v := w.info.Types[args[format]].Value
	if v == nil {
		return true
	}
	text := v.ExactString()
	return strings.Contains(text, "%T") || strings.Contains(text, "%#") || w.showsTypes(args[format+1:]) && !strings.ContainsAny(text, "Tp")
}

// showsTypes reports whether the text of the arguments may hold the names of types, as that of a reflect.Type does: any arguments but
// numbers, strings and such.
func (w *writer) showsTypes(args []ast.Expr) bool {
	return slices.ContainsFunc(args, func(a ast.Expr) bool { return !plain(w.info.TypeOf(a), 0) })
}

func plain(t types.Type, depth int) bool {
	switch u := t.Underlying().(type) {
	case *types.Basic:
		return true
	case *types.Slice, *types.Array:
		return depth < 4 && plain(u.(interface{ Elem() types.Type }).Elem(), depth+1)
	}
	return false
}

// streams writes os.Stdout and os.Stderr among the arguments of a library's function, where only their being written to counts, as the
// cell's output. A function of the cells may look at what it gets.
func (w *writer) streams(x *ast.CallExpr) {
	f := check.Callee(w.info, x)
	sig, ok := w.info.TypeOf(x.Fun).(*types.Signature)
	if !ok || f == nil || f.Pkg() == nil || f.Pkg().Path() == "main" {
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
	if writesOnly[f.FullName()] {
		w.keptStream(x)
	}
}

// keptStream has a function that does nothing with a writer but write to it write to the cell's output where that is an os.Stdout or
// os.Stderr that somebody has kept.
func (w *writer) keptStream(x *ast.CallExpr) {
	if w.replaced[x.Args[0]] != "" || w.replaced[x.Fun] != "" {
		return
	}
	if t := w.info.TypeOf(x.Args[0]); t.String() == "*os.File" || isInterface(t) {
		w.replaced[x.Args[0]] = machineName + ".Writer(" + w.text(x.Args[0]) + ")"
	}
}

var writesOnly = map[string]bool{"fmt.Fprint": true, "fmt.Fprintln": true, "fmt.Fprintf": true, "io.WriteString": true}

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
			m := sel.Obj().(*types.Func)
			receiver := w.typeText(m.Signature().Recv().Type(), n.Pos())
			return fmt.Sprintf("go func(p%s %s) { %s%s.%s(p%s) }(%s)", mark, receiver, guard, machineName, standsForMethod[m.FullName()], mark, w.receiver(s, sel))
		}
	}
	w.streams(n.Call)
	return fmt.Sprintf("go func(f%s %s) %s { return func(%s) { %sf%s(%s) } }(%s)(%s)", mark, fun, plain, params, guard, mark, args, value, w.callArgs(n.Call))
}

func (w *writer) callArgs(x *ast.CallExpr) string {
	text := w.texts(x.Args)
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
		if isInterface(w.info.TypeOf(a)) {
			name = heldText(name)
		}
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

// printed writes the arguments of print or println, which write of an interface's value only where it is.
func (w *writer) printed(args []ast.Expr) string {
	texts := make([]string, len(args))
	for i, a := range args {
		texts[i] = w.text(a)
		if isInterface(w.info.TypeOf(a)) {
			texts[i] = heldText(texts[i])
		}
	}
	return strings.Join(texts, ", ")
}

// isInterface reports whether t is an interface type, which a type parameter is not.
func isInterface(t types.Type) bool {
	_, parameter := types.Unalias(t).(*types.TypeParam)
	return types.IsInterface(t) && !parameter
}

func heldText(value string) string { return machineName + ".Interface(" + value + ")" }

// isUnsafe reports whether fun is a function of package unsafe.
func (w *writer) isUnsafe(fun ast.Expr) bool {
	sel, ok := ast.Unparen(fun).(*ast.SelectorExpr)
	if !ok {
		return false
	}
	b, ok := w.info.Uses[sel.Sel].(*types.Builtin)
	return ok && b.Pkg() == types.Unsafe
}

// refuseNameless refuses to hand a struct of a type without a name and with fields that are not exported to a function of an
// earlier cell that takes an interface: to that function its type is another one than what it may look for.
func (w *writer) refuseNameless(x *ast.CallExpr) {
	f := check.Callee(w.info, x)
	if f == nil || f.Pkg() == nil || f.Pkg().Path() != "main" || w.isOwn(f.Origin()) {
		return
	}
	sig, ok := w.info.TypeOf(x.Fun).(*types.Signature)
	if !ok {
		return
	}
	for i, a := range x.Args {
		if types.IsInterface(parameter(sig, i)) && nameless(w.info.TypeOf(a), 0) {
			refuse(a.Pos(), "this struct type has no name, so that function %s of an earlier cell would take it for another one: declare a type", f.Name())
		}
	}
}

// nameless reports whether t is made of a struct type that has no name and has unexported fields.
func nameless(t types.Type, depth int) bool {
	switch t := types.Unalias(t).(type) {
	case *types.Struct:
		for v := range t.Fields() {
			if !v.Exported() {
				return true
			}
		}
	case *types.Pointer, *types.Slice, *types.Array, *types.Chan, *types.Map:
		return depth < 4 && nameless(t.(interface{ Elem() types.Type }).Elem(), depth+1)
	}
	return false
}

// namesHidden reports whether x is a call with a hidden field in its argument.
func (w *writer) namesHidden(x *ast.CallExpr) (found bool) {
	for _, a := range x.Args {
		ast.Inspect(a, func(n ast.Node) bool {
			if sel, ok := n.(*ast.SelectorExpr); ok {
				v, ok := w.info.Uses[sel.Sel].(*types.Var)
				found = found || ok && w.hidden(v)
			}
			return true
		})
	}
	return found
}

// send writes a send statement. Calls are made before variables and fields are read, from left to right: so a channel that no call
// gives is found after the calls of the value.
func (w *writer) send(n *ast.SendStmt) string {
	ch, ok := w.info.TypeOf(n.Chan).Underlying().(*types.Chan)
	if !ok || check.HasCall(n.Chan) || !check.HasCall(n.Value) {
		return fmt.Sprintf("%s.To(%s, %s).Send(%s)", supportName, machineName, w.text(n.Chan), w.text(n.Value))
	}
	return fmt.Sprintf("%s.Value[%s](%s, %s).To(%s)", supportName, w.typeText(ch.Elem(), n.Pos()), machineName, w.text(n.Value), w.text(n.Chan))
}

// trust finds the function literals of a call that are called only by what looks for interrupts itself: one that is called in place, or
// handed to a function of a cell that does nothing with it but call it.
func (w *writer) trust(x *ast.CallExpr, f *types.Func) {
	if lit, ok := ast.Unparen(x.Fun).(*ast.FuncLit); ok {
		w.trusted[lit] = true
	}
	if f == nil || f.Pkg() == nil || f.Pkg().Path() != "main" || f.Signature().Recv() != nil {
		return
	}
	c, d := w.declarationOf(f.Origin())
	if d == nil {
		return
	}
	params := slices.Collect(f.Origin().Signature().Params().Variables())
	for i, a := range x.Args {
		if lit, ok := ast.Unparen(a).(*ast.FuncLit); ok && i < len(params) && onlyCalled(c, d, params[i]) {
			w.trusted[lit] = true
		}
	}
}

// onlyCalled reports whether a function d of the cell c does nothing with its parameter v but call it.
func onlyCalled(c *check.Cell, d *ast.FuncDecl, v *types.Var) bool {
	if _, isFunc := v.Type().Underlying().(*types.Signature); !isFunc {
		return false
	}
	mentioned, called := 0, 0
	is := func(n ast.Node) bool { id, ok := n.(*ast.Ident); return ok && c.Info.Uses[id] == v }
	ast.Inspect(d.Body, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok && is(call.Fun) {
			called++
		}
		if n != nil && is(n) {
			mentioned++
		}
		return true
	})
	return mentioned == called
}
