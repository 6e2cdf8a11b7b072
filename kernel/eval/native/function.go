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

// function writes a function or method. Init is the name to call it by if it is one of the cell's init functions.
func (w *writer) function(d *ast.FuncDecl) (text, init string) {
	f, _ := w.info.Defs[d.Name].(*types.Func) // nil for init and _
	name := d.Name.Name
	switch {
	case f != nil && d.Recv != nil:
		return w.methodText(method{w.source, f, d, false}), ""
	case name == "init":
		init = fmt.Sprintf("init%s%d", mark, d.Pos())
		name = init
	case f != nil:
		name = ownName(w.nameOf(f))
	}
	switched := f != nil && init == "" && name != "_" && !isGeneric(f)
	return w.compose(d, f, switched, "", name, d.Type.Params.List), init
}

// methodText writes a method. One of a type that this package does not declare replaces an earlier one, and is a function here.
func (w *writer) methodText(m method) string {
	d, named := m.decl, check.Receiver(m.f)
	recv, params := d.Recv, d.Type.Params.List
	if m.first {
		recv, params = &ast.FieldList{List: params[:1]}, params[1:]
	}
	switched := !isGeneric(m.f) && m.f.Name() != "_"
	if named != nil && !w.isOwn(named.Obj()) {
		v, _ := w.switchName(m.f)
		w.out.replaced = append(w.out.replaced, m.f)
		return w.compose(d, m.f, switched, "", v+"new", append(slices.Clone(recv.List), params...))
	}
	w.nameParameters(d.Recv, d.Type.Params)
	return w.compose(d, m.f, switched, w.list(recv.List), w.methodName(m.f), params)
}

// compose writes a function from its parts.
func (w *writer) compose(d *ast.FuncDecl, f *types.Func, switched bool, recv, name string, params []*ast.Field) string {
	if d.Body == nil {
		refuse(d.Pos(), "function %s has no body", d.Name.Name)
	}
	w.nameParameters(d.Recv, d.Type.Params)
	start, leave := "", ""
	if defers(d.Body) {
		leave = w.leaveCheck()
	}
	guarded := w.guarded[f]
	switch {
	case switched:
		start = w.switches(d, f)
	case asks(d.Body, f):
		start = w.check()
	}
	start += leave
	head := recv + name
	if d.Type.TypeParams != nil && (f == nil || f.Signature().Recv() == nil) { // those of a generic type's method are the receiver's
		head += w.text(d.Type.TypeParams)
	}
	results := ""
	if d.Type.Results != nil {
		results = " " + w.text(d.Type.Results)
	}
	indirect, byInterface := w.indirect(d.Body)
	w.heap = indirect
	defer func() { w.heap = false }()
	body, direct := w.directBody(d, guarded || w.slow[f])
	directive := directives(d)
	if byInterface {
		directive += "\n//go:noinline"
	}
	text := directive + w.line(d) + "func " + head + w.list(params) + results + " { " + start + body + "\n"
	if guarded || w.slow[f] {
		text += w.apart(d, f, results, leave, body, direct)
	}
	if f != nil && f.Signature().Recv() == nil && check.CallsRecover(w.info, d.Body) {
		w.recovering[f] = true
		head := w.funcExport(f)
		if d.Type.TypeParams != nil {
			head += w.text(d.Type.TypeParams)
		} else {
			head = "(" + cellType + ") " + head
		}
		text += w.line(d) + "func " + head + w.list(params) + results + " { " + start + body + "\n"
	}
	return text
}

// list writes parameters in parentheses.
func (w *writer) list(fields []*ast.Field) string {
	texts := make([]string, len(fields))
	for i, f := range fields {
		texts[i] = w.text(f)
		if text, ok := w.replaced[f]; ok {
			texts[i] = text
		}
	}
	return "(" + strings.Join(texts, ", ") + ") "
}

// ownName is the name of a function in its cell's package. The compiler lists exported functions of a package called main for
// plugin.Lookup, which would look for them in the plugin's own package. Its function main is a program's, and a plugin's is there already.
func ownName(name string) string {
	if name == "main" {
		return name + mark
	}
	if token.IsExported(name) {
		return mark + name
	}
	return name
}

func isGeneric(f *types.Func) bool {
	sig := f.Signature()
	return sig.TypeParams().Len() > 0 || sig.RecvTypeParams().Len() > 0
}

// nameParameters gives names to the receiver and parameters that have none, so that they can be handed on.
func (w *writer) nameParameters(lists ...*ast.FieldList) {
	eachParameter(lists, func(n int, field *ast.Field, id *ast.Ident) {
		switch {
		case (id == nil || id.Pos() == field.Type.Pos()) && w.replaced[field] == "": // the check names some that have no name in the text
			w.replaced[field] = parameterName(n, nil) + " " + w.text(field.Type)
		case id != nil && id.Name == "_":
			w.renamed[id] = parameterName(n, id)
		}
	})
}

// parameterName is the name by which parameter n is handed on; id is nil for one without a name.
func parameterName(n int, id *ast.Ident) string {
	if id == nil || id.Name == "_" {
		return fmt.Sprintf("p%s%d", mark, n)
	}
	return id.Name
}

// arguments are the names of a declaration's receiver and parameters, to be handed on.
func arguments(d *ast.FuncDecl) string {
	var names []string
	eachParameter([]*ast.FieldList{d.Recv, d.Type.Params}, func(n int, field *ast.Field, id *ast.Ident) {
		name := parameterName(n, id)
		if _, variadic := field.Type.(*ast.Ellipsis); variadic {
			name += "..."
		}
		names = append(names, name)
	})
	return strings.Join(names, ", ")
}

