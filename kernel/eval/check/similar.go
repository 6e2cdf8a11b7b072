package check

import (
	"go/types"
	"slices"
	"strings"
	"unicode"
)

// shortest is how long a name is at least that can be taken for a longer one misspelled: short ones are all alike.
const shortest = 4

// similar is a name that another one may have been meant for, "" if there is none: one that means something, or that stands in the cell. Missing
// are the names that mean nothing.
func (h *holder) similar(name string, missing map[string]bool) string {
	name = lastName(name)
	for _, known := range h.known(missing) {
		if misspelled(name, known) {
			return known
		}
	}
	return ""
}

// known are the names that a cell may use, in order.
func (h *holder) known(missing map[string]bool) []string {
	var names []string
	for name := range Mentioned(h.code) {
		if !missing[name] {
			names = append(names, name)
		}
	}
	for name, o := range h.objects {
		names = append(names, name)
		if t, ok := o.(*types.TypeName); ok {
			names = append(names, membersOf(t)...)
		}
	}
	for name := range h.imports {
		names = append(names, name)
	}
	for _, w := range h.Scope.waiting {
		names = append(names, w.Names...)
	}
	for name := range h.byName {
		if len(h.standard(name)) > 0 {
			names = append(names, name)
		}
	}
	names = append(names, types.Universe.Names()...)
	slices.Sort(names)
	return slices.Compact(names)
}

// membersOf are the names of a type's methods and fields.
func membersOf(t *types.TypeName) (names []string) {
	named, ok := types.Unalias(t.Type()).(*types.Named)
	if !ok {
		return nil
	}
	for m := range named.Methods() {
		names = append(names, m.Name())
	}
	if s, ok := named.Underlying().(*types.Struct); ok {
		for f := range s.Fields() {
			names = append(names, f.Name())
		}
	}
	return names
}

// misspelled reports whether one name may be another one with two neighbouring letters in each other's place, or with a letter too many, missing
// or wrong. Pairs that are meant to differ do so in their first letters or their last ones (setWidth and getWidth, item and items, step1 and
// step2), or are short (ping and pong).
func misspelled(name, known string) bool {
	if len(name) > len(known) {
		name, known = known, name
	}
	if name == known || len(name) < shortest || len(known) == shortest || strings.IndexFunc(name+known, unicode.IsDigit) >= 0 {
		return false
	}
	begin := 0
	for begin < len(name) && name[begin] == known[begin] {
		begin++
	}
	end := 0
	for end < len(name)-begin && name[len(name)-1-end] == known[len(known)-1-end] {
		end++
	}
	a, b := name[begin:len(name)-end], known[begin:len(known)-end] // where they differ
	switch {
	case len(a) == 2 && len(b) == 2:
		return a[0] == b[1] && a[1] == b[0]
	case begin == 0 || end == 0:
		return false
	case len(a) == 0:
		return len(b) == 1
	}
	return len(a) == 1 && len(b) == 1 && len(name) > shortest+1
}
