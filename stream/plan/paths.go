package plan

import (
	"slices"
	"strings"
)

// Paths collects the fields that steps name before any of them gives them: what is needed of the rows that come to the first. The zero
// Paths is ready for use.
type Paths struct {
	Names []string // each once, in the order in which they are named
	given map[string]bool
}

// Give notes a column that is given from here on.
func (p *Paths) Give(name string) {
	if p.given == nil {
		p.given = map[string]bool{}
	}
	p.given[name] = true
}

// Given tells whether a column of this name has been given.
func (p *Paths) Given(name string) bool { return p.given[name] }

// Take notes what a step names and gives, but for the columns that a join or a lookup brings. It is true for a step behind which nothing but
// what it names is left.
func (p *Paths) Take(s Step) bool {
	s.Expr.Fields(p.field)
	for _, a := range s.Aggregates {
		a.Expr.Fields(p.field)
		a.Condition.Fields(p.field)
	}
	p.fields(s.Keys, s.Join.Left)
	switch s.Op {
	case Select, FilterFunc, Process:
		p.fields(s.Columns)
	case Require:
		p.field(s.Path)
	case Explode:
		p.field(s.Path)
		p.Give(s.Name)
	case With:
		p.Give(s.Name)
	case MapFunc:
		p.fields(s.Columns)
		p.Give(s.Name)
	case Top:
		p.field(s.Name)
	}
	return s.Op == Select || s.Op == Aggregation || s.Op == Process
}

func (p *Paths) field(path string) {
	for name := range p.given {
		if rest, ok := strings.CutPrefix(path, name); ok && (rest == "" || rest[0] == '.' || rest[0] == '[') {
			return
		}
	}
	if !slices.Contains(p.Names, path) {
		p.Names = append(p.Names, path)
	}
}

func (p *Paths) fields(paths ...[]string) {
	for _, list := range paths {
		for _, path := range list {
			p.field(path)
		}
	}
}
