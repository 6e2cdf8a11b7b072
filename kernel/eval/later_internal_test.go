package eval

import (
	"go/types"
	"testing"

	"cancha/kernel/cell"
)

// TestRefusedAreForgotten: a cell that could not be compiled is kept for as long as a cell can mention what it declares.
func TestRefusedAreForgotten(t *testing.T) {
	for name, code := range map[string]string{"declared again": "func odd() int { return 1 }", "reset": "%reset", "a variable's": "odd := 1"} {
		p, _ := newConflicting(t)
		serial := 0
		run := func(code string) {
			t.Helper()
			serial++
			if r := p.Run(cell.Request{Cell: int64(serial), Count: serial, Code: code}); r.Err != nil {
				t.Fatal(r.Err)
			}
		}
		run("func odd() {}")
		p.later.failed = []*pending{{objects: map[types.Object]bool{p.scope.Lookup("odd"): true}}}
		run("1")
		if len(p.later.failed) != 1 {
			t.Errorf("%s: forgotten before", name)
		}
		run(code)
		run("1")
		if len(p.later.failed) != 0 {
			t.Errorf("%s: kept", name)
		}
	}
}
