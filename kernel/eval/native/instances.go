package native

import (
	"fmt"
	"go/types"
	"reflect"
	"regexp"
	"slices"
	"strings"
)

// Reflection cannot make an instance of a generic type. So a cell in which types are declared again tells the engine of all instances that
// are made of them and that cells mention. Values in interfaces get these.

// instanceMark begins the names of such instances among a unit's symbols.
const instanceMark = "I" + mark

func (w *writer) exportInstances(bind *strings.Builder) {
	retyped := madeOf(w.out.again)
	if retyped == nil {
		return
	}
	for i, t := range w.cell.Instances() {
		if retyped(t) && w.canName(t) {
			fmt.Fprintf(bind, "h%s.Symbol(%q, (*%s)(nil))\n", mark, fmt.Sprintf("%s%d", instanceMark, i), w.typeText(t, t.Obj().Pos()))
		}
	}
}

// canName reports whether this package can name all types that t is made of: none is a function's own, or hidden in another package.
func (w *writer) canName(t types.Type) bool {
	found := map[types.Object]bool{}
	namesIn(t, found, 0)
	for o := range found {
		if o.Pkg() == nil {
			continue
		}
		if o.Pkg().Path() != "main" {
			if !o.Exported() {
				return false
			}
			continue
		}
		if _, ok := w.engine.objects[o]; !ok && !slices.Contains(w.cell.Objects, o) {
			return false
		}
	}
	return true
}

// fullName is a declared type's name with the paths of packages.
func fullName(t reflect.Type) string { return t.PkgPath() + "." + t.Name() }

var nameOfCell = regexp.MustCompile(`cells/[0-9a-f]+(-\d+)?\.[\pL_][\pL\pN_]*`)

// newestName is the name that a type has now, after types of cells have been declared again.
func (e *Engine) newestName(name string) string {
	return nameOfCell.ReplaceAllStringFunc(name, func(old string) string {
		for now, ok := e.renamed[old]; ok; now, ok = e.renamed[old] {
			old = now
		}
		return old
	})
}

// newestInstance is Newest for an instance of a generic type. One that no cell mentions stays what it was: see stale.
func (e *Engine) newestInstance(t reflect.Type) reflect.Type {
	if n := e.instances[e.newestName(fullName(t))]; n != nil {
		return n
	}
	return t
}

// stale reports whether t is made of an instance of a generic type that has been declared again, or whose argument has.
func (e *Engine) stale(t reflect.Type) bool {
	if t.Name() != "" {
		return e.newestName(fullName(t)) != fullName(t)
	}
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Chan:
		return e.stale(t.Elem())
	case reflect.Map:
		return e.stale(t.Key()) || e.stale(t.Elem())
	}
	return e.newestName(t.String()) != t.String()
}
