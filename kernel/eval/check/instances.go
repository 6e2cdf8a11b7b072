package check

import (
	"go/types"
	"slices"
	"strings"
)

// An instance of a generic type keeps its own methods, made of those of the generic type when they are first asked for. After a cell has
// given that type other methods, those of its instances are made anew.

// noteInstances remembers the instances of the cells' generic types that a cell mentions.
func (s *Scope) noteInstances(c *Cell) {
	if len(s.generics) == 0 {
		return
	}
	w := s.walker()
	for _, tv := range c.Info.Types {
		w.walk(tv.Type)
	}
	for _, o := range c.Info.Defs {
		if o != nil {
			w.walk(o.Type())
		}
	}
	for _, o := range c.Info.Uses {
		w.walk(o.Type())
	}
}

// instanceWalker finds instances in types.
type instanceWalker struct {
	scope *Scope
	seen  map[types.Type]bool
	deep  bool // looks into what declared types are made of
}

func (s *Scope) walker() *instanceWalker {
	return &instanceWalker{scope: s, seen: map[types.Type]bool{}}
}

func (w *instanceWalker) walk(t types.Type) {
	if t == nil || w.seen[t] {
		return
	}
	switch t.(type) {
	case *types.Basic, *types.TypeParam:
		return
	}
	w.seen[t] = true
	switch t := t.(type) {
	case *types.Alias:
		w.walk(types.Unalias(t))
	case *types.Named:
		w.named(t)
	case *types.Map:
		w.walk(t.Key())
		w.walk(t.Elem())
	case interface{ Elem() types.Type }: // pointers, slices, arrays, channels
		w.walk(t.Elem())
	case *types.Signature:
		if t.Recv() != nil {
			w.walk(t.Recv().Type())
		}
		w.walk(t.Params())
		w.walk(t.Results())
	case *types.Tuple:
		for v := range t.Variables() {
			w.walk(v.Type())
		}
	case *types.Struct:
		for v := range t.Fields() {
			w.walk(v.Type())
		}
	case *types.Interface:
		for m := range t.ExplicitMethods() {
			w.walk(m.Type())
		}
		for e := range t.EmbeddedTypes() {
			w.walk(e)
		}
	case *types.Union:
		for term := range t.Terms() {
			w.walk(term.Type())
		}
	}
}

func (w *instanceWalker) named(t *types.Named) {
	for a := range t.TypeArgs().Types() {
		w.walk(a)
	}
	if t.Obj().Pkg() == nil || t.Obj().Pkg().Path() != "main" && t.TypeArgs().Len() == 0 {
		return
	}
	if t.TypeArgs().Len() > 0 && t.Obj().Pkg().Path() == "main" {
		w.scope.instances[t] = true
	}
	if w.deep {
		w.walk(t.Underlying())
	}
}

// renewInstances makes the methods of a generic type's instances anew, wherever a later cell may find such an instance.
func (s *Scope) renewInstances(generic *types.Named) {
	w := s.walker()
	w.deep = true
	for t := range s.instances {
		w.walk(t)
	}
	for _, o := range s.objects {
		w.walk(o.Type())
	}
	for _, list := range s.called {
		for _, o := range list {
			w.walk(o.Type())
		}
	}
	for m := range s.methods {
		w.walk(m.Type())
	}
	for t := range s.instances {
		if t.Origin() == generic {
			renewInstance(t)
		}
	}
}

func renewInstance(t *types.Named) {
	fresh, err := types.Instantiate(nil, t.Origin(), slices.Collect(t.TypeArgs().Types()), false)
	if err != nil {
		return
	}
	var list []*types.Func
	for m := range fresh.(*types.Named).Methods() {
		list = append(list, m)
	}
	*methodsOf(t) = list
}

// Instances are the instances of the cells' generic types that cells mention, without type parameters in them, in order.
func (c *Cell) Instances() []*types.Named {
	w := c.scope.walker()
	for _, tv := range c.Info.Types {
		w.walk(tv.Type)
	}
	var list []*types.Named
	for t := range c.scope.instances {
		same := func(other *types.Named) bool { return types.Identical(t, other) }
		if !open(t) && !slices.ContainsFunc(list, same) {
			list = append(list, t)
		}
	}
	slices.SortFunc(list, func(a, b *types.Named) int {
		return strings.Compare(types.TypeString(a, nil), types.TypeString(b, nil))
	})
	return list
}

// open reports whether a type has type parameters in it.
func open(t types.Type) bool {
	switch t := types.Unalias(t).(type) {
	case *types.TypeParam:
		return true
	case *types.Named:
		return slices.ContainsFunc(slices.Collect(t.TypeArgs().Types()), open)
	case *types.Map:
		return open(t.Key()) || open(t.Elem())
	case interface{ Elem() types.Type }:
		return open(t.Elem())
	case *types.Signature:
		return open(t.Params()) || open(t.Results())
	case *types.Tuple:
		return slices.ContainsFunc(slices.Collect(t.Variables()), func(v *types.Var) bool { return open(v.Type()) })
	case *types.Struct:
		return slices.ContainsFunc(slices.Collect(t.Fields()), func(v *types.Var) bool { return open(v.Type()) })
	case *types.Interface:
		return slices.ContainsFunc(slices.Collect(t.Methods()), func(m *types.Func) bool { return open(m.Signature()) })
	}
	return false
}
