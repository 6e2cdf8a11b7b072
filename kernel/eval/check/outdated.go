package check

import (
	"fmt"
	"go/types"
	"slices"
	"strings"
)

// Outdated says what keeps the older type of a name that the cell has given to a new type: a line for each such name, with the conversion
// to write where there is one. Call it before the cell is committed.
func (c *Cell) Outdated() (notes []string) {
	for _, o := range c.Objects {
		fresh, ok1 := o.(*types.TypeName)
		old, ok2 := c.Replaces(o.Name()).(*types.TypeName)
		if ok1 && ok2 && old != fresh && !old.IsAlias() {
			found := c.outdated(old, fresh)
			if holders := c.mayHold(old); len(holders) > 0 && !types.IsInterface(old.Type()) { // an interface is nobody's type
				found = append(found, "what "+strings.Join(holders, ", ")+" may hold of it is no "+fresh.Name()+" now")
			}
			if len(found) > 0 {
				cell, _, _, _ := c.scope.Position(old.Pos())
				notes = append(notes, fmt.Sprintf("%s is a new type, and that of %s stays another one: %s", old.Name(), cell, strings.Join(found, "; ")))
			}
			notes = append(notes, c.undone(old, fresh)...)
		}
	}
	return notes
}

// undone says that a type made of the same as one before the last is a third type all the same.
func (c *Cell) undone(old, fresh *types.TypeName) (notes []string) {
	for _, former := range slices.Backward(c.scope.called[fresh.Name()]) {
		if former == old || isGeneric(former) || isGeneric(fresh) || !types.Identical(former.Type().Underlying(), fresh.Type().Underlying()) {
			continue
		}
		cell, _, _, _ := c.scope.Position(former.Pos())
		found := append([]string{"what an interface holds of it is no " + fresh.Name() + " now"}, c.outdated(former, fresh)...)
		return []string{fmt.Sprintf("%s is a new type, and that of %s, made of the same, stays another one: %s", fresh.Name(), cell, strings.Join(found, "; "))}
	}
	return nil
}

// outdated lists what is made of an old type.
func (c *Cell) outdated(old, fresh *types.TypeName) (found []string) {
	var made, mention []string
	for name, o := range c.scope.objects {
		if c.declaresName(name) || !madeOf(o.Type(), old, 0) && !declaredOf(o, old) {
			continue
		}
		v, isVar := o.(*types.Var)
		switch {
		case isVar && isOrPoints(v.Type(), old):
			found = append(found, c.conversion(v, old, fresh))
		case isVar:
			made = append(made, name)
		case o != old:
			cell, _, _, _ := c.scope.Position(o.Pos())
			mention = append(mention, name+" ("+cell+")")
		}
	}
	mention = slices.Concat(mention, c.laterMethods(old, fresh), c.mentionsIn(old))
	slices.Sort(found)
	if len(made) > 0 {
		slices.Sort(made)
		found = append(found, strings.Join(made, ", ")+" "+plural(made, "holds", "hold")+" the old one")
	}
	if len(mention) > 0 {
		slices.Sort(mention)
		mention = slices.Compact(mention)
		found = append(found, strings.Join(mention, ", ")+" "+plural(mention, "uses", "use")+" the old one: run "+plural(mention, "its cell", "their cells")+" again")
	}
	return found
}

// laterMethods names the methods of an old type that stand in other cells than its declaration, and that the new one lacks.
func (c *Cell) laterMethods(old, fresh *types.TypeName) (names []string) {
	named, ok := old.Type().(*types.Named)
	if !ok {
		return nil
	}
	for m := range named.Methods() {
		if !c.scope.besides[old][m.Name()] && !c.beside[fresh.Name()][m.Name()] && !c.scope.phantom[m] {
			cell, _, _, _ := c.scope.Position(m.Pos())
			names = append(names, old.Name()+"."+m.Name()+" ("+cell+")")
		}
	}
	return names
}

