package spark

import (
	"fmt"
	"math"
	"regexp"
	"strings"
	"time"

	"cancha/spark/internal/columns"
	"cancha/spark/internal/protocol"
)

func project(in *protocol.Relation, exprs ...*protocol.Expr) *protocol.Relation {
	return &protocol.Relation{Of: &protocol.Relation_Project{Project: &protocol.Project{Input: in, Exprs: exprs}}}
}

func filter(in *protocol.Relation, condition *protocol.Expr) *protocol.Relation {
	return &protocol.Relation{Of: &protocol.Relation_Filter{Filter: &protocol.Filter{Input: in, Condition: condition}}}
}

func limit(in *protocol.Relation, n int) *protocol.Relation {
	return &protocol.Relation{Of: &protocol.Relation_Limit{Limit: &protocol.Limit{Input: in, Limit: int32(n)}}}
}

func withColumn(in *protocol.Relation, name string, e *protocol.Expr) *protocol.Relation {
	alias := &protocol.Expr_Alias{Expr: e, Name: []string{name}}
	return &protocol.Relation{Of: &protocol.Relation_WithColumns{WithColumns: &protocol.WithColumns{Input: in, Aliases: []*protocol.Expr_Alias{alias}}}}
}

// text is an expression as Spark's SQL writes it, which the server parses.
func text(sql string) *protocol.Expr {
	return &protocol.Expr{Of: &protocol.Expr_Text_{Text: &protocol.Expr_Text{Sql: sql}}}
}

func texts(sql []string) []*protocol.Expr {
	all := make([]*protocol.Expr, len(sql))
	for i, s := range sql {
		all[i] = text(s)
	}
	return all
}

// literal is a Go value as the server takes it. A time.Time is a timestamp.
func literal(v any) (*protocol.Expr, error) {
	l, err := literalOf(v)
	if err != nil {
		return nil, err
	}
	return &protocol.Expr{Of: &protocol.Expr_Literal{Literal: l}}, nil
}

func literalOf(v any) (*protocol.Literal, error) {
	switch v := v.(type) {
	case nil:
		return &protocol.Literal{Of: &protocol.Literal_Null{Null: &protocol.DataType{Of: &protocol.DataType_Null{Null: &protocol.DataType_Plain{}}}}}, nil
	case bool:
		return &protocol.Literal{Of: &protocol.Literal_Boolean{Boolean: v}}, nil
	case int:
		return long(int64(v)), nil
	case int8:
		return long(int64(v)), nil
	case int16:
		return long(int64(v)), nil
	case int32:
		return long(int64(v)), nil
	case int64:
		return long(v), nil
	case uint8:
		return long(int64(v)), nil
	case uint16:
		return long(int64(v)), nil
	case uint32:
		return long(int64(v)), nil
	case float32:
		return double(float64(v)), nil
	case float64:
		return double(v), nil
	case string:
		return word(v), nil
	case []byte:
		return &protocol.Literal{Of: &protocol.Literal_Binary{Binary: v}}, nil
	case Decimal:
		return decimal(v)
	case time.Time:
		return timestamp(v)
	}
	return nil, fmt.Errorf("a %T is none that SQL takes here; give a bool, an int64, a float64, a string, a time.Time, a spark.Decimal or bytes", v)
}

func long(n int64) *protocol.Literal {
	return &protocol.Literal{Of: &protocol.Literal_Long{Long: n}}
}

func integer(n int32) *protocol.Literal {
	return &protocol.Literal{Of: &protocol.Literal_Integer{Integer: n}}
}

func double(x float64) *protocol.Literal {
	return &protocol.Literal{Of: &protocol.Literal_Double{Double: x}}
}

func word(s string) *protocol.Literal {
	return &protocol.Literal{Of: &protocol.Literal_String_{String_: s}}
}

func decimal(d Decimal) (*protocol.Literal, error) {
	precision, scale, err := d.Digits()
	if err != nil {
		return nil, err
	}
	p, s := int32(precision), int32(scale)
	return &protocol.Literal{Of: &protocol.Literal_Decimal_{Decimal: &protocol.Literal_Decimal{Value: string(d), Precision: &p, Scale: &s}}}, nil
}

