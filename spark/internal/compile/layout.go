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

// layout is the rows of a relation, and what names stand for in them: what an expression names is looked for here, by the rules of the local
// engine. An open layout is that of records: a name that no step has given is a path of the record.
type layout struct {
	*compiler
	rel       *protocol.Relation
	bindings  map[string]binding
	columns   []string // in their order; of an open layout those that steps have added
	open      bool
	record    *record // nil behind an operator with memory
	exploded  []*elements
	dropped   []string
	operators map[string]operator
	// time is the SQL of a row's event time, which Spark knows for the one that the watermark is about; empty: it knows none any more.
	time   string
	sides  []string // the times of both sides of a join, where neither is always the later
	window string   // the column of the window that rows are the result of; empty: they are not
	// sessions tells that window is one of sessions. Grouped by again, those that overlap would be one on Spark, of whichever keys.
	sessions bool
	order    []string // SQL that orders rows of one event time as they came
}

// binding is what a name stands for: a column, or a path of the record, or of the elements of an exploded array.
type binding struct {
	column string
	kind   stream.Kind
	of     *origin   // where in a record the column's values come from
	alias  string    // the path; empty: a column
	in     *elements // nil: of the record
}

// isPath tells whether the name stands for a path, and is read as what it is used for.
func (b binding) isPath() bool { return b.alias != "" || b.in != nil }

// elements are the rows of an exploded array.
type elements struct {
	name  string
	reads *reads
}

// fresh is a name for a column that no other column of the query has.
func (c *compiler) fresh(name string) string {
	for i := 1; ; i++ {
		is := name
		if i > 1 {
			is = fmt.Sprintf("%s#%d", name, i)
		}
		if !c.taken[is] {
			c.taken[is] = true
			return is
		}
	}
}

// longest is up to which length SQL may stand several times where it is used several times; longer SQL gets a column.
const longest = 60

// bind is SQL that may be used more than once: a column of its own, if it is long.
func (l *layout) bind(sql string) string {
	isColumn := strings.HasPrefix(sql, "`") && strings.Count(sql, "`") == 2
	if len(sql) <= longest || isColumn {
		return sql
	}
	name := l.fresh("#")
	l.rel = with(l.rel, name, sql)
	return quoted(name)
}

// add adds a column.
func (l *layout) add(name string, kind stream.Kind, sql string) {
	column := l.fresh(name)
	l.rel = with(l.rel, column, sql)
	l.name(name, binding{column: column, kind: kind})
}

func (l *layout) name(name string, b binding) {
	if _, known := l.bindings[name]; !known {
		l.columns = append(l.columns, name)
	}
	l.bindings[name] = b
	l.dropped = slices.DeleteFunc(l.dropped, func(d string) bool { return d == name })
}

// kindOf is what is known of a field before it is read: Any for a record's own.
func (l *layout) kindOf(path string) stream.Kind {
	b, ok := l.bindings[path]
	switch {
	case ok && !b.isPath():
		return b.kind
	case ok && b.in != nil:
		return stream.Any
	case ok:
		path = b.alias
	}
	if name, ok := strings.CutPrefix(path, "@"); ok {
		return partKind(name)
	}
	return stream.Any
}

func partKind(name string) stream.Kind {
	switch name {
	case "partition", "offset":
		return stream.Int
	case "timestamp":
		return stream.Time
	}
	return stream.Text
}

// field is a field as a node of the wanted kind, or of whichever it is.
func (l *layout) field(path string, want stream.Kind) (node, error) {
	if slices.Contains(l.dropped, path) {
		return node{}, fmt.Errorf("spark: the column %q was dropped before", path)
	}
	if b, ok := l.bindings[path]; ok && !b.isPath() {
		return node{kind: b.kind, sql: quoted(b.column), of: b.of}, nil
	}
	if b, ok := l.path(path); ok && b.in != nil {
		return b.in.reads.at(b.alias, want)
	} else if ok {
		return l.ofRecord(b.alias, want)
	}
	return node{}, fmt.Errorf("spark: there is no column %q here; there are %s", path, strings.Join(l.columns, ", "))
}

// path is the path that a name stands for, of the record or of the elements of an array; false for a name of a column, or of nothing.
func (l *layout) path(name string) (binding, bool) {
	if b, ok := l.bindings[name]; ok {
		return b, b.isPath()
	}
	for _, e := range slices.Backward(l.exploded) {
		if name == e.name {
			return binding{in: e}, true
		}
		if rest, ok := strings.CutPrefix(name, e.name); ok && (rest[0] == '.' || rest[0] == '[') {
			return binding{alias: strings.TrimPrefix(rest, "."), in: e}, true
		}
	}
	if given, rest := l.above(name); given != "" {
		if b := l.bindings[given]; b.alias != "" && b.in == nil && l.open {
			return binding{alias: b.alias + rest}, true
		}
		return binding{}, false
	}
	return binding{alias: name}, l.open
}

