// Package value holds what a place of a row can hold: nothing, a truth, a number, a text, a time, or the JSON of an object or array.
package value

import (
	"cmp"
	"encoding/binary"
	"math"
	"reflect"
	"strconv"
	"strings"
	"time"
)

// Kind says what a Value is, or what the values of a column are.
type Kind uint8

// The kinds. A column is of kind Any where its values are of several kinds or where nobody has said which.
const (
	Null Kind = iota
	Bool
	Int   // an integer of 64 bits
	Float // a number of 64 bits
	Text
	Time // an instant, to the nanosecond
	JSON // the JSON text of an object or an array
	Any
)

var kindNames = [...]string{"null", "true or false", "an integer", "a number", "a text", "a time", "JSON", "any value"}

func (k Kind) String() string { return kindNames[k] }

// Value is one value. The zero Value is null. Texts of a record are valid until its batch has been handled: what is kept longer is
// kept as a Clone.
type Value struct {
	text string
	n    int64
	kind Kind
}

// BoolOf returns a truth.
func BoolOf(b bool) Value {
	v := Value{kind: Bool}
	if b {
		v.n = 1
	}
	return v
}

// IntOf returns an integer.
func IntOf(n int64) Value { return Value{kind: Int, n: n} }

// FloatOf returns a number; of NaN null, which is what an absent number is.
func FloatOf(x float64) Value {
	if x != x {
		return Value{}
	}
	return Value{kind: Float, n: int64(math.Float64bits(x))}
}

// TextOf returns a text.
func TextOf(s string) Value { return Value{kind: Text, text: s} }

// JSONOf returns the JSON text of an object or an array.
func JSONOf(s string) Value { return Value{kind: JSON, text: s} }

// TimeOf returns an instant; of one that nanoseconds since 1970 cannot hold, before 1678 or after 2262, null.
func TimeOf(t time.Time) Value {
	if t.Before(first) || t.After(last) {
		return Value{}
	}
	return Nanos(t.UnixNano())
}

var first, last = time.Unix(0, math.MinInt64), time.Unix(0, math.MaxInt64)

// Nanos returns an instant by its nanoseconds since 1970.
func Nanos(ns int64) Value { return Value{kind: Time, n: ns} }

// Of returns the Value of a Go value: nil, a bool, any integer or float, a string, a time.Time, a time.Duration (its seconds) or a Value.
func Of(x any) (v Value, ok bool) {
	switch x := x.(type) {
	case nil:
		return Value{}, true
	case Value:
		return x, true
	case bool:
		return BoolOf(x), true
	case int:
		return IntOf(int64(x)), true
	case int8:
		return IntOf(int64(x)), true
	case int16:
		return IntOf(int64(x)), true
	case int32:
		return IntOf(int64(x)), true
	case int64:
		return IntOf(x), true
	case uint8:
		return IntOf(int64(x)), true
	case uint16:
		return IntOf(int64(x)), true
	case uint32:
		return IntOf(int64(x)), true
	case uint:
		return IntOf(int64(x)), x <= math.MaxInt64
	case uint64:
		return IntOf(int64(x)), x <= math.MaxInt64
	case float32:
		return FloatOf(float64(x)), true
	case float64:
		return FloatOf(x), true
	case string:
		return TextOf(x), true
	case time.Time:
		return TimeOf(x), true
	case time.Duration:
		return FloatOf(x.Seconds()), true
	}
	return ofKind(reflect.ValueOf(x))
}

// ofKind is a value of a type that is made of one of these, such as time.Month.
func ofKind(x reflect.Value) (v Value, ok bool) {
	switch {
	case x.Kind() == reflect.Bool:
		return BoolOf(x.Bool()), true
	case x.Kind() == reflect.String:
		return TextOf(x.String()), true
	case x.CanInt():
		return IntOf(x.Int()), true
	case x.CanUint() && x.Uint() <= math.MaxInt64:
		return IntOf(int64(x.Uint())), true
	case x.CanFloat():
		return FloatOf(x.Float()), true
	}
	return Value{}, false
}

// Kind returns the value's kind, Null for none.
func (v Value) Kind() Kind { return v.kind }

// IsNull tells whether there is no value.
func (v Value) IsNull() bool { return v.kind == Null }

// Bool returns a truth; false for all else.
func (v Value) Bool() bool { return v.kind == Bool && v.n == 1 }

// Int returns an integer, or a number without its fraction; 0 for all else.
func (v Value) Int() int64 {
	switch v.kind {
	case Int:
		return v.n
	case Float:
		return int64(v.Float())
	}
	return 0
}

// Float returns a number; true and false are 1 and 0. NaN for all else.
func (v Value) Float() float64 {
	switch v.kind {
	case Float:
		return math.Float64frombits(uint64(v.n))
	case Int, Bool:
		return float64(v.n)
	}
	return math.NaN()
}

// Number is Float, and whether there is a number.
func (v Value) Number() (float64, bool) {
	switch v.kind {
	case Float:
		return math.Float64frombits(uint64(v.n)), true
	case Int, Bool:
		return float64(v.n), true
	}
	return 0, false
}

// Text returns a text or JSON as it is, and other values as String writes them.
func (v Value) Text() string { return v.String() }

// Nanos returns a time as nanoseconds since 1970; 0 for all else.
func (v Value) Nanos() int64 {
	if v.kind == Time {
		return v.n
	}
	return 0
}

// Time returns a time in UTC; the zero time for all else.
func (v Value) Time() time.Time {
	if v.kind != Time {
		return time.Time{}
	}
	return time.Unix(0, v.n).UTC()
}

