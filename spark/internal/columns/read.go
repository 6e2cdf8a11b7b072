package columns

import (
	"bytes"
	"fmt"
	"math"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

var nan = math.NaN()

// Read takes a batch as Spark sends it: Arrow's stream format, the schema first. The values do not share the batch's memory. Bytes that are
// damaged are an error, except that the schema is believed: arrow-go makes room for as many fields as it says it has.
func Read(batch []byte) (b *Batch, err error) {
	defer func() {
		if p := recover(); p != nil { // arrow-go trusts the lengths and the offsets that it reads
			b, err = nil, fmt.Errorf("columns: the batch is damaged: %v", p)
		}
	}()
	r, err := ipc.NewReader(bytes.NewReader(batch), ipc.WithAllocator(&bounded{Allocator: memory.DefaultAllocator, left: leastRoom + 64*len(batch)}))
	if err != nil {
		return nil, fmt.Errorf("columns: read the schema of a batch: %w", err)
	}
	defer r.Release()
	if b, err = empty(r.Schema()); err != nil {
		return nil, err
	}
	d := decoder{most: max(leastLength, 8*len(batch))}
	for r.Next() {
		if err := d.add(b, r.RecordBatch()); err != nil {
			return nil, err
		}
	}
	if err := r.Err(); err != nil {
		return nil, fmt.Errorf("columns: read a batch: %w", err)
	}
	return b, nil
}

// leastRoom is how much memory a batch may take whatever its length: some servers compress. Spark's own are of 4 MB.
const leastRoom = 128 << 20

// bounded gives out so much memory, and no more: the lengths in a batch are believed before they are checked.
type bounded struct {
	memory.Allocator
	left int
}

// Allocate implements memory.Allocator.
func (b *bounded) Allocate(size int) []byte {
	b.take(size)
	return b.Allocator.Allocate(size)
}

// Reallocate implements memory.Allocator.
func (b *bounded) Reallocate(size int, old []byte) []byte {
	b.take(size - len(old))
	return b.Allocator.Reallocate(size, old)
}

func (b *bounded) take(size int) {
	if b.left -= max(0, size); size < 0 || b.left < 0 {
		panic("it says that it is far longer than it is")
	}
}

// leastLength is how long a column may be that has no bytes for its rows, such as one of NULL.
const leastLength = 1 << 24

// decoder copies columns of Arrow's. A row takes a bit at least, but for columns without bytes.
type decoder struct{ most int }

// check refuses a column whose length cannot be true.
func (d decoder) check(a arrow.Array) error {
	if n := a.Len(); n < 0 || n > d.most {
		return fmt.Errorf("the batch is damaged: it says that it has %d values", n)
	}
	return nil
}

// empty is a batch without rows.
func empty(schema *arrow.Schema) (*Batch, error) {
	b := &Batch{}
	for _, f := range schema.Fields() {
		t, err := typeOf(f.Type)
		if err != nil {
			return nil, fmt.Errorf("columns: column %q: %w", f.Name, err)
		}
		b.Columns = append(b.Columns, Column{Name: f.Name, Type: t, Values: none(t.Kind)})
	}
	return b, nil
}

// add adds the rows of a batch of Arrow's.
func (d decoder) add(b *Batch, rec arrow.RecordBatch) error {
	next := &Batch{Rows: int(rec.NumRows()), Columns: make([]Column, len(b.Columns))}
	for i, a := range rec.Columns() {
		c := Column{Name: b.Columns[i].Name, Type: b.Columns[i].Type}
		var err error
		if c.Values, err = d.values(c.Type, a); err != nil {
			return fmt.Errorf("columns: column %q: %w", c.Name, err)
		}
		c.Missing = missing(a)
		next.Columns[i] = c
	}
	return b.Append(next)
}

// Append adds the rows of another batch, whose columns must be the same. The rows are copied unless there were none before.
func (b *Batch) Append(o *Batch) error {
	if len(b.Columns) != len(o.Columns) {
		return fmt.Errorf("columns: a batch of %d columns behind one of %d", len(o.Columns), len(b.Columns))
	}
	for i := range b.Columns {
		c, d := &b.Columns[i], o.Columns[i]
		if c.Name != d.Name || !c.Type.equal(d.Type) {
			return fmt.Errorf("columns: a batch with %s %v behind one with %s %v", d.Name, d.Type, c.Name, c.Type)
		}
		c.join(b.Rows, d, o.Rows)
	}
	b.Rows += o.Rows
	return nil
}

func (c *Column) join(rows int, d Column, more int) {
	if c.Missing != nil || d.Missing != nil {
		c.Missing = append(lasting(c.Missing, rows), lasting(d.Missing, more)...)
	}
	if rows == 0 {
		c.Values = d.Values
		return
	}
	c.Values = concat(c.Values, d.Values)
}

// lasting is which values are missing, a row each.
func lasting(missing []bool, rows int) []bool {
	if missing == nil {
		return make([]bool, rows)
	}
	return missing
}

func missing(a arrow.Array) []bool {
	if a.NullN() == 0 && a.DataType().ID() != arrow.NULL {
		return nil
	}
	all := make([]bool, a.Len())
	for i := range all {
		all[i] = a.IsNull(i) || a.DataType().ID() == arrow.NULL // which has no bitmap that says so
	}
	return all
}

// typeOf is the type of a column of Arrow's; an error for one that has no values here.
func typeOf(d arrow.DataType) (Type, error) {
	switch d := d.(type) {
	case *arrow.Decimal128Type:
		return Type{Kind: Number, Precision: int(d.Precision), Scale: int(d.Scale)}, nil
	case *arrow.TimestampType:
		if d.Unit != arrow.Microsecond {
			return Type{}, unknown(d, "")
		}
		if d.TimeZone == "" {
			return Type{Kind: TimestampNTZ}, nil
		}
		return Type{Kind: Timestamp}, nil
	case *arrow.DurationType:
		if d.Unit == arrow.Microsecond {
			return Type{Kind: DayTime}, nil
		}
	case *arrow.MapType:
		key, err := typeOf(d.KeyType())
		if err != nil {
			return Type{}, err
		}
		value, err := typeOf(d.ItemType())
		return mapOf(key, value), err
	case arrow.ListLikeType:
		element, err := typeOf(d.Elem())
		return arrayOf(element), err
	case *arrow.StructType:
		return structType(d)
	case *arrow.MonthIntervalType:
		return Type{}, unknown(d, "an interval of months is no time.Duration: cast(… AS INT) in the query gives the months")
	case *arrow.Time64Type, *arrow.Time32Type:
		return Type{}, unknown(d, "a time of day: cast(… AS STRING) in the query")
	}
	if k := plainKind(d.ID()); k != "" {
		return Type{Kind: k}, nil
	}
	return Type{}, unknown(d, "")
}

func plainKind(id arrow.Type) Kind {
	switch id {
	case arrow.NULL:
		return Void
	case arrow.BOOL:
		return Boolean
	case arrow.INT8:
		return Byte
	case arrow.INT16:
		return Short
	case arrow.INT32:
		return Int
	case arrow.INT64:
		return Long
	case arrow.FLOAT32:
		return Float
	case arrow.FLOAT64:
		return Double
	case arrow.STRING, arrow.LARGE_STRING:
		return String
	case arrow.BINARY, arrow.LARGE_BINARY:
		return Binary
	case arrow.DATE32:
		return Date
	}
	return ""
}

func unknown(d arrow.DataType, hint string) error {
	if hint == "" {
		hint = "cast(… AS STRING) in the query"
	}
	return fmt.Errorf("there are no Go values for Arrow's type %v (%s)", d, hint)
}

func structType(d *arrow.StructType) (Type, error) {
	t := Type{Kind: Record}
	for _, f := range d.Fields() {
		if f.HasMetadata() && f.Metadata.FindKey("variant") >= 0 { // how Spark marks one, in a struct of two parts that only it can read
			return Type{}, fmt.Errorf("there are no Go values for a variant (to_json(…), or variant_get(…) with a type, in the query)")
		}
		part, err := typeOf(f.Type)
		if err != nil {
			return Type{}, fmt.Errorf("part %q: %w", f.Name, err)
		}
		t.Parts = append(t.Parts, Field{f.Name, part})
	}
	return t, nil
}

// none is a column without rows.
func none(k Kind) any {
	switch k {
	case Boolean:
		return []bool{}
	case Byte, Short, Int, Long:
		return []int64{}
	case Float, Double:
		return []float64{}
	case String:
		return []string{}
	case Date, Timestamp, TimestampNTZ:
		return []time.Time{}
	case DayTime:
		return []time.Duration{}
	}
	return []any{}
}

// concat is a behind b, both of one type of none's.
func concat(a, b any) any {
	switch a := a.(type) {
	case []bool:
		return append(a, b.([]bool)...)
	case []int64:
		return append(a, b.([]int64)...)
	case []float64:
		return append(a, b.([]float64)...)
	case []string:
		return append(a, b.([]string)...)
	case []time.Time:
		return append(a, b.([]time.Time)...)
	case []time.Duration:
		return append(a, b.([]time.Duration)...)
	}
	return append(a.([]any), b.([]any)...)
}

// at is a value of one of none's slices, boxed.
func at(values any, i int) any {
	switch v := values.(type) {
	case []bool:
		return v[i]
	case []int64:
		return v[i]
	case []float64:
		return v[i]
	case []string:
		return v[i]
	case []time.Time:
		return v[i]
	case []time.Duration:
		return v[i]
	}
	return values.([]any)[i]
}

// values copies a column of Arrow's into a slice as none has it. Missing ones are zero.
func (d decoder) values(t Type, a arrow.Array) (any, error) {
	if err := d.check(a); err != nil {
		return nil, err
	}
	switch a := a.(type) {
	case *array.Boolean:
		return copied(a, func(i int) bool { return a.Value(i) }), nil
	case *array.Int8:
		return copied(a, func(i int) int64 { return int64(a.Value(i)) }), nil
	case *array.Int16:
		return copied(a, func(i int) int64 { return int64(a.Value(i)) }), nil
	case *array.Int32:
		return copied(a, func(i int) int64 { return int64(a.Value(i)) }), nil
	case *array.Int64:
		return copied(a, func(i int) int64 { return a.Value(i) }), nil
	case *array.Float32:
		return copied(a, func(i int) float64 { return float64(a.Value(i)) }), nil
	case *array.Float64:
		return copied(a, func(i int) float64 { return a.Value(i) }), nil
	case *array.String:
		return texts(a), nil
	case *array.LargeString:
		return copied(a, func(i int) string { return string([]byte(a.Value(i))) }), nil
	case *array.Date32:
		return copied(a, func(i int) time.Time { return time.Unix(int64(a.Value(i))*86400, 0).UTC() }), nil
	case *array.Timestamp:
		return copied(a, func(i int) time.Time { return time.UnixMicro(int64(a.Value(i))).UTC() }), nil
	case *array.Duration:
		return durations(a)
	}
	return d.boxed(t, a)
}

func copied[T any](a arrow.Array, value func(i int) T) []T {
	all := make([]T, a.Len())
	for i := range all {
		if a.IsValid(i) {
			all[i] = value(i)
		}
	}
	return all
}

// texts has one copy of the bytes for the whole column: a string that is kept would otherwise keep the batch, or cost an allocation each.
func texts(a *array.String) []string {
	if a.Len() == 0 {
		return []string{}
	}
	bytes, first := string(a.ValueBytes()), a.ValueOffset(0)
	return copied(a, func(i int) string {
		from := a.ValueOffset(i) - first
		return bytes[from : from+a.ValueLen(i)]
	})
}

func durations(a *array.Duration) ([]time.Duration, error) {
	for i := range a.Len() {
		if us := int64(a.Value(i)); a.IsValid(i) && (us > math.MaxInt64/1000 || us < math.MinInt64/1000) {
			return nil, fmt.Errorf("an interval of %d microseconds is longer than a time.Duration, 292 years", us)
		}
	}
	return copied(a, func(i int) time.Duration { return time.Duration(a.Value(i)) * time.Microsecond }), nil
}

// boxed is a column of values that have no slice of their own type: nil where one is missing. What lies inside lists, maps and structs is taken a
// column at a time too.
func (d decoder) boxed(t Type, a arrow.Array) ([]any, error) {
	if err := d.check(a); err != nil {
		return nil, err
	}
	switch a := a.(type) {
	case *array.Null:
		return make([]any, a.Len()), nil
	case *array.Decimal128:
		return present(a, func(i int) any { return decimalOf(a.Value(i).BigInt(), t.Scale) }), nil
	case *array.Binary:
		return present(a, func(i int) any { return bytes.Clone(a.Value(i)) }), nil
	case *array.LargeBinary:
		return present(a, func(i int) any { return bytes.Clone(a.Value(i)) }), nil
	case *array.Map: // before ListLike, which it is too
		return d.maps(t, a)
	case array.ListLike:
		return d.lists(t, a)
	case *array.Struct:
		return d.structs(t, a)
	}
	all, err := d.values(t, a) // of a type that has a slice
	if err != nil {
		return nil, err
	}
	return present(a, func(i int) any { return at(all, i) }), nil
}

func present(a arrow.Array, value func(i int) any) []any { return copied(a, value) }

// span is the part of all elements that the lists of a column have.
func span(a array.ListLike) (from, to int64) {
	if a.Len() == 0 {
		return 0, 0
	}
	from, _ = a.ValueOffsets(0)
	_, to = a.ValueOffsets(a.Len() - 1)
	return from, to
}

// inside boxes the part [from, to) of a column.
func (d decoder) inside(t Type, all arrow.Array, from, to int64) ([]any, error) {
	part := array.NewSlice(all, from, to)
	defer part.Release()
	return d.boxed(t, part)
}

func (d decoder) lists(t Type, a array.ListLike) ([]any, error) {
	first, end := span(a)
	elements, err := d.inside(t.Parts[0].Type, a.ListValues(), first, end)
	return present(a, func(i int) any {
		from, to := a.ValueOffsets(i)
		return part(elements, from-first, to-first)
	}), err
}

func (d decoder) maps(t Type, a *array.Map) ([]any, error) {
	first, end := span(a)
	keys, err := d.inside(t.Parts[0].Type, a.Keys(), first, end)
	if err != nil {
		return nil, err
	}
	items, err := d.inside(t.Parts[1].Type, a.Items(), first, end)
	return present(a, func(i int) any {
		from, to := a.ValueOffsets(i)
		return Map{part(keys, from-first, to-first), part(items, from-first, to-first)}
	}), err
}

// part has no room behind it: who appends to a list does not write into the next.
func part(all []any, from, to int64) []any {
	if all == nil {
		return nil
	}
	return all[from:to:to]
}

func (d decoder) structs(t Type, a *array.Struct) ([]any, error) {
	names, parts := make([]string, len(t.Parts)), make([][]any, len(t.Parts))
	for k, p := range t.Parts {
		var err error
		if parts[k], err = d.boxed(p.Type, a.Field(k)); err != nil {
			return nil, fmt.Errorf("part %q: %w", p.Name, err)
		}
		names[k] = p.Name
	}
	return present(a, func(i int) any {
		s := Struct{Names: names, Values: make([]any, len(parts))}
		for k := range parts {
			s.Values[k] = parts[k][i]
		}
		return s
	}), nil
}
