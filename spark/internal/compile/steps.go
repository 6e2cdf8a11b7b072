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

// steps compiles the steps of a plan, one after another.
func (l *layout) steps(steps []plan.Step) error {
	for i, s := range steps {
		if err := l.step(s, steps[i:]); err != nil {
			return fmt.Errorf("%s: %w", s, err)
		}
	}
	return nil
}

// step compiles a step; all are that and those behind it, which say what to keep of a record.
func (l *layout) step(s plan.Step, all []plan.Step) error {
	switch s.Op {
	case plan.Filter:
		return l.filter(s)
	case plan.Require:
		return l.require(s)
	case plan.With:
		return l.with(s)
	case plan.Select:
		return l.choose(s.Columns)
	case plan.Drop:
		return l.drop(s.Columns)
	case plan.Explode:
		return l.explode(s)
	case plan.Aggregation:
		return l.aggregate(s)
	case plan.Deduplicate:
		return l.deduplicate(s, all)
	case plan.Union:
		return l.union(s, all)
	case plan.Join:
		return l.join(s, all)
	case plan.Lookup:
		return l.lookup(s, all)
	case plan.Top:
		return l.top(s)
	}
	return refused(s)
}

// refused says of a step that runs a Go function what to write instead.
func refused(s plan.Step) error {
	switch s.Op {
	case plan.MapFunc:
		return fmt.Errorf("spark: MapFunc %q is a Go function, which runs in this process alone; write With(%[1]q, …) of an expression, such as "+
			"If(Field(\"total\").Gt(100), \"large\", \"small\")", s.Name)
	case plan.FilterFunc:
		return fmt.Errorf("spark: FilterFunc %q is a Go function, which runs in this process alone; write Filter(…) of an expression, such as "+
			"Field(\"id\").AsText().Matches(\"^[0-9]+$\")", s.Name)
	case plan.Process:
		return fmt.Errorf("spark: process %q is Go functions with a state, which run in this process alone; write an Agg with a Window or a Session, "+
			"Deduplicate or Top, or run the query locally", s.Name)
	case plan.Records:
		return fmt.Errorf("spark: %q handles records by Go functions, which run in this process alone; have the cluster write what it needs to a topic, "+
			"and run this locally over that", s.Name)
	}
	return fmt.Errorf("spark: the operator %q has no counterpart on Spark; run the query locally", s.Op)
}

// held is a condition in a form that Spark does not move in front of a watermark, through whatever stands between: it asks for the event time in the same
// breath.
func (l *layout) held(condition string) string {
	at := l.time
	switch {
	case l.table:
		return condition
	case l.window != "":
		at = quoted(l.window) + ".start"
	case len(l.sides) > 0:
		at = fmt.Sprintf("coalesce(%s)", strings.Join(l.sides, ", "))
	case l.time == "":
		return condition
	}
	return fmt.Sprintf("(%s) = (%s > TIMESTAMP'1000-01-01 00:00:00')", condition, at)
}

func (l *layout) filter(s plan.Step) error {
	condition, err := l.condition(s.Expr)
	if err != nil || condition == "" {
		return err
	}
	l.rel = filter(l.rel, l.held(condition))
	return nil
}

// with adds a column. One that is a path and nothing else is only a name for it.
func (l *layout) with(s plan.Step) error {
	if s.Name == "" {
		return errors.New("spark: a column without a name")
	}
	if b, ok := l.alias(s.Expr); ok {
		l.name(s.Name, b)
		return nil
	}
	n, err := l.compile(s.Expr, stream.Any)
	if err != nil {
		return err
	}
	l.add(s.Name, n.kind, n.sql)
	if n.of != nil && !n.of.live {
		b := l.bindings[s.Name]
		b.of = n.of
		l.bindings[s.Name] = b
	}
	return nil
}

