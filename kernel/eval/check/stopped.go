package check

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"
)

// Statement is one of a cell's own, with the variables that have no value before it has run.
type Statement struct {
	First, Last int // lines, from 1
	ran         int // Cell.Ran of it
	parts       int // declarations of variables between its parentheses
	vars        []*types.Var
	users       map[*types.Var][]string // functions and methods of the cell that use them
}

// forgotten is a variable without a meaning, and the cell that ended before it declared it.
type forgotten struct {
	v    *types.Var
	cell string
}

// Continues returns the variable of an earlier cell whose place one of this cell takes, as it has its name and type, nil for none. Functions
// that use the earlier one see the new value, also where its cell has ended before it declared it. Call it before the cell is committed.
func (c *Cell) Continues(v *types.Var) *types.Var {
	old, ok := c.scope.objects[v.Name()].(*types.Var)
	if !ok && c.scope.objects[v.Name()] == nil {
		old = c.scope.stopped[v.Name()].v
	}
	if old == nil || !types.Identical(old.Type(), v.Type()) {
		return nil
	}
	return old
}

// Statements are those of the cell, in order. A variable that takes the place of one of its type, and with that its value, has a value before
// it is declared. Call it before the cell is committed, between Lock and Unlock.
func (c *Cell) Statements() (list []Statement) {
	users := c.users()
	for _, stmt := range c.Body.Body.List {
		m, ran := c.Moved[stmt], c.Ran(stmt)
		if l, ok := stmt.(*ast.LabeledStmt); ok {
			stmt = l.Stmt
		}
		s := c.declaring(stmt, declaredBy(stmt))
		if m != nil {
			s = c.moved(stmt, m)
		}
		s.ran, s.parts = ran, parts(stmt)
		list = append(list, s)
	}
	for i := range list {
		list[i].users = users
	}
	return list
}

// Ran is what a cell hands to the primitive of that name when a statement of its own has run that declares variables: a number that grows from
// statement to statement. It is 0 where nothing is handed over, since only an error can end the cell before its last statement, and errors
// have lines.
func (c *Cell) Ran(stmt ast.Stmt) int {
	declaring := stmt
	if l, ok := stmt.(*ast.LabeledStmt); ok {
		declaring = l.Stmt
	}
	if c.Moved[stmt] == nil && len(declaredBy(declaring)) == 0 || !c.mayLeave() {
		return 0
	}
	return 1 + c.text.offset(c.scope.fset, stmt.Pos())
}

// mayLeave tells whether a return or a deferred call can end the cell early.
func (c *Cell) mayLeave() bool {
	if c.leaving == nil {
		found := leaves(c.Body.Body).IsValid()
		c.leaving = &found
	}
	return *c.leaving
}

// Tells tells whether the cell hands over which of its statements have run.
func Tells(list []Statement) bool {
	return slices.ContainsFunc(list, func(s Statement) bool { return s.ran > 0 })
}

// parts is how many declarations of variables a statement has, between parentheses.
func parts(stmt ast.Stmt) int {
	if s, ok := stmt.(*ast.DeclStmt); ok {
		if d, ok := s.Decl.(*ast.GenDecl); ok && d.Tok == token.VAR {
			return len(d.Specs)
		}
	}
	return 0
}

// declaring is a statement that declares local variables.
func (c *Cell) declaring(n ast.Stmt, names []*ast.Ident) (s Statement) {
	s.First, _ = c.Position(n.Pos())
	s.Last, _ = c.Position(n.End() - 1)
	for _, id := range names {
		if v, ok := c.Info.Defs[id].(*types.Var); ok && c.Local[v] != nil {
			s.add(c, c.Local[v])
		}
	}
	return s
}

// moved is the place of variables that were moved to the declarations.
func (c *Cell) moved(n ast.Node, m *Moved) (s Statement) {
	s.First, _ = c.Position(n.Pos())
	s.Last, _ = c.Position(n.End() - 1)
	s.Last = max(s.Last, s.First)
	s.add(c, m.Vars...)
	for _, init := range m.Inits {
		last, _ := c.Position(init.Rhs.End() - 1)
		s.Last = max(s.Last, last)
		s.add(c, init.Lhs...)
	}
	return s
}

// add notes variables, but for those that have a value from an earlier cell.
func (s *Statement) add(c *Cell, vars ...*types.Var) {
	for _, v := range vars {
		if old, ok := c.Replaces(v.Name()).(*types.Var); v.Name() != "_" && (!ok || !types.Identical(old.Type(), v.Type())) {
			s.vars = append(s.vars, v)
		}
	}
}

// users are, for each variable, the functions and methods of the cell that mention it.
func (c *Cell) users() map[*types.Var][]string {
	users := map[*types.Var][]string{}
	for _, d := range c.Decls {
		decl, ok := d.(*ast.FuncDecl)
		if !ok || decl.Body == nil {
			continue
		}
		f, ok := c.Info.Defs[decl.Name].(*types.Func)
		if !ok {
			continue
		}
		name := f.Name()
		if recv := Receiver(f); recv != nil {
			name = recv.Obj().Name() + "." + name
		}
		ast.Inspect(decl.Body, func(n ast.Node) bool {
			id, ok := n.(*ast.Ident)
			if !ok {
				return true
			}
			if v, ok := c.Info.Uses[id].(*types.Var); ok && !slices.Contains(users[v], name) {
				users[v] = append(users[v], name)
			}
			return true
		})
	}
	return users
}

// End is how far a cell has come.
type End struct {
	Line int // at which it failed; 0: that is not known, or it has not failed
	Ran  int // the greatest number that it has handed over, see Cell.Ran
}

// before tells whether a cell has ended before it gave a variable of a statement its value. Of several declarations that share the last line, or
// a pair of parentheses, nobody knows which one it was: zero then tells whether a variable has no value.
func (e End) before(s Statement, v *types.Var, shared bool, zero func(v *types.Var) bool) bool {
	if s.ran > 0 {
		return s.ran > e.Ran && (s.parts <= 1 || zero(v))
	}
	return e.Line > 0 && e.Line <= s.Last && (s.First > e.Line || !shared || zero(v))
}

// Stopped forgets the variables of a cell that has ended before it declared them: they have no meaning any more, and who asks
// for one is told that. The notes tell of the cell's functions that use such a variable.
func (s *Scope) Stopped(cell string, list []Statement, end End, zero func(v *types.Var) bool) (notes []string) {
	sharing := 0
	for _, st := range list {
		if st.First <= end.Line && end.Line <= st.Last {
			sharing += max(st.parts, 1)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var gone []string
	defer func() { s.sleep(cell, gone) }()
	for _, st := range list {
		for _, v := range st.vars {
			name := v.Name()
			if s.objects[name] != types.Object(v) || !end.before(st, v, sharing > 1, zero) {
				continue
			}
			delete(s.objects, name)
			if s.stopped == nil {
				s.stopped = map[string]forgotten{}
			}
			s.stopped[name] = forgotten{v, cell}
			gone = append(gone, name)
			if users := st.users[v]; len(users) > 0 {
				notes = append(notes, fmt.Sprintf("%s has no value yet where %s uses it, since the cell ended before it declared it: it gets one from a cell that declares %[1]s with its type",
					name, strings.Join(users, ", ")))
			}
		}
	}
	return notes
}