func plural(list []string, one, many string) string {
	if len(list) == 1 {
		return one
	}
	return many
}

func (c *Cell) declaresName(name string) bool {
	return slices.ContainsFunc(c.Objects, func(o types.Object) bool { return o.Name() == name })
}

// conversion says how a variable of an old type, or a pointer to one, becomes one of the new type.
func (c *Cell) conversion(v *types.Var, old, fresh *types.TypeName) string {
	name, to := v.Name(), fresh.Type()
	head, call := name+" is one of those", fresh.Name()+"("+name+")"
	if _, pointer := types.Unalias(v.Type()).(*types.Pointer); pointer {
		head, call, to = name+" points to one of those", "(*"+fresh.Name()+")("+name+")", types.NewPointer(to)
	}
	if isGeneric(old) || isGeneric(fresh) {
		return head
	}
	if types.ConvertibleTo(v.Type(), to) {
		return head + ", and " + call + " converts it"
	}
	if types.IsInterface(v.Type()) && types.IsInterface(to) {
		return head + ", and " + name + ".(" + fresh.Name() + ") converts it where its value has the methods"
	}
	x, ok1 := old.Type().Underlying().(*types.Struct)
	y, ok2 := fresh.Type().Underlying().(*types.Struct)
	if !ok1 || !ok2 {
		return head + ", which nothing converts"
	}
	var fields []string
	for f := range y.Fields() {
		for g := range x.Fields() {
			if f.Name() == g.Name() && f.Name() != "_" && types.Identical(f.Type(), g.Type()) {
				fields = append(fields, f.Name()+": "+name+"."+f.Name())
			}
		}
	}
	if len(fields) == 0 {
		return head + ", which nothing converts"
	}
	amp := ""
	if _, pointer := to.(*types.Pointer); pointer {
		amp = "&"
	}
	return fmt.Sprintf("%s, and %s%s{%s} takes over what both have", head, amp, fresh.Name(), strings.Join(fields, ", "))
}

func isGeneric(o *types.TypeName) bool {
	n, ok := o.Type().(*types.Named)
	return ok && n.TypeParams().Len() > 0
}

// isOrPoints reports whether t is an old type, an instance of it, or a pointer to one.
func isOrPoints(t types.Type, old *types.TypeName) bool {
	t = types.Unalias(t)
	if p, ok := t.(*types.Pointer); ok {
		t = types.Unalias(p.Elem())
	}
	n, ok := t.(*types.Named)
	return ok && n.Origin().Obj() == old
}

// declaredOf reports whether a type is declared as something that is made of an old one.
func declaredOf(o types.Object, old *types.TypeName) bool {
	t, ok := o.(*types.TypeName)
	return ok && t != old && madeOf(t.Type().Underlying(), old, 0)
}

// madeOf reports whether a type is written with an old one.
func madeOf(t types.Type, old *types.TypeName, depth int) bool {
	if depth > 8 {
		return false
	}
	has := func(t types.Type) bool { return madeOf(t, old, depth+1) }
	switch t := types.Unalias(t).(type) {
	case *types.Named:
		return t.Origin().Obj() == old || slices.ContainsFunc(slices.Collect(t.TypeArgs().Types()), has)
	case *types.Map:
		return has(t.Key()) || has(t.Elem())
	case interface{ Elem() types.Type }: // pointers, slices, arrays, channels
		return has(t.Elem())
	case *types.Signature:
		return has(t.Params()) || has(t.Results())
	case *types.Tuple:
		return slices.ContainsFunc(slices.Collect(t.Variables()), func(v *types.Var) bool { return has(v.Type()) })
	case *types.Struct:
		return slices.ContainsFunc(slices.Collect(t.Fields()), func(v *types.Var) bool { return has(v.Type()) })
	case *types.Interface:
		return slices.ContainsFunc(slices.Collect(t.Methods()), func(m *types.Func) bool { return has(m.Signature()) })
	}
	return false
}
