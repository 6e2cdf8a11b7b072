package flow

import (
	"cmp"
	"maps"
	"slices"

	"cancha/stream/internal/decode"
	"cancha/stream/internal/eval"
	"cancha/stream/internal/value"
	"cancha/stream/plan"
)

// Demand is a path whose value rows keep as it is, and the kind that steps behind want of it.
type Demand struct {
	of   int // whose path it is: an exploded array, by its place in the layout; -1: the record
	path string
	kind value.Kind // Float, Text, Time or Bool; Any: whatever is there
}

// Demands tells what steps that will take the layout's rows, of which these names are kept, want of them: a number, a text, a time. It tries
// the steps out on a copy. What they cannot do is left out: compiling them in earnest says why.
func (l *Layout) Demands(names []string, steps []Step) []Demand {
	p := l.trial()
	kept := p.keeps(names, nil)
	known := p.demands()
	var all []Demand
	for _, s := range steps {
		p.open = true // to columns that other queries give, which are not kept
		if s.Op == plan.Aggregation {
			_, _ = NewGrouping(s.Step, p)
		} else {
			_, _, _ = p.Stateless(s, &Env{})
		}
		for d := range p.demands() {
			if bare := (Demand{of: d.of, path: d.path, kind: value.Any}); !known[d] && kept[bare] {
				all = append(all, d)
			}
		}
		known = p.demands()
		switch s.Op {
		case plan.Select:
			kept = p.keeps(s.Columns, kept)
		case plan.Aggregation, plan.Process:
			return ordered(all)
		}
	}
	return ordered(all)
}

// trial is a copy that can be changed.
func (l *Layout) trial() *Layout {
	p := *l
	p.bindings, p.columns, p.dropped = maps.Clone(l.bindings), slices.Clone(l.columns), slices.Clone(l.dropped)
	p.slots, p.meta, p.elements = slices.Clone(l.slots), slices.Clone(l.meta), nil
	for _, e := range l.elements {
		p.elements = append(p.elements, &elements{e.name, slices.Clone(e.slots)})
	}
	for name, b := range p.bindings {
		if b.of != nil {
			b.of = p.elements[slices.Index(l.elements, b.of)]
			p.bindings[name] = b
		}
	}
	return &p
}

// keeps are the paths that names stand for, those among others unless there are none.
func (l *Layout) keeps(names []string, among map[Demand]bool) map[Demand]bool {
	kept := map[Demand]bool{}
	for _, name := range names {
		if d, ok := l.demand(name); ok && (among == nil || among[d]) {
			kept[d] = true
		}
	}
	return kept
}

func (l *Layout) demand(name string) (Demand, bool) {
	b, ok := l.path(name)
	return Demand{of: slices.Index(l.elements, b.of), path: b.alias, kind: value.Any}, ok
}

// demands are all paths that are decoded as something else than what is there.
func (l *Layout) demands() map[Demand]bool {
	all := map[Demand]bool{}
	note := func(of int, slots []decode.Slot) {
		for _, s := range slots {
			if kind := kindOf(s.Want); kind != value.Any {
				all[Demand{of, s.Path, kind}] = true
			}
		}
	}
	note(-1, l.slots)
	for i, e := range l.elements {
		note(i, e.slots)
	}
	return all
}

func kindOf(w decode.Want) value.Kind {
	return [...]value.Kind{decode.Natural: value.Any, decode.Number: value.Float, decode.Text: value.Text, decode.Instant: value.Time, decode.Truth: value.Bool}[w]
}

// ordered puts demands in one order, so that all lanes of a query decode the same.
func ordered(all []Demand) []Demand {
	slices.SortFunc(all, func(a, b Demand) int {
		return cmp.Or(cmp.Compare(a.of, b.of), cmp.Compare(a.path, b.path), cmp.Compare(a.kind, b.kind))
	})
	return all
}

// Keep is Read, with demands decoded beside the values, so that a record that does not meet them is bad. A text that the format takes for the
// number or the truth that is wanted, such as a field of a CSV file, is kept as that.
func (l *Layout) Keep(names []string, demands []Demand) ([]Column, func(dst, row Row) Row, error) {
	columns, read, err := l.Read(names)
	if err != nil {
		return nil, nil, err
	}
	type plain struct {
		at   int
		node eval.Node
	}
	var plains []plain
	for _, d := range demands {
		slots := &l.slots
		if d.of >= 0 {
			slots = &l.elements[d.of].slots
		}
		n, err := l.slot(slots, d.path, d.kind)
		if err != nil {
			return nil, nil, err
		}
		for i, name := range names {
			if is, ok := l.demand(name); ok && (d.kind == value.Float || d.kind == value.Bool) && is.of == d.of && is.path == d.path {
				plains = append(plains, plain{i, n})
			}
		}
	}
	return columns, func(dst, row Row) Row {
		from := len(dst)
		dst = read(dst, row)
		for _, n := range plains {
			at := &dst[from+n.at]
			if at.Kind() != value.Text {
				continue
			}
			if v := n.node.Value(row); !v.IsNull() {
				*at = v
			}
		}
		return dst
	}, nil
}