func timestamp(t time.Time) (*protocol.Literal, error) {
	if t.Nanosecond()%1000 != 0 {
		return nil, fmt.Errorf("%v has nanoseconds, which Spark's timestamps have not: Truncate(time.Microsecond)", t)
	}
	if s := t.Unix(); s > math.MaxInt64/1_000_000-1 || s < math.MinInt64/1_000_000+1 {
		return nil, fmt.Errorf("%v is beyond what Spark's timestamps hold", t)
	}
	return &protocol.Literal{Of: &protocol.Literal_Timestamp{Timestamp: t.UnixMicro()}}, nil
}

// Decimal is a decimal number as its digits, exactly: "-12.30".
type Decimal = columns.Decimal

// Struct is a value with named parts, such as a window with its start and end.
type Struct = columns.Struct

// Map is a value with keys of any kind.
type Map = columns.Map

// direction matches what may stand behind an expression that rows are sorted by.
var direction = regexp.MustCompile(`(?is)^(.*?)(?:\s+(asc|desc))?(?:\s+nulls\s+(first|last))?\s*$`)

// order reads "column DESC NULLS LAST". As in SQL, nulls are the least unless something else is said.
func order(by string) *protocol.Expr_Order {
	m := direction.FindStringSubmatch(by)
	o := &protocol.Expr_Order{Of: text(m[1]), Direction: protocol.Expr_Order_ASCENDING, Nulls: protocol.Expr_Order_FIRST}
	if strings.EqualFold(m[2], "desc") {
		o.Direction, o.Nulls = protocol.Expr_Order_DESCENDING, protocol.Expr_Order_LAST
	}
	switch strings.ToLower(m[3]) {
	case "first":
		o.Nulls = protocol.Expr_Order_FIRST
	case "last":
		o.Nulls = protocol.Expr_Order_LAST
	}
	return o
}

// quote writes a name for SQL; of one with points each part.
func quote(name string) string {
	parts := strings.Split(name, ".")
	for i, p := range parts {
		parts[i] = "`" + strings.ReplaceAll(p, "`", "``") + "`"
	}
	return strings.Join(parts, ".")
}

// typeText writes a type as Spark's SQL does.
func typeText(d *protocol.DataType) string {
	switch t := d.GetOf().(type) {
	case *protocol.DataType_Null:
		return "void"
	case *protocol.DataType_Binary:
		return "binary"
	case *protocol.DataType_Boolean:
		return "boolean"
	case *protocol.DataType_Byte:
		return "tinyint"
	case *protocol.DataType_Short:
		return "smallint"
	case *protocol.DataType_Integer:
		return "int"
	case *protocol.DataType_Long:
		return "bigint"
	case *protocol.DataType_Float:
		return "float"
	case *protocol.DataType_Double:
		return "double"
	case *protocol.DataType_Decimal_:
		return fmt.Sprintf("decimal(%d,%d)", t.Decimal.GetPrecision(), t.Decimal.GetScale())
	case *protocol.DataType_String_:
		return "string"
	case *protocol.DataType_Char:
		return fmt.Sprintf("char(%d)", t.Char.Length)
	case *protocol.DataType_Varchar:
		return fmt.Sprintf("varchar(%d)", t.Varchar.Length)
	case *protocol.DataType_Date:
		return "date"
	case *protocol.DataType_Timestamp:
		return "timestamp"
	case *protocol.DataType_TimestampNtz:
		return "timestamp_ntz"
	case *protocol.DataType_CalendarInterval:
		return "interval"
	case *protocol.DataType_YearMonthInterval:
		return "interval year to month"
	case *protocol.DataType_DayTimeInterval:
		return "interval day to second"
	case *protocol.DataType_Array_:
		return "array<" + typeText(t.Array.Element) + ">"
	case *protocol.DataType_Map_:
		return "map<" + typeText(t.Map.Key) + "," + typeText(t.Map.Value) + ">"
	case *protocol.DataType_Struct_:
		return structText(t.Struct)
	case *protocol.DataType_Udt:
		return typeText(t.Udt.Sql)
	case *protocol.DataType_Variant:
		return "variant"
	case *protocol.DataType_Unparsed_:
		return t.Unparsed.Text
	}
	return "unknown" // a type of a later Spark
}

func structText(t *protocol.DataType_Struct) string {
	parts := make([]string, len(t.Fields))
	for i, f := range t.Fields {
		parts[i] = f.Name + ":" + typeText(f.Type)
	}
	return "struct<" + strings.Join(parts, ",") + ">"
}