// Go returns the value as a Go value: nil, bool, int64, float64, string or time.Time.
func (v Value) Go() any {
	switch v.kind {
	case Null:
		return nil
	case Bool:
		return v.Bool()
	case Int:
		return v.n
	case Float:
		return v.Float()
	case Time:
		return v.Time()
	}
	return v.text
}

// String writes the value as CSV does: numbers with as many digits as tell them from all others, times in RFC 3339, null as nothing.
func (v Value) String() string {
	switch v.kind {
	case Text, JSON:
		return v.text
	case Null:
		return ""
	}
	return string(v.append(nil, false))
}

// AppendJSON appends the value as JSON.
func (v Value) AppendJSON(dst []byte) []byte { return v.append(dst, true) }

func (v Value) append(dst []byte, quote bool) []byte {
	switch v.kind {
	case Null:
		return append(dst, "null"...)
	case Bool:
		return strconv.AppendBool(dst, v.n == 1)
	case Int:
		return strconv.AppendInt(dst, v.n, 10)
	case Float:
		return AppendFloat(dst, v.Float())
	case JSON:
		return append(dst, v.text...)
	case Time:
		if quote {
			return append(v.Time().AppendFormat(append(dst, '"'), time.RFC3339Nano), '"')
		}
		return v.Time().AppendFormat(dst, time.RFC3339Nano)
	}
	return AppendQuoted(dst, v.text)
}

// AppendFloat writes a number as encoding/json does, and NaN and infinities, which JSON does not have, as null.
func AppendFloat(dst []byte, x float64) []byte {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return append(dst, "null"...)
	}
	if a := math.Abs(x); a != 0 && (a < 1e-6 || a >= 1e21) {
		return strconv.AppendFloat(dst, x, 'e', -1, 64)
	}
	return strconv.AppendFloat(dst, x, 'f', -1, 64)
}

// AppendQuoted writes a text as a JSON string.
func AppendQuoted(dst []byte, s string) []byte {
	const hex = "0123456789abcdef"
	dst = append(dst, '"')
	from := 0
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c >= 0x20 && c != '"' && c != '\\' {
			continue
		}
		dst = append(dst, s[from:i]...)
		from = i + 1
		switch c {
		case '"', '\\':
			dst = append(dst, '\\', c)
		case '\n':
			dst = append(dst, '\\', 'n')
		case '\t':
			dst = append(dst, '\\', 't')
		case '\r':
			dst = append(dst, '\\', 'r')
		default:
			dst = append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		}
	}
	return append(append(dst, s[from:]...), '"')
}

// Clone returns the value with a text of its own.
func (v Value) Clone() Value {
	if v.text != "" {
		v.text = strings.Clone(v.text)
	}
	return v
}

// Size is about how many bytes the value takes.
func (v Value) Size() int64 { return 32 + int64(len(v.text)) }

// Equal tells whether two values are the same; 1 and 1.0 are.
func Equal(a, b Value) bool {
	if a.kind == b.kind {
		return a.n == b.n && a.text == b.text || a.kind == Float && a.Float() == b.Float()
	}
	return (a.kind == Int || a.kind == Float) && (b.kind == Int || b.kind == Float) && Compare(a, b) == 0
}

// Compare orders values of one kind as one expects, integers and numbers by size; kinds in the order of their constants, null first.
func Compare(a, b Value) int {
	ka, kb := rank(a.kind), rank(b.kind)
	if ka != kb {
		return cmp.Compare(ka, kb)
	}
	switch {
	case a.kind == Int && b.kind == Float:
		return compareExactly(a.n, b.Float())
	case a.kind == Float && b.kind == Int:
		return -compareExactly(b.n, a.Float())
	case a.kind == Float:
		return cmp.Compare(a.Float(), b.Float())
	case a.kind == Text || a.kind == JSON:
		return strings.Compare(a.text, b.text)
	}
	return cmp.Compare(a.n, b.n)
}

// compareExactly compares an integer with a number: as two float64, 2^53 and 2^53+1 would be the same.
func compareExactly(n int64, x float64) int {
	switch {
	case x >= 1<<63:
		return -1
	case x < -1<<63:
		return 1
	}
	whole := math.Trunc(x)
	return cmp.Or(cmp.Compare(n, int64(whole)), cmp.Compare(0, x-whole))
}

// Integer is a number as the integer that it is Equal to, if there is one.
func Integer(x float64) (n int64, ok bool) {
	if x != math.Trunc(x) || x < -1<<63 || x >= 1<<63 {
		return 0, false
	}
	return int64(x), true
}

func rank(k Kind) Kind {
	if k == Float {
		return Int
	}
	return k
}

// AppendKey appends bytes that are the same for two values exactly if they are Equal, and that no other value's begin with.
func (v Value) AppendKey(dst []byte) []byte {
	k, n := v.kind, uint64(v.n)
	switch k {
	case Text, JSON:
		dst = append(dst, byte(k), byte(len(v.text)), byte(len(v.text)>>8), byte(len(v.text)>>16), byte(len(v.text)>>24))
		return append(dst, v.text...)
	case Null:
		return append(dst, 0)
	case Float:
		if i, ok := Integer(v.Float()); ok {
			k, n = Int, uint64(i)
		}
	}
	return binary.LittleEndian.AppendUint64(append(dst, byte(k)), n)
}

// Hash is the same for Equal values.
func (v Value) Hash() uint64 {
	n := uint64(v.n)
	if v.kind == Float {
		if i, ok := Integer(v.Float()); ok {
			n = uint64(i)
		}
	}
	h := n * 0x9e3779b97f4a7c15
	for i := 0; i < len(v.text); i++ {
		h = (h ^ uint64(v.text[i])) * 0x100000001b3
	}
	return h ^ h>>29
}
