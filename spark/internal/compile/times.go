package compile

import (
	"fmt"
	"math"

	"cancha/stream"
	"cancha/stream/plan"
)

// farthest is how many seconds from 1970 a time may lie: what nanoseconds in 64 bits can tell.
const farthest = "9.2E9D"

// shifted is a time some seconds later, or earlier.
func shifted(l *layout, e plan.Expr, sign string) (node, error) {
	t, err := l.compile(e.Args[0], stream.Time)
	if err != nil {
		return t, err
	}
	by, err := l.compile(e.Args[1], stream.Float)
	a, s := l.bind(t.sql), l.bind(by.sql)
	return node{kind: stream.Time, sql: fmt.Sprintf("CASE WHEN abs(unix_micros(%[1]s) / 1E6D %[2]s %[3]s) <= %[4]s THEN "+
		"timestamp_micros(unix_micros(%[1]s) %[2]s CAST(round(%[3]s * 1E6D) AS BIGINT)) END", a, sign, s, farthest)}, err
}

// compileAsTime is a time, or a text that is one in RFC 3339. Of a record's own path it is what must be there.
func compileAsTime(l *layout, e plan.Expr) (node, error) {
	if a := e.Args[0]; a.Op == "field" && l.kind(a) == stream.Any {
		n, err := l.field(a.Path, stream.Time)
		if err != nil || n.kind == stream.Time {
			return n, err
		}
		n.of.demand(stream.Time)
	}
	n, err := l.compile(e.Args[0], stream.Any)
	switch {
	case err != nil || n.kind == stream.Time:
		return n, err
	case n.kind == stream.Any:
		n = n.only(stream.Text)
	case n.kind != stream.Text:
		return node{kind: stream.Time, sql: "CAST(NULL AS TIMESTAMP)"}, nil
	}
	return node{kind: stream.Time, sql: instant(l.bind(n.sql))}, nil
}

// instantText is a time in RFC 3339, as package time reads it: a comma may stand for the point.
const instantText = `^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}([.,][0-9]+)?(Z|[+-][0-9]{2}:[0-9]{2})\z`

// instant is the time that a text is, between 1678 and 2262, what nanoseconds in 64 bits can tell.
func instant(text string) string {
	t := fmt.Sprintf("try_cast(replace(%s, ',', '.') AS TIMESTAMP)", text)
	return fmt.Sprintf("CASE WHEN %s RLIKE %s AND left(%[1]s, 4) BETWEEN '1678' AND '2261' THEN %[3]s END", text, quote(instantText), t)
}

// compileFromUnix counts whole units as integers, and what is left of one to the microsecond.
func compileFromUnix(l *layout, e plan.Expr) (node, error) {
	unit := literalOf(e, 1).Float() // nanoseconds
	n, err := l.compile(e.Args[0], stream.Float)
	if err != nil {
		return n, err
	}
	x := l.bind(n.sql)
	whole, micros := fmt.Sprintf("CAST(floor(%s) AS BIGINT)", x), ""
	switch {
	case unit >= 1e3:
		rest := fmt.Sprintf("CAST(floor(round((%s - floor(%[1]s)) * %[2]s) / 1E3D) AS BIGINT)", x, double(unit))
		micros = fmt.Sprintf("%s * %s + %s", whole, integer(int64(unit/1e3)), rest)
	default:
		micros = l.wholeNanos(e.Args[0], fmt.Sprintf("CAST(floor(%s / 1E3D) AS BIGINT)", x))
	}
	sql := fmt.Sprintf("CASE WHEN abs(%s * %s) <= %s THEN timestamp_micros(%s) END", x, double(unit/1e9), farthest, micros)
	return node{kind: stream.Time, sql: sql}, nil
}

// wholeNanos are nanoseconds of a record as microseconds: today's are beyond what a DOUBLE holds.
func (l *layout) wholeNanos(e plan.Expr, otherwise string) string {
	if e.Op != "field" {
		return otherwise
	}
	n, err := l.compile(e, stream.Any)
	if err != nil || n.kind != stream.Any {
		return otherwise
	}
	exact := fmt.Sprintf("try_cast(%s AS BIGINT)", n.sql)
	return fmt.Sprintf("coalesce((%[1]s - pmod(%[1]s, 1000L)) DIV 1000L, %[2]s)", exact, otherwise)
}

func compileUnix(l *layout, e plan.Expr) (node, error) {
	n, err := l.compile(e.Args[0], stream.Time)
	return number("(unix_micros(%s) / 1E6D)", n.sql), err
}

func compileTruncate(l *layout, e plan.Expr) (node, error) {
	n, err := l.compile(e.Args[0], stream.Time)
	ns := int64(math.Round(literalOf(e, 1).Float() * 1e9))
	switch {
	case err != nil:
		return n, err
	case ns <= 0 || ns%1000 != 0:
		return n, fmt.Errorf("spark: %s: want a span of whole microseconds, which is how finely Spark tells time", e)
	}
	t := l.bind(n.sql)
	sql := fmt.Sprintf("timestamp_micros(unix_micros(%[1]s) - pmod(unix_micros(%[1]s), %[2]s))", t, integer(ns/1000))
	return node{kind: stream.Time, sql: sql}, nil
}

func compileFormat(l *layout, e plan.Expr) (node, error) {
	n, err := l.compile(e.Args[0], stream.Time)
	if err != nil {
		return n, err
	}
	pattern, err := datePattern(literalOf(e, 1).Text())
	if err != nil {
		return n, fmt.Errorf("spark: %s: %w", e, err)
	}
	return textual("date_format(%s, %s)", n.sql, quote(pattern)), nil
}

func ofTime(format string) operator {
	return operator{stream.Int, nil, func(l *layout, e plan.Expr) (node, error) {
		n, err := l.compile(e.Args[0], stream.Time)
		return node{kind: stream.Int, sql: "CAST(" + fmt.Sprintf(format, n.sql) + " AS BIGINT)"}, err
	}}
}

// stamped is a time as the local engine prints it, in RFC 3339 with as many decimals as it needs.
func stamped(t string) string {
	return fmt.Sprintf(`concat(regexp_replace(date_format(%s, %s), %s, ''), 'Z')`, t, quote("yyyy-MM-dd'T'HH:mm:ss.SSSSSS"), quote(`\.?0+$`))
}