// above is the column that a name is a path below, such as a of a.b, and what follows it; empty if there is none.
func (l *layout) above(name string) (column, rest string) {
	for _, c := range l.columns {
		if after, ok := strings.CutPrefix(name, c); ok && after != "" && len(c) > len(column) && (after[0] == '.' || after[0] == '[') {
			column, rest = c, after
		}
	}
	return column, rest
}

// ofRecord is a path of the record, or a part of it beside its value.
func (l *layout) ofRecord(path string, want stream.Kind) (node, error) {
	name, ok := strings.CutPrefix(path, "@")
	switch {
	case path == "":
		return node{}, errors.New("spark: a field without a name")
	case !ok:
		return l.record.at(path, want)
	}
	header, _ := strings.CutPrefix(name, "headers.")
	if !slices.Contains([]string{"topic", "partition", "offset", "timestamp", "key", "value"}, name) && (header == name || header == "") {
		return node{}, fmt.Errorf("spark: a record has no %q; it has @key, @value, @topic, @partition, @offset, @timestamp and @headers.NAME", path)
	}
	return node{kind: partKind(name), sql: l.record.part(name)}, nil
}

// choose leaves these columns only, in this order. Of records they are paths.
func (l *layout) choose(names []string) error {
	bindings := map[string]binding{}
	for _, name := range names {
		if _, twice := bindings[name]; twice {
			return fmt.Errorf("spark: Select names %q twice", name)
		}
		b, err := l.bound(name)
		if err != nil {
			return err
		}
		bindings[name] = b
	}
	l.bindings, l.columns, l.open, l.dropped = bindings, slices.Clone(names), false, nil
	return nil
}

// bound is what a name stands for now.
func (l *layout) bound(name string) (binding, error) {
	if b, ok := l.bindings[name]; ok {
		return b, nil
	}
	b, ok := l.path(name)
	if ok && b.in == nil {
		if strings.HasPrefix(name, "@") {
			_, err := l.ofRecord(name, stream.Any)
			return b, err
		}
		_, err := stream.ParsePath(b.alias)
		return b, err
	}
	_, err := l.field(name, stream.Any)
	return b, err
}

// drop takes columns away.
func (l *layout) drop(names []string) error {
	for _, name := range names {
		if _, ok := l.bindings[name]; !ok && !l.open {
			_, err := l.field(name, stream.Any)
			return err
		}
		delete(l.bindings, name)
		l.columns = slices.DeleteFunc(l.columns, func(c string) bool { return c == name })
		l.dropped = append(l.dropped, name)
	}
	return nil
}

// keep turns these columns and paths into columns of their own, and all others away: what follows has no record. The event time goes with
// them.
func (l *layout) keep(names []string) error {
	bindings, exprs := map[string]binding{}, []*protocol.Expr{}
	for _, name := range names {
		n, err := l.field(name, stream.Any)
		if err != nil {
			return err
		}
		b := binding{column: l.fresh(name), kind: n.kind}
		if n.of != nil {
			b.of = &origin{in: n.of.in, path: n.of.path, also: n.of.also}
		}
		bindings[name] = b
		exprs = append(exprs, named(n.sql, b.column))
	}
	l.closed(slices.Clone(names), bindings)
	l.rel = project(l.rel, append(exprs, l.beside()...)...)
	return nil
}

// closed makes the layout one of these columns.
func (l *layout) closed(names []string, bindings map[string]binding) {
	l.columns, l.bindings, l.open, l.record, l.exploded, l.dropped, l.order = names, bindings, false, nil, nil, nil, nil
}

// beside are the columns that go along without a name: the event time, and the window.
func (l *layout) beside() (exprs []*protocol.Expr) {
	switch {
	case l.window != "":
		return attributes(l.window)
	case l.time != "":
		return []*protocol.Expr{text(l.time)}
	}
	for _, side := range l.sides {
		exprs = append(exprs, text(side))
	}
	return exprs
}

// nodes are these fields as whatever they are.
func (l *layout) nodes(names []string) ([]node, error) {
	nodes := make([]node, len(names))
	for i, name := range names {
		var err error
		if nodes[i], err = l.field(name, stream.Any); err != nil {
			return nil, err
		}
	}
	return nodes, nil
}

// alias is the path that an expression is, if it is one and nothing else: such a column is read as what it is used for.
func (l *layout) alias(e plan.Expr) (binding, bool) {
	if e.Op != "field" || slices.Contains(l.dropped, e.Path) {
		return binding{}, false
	}
	return l.path(e.Path)
}
