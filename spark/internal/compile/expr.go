package compile

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"cancha/stream"
	"cancha/stream/plan"
)

// node is a compiled expression: SQL, and what is known of its values. SQL of kind Any or JSON is the JSON text of a value.
type node struct {
	kind stream.Kind
	sql  string
	sure bool    // of kind Bool: it is never absent
	of   *origin // the path of a record that the value is, as it is there; nil: it is computed
}

// origin is where in a record a value lies.
type origin struct {
	in   *reads
	path string
	live bool    // the record is at hand: more can be read of it
	also *origin // where the values of the other side of a union lie, or of the other side's key of a full join
}

// demand notes what must be there, wherever the values come from.
func (o *origin) demand(want stream.Kind) {
	for ; o != nil; o = o.also {
		o.in.demand(o.path, want)
	}
}

// and is both origins; nil is none.
func (o *origin) and(p *origin) *origin {
	if o == nil {
		return p
	}
	both := *o
	both.also = o.also.and(p)
	return &both
}

// test is a condition, which is true or false.
func (n node) test() string {
	if n.sure {
		return n.sql
	}
	return "coalesce(" + n.sql + ", false)"
}

func test(format string, args ...any) node {
	return node{kind: stream.Bool, sql: fmt.Sprintf(format, args...), sure: true}
}

func number(format string, args ...any) node {
	return node{kind: stream.Float, sql: fmt.Sprintf(format, args...)}
}

func textual(format string, args ...any) node {
	return node{kind: stream.Text, sql: fmt.Sprintf(format, args...)}
}

// operator is how a kind of expression becomes SQL.
type operator struct {
	gives   stream.Kind
	kind    func(l *layout, e plan.Expr) stream.Kind // where it depends on the arguments
	compile func(l *layout, e plan.Expr) (node, error)
}

// operators are all that expressions may name.
func operators() map[string]operator {
	return map[string]operator{
		"add": {stream.Float, sumKind, compileAdd}, "sub": {stream.Float, differenceKind, compileSub},
		"mul": arithmetic("(%s * %s)"), "div": arithmetic("try_divide(%s, %s)"), "mod": arithmetic("(%s %% nullif(%s, 0D))"),
		"neg": onNumber("(- %s)"), "abs": onNumber("abs(%s)"), "log": onNumber("ln(%s)"),
		"sqrt": {stream.Float, nil, compileSqrt}, "floor": {stream.Float, nil, compileFloor}, "round": {stream.Float, nil, compileRound},
		"distance": {stream.Float, nil, compileDistance},
		"eq":       comparison("="), "ne": comparison("<>"), "lt": comparison("<"), "le": comparison("<="), "gt": comparison(">"),
		"ge":  comparison(">="),
		"in":  {stream.Bool, nil, compileIn},
		"and": {stream.Bool, nil, compileBoth("AND")}, "or": {stream.Bool, nil, compileBoth("OR")}, "not": {stream.Bool, nil, compileNot},
		"is_null": {stream.Bool, nil, compileNull("IS NULL")}, "not_null": {stream.Bool, nil, compileNull("IS NOT NULL")},
		"or_else": {stream.Any, eitherKind, compileOrElse}, "if": {stream.Any, ifKind, compileIf},
		"lower": {stream.Text, nil, compileCase("lower", severalLower, strings.ToLower)}, "upper": {stream.Text, nil, compileCase("upper", severalUpper, strings.ToUpper)},
		"trim":   onText(`regexp_replace(%s, ` + quote(trimmed) + `, '')`),
		"length": {stream.Int, nil, compileLength}, "concat": {stream.Text, nil, compileConcat},
		"contains": askText("contains"), "has_prefix": askText("startswith"), "has_suffix": askText("endswith"),
		"replace": {stream.Text, nil, compileReplace}, "substring": {stream.Text, nil, compileSubstring}, "split": {stream.Text, nil, compileSplit},
		"matches": {stream.Bool, nil, compileMatches}, "extract": {stream.Text, nil, compileExtract},
		"as_text": {stream.Text, nil, compileAsText}, "as_number": {stream.Float, nil, compileAsNumber}, "as_time": {stream.Time, nil, compileAsTime},
		"from_unix": {stream.Time, nil, compileFromUnix}, "unix": {stream.Float, nil, compileUnix},
		"truncate": {stream.Time, nil, compileTruncate}, "format": {stream.Text, nil, compileFormat},
		"year": ofTime("year(%s)"), "month": ofTime("month(%s)"), "day": ofTime("day(%s)"), "hour": ofTime("hour(%s)"),
		"minute": ofTime("minute(%s)"), "weekday": ofTime("(dayofweek(%s) - 1)"),
		"now": {stream.Time, nil, func(*layout, plan.Expr) (node, error) {
			return node{kind: stream.Time, sql: "current_timestamp()"}, nil
		}},
	}
}

