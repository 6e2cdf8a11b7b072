package columns

import (
	"fmt"
	"strings"
	"time"
)

// Kind is what sort of values a type has, in the word that Spark's SQL has for it.
type Kind string

// The kinds.
const (
	Void         Kind = "void"
	Boolean      Kind = "boolean"
	Byte         Kind = "tinyint"
	Short        Kind = "smallint"
	Int          Kind = "int"
	Long         Kind = "bigint"
	Float        Kind = "float"
	Double       Kind = "double"
	Number       Kind = "decimal" // whose values are Decimals
	String       Kind = "string"
	Binary       Kind = "binary"
	Date         Kind = "date"
	Timestamp    Kind = "timestamp"
	TimestampNTZ Kind = "timestamp_ntz"
	DayTime      Kind = "interval day to second"
	Array        Kind = "array"
	Record       Kind = "struct" // whose values are Structs
	Mapping      Kind = "map"    // whose values are Maps
)

// Type is the type of a column. The zero Type is unknown: Write then takes the one that the values have.
type Type struct {
	Kind      Kind
	Precision int     // of a decimal: its digits in all, 1 to 38
	Scale     int     // of a decimal: those behind the point
	Parts     []Field // an array's element; a map's key and value; a struct's fields
}

// Field is a part of a type. That of an array is called "element", those of a map "key" and "value".
type Field struct {
	Name string
	Type Type
}

// String writes the type as Spark's SQL does: array<decimal(10,2)>.
func (t Type) String() string {
	switch t.Kind {
	case "":
		return "unknown"
	case Number:
		return fmt.Sprintf("decimal(%d,%d)", t.Precision, t.Scale)
	case Array, Mapping, Record:
		parts := make([]string, len(t.Parts))
		for i, p := range t.Parts {
			parts[i] = p.Type.String()
			if t.Kind == Record {
				parts[i] = p.Name + ":" + parts[i]
			}
		}
		return string(t.Kind) + "<" + strings.Join(parts, ",") + ">"
	}
	return string(t.Kind)
}

// equal tells whether two types are the same, names included.
func (t Type) equal(o Type) bool {
	if t.Kind != o.Kind || t.Precision != o.Precision || t.Scale != o.Scale || len(t.Parts) != len(o.Parts) {
		return false
	}
	for i, p := range t.Parts {
		if p.Name != o.Parts[i].Name || !p.Type.equal(o.Parts[i].Type) {
			return false
		}
	}
	return true
}

// arrayOf is the type of lists.
func arrayOf(element Type) Type { return Type{Kind: Array, Parts: []Field{{"element", element}}} }

// mapOf is the type of maps.
func mapOf(key, value Type) Type {
	return Type{Kind: Mapping, Parts: []Field{{"key", key}, {"value", value}}}
}

// Batch is rows, column by column.
type Batch struct {
	Rows    int
	Columns []Column
}

// Column is a column's values: []bool, []int64, []float64, []string, []time.Time or []time.Duration where the kind has one of these, else []any.
type Column struct {
	Name    string
	Type    Type
	Values  any
	Missing []bool // a row each; nil: every value is there. Where one is missing the slice has a zero.
}

// Value is what stands in a row; nil where it is missing.
func (c *Column) Value(i int) any {
	if c.Missing != nil && c.Missing[i] {
		return nil
	}
	return at(c.Values, i)
}

// shownRunes is how much is shown of one value.
const shownRunes = 60

// Text is the value of a row for the eye, cut to 60 characters; a dash where it is missing.
func (c *Column) Text(row int) string {
	v := c.Value(row)
	if v == nil {
		return "–"
	}
	var s string
	switch t, isTime := v.(time.Time); {
	case isTime && c.Type.Kind == Date:
		s = t.Format(time.DateOnly)
	case isTime:
		s = t.Format("2006-01-02 15:04:05.999999")
	default:
		s = plainText(v)
	}
	s = strings.Join(strings.Fields(s), " ") // one line
	if r := []rune(s); len(r) > shownRunes {
		return string(r[:shownRunes-1]) + "…"
	}
	return s
}
