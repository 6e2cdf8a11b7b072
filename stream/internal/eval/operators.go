package eval

import (
	"math"
	"strings"
	"time"

	"cancha/stream/internal/value"
	"cancha/stream/plan"
)

// operator is how a kind of expression is compiled.
type operator struct {
	least, most int // arguments; most -1: any number
	gives       value.Kind
	kind        func(c compiler, e plan.Expr) value.Kind // where it depends on the arguments
	compile     func(c compiler, e plan.Expr) (Node, error)
}

// operators are all that expressions may name.
func operators() map[string]operator {
	return map[string]operator{
		"add": {2, 2, value.Float, sumKind, compileAdd},
		"sub": {2, 2, value.Float, differenceKind, compileSub},
		"mul": arithmetic(func(x, y float64) (float64, bool) { return x * y, true }),
		"div": arithmetic(func(x, y float64) (float64, bool) { return x / y, y != 0 }),
		"mod": arithmetic(func(x, y float64) (float64, bool) { return math.Mod(x, y), y != 0 }),
		"neg": onNumber(func(x float64) (float64, bool) { return -x, true }), "abs": onNumber(func(x float64) (float64, bool) { return math.Abs(x), true }),
		"floor": onNumber(func(x float64) (float64, bool) { return math.Floor(x), true }),
		"sqrt":  onNumber(func(x float64) (float64, bool) { return math.Sqrt(x), x >= 0 }),
		"log":   onNumber(func(x float64) (float64, bool) { return math.Log(x), x > 0 }),
		"round": {2, 2, value.Float, nil, compileRound},
		"eq":    comparison(func(c int) bool { return c == 0 }), "ne": comparison(func(c int) bool { return c != 0 }),
		"lt": comparison(func(c int) bool { return c < 0 }), "le": comparison(func(c int) bool { return c <= 0 }),
		"gt": comparison(func(c int) bool { return c > 0 }), "ge": comparison(func(c int) bool { return c >= 0 }),
		"in":  {1, -1, value.Bool, nil, compileIn},
		"and": {2, 2, value.Bool, nil, compileAnd}, "or": {2, 2, value.Bool, nil, compileOr}, "not": {1, 1, value.Bool, nil, compileNot},
		"is_null": {1, 1, value.Bool, nil, compileNull(true)}, "not_null": {1, 1, value.Bool, nil, compileNull(false)},
		"or_else": {2, 2, value.Any, eitherKind, compileOrElse}, "if": {3, 3, value.Any, ifKind, compileIf},
		"lower": onText(strings.ToLower), "upper": onText(strings.ToUpper), "trim": onText(strings.TrimSpace),
		"length":   {1, 1, value.Int, nil, compileLength},
		"contains": askText(strings.Contains), "has_prefix": askText(strings.HasPrefix), "has_suffix": askText(strings.HasSuffix),
		"concat":  {2, 2, value.Text, nil, compileConcat},
		"replace": {3, 3, value.Text, nil, compileReplace}, "substring": {3, 3, value.Text, nil, compileSubstring},
		"split": {3, 3, value.Text, nil, compileSplit}, "matches": {2, 2, value.Bool, nil, compileMatches},
		"extract": {3, 3, value.Text, nil, compileExtract},
		"as_text": {1, 1, value.Text, nil, compileAsText}, "as_number": {1, 1, value.Float, nil, compileAsNumber},
		"as_time": {1, 1, value.Time, nil, compileAsTime}, "from_unix": {2, 2, value.Time, nil, compileFromUnix},
		"unix":     {1, 1, value.Float, nil, compileUnix},
		"truncate": {2, 2, value.Time, nil, compileTruncate}, "format": {2, 2, value.Text, nil, compileFormat},
		"year": ofTime(time.Time.Year), "month": ofTime(func(t time.Time) int { return int(t.Month()) }), "day": ofTime(time.Time.Day),
		"hour": ofTime(time.Time.Hour), "minute": ofTime(time.Time.Minute), "weekday": ofTime(func(t time.Time) int { return int(t.Weekday()) }),
		"distance": {4, 4, value.Float, nil, compileDistance},
		"now":      {0, 0, value.Time, nil, compileNow},
	}
}

