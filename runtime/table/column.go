package table

import (
	"cmp"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"time"
)

// kind is what a column holds.
type kind int

const (
	anything kind = iota // whatever was put in, shown as text
	integer
	float
	text
	boolean
	instant
	span
)

func (k kind) String() string {
	return [...]string{"any", "int", "float", "string", "bool", "time", "duration"}[k]
}

// column keeps its values in the one slice of its kind, so that a column of numbers is an array. missing is nil while every
// value is there. A missing value has a zero in the slice, so that all slices are as long as the table.
type column struct {
	name    string
	kind    kind
	ints    []int64
	nums    []float64
	texts   []string
	others  []any // anything, boolean, instant, span
	missing []bool
	length  int
	summary bool // of a description of columns: its numbers are of different things
}

func newColumn(name string, k kind) *column { return &column{name: name, kind: k} }

// reserve makes room for n values in all, so that no memory is left over of growing.
func (c *column) reserve(n int) {
	n -= c.length
	switch c.kind {
	case integer:
		c.ints = slices.Grow(c.ints, n)
	case float:
		c.nums = slices.Grow(c.nums, n)
	case text:
		c.texts = slices.Grow(c.texts, n)
	default:
		c.others = slices.Grow(c.others, n)
	}
}

// append adds a value of the column's kind (int64, float64, string, or any) or nil for a missing one.
func (c *column) append(v any) {
	if v == nil && c.missing == nil {
		c.missing = make([]bool, c.length, c.length+1)
	}
	if c.missing != nil {
		c.missing = append(c.missing, v == nil)
	}
	c.length++
	switch c.kind {
	case integer:
		n, _ := v.(int64)
		c.ints = append(c.ints, n)
	case float:
		x, _ := v.(float64)
		c.nums = append(c.nums, x)
	case text:
		s, _ := v.(string)
		c.texts = append(c.texts, s)
	default:
		c.others = append(c.others, v)
	}
}

func (c *column) isMissing(i int) bool { return c.missing != nil && c.missing[i] }

// blank tells that no value is there.
func (c *column) blank() bool {
	return c.length == 0 || c.missing != nil && !slices.Contains(c.missing, false)
}

// lacking is how many values are missing or NaN.
func (c *column) lacking() int {
	n := 0
	for i := range c.length {
		if c.last(i) {
			n++
		}
	}
	return n
}

func (c *column) value(i int) any {
	if c.isMissing(i) {
		return nil
	}
	switch c.kind {
	case integer:
		return c.ints[i]
	case float:
		return c.nums[i]
	case text:
		return c.texts[i]
	}
	return c.others[i]
}

func (c *column) slice(from, to int) *column {
	s := &column{name: c.name, kind: c.kind, length: to - from, summary: c.summary}
	s.ints, s.nums = part(c.ints, from, to), part(c.nums, from, to)
	s.texts, s.others, s.missing = part(c.texts, from, to), part(c.others, from, to), part(c.missing, from, to)
	return s
}

func part[T any](s []T, from, to int) []T {
	if s == nil {
		return nil
	}
	return s[from:to:to]
}

func (c *column) pick(rows []int) *column {
	s := &column{name: c.name, kind: c.kind, length: len(rows), summary: c.summary}
	s.ints, s.nums = take(c.ints, rows), take(c.nums, rows)
	s.texts, s.others, s.missing = take(c.texts, rows), take(c.others, rows), take(c.missing, rows)
	return s
}

func take[T any](s []T, rows []int) []T {
	if s == nil {
		return nil
	}
	out := make([]T, len(rows))
	for i, row := range rows {
		out[i] = s[row]
	}
	return out
}

// floats copies the column as numbers.
func (c *column) floats() ([]float64, error) {
	if c.kind == span {
		return c.spanFloats(), nil
	}
	if c.kind == text || c.kind == anything {
		return nil, fmt.Errorf("table: column %q holds %s, not numbers", c.name, c.kind)
	}
	out := make([]float64, c.length)
	for i := range out {
		switch v := c.value(i).(type) {
		case nil:
			out[i] = math.NaN()
		case int64:
			out[i] = float64(v)
		case float64:
			out[i] = v
		case bool:
			if v {
				out[i] = 1
			}
		case time.Time:
			out[i] = float64(v.UnixNano()) / 1e9
		}
	}
	return out, nil
}

// spanFloats are durations as seconds.
func (c *column) spanFloats() []float64 {
	out := make([]float64, c.length)
	for i := range out {
		out[i] = math.NaN()
		if d, ok := c.value(i).(time.Duration); ok {
			out[i] = d.Seconds()
		}
	}
	return out
}

// compare orders rows a and b; what has no order among numbers stands last.
func (c *column) compare(a, b int, descending bool) int {
	la, lb := c.last(a), c.last(b)
	if la || lb {
		return cmp.Compare(b2i(la), b2i(lb))
	}
	order := c.order(a, b)
	if descending {
		return -order
	}
	return order
}

