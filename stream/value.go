package stream

import (
	"time"

	"cancha/stream/internal/flow"
	"cancha/stream/internal/value"
	"cancha/stream/plan"
)

// Value is one value of a row: nothing, a truth, an integer, a number, a text, a time, or the JSON of an object or an array. The zero Value is nothing.
// BoolOf, IntOf, FloatOf, TextOf, TextOfBytes, TimeOf, JSONOf and ValueOf make one. Its methods are
//
//	Kind() Kind              // what it is; Null for nothing
//	IsNull() bool            // whether it is nothing
//	Bool() bool              // a truth; false for all else
//	Int() int64              // an integer, or a number without its fraction; 0 for all else
//	Float() float64          // a number, 1 and 0 for true and false; NaN for all else
//	Number() (float64, bool) // Float, and whether it is a number or a truth
//	Text() string            // a text or JSON as it is, and all else as String writes it
//	Time() time.Time         // a time, in UTC; the zero time for all else
//	Nanos() int64            // a time in nanoseconds since 1970; 0 for all else
//	Go() any                 // nil, a bool, int64, float64, string or time.Time
//	String() string          // as CSV has it: all digits, times in RFC 3339, nothing as ""
//	Clone() Value            // a copy that does not share a record's bytes, for what is kept
//
// and, for snapshots, hashes and JSON, AppendBinary, AppendKey, AppendJSON, Hash and Size.
type Value = value.Value

// Kind says what a Value is, or what the values of a column are: Null, Bool, Int, Float, Text, Time, JSON or Any. Its String says it in words.
type Kind = value.Kind

// The kinds of values. A column is of kind Any where its values are of several kinds, or nobody has said which.
const (
	Null  = value.Null
	Bool  = value.Bool
	Int   = value.Int
	Float = value.Float
	Text  = value.Text
	Time  = value.Time
	JSON  = value.JSON
	Any   = value.Any
)

// ValueOf returns the Value of nil, a bool, a number, a string, a time.Time, a time.Duration (its seconds) or a Value; ok is false for all
// else.
func ValueOf(x any) (v Value, ok bool) { return value.Of(x) }

// BoolOf returns a truth.
func BoolOf(b bool) Value { return value.BoolOf(b) }

// IntOf returns an integer.
func IntOf(n int64) Value { return value.IntOf(n) }

// FloatOf returns a number; of NaN an absent value.
func FloatOf(x float64) Value { return value.FloatOf(x) }

// TextOf returns a text.
func TextOf(s string) Value { return value.TextOf(s) }

// TimeOf returns an instant; an absent value for one before 1678 or after 2262.
func TimeOf(t time.Time) Value { return value.TimeOf(t) }

// JSONOf returns the JSON text of an object or an array, as it is.
func JSONOf(text string) Value { return value.JSONOf(text) }

// Column is a column of rows.
type Column = flow.Column

// Expr is an expression over the fields of a record, or over columns: Field("price").Mul(Field("quantity")).Gt(100). Its methods are those of
// plan.Expr, where each is described; an argument is an Expr or a Go value:
//
//   - numbers: Add, Sub, Mul, Div, Mod, Neg, Abs, Round, Floor, Sqrt, Log
//   - comparisons: Eq, Ne, Lt, Le, Gt, Ge, Between, In; And, Or, Not
//   - texts: Lower, Upper, Trim, Length, Concat, Contains, HasPrefix, HasSuffix, Matches, Extract, Split, Substring, Replace
//   - times: AsTime of a text, UnixSeconds, UnixMillis, UnixMicros and UnixNanos of a number; Truncate, Year, Month, Day, Weekday, Hour,
//     Minute, Unix, Format; Sub of two times
//   - what is absent: IsNull, NotNull, OrElse
//   - kinds: AsNumber, AsText
//
// Values of different kinds are not equal, and neither is above the other: no number equals "10". A comparison that is known to have no other values is refused; one that
// has met no others is noted (Running.Notes).
//
// Beside them stand the functions Field, Literal, If, And, Or, Not, Has, Distance and Now.
type Expr = plan.Expr

// Field is the value at a path of a record, such as user.city, items[0].sku or labels["a.b"], or of a column that an earlier step gave.
// @key, @value, @topic, @partition, @offset, @timestamp and @headers.NAME are parts of the record beside its value. A query that reads nothing
// else takes tombstones, whose value is null, as records: Select("@key"), Has("@value"). What is read there
// follows from the use: arithmetic wants numbers, Lower a text, Hour a time in RFC 3339; a record that has something else at the path is a
// bad record, also where the use stands behind a join or Deduplicate. A column that is computed, or that a Go function gives, has no such
// path: a value of another kind than is wanted of it is an absent one.
func Field(path string) Expr { return plan.Field(path) }

// Literal is a value that is the same for all rows: nil, a bool, a number, a string, a time.Time or a time.Duration, which counts as its
// seconds. Operators take such values as they are: Field("price").Gt(100).
func Literal(x any) Expr { return plan.Literal(x) }

// If is one value where a condition holds, and another where not.
func If(condition Expr, then, otherwise any) Expr { return plan.If(condition, then, otherwise) }

// Now is the time of the clock when a row is handled. EventTime(Now()) makes windows go by the clock: they close once a record has come that is
// read after their end, or with the query. The rows of such windows are others in each run.
func Now() Expr { return plan.Call("now") }

