package compile

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"cancha/spark/internal/protocol"
	"cancha/stream"
	"cancha/stream/plan"
)

// top keeps, of the rows of a window and of the same keys, those with the greatest or least values of a column: an aggregation collects them,
// in order.
func (l *layout) top(s plan.Step) error {
	switch {
	case l.window == "":
		return errors.New("spark: Top ranks the rows of a window, and on Spark nothing may stand between; put it right behind an Agg with a Window")
	case l.sessions:
		return errors.New("spark: Top of sessions: on Spark those that overlap would be ranked as one; use a Tumbling or a Sliding window, or run the query locally")
	case l.mode != "append" && l.options.Records == nil:
		return fmt.Errorf("spark: Top in the %s mode; on Spark it is an aggregation of aggregations, which the append mode alone has: "+
			"use Output(Append)", l.mode)
	}
	if err := l.remembers("Top"); err != nil {
		return err
	}
	keys, err := l.nodes(s.Keys)
	if err != nil {
		return err
	}
	by, err := l.field(s.Name, stream.Any)
	if err != nil {
		return err
	}
	return l.rank(s, keys, by)
}

// rank collects rows, sorts them, cuts the list, and gives each that is left its row again.
func (l *layout) rank(s plan.Step, keys []node, by node) error {
	l.rel = filter(l.rel, l.held(by.sql+" IS NOT NULL"))
	groups := attributes(l.window)
	for _, k := range keys {
		groups = append(groups, named(k.sql, l.fresh("#key")))
	}
	members, ties, err := l.members()
	if err != nil {
		return err
	}
	all, one := l.fresh("#rows"), l.fresh("#row")
	row := fmt.Sprintf("struct(%s AS o, struct(%s) AS t, struct(%s) AS r)", ordered(by), strings.Join(ties, ", "), strings.Join(members, ", "))
	l.rel = group(l.rel, groups, []*protocol.Expr{named(fmt.Sprintf("collect_list(%s)", row), all)})
	sorted := l.fresh("#ranked")
	l.rel = with(l.rel, sorted, fmt.Sprintf("array_sort(%s, (a, b) -> %s)", quoted(all), before(s.Descending)))
	l.rel = project(l.rel, text(quoted(l.window)), named(fmt.Sprintf("explode(%s)", first(quoted(sorted), s)), one))
	l.rel = project(l.rel, text(quoted(l.window)), text(quoted(one)+".r.*"))
	return nil
}

// members are all columns, and what orders rows with the same value: each column, from the first on.
func (l *layout) members() (members, ties []string, err error) {
	for _, name := range l.columns {
		n, err := l.field(name, stream.Any)
		if err != nil {
			return nil, nil, err
		}
		members = append(members, n.sql)
		ties = append(ties, ordered(n))
	}
	return slices.Clone(members), ties, nil
}

// ordered is what orders values of a node.
func ordered(n node) string {
	if n.kind == stream.Any || n.kind == stream.JSON {
		return orderOf(n.sql)
	}
	return n.sql
}

// before orders two rows of a ranking.
func before(descending bool) string {
	less, greater := "-1", "1"
	if descending {
		less, greater = greater, less
	}
	return fmt.Sprintf("CASE WHEN a.o < b.o THEN %s WHEN a.o > b.o THEN %s WHEN a.t < b.t THEN -1 WHEN a.t > b.t THEN 1 ELSE 0 END", less, greater)
}

// first are the first rows of a list in order, with those that equal the last of them where ties stay.
func first(sorted string, s plan.Step) string {
	if !s.Ties {
		return fmt.Sprintf("slice(%s, 1, %d)", sorted, s.N)
	}
	return fmt.Sprintf("filter(%[1]s, (x, i) -> i < %[2]d OR x.o = get(%[1]s, %[3]d).o)", sorted, s.N, s.N-1)
}
