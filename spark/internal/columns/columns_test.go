package columns

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"math/big"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

var (
	noon  = time.Date(2026, 3, 1, 12, 0, 0, 123456000, time.UTC)
	early = time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC)
	late  = time.Date(9999, 12, 31, 23, 59, 59, 999999000, time.UTC)
	day   = time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
)

// everyType has a column of each type, with values at the ends of their ranges and a missing one.
func everyType() *Batch {
	window := Type{Kind: Record, Parts: []Field{{"start", Type{Kind: Timestamp}}, {"tags", arrayOf(Type{Kind: String})}}}
	missing := []bool{false, false, true}
	return &Batch{Rows: 3, Columns: []Column{
		{"void", Type{Kind: Void}, []any{nil, nil, nil}, []bool{true, true, true}},
		{"boolean", Type{Kind: Boolean}, []bool{true, false, false}, missing},
		{"tinyint", Type{Kind: Byte}, []int64{-128, 127, 0}, missing},
		{"smallint", Type{Kind: Short}, []int64{math.MinInt16, math.MaxInt16, 0}, missing},
		{"int", Type{Kind: Int}, []int64{math.MinInt32, math.MaxInt32, 0}, missing},
		{"bigint", Type{Kind: Long}, []int64{math.MinInt64, math.MaxInt64, 0}, missing},
		{"whole", Type{Kind: Long}, []int64{1, 2, 3}, nil},
		{"float", Type{Kind: Float}, []float64{0.5, math.Inf(-1), 0}, missing},
		{"double", Type{Kind: Double}, []float64{0.1, math.MaxFloat64, 0}, missing},
		{"decimal", Type{Kind: Number, Precision: 38, Scale: 2}, []any{Decimal("-0.05"), Decimal("999999999999999999999999999999999999.99"), nil}, missing},
		{"string", Type{Kind: String}, []string{"", "Köln\n", ""}, missing},
		{"binary", Type{Kind: Binary}, []any{[]byte{0, 255}, []byte{}, nil}, missing},
		{"date", Type{Kind: Date}, []time.Time{day, early, {}}, missing},
		{"timestamp", Type{Kind: Timestamp}, []time.Time{noon, late, {}}, missing},
		{"timestamp_ntz", Type{Kind: TimestampNTZ}, []time.Time{noon, early, {}}, missing},
		{"interval", Type{Kind: DayTime}, []time.Duration{-time.Hour, 90 * time.Microsecond, 0}, missing},
		{"array", arrayOf(Type{Kind: Double}), []any{[]any{1.5, nil}, []any{}, nil}, missing},
		{"arrays", arrayOf(arrayOf(Type{Kind: Long})), []any{[]any{[]any{int64(1)}, nil, []any{}}, []any{[]any{int64(2), int64(3)}}, nil}, missing},
		{"map", mapOf(Type{Kind: String}, Type{Kind: Long}),
			[]any{Map{[]any{"b", "a"}, []any{int64(1), nil}}, Map{[]any{}, []any{}}, nil}, missing},
		{"struct", window, []any{Struct{[]string{"start", "tags"}, []any{noon, []any{"x", nil}}}, Struct{[]string{"start", "tags"}, []any{nil, nil}}, nil}, missing},
	}}
}

func TestRoundTrip(t *testing.T) {
	want := everyType()
	data, err := Write(want)
	if err != nil {
		t.Fatal(err)
	}
	got, err := Read(data)
	if err != nil {
		t.Fatal(err)
	}
	if got.Rows != want.Rows || len(got.Columns) != len(want.Columns) {
		t.Fatalf("%d rows of %d columns, want %d of %d", got.Rows, len(got.Columns), want.Rows, len(want.Columns))
	}
	for i, c := range got.Columns {
		if w := want.Columns[i]; !reflect.DeepEqual(c, w) {
			t.Errorf("%s: got %v %#v (missing %v)\nwant %v %#v (missing %v)", w.Name, c.Type, c.Values, c.Missing, w.Type, w.Values, w.Missing)
		}
	}
}

