package native

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"maps"
	"slices"

	"cancha/kernel/eval/check"
)

// A compiled type cannot get methods later. When a cell declares a method of an earlier cell's type, the type is declared again in
// that cell's package, with all its methods, and with it everything that mentions it: other types, and functions, which the old
// ones then call. Values look the same in memory, so variables stay where they are and are seen with their new types.

// declaration is a type or function of a compiled cell, as it may have to be written again.
type declaration struct {
	cell     *check.Cell
	object   types.Object
	function *ast.FuncDecl
	spec     *ast.TypeSpec
	methods  []method
	mentions map[types.Object]bool
	order    int
}

// method is a method's declaration; first tells that the receiver is the first parameter.
type method struct {
	cell  *check.Cell
	f     *types.Func
	decl  *ast.FuncDecl
	first bool
}

// remember keeps the declarations of a loaded cell.
func (e *Engine) remember(c *check.Cell) {
	for _, d := range c.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			e.rememberFunc(c, d)
		case *ast.GenDecl:
			if d.Tok != token.TYPE {
				continue
			}
			for _, spec := range d.Specs {
				ts := spec.(*ast.TypeSpec)
				if o := c.Info.Defs[ts.Name]; o != nil && ts.Name.Name != "_" {
					e.declare(&declaration{cell: c, object: o, spec: ts, mentions: mentions(c, ts)})
				}
			}
		}
	}
	e.NoteHolders(c)
	if found := literals(c); len(found) > 0 {
		if e.literals[c.Name] == nil {
			e.literals[c.Name] = map[types.Object]bool{}
		}
		maps.Copy(e.literals[c.Name], found) // magics may part a cell into several
	}
	for _, m := range c.Methods {
		e.addMethod(m.Type.Obj(), method{c, m.Func, m.Decl, true})
	}
	for _, d := range c.Decls { // after all types
		if f, ok := d.(*ast.FuncDecl); ok && f.Recv != nil {
			if m, ok := c.Info.Defs[f.Name].(*types.Func); ok && check.Receiver(m) != nil {
				e.addMethod(check.Receiver(m).Obj(), method{c, m, f, false})
			}
		}
	}
}

// literals are what the function literals of a cell's statements mention.
func literals(c *check.Cell) map[types.Object]bool {
	found := map[types.Object]bool{}
	look := func(n ast.Node) bool {
		if lit, ok := n.(*ast.FuncLit); ok {
			for o := range mentions(c, lit) {
				found[o] = true
			}
			return false
		}
		return true
	}
	ast.Inspect(c.Body, look)
	for _, d := range c.Decls {
		if g, ok := d.(*ast.GenDecl); ok && g.Tok == token.VAR {
			ast.Inspect(g, look)
		}
	}
	return found
}

func (e *Engine) rememberFunc(c *check.Cell, d *ast.FuncDecl) {
	f, ok := c.Info.Defs[d.Name].(*types.Func)
	if !ok || d.Recv != nil || f.Name() == "init" || f.Name() == "_" || adopted(c, d) {
		return
	}
	e.declare(&declaration{cell: c, object: f, function: d, mentions: mentions(c, d)})
}

func adopted(c *check.Cell, d *ast.FuncDecl) bool {
	return slices.ContainsFunc(c.Methods, func(m check.Method) bool { return m.Decl == d })
}

func (e *Engine) declare(d *declaration) {
	d.order = len(e.declared)
	e.declared[d.object] = d
}

// addMethod keeps a method with its type, in place of an earlier one of that name.
func (e *Engine) addMethod(o types.Object, m method) {
	d := e.declared[o]
	if d == nil {
		return
	}
	for k := range mentions(m.cell, m.decl) {
		d.mentions[k] = true
	}
	d.methods = slices.DeleteFunc(d.methods, func(old method) bool { return old.f.Name() == m.f.Name() && e.dropped[old.f] == 0 })
	d.methods = append(d.methods, m)
}

// mentions are the declared types and functions that a declaration names.
func mentions(c *check.Cell, n ast.Node) map[types.Object]bool {
	found := map[types.Object]bool{}
	ast.Inspect(n, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok {
			switch o := c.Info.Uses[id].(type) {
			case *types.TypeName:
				found[o] = true
			case *types.Const:
				found[o] = true
				namesIn(o.Type(), found, 0)
			case *types.Func:
				found[o.Origin()] = true
				if recv := check.Receiver(o); recv != nil {
					found[recv.Origin().Obj()] = true
				}
			case *types.Var: // a variable's type need not be named
				namesIn(o.Type(), found, 0)
			}
		}
		return true
	})
	return found
}

