package compile

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"cancha/spark/internal/protocol"
	"cancha/stream"
	"cancha/stream/plan"
)

// joinKinds are Spark's joins.
var joinKinds = map[string]protocol.Join_Kind{"inner": protocol.Join_INNER, "left": protocol.Join_LEFT, "full": protocol.Join_FULL}

// join pairs the rows of two queries that are equal in some columns and whose event times are near.
func (l *layout) join(s plan.Step, all []plan.Step) error {
	if err := l.remembers("a join"); err != nil {
		return err
	}
	switch {
	case s.Other == nil:
		return errors.New("spark: a join without a second query")
	case l.time == "" && l.window == "":
		return errors.New("spark: a join behind a join whose rows have the later of two times: Spark knows no watermark of it; " +
			"give Within a Before or an After of 0")
	}
	names, err := l.wanted(all)
	if err != nil {
		return err
	}
	if err := l.keep(names); err != nil {
		return err
	}
	right, err := l.other(s.Other)
	if err != nil {
		return err
	}
	if err := right.keep(right.columns); err != nil {
		return err
	}
	return l.pair(s.Join, right)
}

// pair joins two layouts of columns.
func (l *layout) pair(j plan.JoinSpec, right *layout) error {
	conditions, err := l.equal(j, right)
	if err != nil {
		return err
	}
	a, b := l.timed("#left"), right.timed("#right")
	conditions = append(conditions, fmt.Sprintf("%s >= %s - %s", b, a, span(j.Before)), fmt.Sprintf("%s <= %s + %s", b, a, span(j.After)))
	l.rel = &protocol.Relation{Of: &protocol.Relation_Join{Join: &protocol.Join{Left: l.rel, Right: right.rel,
		Condition: text(strings.Join(conditions, " AND ")), Kind: joinKinds[j.Kind]}}}
	if err := l.merge(j, right); err != nil {
		return err
	}
	l.window, l.time, l.sides = "", l.later(j, a, b), nil
	if l.time == "" {
		l.sides = []string{a, b}
	}
	return nil
}

// later is the later of the two times of a pair, as far as it is always the same side's: Spark knows the watermark of a column, not of an
// expression.
func (l *layout) later(j plan.JoinSpec, a, b string) string {
	switch {
	case l.options.Records != nil: // there is no watermark
		column := l.fresh("#later")
		l.rel = with(l.rel, column, fmt.Sprintf("greatest(%s, %s)", a, b))
		return quoted(column)
	case j.After == 0 && j.Kind != "full":
		return a
	case j.Before == 0 && j.Kind == "inner":
		return b
	}
	return ""
}

// merge makes the columns those of both sides; those that are joined by under one name are there once.
func (l *layout) merge(j plan.JoinSpec, right *layout) error {
	names, bindings := slices.Clone(l.columns), maps.Clone(l.bindings)
	for _, name := range right.columns {
		b := right.bindings[name]
		k := slices.Index(j.Right, name)
		switch {
		case k >= 0 && j.Left[k] == name && j.Kind == "full":
			if err := l.either(name, bindings, b); err != nil {
				return err
			}
		case k >= 0 && j.Left[k] == name:
		case slices.Contains(names, name):
			return fmt.Errorf("spark: both sides of the join have a column %q; give one of them another name by With and Drop", name)
		default:
			names, bindings[name] = append(names, name), b
		}
	}
	l.closed(names, bindings)
	return nil
}

// either makes a column that of the side that has a row.
func (l *layout) either(name string, bindings map[string]binding, b binding) error {
	a := bindings[name]
	x, y, kind, err := l.together(node{kind: a.kind, sql: quoted(a.column)}, node{kind: b.kind, sql: quoted(b.column)})
	if err != nil {
		return err
	}
	column := l.fresh(name)
	l.rel = with(l.rel, column, fmt.Sprintf("coalesce(%s, %s)", x, y))
	bindings[name] = binding{column: column, kind: kind, of: a.of.and(b.of)}
	return nil
}

// timed gives a side's event time a column of its own name.
func (l *layout) timed(name string) string {
	column := l.fresh(name)
	exprs := []*protocol.Expr{named(l.at(), column)}
	for _, c := range l.columns {
		exprs = append(exprs, text(quoted(l.bindings[c].column)))
	}
	l.rel = project(l.rel, exprs...)
	return quoted(column)
}

// equal are the conditions that the sides' keys are equal. Values of different kinds are not.
func (l *layout) equal(j plan.JoinSpec, right *layout) (conditions []string, err error) {
	if len(j.Left) == 0 || len(j.Left) != len(j.Right) {
		return nil, fmt.Errorf("spark: joined on %q and %q; want as many columns on both sides, at least one", j.Left, j.Right)
	}
	for i := range j.Left {
		a, err := l.field(j.Left[i], stream.Any)
		if err != nil {
			return nil, err
		}
		b, err := right.field(j.Right[i], stream.Any)
		if err != nil {
			return nil, err
		}
		x, y, _, err := l.together(a, b)
		if err != nil {
			return nil, fmt.Errorf("columns %s and %s: %w", j.Left[i], j.Right[i], err)
		}
		conditions = append(conditions, fmt.Sprintf("%s = %s", late(x), late(y)))
	}
	return conditions, nil
}

// late is a key in a form of which Spark does not infer that it is not NULL. It would ask for that in front of the watermark, which then would know
// nothing of the times of records that lack the key.
func late(key string) string { return fmt.Sprintf("coalesce(%s, %[1]s)", key) }
