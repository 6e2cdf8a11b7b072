package check

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"strings"
)

// What is put around the statements of a timed loop: a function literal, which is the cell's only expression.
const (
	loopHead = "(func(n" + nameMark + " int) bool { for range n" + nameMark + " {"
	loopTail = "\n}; return true })"

	loopCheck = checkName + nameMark // check, which a cell may have a name of its own for
)

// CheckLoop checks statements that are to be run many times. The cell's last expression is then a func(n int) bool that runs them n times,
// without declaring anything, and returns true. The value of a last expression is computed and dropped; fails says whether an error as last
// value fails the cell.
func (s *Scope) CheckLoop(name, code string, fails bool) (*Cell, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	once, err := s.check(name, code, nil) // as they stand, for errors and types
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
	code = once.dropValue(fails)
	b := newBuilder(s, name, loopHead+code+loopTail)
	b.cell.text.head = len(loopHead)
	c, err := b.run()
	if err == nil {
		c.Remarks = once.Remarks // whose columns are those of the text as it was written
	}
	return c, err
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

// Leaves returns the line of a return or defer among the cell's own statements, 0 if there is none. Such a statement concerns the cell as a
// whole.
func (c *Cell) Leaves() (line int) {
	if pos := leaves(c.Body.Body); pos.IsValid() {
		line, _ = c.Position(pos)
	}
	return line
}

// dropValue is the cell's code with its last expression, which alone would be no statement, assigned to nothing, or to an error that
// is looked at.
func (c *Cell) dropValue(fails bool) string {
	code, list := c.text.written(), c.Body.Body.List
	if len(list) == 0 {
		return code
	}
	last, ok := list[len(list)-1].(*ast.ExprStmt)
	if !ok {
		return code
	}
	n := 1
	if values := c.Values(last.X); values != nil {
		n = len(values)
	} else if tv := c.Info.Types[last.X]; !tv.IsValue() {
		return code
	} else if tuple, ok := tv.Type.(*types.Tuple); ok {
		n = tuple.Len()
	}
	start, end := c.text.offset(c.scope.fset, last.Pos()), c.text.offset(c.scope.fset, last.End())
	blanks := strings.Repeat("_, ", n-1)
	if l := c.Last(); fails && l.Fails {
		look := loopCheck + "(err" + nameMark + ")"
		if l.Pointer { // its nil is no error; of other concrete types each value is one, and few can be compared with nil
			look = "if err" + nameMark + " != nil { " + look + " }"
		}
		return fmt.Sprintf("%s{ %serr%s := %s; %s }%s", code[:start], blanks, nameMark, code[start:end], look, code[end:])
	}
	return code[:start] + blanks + "_ = " + code[start:]
}
