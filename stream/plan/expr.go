package plan

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"cancha/stream/internal/value"
)

// Value is a literal of an expression.
type Value = value.Value

// Kind says what a Value is.
type Kind = value.Kind

// Expr is an expression over the fields of a row: a field, a literal, or an operator over expressions. It is data, not a function:
// it can be printed, compared and sent elsewhere. The zero Expr is none.
//
// A field that is absent makes arithmetic absent; a comparison with it answers no, so that Not of it is yes. What computes with numbers does so in
// float64, which rounds integers beyond 2^53; comparisons, and fields that are given out as they are, keep them.
type Expr struct {
	Op      string // "field", "literal", or an operator's name such as "add"
	Path    string // of a field
	Literal Value  // of a literal
	Args    []Expr
}

// None tells whether there is no expression.
func (e Expr) None() bool { return e.Op == "" }

// Field is the value at a path of a record, or of a column.
func Field(path string) Expr { return Expr{Op: "field", Path: path} }

// Literal is a value that is the same for all rows: nil, a bool, a number, a string, or one of a type made of these, such as time.March, a
// time.Time, a time.Duration (as seconds), or an Expr as it is. Any other makes an expression that Start refuses.
func Literal(x any) Expr {
	if e, ok := x.(Expr); ok {
		return e
	}
	v, ok := value.Of(x)
	if !ok {
		return Expr{Op: "literal", Path: fmt.Sprintf("%T", x)}
	}
	return Expr{Op: "literal", Literal: v}
}

// Call is an operator over expressions and literals.
func Call(op string, args ...any) Expr {
	e := Expr{Op: op}
	for _, a := range args {
		e.Args = append(e.Args, Literal(a))
	}
	return e
}

func (e Expr) call(op string, args ...any) Expr {
	c := Call(op, args...)
	c.Args = append([]Expr{e}, c.Args...)
	return c
}

// Add is the sum of two numbers, or a time that many seconds (or a time.Duration) later.
func (e Expr) Add(x any) Expr { return e.call("add", x) }

// Sub is the difference of two numbers, or the seconds between two times.
func (e Expr) Sub(x any) Expr { return e.call("sub", x) }

// Mul is the product of two numbers.
func (e Expr) Mul(x any) Expr { return e.call("mul", x) }

// Div is the quotient of two numbers; absent where the divisor is 0.
func (e Expr) Div(x any) Expr { return e.call("div", x) }

// Mod is the remainder of two numbers, with the sign of the first; absent where the divisor is 0.
func (e Expr) Mod(x any) Expr { return e.call("mod", x) }

// Neg is a number with the other sign.
func (e Expr) Neg() Expr { return e.call("neg") }

// Abs is a number without its sign.
func (e Expr) Abs() Expr { return e.call("abs") }

// Round is the nearest number with that many decimals; halves go away from zero.
func (e Expr) Round(decimals int) Expr { return e.call("round", decimals) }

// Floor is the greatest integer that is not greater.
func (e Expr) Floor() Expr { return e.call("floor") }

// Sqrt is the square root; absent for a negative number.
func (e Expr) Sqrt() Expr { return e.call("sqrt") }

// Log is the natural logarithm; absent for 0 and less.
func (e Expr) Log() Expr { return e.call("log") }

// Eq asks whether two values are the same; values of different kinds are not, but 1 and 1.0 are.
func (e Expr) Eq(x any) Expr { return e.call("eq", x) }

// Ne asks whether there are two values and they differ.
func (e Expr) Ne(x any) Expr { return e.call("ne", x) }

// Lt asks whether a value is less. Numbers, texts and times are ordered, each among themselves.
func (e Expr) Lt(x any) Expr { return e.call("lt", x) }

// Le asks whether a value is less or the same.
func (e Expr) Le(x any) Expr { return e.call("le", x) }

// Gt asks whether a value is greater.
func (e Expr) Gt(x any) Expr { return e.call("gt", x) }

// Ge asks whether a value is greater or the same.
func (e Expr) Ge(x any) Expr { return e.call("ge", x) }

// Between asks whether a value lies in [low, high], both ends included.
func (e Expr) Between(low, high any) Expr { return e.Ge(low).And(e.Le(high)) }

// In asks whether a value is one of these.
func (e Expr) In(xs ...any) Expr { return e.call("in", xs...) }

// And asks for both.
func (e Expr) And(x Expr) Expr { return e.call("and", x) }

// Or asks for either.
func (e Expr) Or(x Expr) Expr { return e.call("or", x) }

// Not asks for the contrary.
func (e Expr) Not() Expr { return e.call("not") }

// IsNull asks whether there is no value.
func (e Expr) IsNull() Expr { return e.call("is_null") }

// NotNull asks whether there is a value.
func (e Expr) NotNull() Expr { return e.call("not_null") }

// OrElse is the value, or, where it is absent, another.
func (e Expr) OrElse(x any) Expr { return e.call("or_else", x) }

// Lower is a text in small letters.
func (e Expr) Lower() Expr { return e.call("lower") }

// Upper is a text in capitals.
func (e Expr) Upper() Expr { return e.call("upper") }

// Trim is a text without the white space at its ends.
func (e Expr) Trim() Expr { return e.call("trim") }

// Length is how many characters a text has.
func (e Expr) Length() Expr { return e.call("length") }

// Contains asks whether a text has another in it.
func (e Expr) Contains(x any) Expr { return e.call("contains", x) }

// HasPrefix asks whether a text begins with another.
func (e Expr) HasPrefix(x any) Expr { return e.call("has_prefix", x) }

// HasSuffix asks whether a text ends with another.
func (e Expr) HasSuffix(x any) Expr { return e.call("has_suffix", x) }

