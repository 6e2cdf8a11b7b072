package columns

import (
	"bytes"
	"fmt"
	"math"
	"math/big"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// Write makes one batch of Arrow's stream format, as Spark takes rows. The values of a column are a slice as Read gives it; in a []any there may
// also be what Go has beside these: any integer and float, slices, maps, structs (by their exported fields) and pointers, where a nil pointer is a
// missing value. A column whose Type is unknown gets the one that all its values fit.
func Write(b *Batch) ([]byte, error) {
	fields, arrays := make([]arrow.Field, len(b.Columns)), make([]arrow.Array, len(b.Columns))
	defer func() {
		for _, a := range arrays {
			if a != nil {
				a.Release()
			}
		}
	}()
	for i := range b.Columns {
		c := &b.Columns[i]
		a, err := c.array(b.Rows)
		if err != nil {
			return nil, fmt.Errorf("columns: column %q: %w", c.Name, err)
		}
		arrays[i], fields[i] = a, arrow.Field{Name: c.Name, Type: a.DataType(), Nullable: true}
	}
	return stream(arrow.NewSchema(fields, nil), arrays, b.Rows)
}

func stream(schema *arrow.Schema, arrays []arrow.Array, rows int) ([]byte, error) {
	rec := array.NewRecordBatch(schema, arrays, int64(rows))
	defer rec.Release()
	var out bytes.Buffer
	w := ipc.NewWriter(&out, ipc.WithSchema(schema))
	if err := w.Write(rec); err != nil {
		return nil, fmt.Errorf("columns: write a batch: %w", err)
	}
	if err := w.Close(); err != nil {
		return nil, fmt.Errorf("columns: write a batch: %w", err)
	}
	return out.Bytes(), nil
}

// array is the column as Arrow has it.
func (c *Column) array(rows int) (arrow.Array, error) {
	if n := length(c.Values); n != rows || c.Missing != nil && len(c.Missing) != rows {
		return nil, fmt.Errorf("%d values, and %d marks of missing ones, for %d rows", n, len(c.Missing), rows)
	}
	t, all, err := c.canonical()
	if err != nil {
		return nil, err
	}
	d, err := arrowType(t)
	if err != nil {
		return nil, err
	}
	b := array.NewBuilder(memory.DefaultAllocator, d)
	defer b.Release()
	b.Reserve(rows)
	for i := range rows {
		if err := add(b, t, all(i)); err != nil {
			return nil, fmt.Errorf("row %d: %w", i+1, err)
		}
	}
	return b.NewArray(), nil
}

// canonical are the column's values in the form that Read gives, and their type.
func (c *Column) canonical() (t Type, value func(i int) any, err error) {
	boxes, mixed := c.Values.([]any)
	if !mixed {
		return c.typed(), c.Value, nil
	}
	plain := make([]any, len(boxes))
	found := Type{Kind: Void}
	for i := range boxes {
		if c.Missing != nil && c.Missing[i] {
			continue
		}
		if plain[i], err = canonical(boxes[i]); err == nil && c.Type.Kind == "" {
			var next Type
			if next, err = infer(plain[i]); err == nil {
				found, err = both(found, next)
			}
		}
		if err != nil {
			return Type{}, nil, fmt.Errorf("row %d: %w", i+1, err)
		}
	}
	if c.Type.Kind != "" {
		found = c.Type
	}
	return found, func(i int) any { return plain[i] }, nil
}

// typed is the column's type, which its slice tells where the column does not.
func (c *Column) typed() Type {
	if c.Type.Kind != "" {
		return c.Type
	}
	switch c.Values.(type) {
	case []bool:
		return Type{Kind: Boolean}
	case []int64:
		return Type{Kind: Long}
	case []float64:
		return Type{Kind: Double}
	case []string:
		return Type{Kind: String}
	case []time.Time:
		return Type{Kind: Timestamp}
	}
	return Type{Kind: DayTime}
}

func length(values any) int {
	switch v := values.(type) {
	case []bool:
		return len(v)
	case []int64:
		return len(v)
	case []float64:
		return len(v)
	case []string:
		return len(v)
	case []time.Time:
		return len(v)
	case []time.Duration:
		return len(v)
	case []any:
		return len(v)
	}
	return -1 // no slice of a column's
}

// arrowType is the contrary of typeOf.
func arrowType(t Type) (arrow.DataType, error) {
	switch t.Kind {
	case Void:
		return arrow.Null, nil
	case Boolean:
		return arrow.FixedWidthTypes.Boolean, nil
	case Byte:
		return arrow.PrimitiveTypes.Int8, nil
	case Short:
		return arrow.PrimitiveTypes.Int16, nil
	case Int:
		return arrow.PrimitiveTypes.Int32, nil
	case Long:
		return arrow.PrimitiveTypes.Int64, nil
	case Float:
		return arrow.PrimitiveTypes.Float32, nil
	case Double:
		return arrow.PrimitiveTypes.Float64, nil
	case Number:
		return &arrow.Decimal128Type{Precision: int32(t.Precision), Scale: int32(t.Scale)}, nil
	case String:
		return arrow.BinaryTypes.String, nil
	case Binary:
		return arrow.BinaryTypes.Binary, nil
	case Date:
		return arrow.FixedWidthTypes.Date32, nil
	case Timestamp:
		return &arrow.TimestampType{Unit: arrow.Microsecond, TimeZone: "UTC"}, nil
	case TimestampNTZ:
		return &arrow.TimestampType{Unit: arrow.Microsecond}, nil
	case DayTime:
		return arrow.FixedWidthTypes.Duration_us, nil
	case Array, Mapping, Record:
		return nested(t)
	}
	return nil, fmt.Errorf("the type %v is none that Spark has", t)
}

func nested(t Type) (arrow.DataType, error) {
	parts := make([]arrow.Field, len(t.Parts))
	for i, p := range t.Parts {
		d, err := arrowType(p.Type)
		if err != nil {
			return nil, err
		}
		parts[i] = arrow.Field{Name: p.Name, Type: d, Nullable: true}
	}
	switch t.Kind {
	case Array:
		return arrow.ListOfField(parts[0]), nil
	case Mapping:
		return arrow.MapOf(parts[0].Type, parts[1].Type), nil
	}
	return arrow.StructOf(parts...), nil
}

// add appends a value of Read's form.
func add(b array.Builder, t Type, v any) error {
	if v == nil {
		b.AppendNull()
		return nil
	}
	switch b := b.(type) {
	case *array.ListBuilder:
		if list, ok := v.([]any); ok {
			return addList(b, t, list)
		}
	case *array.MapBuilder:
		if m, ok := v.(Map); ok {
			return addMap(b, t, m)
		}
	case *array.StructBuilder:
		if s, ok := v.(Struct); ok {
			return addStruct(b, t, s)
		}
	default:
		return addPlain(b, t, v)
	}
	return misfit(t, v)
}

func misfit(t Type, v any) error {
	return fmt.Errorf("%v (%T) is no value of a column of %v", plainText(v), v, t)
}

func addList(b *array.ListBuilder, t Type, list []any) error {
	b.Append(true)
	for _, e := range list {
		if err := add(b.ValueBuilder(), t.Parts[0].Type, e); err != nil {
			return err
		}
	}
	return nil
}

func addMap(b *array.MapBuilder, t Type, m Map) error {
	b.Append(true)
	for i, k := range m.Keys {
		if k == nil {
			return fmt.Errorf("a map has a key that is missing, which Spark's maps cannot have")
		}
		if err := add(b.KeyBuilder(), t.Parts[0].Type, k); err != nil {
			return err
		}
		if err := add(b.ItemBuilder(), t.Parts[1].Type, m.Values[i]); err != nil {
			return err
		}
	}
	return nil
}

func addStruct(b *array.StructBuilder, t Type, s Struct) error {
	b.Append(true)
	for k, p := range t.Parts {
		if k >= len(s.Names) || s.Names[k] != p.Name {
			return fmt.Errorf("a struct with %q where others have %v", s.Names, t)
		}
		if err := add(b.FieldBuilder(k), p.Type, s.Values[k]); err != nil {
			return err
		}
	}
	return nil
}

// addPlain appends a value that has no parts.
func addPlain(b array.Builder, t Type, v any) error {
	switch v := v.(type) {
	case bool:
		if b, ok := b.(*array.BooleanBuilder); ok {
			b.Append(v)
			return nil
		}
	case int64:
		return addInt(b, t, v)
	case float64:
		return addFloat(b, t, v)
	case string:
		if b, ok := b.(*array.StringBuilder); ok {
			b.Append(v)
			return nil
		}
	case []byte:
		if b, ok := b.(*array.BinaryBuilder); ok {
			b.Append(v)
			return nil
		}
	case Decimal:
		if b, ok := b.(*array.Decimal128Builder); ok {
			return addDecimal(b, t, v)
		}
	case time.Time:
		return addTime(b, t, v)
	case time.Duration:
		return addDuration(b, t, v)
	}
	return misfit(t, v)
}

func addInt(b array.Builder, t Type, n int64) error {
	switch b := b.(type) {
	case *array.Int64Builder:
		b.Append(n)
		return nil
	case *array.Int32Builder:
		if n == int64(int32(n)) {
			b.Append(int32(n))
			return nil
		}
	case *array.Int16Builder:
		if n == int64(int16(n)) {
			b.Append(int16(n))
			return nil
		}
	case *array.Int8Builder:
		if n == int64(int8(n)) {
			b.Append(int8(n))
			return nil
		}
	case *array.Float64Builder: // whole numbers among others
		if n >= -1<<53 && n <= 1<<53 {
			b.Append(float64(n))
			return nil
		}
	}
	return misfit(t, n)
}

func addFloat(b array.Builder, t Type, x float64) error {
	switch b := b.(type) {
	case *array.Float64Builder:
		b.Append(x)
		return nil
	case *array.Float32Builder:
		if float64(float32(x)) == x || x != x {
			b.Append(float32(x))
			return nil
		}
	}
	return misfit(t, x)
}

func addDecimal(b *array.Decimal128Builder, t Type, d Decimal) error {
	unscaled, scale, err := d.parts()
	if err != nil {
		return err
	}
	if scale > t.Scale {
		return misfit(t, d)
	}
	unscaled.Mul(unscaled, new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(t.Scale-scale)), nil))
	if len(new(big.Int).Abs(unscaled).String()) > t.Precision {
		return misfit(t, d)
	}
	b.Append(decimal128.FromBigInt(unscaled))
	return nil
}

