package check

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/types"
	"math"
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

// Last describes the expression that is shown; it is the zero value if there is none.
//
// A value of an interface with the method Error (error itself, or net.Error) means failure. So does a value of a type that implements
// error, if a call has returned it. Anywhere else, as in a field or a literal, it is a value that the user wants to see.
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

// refuseOverflow refuses a constant as last value that its default type cannot hold: shown, it would have to be of that type.
func (b *builder) refuseOverflow() {
	x := b.cell.Shown()
	if x == nil {
		return
	}
	tv := b.cell.Info.Types[x]
	basic, ok := tv.Type.(*types.Basic)
	if !ok || tv.Value == nil || basic.Info()&types.IsUntyped == 0 || fits(tv.Value, basic.Kind()) {
		return
	}
	text := types.ExprString(x)
	if value := tv.Value.ExactString(); value != text && basic.Info()&types.IsInteger != 0 {
		text += fmt.Sprintf(" (%s constant %s)", basic, value)
	}
	b.errs.add(b.cell.text.offset(b.fset, x.Pos()), fmt.Sprintf("cannot use %s as %s value in the cell's last line (overflows)", text, types.Default(basic)))
}

// fits reports whether the default type of its kind holds the untyped constant v.
func fits(v constant.Value, kind types.BasicKind) bool {
	switch kind {
	case types.UntypedInt:
		_, exact := constant.Int64Val(constant.ToInt(v))
		return exact
	case types.UntypedRune:
		n, exact := constant.Int64Val(constant.ToInt(v))
		return exact && n == int64(int32(n))
	case types.UntypedFloat:
		f, _ := constant.Float64Val(v)
		return !math.IsInf(f, 0)
	}
	return true
}
