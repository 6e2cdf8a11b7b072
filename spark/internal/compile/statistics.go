package compile

import (
	"fmt"
	"strings"

	"cancha/stream"
	"cancha/stream/plan"
)

// statistics are how the kinds of statistics are compiled. condition is SQL, or empty.
func statistics() map[string]func(g *grouping, a plan.Aggregate, condition string) error {
	return map[string]func(g *grouping, a plan.Aggregate, condition string) error{
		"count": (*grouping).count, "sum": (*grouping).numeric, "mean": (*grouping).numeric, "variance": (*grouping).numeric,
		"min": (*grouping).bound, "max": (*grouping).bound, "stats": (*grouping).stats,
		"first": (*grouping).edge, "last": (*grouping).edge, "distinct": (*grouping).distinct, "quantile": (*grouping).quantile,
		"top": (*grouping).frequent, "collect": (*grouping).collect, "share": (*grouping).shared,
	}
}

func (g *grouping) count(a plan.Aggregate, condition string) error {
	g.put(a.Name, stream.Int, g.of("count(%s)", g.when(condition, "1")))
	return nil
}

// functions are Spark's names of statistics of numbers. Its sample variance has the divisor n-1 too, and is absent below two values.
var functions = map[string]string{"sum": "sum", "min": "min", "max": "max", "mean": "avg", "variance": "var_samp"}

// numbersOf are the numbers that a statistic is taken of.
func (g *grouping) numbersOf(a plan.Aggregate, condition string) (string, error) {
	n, err := g.compile(a.Expr, stream.Float)
	return g.when(condition, g.bind(n.sql)), err
}

func (g *grouping) numeric(a plan.Aggregate, condition string) error {
	x, err := g.numbersOf(a, condition)
	g.put(a.Name, stream.Float, g.of("%s(%s)", functions[a.Kind], x))
	return err
}

// bound is the least or the greatest of numbers, or of texts or times where the expression is one.
func (g *grouping) bound(a plan.Aggregate, condition string) error {
	kind := g.kind(a.Expr)
	if kind != stream.Text && kind != stream.Time {
		return g.numeric(a, condition)
	}
	n, err := g.compile(a.Expr, kind)
	g.put(a.Name, kind, g.of("%s(%s)", a.Kind, g.when(condition, g.bind(n.sql))))
	return err
}

func (g *grouping) stats(a plan.Aggregate, condition string) error {
	x, err := g.numbersOf(a, condition)
	if err != nil {
		return err
	}
	for i, function := range []string{"count", "min", "max", "avg", "var_samp"} {
		kind := stream.Float
		if function == "count" {
			kind = stream.Int
		}
		g.put(a.Columns()[i], kind, g.of("%s(%s)", function, x))
	}
	return nil
}

// came is what orders rows as they came: by event time, and rows of one time by partition and offset.
func (g *grouping) came() string {
	return "struct(" + strings.Join(append([]string{g.at()}, g.order...), ", ") + ")"
}

// arrived is what orders rows as they were read, partition after partition.
func (g *grouping) arrived() string {
	if len(g.order) == 0 {
		return g.came()
	}
	return "struct(" + strings.Join(g.order, ", ") + ")"
}

// edge is the value of the first or of the last row by event time. Spark's own first knows no order.
func (g *grouping) edge(a plan.Aggregate, condition string) error {
	n, err := g.compile(a.Expr, stream.Any)
	if err != nil {
		return err
	}
	x, function := g.bind(n.sql), "min_by"
	if a.Kind == "last" {
		function = "max_by"
	}
	there := x + " IS NOT NULL"
	if condition != "" {
		there += " AND " + condition
	}
	g.put(a.Name, n.kind, g.of("%s(%s, %s)", function, x, g.when(there, g.came())))
	return nil
}

// json is a value as JSON, absent where it does not count.
func (g *grouping) json(a plan.Aggregate, condition string) (string, error) {
	n, err := g.compile(a.Expr, stream.Any)
	if err != nil {
		return "", err
	}
	if n.kind == stream.Time {
		n = textual("%s", stamped(n.sql))
	}
	json, err := g.any(n)
	return g.when(condition, g.bind(json)), err
}

