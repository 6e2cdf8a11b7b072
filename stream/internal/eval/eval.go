// Package eval compiles expressions into functions of a row, after it has checked that their parts fit.
package eval

import (
	"fmt"
	"time"

	"cancha/stream/internal/value"
	"cancha/stream/plan"
)

// Row is what an expression is evaluated on.
type Row = []value.Value

// Node is a compiled expression.
type Node struct {
	Kind  value.Kind // of its values, or Any
	Value func(row Row) value.Value
	// Number is the value as a number and whether there is one; nil where Kind is not a number's.
	Number func(row Row) (float64, bool)
	// Test is whether the value is true; nil where Kind is not Bool.
	Test func(row Row) bool
}

// Scope knows the fields that an expression may name.
type Scope interface {
	// Kind is what is known of a field before it is read: Any for a record's own.
	Kind(path string) value.Kind
	// Field is a field as a Node of the wanted kind, or Any for whatever it is.
	Field(path string, want value.Kind) (Node, error)
}

// Compile compiles an expression whose value must be of the wanted kind, or may be anything if that is Any. An error names the part that
// does not fit.
func Compile(e plan.Expr, scope Scope, want value.Kind) (Node, error) {
	c := compiler{scope: scope, operators: operators()}
	return c.compile(e, want)
}

// Condition compiles an expression that answers yes or no; none answers yes, with a nil function.
func Condition(e plan.Expr, scope Scope) (func(row Row) bool, error) {
	if e.None() {
		return nil, nil
	}
	n, err := Compile(e, scope, value.Bool)
	return n.Test, err
}

// Column is the field at a place of the row, which holds values of a kind.
func Column(at int, kind value.Kind) Node {
	n := Node{Kind: kind, Value: func(row Row) value.Value { return row[at] }}
	switch kind {
	case value.Int, value.Float:
		n.Number = func(row Row) (float64, bool) { return row[at].Number() }
	case value.Bool:
		n.Test = func(row Row) bool { return row[at].Bool() }
	}
	return n
}

// Constant is the same value for each row.
func Constant(v value.Value) Node {
	n := Node{Kind: v.Kind(), Value: func(Row) value.Value { return v }}
	switch v.Kind() {
	case value.Int, value.Float:
		x := v.Float()
		n.Number = func(Row) (float64, bool) { return x, true }
	case value.Bool:
		b := v.Bool()
		n.Test = func(Row) bool { return b }
	case value.Null:
		n.Kind = value.Any
	}
	return n
}

// As is a node as one of the wanted kind. Of a node of kind Any the values of that kind remain, and others are absent.
func As(n Node, want value.Kind) (Node, bool) {
	switch {
	case want == value.Any || n.Kind == want || want == value.Float && n.Kind == value.Int:
		return n, true
	case want == value.Float && n.Kind == value.Bool:
		return number(func(row Row) (float64, bool) { return n.Value(row).Number() }), true
	case n.Kind != value.Any:
		return Node{}, false
	case want == value.Float:
		return typed(value.Float, func(row Row) value.Value { return asNumber(n.Value(row)) }), true
	case want == value.Bool:
		return test(func(row Row) bool { return n.Value(row).Bool() }), true
	}
	return Node{Kind: want, Value: func(row Row) value.Value {
		if v := n.Value(row); v.Kind() == want {
			return v
		}
		return value.Value{}
	}}, true
}

// asNumber is a value as a number, and absent if it is none. An integer that a float64 may not hold stays one.
func asNumber(v value.Value) value.Value {
	if v.Kind() == value.Int && (v.Int() >= 1<<53 || v.Int() <= -1<<53) {
		return v
	}
	if x, ok := v.Number(); ok {
		return value.FloatOf(x)
	}
	return value.Value{}
}

func number(f func(row Row) (float64, bool)) Node {
	return Node{Kind: value.Float, Number: f, Value: func(row Row) value.Value {
		if x, ok := f(row); ok {
			return value.FloatOf(x)
		}
		return value.Value{}
	}}
}

func test(f func(row Row) bool) Node {
	return Node{Kind: value.Bool, Test: f, Value: func(row Row) value.Value { return value.BoolOf(f(row)) }}
}

func text(f func(row Row) (string, bool)) Node {
	return Node{Kind: value.Text, Value: func(row Row) value.Value {
		if s, ok := f(row); ok {
			return value.TextOf(s)
		}
		return value.Value{}
	}}
}

type compiler struct {
	scope     Scope
	operators map[string]operator
	or        *bool // whether the Or that is compiled has been true; nil outside of one
}

func (c compiler) compile(e plan.Expr, want value.Kind) (Node, error) {
	switch e.Op {
	case "":
		return Node{}, fmt.Errorf("stream: an empty expression; begin one with Field(path)")
	case "field":
		n, err := c.scope.Field(e.Path, want)
		if err != nil {
			return n, err
		}
		return fit(n, e, want)
	case "literal":
		if e.Path != "" {
			return Node{}, fmt.Errorf("stream: a literal of type %s; want a number, a string, a bool, a time.Time or a time.Duration", e.Path)
		}
		return fit(Constant(literal(e.Literal, want)), e, want)
	}
	op, ok := c.operators[e.Op]
	if !ok {
		return Node{}, fmt.Errorf("stream: there is no operator %q", e.Op)
	}
	if len(e.Args) < op.least || op.most >= 0 && len(e.Args) > op.most {
		return Node{}, fmt.Errorf("stream: %s takes %d arguments, got %d", e.Op, op.least, len(e.Args))
	}
	n, err := op.compile(c, e)
	if err != nil {
		return n, err
	}
	return fit(n, e, want)
}

// literal turns a text into the time that it is, where one is wanted.
func literal(v value.Value, want value.Kind) value.Value {
	if want == value.Time && v.Kind() == value.Text {
		if t, err := time.Parse(time.RFC3339Nano, v.Text()); err == nil {
			return value.TimeOf(t)
		}
	}
	return v
}

func fit(n Node, e plan.Expr, want value.Kind) (Node, error) {
	as, ok := As(n, want)
	if !ok {
		return as, fmt.Errorf("stream: %s is %v; want %v", e, n.Kind, want)
	}
	return as, nil
}

// kind is what is known of an expression's value before it is compiled.
func (c compiler) kind(e plan.Expr) value.Kind {
	switch e.Op {
	case "field":
		return c.scope.Kind(e.Path)
	case "literal":
		if e.Literal.IsNull() {
			return value.Any
		}
		return e.Literal.Kind()
	}
	op, ok := c.operators[e.Op]
	if !ok {
		return value.Any
	}
	if op.kind == nil {
		return op.gives
	}
	return op.kind(c, e)
}

// Kind is what is known of an expression's value before it is compiled: Any where that depends on the records.
func Kind(e plan.Expr, scope Scope) value.Kind {
	return compiler{scope: scope, operators: operators()}.kind(e)
}

func isNumber(k value.Kind) bool { return k == value.Int || k == value.Float }
