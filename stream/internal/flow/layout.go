// Package flow runs the operators of a query on rows: those that need no memory row by row in the partition that a record came from, the
// others behind it.
package flow

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"cancha/stream/internal/aggregate"
	"cancha/stream/internal/decode"
	"cancha/stream/internal/eval"
	"cancha/stream/internal/value"
	"cancha/stream/plan"
)

// Row is the values of a row, at the places of its layout.
type Row = []value.Value

// Column is a column of rows.
type Column = aggregate.Column

// Layout tells where the values of a row lie: what an expression names is looked for here. It grows while a query is compiled. An open
// layout is that of records: a name that no step has given is a path of the record, and gets a place when it is asked for.
type Layout struct {
	bindings map[string]binding
	columns  []string // in their order; of an open layout those that steps have added
	open     bool
	width    int
	slots    []decode.Slot
	meta     []Meta
	elements []*elements
	dropped  []string
	compared []*eval.Compared
}

// binding is what a name stands for: a place, or a path of the record, or of the elements of an exploded array.
type binding struct {
	at     int
	kind   value.Kind
	alias  string    // the path; empty: a place
	of     *elements // nil: of the record
	beside bool      // of a place: it is made of parts of the record beside its value
}

// isPath tells whether the name stands for a path, and is read as what it is used for.
func (b binding) isPath() bool { return b.alias != "" || b.of != nil }

// Meta is a part of a record beside its value.
type Meta struct {
	Name string // topic, partition, offset, timestamp, key, value, or headers.NAME
	At   int
}

// elements are the rows of an exploded array: what is read of each of them.
type elements struct {
	name  string
	slots []decode.Slot
}

// Open is the layout of records.
func Open() *Layout { return &Layout{bindings: map[string]binding{}, open: true} }

// Closed is the layout of rows with these columns.
func Closed(columns []Column) *Layout {
	l := &Layout{bindings: map[string]binding{}}
	for _, c := range columns {
		l.name(c.Name, binding{at: l.place(), kind: c.Kind})
	}
	return l
}

// Width is how many places a row needs.
func (l *Layout) Width() int { return l.width }

// Slots are what is to be decoded of each record.
func (l *Layout) Slots() []decode.Slot { return l.slots }

// Meta are what is to be taken of each record beside its value.
func (l *Layout) Meta() []Meta { return l.meta }

// Watch implements eval.Watcher.
func (l *Layout) Watch(c *eval.Compared) { l.compared = append(l.compared, c) }

// Compared is what has been compiled for the layout and compares values of which nothing is known before.
func (l *Layout) Compared() []*eval.Compared { return l.compared }

// Columns are the columns that rows of the layout have, and nil and an error for records, whose columns nobody has named.
func (l *Layout) Columns() ([]Column, error) {
	if l.open {
		return nil, fmt.Errorf("stream: records have no columns yet; add .Select with the paths to give out")
	}
	columns := make([]Column, len(l.columns))
	for i, name := range l.columns {
		columns[i] = Column{Name: name, Kind: l.Kind(name)}
	}
	return columns, nil
}

func (l *Layout) place() int {
	l.width++
	return l.width - 1
}

func (l *Layout) name(name string, b binding) {
	if _, known := l.bindings[name]; !known {
		l.columns = append(l.columns, name)
	}
	l.bindings[name] = b
	l.dropped = slices.DeleteFunc(l.dropped, func(d string) bool { return d == name })
}

// Given tells whether a step has given a column of this name.
func (l *Layout) Given(name string) bool {
	_, ok := l.bindings[name]
	return ok
}

// Kind implements eval.Scope.
func (l *Layout) Kind(path string) value.Kind {
	if b, ok := l.bindings[path]; ok && !b.isPath() {
		return b.kind
	} else if ok && b.of != nil {
		return value.Any
	} else if ok {
		path = b.alias
	}
	if name, ok := strings.CutPrefix(path, "@"); ok {
		return metaKind(name)
	}
	return value.Any
}

func metaKind(name string) value.Kind {
	switch name {
	case "partition", "offset":
		return value.Int
	case "timestamp":
		return value.Time
	}
	return value.Text
}

// Field implements eval.Scope.
func (l *Layout) Field(path string, want value.Kind) (eval.Node, error) {
	if path == "" {
		return eval.Node{}, errors.New("stream: an empty path; name what it is in the record, such as \"user.city\", or \"@value\" for all of it")
	}
	if slices.Contains(l.dropped, path) {
		return eval.Node{}, fmt.Errorf("stream: the column %q was dropped before", path)
	}
	if b, ok := l.bindings[path]; ok && !b.isPath() {
		return eval.Column(b.at, b.kind), nil
	}
	if b, ok := l.path(path); ok && b.of != nil {
		return l.slot(&b.of.slots, b.alias, want)
	} else if ok {
		return l.record(b.alias, want)
	}
	return eval.Node{}, fmt.Errorf("stream: there is no column %q here; there are %s", path, strings.Join(l.columns, ", "))
}

// path is the path that a name stands for, of the record or of the elements of an array; false for a name of a place, or of nothing.
func (l *Layout) path(name string) (binding, bool) {
	if b, ok := l.bindings[name]; ok {
		return b, b.isPath()
	}
	for _, e := range slices.Backward(l.elements) {
		if name == e.name {
			return binding{of: e}, true
		}
		if rest, ok := strings.CutPrefix(name, e.name); ok && (rest[0] == '.' || rest[0] == '[') {
			return binding{alias: strings.TrimPrefix(rest, "."), of: e}, true
		}
	}
	if given, rest := l.above(name); given != "" {
		if b := l.bindings[given]; b.alias != "" && b.of == nil && l.open {
			return binding{alias: b.alias + rest}, true
		}
		return binding{}, false
	}
	return binding{alias: name}, l.open
}

