package eval_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"cancha/stream/internal/eval"
	"cancha/stream/internal/value"
	"cancha/stream/plan"
)

// columns is a scope of columns that are known, by place.
type columns []struct {
	name string
	v    value.Value
}

func (c columns) Kind(path string) value.Kind {
	for _, each := range c {
		if each.name == path && !strings.HasPrefix(path, "any") && !each.v.IsNull() {
			return each.v.Kind()
		}
	}
	return value.Any
}

func (c columns) Field(path string, _ value.Kind) (eval.Node, error) {
	for i, each := range c {
		if each.name == path {
			return eval.Column(i, c.Kind(path)), nil
		}
	}
	return eval.Node{}, fmt.Errorf("no column %q", path)
}

func (c columns) row() (row eval.Row) {
	for _, each := range c {
		row = append(row, each.v)
	}
	return row
}

var scope = columns{
	{"n", value.FloatOf(7.5)}, {"i", value.IntOf(-3)}, {"s", value.TextOf(" Lima, Perú ")}, {"b", value.BoolOf(true)}, {"null", value.Value{}},
	{"t", value.TimeOf(time.Date(2026, 3, 1, 15, 4, 5, 6e8, time.UTC))}, {"any", value.IntOf(4)}, {"anytext", value.TextOf("4.5")},
	{"anytime", value.TextOf("2026-03-01T15:00:00Z")}, {"ms", value.IntOf(1_000)},
}

func TestOperators(t *testing.T) {
	f := plan.Field
	for _, each := range []struct {
		e    plan.Expr
		want string
	}{
		{f("n").Add(f("i")), "4.5"}, {f("n").Sub(1), "6.5"}, {f("n").Mul(2), "15"}, {f("n").Div(3), "2.5"}, {f("n").Div(0), ""}, {f("n").Mod(2), "1.5"},
		{f("i").Mod(0), ""}, {f("i").Neg(), "3"}, {f("i").Abs(), "3"}, {f("n").Floor(), "7"}, {f("n").Round(0), "8"}, {f("i").Sqrt(), ""}, {plan.Literal(9).Sqrt(), "3"},
		{plan.Literal(1).Log(), "0"}, {plan.Literal(0).Log(), ""}, {f("null").Add(1), ""}, {f("any").Add(1), "5"}, {f("anytext").Add(1), ""},
		{f("n").Gt(7), "true"}, {f("n").Le(f("i")), "false"}, {f("any").Eq(4.0), "true"}, {f("any").Ne("4"), "true"}, {f("anytext").Eq("4.5"), "true"},
		{f("null").Eq(1), "false"}, {f("null").Eq(1).Not(), "true"}, {f("null").Ne(1), "false"}, {f("s").Lt("a"), "true"}, {f("t").Gt("2026-03-01T15:00:00Z"), "true"},
		{f("n").Between(7, 8), "true"}, {f("any").In(1, 4), "true"}, {f("anytext").In("x", "4.5", 3), "true"}, {f("any").In("x", 4), "true"}, {f("null").In(1), "false"}, {f("s").In(1, " Lima, Perú "), "true"}, {f("b").In("x", true), "true"}, {f("null").In("x", nil), "true"}, {f("n").In(), "false"},
		{f("b").And(f("n").Gt(1)), "true"}, {f("b").Not().Or(f("b")), "true"}, {f("null").IsNull(), "true"}, {f("n").NotNull(), "true"},
		{f("null").OrElse(3), "3"}, {f("n").OrElse(3), "7.5"}, {plan.If(f("b"), "yes", "no"), "yes"}, {plan.If(f("n").Lt(0), 1, 2), "2"},
		{f("s").Trim(), "Lima, Perú"}, {f("s").Trim().Lower(), "lima, perú"}, {f("s").Trim().Upper(), "LIMA, PERÚ"}, {f("s").Trim().Length(), "10"},
		{f("s").Contains("Per"), "true"}, {f("s").Trim().HasPrefix("Lima"), "true"}, {f("s").HasSuffix("x"), "false"}, {f("s").Trim().Split(", ", 1), "Perú"},
		{f("s").Trim().Split(", ", -1), "Perú"}, {f("s").Split(", ", 5), ""}, {f("s").Trim().Substring(6, 3), "Per"}, {f("s").Substring(50, 3), ""},
		{f("s").Replace("Lima", "Cusco").Trim(), "Cusco, Perú"}, {f("s").Matches(`L\w+a`), "true"}, {f("s").Extract(`L(\w+)a`, 1), "im"}, {f("s").Extract(`x(\d)`, 1), ""},
		{f("i").Concat("!"), "-3!"}, {f("n").AsText(), "7.5"}, {f("anytext").AsNumber(), "4.5"}, {f("s").AsNumber(), ""}, {f("anytime").AsTime(), "2026-03-01T15:00:00Z"},
		{f("ms").UnixMillis(), "1970-01-01T00:00:01Z"}, {f("ms").UnixSeconds(), "1970-01-01T00:16:40Z"}, {plan.Literal(1.5).UnixSeconds(), "1970-01-01T00:00:01.5Z"},
		{f("t").Truncate(time.Hour), "2026-03-01T15:00:00Z"}, {f("t").Add(90 * time.Second), "2026-03-01T15:05:35.6Z"}, {f("t").Sub(5), "2026-03-01T15:04:00.6Z"},
		{f("t").Sub(f("anytime").AsTime()), "245.6"}, {f("t").Year(), "2026"}, {f("t").Month(), "3"}, {f("t").Day(), "1"}, {f("t").Hour(), "15"}, {f("t").Minute(), "4"},
		{f("t").Weekday(), "0"}, {f("t").Format("15h"), "15h"}, {f("t").Unix(), "1772377445.6"}, {plan.Call("distance", 0, 0, 3, 4), "5"}, {plan.Call("distance", 0, f("null"), 3, 4), ""},
	} {
		n, err := eval.Compile(each.e, scope, value.Any)
		if err != nil {
			t.Errorf("%s: %v", each.e, err)
			continue
		}
		if got := n.Value(scope.row()).String(); got != each.want {
			t.Errorf("%s: got %q, want %q", each.e, got, each.want)
		}
	}
}