// TestRoundTripEmpty: a result without rows still has its columns.
func TestRoundTripEmpty(t *testing.T) {
	b := &Batch{}
	for _, c := range everyType().Columns {
		b.Columns = append(b.Columns, Column{Name: c.Name, Type: c.Type, Values: none(c.Type.Kind)})
	}
	data, err := Write(b)
	if err != nil {
		t.Fatal(err)
	}
	got, err := Read(data)
	if err != nil {
		t.Fatal(err)
	}
	for i, c := range got.Columns {
		if w := b.Columns[i]; c.Name != w.Name || !c.Type.equal(w.Type) || length(c.Values) != 0 || reflect.TypeOf(c.Values) != reflect.TypeOf(w.Values) {
			t.Errorf("%s: got %v %#v, want %v %#v", w.Name, c.Type, c.Values, w.Type, w.Values)
		}
	}
}

func TestAppend(t *testing.T) {
	all, want := &Batch{}, everyType()
	for _, c := range want.Columns {
		all.Columns = append(all.Columns, Column{Name: c.Name, Type: c.Type})
	}
	for range 3 {
		if err := all.Append(everyType()); err != nil {
			t.Fatal(err)
		}
	}
	if all.Rows != 9 {
		t.Errorf("%d rows, want 9", all.Rows)
	}
	for i := range all.Columns {
		for row := range 9 {
			if got, w := all.Columns[i].Value(row), want.Columns[i].Value(row%3); !reflect.DeepEqual(got, w) {
				t.Errorf("%s, row %d: %v, want %v", all.Columns[i].Name, row, got, w)
			}
		}
	}
	if err := all.Append(&Batch{Columns: all.Columns[1:]}); err == nil || !strings.Contains(err.Error(), "19 columns behind one of 20") {
		t.Errorf("other columns: %v", err)
	}
	other := everyType()
	other.Columns[3].Type.Kind = Long
	if err := all.Append(other); err == nil || !strings.Contains(err.Error(), "smallint bigint behind one with smallint smallint") {
		t.Errorf("another type: %v", err)
	}
}

// TestInfer: Go values without a type get the one that they fit.
func TestInfer(t *testing.T) {
	type place struct {
		City string `json:"city"`
		X    float32
		note int //nolint:unused // not exported, so it is left out
	}
	three := 3
	for want, values := range map[string][]any{
		"void":                                {nil, nil},
		"bigint":                              {1, int8(2), uint32(3), &three, (*int)(nil), nil},
		"double":                              {1.5, 2, float32(0.25)},
		"string":                              {"a", nil},
		"binary":                              {[]byte("a")},
		"timestamp":                           {noon},
		"interval day to second":              {time.Second},
		"decimal(5,3)":                        {Decimal("10.5"), Decimal("-0.125")},
		"array<double>":                       {[]float64{1}, []any{int64(2)}, []int{}},
		"map<string,bigint>":                  {map[string]int{"b": 1, "a": 2}},
		"struct<city:string,X:double>":        {place{City: "Lima"}, &place{}},
		"array<struct<city:string,X:double>>": {[]place{{"Lima", 1, 0}}, nil},
	} {
		c := Column{Name: "c", Values: values}
		got, value, err := c.canonical()
		if err != nil || got.String() != want {
			t.Errorf("%v: %v, %v, want %s", values, got, err, want)
			continue
		}
		data, err := Write(&Batch{Rows: len(values), Columns: []Column{c}})
		if err != nil {
			t.Errorf("%s: %v", want, err)
			continue
		}
		back, err := Read(data)
		if err != nil {
			t.Errorf("%s: %v", want, err)
			continue
		}
		for row := range values {
			if got, w := back.Columns[0].Value(row), fitted(value(row), want); !reflect.DeepEqual(got, w) {
				t.Errorf("%s, row %d: %#v, want %#v", want, row, got, w)
			}
		}
	}
}

// fitted is a value as it comes back from a column of doubles, of lists of them, or of decimals with three digits behind the point.
func fitted(v any, column string) any {
	switch v := v.(type) {
	case int64:
		if strings.HasSuffix(column, "double") {
			return float64(v)
		}
	case Decimal:
		unscaled, scale, _ := v.parts()
		for ; scale < 3; scale++ {
			unscaled.Mul(unscaled, big.NewInt(10))
		}
		return decimalOf(unscaled, scale)
	case []any:
		if column == "array<double>" {
			all := make([]any, len(v))
			for i := range v {
				all[i] = fitted(v[i], "double")
			}
			return all
		}
	}
	return v
}

