package eval

import (
	"cancha/kernel/cell"
	"cancha/kernel/eval/check"
)

// Complete returns how the code at a cursor may go on.
func (p *Program) Complete(q cell.Question) cell.Completion {
	return p.scope.Complete(q.Code, q.Cursor)
}

// Inspect explains the name at a cursor.
func (p *Program) Inspect(q cell.Question) cell.Inspection {
	return p.scope.Inspect(q.Code, q.Cursor, q.Detail)
}

// IsComplete tells whether a cell can run as it is.
func (p *Program) IsComplete(code string) cell.Completeness {
	code, _ = helpLines(code)
	return check.IsComplete(code)
}