func TestWhatDoesNotFitIsRefused(t *testing.T) {
	f := plan.Field
	for _, each := range []struct {
		e    plan.Expr
		says string
	}{
		{f("s").Add(1), "s is a text; want a number"}, {f("n").Lower(), "n is a number; want a text"}, {f("s").Hour(), "s is a text; want a time"},
		{f("n").And(f("b")), "n is a number; want true or false"}, {f("x").Add(1), `no column "x"`}, {f("s").Matches("("), "missing closing )"},
		{f("s").Extract("a", 1), "the pattern has 0 groups"}, {f("n").Eq([]int{1}), "a literal of type []int"}, {plan.Call("nothing"), `no operator "nothing"`},
		{f("n").Gt("x"), `"x" is a text; want a number`}, {f("n").In("7.5", "8"), "n is a number, and is never equal to a text"}, {f("b").Eq("true"), "b is true or false"},
		{f("b").Ne("true"), "never equal"}, {f("t").In("2026-03-01T15:00:00Z"), "t is a time, and is never equal to a text"}, {f("s").Gt(plan.Literal(true)), "s is a text"},
		{f("any").Gt(" 10 "), "write 10 without quotes"}, {f("t").Truncate(0), "want a span of time"}, {f("n").In(f("i")), "In wants literals"},
		{plan.Expr{}, "an empty expression"}, {plan.Expr{Op: "add"}, "add takes 2 arguments"},
	} {
		if _, err := eval.Compile(each.e, scope, value.Any); err == nil || !strings.Contains(err.Error(), each.says) {
			t.Errorf("%s: got %v, want %q", each.e, err, each.says)
		}
	}
}

// FuzzExpression compiles expressions of any shape over any texts: an error is fine, a panic is not.
func FuzzExpression(f *testing.F) {
	f.Add("add", "split", "lower", "n", "s", 1.5, int64(2))
	f.Add("truncate", "format", "matches", "t", "(", -1.0, int64(-1))
	f.Fuzz(func(t *testing.T, a, b, c, field, text string, x float64, n int64) {
		e := plan.Call(a, plan.Call(b, plan.Field(field), text, n), x, plan.Call(c, plan.Field(field), text))
		for _, e := range []plan.Expr{e, plan.Call(a, plan.Field(field), text, n), plan.Call(b, plan.Field(field)), plan.Call(c, plan.Field(field), x), plan.Call(b, plan.Field(field), n, n)} {
			if node, err := eval.Compile(e, scope, value.Any); err == nil {
				_ = node.Value(scope.row()).String()
			}
			_ = e.String()
		}
	})
}