// last tells what stands last in any order, and counts as lacking: a missing value, or NaN.
func (c *column) last(i int) bool {
	switch {
	case c.isMissing(i):
		return true
	case c.kind == float:
		return math.IsNaN(c.nums[i])
	case c.kind == anything:
		v := reflect.ValueOf(c.others[i])
		return v.CanFloat() && math.IsNaN(v.Float())
	}
	return false
}

func (c *column) order(a, b int) int {
	switch c.kind {
	case integer:
		return cmp.Compare(c.ints[a], c.ints[b])
	case float:
		return cmp.Compare(c.nums[a], c.nums[b])
	case text:
		return cmp.Compare(c.texts[a], c.texts[b])
	case instant:
		return c.others[a].(time.Time).Compare(c.others[b].(time.Time))
	case span:
		return cmp.Compare(c.others[a].(time.Duration), c.others[b].(time.Duration))
	case boolean:
		return cmp.Compare(b2i(c.others[a].(bool)), b2i(c.others[b].(bool)))
	}
	return mixedOrder(c.others[a], c.others[b])
}

// mixedOrder orders values of several kinds: numbers by their size, those with words of their own too, before all else by its words.
func mixedOrder(a, b any) int {
	va, vb := reflect.ValueOf(a), reflect.ValueOf(b)
	if va.CanInt() && vb.CanInt() {
		return cmp.Compare(va.Int(), vb.Int())
	}
	x, isNumber := number(va)
	y, areNumbers := number(vb)
	switch {
	case isNumber && areNumbers:
		return cmp.Compare(x, y)
	case isNumber != areNumbers:
		return cmp.Compare(b2i(areNumbers), b2i(isNumber))
	}
	return cmp.Compare(fmt.Sprint(a), fmt.Sprint(b))
}

func number(v reflect.Value) (x float64, ok bool) {
	switch {
	case v.CanInt():
		return float64(v.Int()), true
	case v.CanUint():
		return float64(v.Uint()), true
	case v.CanFloat():
		return v.Float(), true
	}
	return 0, false
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// csv is the value as it stands in a file: exact, missing as nothing.
func (c *column) csv(i int) string {
	switch v := c.value(i).(type) {
	case nil:
		return ""
	case int64:
		return strconv.FormatInt(v, 10)
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64)
	case string:
		return v
	case time.Time:
		return v.Format(timeText)
	default:
		return fmt.Sprint(v)
	}
}

// plain turns a value of any Go type into what a column holds, and tells its kind: nil pointers and nil interfaces are
// missing, named numbers lose their names unless they have words of their own.
func plain(v reflect.Value) (any, kind) {
	for v.IsValid() && (v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface) {
		if v.IsNil() {
			return nil, anything
		}
		if _, words := v.Interface().(fmt.Stringer); words && v.Kind() == reflect.Pointer {
			break
		}
		v = v.Elem()
	}
	if !v.IsValid() {
		return nil, anything
	}
	switch x := v.Interface().(type) {
	case time.Time:
		return x, instant
	case time.Duration:
		return x, span
	case error, fmt.Stringer:
		return x, anything
	}
	switch {
	case v.CanInt():
		return v.Int(), integer
	case v.CanUint() && v.Uint() <= math.MaxInt64:
		return int64(v.Uint()), integer
	case v.Kind() == reflect.Float32:
		return widen(float32(v.Float())), float
	case v.Kind() == reflect.Float64:
		return v.Float(), float
	case v.Kind() == reflect.String:
		return v.String(), text
	case v.Kind() == reflect.Bool:
		return v.Bool(), boolean
	}
	return v.Interface(), anything
}

// widen keeps a float32's short decimal form: 0.1 stays 0.1.
func widen(x float32) float64 {
	wide, _ := strconv.ParseFloat(strconv.FormatFloat(float64(x), 'g', -1, 32), 64) // its own text always parses
	return wide
}

// build makes a column from values of plain's kinds: one kind stays, whole and broken numbers become floats, a mixture is
// kept as it is.
func build(name string, values []any, kinds []kind) *column {
	c := newColumn(name, common(values, kinds))
	for _, v := range values {
		if n, ok := v.(int64); ok && c.kind == float {
			v = float64(n)
		}
		c.append(v)
	}
	return c
}

func common(values []any, kinds []kind) kind {
	var seen []kind
	for i, v := range values {
		if v != nil && !slices.Contains(seen, kinds[i]) {
			seen = append(seen, kinds[i])
		}
	}
	slices.Sort(seen)
	switch {
	case len(seen) == 1:
		return seen[0]
	case slices.Equal(seen, []kind{integer, float}):
		return float
	}
	return anything
}
