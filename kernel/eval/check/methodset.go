package check

import (
	"go/types"
	"reflect"
	"slices"
	"unsafe"
)

// go/types lets a type get methods and never lose one, as no program does. A notebook's types do: a cell is changed and run again. So the
// list of a type's methods is written where go/types keeps it. Where a release of Go keeps it otherwise, canEditMethods is false, and what
// takes a method away makes a new type.

var methodList, canEditMethods = func() (uintptr, bool) {
	f, ok := reflect.TypeFor[types.Named]().FieldByName("methods")
	return f.Offset, ok && f.Type == reflect.TypeFor[[]*types.Func]()
}()

func methodsOf(n *types.Named) *[]*types.Func {
	return (*[]*types.Func)(unsafe.Add(unsafe.Pointer(n), methodList))
}

// editMethods changes a type's list of methods, until takeBack if the cell is not committed. Edit gets a copy of the list.
func (s *Scope) editMethods(n *types.Named, edit func([]*types.Func) []*types.Func) {
	list := methodsOf(n)
	before := *list
	set := func(methods []*types.Func) {
		*list = methods
		if n.TypeParams().Len() > 0 {
			s.renewInstances(n)
		}
	}
	set(edit(slices.Clone(before)))
	s.edits = append(s.edits, func() { set(before) })
}

// takeBack gives types the methods again that a cell, which was then refused, had changed.
func (s *Scope) takeBack() {
	for _, undo := range slices.Backward(s.edits) {
		undo()
	}
	s.edits = nil
}
