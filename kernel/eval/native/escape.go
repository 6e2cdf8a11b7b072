package native

import (
	"fmt"
	"go/ast"
	"go/types"
	"slices"
	"strings"

	"cancha/kernel/eval/check"
)

// The compiler leaves a variable on the stack where it sees that the functions which get its address do not keep that. A later cell may
// declare such a function anew, and the new one keep it. So a function with pointers among its parameters, a guarded one, is written
// several times:
//
//   - under its own name, with calls that the compiler sees through. What leads to a successor is hidden from it: that is called by
//     another name, which the compiler is told to belong to a function that keeps nothing;
//   - as open, the same for callers that are to keep their variables on the heap: to the compiler it keeps what it gets;
//   - as hidden, to itself known as slow, for what is rare: to a successor it hands only what is not on the caller's stack;
//   - as here, the same as under its own name without the look at its switches, for pointers that are on the stack;
//   - as heap, with all calls of guarded functions made through open, so that its own variables are on the heap. It runs in the place of
//     here once a function that it may call has been declared anew.
//
// Function literals and the cell's statements, which may run for ever, call open too.

// ownPath stands in a cell's text for its package's path, which is made of the text.
const ownPath = "cells/own"

// findGuarded finds the guarded functions of this cell.
func (w *writer) findGuarded(again []*declaration) {
	add := func(c *check.Cell, f *types.Func, d *ast.FuncDecl) {
		if f != nil && takesPointers(f) && canBeGuarded(c, f, d) {
			w.guarded[f] = true
		}
	}
	for _, d := range w.cell.Decls {
		d, ok := d.(*ast.FuncDecl)
		if !ok || d.Recv == nil && (d.Name.Name == "main" || d.Name.Name == "init") {
			continue
		}
		f, _ := w.cell.Info.Defs[d.Name].(*types.Func)
		if i := slices.IndexFunc(w.cell.Methods, func(m check.Method) bool { return m.Decl == d }); i >= 0 {
			f = w.cell.Methods[i].Func
		}
		add(w.cell, f, d)
	}
	for _, d := range again {
		if d.function != nil {
			add(d.cell, d.object.(*types.Func), d.function)
		}
		for _, m := range d.methods {
			add(m.cell, m.f, m.decl)
		}
	}
}

// canBeGuarded reports whether a function can be written several times, and called by those names.
func canBeGuarded(c *check.Cell, f *types.Func, d *ast.FuncDecl) bool {
	if d.Body == nil || f.Name() == "_" || hasParameter(d, d.Name.Name) {
		return false
	}
	return !isGeneric(f) && !keptAlive(d) && !check.CallsRecover(c.Info, d.Body)
}

// keptAlive reports whether a function's arguments of type uintptr keep alive what they point to, which goes for its own calls only.
func keptAlive(d *ast.FuncDecl) bool { return strings.Contains(directives(d), "//go:uintptr") }

// hasParameter reports whether a function's receiver or one of its parameters has this name, in place of what has it outside.
func hasParameter(d *ast.FuncDecl, name string) (found bool) {
	eachParameter([]*ast.FieldList{d.Recv, d.Type.Params}, func(_ int, _ *ast.Field, id *ast.Ident) {
		found = found || id != nil && id.Name == name
	})
	return found
}

// takesPointers reports whether a function is handed pointers.
func takesPointers(f *types.Func) bool {
	sig := f.Signature()
	if recv := sig.Recv(); recv != nil && hasPointers(recv.Type(), 0) {
		return true
	}
	return slices.ContainsFunc(slices.Collect(sig.Params().Variables()), func(v *types.Var) bool { return hasPointers(v.Type(), 0) })
}

// hasPointers reports whether values of a type may point to memory: strings do.
func hasPointers(t types.Type, depth int) bool {
	switch t := t.Underlying().(type) {
	case *types.Basic:
		return t.Info()&(types.IsNumeric|types.IsBoolean) == 0
	case *types.Array:
		return depth > 4 || hasPointers(t.Elem(), depth+1)
	case *types.Struct:
		return depth > 4 || slices.ContainsFunc(slices.Collect(t.Fields()), func(v *types.Var) bool { return hasPointers(v.Type(), depth+1) })
	}
	return true
}

// directBody writes a function's body. Where it is to be written in two ways the calls of guarded functions are direct; it tells
// whether there are any.
func (w *writer) directBody(d *ast.FuncDecl, twice bool) (text string, calls bool) {
	w.direct, w.directCalls = twice && !w.heap, false
	text = strings.TrimPrefix(w.text(d.Body), "{")
	w.direct = false
	return text, w.directCalls
}

// heapBody writes a function's body again, with its calls of guarded functions through open.
func (w *writer) heapBody(d *ast.FuncDecl) string {
	ast.Inspect(d.Body, func(n ast.Node) bool {
		if b, ok := n.(*ast.BlockStmt); ok {
			delete(w.inside, b)
		}
		return true
	})
	return strings.TrimPrefix(w.text(d.Body), "{")
}