// compileNow is the clock's time at each row.
func compileNow(compiler, plan.Expr) (Node, error) {
	return Node{Kind: value.Time, Value: func(Row) value.Value { return value.TimeOf(time.Now()) }}, nil
}

func (c compiler) numberAt(e plan.Expr, i int) (func(Row) (float64, bool), error) {
	n, err := c.compile(e.Args[i], value.Float)
	return n.Number, err
}

func onNumber(f func(x float64) (float64, bool)) operator {
	return operator{1, 1, value.Float, nil, func(c compiler, e plan.Expr) (Node, error) {
		a, err := c.numberAt(e, 0)
		return number(func(row Row) (float64, bool) {
			x, ok := a(row)
			if !ok {
				return 0, false
			}
			return f(x)
		}), err
	}}
}

func arithmetic(f func(x, y float64) (float64, bool)) operator {
	return operator{2, 2, value.Float, nil, func(c compiler, e plan.Expr) (Node, error) { return binary(c, e, f) }}
}

func binary(c compiler, e plan.Expr, f func(x, y float64) (float64, bool)) (Node, error) {
	a, err := c.numberAt(e, 0)
	if err != nil {
		return Node{}, err
	}
	b, err := c.numberAt(e, 1)
	return number(func(row Row) (float64, bool) {
		x, ok := a(row)
		if !ok {
			return 0, false
		}
		y, ok := b(row)
		if !ok {
			return 0, false
		}
		return f(x, y)
	}), err
}

func sumKind(c compiler, e plan.Expr) value.Kind {
	if c.kind(e.Args[0]) == value.Time {
		return value.Time
	}
	return value.Float
}

func differenceKind(c compiler, e plan.Expr) value.Kind {
	if c.kind(e.Args[0]) == value.Time && c.kind(e.Args[1]) != value.Time {
		return value.Time
	}
	return value.Float
}

func compileAdd(c compiler, e plan.Expr) (Node, error) {
	if sumKind(c, e) == value.Time {
		return shifted(c, e, 1)
	}
	return binary(c, e, func(x, y float64) (float64, bool) { return x + y, true })
}

func compileSub(c compiler, e plan.Expr) (Node, error) {
	switch {
	case differenceKind(c, e) == value.Time:
		return shifted(c, e, -1)
	case c.kind(e.Args[0]) != value.Time:
		return binary(c, e, func(x, y float64) (float64, bool) { return x - y, true })
	}
	a, err := c.compile(e.Args[0], value.Time)
	if err != nil {
		return a, err
	}
	b, err := c.compile(e.Args[1], value.Time)
	return number(func(row Row) (float64, bool) {
		x, y := a.Value(row), b.Value(row)
		return float64(x.Nanos()-y.Nanos()) / 1e9, !x.IsNull() && !y.IsNull()
	}), err
}

func compileRound(c compiler, e plan.Expr) (Node, error) {
	a, err := c.numberAt(e, 0)
	if err != nil {
		return Node{}, err
	}
	scale := math.Pow(10, e.Args[1].Literal.Float())
	return number(func(row Row) (float64, bool) {
		x, ok := a(row)
		if y := math.Round(x*scale) / scale; !math.IsNaN(y) && !math.IsInf(y, 0) {
			x = y
		}
		return x, ok
	}), nil
}

func compileDistance(c compiler, e plan.Expr) (Node, error) {
	var at [4]func(Row) (float64, bool)
	for i := range at {
		var err error
		if at[i], err = c.numberAt(e, i); err != nil {
			return Node{}, err
		}
	}
	return number(func(row Row) (float64, bool) {
		x1, ok1 := at[0](row)
		y1, ok2 := at[1](row)
		x2, ok3 := at[2](row)
		y2, ok4 := at[3](row)
		dx, dy := x2-x1, y2-y1
		return math.Sqrt(float64(dx*dx) + float64(dy*dy)), ok1 && ok2 && ok3 && ok4
	}), nil
}