// longest is how many seconds from 1970 a timestamp can be away: microseconds are counted in 64 bits.
const longest = math.MaxInt64/1_000_000 - 1

func addTime(b array.Builder, t Type, at time.Time) error {
	switch b := b.(type) {
	case *array.Date32Builder:
		at = at.UTC()
		if days := at.Unix() / 86400; at.Unix()%86400 == 0 && at.Nanosecond() == 0 && days == int64(int32(days)) {
			b.Append(arrow.Date32(days))
			return nil
		}
		return fmt.Errorf("%v is no date: want midnight in UTC", at)
	case *array.TimestampBuilder:
		if at.Nanosecond()%1000 != 0 {
			return fmt.Errorf("%v has nanoseconds, which Spark's timestamps have not: Truncate(time.Microsecond)", at)
		}
		if s := at.Unix(); s < -longest || s > longest {
			return misfit(t, at)
		}
		b.Append(arrow.Timestamp(at.UnixMicro()))
		return nil
	}
	return misfit(t, at)
}

func addDuration(b array.Builder, t Type, d time.Duration) error {
	if d%time.Microsecond != 0 {
		return fmt.Errorf("%v has nanoseconds, which Spark's intervals have not: Truncate(time.Microsecond)", d)
	}
	if b, ok := b.(*array.DurationBuilder); ok {
		b.Append(arrow.Duration(d / time.Microsecond))
		return nil
	}
	return misfit(t, d)
}
