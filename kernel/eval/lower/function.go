package lower

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"strings"

	"cancha/kernel/eval/check"
)

// function returns the name of a function or method of the cells, or of an instance of a generic one, and has it lowered
// the first time. f is the declaration's object; args are the type arguments, of the receiver for a method.
func (l *Lowerer) function(f *types.Func, args []types.Type, pos token.Pos) string {
	key := fmt.Sprintf("f%d[", l.id(f))
	for _, a := range args {
		key += l.key(a) + ","
	}
	if name, ok := l.funcs[key]; ok {
		return name
	}
	d := l.decls[f]
	defer l.blaming(f, pos)()
	if d == nil {
		_, d = l.sourceOf(f, pos)
	}
	if d.fn == nil || d.fn.Body == nil {
		refuse(pos, "function %s.%s has no body in Go: the interpreter cannot run it", f.Pkg().Path(), f.Name())
	}
	base, shown := f.Name(), f.Name()
	if recv := check.Receiver(f); recv != nil {
		base, shown = recv.Obj().Name()+"_"+base, recv.Obj().Name()+"."+base
	}
	name := l.unique(base)
	set(l, l.funcs, key, name)
	set(l, l.instances, name, instance{f, args, d.recover})
	blame := l.blame
	l.queue = append(l.queue, func() {
		defer l.under(blame)()
		l.emit(name, shown, d, args)
	})
	return name
}

// recovering is the name of the variant of a function that is given the panic to recover: see [fn.recoverCall].
func recovering(name string) string { return name + "ᐧr" }

// emit lowers a declaration into a function called name.
func (l *Lowerer) emit(name, shown string, d *decl, args []types.Type) {
	obj, _ := d.info.Defs[d.fn.Name].(*types.Func)
	f := &fn{l: l, info: d.info, pkg: d.pkg, env: env{}, names: map[types.Object]string{}, shared: sharedVars(d.info, d.fn.Body)}
	l.describe(f, name, shown, d)
	if obj != nil {
		params := obj.Signature().TypeParams()
		if obj.Signature().Recv() != nil {
			params = obj.Signature().RecvTypeParams()
		}
		for i := range params.Len() {
			f.env[params.At(i)] = args[i]
		}
	}
	var fields []*ast.Field
	if d.fn.Recv != nil {
		fields = append(fields, d.fn.Recv.List...)
	}
	fields = append(fields, d.fn.Type.Params.List...)
	var sig *types.Signature
	if obj != nil {
		sig = l.sub(obj.Signature(), f.env).(*types.Signature)
	} else {
		sig = types.NewSignatureType(nil, nil, nil, nil, nil, false)
	}
	if obj == nil || obj.Name() != "init" {
		f.movable(name, d)
	}
	if !d.recover {
		l.out.funcs = append(l.out.funcs, "func "+name+f.funcText(fields, d.fn.Type.Results, sig, d.fn.Body))
		return
	}
	f.recoverVar = l.unique("d")
	text := f.funcText(fields, d.fn.Type.Results, sig, d.fn.Body)
	variant := "(" + f.recoverVar + " *" + runtimeAlias + ".Deferred" + strings.TrimSuffix(", "+text[1:], "")
	variant = strings.Replace(variant, ", )", ")", 1)
	l.out.funcs = append(l.out.funcs, "func "+recovering(name)+variant, l.plainVariant(name, fields, f, sig))
}

// plainVariant is the function as everybody but a defer statement calls it: recover returns nil.
func (l *Lowerer) plainVariant(name string, fields []*ast.Field, f *fn, sig *types.Signature) string {
	g := &fn{l: l, info: f.info, pkg: f.pkg, env: f.env, names: map[types.Object]string{}}
	params, names := g.paramList(fields, sig)
	if sig.Variadic() {
		names[len(names)-1] += "..."
	}
	results, ret := "", ""
	if sig.Results().Len() > 0 {
		list := make([]string, sig.Results().Len())
		for i := range list {
			list[i] = l.typ(sig.Results().At(i).Type())
		}
		results, ret = " ("+strings.Join(list, ", ")+")", "return "
	}
	call := strings.Join(append([]string{"nil"}, names...), ", ")
	return "func " + name + params + results + " { " + ret + recovering(name) + "(" + call + ") }"
}