// namesIn adds the declared types that a type is made of.
func namesIn(t types.Type, found map[types.Object]bool, depth int) {
	if depth > 8 {
		return
	}
	switch t := types.Unalias(t).(type) {
	case *types.Named:
		found[t.Origin().Obj()] = true
		for a := range t.TypeArgs().Types() {
			namesIn(a, found, depth+1)
		}
	case interface{ Elem() types.Type }: // pointers, slices, arrays, channels, maps
		namesIn(t.Elem(), found, depth+1)
		if m, ok := t.(*types.Map); ok {
			namesIn(m.Key(), found, depth+1)
		}
	case *types.Signature:
		for v := range t.Params().Variables() {
			namesIn(v.Type(), found, depth+1)
		}
		for v := range t.Results().Variables() {
			namesIn(v.Type(), found, depth+1)
		}
	case *types.Struct:
		for v := range t.Fields() {
			namesIn(v.Type(), found, depth+1)
		}
	}
}

// again are the declarations that a cell's new methods make necessary to write again, in their first order; none where the
// methods only replace others.
func (e *Engine) again(c *check.Cell) []*declaration {
	set := e.mentioning(changed(e, c))
	var list []*declaration
	for o := range set {
		if e.isLive(c, o) {
			list = append(list, e.declared[o])
		}
	}
	listed := map[types.Object]bool{}
	for i := 0; i < len(list); i++ { // grows by what it mentions
		listed[list[i].object] = true
		for k := range list[i].mentions {
			if k = e.meant(k); set[k] && !listed[k] {
				listed[k] = true
				if !e.isLive(c, k) {
					list = append(list, e.declared[k])
				}
			}
		}
	}
	slices.SortFunc(list, func(a, b *declaration) int { return a.order - b.order })
	return list
}

// changed are the types that a cell gives other methods.
func changed(e *Engine, c *check.Cell) map[types.Object]bool {
	set := map[types.Object]bool{}
	for _, m := range c.Methods {
		if (e.functions[m.Func] == nil || check.CallsRecover(c.Info, m.Decl.Body)) && e.declared[m.Type.Obj()] != nil {
			set[m.Type.Obj()] = true
		}
	}
	for _, m := range c.Dropped {
		if e.declared[m.Type.Obj()] != nil {
			set[m.Type.Obj()] = true
		}
	}
	return set
}

// mentioning adds to a set of objects all declarations that mention one of them, be it by way of others. A function in whose place another
// one is called is not among them: it goes on to call that one.
func (e *Engine) mentioning(set map[types.Object]bool) map[types.Object]bool {
	for grown := len(set) > 0; grown; {
		grown = false
		for o, d := range e.declared {
			if set[o] || e.meant(o) != o {
				continue
			}
			for k := range d.mentions {
				if set[e.meant(k)] {
					set[o], grown = true, true
					break
				}
			}
		}
	}
	return set
}

// meant is what an object in the text of an earlier cell means now.
func (e *Engine) meant(o types.Object) types.Object {
	if f, ok := o.(*types.Func); ok {
		return e.latest(f)
	}
	return o
}

// isLive tells whether cells or values may still lead to a declaration without another one that mentions it. Nobody can name what has lost
// its name; but there are values of types, and values that are functions.
func (e *Engine) isLive(c *check.Cell, o types.Object) bool {
	switch o := o.(type) {
	case *types.TypeName:
		return !o.IsAlias() || c.Current(o)
	case *types.Func:
		return !isGeneric(o) || c.Current(o)
	}
	return true
}

// Callers names the functions of earlier cells that mention one, as a user calls them, in order.
func (e *Engine) Callers(o types.Object) []string {
	var names []string
	for _, d := range e.declared {
		if g, ok := d.object.(*types.Func); ok && g != o && d.mentions[o] {
			names = append(names, fmt.Sprintf("%s (%s)", g.Name(), cmp.Or(d.cell.DeclaredIn(g), d.cell.Name)))
		}
		for _, m := range d.methods {
			if mentions(m.cell, m.decl)[o] {
				names = append(names, fmt.Sprintf("%s.%s (%s)", d.object.Name(), m.f.Name(), cmp.Or(m.cell.DeclaredIn(m.f), m.cell.Name)))
			}
		}
	}
	slices.Sort(names)
	return names
}