// distinct counts exactly, however many there are: Spark's approx_count_distinct has another error than the local engine's.
func (g *grouping) distinct(a plan.Aggregate, condition string) error {
	json, err := g.json(a, condition)
	g.put(a.Name, stream.Int, fmt.Sprintf("CAST(size(%s) AS BIGINT)", g.of("collect_set(%s)", json)))
	return err
}

// quantile is the number at place ⌊q·(n-1)⌋ of all, exactly.
func (g *grouping) quantile(a plan.Aggregate, condition string) error {
	if !(a.Quantile >= 0 && a.Quantile <= 1) {
		return fmt.Errorf("spark: quantile %v: want one from 0 to 1, such as 0.99", a.Quantile)
	}
	x, err := g.numbersOf(a, condition)
	all := g.of("collect_list(%s)", x)
	g.put(a.Name, stream.Float, fmt.Sprintf("CASE WHEN size(%[1]s) > 0 THEN "+
		"element_at(array_sort(%[1]s), CAST(floor(%[2]s * (size(%[1]s) - 1)) AS INT) + 1) END", all, double(a.Quantile)))
	return err
}

// collect is the first values as a JSON array.
func (g *grouping) collect(a plan.Aggregate, condition string) error {
	if a.N < 1 || a.N > 1_000_000 {
		return fmt.Errorf("spark: collect at most %d: want 1 to 1,000,000", a.N)
	}
	json, err := g.json(a, "")
	there := json + " IS NOT NULL"
	if condition != "" {
		there += " AND " + condition
	}
	all := g.of("collect_list(%s)", g.when(there, fmt.Sprintf("struct(%s AS o, %s AS j)", g.arrived(), json)))
	g.put(a.Name, stream.JSON, fmt.Sprintf("concat('[', array_join(transform(slice(array_sort(%s), 1, %d), x -> x.j), ','), ']')", all, a.N))
	return err
}

// frequent are the most frequent values with their counts: runs of equal ones in all of them in order.
func (g *grouping) frequent(a plan.Aggregate, condition string) error {
	if a.N < 1 || a.N > 1000 {
		return fmt.Errorf("spark: the top %d: want 1 to 1000", a.N)
	}
	json, err := g.json(a, condition)
	all := g.of("collect_list(%s)", json)
	g.statistics = append(g.statistics, statistic{a.Name, stream.JSON, func() string { return g.runs(all, a.N) }})
	return err
}

// runs is the JSON of the n longest runs of equal values.
func (g *grouping) runs(all string, n int) string {
	column := func(sql string) string {
		name := g.fresh("#runs")
		g.rel = with(g.rel, name, sql)
		return quoted(name)
	}
	in := column(fmt.Sprintf("array_sort(transform(%s, j -> %s))", all, orderOf("j")))
	starts := column(fmt.Sprintf("CASE WHEN size(%[1]s) = 0 THEN CAST(array() AS ARRAY<INT>) ELSE "+
		"filter(sequence(1, size(%[1]s)), i -> i = 1 OR get(%[1]s, i - 1).j <> get(%[1]s, i - 2).j) END", in))
	runs := column(fmt.Sprintf("transform(%[2]s, (p, i) -> "+
		"struct(coalesce(get(%[2]s, i + 1), size(%[1]s) + 1) - p AS n, get(%[1]s, p - 1) AS v))", in, starts))
	longest := fmt.Sprintf("slice(array_sort(%s, (x, y) -> CASE WHEN x.n > y.n THEN -1 WHEN x.n < y.n THEN 1"+
		" WHEN x.v < y.v THEN -1 WHEN x.v > y.v THEN 1 ELSE 0 END), 1, %d)", runs, n)
	return fmt.Sprintf(`concat('[', array_join(transform(%s, x -> `+
		`concat('{"value":', x.v.j, ',"count":', CAST(x.n AS STRING), '}')), ','), ']')`, longest)
}

// orderOf is what orders values as the local engine does: by their kinds, numbers by size and texts by their letters.
func orderOf(json string) string {
	return fmt.Sprintf("struct(CASE WHEN %[1]s IS NULL THEN 0 WHEN %[1]s IN ('true', 'false') THEN 1 WHEN %[2]s THEN 2 WHEN %[3]s THEN 4 ELSE 6 END AS k, "+
		"%[4]s AS n, %[5]s AS t, %[1]s AS j)", json, isNumberIn(json), isTextIn(json), numberIn(json), textIn(json))
}
