package lower

import (
	"fmt"
	"go/types"
	"slices"
	"strings"

	"cancha/kernel/eval/check"
)

// A function that is declared again with the same signature takes the place of the old one: callers of the old one, and values made of it,
// get the new one. So the functions of cells begin by asking whether there is a newer one. As long as no cell has declared any function
// again, they all ask one variable, which costs 50 ns of a call that takes 1 µs.

// instance is a function that has been lowered, with its type arguments.
type instance struct {
	f       *types.Func
	args    []types.Type
	recover bool // calls recover itself
}

// movable gives a function of a cell the variable that a newer one is put into.
func (f *fn) movable(name string, d *decl) {
	if _, _, _, ok := f.l.cfg.Position(d.fn.Pos()); ok {
		f.moved = name + "ᐧn"
	}
}

// moveText declares the variable and writes the statements that call what is in it.
func (f *fn) moveText(params string, names []string, sig *types.Signature) string {
	if f.recoverVar != "" {
		params = strings.Replace("("+f.recoverVar+" *"+runtimeAlias+".Deferred, "+params[1:], ", )", ")", 1)
		names = append([]string{f.recoverVar}, names...)
	}
	t := "func" + params + f.resultText()
	set(f.l, f.l.variables, f.moved, t)
	f.l.out.vars = append(f.l.out.vars, "var "+f.moved+" "+t)
	args := slices.Clone(names)
	if sig.Variadic() {
		args[len(args)-1] += "..."
	}
	call := f.moved + "(" + strings.Join(args, ", ") + ")"
	switch n := sig.Results().Len(); n {
	case 0:
		call += "\nreturn"
	case 1:
		call = "return " + call
	default:
		temps := strings.Join(f.temps(n, "t"), ", ")
		call = temps + " := " + call + "\nreturn " + temps
	}
	return fmt.Sprintf("if %s { if %s != nil {\n%s\n} }\n", MovedVariable, f.moved, call)
}

// moves puts the functions that the cell declares again in the place of the earlier ones, and reports those that cannot be replaced: their
// callers keep them.
func (l *Lowerer) moves() {
	c := l.cell
	for _, o := range c.Objects {
		old, ok := c.Replaces(o.Name()).(*types.Func)
		if !ok || old == o { // its cell is lowered after it was taken in
			continue
		}
		if f, ok := o.(*types.Func); ok && types.Identical(old.Type(), f.Type()) && l.decls[f] != nil {
			l.noteWrapped(f)
			l.moveAll(old, f)
			continue
		}
		l.tellKept(old)
	}
	for _, r := range l.renewed {
		l.moveTo(r, l.function(l.instances[r].f, l.instances[r].args, l.instances[r].f.Pos()))
	}
}

// moveAll moves all instances of a function.
func (l *Lowerer) moveAll(old, newer *types.Func) {
	for _, name := range sortedNames(l.instances) {
		if i := l.instances[name]; i.f == old {
			l.moveTo(name, l.function(newer, i.args, newer.Pos()))
		}
	}
}

// noteWrapped notes the variables of the session that a function declared anew calls or hands on, and that may hold what it was: as an interpreted function
// value does not tell which function it is, it means the new one then.
func (l *Lowerer) noteWrapped(f *types.Func) {
	if l.cfg.Compiled != nil { // then what a value is of is known
		return
	}
	d := l.decls[f]
	var names []string
	for _, v := range check.HandedOn(d.info, d.fn.Body, f.Signature()) {
		if l.names[v] != "" && mayHold(v.Type(), f.Signature(), 0) {
			names = append(names, v.Name())
		}
	}
	slices.Sort(names)
	if names = slices.Compact(names); len(names) > 0 {
		l.out.note("if %s holds the earlier %s, it means the new one now, and %[2]s calls itself without end: cells are interpreted here; "+
			"where there is a C compiler, it keeps the earlier one", strings.Join(names, " or "), f.Name())
	}
}

// mayHold tells whether values of type t may be functions of this signature, or have some in them.
func mayHold(t types.Type, sig *types.Signature, depth int) bool {
	const deepest = 3
	if depth > deepest {
		return false
	}
	switch u := t.Underlying().(type) {
	case *types.Signature:
		return types.Identical(u, sig)
	case *types.Struct:
		for v := range u.Fields() {
			if mayHold(v.Type(), sig, depth+1) {
				return true
			}
		}
	case *types.Map:
		return mayHold(u.Elem(), sig, depth+1)
	case interface{ Elem() types.Type }: // a pointer, slice, array or channel
		return mayHold(u.Elem(), sig, depth+1)
	}
	return false
}

// moveTo puts a function in the place of one that was lowered before, and of those that have been moved to that.
func (l *Lowerer) moveTo(old, newer string) {
	before := append(slices.Clone(l.earlier[old]), old)
	set(l, l.earlier, newer, before)
	for _, name := range before {
		to := newer
		switch from, into := l.instances[name].recover, l.instances[newer].recover; {
		case from && into:
			to = recovering(newer)
		case from != into: // a caller that defers it has been lowered for one that does, or does not, call recover
			l.out.note("functions of earlier cells that call %s keep the old one, since only one of the two calls recover", l.instances[newer].f.Name())
			continue
		}
		l.share(to)
		l.out.moves = append(l.out.moves, Move{Variable: name + "ᐧn", Function: to})
	}
}

// tellKept notes who still calls a function whose name has another meaning now.
func (l *Lowerer) tellKept(old *types.Func) {
	var callers []string
	for _, name := range sortedNames(l.instances) {
		if l.instances[name].f == old {
			callers = append(callers, sortedKeys(l.callers[name])...)
		}
	}
	slices.Sort(callers)
	if callers = slices.Compact(callers); len(callers) > 0 {
		l.out.note("functions of earlier cells that call %s keep the old one, since its signature changed: %s", old.Name(), strings.Join(callers, ", "))
	}
}

// calls notes that a function is mentioned by the one that is being lowered.
func (f *fn) calls(name string) {
	if f.caller == "" {
		return
	}
	if f.l.callers[name] == nil {
		f.l.callers[name] = map[string]bool{}
	}
	set(f.l, f.l.callers[name], f.caller, true)
}

func sortedNames(m map[string]instance) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