// compile compiles an expression whose value must be of the wanted kind, or may be anything if that is Any.
func (l *layout) compile(e plan.Expr, want stream.Kind) (node, error) {
	switch e.Op {
	case "":
		return node{}, fmt.Errorf("spark: an empty expression; begin one with Field(path)")
	case "field":
		n, err := l.field(e.Path, want)
		if err != nil {
			return n, err
		}
		return l.fit(n, e, want)
	case "literal":
		return l.literal(e, want)
	}
	op, ok := l.operators[e.Op]
	if !ok {
		return node{}, fmt.Errorf("spark: the operator %q has no counterpart on Spark; write it with others, or run the query locally", e.Op)
	}
	n, err := op.compile(l, e)
	if err != nil {
		return n, err
	}
	return l.fit(n, e, want)
}

// condition compiles an expression that answers yes or no; none answers yes, as an empty text.
func (l *layout) condition(e plan.Expr) (string, error) {
	if e.None() {
		return "", nil
	}
	n, err := l.compile(e, stream.Bool)
	return n.test(), err
}

// literal is a literal; a text is the time that it is, where one is wanted.
func (l *layout) literal(e plan.Expr, want stream.Kind) (node, error) {
	v := e.Literal
	if e.Path != "" {
		return node{}, fmt.Errorf("spark: a literal of type %s; want a number, a string, a bool, a time.Time or a time.Duration", e.Path)
	}
	if want == stream.Time && v.Kind() == stream.Text {
		if t, err := time.Parse(time.RFC3339Nano, v.Text()); err == nil {
			v = stream.TimeOf(t)
		}
	}
	if want == stream.Float && v.Kind() == stream.Int {
		v = stream.FloatOf(v.Float())
	}
	n := node{kind: v.Kind(), sql: sqlOf(v), sure: v.Kind() == stream.Bool}
	if v.IsNull() {
		n.kind, n.sql = stream.Any, "CAST(NULL AS STRING)"
	}
	return l.fit(n, e, want)
}

// kind is what is known of an expression's value before it is compiled.
func (l *layout) kind(e plan.Expr) stream.Kind {
	switch e.Op {
	case "field":
		return l.kindOf(e.Path)
	case "literal":
		if e.Literal.IsNull() {
			return stream.Any
		}
		return e.Literal.Kind()
	}
	op, ok := l.operators[e.Op]
	switch {
	case !ok:
		return stream.Any
	case op.kind != nil:
		return op.kind(l, e)
	}
	return op.gives
}

func (l *layout) fit(n node, e plan.Expr, want stream.Kind) (node, error) {
	if (n.kind == stream.Any || n.kind == stream.JSON) && want != n.kind && want != stream.Any {
		n.sql = l.bind(n.sql)
	}
	as, ok := n.as(want)
	if !ok {
		return as, fmt.Errorf("spark: %s is %v; want %v", e, n.kind, want)
	}
	return as, nil
}

