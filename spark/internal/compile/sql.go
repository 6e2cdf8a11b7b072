package compile

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"cancha/spark/internal/protocol"
	"cancha/stream"
)

// quoted is a name in Spark's SQL.
func quoted(name string) string { return "`" + strings.ReplaceAll(name, "`", "``") + "`" }

// quote is a text in Spark's SQL, in which a backslash begins an escape.
func quote(s string) string {
	var b strings.Builder
	b.WriteByte('\'')
	for _, r := range s {
		switch {
		case r == '\'' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r < ' ':
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('\'')
	return b.String()
}

// double is a number in Spark's SQL.
func double(x float64) string {
	switch {
	case math.IsInf(x, 1):
		return "CAST('Infinity' AS DOUBLE)"
	case math.IsInf(x, -1):
		return "CAST('-Infinity' AS DOUBLE)"
	}
	return strconv.FormatFloat(x, 'G', -1, 64) + "D"
}

// integer is an integer in Spark's SQL.
func integer(n int64) string {
	if n == math.MinInt64 {
		return "CAST('" + strconv.FormatInt(n, 10) + "' AS BIGINT)" // its digits alone are no BIGINT
	}
	return strconv.FormatInt(n, 10) + "L"
}

// span is a length of time as an interval. Spark's clock ticks in microseconds.
func span(d time.Duration) string { return fmt.Sprintf("INTERVAL '%d' MICROSECOND", d.Microseconds()) }

// micros is a length of time as the options of Spark want it.
func micros(d time.Duration) string { return fmt.Sprintf("%d microseconds", d.Microseconds()) }

// sqlOf is a literal as what it is.
func sqlOf(v stream.Value) string {
	switch v.Kind() {
	case stream.Bool:
		return strconv.FormatBool(v.Bool())
	case stream.Int:
		return integer(v.Int())
	case stream.Float:
		return double(v.Float())
	case stream.Text:
		return quote(v.Text())
	case stream.JSON:
		return quote(v.Text())
	case stream.Time:
		return fmt.Sprintf("timestamp_micros(%dL)", floor(v.Nanos(), 1000)/1000)
	}
	return "CAST(NULL AS STRING)"
}

// floor is the greatest multiple of step that is not greater than n.
func floor(n, step int64) int64 {
	r := n % step
	if r < 0 {
		r += step
	}
	return n - r
}

// typeOf is the type of Spark's that values of a kind have.
func typeOf(k stream.Kind) string {
	switch k {
	case stream.Bool:
		return "BOOLEAN"
	case stream.Int:
		return "BIGINT"
	case stream.Float:
		return "DOUBLE"
	case stream.Time:
		return "TIMESTAMP"
	}
	return "STRING"
}

// text is an expression of the protocol that Spark's parser reads.
func text(sql string) *protocol.Expr {
	return &protocol.Expr{Of: &protocol.Expr_Text_{Text: &protocol.Expr_Text{Sql: sql}}}
}

// named is an expression under a name.
func named(sql, name string) *protocol.Expr {
	return &protocol.Expr{Of: &protocol.Expr_Alias_{Alias: &protocol.Expr_Alias{Expr: text(sql), Name: []string{name}}}}
}

// attributes are columns as they are.
func attributes(names ...string) []*protocol.Expr {
	exprs := make([]*protocol.Expr, len(names))
	for i, name := range names {
		exprs[i] = text(quoted(name))
	}
	return exprs
}

func project(input *protocol.Relation, exprs ...*protocol.Expr) *protocol.Relation {
	return &protocol.Relation{Of: &protocol.Relation_Project{Project: &protocol.Project{Input: input, Exprs: exprs}}}
}

// with adds a column, or replaces the one of its name: beside those that were added last, if it is not made of them, so that a query of many
// columns is not as many relations deep.
func with(input *protocol.Relation, name, sql string) *protocol.Relation {
	alias := &protocol.Expr_Alias{Expr: text(sql), Name: []string{name}}
	if w := input.GetWithColumns(); w != nil && !slices.ContainsFunc(w.Aliases, func(a *protocol.Expr_Alias) bool {
		return a.Name[0] == name || strings.Contains(sql, quoted(a.Name[0]))
	}) {
		w.Aliases = append(w.Aliases, alias)
		return input
	}
	w := &protocol.WithColumns{Input: input, Aliases: []*protocol.Expr_Alias{alias}}
	return &protocol.Relation{Of: &protocol.Relation_WithColumns{WithColumns: w}}
}

func filter(input *protocol.Relation, sql string) *protocol.Relation {
	return &protocol.Relation{Of: &protocol.Relation_Filter{Filter: &protocol.Filter{Input: input, Condition: text(sql)}}}
}

func group(input *protocol.Relation, keys, aggregates []*protocol.Expr) *protocol.Relation {
	return &protocol.Relation{Of: &protocol.Relation_Aggregate{Aggregate: &protocol.Aggregate{Input: input, Kind: protocol.Aggregate_GROUP_BY,
		Keys: keys, Aggregates: aggregates}}}
}
