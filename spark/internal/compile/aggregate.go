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

// grouping is an aggregation in the making: what rows are grouped by, what Spark computes of a group, and what becomes of that.
type grouping struct {
	*layout
	step       plan.Step
	keys       []key
	computed   []*protocol.Expr // of a group
	shares     []share
	per        int    // the key that shares are per
	own        string // the condition that tells a row of the group from one that counts in its shares alone; empty: all are
	rows       string // the column that counts the group's own rows, where there are others
	statistics []statistic
}

// key is a column that rows are grouped by.
type key struct {
	name, column string
	kind         stream.Kind
}

// statistic is a column of the result, which is made of what Spark has computed of a group.
type statistic struct {
	name   string
	kind   stream.Kind
	result func() string // SQL over the computed columns; it may add columns itself
}

// aggregate computes statistics of groups and windows.
func (l *layout) aggregate(s plan.Step) error {
	if err := l.fitsMode(s); err != nil {
		return err
	}
	g := &grouping{layout: l, step: s}
	if err := g.group(); err != nil {
		return err
	}
	if err := g.share(); err != nil {
		return err
	}
	for _, a := range s.Aggregates {
		if err := g.take(a); err != nil {
			return fmt.Errorf("statistic %s: %w", a.Name, err)
		}
	}
	if err := g.unique(); err != nil {
		return err
	}
	l.last = s
	g.compute()
	g.total()
	g.result()
	return nil
}

// fitsMode refuses what an output mode does not have, and notes what Spark does otherwise.
func (l *layout) fitsMode(s plan.Step) error {
	if err := l.remembers("an aggregation"); err != nil {
		return err
	}
	streaming := l.options.Records == nil
	switch w := s.Window; {
	case streaming && l.time == "" && l.window == "":
		return errors.New("spark: an aggregation behind a join whose rows have the later of two times: Spark knows no watermark of it; " +
			"give Within a Before or an After of 0")
	case streaming && w.Kind == "session" && l.mode != "append":
		return errors.New("spark: sessions are given out when they are over; use Output(Append)")
	case w.Kind == "" && l.mode == "append":
		return errors.New("spark: without a window a group is never complete; add .Window, or use Output(Update)")
	case w.Width%1000 != 0 || w.Step%1000 != 0 || w.Gap%1000 != 0:
		return errors.New("spark: a window of a fraction of a microsecond: Spark's clock ticks in microseconds; use whole ones")
	case w.Kind == "" && s.TimeToLive > 0 && streaming:
		l.note("TimeToLive does nothing: Spark keeps groups without a window for as long as the query's checkpoint lives.")
	}
	return nil
}

// group turns the keys into columns. Rows that lack one of them are left out.
func (g *grouping) group() error {
	nodes, err := g.nodes(g.step.Keys)
	if err != nil {
		return err
	}
	for i, n := range nodes {
		name := g.step.Keys[i]
		k := key{name, g.fresh(name), n.kind}
		g.rel = filter(g.rel, g.held(n.sql+" IS NOT NULL"))
		g.rel = with(g.rel, k.column, n.sql)
		g.keys = append(g.keys, k)
	}
	return nil
}

// unique refuses two columns of one name.
func (g *grouping) unique() error {
	seen := map[string]bool{}
	names := slices.Clone(g.step.Keys)
	if g.step.Window.Kind != "" {
		names = append(names, "window_start", "window_end")
	}
	for _, s := range g.statistics {
		names = append(names, s.name)
	}
	for _, name := range names {
		if seen[name] {
			return fmt.Errorf("spark: two columns are named %q", name)
		}
		seen[name] = true
	}
	return nil
}

// of is a column that Spark computes of a group.
func (g *grouping) of(format string, args ...any) string {
	name := g.fresh("#of")
	g.computed = append(g.computed, named(fmt.Sprintf(format, args...), name))
	return quoted(name)
}

// windowed is the SQL of the window that a row is in; empty without windows.
func (g *grouping) windowed() string {
	switch w := g.step.Window; w.Kind {
	case "tumbling":
		return fmt.Sprintf("window(%s, '%s')", g.at(), micros(w.Width))
	case "sliding":
		return fmt.Sprintf("window(%s, '%s', '%s')", g.at(), micros(w.Width), micros(w.Step))
	case "session": // see the package's comment
		return fmt.Sprintf("session_window(%s, '%d microseconds')", g.at(), w.Gap.Microseconds()-1)
	}
	return ""
}

// at is the SQL of a row's event time. Rows that are the result of a window are of its end.
func (l *layout) at() string {
	if l.window != "" {
		return fmt.Sprintf("window_time(%s)", quoted(l.window))
	}
	return l.time
}

// compute groups the rows.
func (g *grouping) compute() {
	var by []*protocol.Expr
	if w := g.windowed(); w != "" {
		window := g.fresh("#window")
		by = append(by, named(w, window))
		g.window, g.sessions = window, g.step.Window.Kind == "session"
	} else {
		g.window = ""
	}
	for _, k := range g.keys {
		by = append(by, text(quoted(k.column)))
	}
	if g.own != "" {
		g.rows = g.of("count(CASE WHEN %s THEN 1 END)", g.own)
	} else if len(g.computed) == 0 {
		g.of("count(1)")
	}
	g.rel = group(g.rel, by, g.computed)
}

// result gives the columns of the result their names.
func (g *grouping) result() {
	names, bindings := []string{}, map[string]binding{}
	put := func(name string, b binding) { names, bindings[name] = append(names, name), b }
	for _, k := range g.keys {
		put(k.name, binding{column: k.column, kind: k.kind})
	}
	if g.window != "" {
		end := "%s.end"
		if g.step.Window.Kind == "session" {
			end = "%s.end + INTERVAL '1' MICROSECOND"
		}
		start, stop := g.fresh("window_start"), g.fresh("window_end")
		g.rel = with(with(g.rel, start, quoted(g.window)+".start"), stop, fmt.Sprintf(end, quoted(g.window)))
		put("window_start", binding{column: start, kind: stream.Time})
		put("window_end", binding{column: stop, kind: stream.Time})
	}
	for _, s := range g.statistics {
		column := g.fresh(s.name)
		sql := s.result()
		g.rel = with(g.rel, column, sql)
		put(s.name, binding{column: column, kind: s.kind})
	}
	g.closed(names, bindings)
	if g.window == "" {
		g.time, g.sides = "", nil
	}
}

// take compiles one statistic.
func (g *grouping) take(a plan.Aggregate) error {
	if a.Name == "" {
		return fmt.Errorf("spark: a statistic without a name: %s", a)
	}
	condition, err := g.condition(a.Condition)
	if err != nil {
		return err
	}
	if condition != "" {
		condition = g.bind(condition)
	}
	compile, ok := statistics()[a.Kind]
	if !ok {
		return fmt.Errorf("spark: there is no statistic %q on Spark; run the query locally", a.Kind)
	}
	return compile(g, a, condition)
}

// when is SQL where a condition holds, of rows of the group itself, and absent elsewhere.
func (g *grouping) when(condition, sql string) string {
	var all []string
	if g.own != "" {
		all = append(all, g.own)
	}
	if condition != "" {
		all = append(all, condition)
	}
	if len(all) == 0 {
		return sql
	}
	return fmt.Sprintf("CASE WHEN %s THEN %s END", strings.Join(all, " AND "), sql)
}

// put adds a statistic that is what Spark computes.
func (g *grouping) put(name string, kind stream.Kind, sql string) {
	g.statistics = append(g.statistics, statistic{name, kind, func() string { return sql }})
}
