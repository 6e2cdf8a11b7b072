package flow

import (
	"slices"
	"strings"

	"cancha/stream/internal/eval"
	"cancha/stream/internal/value"
	"cancha/stream/plan"
)

// beside tells whether a column or path is made of nothing but what a record has beside its value (@key, @topic, @headers.NAME), so that a tombstone has it, too.
func (l *Layout) beside(name string) bool {
	if b, ok := l.bindings[name]; ok && !b.isPath() {
		return b.beside
	}
	b, ok := l.path(name)
	return ok && b.of == nil && strings.HasPrefix(b.alias, "@") && b.alias != "@value"
}

// allBeside is beside of some names: true where there is none.
func (l *Layout) allBeside(names []string) bool {
	return !slices.ContainsFunc(names, func(name string) bool { return !l.beside(name) })
}

// computedBeside is beside of what an expression makes.
func (l *Layout) computedBeside(e plan.Expr) bool {
	all := true
	e.Fields(func(path string) { all = all && l.beside(path) })
	return all
}

// may compiles whether a condition can hold of a tombstone's record, whose value nobody knows: what it asks of the parts beside the value decides, what it asks of
// the value may be so or otherwise. So a filter for the records of one kind or topic keeps the tombstones of others out, and one for a field of the value keeps
// none out.
func (l *Layout) may(e plan.Expr) (func(row Row) bool, error) { return l.possible(e, true) }

// possible compiles whether a condition can come out as wanted.
func (l *Layout) possible(e plan.Expr, wanted bool) (func(row Row) bool, error) {
	switch {
	case l.computedBeside(e):
		n, err := eval.Compile(e, l, value.Bool)
		return func(row Row) bool { return n.Test(row) == wanted }, err
	case e.Op == "not":
		return l.possible(e.Args[0], !wanted)
	case e.Op != "and" && e.Op != "or":
		return func(Row) bool { return true }, nil
	}
	a, err := l.possible(e.Args[0], wanted)
	if err != nil {
		return nil, err
	}
	b, err := l.possible(e.Args[1], wanted)
	if (e.Op == "and") == wanted { // both have to come out so
		return func(row Row) bool { return a(row) && b(row) }, err
	}
	return func(row Row) bool { return a(row) || b(row) }, err
}