// as is a node as one of the wanted kind. Of a node of kind Any the values of that kind remain, and others are absent; if it is a path of a
// record, one that has something else there is bad.
func (n node) as(want stream.Kind) (node, bool) {
	switch {
	case want == stream.Any || n.kind == want:
		return n, true
	case want == stream.Float && n.kind == stream.Int:
		return number("CAST(%s AS DOUBLE)", n.sql), true
	case want == stream.Float && n.kind == stream.Bool:
		return number("CAST(CAST(%s AS INT) AS DOUBLE)", n.sql), true
	case n.kind != stream.Any && n.kind != stream.JSON:
		return node{}, false
	}
	n.of.demand(want)
	switch want {
	case stream.Float:
		return number("%s", numberIn(n.sql)), true
	case stream.Bool:
		return test("coalesce(%s = 'true', false)", n.sql), true
	case stream.Text:
		return textual("%s", textIn(n.sql)), true
	}
	return node{kind: want, sql: fmt.Sprintf("CAST(NULL AS %s)", typeOf(want))}, true
}

// any is a node as the JSON text of its values.
func (l *layout) any(n node) (string, error) {
	if n.kind == stream.Float {
		n.sql = l.bind(n.sql)
	}
	return n.any()
}

// any is a node as the JSON text of its values. A number's SQL stands in it several times.
func (n node) any() (string, error) {
	switch n.kind {
	case stream.Any, stream.JSON:
		return n.sql, nil
	case stream.Bool, stream.Int:
		return "CAST(" + n.sql + " AS STRING)", nil
	case stream.Float:
		return printed(n.sql), nil
	case stream.Text:
		return "to_json(CAST(" + n.sql + " AS VARIANT))", nil
	}
	return "", errors.New("spark: a time stands where other kinds of values may stand too, which no type of Spark's holds; " +
		"write .AsText() or .Unix() of it")
}

// numberIn is the number that a JSON text is: true and false count as 1 and 0. A number is what begins with a digit or a minus.
func numberIn(json string) string {
	return fmt.Sprintf("CASE WHEN %[1]s >= '-' AND %[1]s < ':' THEN try_cast(%[1]s AS DOUBLE)"+
		" WHEN %[1]s = 'true' THEN 1D WHEN %[1]s = 'false' THEN 0D END", json)
}

func isNumberIn(json string) string { return fmt.Sprintf("(%[1]s >= '-' AND %[1]s < ':')", json) }

// textIn is the text that a JSON text is.
func textIn(json string) string {
	return fmt.Sprintf(`CASE WHEN startswith(%[1]s, '"') THEN variant_get(try_parse_json(%[1]s), '$', 'string') END`, json)
}

func isTextIn(json string) string { return fmt.Sprintf(`startswith(%s, '"')`, json) }

// printed is a number as Go prints it: with as many digits as tell it from all others, and in full from 1e-6 to 1e21. Java goes over to
// exponents at 1e-3 and 1e7, which is why a DECIMAL prints what lies between.
func printed(x string) string {
	zeros, e := quote(`\.?0+$`), fmt.Sprintf("replace(replace(replace(CAST(%s AS STRING), '.0E', 'E'), 'E-', 'e-'), 'E', 'e+')", x)
	return fmt.Sprintf("CASE WHEN isnan(%[1]s) THEN NULL WHEN %[1]s = 0D THEN '0'"+
		" WHEN abs(%[1]s) >= 1E21D OR abs(%[1]s) < 1E-6D THEN regexp_replace(%[3]s, %[4]s, 'e$10$2')"+
		" WHEN abs(%[1]s) < 1E-3D THEN regexp_replace(CAST(CAST(CAST(%[1]s AS STRING) AS DECIMAL(38, 30)) AS STRING), %[2]s, '')"+
		" WHEN abs(%[1]s) >= 1E7D THEN regexp_replace(CAST(CAST(CAST(%[1]s AS STRING) AS DECIMAL(38, 16)) AS STRING), %[2]s, '')"+
		" ELSE regexp_replace(CAST(%[1]s AS STRING), %[5]s, '') END", x, zeros, e, quote(`e([+-])([0-9])$`), quote(`\.0$`))
}

