package primitive

import (
	"fmt"

	"cancha/internal/stack"
)

// Stack returns where the calling goroutine's stack lies.
func (m *Machine) Stack() (lo, hi uintptr) { return stack.Bounds() }

// Kept tells the cell's author, once, that a function was called in its old form though a later cell has declared it anew.
func (m *Machine) Kept(function string) {
	if _, told := m.kept.LoadOrStore(function, true); !told {
		fmt.Fprintf(m.Stderr(), "note: a function that was called before %s was declared anew goes on with the old one, since it hands over the address of a variable of its own; it sees the new one when it is called again\n", function)
	}
}
