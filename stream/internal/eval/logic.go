package eval

import (
	"cancha/stream/internal/value"
	"cancha/stream/plan"
)

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
	if c.or == nil { // a chain of Or is one question
		c.or = new(bool)
	}
	t, err := c.tests(e)
	if err != nil {
		return Node{}, err
	}
	a, b := t[0], t[1]
	return test(func(row Row) bool {
		if !a(row) && !b(row) {
			return false
		}
		*c.or = true
		return true
	}), nil
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
