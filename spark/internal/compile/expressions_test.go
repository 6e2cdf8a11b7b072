package compile

import (
	"time"

	"cancha/stream"
	"cancha/stream/plan"
)

// columnKinds are the columns that expressions name, each of its kind. In a record they are paths.
func columnKinds() map[string]stream.Kind {
	return map[string]stream.Kind{"b": stream.Bool, "i": stream.Int, "x": stream.Float, "y": stream.Float, "s": stream.Text,
		"t": stream.Time, "a": stream.Any, "c": stream.Any}
}

// expressions are expressions over these columns, at least one for each operator.
func expressions() []plan.Expr {
	f := stream.Field
	x, y, i, s, t, a, b, c := f("x"), f("y"), f("i"), f("s"), f("t"), f("a"), f("b"), f("c")
	return []plan.Expr{
		x.Add(y), x.Sub(1), x.Mul(i), x.Div(y), x.Mod(y), x.Neg(), x.Abs(), x.Round(2), x.Round(-1), x.Floor(), x.Sqrt(), x.Log(), b.Add(1),
		plan.Call("distance", x, y, i, 1), a.Add(1), x.Mul(y).Add(i).Mul(x.Sub(y)).Floor(),
		x.Eq(y), x.Ne(1), x.Lt(y), x.Le(y), x.Gt(1.5), x.Ge(y), x.Between(0, 1), i.In(1, 2), a.In(1, "one", true, nil), s.In("u", "v"),
		a.Eq("v"), a.Ne("v"), a.Lt("v"),
		a.Eq(1), a.Ne(c), a.Eq(c), a.Lt(c), a.Eq(true), a.Ne(false), s.Eq("it's a \\ back"), s.Lt("m"), s.Ne(b),
		t.Gt("2026-03-01T12:00:00Z"), a.Eq(nil), b.Eq(true), b.Ne(a),
		b.And(x.Gt(0)), b.Or(a), b.Not(), x.Gt(0).Not(), x.IsNull(), a.NotNull(), x.OrElse(0), a.OrElse("none"), a.OrElse(1), s.OrElse(i),
		stream.If(x.Gt(0), "more", "less"), stream.If(b, 1, 2.5), stream.If(b, x, "none"), stream.If(a, a, c),
		s.Lower(), s.Upper(), s.Trim(), s.Length(), s.Contains("b"), s.HasPrefix("a"), s.HasSuffix(s), s.Concat(x), t.Concat(a), b.Concat(i),
		s.Replace("a", "b'"), s.Substring(1, 2), s.Split(".", 0), s.Split("::", -1), s.Matches(`^a.*\d$`), s.Matches(`(?i)straße\b`),
		s.Extract(`(\w+)@(\w+)`, 2), s.Extract("b+", 0),
		x.AsText(), i.AsText(), t.AsText(), b.AsText(), a.AsText(), s.AsNumber(), a.AsNumber(), b.AsNumber(), t.AsNumber(), s.AsTime(),
		a.AsTime(), t.AsTime(),
		x.UnixSeconds(), i.UnixMillis(), x.UnixMicros(), i.UnixNanos(), a.UnixNanos(), t.Unix(), t.Add(60), t.Sub(time.Minute),
		t.Sub(t.Truncate(time.Hour)), t.Truncate(24 * time.Hour),
		t.Year(), t.Month(), t.Day(), t.Hour(), t.Minute(), t.Weekday(), t.Format("2006-01-02 15:04:05.000 MST"),
		t.Format("Mon, January 2 at 3 o'clock PM"), stream.Now(),
	}
}