// fn lowers one function; function literals inside have one of their own that shares names.
type fn struct {
	l     *Lowerer
	info  *types.Info
	pkg   *types.Package
	env   env
	names map[types.Object]string // locals
	outer *types.Scope            // scope of a cell's statements, whose variables are the session's

	lowered string // the name of the function of the lowered program, also in its literals; "" where nobody knows it
	caller  string // what a user calls the function, also in its literals; "" among a cell's statements
	marker  string // what holds the line that the function is at, "" where nobody asks
	moved   string // the variable that a later function of this name and signature is put into, "" where there is none
	move    string // the statements that call that

	statements bool // part of a cell's statements, which reach the session's variables through pointers

	out         strings.Builder
	results     []string     // names of the results, when they have names
	resultTypes *types.Tuple // nil in a cell's body
	closed      bool         // the body is a literal inside the function: return only assigns
	deferVar    string       // the function's list of deferred calls
	recoverVar  string       // the list that is being unwound when this function runs as a deferred call
	frames      []*branchable
	gotos       map[string]bool       // labels that goto statements of the function name
	params      map[types.Object]bool // of a function literal
	shared      map[types.Object]bool // local variables that calls may change; nil for all
	held        map[ast.Expr]string   // what has been evaluated in front of the statement, and the variables that hold it
}

func (f *fn) line(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if f.statements {
		text = f.throughPointer(text)
	}
	f.out.WriteString(text)
	f.out.WriteByte('\n')
}

// throughPointer rewrites an assignment to a variable behind a pointer: the interpreter loses some values that are computed in
// the assignment itself.
func (f *fn) throughPointer(text string) string {
	rest, ok := strings.CutPrefix(text, "(*")
	if !ok {
		return text
	}
	name, value, ok := strings.Cut(rest, ") = ")
	if !ok || f.l.variables[name] == "" {
		return text
	}
	t := f.l.unique("t")
	return fmt.Sprintf("{ var %s %s = %s\n*%s = %s }", t, f.l.variables[name], value, name, t)
}

// capture returns what run writes.
func (f *fn) capture(run func()) string {
	saved := f.out
	f.out = strings.Builder{}
	run()
	text := f.out.String()
	f.out = saved
	return text
}

func (f *fn) typeOf(x ast.Expr) types.Type {
	t := f.info.TypeOf(x)
	if t == nil {
		if id, ok := x.(*ast.Ident); ok {
			if o := f.object(id); o != nil {
				t = o.Type()
			}
		}
	}
	if t == nil {
		refuse(x.Pos(), "the type of %s is not known", types.ExprString(x))
	}
	return f.l.sub(t, f.env)
}

func (f *fn) object(id *ast.Ident) types.Object {
	if o := f.info.Defs[id]; o != nil {
		return o
	}
	return f.info.Uses[id]
}

func (f *fn) typ(t types.Type) string { return f.l.typ(f.l.sub(t, f.env)) }

// temps returns n new names.
func (f *fn) temps(n int, base string) []string {
	names := make([]string, n)
	for i := range names {
		names[i] = f.l.unique(base)
	}
	return names
}

// local returns the name of a variable of the function.
func (f *fn) local(o types.Object) string {
	if name, ok := f.names[o]; ok {
		return name
	}
	name := f.l.unique(o.Name())
	f.names[o] = name
	return name
}

// funcText lowers parameters, results and body.
func (f *fn) funcText(fields []*ast.Field, results *ast.FieldList, sig *types.Signature, body *ast.BlockStmt) string {
	params, names := f.paramList(fields, sig)
	f.resultTypes = sig.Results()
	if f.moved != "" {
		f.move = f.moveText(params, names, sig)
	}
	return f.body(params, results, body, func() {
		f.list(body.List)
	})
}

// paramList writes the parameters, receiver included, and returns their names.
func (f *fn) paramList(fields []*ast.Field, sig *types.Signature) (text string, names []string) {
	var parts []string
	for i, field := range fields {
		t := f.l.sub(f.info.TypeOf(field.Type), f.env)
		text := f.typ(t)
		if e, ok := field.Type.(*ast.Ellipsis); ok && i == len(fields)-1 {
			text = "..." + f.typ(f.info.TypeOf(e.Elt))
		}
		ids := field.Names
		if len(ids) == 0 {
			ids = []*ast.Ident{nil}
		}
		for _, id := range ids {
			name := f.l.unique("p")
			if id != nil && id.Name != "_" {
				name = f.local(f.info.Defs[id])
			}
			names = append(names, name)
			parts = append(parts, name+" "+text)
		}
	}
	return "(" + strings.Join(parts, ", ") + ")", names
}