// explode gives each element of an array a row. An element that cannot be read makes the record bad, with all its elements.
func (l *layout) explode(s plan.Step) error {
	n, err := l.field(s.Path, stream.Any)
	if err != nil {
		return err
	}
	json := l.bind(n.sql)
	e := &elements{name: s.Name, reads: &reads{inside: l.fresh(s.Name + "[]"), get: inElement("e")}}
	all, place := l.fresh("#elements"), l.fresh("#place")
	const yes = "#yes" // for the condition, which is known only when what is read of the elements is
	raw, fits, held := text(""), text(""), l.held(yes)
	values := l.unfold(raw, fits, all, place, e.reads.inside)
	l.exploded, l.order = append(l.exploded, e), append(slices.Clip(l.order), quoted(place))
	l.finally(func() {
		raw.Of.(*protocol.Expr_Text_).Text.Sql = e.raw(json)
		fits.Of.(*protocol.Expr_Text_).Text.Sql = strings.Replace(held, yes, e.fit(json, all), 1)
		values.Exprs = append([]*protocol.Expr{text("*")}, e.reads.values()...)
	})
	return nil
}

// unfold is the way from an array, by which rows of elements that fit, to the elements and their places, and the projection of what is read of them. A row
// without elements is left out behind it: before an explode Spark would put a filter of its own, and move that in front of the watermark.
func (l *layout) unfold(raw, fits *protocol.Expr, all, place, one string) *protocol.Project {
	arrays := &protocol.WithColumns{Input: l.rel, Aliases: []*protocol.Expr_Alias{{Expr: raw, Name: []string{all}}}}
	fitting := &protocol.Filter{Input: &protocol.Relation{Of: &protocol.Relation_WithColumns{WithColumns: arrays}}, Condition: fits}
	exploded := &protocol.Expr_Alias{Expr: text(fmt.Sprintf("posexplode_outer(%s)", quoted(all))), Name: []string{place, one}}
	values := &protocol.Project{Input: project(&protocol.Relation{Of: &protocol.Relation_Filter{Filter: fitting}}, text("*"),
		&protocol.Expr{Of: &protocol.Expr_Alias_{Alias: exploded}})}
	l.rel = filter(&protocol.Relation{Of: &protocol.Relation_Project{Project: values}}, l.held(quoted(place)+" IS NOT NULL"))
	return values
}

// inElement is what lies at paths of an element, a VARIANT.
func inElement(element string) func(parts []stream.Part, as string) string {
	return func(parts []stream.Part, as string) string { return within(element, parts, as) }
}

// raw is the array with what is read of each element.
func (e *elements) raw(json string) string {
	fields := []string{"'#element', e"}
	sqls, names := e.reads.raw()
	for i, sql := range sqls {
		fields = append(fields, quote(names[i])+", "+sql)
	}
	return fmt.Sprintf("transform(try_cast(try_parse_json(%s) AS ARRAY<VARIANT>), e -> named_struct(%s))", json, strings.Join(fields, ", "))
}

// fit is the condition that there is an array, of elements that can be read.
func (e *elements) fit(json, all string) string {
	of := &reads{shape: e.reads.shape, places: e.reads.places, inside: "e", get: inElement("e.`#element`")}
	condition := fmt.Sprintf("coalesce(startswith(%s, '['), false)", json)
	if fits := append(of.object(), of.fits()...); len(fits) > 0 {
		condition += fmt.Sprintf(" AND forall(%s, e -> %s)", quoted(all), strings.Join(fits, " AND "))
	}
	return condition
}

// object is the condition that an element is an object, as the local engine wants it where members of elements are read and no element as a whole. One that
// has a member that is read is one; of others the JSON tells.
func (r *reads) object() []string {
	if len(r.places) == 0 {
		return nil
	}
	other := fmt.Sprintf("startswith(to_json(%s), '{')", r.get(nil, "variant"))
	var members []string
	for _, p := range r.places {
		switch {
		case len(p.parts) == 0:
			return nil
		case p.parts[0].Index < 0:
			members = append(members, r.column(p.json())+" IS NOT NULL")
		}
	}
	if len(members) == 0 {
		return []string{other}
	}
	return []string{fmt.Sprintf("CASE WHEN %s THEN true ELSE %s END", strings.Join(members, " OR "), other)}
}

