package eval

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"cancha/stream/internal/value"
	"cancha/stream/plan"
)

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
