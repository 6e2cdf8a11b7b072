package compile

import (
	"fmt"
	"slices"
	"strings"

	"cancha/spark/internal/protocol"
	"cancha/stream"
	"cancha/stream/plan"
)

// share is the part of rows whose value is the group's key. Each row counts in its own group, and in its shares' for the group whose key its
// value is; so it is there once for each of these (share), and what the groups share is summed up over those that differ in this key alone
// (total).
type share struct {
	name  string
	part  string // the column that counts a group's rows
	total string
}

// share gives each row a copy for each group that it counts in.
func (g *grouping) share() error {
	var of []string
	per := -1
	for _, a := range g.step.Aggregates {
		if a.Kind != "share" {
			continue
		}
		at := slices.Index(g.step.Keys, a.Per)
		switch {
		case g.step.Window.Kind == "session":
			return fmt.Errorf("statistic %s: spark: the sessions of one key have no part in those of another; use a Tumbling or a Sliding window", a.Name)
		case at < 0:
			return fmt.Errorf("statistic %s: spark: %q is not among the paths of GroupBy, which are %q", a.Name, a.Per, g.step.Keys)
		case per >= 0 && at != per:
			return fmt.Errorf("statistic %s: spark: shares per %q and per %q in one Agg; on Spark all are per one path: use two queries",
				a.Name, a.Per, g.step.Keys[per])
		}
		per = at
		role, err := g.role(a, &g.keys[per], len(of)+1)
		if err != nil {
			return fmt.Errorf("statistic %s: %w", a.Name, err)
		}
		of = append(of, role)
	}
	if len(of) == 0 {
		return nil
	}
	g.per = per
	return g.play(of, &g.keys[per])
}

// role is the copy of a row that counts in a share; absent where it does not.
func (g *grouping) role(a plan.Aggregate, per *key, number int) (string, error) {
	condition, err := g.condition(a.Condition)
	if err != nil {
		return "", err
	}
	n, err := g.compile(a.Expr, stream.Any)
	if err != nil {
		return "", err
	}
	_, value, kind, err := g.together(node{kind: per.kind, sql: quoted(per.column)}, n)
	if err == nil && kind != per.kind {
		err = fmt.Errorf("spark: the share of %s per %s: the one is %v and the other %v; give both one kind, such as .AsText()",
			a.Expr, a.Per, n.kind, per.kind)
	}
	there := g.bind(value) + " IS NOT NULL"
	if condition != "" {
		there += " AND " + condition
	}
	return fmt.Sprintf("CASE WHEN %s THEN struct(%s AS key, %d AS role) END", there, g.bind(value), number), err
}

// play explodes the rows into their copies.
func (g *grouping) play(roles []string, per *key) error {
	if g.mode != "append" && g.options.Records == nil {
		return fmt.Errorf("spark: Share in the %s mode: on Spark it takes two aggregations, which stand together in the append mode alone; "+
			"use Output(Append)", g.mode)
	}
	if err := g.remembers("Share"); err != nil {
		return err
	}
	one, column := g.fresh("#role"), g.fresh(per.name)
	copies := append([]string{fmt.Sprintf("struct(%s AS key, 0 AS role)", quoted(per.column))}, roles...)
	g.rel = project(g.rel, text("*"), named(fmt.Sprintf("explode(filter(array(%s), x -> x IS NOT NULL))", strings.Join(copies, ", ")), one))
	g.rel = with(g.rel, column, quoted(one)+".key")
	per.column, g.own = column, quoted(one)+".role = 0"
	return nil
}

// shared is the statistic of a share.
func (g *grouping) shared(a plan.Aggregate, _ string) error {
	s := share{name: a.Name, total: quoted(g.fresh("#total"))}
	role, _, _ := strings.Cut(g.own, " ")
	s.part = g.of("count(CASE WHEN %s = %d THEN 1 END)", role, len(g.shares)+1)
	g.shares = append(g.shares, s)
	g.put(a.Name, stream.Float, fmt.Sprintf("try_divide(CAST(%s AS DOUBLE), CAST(%s AS DOUBLE))", s.part, s.total))
	return nil
}

// total sums the shares up over the groups that differ in the shares' key alone, by an aggregation of these.
func (g *grouping) total() {
	if len(g.shares) == 0 {
		return
	}
	by, members := []*protocol.Expr{}, []string{quoted(g.keys[g.per].column)}
	if g.window != "" {
		by = append(by, text(quoted(g.window)))
	}
	for i, k := range g.keys {
		if i != g.per {
			by = append(by, text(quoted(k.column)))
		}
	}
	for _, e := range g.computed {
		members = append(members, quoted(e.GetAlias().Name[0]))
	}
	g.regroup(by, members)
}

// regroup collects groups, sums their shares up, and gives each group its row again, if it has rows of its own.
func (g *grouping) regroup(by []*protocol.Expr, members []string) {
	all, one := g.fresh("#groups"), g.fresh("#group")
	sums := []*protocol.Expr{named(fmt.Sprintf("collect_list(struct(%s))", strings.Join(members, ", ")), all)}
	for _, s := range g.shares {
		sums = append(sums, named(fmt.Sprintf("sum(%s)", s.part), strings.Trim(s.total, "`")))
	}
	g.rel = group(g.rel, by, sums)
	g.rel = project(g.rel, text("*"), named(fmt.Sprintf("explode(%s)", quoted(all)), one))
	g.rel = project(g.rel, text("*"), text(quoted(one)+".*"))
	g.rel = filter(g.rel, g.rows+" > 0")
}
