package eval

import (
	"testing"

	"cancha/kernel/cell"
	"cancha/kernel/eval/native"
)

// TestCompleteBesideRefusedCells: what the lowerer knows is changed for a cell that is not compiled in the end, while completion asks it
// where a variable is. The race detector tells.
func TestCompleteBesideRefusedCells(t *testing.T) {
	p, modules := newConflicting(t)
	p.native.SetTools(native.Toolchain{Cache: modules.cache}) // which cannot compile
	if r := p.Run(cell.Request{Cell: 1, Count: 1, Code: "teams := map[string]int{\"Boca\": 1}"}); r.Err != nil {
		t.Fatal(r.Err)
	}
	over := make(chan struct{})
	go func() {
		defer close(over)
		for i := range 20 {
			p.Run(cell.Request{Cell: int64(i + 2), Count: i + 2, Code: "%%native\nfresh := 1\n_ = fresh"})
		}
	}()
	const code = `teams["B"]`
	for {
		select {
		case <-over:
			return
		default:
			p.Complete(cell.Question{Code: code, Cursor: len(code) - 2})
		}
	}
}