// TestWriteRefuses: what Spark's type cannot hold whole is an error with the column, the row and the value.
func TestWriteRefuses(t *testing.T) {
	one := func(kind Kind, v any) Column { return Column{Name: "c", Type: Type{Kind: kind}, Values: []any{v}} }
	for _, test := range []struct {
		want   string
		column Column
	}{
		{"has nanoseconds, which Spark's timestamps have not", one("", noon.Add(1))},
		{"has nanoseconds, which Spark's intervals have not", one("", time.Duration(1))},
		{"300 (int64) is no value of a column of tinyint", one(Byte, 300)},
		{"is no value of a column of int", one(Int, int64(1)<<40)},
		{"0.1 (float64) is no value of a column of float", one(Float, 0.1)},
		{"is no date: want midnight in UTC", one(Date, noon)},
		{"9007199254740993 (int64) is no value of a column of double", Column{Name: "c", Values: []any{0.5, int64(1)<<53 + 1}}},
		{"beyond a bigint", one("", uint64(math.MaxUint64))},
		{"string behind bigint: the values of a column are of one kind", Column{Name: "c", Values: []any{1, "a"}}},
		{"March is a time.Month, which has words of its own", one("", time.March)},
		{"a chan int has no type in Spark", one("", make(chan int))},
		{"a struct {} has no exported field", one("", struct{}{})},
		{"has 39 digits", one("", Decimal(strings.Repeat("9", 39)))},
		{"want digits with at most one point", one("", Decimal("1e5"))},
		{"need 39 digits together", Column{Name: "c", Values: []any{Decimal(strings.Repeat("9", 38)), Decimal("0.1")}}},
		{"1.25 (columns.Decimal) is no value of a column of decimal(4,1)", Column{Name: "c", Type: Type{Kind: Number, Precision: 4, Scale: 1}, Values: []any{Decimal("1.25")}}},
		{"1 values, and 0 marks of missing ones, for 2 rows", Column{Name: "c", Values: []int64{1}}},
		{"-1 values", Column{Name: "c", Values: []int{1}}},
	} {
		rows := max(1, length(test.column.Values))
		if strings.HasSuffix(test.want, "2 rows") {
			rows = 2
		}
		_, err := Write(&Batch{Rows: rows, Columns: []Column{test.column}})
		if err == nil || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), `column "c"`) {
			t.Errorf("got error %v, want %q in it, and the column", err, test.want)
		}
	}
}

// TestReadRefuses: a type of Arrow's without Go values is an error that names the column and says what to write in the query.
func TestReadRefuses(t *testing.T) {
	variant := arrow.StructOf(arrow.Field{Name: "value", Type: arrow.BinaryTypes.Binary},
		arrow.Field{Name: "metadata", Type: arrow.BinaryTypes.Binary, Metadata: arrow.MetadataFrom(map[string]string{"variant": "true"})})
	for want, d := range map[string]arrow.DataType{
		"an interval of months is no time.Duration": arrow.FixedWidthTypes.MonthInterval,
		"a time of day":                        arrow.FixedWidthTypes.Time64ns,
		"for a variant (to_json(…)":            variant,
		"Arrow's type uint8":                   arrow.PrimitiveTypes.Uint8,
		"Arrow's type timestamp[ns]":           &arrow.TimestampType{Unit: arrow.Nanosecond},
		`part "inner": there are no Go values`: arrow.StructOf(arrow.Field{Name: "inner", Type: arrow.PrimitiveTypes.Uint16}),
		"Arrow's type duration[s]":             arrow.FixedWidthTypes.Duration_s,
	} {
		var out bytes.Buffer
		w := ipc.NewWriter(&out, ipc.WithSchema(arrow.NewSchema([]arrow.Field{{Name: "c", Type: d}}, nil)))
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if _, err := Read(out.Bytes()); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), `column "c"`) {
			t.Errorf("%v: got error %v, want %q in it, and the column", d, err, want)
		}
	}
}

