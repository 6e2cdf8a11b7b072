package plan_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"cancha/stream/internal/value"
	"cancha/stream/plan"
)

// whole is a plan with a step of each kind.
func whole() *plan.Plan {
	f := plan.Field
	right := &plan.Plan{Name: "payments", Output: "append", Input: plan.Input{Source: "memory payments", Format: "JSON", Delay: time.Hour},
		Steps: []plan.Step{{Op: plan.Select, Columns: []string{"order", "amount"}}}}
	return &plan.Plan{
		Name: "shops", Output: "update", Trigger: time.Second, Limit: 100, Sinks: []string{"a file", "dead letters to a topic"},
		Input: plan.Input{Source: "memory orders", Format: "JSON", EventTime: f("at").AsTime(), Delay: time.Minute, KeyedBy: "shop"},
		Steps: []plan.Step{
			{Op: plan.Filter, Expr: f("total").Mul(2).Gt(10).And(f("city").Eq("Lima").Not())},
			{Op: plan.With, Name: "half", Expr: f("total").Add(f("tip")).Div(2)},
			{Op: plan.MapFunc, Name: "score", Columns: []string{"total", "tip"}, Adds: []string{"score"}},
			{Op: plan.FilterFunc, Name: "known", Columns: []string{"id"}},
			{Op: plan.Explode, Path: "items", Name: "item"},
			{Op: plan.Drop, Columns: []string{"tip"}},
			{Op: plan.Deduplicate, Keys: []string{"id", "shop"}, TimeToLive: time.Minute},
			{Op: plan.Join, Other: right, Join: plan.JoinSpec{Kind: "left", Left: []string{"id", "day"}, Right: []string{"order", "day"},
				Before: time.Second, After: time.Minute}},
			{Op: plan.Lookup, Name: "goods", Join: plan.JoinSpec{Kind: "inner", Left: []string{"sku"}, Right: []string{"sku"}}},
			{Op: plan.Union, Other: right},
			{Op: plan.Process, Name: "silence", Keys: []string{"host"}, Columns: []string{"load"}, Adds: []string{"host", "since"}},
			{Op: plan.Aggregation, Keys: []string{"shop"}, Window: plan.Window{Kind: "sliding", Width: time.Hour, Step: time.Minute},
				Aggregates: []plan.Aggregate{{Kind: "count", Name: "n"}, {Kind: "quantile", Name: "p99", Expr: f("total"), Quantile: 0.99},
					{Kind: "share", Name: "paid", Expr: f("cashier"), Per: "shop"}, {Kind: "top", Name: "skus", Expr: f("sku"), N: 3},
					{Kind: "sum", Name: "large", Expr: f("total"), Condition: f("total").Gt(10)}}},
			{Op: plan.Aggregation, Window: plan.Window{Kind: "session", Gap: time.Minute}, Aggregates: []plan.Aggregate{{Kind: "stats", Name: "n", Expr: f("n")}}},
			{Op: plan.Aggregation, Keys: []string{"shop"}, TimeToLive: time.Hour, Aggregates: []plan.Aggregate{{Kind: "count", Name: "m"}}},
			{Op: plan.Top, N: 3, Name: "n", Keys: []string{"day"}, Descending: true, Ties: true},
			{Op: plan.Top, N: 1, Name: "n"},
			{Op: plan.Require, Path: "day", Kinds: []plan.Kind{value.Int, value.JSON}},
		},
	}
}

func TestString(t *testing.T) {
	want := `shops: output update every 1s, 100 records
→ a file
→ dead letters to a topic
  require day: an integer or an object or an array
  the 1 least by n
  the 3 greatest by n per day, ties stay
  aggregate by shop, no window, kept 1h0m0s: m = count()
  aggregate all rows, session with gaps of 1m0s: n = stats(n)
  aggregate by shop, sliding 1h0m0s every 1m0s: n = count(); p99 = quantile(total, 0.99); paid = share(cashier per shop); skus = top(sku, 3); large = sum(total) if total > 10
  process silence by host of load → host, since
  union
  │ payments: output append
  │   select order, amount
  │     read memory payments as JSON, event time: the record's time stamp, watermark 1h0m0s behind
  inner lookup in goods on sku
  left join on id = order, day, from 1s before to 1m0s after
  │ payments: output append
  │   select order, amount
  │     read memory payments as JSON, event time: the record's time stamp, watermark 1h0m0s behind
  deduplicate by id, shop, kept 1m0s
  drop tip
  explode items as item
  filter func known of id
  map func score of total, tip → score
  with half = (total + tip) / 2
  filter ((total * 2) > 10) and not(city = "Lima")
  read memory orders as JSON, event time: as_time(at), watermark 1m0s behind, keyed by shop
`
	if got := flat(whole().String()); got != flat(want) {
		t.Errorf("got\n%s\nwant\n%s", got, flat(want))
	}
	lines := strings.Split(strings.TrimSpace(whole().String()), "\n")
	if indent := func(s string) int { return len(s) - len(strings.TrimLeft(s, " ")) }; indent(lines[3]) != 2 ||
		indent(lines[4]) != 4 || indent(lines[len(lines)-1]) != 36 {
		t.Errorf("a step is not further in than the one behind it:\n%s", whole())
	}
}