// deduplicate lets the first row of each key through.
func (l *layout) deduplicate(s plan.Step, all []plan.Step) error {
	if err := l.remembers("Deduplicate"); err != nil {
		return err
	}
	if len(s.Keys) == 0 {
		return errors.New("spark: Deduplicate without a path; name what tells rows apart, such as Deduplicate(\"id\")")
	}
	keys, err := l.deduplicated(s, all)
	if err != nil {
		return err
	}
	within := l.options.Records == nil
	d := &protocol.Deduplicate{Input: l.rel, Columns: keys, WithinWatermark: &within}
	l.rel = &protocol.Relation{Of: &protocol.Relation_Deduplicate{Deduplicate: d}}
	return nil
}

// deduplicated turns the rows into columns, those that rows are told apart by among them, and returns these. Rows that lack one of them are
// left out.
func (l *layout) deduplicated(s plan.Step, all []plan.Step) (keys []string, err error) {
	names, err := l.wanted(all)
	if err != nil {
		return nil, err
	}
	for _, key := range s.Keys {
		n, err := l.field(key, stream.Any)
		if err != nil {
			return nil, err
		}
		l.rel = filter(l.rel, l.held(n.sql+" IS NOT NULL"))
	}
	if err := l.keep(names); err != nil {
		return nil, err
	}
	for _, key := range s.Keys {
		keys = append(keys, l.bindings[key].column)
	}
	return keys, nil
}

// union lets another query's rows go the same way.
func (l *layout) union(s plan.Step, all []plan.Step) error {
	if s.Other == nil {
		return errors.New("spark: a union without a second query")
	}
	names, err := l.wanted(all)
	if err != nil {
		return err
	}
	if err := l.keep(names); err != nil {
		return err
	}
	other, err := l.other(s.Other)
	if err != nil {
		return err
	}
	if len(other.columns) != len(l.columns) || slices.ContainsFunc(l.columns, func(c string) bool { return !slices.Contains(other.columns, c) }) {
		return fmt.Errorf("spark: a union of columns %v with %v: want the same names; add .Select", l.columns, other.columns)
	}
	if (l.window == "") != (other.window == "") {
		return errors.New("spark: a union of windows with rows: Spark knows the times of the one or of the other; aggregate both first, or neither")
	}
	return l.unite(other)
}

// unite puts the rows of another layout with the same columns behind these.
func (l *layout) unite(other *layout) error {
	if err := other.keep(l.columns); err != nil {
		return err
	}
	bindings := map[string]binding{}
	var left, right []*protocol.Expr
	for _, name := range l.columns {
		a, b := l.bindings[name], other.bindings[name]
		x, y, kind, err := l.together(node{kind: a.kind, sql: quoted(a.column)}, node{kind: b.kind, sql: quoted(b.column)})
		if err != nil {
			return fmt.Errorf("column %s: %w", name, err)
		}
		bindings[name] = binding{column: a.column, kind: kind, of: a.of.and(b.of)}
		left, right = append(left, named(x, a.column)), append(right, named(y, a.column))
	}
	if l.window != "" {
		right = append(right, named(quoted(other.window), l.window))
		left = append(left, l.beside()...)
		l.sessions = l.sessions || other.sessions
	} else {
		left, right = append(left, l.beside()...), append(right, other.beside()...)
	}
	all, byName := true, true
	both := &protocol.SetOperation{Left: project(l.rel, left...), Right: project(other.rel, right...), Kind: protocol.SetOperation_UNION,
		All: &all, ByName: &byName}
	l.rel = &protocol.Relation{Of: &protocol.Relation_Set{Set: both}}
	l.closed(l.columns, bindings)
	return nil
}

// other compiles a query that is a part of this one.
func (c *compiler) other(p *plan.Plan) (*layout, error) {
	l, err := c.source(p)
	if err != nil {
		return nil, err
	}
	if err := l.steps(p.Steps); err != nil {
		return nil, err
	}
	if l.open {
		return nil, errors.New("spark: the records of the second query have no columns yet; add .Select with the paths to give out")
	}
	return l, nil
}

// finally puts off what can only be written down once all steps have been compiled.
func (c *compiler) finally(do func()) { c.deferred = append(c.deferred, do) }
