package stream

import (
	"fmt"
	"math"
	"slices"
)

// Value is a number taken from an event: a field, or a distance between two points. It is absent where a part of it is.
type Value struct{ from, to string }

// Field is the number at a path of the event, such as "duration" or "location.0"; true and false count as 1 and 0.
func Field(path string) Value { return Value{from: path} }

// Distance is the Euclidean distance, in yards, between two points of an event on the pitch (x and y; a third coordinate is
// left out), such as "location" and "pass.end_location".
func Distance(from, to string) Value { return Value{from: from, to: to} }

// Condition is a question about an event, with yes or no as answer: an absent field answers no, so that Not of it is yes.
type Condition struct {
	op      conditionOp
	paths   []string
	numbers []float64
	texts   []string
	parts   []Condition
}

type conditionOp uint8

const (
	opNone conditionOp = iota
	opHas
	opIs
	opIsText
	opBetween
	opAnd
	opOr
	opNot
)

// TypeIs asks whether the event is of one of these types, by StatsBomb's ids: 30 is a pass, 43 a carry, 16 a shot.
func TypeIs(ids ...int) Condition {
	numbers := make([]float64, len(ids))
	for i, id := range ids {
		numbers[i] = float64(id)
	}
	return Is("type.id", numbers...)
}

// Is asks whether the number at a path is one of these.
func Is(path string, numbers ...float64) Condition {
	return Condition{op: opIs, paths: []string{path}, numbers: slices.Clone(numbers)}
}

// IsText asks whether the text at a path is one of these, such as IsText("metadata.source", "simulator").
func IsText(path string, texts ...string) Condition {
	return Condition{op: opIsText, paths: []string{path}, texts: slices.Clone(texts)}
}

// Between asks whether the number at a path lies in [low, high], both ends included.
func Between(path string, low, high float64) Condition {
	return Condition{op: opBetween, paths: []string{path}, numbers: []float64{low, high}}
}

// Has asks whether there is a value, other than null, at each of these paths.
func Has(paths ...string) Condition { return Condition{op: opHas, paths: slices.Clone(paths)} }

// And asks for all of the conditions; with none it is yes.
func And(conditions ...Condition) Condition {
	return Condition{op: opAnd, parts: slices.Clone(conditions)}
}

// Or asks for any of the conditions; with none it is no.
func Or(conditions ...Condition) Condition {
	return Condition{op: opOr, parts: slices.Clone(conditions)}
}

// Not asks for the contrary.
func Not(c Condition) Condition { return Condition{op: opNot, parts: []Condition{c}} }

// test answers a condition for the event that a decoder holds.
type test func(d *decoder) bool

// measure takes a value of the event that a decoder holds.
type measure func(d *decoder) (x float64, ok bool)

// compile gives the condition's paths slots; a nil test is always yes.
func (c Condition) compile(p *projection, dict *dictionary) (test, error) {
	switch c.op {
	case opNone:
		return nil, nil
	case opAnd, opOr, opNot:
		return c.compileParts(p, dict)
	case opIsText:
		return c.compileText(p, dict)
	}
	var mask uint64
	var at int
	want := kindNumber
	if c.op == opHas {
		want = kindAny
	}
	for _, path := range c.paths {
		i, err := p.add(path, want)
		if err != nil {
			return nil, err
		}
		mask, at = mask|1<<i, i
	}
	switch {
	case c.op == opHas:
		return func(d *decoder) bool { return d.present&mask == mask }, nil
	case c.op == opBetween:
		low, high := c.numbers[0], c.numbers[1]
		return func(d *decoder) bool { return d.present&mask != 0 && d.number[at] >= low && d.number[at] <= high }, nil
	case len(c.numbers) == 1:
		want := c.numbers[0]
		return func(d *decoder) bool { return d.present&mask != 0 && d.number[at] == want }, nil
	default:
		numbers := c.numbers
		return func(d *decoder) bool { return d.present&mask != 0 && slices.Contains(numbers, d.number[at]) }, nil
	}
}

func (c Condition) compileText(p *projection, dict *dictionary) (test, error) {
	at, err := p.add(c.paths[0], kindKey)
	if err != nil {
		return nil, err
	}
	var codes []int64
	for _, s := range c.texts {
		codes = append(codes, dict.code(s))
	}
	return func(d *decoder) bool { return d.present&(1<<at) != 0 && slices.Contains(codes, d.key[at]) }, nil
}

func (c Condition) compileParts(p *projection, dict *dictionary) (test, error) {
	var tests []test
	for _, part := range c.parts {
		t, err := part.compile(p, dict)
		if err != nil {
			return nil, err
		}
		if t == nil {
			return nil, fmt.Errorf("stream: an empty Condition within And, Or or Not; build it with TypeIs, Is, Has or Between")
		}
		tests = append(tests, t)
	}
	yes := func(d *decoder) func(test) bool { return func(t test) bool { return t(d) } }
	switch c.op {
	case opAnd:
		return func(d *decoder) bool {
			for _, t := range tests {
				if !t(d) {
					return false
				}
			}
			return true
		}, nil
	case opOr:
		return func(d *decoder) bool { return slices.ContainsFunc(tests, yes(d)) }, nil
	default:
		return func(d *decoder) bool { return !tests[0](d) }, nil
	}
}

// compile gives the value's paths slots.
func (v Value) compile(p *projection) (measure, error) {
	if v.to == "" {
		at, err := p.add(v.from, kindNumber)
		return func(d *decoder) (float64, bool) { return d.number[at], d.present&(1<<at) != 0 }, err
	}
	var at [4]int
	var mask uint64
	for i, path := range []string{v.from + ".0", v.from + ".1", v.to + ".0", v.to + ".1"} {
		var err error
		if at[i], err = p.add(path, kindNumber); err != nil {
			return nil, err
		}
		mask |= 1 << at[i]
	}
	return func(d *decoder) (float64, bool) {
		dx, dy := d.number[at[2]&63]-d.number[at[0]&63], d.number[at[3]&63]-d.number[at[1]&63]
		return math.Sqrt(float64(dx*dx) + float64(dy*dy)), d.present&mask == mask
	}, nil
}
