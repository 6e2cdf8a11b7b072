package native

import (
	"fmt"
	"go/types"
	"slices"
	"strings"
)

// exports writes what other cells may use of this one, and the function that ties the cell to the engine.
func (w *writer) exports() string {
	var b, bind strings.Builder
	fmt.Fprintf(&b, "type %s struct{}\n", cellType)
	// who imports the package reads what its exported functions mention, and the bodies of the short ones: so this one mentions nothing
	fmt.Fprintf(&bind, "//go:noinline\nfunc (%s) Bind(host interface{}) {\nh%s := host.(*%s.Host)\n%s = h%s.Machine\n", cellType, mark, supportName, machineName, mark)
	objects := slices.Clone(w.cell.Objects)
	for _, d := range w.out.again {
		objects = append(objects, d.object)
	}
	for _, o := range objects {
		switch o := o.(type) {
		case *types.TypeName:
			w.exportType(&b, &bind, o)
		case *types.Func:
			if o.Name() != "_" {
				w.exportFunc(&b, &bind, o)
			}
		}
	}
	w.exportStructs(&b, &bind)
	w.exportInstances(&bind)
	w.tables(&b, &bind)
	for _, f := range w.out.Changed {
		v, name := w.switchName(f)
		flag := "nil"
		if w.flagged[f] {
			fmt.Fprintf(&b, "var %sflag %s.Flag\n", v, supportName)
			flag = "&" + v + "flag"
		}
		fmt.Fprintf(&b, "var %sto %s\n", v, w.switchType(f))
		if w.guarded[f] {
			b.WriteString(w.exportGuarded(f))
		}
		fmt.Fprintf(&bind, "h%s.Function(%q, %s, %s, &%sto)\n", mark, name, w.valueOf(f), flag, v)
	}
	for _, p := range w.order { // after all types have been written, which add none
		fmt.Fprintf(&bind, "%s = %s.Variable[%s](h%s, %q)\n", p, supportName, w.places[p], mark, strings.TrimPrefix(p, "v"+mark))
	}
	fmt.Fprintf(&bind, "h%s.Stop, h%s.Run = &%s, %s\n}\n", mark, mark, stopName, runName)
	return b.String() + bind.String()
}

func (w *writer) exportType(b, bind *strings.Builder, o *types.TypeName) {
	list := typeParamsOf(o)
	params, args := w.typeParams(list, o.Pos())
	own := w.nameOf(o)
	name := typeExport(own)
	fmt.Fprintf(b, "type %s%s = %s%s\n", name, params, own, args)
	w.out.exports = append(w.out.exports, export{o, name})
	constraint := false
	if i, ok := o.Type().Underlying().(*types.Interface); ok {
		constraint = !i.IsMethodSet()
	}
	if list.Len() == 0 && !constraint {
		fmt.Fprintf(bind, "h%s.Symbol(%q, (*%s)(nil))\n", mark, name, own)
	}
	n, ok := o.Type().(*types.Named)
	if s, isStruct := o.Type().Underlying().(*types.Struct); ok && isStruct && !o.IsAlias() {
		w.exportFields(b, bind, o, s, own, params)
		if w.hidesAny(s) && params == "" {
			w.exportMaker(bind, n.Obj(), s)
		}
	}
}

// exportFields writes the mirror of a struct with hidden fields, and for the interpreter, which has no such conversions, functions
// that return the pointer to a field and the field of a value.
func (w *writer) exportFields(b, bind *strings.Builder, o *types.TypeName, s *types.Struct, name, params string) {
	if !w.hidesAny(s) {
		return
	}
	mirror := make([]string, s.NumFields())
	for i := range mirror {
		v := s.Field(i)
		t := w.typeText(v.Type(), v.Pos())
		mirror[i] = fmt.Sprintf("F%d %s", i, t)
		if !w.hides(v) {
			continue
		}
		w.out.fields = append(w.out.fields, fieldExport{v, o, i})
		if params != "" {
			continue
		}
		pointer, get := fieldFunc("P", w.nameOf(o), i), fieldFunc("G", w.nameOf(o), i)
		fmt.Fprintf(bind, "h%s.Symbol(%q, func(p *%s) *%s { return &p.%s })\n", mark, pointer, name, t, v.Name())
		fmt.Fprintf(bind, "h%s.Symbol(%q, func(p %s) %s { return p.%s })\n", mark, get, name, t, v.Name())
	}
	fmt.Fprintf(b, "type %s%s struct { %s }\n", mirrorName(w.nameOf(o)), params, strings.Join(mirror, "; "))
}