// Concat is a text with another behind it; numbers and times as they are printed.
func (e Expr) Concat(x any) Expr { return e.call("concat", x) }

// Replace is a text in which every occurrence of one text is another.
func (e Expr) Replace(old, new string) Expr { return e.call("replace", old, new) }

// Substring is the part of a text from character start (the first is 0) on, at most n characters long.
func (e Expr) Substring(start, n int) Expr { return e.call("substring", start, n) }

// Split is part i (the first is 0, the last -1, the one before that -2) of a text that is cut at each separator; absent if there are not so many.
func (e Expr) Split(separator string, i int) Expr { return e.call("split", separator, i) }

// Matches asks whether a regular expression (package regexp's) is found in a text.
func (e Expr) Matches(pattern string) Expr { return e.call("matches", pattern) }

// Extract is what group i of a regular expression (0 is the whole) found in a text; absent if it is not found.
func (e Expr) Extract(pattern string, i int) Expr { return e.call("extract", pattern, i) }

// AsText is a value as text: numbers and times as they are printed.
func (e Expr) AsText() Expr { return e.call("as_text") }

// AsNumber is a number, a text that is one, or true and false as 1 and 0; absent for all else.
func (e Expr) AsNumber() Expr { return e.call("as_number") }

// AsTime is a time, or a text that is one in RFC 3339.
func (e Expr) AsTime() Expr { return e.call("as_time") }

// UnixSeconds is the time that lies so many seconds after 1970-01-01T00:00:00Z.
func (e Expr) UnixSeconds() Expr { return e.call("from_unix", float64(time.Second)) }

// UnixMillis is the time that lies so many milliseconds after 1970-01-01T00:00:00Z.
func (e Expr) UnixMillis() Expr { return e.call("from_unix", float64(time.Millisecond)) }

// UnixMicros is the time that lies so many microseconds after 1970-01-01T00:00:00Z.
func (e Expr) UnixMicros() Expr { return e.call("from_unix", float64(time.Microsecond)) }

// UnixNanos is the time that lies so many nanoseconds after 1970-01-01T00:00:00Z.
func (e Expr) UnixNanos() Expr { return e.call("from_unix", 1.0) }

// Unix is a time as seconds since 1970-01-01T00:00:00Z.
func (e Expr) Unix() Expr { return e.call("unix") }

// Truncate is the start of the span of time, such as an hour, that a time lies in; spans begin with 1970-01-01T00:00:00Z.
func (e Expr) Truncate(span time.Duration) Expr { return e.call("truncate", span) }

// Year is the year of a time, in UTC.
func (e Expr) Year() Expr { return e.call("year") }

// Month is the month of a time, from 1 to 12, in UTC.
func (e Expr) Month() Expr { return e.call("month") }

// Day is the day of the month of a time, in UTC.
func (e Expr) Day() Expr { return e.call("day") }

// Hour is the hour of a time, from 0 to 23, in UTC.
func (e Expr) Hour() Expr { return e.call("hour") }

// Minute is the minute of a time, from 0 to 59.
func (e Expr) Minute() Expr { return e.call("minute") }

// Weekday is the day of the week of a time, from 0, Sunday, to 6, in UTC.
func (e Expr) Weekday() Expr { return e.call("weekday") }

// Format writes a time in UTC by a layout of package time.
func (e Expr) Format(layout string) Expr { return e.call("format", layout) }

// If is one value where a condition holds, and another where not.
func If(condition Expr, then, otherwise any) Expr { return Call("if", condition, then, otherwise) }

// infix are the operators that stand between their arguments.
var infix = map[string]string{"add": "+", "sub": "-", "mul": "*", "div": "/", "mod": "%", "eq": "=", "ne": "≠", "lt": "<", "le": "≤",
	"gt": ">", "ge": "≥", "and": "and", "or": "or"}

// String writes the expression as a person would: total * 2 > 10.
func (e Expr) String() string {
	switch e.Op {
	case "":
		return "none"
	case "field":
		return e.Path
	case "literal":
		return e.literal()
	}
	sign, ok := infix[e.Op]
	if !ok || len(e.Args) != 2 {
		return e.Op + "(" + joined(e.Args) + ")"
	}
	return e.side(0) + " " + sign + " " + e.side(1)
}

func (e Expr) literal() string {
	if e.Path != "" {
		return "a " + e.Path
	}
	if e.Literal.Kind() == value.Text {
		return strconv.Quote(e.Literal.Text())
	}
	if e.Literal.IsNull() {
		return "null"
	}
	return e.Literal.String()
}

// side puts brackets around an argument that is an infix operator itself, unless they make no difference: a + b + c, but a - (b - c).
func (e Expr) side(i int) string {
	a := e.Args[i]
	chain := a.Op == e.Op && (i == 0 || slices.Contains([]string{"add", "mul", "and", "or"}, e.Op))
	if infix[a.Op] != "" && !chain {
		return "(" + a.String() + ")"
	}
	return a.String()
}

func joined(args []Expr) string {
	texts := make([]string, len(args))
	for i, a := range args {
		texts[i] = a.String()
	}
	return strings.Join(texts, ", ")
}

// Fields calls found for each path that the expression reads.
func (e Expr) Fields(found func(path string)) {
	if e.Op == "field" {
		found(e.Path)
	}
	for _, a := range e.Args {
		a.Fields(found)
	}
}

// Optional calls found with each path that the expression can do without: those of OrElse.
func (e Expr) Optional(found func(path string)) {
	if e.Op == "or_else" {
		e.Fields(found)
		return
	}
	for _, a := range e.Args {
		a.Optional(found)
	}
}
