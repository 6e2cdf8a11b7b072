package check

import (
	"go/ast"
	"go/types"
	"slices"
)

// Statement is one of a cell's own, with the variables that have no value before it has run.
type Statement struct {
	First, Last int // lines, from 1
	vars        []*types.Var
}

// Statements are those of the cell, in order. A variable that takes the place of one of its type, and with that its value, has a value before
// it is declared. Call it before the cell is committed, between Lock and Unlock.
func (c *Cell) Statements() (list []Statement) {
	for _, stmt := range c.Body.Body.List {
		s := Statement{}
		s.First, _ = c.Position(stmt.Pos())
		s.Last, _ = c.Position(stmt.End() - 1)
		add := func(v *types.Var) {
			if old, ok := c.Replaces(v.Name()).(*types.Var); v.Name() != "_" && (!ok || !types.Identical(old.Type(), v.Type())) {
				s.vars = append(s.vars, v)
			}
		}
		if m := c.Moved[stmt]; m != nil {
			s.Last = max(s.Last, s.First)
			for _, v := range m.Vars {
				add(v)
			}
			for _, init := range m.Inits {
				last, _ := c.Position(init.Rhs.End() - 1)
				s.Last = max(s.Last, last)
				for _, v := range init.Lhs {
					add(v)
				}
			}
		}
		if l, ok := stmt.(*ast.LabeledStmt); ok {
			stmt = l.Stmt
		}
		for _, id := range declaredBy(stmt) {
			if v, ok := c.Info.Defs[id].(*types.Var); ok && c.Local[v] != nil {
				add(c.Local[v])
			}
		}
		list = append(list, s)
	}
	return list
}

// Stopped forgets the variables of a cell that has ended at a line before it declared them: they have no meaning any more, and who asks
// for one is told that. Where several statements share the line nobody knows which one it was; zero then tells whether a variable has no value.
func (s *Scope) Stopped(cell string, list []Statement, line int, zero func(v *types.Var) bool) {
	at := func(st Statement) bool { return st.First <= line && line <= st.Last }
	several := false
	if first := slices.IndexFunc(list, at); first >= 0 {
		several = slices.ContainsFunc(list[first+1:], at)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var gone []string
	defer func() { s.sleep(cell, gone) }()
	for _, st := range list {
		if st.Last < line {
			continue
		}
		for _, v := range st.vars {
			name := v.Name()
			if s.objects[name] != types.Object(v) || at(st) && several && !zero(v) {
				continue
			}
			delete(s.objects, name)
			if s.stopped == nil {
				s.stopped = map[string]string{}
			}
			s.stopped[name] = cell
			gone = append(gone, name)
		}
	}
}
