package lower

import (
	"go/types"
	"slices"
	"strconv"
	"strings"
)

// promotions tells the primitives which methods a struct has from its embedded fields and on which way: " 0 1" behind the name
// leads to field 1 of field 0; those in front of which there is a star only a pointer to the struct has. Reflection sees none
// of them, and which ones are hidden by others or ambiguous only the checker knows.
func (l *Lowerer) promotions(u *types.Struct, text string, erased map[int]bool) {
	values := types.NewMethodSet(u)
	var list []string
	for s := range types.NewMethodSet(types.NewPointer(u)).Methods() {
		m := s.Obj().(*types.Func)
		if !m.Exported() && m.Pkg().Path() != "main" && l.decls[m.Origin()] == nil {
			continue
		}
		entry := m.Name()
		if values.Lookup(m.Pkg(), m.Name()) == nil {
			entry = "*" + entry
		}
		path := s.Index()[:len(s.Index())-1]
		for _, i := range path {
			entry += " " + strconv.Itoa(i)
		}
		list = append(list, strconv.Quote(entry))
		if l.formless(u, path, erased) {
			form := "func" + l.signatureText(m.Signature(), m.Pos())
			defer l.setup("%s.PromotedForm(new(%s), %q, new(%s))", runtimeAlias, text, m.Name(), form)
		}
	}
	if len(list) > 0 || len(l.cell.Dropped) > 0 { // there may have been some
		l.setup("%s.Promoted(new(%s), []string{%s})", runtimeAlias, text, strings.Join(list, ", "))
	}
}

// formless tells whether the types on a way of embedded fields do not show what a method at its end looks like: where one of the
// fields is kept as interface{}.
func (l *Lowerer) formless(u *types.Struct, path []int, erased map[int]bool) bool {
	for _, i := range path {
		t := u.Field(i).Type()
		if erased[i] || l.isOpen(t) {
			return true
		}
		n, ok := types.Unalias(deref(t)).(*types.Named)
		if !ok || n.Obj().Pkg() == nil || l.isCompiled(n) || !isStruct(n) {
			return false
		}
		u, erased = n.Underlying().(*types.Struct), l.named(n, n.Obj().Pos()).erased
	}
	return false
}

// promoteAnew tells of all structs' promotions again, after a cell has given methods to types of earlier ones.
func (l *Lowerer) promoteAnew() {
	var structs []*rep
	for _, r := range l.reps {
		if r.kind == marked && r.fields != nil && hasEmbedded(r.fields) {
			structs = append(structs, r)
		}
	}
	slices.SortFunc(structs, func(a, b *rep) int { return strings.Compare(a.identity, b.identity) })
	for _, r := range structs {
		l.queue = append(l.queue, func() { l.promotions(r.fields, r.identity, r.erased) })
	}
}

func hasEmbedded(u *types.Struct) bool {
	for v := range u.Fields() {
		if v.Embedded() {
			return true
		}
	}
	return false
}
