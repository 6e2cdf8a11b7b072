package parquet

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"
	"unicode/utf8"

	pq "github.com/parquet-go/parquet-go"

	"cancha/stream"
)

// column is what becomes of a column of rows.
type column struct {
	name string
	kind stream.Kind // of the file's column: never Any or Null
	unit pq.TimeUnit // of times
}

// columnsOf decides what the columns become: by their kinds, or by what the user has said of those of kind Any.
func columnsOf(columns []stream.Column, as map[string]stream.Kind, unit pq.TimeUnit) ([]column, error) {
	if len(columns) == 0 {
		return nil, errors.New("the rows have no columns")
	}
	var all []column
	known := map[string]bool{}
	for _, c := range columns {
		if c.Name == "" || known[c.Name] {
			return nil, fmt.Errorf("a column is called %q, which is empty or taken: name it by With, and drop the old one", c.Name)
		}
		known[c.Name] = true
		kind, said := as[c.Name]
		switch {
		case said && c.Kind != stream.Any && c.Kind != kind:
			return nil, fmt.Errorf("column %s is %v, and As says %v: As is for columns whose kind the query does not know", c.Name, c.Kind, kind)
		case said && (kind == stream.Any || kind > stream.Any || kind == stream.Null):
			return nil, fmt.Errorf("column %s as %v: want Bool, Int, Float, Text, Time or JSON", c.Name, kind)
		case !said && (c.Kind == stream.Any || c.Kind == stream.Null):
			kind = stream.Text
		case !said:
			kind = c.Kind
		}
		all = append(all, column{c.Name, kind, unit})
	}
	for name := range as {
		if !known[name] {
			return nil, fmt.Errorf("As names column %s, which the rows do not have", name)
		}
	}
	return all, nil
}

// schemaOf is the file's schema, with the columns in their order. Each may be null.
func schemaOf(columns []column) *pq.Schema {
	g := group{Group: pq.Group{}}
	for _, c := range columns {
		node := pq.Optional(c.node())
		g.Group[c.name] = node
		g.fields = append(g.fields, field{node, c.name})
	}
	return pq.NewSchema("rows", g)
}

func (c column) node() pq.Node {
	switch c.kind {
	case stream.Bool:
		return pq.Leaf(pq.BooleanType)
	case stream.Int:
		return pq.Int(64)
	case stream.Float:
		return pq.Leaf(pq.DoubleType)
	case stream.Time:
		return pq.Timestamp(c.unit)
	case stream.JSON:
		return pq.JSON()
	}
	return pq.Encoded(pq.String(), &pq.RLEDictionary) // texts of rows are names and keys, which come again and again
}

// group is the library's group of columns in an order of ours: its own is that of the names.
type group struct {
	pq.Group
	fields []pq.Field
}

// Fields implements pq.Node.
func (g group) Fields() []pq.Field { return g.fields }

// GoType implements pq.Node: the Group's would be a struct, and the names of columns need not be names of fields.
func (g group) GoType() reflect.Type { return reflect.TypeFor[map[string]any]() }

type field struct {
	pq.Node
	name string
}

// Name implements pq.Field.
func (f field) Name() string { return f.name }

// Value implements pq.Field. Nobody asks: rows are written as rows, not as Go values.
func (f field) Value(base reflect.Value) reflect.Value {
	return base.MapIndex(reflect.ValueOf(f.name))
}

// misfit says why a value cannot stand in the column; nil: it can.
func (c column) misfit(v stream.Value) error {
	switch k := v.Kind(); {
	case k == stream.Null, k == c.kind, c.kind == stream.Text, c.kind == stream.JSON:
		return nil
	case c.kind == stream.Int && k == stream.Float:
		if x := v.Float(); x == math.Trunc(x) && math.Abs(x) <= 1<<53 {
			return nil
		}
	case c.kind == stream.Float && k == stream.Int:
		if n := v.Int(); n >= -1<<53 && n <= 1<<53 {
			return nil
		}
		return fmt.Errorf("column %s is a number, which cannot hold the integer %d; select the field itself, not what is computed of it", c.name, v.Int())
	}
	return fmt.Errorf("column %s is %v, and the value is %v: %.80q", c.name, c.kind, v.Kind(), v.String())
}

// encoder turns values into the library's. Texts lie in one buffer until they are written.
type encoder struct {
	columns []column
	texts   []byte
}

// row appends the values of a row, all of which fit.
func (e *encoder) row(dst pq.Row, rows *stream.Rows, i int) pq.Row {
	for at, c := range e.columns {
		v := rows.At(i, at)
		if v.IsNull() {
			dst = append(dst, pq.NullValue().Level(0, 0, at))
			continue
		}
		dst = append(dst, e.value(c, v).Level(0, 1, at))
	}
	return dst
}

func (e *encoder) value(c column, v stream.Value) pq.Value {
	switch c.kind {
	case stream.Bool:
		return pq.BooleanValue(v.Bool())
	case stream.Int:
		return pq.Int64Value(v.Int())
	case stream.Float:
		return pq.DoubleValue(v.Float())
	case stream.Time:
		return pq.Int64Value(floor(v.Nanos(), int64(c.unit.Duration())))
	}
	from := len(e.texts)
	switch {
	case c.kind == stream.JSON:
		e.texts = v.AppendJSON(e.texts)
	default:
		e.texts = append(e.texts, v.Text()...)
	}
	if text := e.texts[from:]; !utf8.Valid(text) {
		e.texts = append(e.texts[:from], strings.ToValidUTF8(string(text), "\uFFFD")...)
	}
	return pq.ByteArrayValue(e.texts[from:len(e.texts):len(e.texts)])
}

// floor is how often d is in n, rounded down.
func floor(n, d int64) int64 {
	if n%d < 0 {
		return n/d - 1
	}
	return n / d
}