// Distance is the Euclidean distance between two points, arrays whose first two elements are x and y: Distance("from", "to"). It is absent
// where one of the four numbers is.
func Distance(from, to string) Expr {
	return plan.Call("distance", Field(from+"[0]"), Field(from+"[1]"), Field(to+"[0]"), Field(to+"[1]"))
}

// Has asks whether there is a value, other than null, at each of these paths.
func Has(paths ...string) Expr {
	all := Literal(true)
	for i, path := range paths {
		if i == 0 {
			all = Field(path).NotNull()
			continue
		}
		all = all.And(Field(path).NotNull())
	}
	return all
}

// And asks for all of the conditions; with none it is yes.
func And(conditions ...Expr) Expr { return joined(conditions, true, Expr.And) }

// Or asks for any of the conditions; with none it is no.
func Or(conditions ...Expr) Expr { return joined(conditions, false, Expr.Or) }

func joined(conditions []Expr, none bool, join func(Expr, Expr) Expr) Expr {
	if len(conditions) == 0 {
		return Literal(none)
	}
	all := conditions[0]
	for _, c := range conditions[1:] {
		all = join(all, c)
	}
	return all
}

// Not asks for the contrary.
func Not(condition Expr) Expr { return condition.Not() }

// Aggregate is one statistic of a group of rows: one column of the result, or five for Stats. Its method If leaves out rows.
type Aggregate = plan.Aggregate

// Count counts rows.
func Count(name string) Aggregate { return Aggregate{Kind: "count", Name: name} }

// CountIf counts the rows that a condition holds for.
func CountIf(name string, condition Expr) Aggregate { return Count(name).If(condition) }

// Sum is the sum of a number; absent where there is none. Sums of integers are exact up to 2^53.
func Sum(name string, of Expr) Aggregate { return Aggregate{Kind: "sum", Name: name, Expr: of} }

// Min is the least value: of numbers, or of texts or times where the expression is one (Field(path).AsTime()). It is absent where there is
// none. Integers beyond 2^53 are rounded to float64, here as in all statistics of numbers; First, Last, Collect and GroupBy keep them.
func Min(name string, of Expr) Aggregate { return Aggregate{Kind: "min", Name: name, Expr: of} }

// Max is the greatest value, as Min is the least.
func Max(name string, of Expr) Aggregate { return Aggregate{Kind: "max", Name: name, Expr: of} }

// Mean is the arithmetic mean of a number, its Sum divided by how many there are; absent where there is none.
func Mean(name string, of Expr) Aggregate { return Aggregate{Kind: "mean", Name: name, Expr: of} }

// Variance is the sample variance of a number, divisor n-1; absent for fewer than two.
func Variance(name string, of Expr) Aggregate {
	return Aggregate{Kind: "variance", Name: name, Expr: of}
}

// Stats gives five columns of a number: name_count, name_min, name_max, name_mean and name_var, the sample variance with divisor n-1. Rows
// that lack the number are left out. The variance of fewer than two numbers is absent, as are all but the count of none.
func Stats(name string, of Expr) Aggregate { return Aggregate{Kind: "stats", Name: name, Expr: of} }

// First is the value of the row with the earliest event time; of several, of the one that came first.
func First(name string, of Expr) Aggregate { return Aggregate{Kind: "first", Name: name, Expr: of} }

// Last is the value of the row with the latest event time; of several, of the one that came last.
func Last(name string, of Expr) Aggregate { return Aggregate{Kind: "last", Name: name, Expr: of} }

// CountDistinct is how many different values there are: exact up to 4,096, and estimated beyond, with a standard error of 0.81 %
// (HyperLogLog with 2^14 registers).
func CountDistinct(name string, of Expr) Aggregate {
	return Aggregate{Kind: "distinct", Name: name, Expr: of}
}

// Quantile is the number at place ⌊q·(n-1)⌋, from 0 on, of all n in order, to a relative error of 0.5 % (DDSketch); q is from 0 to 1.
func Quantile(name string, of Expr, q float64) Aggregate {
	return Aggregate{Kind: "quantile", Name: name, Expr: of, Quantile: q}
}

// TopK is the k most frequent values, as a JSON array of {"value", "count"}, the most frequent first. It is exact where a group has at most
// 16,384 different values; beyond, a count is too low by at most 1/8192 of the group's rows.
func TopK(name string, of Expr, k int) Aggregate {
	return Aggregate{Kind: "top", Name: name, Expr: of, N: k}
}

// Collect is the first values, at most limit of them, as a JSON array.
func Collect(name string, of Expr, limit int) Aggregate {
	return Aggregate{Kind: "collect", Name: name, Expr: of, N: limit}
}

// Share is the part, from 0 to 1, of the rows with a value at path of whose value is the group's key at path per, over all groups that differ
// in that key alone: Share("possession", "possession_team.id", "team.id"). Absent where no row has the value. Of sessions it is refused: each key
// has its own.
func Share(name, of, per string) Aggregate {
	return Aggregate{Kind: "share", Name: name, Expr: Field(of), Per: per}
}

// Window says which spans of event time rows are grouped by. They are aligned to 1970-01-01T00:00:00Z and half-open: an event at a window's
// end belongs to the next.
type Window = plan.Window