// apart writes the functions to which a function leaves what is rare: where it came back into the first one, the compiler would lay it
// in the way of every call (fib(35) took 1.3 times its time).
func (w *writer) apart(d *ast.FuncDecl, f *types.Func, results, leave, body string, direct bool) string {
	v, name := w.switchName(f)
	params := d.Type.Params.List
	if d.Recv != nil {
		params = append(slices.Clone(d.Recv.List), params...)
	}
	function := func(directive, suffix, text string) string {
		return directive + w.line(d) + "func " + v + suffix + w.list(params) + results + " { " + text + "\n"
	}
	const noinline = "\n//go:noinline"
	ask := ""
	if w.slow[f] {
		ask = w.check() + leave
	}
	heap := body
	if direct {
		heap = w.heapBody(d)
	}
	args := arguments(d)
	ifMoved := func(call string) string { return fmt.Sprintf("if %sto != nil { %s }; ", v, leaving(f, call)) }
	move := ifMoved(v + "to(" + args + ")")
	if !w.guarded[f] {
		return function(noinline, "slow", move+ask+heap)
	}
	w.linknames = true
	hidden := fmt.Sprintf("\n//go:noescape\n//go:linkname %sslow %s.%shidden\nfunc %sslow%s%s\n", v, ownPath, v, v, w.list(params), results)
	text := hidden + function("", "open", ifMoved(v+"hidden("+args+")")+leaving(f, w.self(d, f, args))+" }") + function(noinline, "here", ask+body)
	then := "here"
	if direct {
		then = "heap"
		text += function(noinline, "heap", ask+heap)
	}
	keep := fmt.Sprintf("if %s { if %sto != nil { %s.Kept(%q) }; %s }; ", w.onStack(d), v, machineName, name, leaving(f, v+"here("+args+")"))
	return text + function(noinline, "hidden", keep+move+leaving(f, v+then+"("+args+")")+" }")
}

// self writes the call of a function of this package with its receiver among its arguments.
func (w *writer) self(d *ast.FuncDecl, f *types.Func, args string) string {
	name := w.valueOf(f)
	if f.Signature().Recv() == nil || slices.Contains(w.out.replaced, f) {
		return name + "(" + args + ")"
	}
	receiver, rest, _ := strings.Cut(args, ", ")
	return receiver + "." + w.methodName(f) + "(" + rest + ")"
}

// onStack writes the condition that an argument points to the stack.
func (w *writer) onStack(d *ast.FuncDecl) string {
	var parts []string
	eachParameter([]*ast.FieldList{d.Recv, d.Type.Params}, func(n int, field *ast.Field, id *ast.Ident) {
		if _, variadic := field.Type.(*ast.Ellipsis); variadic || hasPointers(w.info.TypeOf(field.Type), 0) {
			parts = append(parts, fmt.Sprintf("%s.OnStack(%s, %s)", supportName, machineName, parameterName(n, id)))
		}
	})
	return strings.Join(parts, " || ")
}

// guardedCall writes a call of a guarded function through open; ok is false where it is written as it is.
func (w *writer) guardedCall(x *ast.CallExpr, f *types.Func) (text string, ok bool) {
	f = w.engine.latest(f.Origin())
	own := w.guarded[f]
	at, earlier := w.engine.guarded[f]
	earlier = earlier && !w.isOwn(f)
	if named := check.Receiver(f); earlier && named != nil && w.isOwn(named.Origin().Obj()) {
		earlier = false // its type is declared again
	}
	if !own && !earlier {
		return "", false
	}
	sel, isSelector := ast.Unparen(x.Fun).(*ast.SelectorExpr)
	var s *types.Selection
	if isSelector {
		s = w.info.Selections[sel]
	}
	if s != nil && s.Kind() != types.MethodVal {
		return "", false
	}
	if w.direct {
		w.directCalls = true
		if earlier {
			w.out.calls[at.unit] = true
		}
		return "", false
	}
	v, _ := w.switchName(f)
	name := v + "open"
	if earlier {
		name = w.packageName(at.unit) + "x." + at.name
	}
	args := w.callArgs(x)
	if s != nil {
		args = strings.TrimSuffix(w.receiverOf(sel, s)+", "+args, ", ")
	}
	return name + "(" + args + ")", true
}

// receiverOf writes the receiver that a method gets.
func (w *writer) receiverOf(x *ast.SelectorExpr, s *types.Selection) string {
	text, t, _ := w.path(x, s)
	_, has := t.Underlying().(*types.Pointer)
	_, wants := s.Obj().(*types.Func).Signature().Recv().Type().(*types.Pointer)
	switch {
	case has && !wants:
		return "*" + text
	case !has && wants:
		return "&" + text
	}
	return text
}

// exportGuarded writes what other cells call a guarded function by.
func (w *writer) exportGuarded(f *types.Func) string {
	v, _ := w.switchName(f)
	sig := f.Signature()
	params, args := w.parameters(sig, f.Pos())
	if recv := sig.Recv(); recv != nil {
		params = strings.TrimSuffix("r"+mark+" "+w.typeText(recv.Type(), f.Pos())+", "+params, ", ")
		args = strings.TrimSuffix("r"+mark+", "+args, ", ")
	}
	ret := ""
	if sig.Results().Len() > 0 {
		ret = "return "
	}
	name := "E" + mark + v
	w.out.guarded = append(w.out.guarded, export{f, name})
	return fmt.Sprintf("func (%s) %s(%s)%s { %s%sopen(%s) }\n", cellType, name, params, w.resultText(sig, f.Pos()), ret, v, args)
}
