package eval

import (
	"fmt"
	"math"
	"time"

	"cancha/stream/internal/value"
	"cancha/stream/plan"
)

// shifted is a time some seconds later, or earlier.
func shifted(c compiler, e plan.Expr, sign float64) (Node, error) {
	a, err := c.compile(e.Args[0], value.Time)
	if err != nil {
		return a, err
	}
	by, err := c.numberAt(e, 1)
	return Node{Kind: value.Time, Value: func(row Row) value.Value {
		t := a.Value(row)
		s, ok := by(row)
		if t.IsNull() || !ok {
			return value.Value{}
		}
		return instant(float64(t.Nanos())/1e9+sign*s, t.Nanos()+int64(math.Round(sign*s*1e9)))
	}}, err
}

// instant is a time by its nanoseconds, absent where the seconds are beyond what they can tell.
func instant(seconds float64, ns int64) value.Value {
	if math.Abs(seconds) > 9.2e9 {
		return value.Value{}
	}
	return value.Nanos(ns)
}

func compileAsTime(c compiler, e plan.Expr) (Node, error) {
	if path := e.Args[0].Path; e.Args[0].Op == "field" && c.kind(e.Args[0]) == value.Any {
		if n, err := c.scope.Field(path, value.Time); err != nil || n.Kind == value.Time {
			return n, err // of a record, which is bad if it has something else there
		}
	}
	a, err := c.compile(e.Args[0], value.Any)
	return typed(value.Time, func(row Row) value.Value {
		v := literal(a.Value(row), value.Time)
		if v.Kind() != value.Time {
			return value.Value{}
		}
		return v
	}), err
}

// compileFromUnix counts whole units as integers, and what is left of one to the nanosecond.
func compileFromUnix(c compiler, e plan.Expr) (Node, error) {
	unit := e.Args[1].Literal.Float()
	a, err := c.compile(e.Args[0], value.Float)
	met := c.watch(e)
	return typed(value.Time, func(row Row) value.Value {
		v := a.Value(row)
		x, ok := v.Number()
		if !ok {
			return value.Value{}
		}
		met.count(x, unit)
		n, rest := v.Int(), 0.0
		if v.Kind() != value.Int {
			whole, part := math.Modf(x)
			n, rest = int64(whole), part
		}
		return instant(x*unit/1e9, n*int64(unit)+int64(math.Round(rest*unit)))
	}), err
}

func compileUnix(c compiler, e plan.Expr) (Node, error) {
	a, err := c.compile(e.Args[0], value.Time)
	return number(func(row Row) (float64, bool) {
		v := a.Value(row)
		return float64(v.Nanos()) / 1e9, !v.IsNull()
	}), err
}

func compileTruncate(c compiler, e plan.Expr) (Node, error) {
	a, err := c.compile(e.Args[0], value.Time)
	span := int64(math.Round(e.Args[1].Literal.Float() * 1e9))
	if err == nil && span <= 0 {
		return a, fmt.Errorf("stream: %s: want a span of time", e)
	}
	return typed(value.Time, func(row Row) value.Value {
		v := a.Value(row)
		if v.IsNull() {
			return v
		}
		return value.Nanos(Floor(v.Nanos(), span))
	}), err
}

// Floor is the greatest multiple of span that is not greater than ns.
func Floor(ns, span int64) int64 {
	r := ns % span
	if r < 0 {
		r += span
	}
	return ns - r
}

func compileFormat(c compiler, e plan.Expr) (Node, error) {
	a, err := c.compile(e.Args[0], value.Time)
	layout := e.Args[1].Literal.Text()
	return text(func(row Row) (string, bool) {
		v := a.Value(row)
		return v.Time().Format(layout), !v.IsNull()
	}), err
}

func ofTime(f func(t time.Time) int) operator {
	return operator{1, 1, value.Int, nil, func(c compiler, e plan.Expr) (Node, error) {
		a, err := c.compile(e.Args[0], value.Time)
		return typed(value.Int, func(row Row) value.Value {
			v := a.Value(row)
			if v.IsNull() {
				return v
			}
			return value.IntOf(int64(f(v.Time())))
		}), err
	}}
}