// literalOf is the literal that an argument must be.
func literalOf(e plan.Expr, i int) stream.Value {
	if i >= len(e.Args) {
		return stream.Value{}
	}
	return e.Args[i].Literal
}

func isNumber(k stream.Kind) bool { return k == stream.Int || k == stream.Float }

// beyond53 tells whether an expression is an integer that a DOUBLE may not hold.
func beyond53(e plan.Expr) bool {
	return e.Op == "literal" && e.Literal.Kind() == stream.Int && (e.Literal.Int() >= 1<<53 || e.Literal.Int() <= -1<<53)
}

// numbers compiles all arguments as numbers.
func (l *layout) numbers(e plan.Expr) ([]any, error) {
	args := make([]any, len(e.Args))
	for i, a := range e.Args {
		n, err := l.compile(a, stream.Float)
		if err != nil {
			return nil, err
		}
		args[i] = n.sql
	}
	return args, nil
}

func onNumber(format string) operator {
	return operator{stream.Float, nil, func(l *layout, e plan.Expr) (node, error) {
		args, err := l.numbers(e)
		return number(format, args...), err
	}}
}

// boundNumbers are the arguments as numbers, for SQL that names them more than once.
func (l *layout) boundNumbers(e plan.Expr) ([]any, error) {
	args, err := l.numbers(e)
	for i := range args {
		args[i] = l.bind(args[i].(string))
	}
	return args, err
}

func arithmetic(format string) operator { return onNumber(format) }

func sumKind(l *layout, e plan.Expr) stream.Kind {
	if l.kind(e.Args[0]) == stream.Time {
		return stream.Time
	}
	return stream.Float
}

func differenceKind(l *layout, e plan.Expr) stream.Kind {
	if l.kind(e.Args[0]) == stream.Time && l.kind(e.Args[1]) != stream.Time {
		return stream.Time
	}
	return stream.Float
}

func compileAdd(l *layout, e plan.Expr) (node, error) {
	if sumKind(l, e) == stream.Time {
		return shifted(l, e, "+")
	}
	args, err := l.numbers(e)
	return number("(%s + %s)", args...), err
}

func compileSub(l *layout, e plan.Expr) (node, error) {
	switch {
	case differenceKind(l, e) == stream.Time:
		return shifted(l, e, "-")
	case l.kind(e.Args[0]) != stream.Time:
		args, err := l.numbers(e)
		return number("(%s - %s)", args...), err
	}
	a, err := l.compile(e.Args[0], stream.Time)
	if err != nil {
		return a, err
	}
	b, err := l.compile(e.Args[1], stream.Time)
	return number("((unix_micros(%s) - unix_micros(%s)) / 1E6D)", a.sql, b.sql), err
}

// compileSqrt: Spark's root of a negative number is NaN, not absent.
func compileSqrt(l *layout, e plan.Expr) (node, error) {
	args, err := l.boundNumbers(e)
	return number("CASE WHEN %[1]s >= 0D THEN sqrt(%[1]s) END", args...), err
}

// compileFloor: Spark's floor is a BIGINT, which ends at 2^63; numbers beyond 2^53 are whole anyway.
func compileFloor(l *layout, e plan.Expr) (node, error) {
	args, err := l.boundNumbers(e)
	return number("CASE WHEN abs(%[1]s) < 9007199254740992D THEN CAST(floor(%[1]s) AS DOUBLE) ELSE %[1]s END", args...), err
}

