package check

import (
	"go/ast"
	"go/token"
	"go/types"
)

// The statements of a timed loop are checked inside of a function literal, which is the cell's only expression.
const (
	loopPrefix = bodyPrefix + "(func(n" + nameMark + " int) bool {for range n" + nameMark + " {"
	loopSuffix = "\n}; return true})\n}"
)

// CheckLoop checks statements that are to be run many times. The cell's last expression is then a func(n int) bool that runs them
// n times, without declaring anything, and returns true. The value of a last expression is computed and dropped.
func (s *Scope) CheckLoop(name, code string) (*Cell, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	once, err := s.check(name, code) // as they stand, for errors and types
	if err != nil {
		return nil, err
	}
	for _, d := range once.Decls {
		if g, ok := d.(*ast.GenDecl); !ok || g.Tok != token.IMPORT && g.Tok != token.VAR {
			return nil, once.Refuse(d.Pos(), "what is timed cannot declare constants, types and functions: declare them in a cell of their own")
		}
	}
	if pos := leaves(once.Body.Body); pos.IsValid() {
		return nil, once.Refuse(pos, "what is timed cannot leave its cell: the loop around it would end")
	}
	b := newBuilder(s, name, code)
	b.loop, b.value = true, isValue(once)
	return b.run()
}

// leaves returns the position of a return or defer statement of a body's own.
func leaves(body *ast.BlockStmt) (pos token.Pos) {
	ast.Inspect(body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			return false
		case *ast.ReturnStmt, *ast.DeferStmt:
			pos = n.Pos()
		}
		return !pos.IsValid()
	})
	return pos
}

// Leaves returns the line of a return or defer statement of the cell's own statements, 0 without one. Such a statement is about
// all of a cell.
func (c *Cell) Leaves() (line int) {
	if pos := leaves(c.Body.Body); pos.IsValid() {
		line, _ = c.Position(pos)
	}
	return line
}

// isValue tells a cell whose last statement is an expression with one value.
func isValue(c *Cell) bool {
	list := c.Body.Body.List
	if len(list) == 0 {
		return false
	}
	last, ok := list[len(list)-1].(*ast.ExprStmt)
	if !ok {
		return false
	}
	tv := c.Info.Types[last.X]
	_, several := tv.Type.(*types.Tuple)
	return tv.IsValue() && !several
}

// dropValue turns the last expression of the loop into an assignment to nobody, since alone it would be no statement.
func (b *builder) dropValue() {
	ast.Inspect(b.body, func(n ast.Node) bool {
		loop, ok := n.(*ast.RangeStmt)
		if !ok {
			return true
		}
		list := loop.Body.List
		x, ok := list[len(list)-1].(*ast.ExprStmt)
		if ok {
			list[len(list)-1] = &ast.AssignStmt{Lhs: []ast.Expr{&ast.Ident{NamePos: x.Pos(), Name: "_"}}, TokPos: x.Pos(), Tok: token.ASSIGN, Rhs: []ast.Expr{x.X}}
		}
		return false
	})
}
