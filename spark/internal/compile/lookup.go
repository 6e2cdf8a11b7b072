package compile

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"cancha/spark/internal/protocol"
	"cancha/stream"
	"cancha/stream/plan"
)

// lookup adds the columns of a table's row with the same keys: a join of the stream with rows that are none.
func (l *layout) lookup(s plan.Step, all []plan.Step) error {
	names, err := l.wanted(all)
	if err != nil {
		return err
	}
	if err := l.keep(names); err != nil {
		return err
	}
	table, err := l.tableOf(s)
	if err != nil {
		return err
	}
	conditions, err := l.equal(s.Join, table)
	if err != nil {
		return err
	}
	l.rel = &protocol.Relation{Of: &protocol.Relation_Join{Join: &protocol.Join{Left: l.rel, Right: table.rel,
		Condition: text(strings.Join(conditions, " AND ")), Kind: joinKinds[s.Join.Kind]}}}
	return l.merge(s.Join, table)
}

// tableOf is the table of a lookup: rows of the plan, or the latest that a query has given for each key.
func (l *layout) tableOf(s plan.Step) (*layout, error) {
	switch {
	case s.Table != nil:
		return l.fixed(s)
	case s.Other != nil:
		return l.latest(s)
	}
	return nil, errors.New("spark: a lookup without the rows of its table")
}

// largestTable is how much JSON of a table goes along with a query.
const largestTable = 16 << 20

// fixed is a table of rows, which go along as one text of JSON: Spark reads that faster than as many lists of literals.
func (l *layout) fixed(s plan.Step) (*layout, error) {
	t := &layout{compiler: l.compiler, bindings: map[string]binding{}, operators: l.operators}
	text, err := rowsJSON(s.Table, s.Join.Right)
	switch {
	case err != nil:
		return nil, err
	case len(text) > largestTable:
		return nil, fmt.Errorf("spark: the table %q is %d MB as JSON, and at most %d go along with a query; write its rows to a topic "+
			"and look up Latest of that", s.Name, len(text)>>20, largestTable>>20)
	}
	fields, exprs := make([]string, len(s.Table.Names)), make([]*protocol.Expr, len(s.Table.Names))
	for i, name := range s.Table.Names {
		kind, sql := tableKind(s.Table.Kinds[i]), fmt.Sprintf("c%d", i)
		fields[i] = fmt.Sprintf("c%d %s", i, typeOf(kind))
		if kind == stream.Time {
			fields[i], sql = fmt.Sprintf("c%d BIGINT", i), fmt.Sprintf("timestamp_micros(c%d)", i)
		}
		column := l.fresh(name)
		exprs[i] = named(sql, column)
		t.name(name, binding{column: column, kind: kind})
	}
	query := fmt.Sprintf("SELECT inline(from_json(%s, 'ARRAY<STRUCT<%s>>'))", quote(text), strings.Join(fields, ", "))
	t.rel = project(&protocol.Relation{Of: &protocol.Relation_Sql{Sql: &protocol.SQL{Query: query}}}, exprs...)
	return t, nil
}

// tableKind is a kind as columns have them.
func tableKind(k stream.Kind) stream.Kind {
	if k == stream.Null {
		return stream.Any
	}
	return k
}

// rowsJSON are the rows of a table as JSON: of rows with the same keys the last, and none that lacks one.
func rowsJSON(t *plan.Table, keys []string) (string, error) {
	at := make([]int, len(keys))
	for i, key := range keys {
		if at[i] = slices.Index(t.Names, key); at[i] < 0 {
			return "", fmt.Errorf("spark: the table has no column %q", key)
		}
	}
	kept, order := map[string]map[string]any{}, []string{}
	for _, row := range t.Rows {
		var key []byte
		for _, k := range at {
			if key = row[k].AppendKey(key); row[k].IsNull() {
				key = nil
				break
			}
		}
		if key == nil {
			continue
		}
		values, err := rowJSON(t, row)
		if err != nil {
			return "", err
		}
		if kept[string(key)] == nil {
			order = append(order, string(key))
		}
		kept[string(key)] = values
	}
	rows := make([]map[string]any, len(order))
	for i, key := range order {
		rows[i] = kept[key]
	}
	text, err := json.Marshal(rows)
	return string(text), err
}

// rowJSON is one row of a table, absent values left out.
func rowJSON(t *plan.Table, row []plan.Value) (map[string]any, error) {
	values := map[string]any{}
	for i, v := range row {
		name := fmt.Sprintf("c%d", i)
		switch kind := tableKind(t.Kinds[i]); {
		case v.IsNull() || v.Kind() == stream.Float && math.IsInf(v.Float(), 0):
		case kind == stream.Time:
			values[name] = floor(v.Nanos(), 1000) / 1000
		case kind != stream.Any && kind != stream.JSON:
			values[name] = v.Go()
		case v.Kind() == stream.Time:
			return nil, fmt.Errorf("spark: the column %q of the table has a time among other values; give it the Kind Time, or texts", t.Names[i])
		default:
			values[name] = string(v.AppendJSON(nil))
		}
	}
	return values, nil
}

// latest is the table of the row of a query for each key that came last. Spark reads all that the query's topic holds anew for each batch.
func (l *layout) latest(s plan.Step) (*layout, error) {
	l.table = true
	t, err := l.other(s.Other)
	l.table = false
	if err != nil {
		return nil, err
	}
	l.note(fmt.Sprintf("The table %q is read anew, from the beginning of its topic, for each batch.", s.Name))
	members, names, bindings := []string{}, slices.Clone(t.columns), map[string]binding{}
	for _, name := range names {
		n, err := t.field(name, stream.Any)
		if err != nil {
			return nil, err
		}
		column := l.fresh(name)
		members = append(members, fmt.Sprintf("%s AS %s", n.sql, quoted(column)))
		bindings[name] = binding{column: column, kind: n.kind}
	}
	by, err := t.tableKeys(s)
	if err != nil {
		return nil, err
	}
	row, order := l.fresh("#row"), append([]string{t.record.part("timestamp")}, t.order...)
	last := fmt.Sprintf("max_by(struct(%s), struct(%s))", strings.Join(members, ", "), strings.Join(order, ", "))
	t.rel = group(t.rel, by, []*protocol.Expr{named(last, row)})
	t.rel = project(t.rel, text(quoted(row)+".*"))
	t.closed(names, bindings)
	return t, nil
}

// tableKeys are the keys of a table that a query fills. Rows that lack one are left out.
func (l *layout) tableKeys(s plan.Step) (by []*protocol.Expr, err error) {
	for _, name := range s.Join.Right {
		n, err := l.field(name, stream.Any)
		if err != nil {
			return nil, err
		}
		l.rel = filter(l.rel, n.sql+" IS NOT NULL")
		by = append(by, named(n.sql, l.fresh("#key")))
	}
	return by, nil
}
