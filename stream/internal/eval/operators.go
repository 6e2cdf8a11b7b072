package eval

import (
	"cmp"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

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

// comparison compiles a comparison: as numbers or times where either side is known to be one, and by what the values are otherwise.
func comparison(yes func(c int) bool) operator {
	return operator{2, 2, value.Bool, nil, func(c compiler, e plan.Expr) (Node, error) {
		ka, kb := c.kind(e.Args[0]), c.kind(e.Args[1])
		switch {
		case ka == value.Time || kb == value.Time:
			return c.compare(e, value.Time, yes)
		case beyond53(e.Args[0]) || beyond53(e.Args[1]):
			return c.compareExactly(e, yes)
		case isNumber(ka) || isNumber(kb):
			return c.compareNumbers(e, yes)
		}
		return c.compare(e, value.Any, yes)
	}}
}

// beyond53 tells whether an expression is an integer that float64 may not hold: it must be compared as what it is.
func beyond53(e plan.Expr) bool {
	return e.Op == "literal" && e.Literal.Kind() == value.Int && (e.Literal.Int() >= 1<<53 || e.Literal.Int() <= -1<<53)
}

// compareExactly compares numbers, integers as integers.
func (c compiler) compareExactly(e plan.Expr, yes func(c int) bool) (Node, error) {
	a, err := c.compile(e.Args[0], value.Float)
	if err != nil {
		return a, err
	}
	b, err := c.compile(e.Args[1], value.Float)
	return test(func(row Row) bool {
		x, y := a.Value(row), b.Value(row)
		return !x.IsNull() && !y.IsNull() && yes(orderExactly(x, y))
	}), err
}

// orderExactly orders two numbers. What has been computed is a float64, which stands for the integers next to it too.
func orderExactly(x, y value.Value) int {
	if x.Kind() == value.Int && y.Kind() == value.Int {
		return cmp.Compare(x.Int(), y.Int())
	}
	return order(x.Float(), y.Float())
}

func (c compiler) compareNumbers(e plan.Expr, yes func(c int) bool) (Node, error) {
	a, err := c.numberAt(e, 0)
	if err != nil {
		return Node{}, err
	}
	if l := e.Args[1]; l.Op == "literal" {
		want := l.Literal.Float()
		if _, err := c.numberAt(e, 1); err != nil {
			return Node{}, err
		}
		return test(against(e.Op, a, want)), nil
	}
	b, err := c.numberAt(e, 1)
	return test(func(row Row) bool {
		x, ok := a(row)
		y, also := b(row)
		return ok && also && yes(order(x, y))
	}), err
}

// against compares a number with a literal.
func against(op string, a func(Row) (float64, bool), want float64) func(row Row) bool {
	switch op {
	case "eq":
		return func(row Row) bool { x, ok := a(row); return ok && x == want }
	case "ne":
		return func(row Row) bool { x, ok := a(row); return ok && x != want }
	case "lt":
		return func(row Row) bool { x, ok := a(row); return ok && x < want }
	case "le":
		return func(row Row) bool { x, ok := a(row); return ok && x <= want }
	case "gt":
		return func(row Row) bool { x, ok := a(row); return ok && x > want }
	}
	return func(row Row) bool { x, ok := a(row); return ok && x >= want }
}

func order(x, y float64) int {
	switch {
	case x < y:
		return -1
	case x > y:
		return 1
	}
	return 0
}

// compare compares values by what they are. Values of different kinds are not equal, and neither is less.
func (c compiler) compare(e plan.Expr, want value.Kind, yes func(c int) bool) (Node, error) {
	a, err := c.compile(e.Args[0], want)
	if err != nil {
		return a, err
	}
	b, err := c.compile(e.Args[1], want)
	isNe := e.Op == "ne"
	return test(func(row Row) bool {
		x, y := a.Value(row), b.Value(row)
		if x.IsNull() || y.IsNull() {
			return false
		}
		if x.Kind() != y.Kind() && !(isNumber(x.Kind()) && isNumber(y.Kind())) {
			return isNe
		}
		return yes(value.Compare(x, y))
	}), err
}

func compileIn(c compiler, e plan.Expr) (Node, error) {
	set := map[string]bool{}
	numbers, large := []value.Value{}, false
	for _, a := range e.Args[1:] {
		if a.Op != "literal" || a.Path != "" {
			return Node{}, fmt.Errorf("stream: %s: In wants literals, got %s; write Eq and Or", e, a)
		}
		if isNumber(a.Literal.Kind()) {
			numbers, large = append(numbers, a.Literal), large || beyond53(a)
		}
		set[string(a.Literal.AppendKey(nil))] = true
	}
	switch {
	case len(numbers) == 0 || len(numbers) < len(e.Args)-1: // by what they are
	case large:
		return inExactly(c, e, numbers)
	default:
		return inNumbers(c, e, numbers)
	}
	a, err := c.compile(e.Args[0], value.Any)
	return test(func(row Row) bool {
		var scratch [64]byte
		return set[string(a.Value(row).AppendKey(scratch[:0]))]
	}), err
}

func inNumbers(c compiler, e plan.Expr, literals []value.Value) (Node, error) {
	a, err := c.numberAt(e, 0)
	numbers := make([]float64, len(literals))
	for i, l := range literals {
		numbers[i] = l.Float()
	}
	return test(func(row Row) bool {
		x, ok := a(row)
		return ok && slices.Contains(numbers, x)
	}), err
}

func inExactly(c compiler, e plan.Expr, literals []value.Value) (Node, error) {
	a, err := c.compile(e.Args[0], value.Float)
	return test(func(row Row) bool {
		x := a.Value(row)
		return !x.IsNull() && slices.ContainsFunc(literals, func(l value.Value) bool { return orderExactly(x, l) == 0 })
	}), err
}

func (c compiler) tests(e plan.Expr) (tests []func(Row) bool, err error) {
	for _, a := range e.Args {
		n, err := c.compile(a, value.Bool)
		if err != nil {
			return nil, err
		}
		tests = append(tests, n.Test)
	}
	return tests, nil
}

func compileAnd(c compiler, e plan.Expr) (Node, error) {
	t, err := c.tests(e)
	if err != nil {
		return Node{}, err
	}
	a, b := t[0], t[1]
	return test(func(row Row) bool { return a(row) && b(row) }), nil
}

func compileOr(c compiler, e plan.Expr) (Node, error) {
	t, err := c.tests(e)
	if err != nil {
		return Node{}, err
	}
	a, b := t[0], t[1]
	return test(func(row Row) bool { return a(row) || b(row) }), nil
}

func compileNot(c compiler, e plan.Expr) (Node, error) {
	t, err := c.tests(e)
	if err != nil {
		return Node{}, err
	}
	a := t[0]
	return test(func(row Row) bool { return !a(row) }), nil
}

func compileNull(want bool) func(c compiler, e plan.Expr) (Node, error) {
	return func(c compiler, e plan.Expr) (Node, error) {
		a, err := c.compile(e.Args[0], value.Any)
		return test(func(row Row) bool { return a.Value(row).IsNull() == want }), err
	}
}

func common(a, b value.Kind) value.Kind {
	switch {
	case a == b:
		return a
	case isNumber(a) && isNumber(b):
		return value.Float
	}
	return value.Any
}

func eitherKind(c compiler, e plan.Expr) value.Kind {
	return common(c.kind(e.Args[0]), c.kind(e.Args[1]))
}

func ifKind(c compiler, e plan.Expr) value.Kind {
	return common(c.kind(e.Args[1]), c.kind(e.Args[2]))
}

// both compiles two expressions that stand for one another, each as a field of the kind that the other has if it is a record's own.
func (c compiler) both(a, b plan.Expr) (x, y Node, kind value.Kind, err error) {
	ka, kb := c.kind(a), c.kind(b)
	want := value.Any
	if ka == value.Any && kb != value.Any && kb != value.Text {
		want = kb
	} else if kb == value.Any && ka != value.Any && ka != value.Text {
		want = ka
	}
	if isNumber(want) {
		want = value.Float
	}
	if x, err = c.compile(a, want); err != nil {
		return x, y, kind, err
	}
	y, err = c.compile(b, want)
	return x, y, common(x.Kind, y.Kind), err
}

func compileOrElse(c compiler, e plan.Expr) (Node, error) {
	a, b, kind, err := c.both(e.Args[0], e.Args[1])
	return typed(kind, func(row Row) value.Value {
		if v := a.Value(row); !v.IsNull() {
			return v
		}
		return b.Value(row)
	}), err
}

func compileIf(c compiler, e plan.Expr) (Node, error) {
	condition, err := c.compile(e.Args[0], value.Bool)
	if err != nil {
		return condition, err
	}
	a, b, kind, err := c.both(e.Args[1], e.Args[2])
	return typed(kind, func(row Row) value.Value {
		if condition.Test(row) {
			return a.Value(row)
		}
		return b.Value(row)
	}), err
}

// typed is a node of a kind by its values.
func typed(kind value.Kind, f func(row Row) value.Value) Node {
	n := Node{Kind: kind, Value: f}
	switch {
	case isNumber(kind):
		n.Number = func(row Row) (float64, bool) { return f(row).Number() }
	case kind == value.Bool:
		n.Test = func(row Row) bool { return f(row).Bool() }
	}
	return n
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

func onText(f func(string) string) operator {
	return operator{1, 1, value.Text, nil, func(c compiler, e plan.Expr) (Node, error) {
		a, err := c.compile(e.Args[0], value.Text)
		return text(func(row Row) (string, bool) {
			v := a.Value(row)
			return f(v.Text()), !v.IsNull()
		}), err
	}}
}

func askText(f func(s, part string) bool) operator {
	return operator{2, 2, value.Bool, nil, func(c compiler, e plan.Expr) (Node, error) {
		a, err := c.compile(e.Args[0], value.Text)
		if err != nil {
			return a, err
		}
		b, err := c.compile(e.Args[1], value.Text)
		return test(func(row Row) bool {
			s, part := a.Value(row), b.Value(row)
			return !s.IsNull() && !part.IsNull() && f(s.Text(), part.Text())
		}), err
	}}
}

func compileLength(c compiler, e plan.Expr) (Node, error) {
	a, err := c.compile(e.Args[0], value.Text)
	return typed(value.Int, func(row Row) value.Value {
		v := a.Value(row)
		if v.IsNull() {
			return v
		}
		return value.IntOf(int64(utf8.RuneCountInString(v.Text())))
	}), err
}

func compileConcat(c compiler, e plan.Expr) (Node, error) {
	a, err := c.compile(e.Args[0], value.Any)
	if err != nil {
		return a, err
	}
	b, err := c.compile(e.Args[1], value.Any)
	return text(func(row Row) (string, bool) {
		x, y := a.Value(row), b.Value(row)
		return x.Text() + y.Text(), !x.IsNull() && !y.IsNull()
	}), err
}

func compileReplace(c compiler, e plan.Expr) (Node, error) {
	a, err := c.compile(e.Args[0], value.Text)
	old, by := e.Args[1].Literal.Text(), e.Args[2].Literal.Text()
	return text(func(row Row) (string, bool) {
		v := a.Value(row)
		return strings.ReplaceAll(v.Text(), old, by), !v.IsNull()
	}), err
}

func compileSubstring(c compiler, e plan.Expr) (Node, error) {
	a, err := c.compile(e.Args[0], value.Text)
	start, n := int(e.Args[1].Literal.Int()), int(e.Args[2].Literal.Int())
	if err == nil && (start < 0 || n < 0) {
		return a, fmt.Errorf("stream: %s: want a start and a length that are not negative", e)
	}
	return text(func(row Row) (string, bool) {
		v := a.Value(row)
		return substring(v.Text(), start, n), !v.IsNull()
	}), err
}

func substring(s string, start, n int) string {
	for ; start > 0 && s != ""; start-- {
		_, size := utf8.DecodeRuneInString(s)
		s = s[size:]
	}
	end := 0
	for ; n > 0 && end < len(s); n-- {
		_, size := utf8.DecodeRuneInString(s[end:])
		end += size
	}
	return s[:end]
}

func compileSplit(c compiler, e plan.Expr) (Node, error) {
	a, err := c.compile(e.Args[0], value.Text)
	separator, i := e.Args[1].Literal.Text(), int(e.Args[2].Literal.Int())
	if err == nil && separator == "" {
		return a, fmt.Errorf("stream: %s: want a separator", e)
	}
	return text(func(row Row) (string, bool) {
		v := a.Value(row)
		parts := strings.Split(v.Text(), separator)
		at := i
		if at < 0 {
			at += len(parts)
		}
		if v.IsNull() || at < 0 || at >= len(parts) {
			return "", false
		}
		return parts[at], true
	}), err
}

func pattern(e plan.Expr) (*regexp.Regexp, error) {
	p, err := regexp.Compile(e.Args[1].Literal.Text())
	if err != nil {
		return nil, fmt.Errorf("stream: %s: %w", e, err)
	}
	return p, nil
}

func compileMatches(c compiler, e plan.Expr) (Node, error) {
	p, err := pattern(e)
	if err != nil {
		return Node{}, err
	}
	a, err := c.compile(e.Args[0], value.Text)
	return test(func(row Row) bool {
		v := a.Value(row)
		return !v.IsNull() && p.MatchString(v.Text())
	}), err
}

func compileExtract(c compiler, e plan.Expr) (Node, error) {
	p, err := pattern(e)
	if err != nil {
		return Node{}, err
	}
	group := int(e.Args[2].Literal.Int())
	if group < 0 || group > p.NumSubexp() {
		return Node{}, fmt.Errorf("stream: %s: the pattern has %d groups", e, p.NumSubexp())
	}
	a, err := c.compile(e.Args[0], value.Text)
	return text(func(row Row) (string, bool) {
		v := a.Value(row)
		at := p.FindStringSubmatchIndex(v.Text())
		if v.IsNull() || at == nil || at[2*group] < 0 {
			return "", false
		}
		return v.Text()[at[2*group]:at[2*group+1]], true
	}), err
}

func compileAsText(c compiler, e plan.Expr) (Node, error) {
	a, err := c.compile(e.Args[0], value.Any)
	return text(func(row Row) (string, bool) {
		v := a.Value(row)
		return v.Text(), !v.IsNull()
	}), err
}

func compileAsNumber(c compiler, e plan.Expr) (Node, error) {
	a, err := c.compile(e.Args[0], value.Any)
	return number(func(row Row) (float64, bool) {
		v := a.Value(row)
		if v.Kind() != value.Text {
			return v.Number()
		}
		x, err := strconv.ParseFloat(strings.TrimSpace(v.Text()), 64)
		return x, err == nil && !math.IsNaN(x) && !math.IsInf(x, 0) && !strings.ContainsAny(v.Text(), "xX_")
	}), err
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
	return typed(value.Time, func(row Row) value.Value {
		v := a.Value(row)
		x, ok := v.Number()
		if !ok {
			return value.Value{}
		}
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