// body writes results and body. Where the body runs as a literal of its own (deferred calls, range over functions), return
// assigns to variables of the function. Named results are such variables always: the interpreter lets a named result share
// its place with what the caller assigns it to, so that it would start with what an earlier call has left there.
func (f *fn) body(params string, results *ast.FieldList, block *ast.BlockStmt, run func()) string {
	uses := usesOf(block, f)
	f.gotos = uses.gotos
	f.nameResults(results, uses.defers || uses.rangesFunc)
	if uses.defers {
		f.deferVar, f.closed = f.l.unique("d"), true
	}
	text := f.capture(run)
	var b strings.Builder
	b.WriteString(params + f.resultText() + " {\n")
	b.WriteString(f.enterText())
	b.WriteString(f.move)
	for i, name := range f.results {
		fmt.Fprintf(&b, "var %s %s\n", name, f.typ(f.resultTypes.At(i).Type()))
	}
	if uses.defers {
		fmt.Fprintf(&b, "%s.Frame(func(%s *%s.Deferred) {\n%s})\n", runtimeAlias, f.deferVar, runtimeAlias, text)
		b.WriteString("return " + strings.Join(f.results, ", ") + "\n}")
		return b.String()
	}
	b.WriteString(text)
	if len(f.results) > 0 && uses.rangesFunc {
		b.WriteString("return " + strings.Join(f.results, ", ") + "\n")
	}
	b.WriteString("}")
	return b.String()
}

// checkText asks whether the cell has been interrupted. The variable costs nothing visible to read; the primitive decides
// whether this goroutine is meant.
const checkText = "if " + StopVariable + " { " + runtimeAlias + ".Check() }\n"

// enterText is checkText at the entry of a function, by its name: the report of a stack that is full gives it. The name is written with
// dots, since a body is given what its text mentions.
func (f *fn) enterText() string {
	if f.lowered == "" {
		return checkText
	}
	return fmt.Sprintf("if %s { %s.Enter(%q) }\n", StopVariable, runtimeAlias, strings.ReplaceAll(f.lowered, "ᐧ", "."))
}

func (f *fn) nameResults(results *ast.FieldList, need bool) {
	if results == nil || f.resultTypes == nil {
		return
	}
	for _, field := range results.List {
		for _, id := range field.Names {
			name := f.l.unique("r")
			if id.Name != "_" {
				name = f.local(f.info.Defs[id])
			}
			f.results = append(f.results, name)
		}
	}
	if len(f.results) == 0 && need {
		f.results = f.temps(f.resultTypes.Len(), "r")
	}
}

func (f *fn) resultText() string {
	if f.resultTypes == nil || f.resultTypes.Len() == 0 {
		return ""
	}
	parts := make([]string, f.resultTypes.Len())
	for i := range parts {
		parts[i] = f.typ(f.resultTypes.At(i).Type())
	}
	return " (" + strings.Join(parts, ", ") + ")"
}

// literal lowers a function literal. recoverVar, if any, is the list of deferred calls that it runs under.
func (f *fn) literal(x *ast.FuncLit, recoverVar string) string {
	g := &fn{l: f.l, info: f.info, pkg: f.pkg, env: f.env, names: f.names, outer: nil, recoverVar: recoverVar, statements: f.statements, marker: f.marker, lowered: f.lowered, caller: f.caller, shared: f.shared}
	g.params = map[types.Object]bool{}
	for v := range f.info.TypeOf(x).(*types.Signature).Params().Variables() {
		g.params[v] = true
	}
	sig := f.typeOf(x).(*types.Signature)
	return "func" + g.funcText(x.Type.Params.List, x.Type.Results, sig, x.Body)
}

// apart makes a function literal in a frame of its own, which a literal needs if it may run on another goroutine. When a call of a literal
// ends, the interpreter restores what the place of the literal held before. By then that place may hold a later literal, which the
// goroutine that made it is about to use.
func apart(literal, typ string) string { return "func() " + typ + " { return " + literal + " }()" }

// uses tells what a body contains outside of the literals in it.
type uses struct {
	defers, rangesFunc bool
	gotos              map[string]bool
}

func usesOf(body *ast.BlockStmt, f *fn) (u uses) {
	u.gotos = map[string]bool{}
	ast.Inspect(body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			return false
		case *ast.DeferStmt:
			u.defers = true
		case *ast.BranchStmt:
			if n.Tok == token.GOTO {
				u.gotos[n.Label.Name] = true
			}
		case *ast.RangeStmt:
			if _, ok := f.typeOf(n.X).Underlying().(*types.Signature); ok {
				u.rangesFunc = true
			}
		}
		return true
	})
	return u
}

// queueMethod tells the primitives of a method of a declared type and has it lowered.
func (l *Lowerer) queueMethod(t *types.Named, r *rep, m *types.Func) {
	if r.identity == "" {
		return
	}
	args := make([]types.Type, t.TypeArgs().Len())
	for i := range args {
		args[i] = t.TypeArgs().At(i)
	}
	l.registerMethod(r, m.Origin(), args)
}

func (l *Lowerer) registerMethod(r *rep, m *types.Func, args []types.Type) {
	if l.decls[m] == nil {
		return
	}
	name := l.function(m, args, m.Pos())
	l.setup("%s.Method(new(%s), %q, %s)", runtimeAlias, r.identity, m.Name(), name)
}