func TestReadTooLongAnInterval(t *testing.T) {
	b := array.NewDurationBuilder(memory.DefaultAllocator, arrow.FixedWidthTypes.Duration_us.(*arrow.DurationType))
	b.Append(math.MaxInt64)
	a := b.NewArray()
	data, err := stream(arrow.NewSchema([]arrow.Field{{Name: "c", Type: a.DataType()}}, nil), []arrow.Array{a}, 1)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Read(data); err == nil || !strings.Contains(err.Error(), "longer than a time.Duration") {
		t.Errorf("got error %v", err)
	}
}

// afterSchema is where the message of the schema ends: four bytes of marks, four of the length, and so many.
func afterSchema(data []byte) int { return 8 + int(binary.LittleEndian.Uint32(data[4:])) }

// TestReadDamaged: a batch that was cut anywhere, or of which a byte behind the schema was changed, is an error or other values, and never a crash.
func TestReadDamaged(t *testing.T) {
	data, err := Write(everyType())
	if err != nil {
		t.Fatal(err)
	}
	schema := afterSchema(data)
	for i := 1; i < len(data)-16; i += 5 { // the mark of the end, the last 8 bytes, may be missing, and what is in front of it is padding
		if _, err := Read(data[:i]); err == nil && i != schema {
			t.Errorf("the first %d of %d bytes were read without an error", i, len(data))
		}
	}
	for i := schema; i < len(data); i += 3 {
		changed := bytes.Clone(data)
		changed[i] ^= 0xff
		Read(changed) // must return
	}
}

// FuzzRead changes what stands behind a schema.
func FuzzRead(f *testing.F) {
	data, err := Write(everyType())
	if err != nil {
		f.Fatal(err)
	}
	schema := data[:afterSchema(data)]
	f.Add(data[len(schema):])
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, rest []byte) {
		b, err := Read(append(bytes.Clone(schema), rest...))
		if err != nil {
			return
		}
		for _, c := range b.Columns {
			if n := length(c.Values); n != b.Rows || c.Missing != nil && len(c.Missing) != n {
				t.Errorf("column %s has %d values and %d marks for %d rows", c.Name, n, len(c.Missing), b.Rows)
			}
		}
	})
}

func TestDecimals(t *testing.T) {
	for text, want := range map[Decimal]float64{"0.1": 0.1, "-12.30": -12.3, "5": 5, ".5": 0.5, "5.": 5} {
		if got := text.Float64(); got != want {
			t.Errorf("%s is %v, want %v", text, got, want)
		}
	}
	for _, wrong := range []Decimal{"", "-", ".", "1e3", "+1", "1.2.3", "--1"} {
		if got := wrong.Float64(); !math.IsNaN(got) {
			t.Errorf("%q is %v, want NaN", wrong, got)
		}
	}
	for want, of := range map[Decimal]struct {
		unscaled int64
		scale    int
	}{"0.05": {5, 2}, "-0.05": {-5, 2}, "0.00": {0, 2}, "12": {12, 0}, "1.2": {12, 1}} {
		if got := decimalOf(big.NewInt(of.unscaled), of.scale); got != want {
			t.Errorf("%d / 10^%d is %s, want %s", of.unscaled, of.scale, got, want)
		}
	}
}

func ExampleStruct() {
	window := Struct{Names: []string{"start", "tags"}, Values: []any{time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC), Map{Keys: []any{int64(7)}, Values: []any{[]any{math.NaN(), Decimal("1.50")}}}}}
	fmt.Println(window)
	fmt.Println(window.Value("start"), window.Value("end"))
	// Output:
	// {"start":"2026-03-01T12:00:00Z","tags":{"7":["NaN","1.50"]}}
	// 2026-03-01 12:00:00 +0000 UTC <nil>
}

func BenchmarkRead(b *testing.B) {
	const rows = 10_000
	ids, numbers, names := make([]int64, rows), make([]float64, rows), make([]string, rows)
	for i := range rows {
		ids[i], numbers[i], names[i] = int64(i), float64(i)/3, fmt.Sprint("name ", i)
	}
	data, err := Write(&Batch{Rows: rows, Columns: []Column{{Name: "id", Values: ids}, {Name: "x", Values: numbers}, {Name: "name", Values: names}}})
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		if _, err := Read(data); err != nil {
			b.Fatal(err)
		}
	}
}
