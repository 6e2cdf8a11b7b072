package plan

import (
	"fmt"
	"strings"
)

// Aggregate is one statistic of a group of rows: one column of the result, or five for stats.
type Aggregate struct {
	Kind      string // count, sum, min, max, mean, variance, stats, first, last, distinct, quantile, top, collect, share
	Name      string // of the column
	Expr      Expr   // what it is taken of
	Condition Expr   // of the rows that count; none: all
	Per       string // of a share: the path of GroupBy that the share goes to
	N         int    // of top and collect: at most so many
	Quantile  float64
}

// If counts only the rows that a condition holds for, and that all earlier conditions hold for.
func (a Aggregate) If(condition Expr) Aggregate {
	if a.Condition.None() {
		a.Condition = condition
	} else {
		a.Condition = a.Condition.And(condition)
	}
	return a
}

// Columns are the names of the aggregate's columns.
func (a Aggregate) Columns() []string {
	if a.Kind != "stats" {
		return []string{a.Name}
	}
	names := make([]string, 0, 5)
	for _, suffix := range []string{"count", "min", "max", "mean", "var"} {
		names = append(names, a.Name+"_"+suffix)
	}
	return names
}

// String writes the aggregate as name = kind(expression) if condition.
func (a Aggregate) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s = %s(", a.Name, a.Kind)
	switch {
	case a.Kind == "count":
	case a.Kind == "share":
		fmt.Fprintf(&b, "%s per %s", a.Expr, a.Per)
	case a.Kind == "quantile":
		fmt.Fprintf(&b, "%s, %v", a.Expr, a.Quantile)
	case a.N > 0:
		fmt.Fprintf(&b, "%s, %d", a.Expr, a.N)
	default:
		b.WriteString(a.Expr.String())
	}
	b.WriteString(")")
	if !a.Condition.None() {
		fmt.Fprintf(&b, " if %s", a.Condition)
	}
	return b.String()
}
