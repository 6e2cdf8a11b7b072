package compile

import (
	"fmt"

	"cancha/stream"
	"cancha/stream/plan"
)

// trimmed is the white space at the ends of a text as package unicode knows it. Spark's trim takes spaces alone.
const trimmed = `^` + white + `+|` + white + `+\z`

// white is a letter of white space.
const white = `[\t-\r \x85\xA0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]`

func onText(format string) operator {
	return operator{stream.Text, nil, func(l *layout, e plan.Expr) (node, error) {
		n, err := l.compile(e.Args[0], stream.Text)
		return textual(format, n.sql), err
	}}
}

// Letters whose counterpart is one letter in Go, and in Java several.
const (
	severalLower = "İ"
	severalUpper = "ᾀᾁᾂᾃᾄᾅᾆᾇᾐᾑᾒᾓᾔᾕᾖᾗᾠᾡᾢᾣᾤᾥᾦᾧᾳῃῳ"
)

// compileCase changes letters one by one, as the local engine does. Java makes SS of ß, and looks at what stands around a sigma.
func compileCase(function, several string, one func(string) string) func(l *layout, e plan.Expr) (node, error) {
	return func(l *layout, e plan.Expr) (node, error) {
		n, err := l.compile(e.Args[0], stream.Text)
		return textual("CASE WHEN %[1]s RLIKE %[2]s THEN %[3]s(%[1]s) ELSE "+
			"array_join(transform(split(translate(%[1]s, %[4]s, %[5]s), ''), c -> CASE WHEN char_length(%[3]s(c)) = 1 THEN %[3]s(c) ELSE c END), '') END",
			l.bind(n.sql), quote(`^[\x00-\x7f]*\z`), function, quote(several), quote(one(several))), err
	}
}

func askText(function string) operator {
	return operator{stream.Bool, nil, func(l *layout, e plan.Expr) (node, error) {
		a, err := l.compile(e.Args[0], stream.Text)
		if err != nil {
			return a, err
		}
		b, err := l.compile(e.Args[1], stream.Text)
		return test("coalesce(%s(%s, %s), false)", function, a.sql, b.sql), err
	}}
}

func compileLength(l *layout, e plan.Expr) (node, error) {
	n, err := l.compile(e.Args[0], stream.Text)
	return node{kind: stream.Int, sql: "CAST(char_length(" + n.sql + ") AS BIGINT)"}, err
}

func compileConcat(l *layout, e plan.Expr) (node, error) {
	a, err := l.shown(e.Args[0])
	if err != nil {
		return node{}, err
	}
	b, err := l.shown(e.Args[1])
	return textual("concat(%s, %s)", a, b), err
}

func compileAsText(l *layout, e plan.Expr) (node, error) {
	s, err := l.shown(e.Args[0])
	return textual("%s", s), err
}

// shown is a value as text: numbers and times as they are printed.
func (l *layout) shown(e plan.Expr) (string, error) {
	n, err := l.compile(e, stream.Any)
	if err != nil {
		return "", err
	}
	switch n.kind {
	case stream.Text:
		return n.sql, nil
	case stream.Time:
		return stamped(n.sql), nil
	case stream.Float:
		return printed(l.bind(n.sql)), nil
	case stream.Any:
		json := l.bind(n.sql)
		return fmt.Sprintf("CASE WHEN %s THEN %s ELSE %s END", isTextIn(json), n.only(stream.Text).sql, json), nil
	}
	return n.any()
}

// compileAsNumber is a number, a text that is one, or true and false as 1 and 0.
func compileAsNumber(l *layout, e plan.Expr) (node, error) {
	n, err := l.compile(e.Args[0], stream.Any)
	switch {
	case err != nil:
		return n, err
	case n.kind == stream.Text:
		return number("%s", numberOf(l.bind(n.sql))), nil
	case n.kind == stream.Any:
		json, s := l.bind(n.sql), l.bind(n.only(stream.Text).sql)
		return number("coalesce(%s, %s)", numberIn(json), numberOf(s)), nil
	case n.kind == stream.Time || n.kind == stream.JSON:
		return number("CAST(NULL AS DOUBLE)"), nil
	}
	as, _ := n.as(stream.Float)
	return as, nil
}