// Retypes returns a function that tells whether the cell declares a type again, or a type that it is made of; nil if it declares none
// again.
func (e *Engine) Retypes(c *check.Cell) func(types.Type) bool {
	return madeOf(e.again(c))
}

// madeOf returns a function that reports whether a type is made of declarations in the list; nil if it has none.
func madeOf(list []*declaration) func(types.Type) bool {
	if len(list) == 0 {
		return nil
	}
	set := map[types.Object]bool{}
	for _, d := range list {
		set[d.object] = true
	}
	return func(t types.Type) bool {
		found := map[types.Object]bool{}
		namesIn(t, found, 0)
		for o := range found {
			if set[o] {
				return true
			}
		}
		return false
	}
}

// Literals names the earlier cells whose function literals mention what a cell declares again: these cannot be replaced.
func (e *Engine) Literals(c *check.Cell) []string {
	var cells []string
	list := e.again(c)
	for cell, found := range e.literals {
		if slices.ContainsFunc(list, func(d *declaration) bool { return d.spec != nil && found[d.object] }) {
			cells = append(cells, cell)
		}
	}
	slices.Sort(cells)
	return cells
}

// writeAgain writes earlier declarations into this cell's package.
func (w *writer) writeAgain(list []*declaration) string {
	if retyped := madeOf(list); retyped != nil {
		w.structsOf(retyped)
	}
	for _, d := range list {
		w.ownStructs(d)
	}
	for _, d := range list {
		w.own[d.object] = true
		if tn, ok := d.object.(*types.TypeName); ok {
			if s, ok := tn.Type().Underlying().(*types.Struct); ok {
				for v := range s.Fields() {
					if v.Pkg() == tn.Pkg() {
						w.ownField[v] = true
					}
				}
			}
		}
	}
	text := ""
	for _, d := range list {
		w.from(d.cell, func() {
			if d.function != nil {
				part, _ := w.function(d.function)
				text += part
				return
			}
			text += w.line(d.spec) + "type " + w.text(d.spec) + "\n"
		})
		for _, m := range d.methods {
			if slices.ContainsFunc(w.cell.Methods, func(n check.Method) bool { return n.Func == m.f }) {
				continue // declared anew in this cell
			}
			if w.dropped[m.f] > 0 && !calledIn(list, m.f) {
				continue
			}
			w.from(m.cell, func() { text += w.methodText(m) })
		}
		w.out.again = append(w.out.again, d)
	}
	return text
}

// calledIn reports whether declarations mention a method, other than that method itself.
func calledIn(list []*declaration, f *types.Func) bool {
	for _, d := range list {
		if d.function != nil && d.mentions[f] {
			return true
		}
		for _, m := range d.methods {
			if m.f != f && mentions(m.cell, m.decl)[f] {
				return true
			}
		}
	}
	return false
}

// ownStructs makes the struct types without a name that a declaration writes this package's own.
func (w *writer) ownStructs(d *declaration) {
	look := func(c *check.Cell, n ast.Node) {
		ast.Inspect(n, func(n ast.Node) bool {
			if x, ok := n.(*ast.StructType); ok {
				if s, ok := c.Info.TypeOf(x).(*types.Struct); ok {
					for v := range s.Fields() {
						w.ownField[v] = true
					}
				}
			}
			return true
		})
		for _, s := range anonymous(c.Info, c.Pkg, n) {
			if !slices.ContainsFunc(w.structsAgain, func(o *types.TypeName) bool { return types.Identical(o.Type(), s) }) {
				w.structs = append(w.structs, s)
			}
		}
	}
	if d.function != nil {
		look(d.cell, d.function)
	} else {
		look(d.cell, d.spec)
	}
	for _, m := range d.methods {
		look(m.cell, m.decl)
	}
}

// from writes something of another cell.
func (w *writer) from(c *check.Cell, write func()) {
	cell, info, code, unused := w.source, w.info, w.code, w.unused
	w.source, w.info, w.code, w.unused = c, c.Info, c.Code(), c.Unused
	write()
	w.source, w.info, w.code, w.unused = cell, info, code, unused
}

// isOwn reports whether o is an object that this cell's package declares.
func (w *writer) isOwn(o types.Object) bool { return o.Pkg() == w.cell.Pkg || w.own[o] }