// eachParameter calls do for each parameter with its number; id is nil for one without a name.
func eachParameter(lists []*ast.FieldList, do func(n int, field *ast.Field, id *ast.Ident)) {
	n := 0
	for _, list := range lists {
		if list == nil {
			continue
		}
		for _, field := range list.List {
			if len(field.Names) == 0 {
				do(n, field, nil)
				n++
			}
			for _, id := range field.Names {
				do(n, field, id)
				n++
			}
		}
	}
}

// switchName is the name of a function's switches, and of the function for the engine: "f" or "T.m".
func (n *names) switchName(f *types.Func) (variable, name string) {
	if recv := check.Receiver(f); recv != nil {
		method := f.Name()
		if n.dropped[f.Origin()] > 0 {
			method = n.dropped.methodName(f)
		}
		owner := n.nameOf(recv.Obj())
		return "s" + mark + owner + mark + method + mark, owner + "." + method
	}
	own := n.nameOf(f)
	return "s" + mark + own + mark, own
}

// asks tells whether a function looks for interrupts. One that neither calls nor loops need not, and stays short enough to be
// inlined, unless it looks like one that a library calls again and again: less(a, b T) bool, compare(a, b T) int.
func asks(body *ast.BlockStmt, f *types.Func) bool {
	return calls(body) || f != nil && compares(f.Signature())
}

// compares reports whether sig is that of a function of two values of one type whose result is a bool, or an int if the values are not
// numbers.
func compares(sig *types.Signature) bool {
	if sig.Params().Len() != 2 || sig.Results().Len() != 1 || !types.Identical(sig.Params().At(0).Type(), sig.Params().At(1).Type()) {
		return false
	}
	b, ok := sig.Results().At(0).Type().Underlying().(*types.Basic)
	return ok && (b.Kind() == types.Bool || b.Kind() == types.Int && !isNumber(sig.Params().At(0).Type()))
}

// switches writes the beginning of a function that a later cell may declare anew: it then calls the new one. What is rare stands in
// functions of its own, see apart. A function that recovers has to be the deferred one itself.
func (w *writer) switches(d *ast.FuncDecl, f *types.Func) string {
	v, _ := w.switchName(f)
	w.out.Changed = append(w.out.Changed, f)
	move := fmt.Sprintf("if %sto != nil { %s }; ", v, leaving(f, v+"to("+arguments(d)+")"))
	slow := leaving(f, v+"slow("+arguments(d)+")")
	switch {
	case !asks(d.Body, f) && w.guarded[f]:
		return fmt.Sprintf("if %sto != nil { %s }; ", v, slow)
	case !asks(d.Body, f):
		return move
	}
	w.flagged[f] = true
	loaded := fmt.Sprintf("if %s.Loaded(&%sflag) ", supportName, v)
	if check.CallsRecover(w.info, d.Body) {
		return loaded + "{ " + move + machineName + ".Check(); }; "
	}
	w.slow[f] = true
	return loaded + "{ " + slow + " }; "
}

// leaving writes a call that is the last that a function does.
func leaving(f *types.Func, call string) string {
	if f.Signature().Results().Len() > 0 {
		return "return " + call
	}
	return call + "; return"
}

// switchType is the type of a function with its receiver in front.
func (w *writer) switchType(f *types.Func) string {
	sig := f.Signature()
	params := w.paramTypes(sig, f.Pos())
	if recv := sig.Recv(); recv != nil {
		params = append([]string{w.typeText(recv.Type(), f.Pos())}, params...)
	}
	return "func(" + strings.Join(params, ", ") + ")" + w.resultText(sig, f.Pos())
}

// paramTypes are the types of a function's parameters, the last with its dots.
func (w *writer) paramTypes(sig *types.Signature, pos token.Pos) []string {
	params := make([]string, sig.Params().Len())
	for i := range params {
		t := sig.Params().At(i).Type()
		if s, ok := t.(*types.Slice); ok && sig.Variadic() && i == len(params)-1 {
			params[i] = "..." + w.typeText(s.Elem(), pos)
			continue
		}
		params[i] = w.typeText(t, pos)
	}
	return params
}

// parameters writes a function's parameters with names of their own, and these as arguments.
func (w *writer) parameters(sig *types.Signature, pos token.Pos) (params, args string) {
	list := w.paramTypes(sig, pos)
	names := make([]string, len(list))
	for i, t := range list {
		names[i] = fmt.Sprintf("p%s%d", mark, i)
		list[i] = names[i] + " " + t
		if strings.HasPrefix(t, "...") {
			names[i] += "..."
		}
	}
	return strings.Join(list, ", "), strings.Join(names, ", ")
}

func (w *writer) resultText(sig *types.Signature, pos token.Pos) string {
	if sig.Results().Len() == 0 {
		return ""
	}
	parts := make([]string, sig.Results().Len())
	for i := range parts {
		parts[i] = w.typeText(sig.Results().At(i).Type(), pos)
	}
	return " (" + strings.Join(parts, ", ") + ")"
}

// directives are what a function's comment tells the compiler, where that is about the function alone.
func directives(d *ast.FuncDecl) string {
	text := ""
	if d.Doc == nil {
		return text
	}
	for _, c := range d.Doc.List {
		if strings.HasPrefix(c.Text, "//go:") && !strings.HasPrefix(c.Text, "//go:linkname") && !strings.HasPrefix(c.Text, "//go:embed") {
			text += "\n" + c.Text
		}
	}
	return text
}
