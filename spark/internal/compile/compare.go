package compile

import (
	"fmt"
	"strings"

	"cancha/stream"
	"cancha/stream/plan"
)

// comparison compiles a comparison: as numbers or times where either side is known to be one, and by what the values are otherwise.
func comparison(sign string) operator {
	return operator{stream.Bool, nil, func(l *layout, e plan.Expr) (node, error) {
		ka, kb := l.kind(e.Args[0]), l.kind(e.Args[1])
		switch {
		case beyond53(e.Args[0]) || beyond53(e.Args[1]):
			return node{}, tooLarge(e)
		case ka == stream.Time || kb == stream.Time:
			return l.compare(e, stream.Time, sign)
		case isNumber(ka) || isNumber(kb):
			return l.compare(e, stream.Float, sign)
		}
		return l.compareValues(e, sign)
	}}
}

func tooLarge(e plan.Expr) error {
	return fmt.Errorf("spark: %s: an integer beyond 2^53 is rounded where numbers are compared on Spark; compare texts: "+
		".AsText().Eq(\"9007199254740993\")", e)
}

// compare compares values of one kind.
func (l *layout) compare(e plan.Expr, want stream.Kind, sign string) (node, error) {
	a, err := l.compile(e.Args[0], want)
	if err != nil {
		return a, err
	}
	b, err := l.compile(e.Args[1], want)
	return test("coalesce(%s %s %s, false)", a.sql, sign, b.sql), err
}

// compareValues compares values by what they are. Values of different kinds are not equal, and neither is less.
func (l *layout) compareValues(e plan.Expr, sign string) (node, error) {
	a, err := l.compile(e.Args[0], stream.Any)
	if err != nil {
		return a, err
	}
	b, err := l.compile(e.Args[1], stream.Any)
	a.sql, b.sql = l.bind(a.sql), l.bind(b.sql)
	switch {
	case err != nil:
		return b, err
	case isNull(e.Args[0]) || isNull(e.Args[1]):
		return test("false"), nil // nothing compares with what is absent
	case b.kind != stream.Any && b.kind != stream.JSON:
		return compareOne(a, b, sign)
	case a.kind != stream.Any && a.kind != stream.JSON:
		return compareOne(b, a, turned(sign))
	}
	return compareAny(a.sql, b.sql, sign), nil
}

func isNull(e plan.Expr) bool { return e.Op == "literal" && e.Path == "" && e.Literal.IsNull() }

// turned is a comparison with its sides changed over.
func turned(sign string) string {
	switch sign {
	case "<":
		return ">"
	case "<=":
		return ">="
	case ">":
		return "<"
	case ">=":
		return "<="
	}
	return sign
}

// compareOne compares a value with one of a known kind, which is a text, a truth or JSON.
func compareOne(a, b node, sign string) (node, error) {
	same := a
	if a.kind != b.kind {
		if a.kind != stream.Any && a.kind != stream.JSON {
			return differing(a, b, sign), nil
		}
		same = a.only(b.kind)
	}
	if sign != "<>" {
		return test("coalesce(%s %s %s, false)", same.sql, sign, b.sql), nil
	}
	return test("(%s IS NOT NULL AND %s IS NOT NULL AND NOT coalesce(%s = %s, false))", a.sql, b.sql, same.sql, b.sql), nil
}

// differing compares values of two kinds that are known.
func differing(a, b node, sign string) node {
	if sign != "<>" {
		return test("false")
	}
	return test("(%s IS NOT NULL AND %s IS NOT NULL)", a.sql, b.sql)
}

// only is what values of any kind are, where they are of this kind. Nothing is demanded of a record: another kind is no fault.
func (n node) only(kind stream.Kind) node {
	if kind == stream.Text && n.of != nil && n.of.live {
		return textual("%s", n.of.in.textAt(n.of.path))
	}
	n.of = nil
	if kind == stream.Bool {
		return node{kind: kind, sql: fmt.Sprintf("CASE %s WHEN 'true' THEN true WHEN 'false' THEN false END", n.sql)}
	}
	as, _ := n.as(kind)
	return as
}

// compareAny compares two values of any kinds. Their JSON is the same exactly if they are.
func compareAny(a, b, sign string) node {
	if sign == "=" || sign == "<>" {
		return test("coalesce(%s %s %s, false)", a, sign, b)
	}
	cases := []string{
		fmt.Sprintf("WHEN %[1]s AND %[2]s THEN coalesce(try_cast(%[3]s AS BIGINT) %[4]s try_cast(%[5]s AS BIGINT), CAST(%[3]s AS DOUBLE) %[4]s CAST(%[5]s AS DOUBLE))",
			isNumberIn(a), isNumberIn(b), a, sign, b), // integers as what they are, beyond 2^53 too
		fmt.Sprintf("WHEN %s AND %s THEN %s %s %s", isTextIn(a), isTextIn(b), textIn(a), sign, textIn(b)),
		fmt.Sprintf("WHEN %[1]s IN ('true', 'false') AND %[2]s IN ('true', 'false') THEN %[1]s %[3]s %[2]s", a, b, sign),
		fmt.Sprintf("WHEN left(%[1]s, 1) IN ('{', '[') AND left(%[2]s, 1) IN ('{', '[') THEN %[1]s %[3]s %[2]s", a, b, sign),
	}
	return test("coalesce(CASE %s END, false)", strings.Join(cases, " "))
}

// compileIn compares with literals: as numbers where all of them are, and by what they are otherwise.
func compileIn(l *layout, e plan.Expr) (node, error) {
	var numbers, tests []string
	for _, a := range e.Args[1:] {
		switch {
		case a.Op != "literal" || a.Path != "":
			return node{}, fmt.Errorf("spark: %s: In wants literals, got %s; write Eq and Or", e, a)
		case beyond53(a):
			return node{}, tooLarge(e)
		case isNumber(a.Literal.Kind()):
			numbers = append(numbers, double(a.Literal.Float()))
		}
	}
	if len(numbers) > 0 && len(numbers) == len(e.Args)-1 {
		n, err := l.compile(e.Args[0], stream.Float)
		return test("coalesce(%s IN (%s), false)", n.sql, strings.Join(numbers, ", ")), err
	}
	n, err := l.compile(e.Args[0], stream.Any)
	if err != nil {
		return n, err
	}
	n.sql = l.bind(n.sql)
	for _, a := range e.Args[1:] {
		one, err := isOne(n, a.Literal)
		if err != nil {
			return n, err
		}
		tests = append(tests, one)
	}
	if len(tests) == 0 {
		return test("false"), nil
	}
	return test("(%s)", strings.Join(tests, " OR ")), nil
}

// isOne asks whether a value is a literal.
func isOne(n node, v stream.Value) (string, error) {
	known := n.kind != stream.Any && n.kind != stream.JSON
	switch {
	case v.IsNull():
		return n.sql + " IS NULL", nil
	case isNumber(v.Kind()) && isNumber(n.kind):
		return fmt.Sprintf("coalesce(%s = %s, false)", n.sql, double(v.Float())), nil
	case isNumber(v.Kind()) && !known:
		return fmt.Sprintf("coalesce(%s = %s, false)", n.sql, quote(v.String())), nil
	case v.Kind() == n.kind:
		return fmt.Sprintf("coalesce(%s = %s, false)", n.sql, sqlOf(v)), nil
	case known || v.Kind() == stream.Time:
		return "false", nil // of another kind
	}
	c, err := compareOne(n, node{kind: v.Kind(), sql: sqlOf(v), sure: v.Kind() == stream.Bool}, "=")
	return c.sql, err
}
