package native

import (
	"fmt"
	"go/ast"
	"go/types"

	"cancha/kernel/eval/check"
)

// testing writes a call that hands a function to package testing, which runs it on a goroutine of its own: there a panic fails the test.
// What takes the function as an argument among others is only told; text stands for the whole of a call where ok.
func (w *writer) testing(x *ast.CallExpr) (text string, ok bool) {
	f := check.Callee(w.info, x)
	if f == nil || f.Pkg() == nil || f.Pkg().Path() != "testing" && f.Pkg().Path() != "testing/synctest" || len(x.Args) == 0 || len(x.Args) != f.Signature().Params().Len() {
		return "", false
	}
	last := x.Args[len(x.Args)-1:]
	switch f.FullName() {
	case "(*testing.T).Run", "(*testing.B).Run", "testing/synctest.Test":
		wrapper := "Test"
		if f.Name() == "Test" {
			wrapper = "Bubble"
		}
		if !w.info.Types[last[0]].IsNil() {
			w.replaced[last[0]] = fmt.Sprintf("%s.%s(%s, %s)", supportName, wrapper, machineName, w.text(last[0]))
		}
	case "(*testing.F).Fuzz":
		w.replaced[last[0]] = fmt.Sprintf("%s.Fuzz(%s)", machineName, w.text(last[0]))
	case "(*testing.common).Cleanup", "(testing.TB).Cleanup", "(*testing.B).RunParallel":
		sel, ok := ast.Unparen(x.Fun).(*ast.SelectorExpr)
		if !ok || w.info.Types[sel.X].IsType() || w.info.Types[last[0]].IsNil() {
			return "", false
		}
		receiver := w.text(sel.X)
		if types.NewMethodSet(w.info.TypeOf(sel.X)).Lookup(nil, f.Name()) == nil { // of a variable's address
			receiver = "&" + operand(receiver)
		}
		return fmt.Sprintf("%s.%s(%s, %s, %s)", supportName, f.Name(), machineName, receiver, w.text(last[0])), true
	}
	return "", false
}
