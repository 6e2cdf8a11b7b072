package native

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"strings"
)

// function writes a function or method. Init is the name to call it by if it is one of the cell's init functions.
func (w *writer) function(d *ast.FuncDecl) (text, init string) {
	f, ok := w.info.Defs[d.Name].(*types.Func)
	switch {
	case d.Body == nil:
		refuse(d.Pos(), "function %s has no body", d.Name.Name)
	case !ok: // func _ or init
		f = nil
	}
	name := d.Name.Name
	switch {
	case d.Recv == nil && name == "init":
		init = fmt.Sprintf("init%s%d", mark, d.Pos())
		name = init
	case d.Recv == nil && name == "main":
		name += mark
	case f != nil && d.Recv != nil:
		name = methodName(f)
	default:
		name = ownName(name)
	}
	w.nameParameters(d)
	start := ""
	if calls(d.Body) {
		start = w.check()
	}
	if f != nil && init == "" && name != "_" && d.Name.Name != "main" && !isGeneric(f) {
		start = w.switches(d, f)
	}
	if defers(d.Body) {
		start += w.leaveCheck()
	}
	w.begin(d.Body, start)
	var b strings.Builder
	b.WriteString(w.line(d) + "func ")
	if d.Recv != nil {
		b.WriteString(w.text(d.Recv) + " ")
	}
	b.WriteString(name)
	if d.Type.TypeParams != nil {
		b.WriteString(w.text(d.Type.TypeParams))
	}
	b.WriteString(w.text(d.Type.Params))
	if d.Type.Results != nil {
		b.WriteString(" " + w.text(d.Type.Results))
	}
	b.WriteString(" " + w.text(d.Body) + "\n")
	return b.String(), init
}

// ownName is the name of a function in its cell's package. The compiler lists exported functions of a package called main for
// plugin.Lookup, which would look for them in the plugin's own package.
func ownName(name string) string {
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
func (w *writer) nameParameters(d *ast.FuncDecl) {
	n := 0
	for _, list := range []*ast.FieldList{d.Recv, d.Type.Params} {
		if list == nil {
			continue
		}
		for _, field := range list.List {
			if len(field.Names) == 0 {
				w.replaced[field] = fmt.Sprintf("p%s%d %s", mark, n, w.text(field.Type))
				n++
			}
			for _, id := range field.Names {
				if id.Name == "_" {
					w.renamed[id] = fmt.Sprintf("p%s%d", mark, n)
				}
				n++
			}
		}
	}
}

// arguments are the names of a declaration's receiver and parameters, to be handed on.
func (w *writer) arguments(d *ast.FuncDecl) string {
	var names []string
	n := 0
	for _, list := range []*ast.FieldList{d.Recv, d.Type.Params} {
		if list == nil {
			continue
		}
		for _, field := range list.List {
			_, variadic := field.Type.(*ast.Ellipsis)
			suffix := map[bool]string{true: "..."}[variadic]
			if len(field.Names) == 0 {
				names = append(names, fmt.Sprintf("p%s%d%s", mark, n, suffix))
				n++
			}
			for _, id := range field.Names {
				name := id.Name
				if name == "_" {
					name = fmt.Sprintf("p%s%d", mark, n)
				}
				names = append(names, name+suffix)
				n++
			}
		}
	}
	return strings.Join(names, ", ")
}

// switchName is the name of a function's switches, and of the function for the engine: "f" or "T.m".
func switchName(f *types.Func) (variable, name string) {
	if recv := receiver(f); recv != nil {
		return "s" + mark + recv.Obj().Name() + mark + f.Name() + mark, recv.Obj().Name() + "." + f.Name()
	}
	return "s" + mark + f.Name() + mark, f.Name()
}

// receiver is the declared type of a method's receiver, nil for a function.
func receiver(f *types.Func) *types.Named {
	recv := f.Signature().Recv()
	if recv == nil {
		return nil
	}
	t := types.Unalias(recv.Type())
	if p, ok := t.(*types.Pointer); ok {
		t = types.Unalias(p.Elem())
	}
	n, _ := t.(*types.Named)
	return n
}

// switches writes the beginning of a function that a later cell may declare anew: it then calls the new one. A function that
// neither calls nor loops need not look for interrupts, and stays short enough to be inlined.
func (w *writer) switches(d *ast.FuncDecl, f *types.Func) string {
	v, _ := switchName(f)
	w.out.Changed = append(w.out.Changed, f)
	handOn := fmt.Sprintf("%sto(%s)", v, w.arguments(d))
	if f.Signature().Results().Len() > 0 {
		handOn = "return " + handOn
	} else {
		handOn += "; return"
	}
	if !calls(d.Body) {
		return fmt.Sprintf("if %sto != nil { %s }; ", v, handOn)
	}
	return fmt.Sprintf("if %s.Loaded(&%sflag) { if %sto != nil { %s }; %s.Check() }; ", supportName, v, v, handOn, machineName)
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
