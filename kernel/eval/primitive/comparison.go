package primitive

import (
	"cmp"
	"reflect"
	"regexp"
	"runtime"
	"slices"
	"strings"
)

// translateComparison gives the types in an error about a value that cannot be compared, or be a key, the names that they have in Go.
// The runtime's text is all that tells them.
func (m *Machine) translateComparison(p runtime.Error) any {
	text, unhashable := strings.CutPrefix(p.Error(), "hash of unhashable type: ") // of a map without elements, which the interpreter looks into first
	if !unhashable {
		text, unhashable = strings.CutPrefix(text, "runtime error: hash of unhashable type ")
	}
	text, uncomparable := strings.CutPrefix(text, "runtime error: comparing uncomparable type ")
	wrapper := wrapperName.FindStringSubmatch(text)
	switch {
	case !unhashable && !uncomparable:
		return p
	case wrapper != nil:
		return Refusal("the interpreter cannot compare a value of a cell's type that is in an " + strings.Replace(wrapper[1], "_", ".", 1) +
			", nor use it as a key; error, fmt.Stringer, any and interface types of cells can be compared")
	case unhashable:
		return runtimeError("hash of unhashable type " + m.namesIn(text))
	}
	return runtimeError("comparing uncomparable type " + m.namesIn(text))
}

// wrapperName matches the generated wrapper of an interface, in the packages of yaegi's tables and ours.
var wrapperName = regexp.MustCompile(`^(?:stdlib|std|foreign|wing)\._(?:\w+_)?([^\W_]+_[^\W_]+)$`)

// namesIn puts the names of the cells' types into the text of a type, in which they are what the interpreter builds them as.
func (m *Machine) namesIn(text string) string {
	var found []reflect.Type
	m.mu.RLock()
	for t := range m.declared {
		if strings.Contains(text, t.String()) {
			found = append(found, t)
		}
	}
	m.mu.RUnlock()
	slices.SortFunc(found, func(a, b reflect.Type) int { return cmp.Compare(len(b.String()), len(a.String())) }) // outer ones first
	for _, t := range found {
		text = strings.ReplaceAll(text, t.String(), m.typeName(t))
	}
	return text
}
