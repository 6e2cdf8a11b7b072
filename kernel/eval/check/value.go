package check

import (
	"go/ast"
	"go/types"
)

var errorType = types.Universe.Lookup("error").Type().Underlying().(*types.Interface)

// Last is what is known of a cell's last expression before it has a value.
type Last struct {
	Line    int
	Fails   bool // an error as its value, the last one where it has several, says that the cell has failed
	Pointer bool // it does, and is a pointer, whose nil is no error
	List    bool // several expressions, whose values are all shown
	Quiet   bool // its value is not shown
}

// Last tells of the expression that is shown; it is the zero value where there is none.
//
// An interface with the method Error tells of failure: error itself, or net.Error. A value of a type that implements error does
// where a call has returned it. Anywhere else it is a value that somebody wants to see, such as a field or a literal.
func (c *Cell) Last() Last {
	x := c.Shown()
	if x == nil {
		return Last{}
	}
	line, _ := c.Position(x.Pos())
	values := c.Values(x)
	if len(values) > 0 {
		x = values[len(values)-1]
	}
	call, isCall := ast.Unparen(x).(*ast.CallExpr)
	returned := isCall && !c.Info.Types[call.Fun].IsType()
	t := c.Info.TypeOf(x)
	if tuple, ok := t.(*types.Tuple); ok {
		returned, t = true, tuple.At(tuple.Len()-1).Type()
	}
	fails := (returned || types.IsInterface(t)) && types.Implements(t, errorType)
	_, pointer := t.Underlying().(*types.Pointer)
	return Last{Line: line, Fails: fails, Pointer: fails && pointer, List: len(values) > 0, Quiet: c.callsFmt(x, "Fprint")}
}
