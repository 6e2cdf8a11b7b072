package columns

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"strconv"
	"strings"
	"time"
)

// Decimal is a decimal number as its digits, exactly: "-12.30" has the scale 2. It compares by its text, so 1.0 is not 1.00.
type Decimal string

// Float64 is the nearest float64; NaN of what is no decimal number.
func (d Decimal) Float64() float64 {
	r, ok := d.Rat()
	if !ok {
		return nan
	}
	x, _ := r.Float64()
	return x
}

// Rat is the number as a fraction, for exact arithmetic; false for what is no decimal number.
func (d Decimal) Rat() (*big.Rat, bool) {
	unscaled, scale, err := d.parts()
	if err != nil {
		return nil, false
	}
	return new(big.Rat).SetFrac(unscaled, new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(scale)), nil)), true
}

// Digits are how many digits the number has in all, and behind the point. What is no decimal number of at most 38 digits is an error.
func (d Decimal) Digits() (precision, scale int, err error) {
	t, err := inferDecimal(d)
	return t.Precision, t.Scale, err
}

// mostDigits is what Spark's decimals have at most.
const mostDigits = 38

var errDecimal = errors.New("want digits with at most one point, such as -12.30")

// parts are the digits as one integer, and how many of them stand behind the point.
func (d Decimal) parts() (unscaled *big.Int, scale int, err error) {
	sign, digits := "", string(d)
	if strings.HasPrefix(digits, "-") {
		sign, digits = "-", digits[1:]
	}
	whole, broken, _ := strings.Cut(digits, ".")
	digits = whole + broken
	if digits == "" || strings.Trim(digits, "0123456789") != "" {
		return nil, 0, fmt.Errorf("decimal %q: %w", string(d), errDecimal)
	}
	unscaled, _ = new(big.Int).SetString(sign+digits, 10) // digits only
	return unscaled, len(broken), nil
}

// decimalOf writes unscaled / 10^scale.
func decimalOf(unscaled *big.Int, scale int) Decimal {
	digits := new(big.Int).Abs(unscaled).String()
	if pad := scale + 1 - len(digits); pad > 0 {
		digits = strings.Repeat("0", pad) + digits
	}
	if at := len(digits) - scale; scale > 0 {
		digits = digits[:at] + "." + digits[at:]
	}
	if unscaled.Sign() < 0 {
		digits = "-" + digits
	}
	return Decimal(digits)
}

// Struct is a value with named parts, in their order.
type Struct struct {
	Names  []string
	Values []any
}

// Value is the part of a name; nil where it is missing or there is none of that name. Of several the first counts.
func (s Struct) Value(name string) any {
	for i, n := range s.Names {
		if n == name {
			return s.Values[i]
		}
	}
	return nil
}

// String writes the value as JSON: {"start": …}.
func (s Struct) String() string { return text(s) }

// MarshalJSON writes an object whose names have the struct's order.
func (s Struct) MarshalJSON() ([]byte, error) {
	return object(len(s.Names), func(i int) (any, any) { return s.Names[i], s.Values[i] })
}

// Map is a value with keys of any kind, in the order in which Spark gave them.
type Map struct {
	Keys   []any
	Values []any
}

// Value is what stands under a key; nil where it is missing. Keys that are lists, structs or maps are not found: look through Keys.
func (m Map) Value(key any) any {
	for i, k := range m.Keys {
		if same(k, key) {
			return m.Values[i]
		}
	}
	return nil
}

// same compares keys, of which those that Go cannot compare are never the same.
func same(a, b any) bool {
	switch a.(type) {
	case []any, Struct, Map, []byte:
		return false
	}
	switch b.(type) {
	case []any, Struct, Map, []byte:
		return false
	}
	if n, ok := b.(int); ok {
		b = int64(n)
	}
	return a == b
}

// String writes the value as JSON.
func (m Map) String() string { return text(m) }

// MarshalJSON writes an object; keys that are no text are written as text.
func (m Map) MarshalJSON() ([]byte, error) {
	return object(len(m.Keys), func(i int) (any, any) { return m.Keys[i], m.Values[i] })
}

// object writes n names and values as JSON, in their order. Encoding sorts the keys of Go's maps; these have an order.
func object(n int, pair func(int) (name, value any)) ([]byte, error) {
	out := []byte{'{'}
	for i := range n {
		if i > 0 {
			out = append(out, ',')
		}
		name, v := pair(i)
		out = append(append(out, quoted(plainText(name))...), ':')
		encoded, err := encode(v)
		if err != nil {
			return nil, err
		}
		out = append(out, encoded...)
	}
	return append(out, '}'), nil
}

// encode is JSON, where numbers that it does not know are texts.
func encode(v any) ([]byte, error) {
	switch v := v.(type) {
	case float64:
		if v != v || v-v != 0 {
			return quoted(plainText(v)), nil
		}
	case time.Duration:
		return quoted(v.String()), nil
	case []any:
		out := []byte{'['}
		for i, e := range v {
			if i > 0 {
				out = append(out, ',')
			}
			encoded, err := encode(e)
			if err != nil {
				return nil, err
			}
			out = append(out, encoded...)
		}
		return append(out, ']'), nil
	}
	return json.Marshal(v)
}

func quoted(s string) []byte {
	b, _ := json.Marshal(s) // a string always has a form
	return b
}

// text is a value as JSON, for the eye.
func text(v any) string {
	b, err := encode(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(b)
}

// plainText is a value as text without quotes.
func plainText(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case Decimal:
		return string(v)
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64)
	case time.Time:
		return v.Format(time.RFC3339Nano)
	case []byte:
		return base64.StdEncoding.EncodeToString(v)
	case []any, Struct, Map:
		return text(v)
	}
	return fmt.Sprint(v)
}