// flat is a text without the spaces in front of its lines.
func flat(text string) string {
	var lines []string
	for line := range strings.Lines(text) {
		lines = append(lines, strings.TrimLeft(line, " "))
	}
	return strings.Join(lines, "")
}

// TestEqual: two plans built alike are equal, and each change of a field makes them differ.
func TestEqual(t *testing.T) {
	if !whole().Equal(whole()) {
		t.Error("two plans built alike differ")
	}
	for name, change := range map[string]func(p *plan.Plan){
		"name": func(p *plan.Plan) { p.Name = "x" }, "output": func(p *plan.Plan) { p.Output = "append" }, "trigger": func(p *plan.Plan) { p.Trigger++ },
		"limit": func(p *plan.Plan) { p.Limit++ }, "sinks": func(p *plan.Plan) { p.Sinks = nil }, "source": func(p *plan.Plan) { p.Input.Source = "x" },
		"event time": func(p *plan.Plan) { p.Input.EventTime = plan.Field("on").AsTime() }, "delay": func(p *plan.Plan) { p.Input.Delay++ },
		"idle": func(p *plan.Plan) { p.Input.IdleAfter++ }, "ahead": func(p *plan.Plan) { p.Input.MaxAhead++ }, "keyed": func(p *plan.Plan) { p.Input.KeyedBy = "" },
		"a step less": func(p *plan.Plan) { p.Steps = p.Steps[1:] }, "another order": func(p *plan.Plan) { slices.Reverse(p.Steps) },
		"a literal":         func(p *plan.Plan) { p.Steps[0].Expr = plan.Field("total").Mul(2.5).Gt(10) },
		"a literal's kind":  func(p *plan.Plan) { p.Steps[1].Expr = plan.Field("total").Add(plan.Field("tip")).Div("2") },
		"the other's steps": func(p *plan.Plan) { p.Steps[7].Other.Steps[0].Columns[0] = "x" },
		"the join":          func(p *plan.Plan) { p.Steps[7].Join.After++ },
		"a condition":       func(p *plan.Plan) { p.Steps[11].Aggregates[0] = p.Steps[11].Aggregates[0].If(plan.Field("x")) },
		"ties":              func(p *plan.Plan) { p.Steps[14].Ties = false },
	} {
		p := whole()
		if change(p); p.Equal(whole()) || whole().Equal(p) {
			t.Errorf("%s: changed, and equal all the same", name)
		}
	}
}

func TestExpressionsAsText(t *testing.T) {
	f := plan.Field
	for want, e := range map[string]plan.Expr{
		"a + b + c":                f("a").Add(f("b")).Add(f("c")),
		"(a + b) * c":              f("a").Add(f("b")).Mul(f("c")),
		"a - (b * 2)":              f("a").Sub(f("b").Mul(2)),
		`a = "x\"y"`:               f("a").Eq(`x"y`),
		"a - (b - c)":              f("a").Sub(f("b").Sub(f("c"))),
		"a - b - c":                f("a").Sub(f("b")).Sub(f("c")),
		"a + b + (c * d)":          f("a").Add(f("b").Add(f("c").Mul(f("d")))),
		"a = null":                 f("a").Eq(nil),
		"in(a, 1, true)":           f("a").In(1, true),
		"if(a, 1, 2.5)":            plan.If(f("a"), 1, 2.5),
		"(a ≥ 1) and (a ≤ 2)":      f("a").Between(1, 2),
		"truncate(a, 60)":          f("a").Truncate(time.Minute),
		"a = a []int":              f("a").Eq([]int{1}),
		"none":                     {},
		"or_else(a, b)":            f("a").OrElse(f("b")),
		"extract(a, \"\\\\d\", 0)": f("a").Extract(`\d`, 0),
	} {
		if got := e.String(); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

// TestExpressionsAreNotShared: building on an expression does not change it.
func TestExpressionsAreNotShared(t *testing.T) {
	base := plan.Field("a").Add(1)
	before := plan.Field("a").Add(1)
	one, two := base.Mul(2), base.Mul(3)
	one.Args[0].Args[0] = plan.Field("x")
	if one.String() == two.String() || two.String() != "(x + 1) * 3" && two.String() != "(a + 1) * 3" {
		t.Errorf("got %s and %s", one, two)
	}
	if !reflect.DeepEqual(before, plan.Field("a").Add(1)) {
		t.Error("a literal was changed")
	}
}

func TestFieldsOfAnExpression(t *testing.T) {
	var got []string
	e := plan.If(plan.Field("a").Gt(1), plan.Field("b.c").Lower(), plan.Field("a"))
	e.Fields(func(path string) { got = append(got, path) })
	if !slices.Equal(got, []string{"a", "b.c", "a"}) || !(plan.Expr{}).None() || e.None() {
		t.Errorf("got %q", got)
	}
}

func TestColumnsOfAnAggregate(t *testing.T) {
	stats := plan.Aggregate{Kind: "stats", Name: "x"}
	if got := strings.Join(stats.Columns(), " "); got != "x_count x_min x_max x_mean x_var" {
		t.Errorf("got %s", got)
	}
	both := plan.Aggregate{Kind: "count", Name: "n"}.If(plan.Field("a").Gt(1)).If(plan.Field("b").Lt(2))
	if got := both.String(); got != "n = count() if (a > 1) and (b < 2)" || strings.Join(both.Columns(), " ") != "n" {
		t.Errorf("got %s", got)
	}
}