// compileRound rounds what has been scaled, as the local engine does. Spark's round to so many digits takes the decimal number as it is
// printed instead, and makes 2.68 of 2.675, whose product with 100 lies below 267.5.
func compileRound(l *layout, e plan.Expr) (node, error) {
	n, err := l.compile(e.Args[0], stream.Float)
	scale := double(math.Pow(10, literalOf(e, 1).Float()))
	return number("(round(%s * %s) / %s)", n.sql, scale, scale), err
}

func compileDistance(l *layout, e plan.Expr) (node, error) {
	at, err := l.boundNumbers(e)
	if err != nil {
		return node{}, err
	}
	dx, dy := fmt.Sprintf("(%s - %s)", at[2], at[0]), fmt.Sprintf("(%s - %s)", at[3], at[1])
	return number("sqrt(%[1]s * %[1]s + %[2]s * %[2]s)", dx, dy), nil
}

func compileBoth(word string) func(l *layout, e plan.Expr) (node, error) {
	return func(l *layout, e plan.Expr) (node, error) {
		tests := make([]string, len(e.Args))
		for i, a := range e.Args {
			n, err := l.compile(a, stream.Bool)
			if err != nil {
				return n, err
			}
			tests[i] = n.test()
		}
		return test("(%s)", strings.Join(tests, " "+word+" ")), nil
	}
}

func compileNot(l *layout, e plan.Expr) (node, error) {
	n, err := l.compile(e.Args[0], stream.Bool)
	return test("(NOT %s)", n.test()), err
}

func compileNull(question string) func(l *layout, e plan.Expr) (node, error) {
	return func(l *layout, e plan.Expr) (node, error) {
		n, err := l.compile(e.Args[0], stream.Any)
		return test("(%s %s)", n.sql, question), err
	}
}

func common(a, b stream.Kind) stream.Kind {
	switch {
	case a == b:
		return a
	case isNumber(a) && isNumber(b):
		return stream.Float
	}
	return stream.Any
}

func eitherKind(l *layout, e plan.Expr) stream.Kind {
	return common(l.kind(e.Args[0]), l.kind(e.Args[1]))
}

func ifKind(l *layout, e plan.Expr) stream.Kind { return common(l.kind(e.Args[1]), l.kind(e.Args[2])) }

// both compiles two expressions that stand for one another, each as a field of the kind that the other has if it is a record's own.
func (l *layout) both(a, b plan.Expr) (x, y string, kind stream.Kind, err error) {
	ka, kb := l.kind(a), l.kind(b)
	want := stream.Any
	if ka == stream.Any && kb != stream.Any && kb != stream.Text {
		want = kb
	} else if kb == stream.Any && ka != stream.Any && ka != stream.Text {
		want = ka
	}
	if isNumber(want) {
		want = stream.Float
	}
	m, err := l.compile(a, want)
	if err != nil {
		return "", "", kind, err
	}
	n, err := l.compile(b, want)
	if err != nil {
		return "", "", kind, err
	}
	return l.together(m, n)
}

// together is two nodes as of one kind.
func (l *layout) together(m, n node) (x, y string, kind stream.Kind, err error) {
	if kind = common(m.kind, n.kind); kind != stream.Any {
		a, _ := m.as(kind)
		b, _ := n.as(kind)
		return a.sql, b.sql, kind, nil
	}
	if x, err = l.any(m); err == nil {
		y, err = l.any(n)
	}
	return x, y, kind, err
}

func compileOrElse(l *layout, e plan.Expr) (node, error) {
	x, y, kind, err := l.both(e.Args[0], e.Args[1])
	return node{kind: kind, sql: fmt.Sprintf("coalesce(%s, %s)", x, y)}, err
}

func compileIf(l *layout, e plan.Expr) (node, error) {
	c, err := l.compile(e.Args[0], stream.Bool)
	if err != nil {
		return c, err
	}
	x, y, kind, err := l.both(e.Args[1], e.Args[2])
	return node{kind: kind, sql: fmt.Sprintf("if(%s, %s, %s)", c.test(), x, y)}, err
}
