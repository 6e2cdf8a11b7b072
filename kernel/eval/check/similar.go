package check

import (
	"go/types"
	"slices"
	"strings"
	"unicode"
)

// shortest is how long a name is at least that can be taken for another one misspelled: short ones are all alike.
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

// misspelled reports whether one name may be another one with a letter wrong, missing, too many or in its neighbour's place; two in long
// names. Names that differ in a digit are meant to, and so are those that differ in the case of their first letter: one of them is exported.
func misspelled(name, known string) bool {
	if min(len(name), len(known)) < shortest || name == known || name[1:] == known[1:] && strings.EqualFold(name, known) {
		return false
	}
	if strings.IndexFunc(name+known, unicode.IsDigit) >= 0 && withoutDigits(name) == withoutDigits(known) {
		return false
	}
	most := 1
	if len(name) >= 2*shortest {
		most = 2
	}
	return transposed(name, known) || distance(name, known, most) <= most
}

func withoutDigits(name string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsDigit(r) {
			return -1
		}
		return r
	}, name)
}

// transposed reports whether two names differ by two neighbouring letters that have changed places.
func transposed(a, b string) bool {
	if len(a) != len(b) {
		return false
	}
	i := 0
	for i < len(a) && a[i] == b[i] {
		i++
	}
	return i+1 < len(a) && a[i] == b[i+1] && a[i+1] == b[i] && a[i+2:] == b[i+2:]
}