// above is the column that a name is a path below, such as a of a.b, and what follows it; empty if there is none.
func (l *Layout) above(name string) (column, rest string) {
	for _, c := range l.columns {
		if after, ok := strings.CutPrefix(name, c); ok && len(c) > len(column) && (after[0] == '.' || after[0] == '[') {
			column, rest = c, after
		}
	}
	return column, rest
}

// record is a path of the record, or a part of it beside its value.
func (l *Layout) record(path string, want value.Kind) (eval.Node, error) {
	name, ok := strings.CutPrefix(path, "@")
	if !ok {
		return l.slot(&l.slots, path, want)
	}
	header, _ := strings.CutPrefix(name, "headers.")
	if !slices.Contains([]string{"topic", "partition", "offset", "timestamp", "key", "value"}, name) && (header == name || header == "") {
		return eval.Node{}, fmt.Errorf("stream: a record has no %q; it has @key, @value, @topic, @partition, @offset, @timestamp and @headers.NAME", path)
	}
	for _, m := range l.meta {
		if m.Name == name {
			return eval.Column(m.At, metaKind(name)), nil
		}
	}
	l.meta = append(l.meta, Meta{name, l.place()})
	return eval.Column(l.width-1, metaKind(name)), nil
}

// slot is the place of a path that is decoded, the same one for the same path and kind.
func (l *Layout) slot(slots *[]decode.Slot, path string, want value.Kind) (eval.Node, error) {
	if path != "" {
		if _, err := decode.ParsePath(path); err != nil {
			return eval.Node{}, fmt.Errorf("stream: %w", err)
		}
	}
	s := decode.Slot{Path: path}
	kind := value.Any
	switch want {
	case value.Float, value.Int:
		s.Want, kind = decode.Number, value.Float
	case value.Text:
		s.Want, kind = decode.Text, value.Text
	case value.Time:
		s.Want, kind = decode.Instant, value.Time
	case value.Bool:
		s.Want, kind = decode.Truth, value.Bool
	}
	for _, each := range *slots {
		if each.Path == s.Path && each.Want == s.Want {
			return eval.Column(each.At, kind), nil
		}
	}
	s.At = l.place()
	*slots = append(*slots, s)
	return eval.Column(s.At, kind), nil
}

// Select leaves these columns only, in this order. Of records they are paths.
func (l *Layout) Select(names []string) error {
	bindings := map[string]binding{}
	for _, name := range names {
		if _, twice := bindings[name]; twice {
			return fmt.Errorf("stream: Select names %q twice", name)
		}
		b, err := l.bind(name)
		if err != nil {
			return err
		}
		bindings[name] = b
	}
	l.bindings, l.columns, l.open, l.dropped = bindings, slices.Clone(names), false, nil
	return nil
}

// bind is what a name stands for now.
func (l *Layout) bind(name string) (binding, error) {
	if b, ok := l.bindings[name]; ok {
		return b, nil
	}
	b, ok := l.path(name)
	if !ok || b.of != nil || name == "" {
		_, err := l.Field(name, value.Any)
		return b, err
	}
	if strings.HasPrefix(name, "@") {
		_, err := l.record(name, value.Any)
		return binding{alias: name}, err
	}
	if _, err := decode.ParsePath(b.alias); err != nil {
		return binding{}, fmt.Errorf("stream: %w", err)
	}
	return b, nil
}

// Drop takes columns away.
func (l *Layout) Drop(names []string) error {
	for _, name := range names {
		if _, ok := l.bindings[name]; !ok && !l.open {
			_, err := l.Field(name, value.Any)
			return err
		}
		delete(l.bindings, name)
		l.columns = slices.DeleteFunc(l.columns, func(c string) bool { return c == name })
		l.dropped = append(l.dropped, name)
	}
	return nil
}

// Export compiles reading all columns: the values of a row in the order of Columns.
func (l *Layout) Export() ([]Column, func(dst, row Row) Row, error) {
	if _, err := l.Columns(); err != nil {
		return nil, nil, err
	}
	return l.Read(l.columns)
}

// Read compiles reading some columns or paths.
func (l *Layout) Read(names []string) ([]Column, func(dst, row Row) Row, error) {
	nodes := make([]eval.Node, len(names))
	columns := make([]Column, len(names))
	for i, name := range names {
		n, err := l.Field(name, value.Any)
		if err != nil {
			return nil, nil, err
		}
		nodes[i], columns[i] = n, Column{Name: name, Kind: n.Kind}
	}
	return columns, func(dst, row Row) Row {
		for i := range nodes {
			dst = append(dst, nodes[i].Value(row))
		}
		return dst
	}, nil
}

var _ eval.Scope = (*Layout)(nil)

// alias is the path that an expression is, if it is one and nothing else: such a column is read as what it is used for.
func (l *Layout) alias(e plan.Expr) (binding, bool) {
	if e.Op != "field" || e.Path == "" || slices.Contains(l.dropped, e.Path) {
		return binding{}, false
	}
	return l.path(e.Path)
}
