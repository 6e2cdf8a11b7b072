package check

import (
	"go/ast"
	"go/token"
	"go/types"
)

// What is put around the statements of a timed loop: a function literal, which is the cell's only expression.
const (
	loopHead = "(func(n" + nameMark + " int) bool { for range n" + nameMark + " {"
	loopTail = "\n}; return true })"
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
	pieces, _ := split(code)
	for _, p := range pieces {
		if p.kind != statement && p.kind != variable {
			line, _ := once.text.position(p.start)
			return nil, once.RefuseLine(line, "what is timed cannot declare constants, types and functions, or import: do that in a cell of its own")
		}
	}
	if pos := leaves(once.Body.Body); pos.IsValid() {
		return nil, once.Refuse(pos, "what is timed cannot leave its cell: the loop around it would end")
	}
	if at := lastValue(once); at >= 0 { // alone it would be no statement
		code = code[:at] + "_ = " + code[at:]
	}
	b := newBuilder(s, name, loopHead+code+loopTail)
	b.cell.text.head = len(loopHead)
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

// lastValue is the byte at which a cell's last statement begins, if that is an expression with one value, else -1.
func lastValue(c *Cell) int {
	list := c.Body.Body.List
	if len(list) == 0 {
		return -1
	}
	last, ok := list[len(list)-1].(*ast.ExprStmt)
	if !ok {
		return -1
	}
	tv := c.Info.Types[last.X]
	if _, several := tv.Type.(*types.Tuple); several || !tv.IsValue() {
		return -1
	}
	return c.text.offset(c.scope.fset, last.Pos())
}