// hides reports whether v is a field of this package that others cannot name.
func (w *writer) hides(v *types.Var) bool { return !v.Exported() && v.Name() != "_" && !w.hidden(v) }

// hidesAny reports whether s has such fields.
func (w *writer) hidesAny(s *types.Struct) bool {
	return slices.ContainsFunc(slices.Collect(s.Fields()), w.hides)
}

// fieldFunc is the name of a function of a field: form is "P" for the one that returns the pointer, "G" for the value.
func fieldFunc(form, owner string, index int) string {
	return fmt.Sprintf("%s%s%s%s%d", form, mark, owner, mark, index)
}

// exportMaker makes a function known that builds a struct from all of its fields, for the interpreter.
func (w *writer) exportMaker(bind *strings.Builder, o *types.TypeName, s *types.Struct) {
	var ps, sets []string
	for i := range s.NumFields() {
		v := s.Field(i)
		if v.Name() == "_" {
			return
		}
		ps = append(ps, fmt.Sprintf("p%d %s", i, w.typeText(v.Type(), v.Pos())))
		sets = append(sets, fmt.Sprintf("p%d", i))
	}
	own := w.nameOf(o)
	fmt.Fprintf(bind, "h%s.Symbol(%q, func(%s) %s { return %s{%s} })\n", mark, makerName(own), strings.Join(ps, ", "), own, own, strings.Join(sets, ", "))
}

// funcExport is the name under which other cells use a function.
func (w *writer) funcExport(f *types.Func) string { return "F" + mark + w.nameOf(f) }

// exportFunc writes a function that calls f. One that calls recover has to be the deferred one itself, so that it is there already
// with the same body: see compose.
func (w *writer) exportFunc(b, bind *strings.Builder, f *types.Func) {
	sig := f.Signature()
	params, args := w.parameters(sig, f.Pos())
	result := w.resultText(sig, f.Pos())
	ret := ""
	if sig.Results().Len() > 0 {
		ret = "return "
	}
	name, own := w.funcExport(f), ownName(w.nameOf(f))
	w.out.exports = append(w.out.exports, export{f, name})
	if w.recovering[f] {
		if sig.TypeParams().Len() == 0 {
			fmt.Fprintf(bind, "h%s.Symbol(%q, %s)\n", mark, name, own)
		}
		return
	}
	if sig.TypeParams().Len() > 0 {
		tparams, targs := w.typeParams(sig.TypeParams(), f.Pos())
		fmt.Fprintf(b, "func %s%s(%s)%s { %s%s%s(%s) }\n", name, tparams, params, result, ret, own, targs, args)
		return
	}
	if _, d := w.declarationOf(f); d != nil && keptAlive(d) { // by whoever calls it, which is another cell here
		b.WriteString("//go:uintptrescapes\n")
	}
	fmt.Fprintf(b, "func (%s) %s(%s)%s { %s%s(%s) }\n", cellType, name, params, result, ret, own, args)
	fmt.Fprintf(bind, "h%s.Symbol(%q, %s)\n", mark, name, own)
}

// valueOf is a function of this package as a value, with its receiver in front.
func (w *writer) valueOf(f *types.Func) string {
	recv := f.Signature().Recv()
	switch {
	case recv == nil:
		return ownName(w.nameOf(f))
	case slices.Contains(w.out.replaced, f):
		v, _ := w.switchName(f)
		return v + "new"
	}
	return "(" + w.typeText(recv.Type(), f.Pos()) + ")." + w.methodName(f)
}
