package eval

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"cancha/stream/internal/value"
	"cancha/stream/plan"
)

// comparison compiles a comparison: as numbers or times where either side is known to be one, and by what the values are otherwise.
func comparison(yes func(c int) bool) operator {
	return operator{2, 2, value.Bool, nil, func(c compiler, e plan.Expr) (Node, error) {
		ka, kb := c.kind(e.Args[0]), c.kind(e.Args[1])
		if err := orderOfDigits(e, ka, kb); err != nil {
			return Node{}, err
		}
		switch {
		case ka == value.Time || kb == value.Time:
			return c.compare(e, value.Time, yes)
		case beyond53(e.Args[0]) || beyond53(e.Args[1]):
			return c.compareExactly(e, yes)
		case isNumber(ka) || isNumber(kb):
			return c.compareNumbers(e, yes)
		}
		if err := neverAlike(e, e.Args[0], ka, kb); err != nil {
			return Node{}, err
		}
		return c.compare(e, value.Any, yes)
	}}
}

// orderOfDigits refuses to order what a record has by a number in quotes: no number is above or below a text, and of texts "9" is above "10".
func orderOfDigits(e plan.Expr, ka, kb value.Kind) error {
	of, by := e.Args[0], e.Args[1]
	if isDigits(of) {
		of, by, ka = by, of, kb
	}
	if e.Op == "eq" || e.Op == "ne" || !isDigits(by) || ka != value.Any {
		return nil
	}
	digits := by.Literal.Text()
	return fmt.Errorf("stream: %s: %q is a text, and no number is above or below one; write %s without quotes (AsNumber() where the record has a text), or compare %s.AsText()",
		e, digits, strings.TrimSpace(digits), of)
}

// isDigits tells whether an expression is a text that is written as a number.
func isDigits(e plan.Expr) bool {
	if e.Op != "literal" || e.Literal.Kind() != value.Text {
		return false
	}
	_, err := strconv.ParseFloat(strings.TrimSpace(e.Literal.Text()), 64)
	return err == nil && strings.ContainsAny(e.Literal.Text(), "0123456789")
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
	isNe, met := e.Op == "ne", c.watch(e)
	return test(func(row Row) bool {
		x, y := a.Value(row), b.Value(row)
		if x.IsNull() || y.IsNull() {
			return false
		}
		if !met.meet(x.Kind(), y.Kind()) {
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
	return c.inKeys(e, set)
}

// inKeys looks for a value by what it is.
func (c compiler) inKeys(e plan.Expr, set map[string]bool) (Node, error) {
	var kinds []value.Kind // of the literals
	var has [value.Any + 1]bool
	for _, l := range e.Args[1:] {
		if k := l.Literal.Kind(); k != value.Null {
			kinds = append(kinds, k)
		}
		for k := range has {
			has[k] = has[k] || Alike(value.Kind(k), l.Literal.Kind())
		}
	}
	if err := neverAlike(e, e.Args[0], c.kind(e.Args[0]), kinds...); err != nil {
		return Node{}, err
	}
	a, err := c.compile(e.Args[0], value.Any)
	met := c.watch(e)
	return test(func(row Row) bool {
		v := a.Value(row)
		switch {
		case v.IsNull():
		case has[v.Kind()]:
			met.alike++
		case len(kinds) > 0:
			met.meet(v.Kind(), kinds[0])
			return false
		}
		var scratch [64]byte
		return set[string(v.AppendKey(scratch[:0]))]
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