// numeral is a number as a text has it, with white space around it.
const numeral = `^` + white + `*[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?` + white + `*\z`

// numberOf is the number that a text is. One beyond what a DOUBLE holds is none.
func numberOf(text string) string {
	x := fmt.Sprintf("try_cast(regexp_replace(%s, %s, '') AS DOUBLE)", text, quote(trimmed))
	return fmt.Sprintf("CASE WHEN %s RLIKE %s THEN nullif(nullif(%s, CAST('Infinity' AS DOUBLE)), CAST('-Infinity' AS DOUBLE)) END",
		text, quote(numeral), x)
}

func compileReplace(l *layout, e plan.Expr) (node, error) {
	n, err := l.compile(e.Args[0], stream.Text)
	if err == nil && literalOf(e, 1).Text() == "" {
		return n, fmt.Errorf("spark: %s: Spark replaces no empty text; write what is to be replaced", e)
	}
	return textual("replace(%s, %s, %s)", n.sql, quote(literalOf(e, 1).Text()), quote(literalOf(e, 2).Text())), err
}

func compileSubstring(l *layout, e plan.Expr) (node, error) {
	n, err := l.compile(e.Args[0], stream.Text)
	start, length := literalOf(e, 1).Int(), literalOf(e, 2).Int()
	if err == nil && (start < 0 || length < 0 || start >= 1<<31-1) {
		return n, fmt.Errorf("spark: %s: want a start and a length that are not negative", e)
	}
	return textual("substring(%s, %d, %d)", n.sql, start+1, min(length, 1<<31-1)), err
}

// compileSplit: Spark's split takes a regular expression, so the separator is written as one; and its places begin with 1.
func compileSplit(l *layout, e plan.Expr) (node, error) {
	n, err := l.compile(e.Args[0], stream.Text)
	separator, i := literalOf(e, 1).Text(), literalOf(e, 2).Int()
	if err == nil && separator == "" {
		return n, fmt.Errorf("spark: %s: want a separator", e)
	}
	if i >= 0 {
		i++
	}
	return textual("try_element_at(split(%s, %s, -1), %d)", n.sql, quote(literalPattern(separator)), i), err
}

func compileMatches(l *layout, e plan.Expr) (node, error) {
	p, err := javaPattern(literalOf(e, 1).Text())
	if err != nil {
		return node{}, fmt.Errorf("spark: %s: %w", e, err)
	}
	n, err := l.compile(e.Args[0], stream.Text)
	return test("coalesce(%s RLIKE %s, false)", n.sql, quote(p.text)), err
}

// compileExtract: Spark gives an empty text where nothing is found, so that is asked first.
func compileExtract(l *layout, e plan.Expr) (node, error) {
	p, err := javaPattern(literalOf(e, 1).Text())
	if err != nil {
		return node{}, fmt.Errorf("spark: %s: %w", e, err)
	}
	group := int(literalOf(e, 2).Int())
	switch {
	case group < 0 || group > p.groups:
		return node{}, fmt.Errorf("spark: %s: the pattern has %d groups", e, p.groups)
	case p.optional[group]:
		return node{}, fmt.Errorf("spark: %s: group %d need not take part in what is found, and Spark does not tell that from an empty text; "+
			"write a group around all that may be missing, such as ((?:…)?)", e, group)
	}
	n, err := l.compile(e.Args[0], stream.Text)
	s := l.bind(n.sql)
	return textual("CASE WHEN %s RLIKE %s THEN regexp_extract(%[1]s, %[2]s, %[3]d) END", s, quote(p.text), group), err
}
