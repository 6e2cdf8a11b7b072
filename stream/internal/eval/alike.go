package eval

import (
	"fmt"
	"strings"

	"cancha/stream/internal/value"
	"cancha/stream/plan"
)

// Watcher is a Scope that takes what is to be looked at once values have come: comparisons of which nothing is known before, and times that are made of numbers.
type Watcher interface{ Watch(c *Compared) }

// Compared is what a comparison has met. Values of different kinds are not equal, and neither is above the other: a comparison that meets nothing else
// is hardly meant, and one that has met values of one kind is.
//
// Of a time that is made of a number it is how many numbers were near in its unit, or in none, and how many in another unit alone.
type Compared struct {
	met Met
	or  *bool // whether the Or that it stands in has been true; nil outside of one
}

// Met is how often a comparison has met what.
type Met struct {
	expr    plan.Expr
	alike   int64 // pairs of one kind
	others  int64 // pairs of different kinds
	example [2]value.Kind
	number  float64 // one that is near in another unit
	other   bool    // it stands in an Or that has been true
}

// Met is what the comparison has met up to now.
func (c *Compared) Met() Met {
	met := c.met
	met.other = c.or != nil && *c.or
	return met
}

// watch is a record of what a comparison meets, which its scope keeps if it can.
func (c compiler) watch(e plan.Expr) *Met {
	compared := &Compared{met: Met{expr: e}, or: c.or}
	if w, ok := c.scope.(Watcher); ok {
		w.Watch(compared)
	}
	return &compared.met
}

// meet counts a pair of kinds, and tells whether they are alike.
func (m *Met) meet(a, b value.Kind) bool {
	if Alike(a, b) {
		m.alike++
		return true
	}
	m.others++
	m.example = [2]value.Kind{a, b}
	return false
}

// Alike tells whether values of two kinds can be equal.
func Alike(a, b value.Kind) bool { return a == b || isNumber(a) && isNumber(b) }

// Doubt is what a user should read of all that one comparison has met, in each partition: empty unless that were at least so many pairs, all of different kinds.
func Doubt(all []Met, least int64) string {
	var others int64
	var m Met
	for _, each := range all {
		if each.alike > 0 || each.other && each.ofShapes() {
			return ""
		}
		if others += each.others; each.others > 0 {
			m = each
		}
	}
	if others < max(1, least) {
		return ""
	}
	if m.expr.Op == "from_unix" {
		return m.elsewhen()
	}
	return fmt.Sprintf("%s has met nothing but %s beside %s, which are never equal, and neither is above the other: %s.",
		m.expr, m.example[0], m.example[1], m.instead())
}

// ofShapes tells whether an object or a list was met. In an Or that has been true this is meant: the one form of a record is asked
// beside the other, as in type.id in (30) or type in ("Pass").
func (m Met) ofShapes() bool { return m.example[0] == value.JSON || m.example[1] == value.JSON }

// units are the methods that make times of numbers, by the nanoseconds of their units.
var units = []struct {
	ns   float64
	name string
}{{1e9, "UnixSeconds"}, {1e6, "UnixMillis"}, {1e3, "UnixMicros"}, {1, "UnixNanos"}}

// near tells whether a number is a time of our days in a unit.
func near(x, unit float64) bool {
	const year = 365.2425 * 24 * 3600 * 1e9
	y := 1970 + x*unit/year
	return y > 1980 && y < 2200
}

// count takes a number that a time is made of.
func (m *Met) count(x, unit float64) {
	if !near(x, unit) {
		for _, u := range units {
			if near(x, u.ns) {
				m.others++
				m.number = x
				return
			}
		}
	}
	m.alike++
}

// elsewhen tells that numbers are times of our days in another unit alone.
func (m Met) elsewhen() string {
	is, should := "", ""
	for _, u := range units {
		if u.ns == m.expr.Args[1].Literal.Float() {
			is = u.name
		}
		if near(m.number, u.ns) {
			should = u.name
		}
	}
	of := m.expr.Args[0]
	return fmt.Sprintf("%s.%s() has met nothing but numbers such as %s, which are times of our days by another unit alone: is %s.%s() meant?",
		of, is, value.FloatOf(m.number), of, should)
}

// instead is what to write in place of a comparison.
func (m Met) instead() string {
	of, by := m.expr.Args[0], m.expr.Args[1:]
	if of.Op == "literal" && len(by) == 1 {
		of, by = by[0], []plan.Expr{of}
	}
	var digits []string
	for _, e := range by {
		if isDigits(e) {
			digits = append(digits, strings.TrimSpace(e.Literal.Text()))
		}
	}
	if len(digits) > 0 && (isNumber(m.example[0]) || isNumber(m.example[1])) {
		return fmt.Sprintf("write %s without quotes, or compare %s.AsText()", strings.Join(digits, ", "), of)
	}
	return fmt.Sprintf("make them of one kind, such as by %s.AsText() or AsNumber()", of)
}

// neverAlike refuses to compare what is known to be of different kinds.
func neverAlike(e, a plan.Expr, ka value.Kind, by ...value.Kind) error {
	if ka == value.Any || len(by) == 0 {
		return nil
	}
	for _, k := range by {
		if k == value.Any || Alike(ka, k) {
			return nil
		}
	}
	return fmt.Errorf("stream: %s: %s is %v, and is never equal to %v, nor above or below it: make them of one kind, such as by AsText() or AsNumber()", e, a, ka, by[0])
}
