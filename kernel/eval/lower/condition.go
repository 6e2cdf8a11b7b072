package lower

import (
	"go/ast"
	"go/constant"
	"go/types"
	"strconv"
)

// In the interpreter comparisons, and what is made of them, are bools, whatever type asks for them; and it takes a condition that is a
// conversion for true.

// condition lowers the condition of a statement, which needs no conversions.
func (f *fn) condition(x ast.Expr) string {
	x = ast.Unparen(x)
	if name, ok := f.held[x]; ok {
		return name
	}
	if tv := f.info.Types[x]; tv.Value != nil {
		return strconv.FormatBool(constant.BoolVal(tv.Value))
	}
	switch x := x.(type) {
	case *ast.CallExpr:
		if f.info.Types[x.Fun].IsType() {
			return f.condition(x.Args[0])
		}
	case *ast.UnaryExpr:
		return f.unary(x)
	case *ast.BinaryExpr:
		return f.binary(x)
	}
	return f.expr(x)
}

// orderedCondition lowers a condition that is not evaluated in front of its statement.
func (f *fn) orderedCondition(x ast.Expr) string {
	text := ""
	kept := f.capture(func() {
		f.inOrderOf(x)
		text = f.condition(x)
	})
	if kept == "" {
		return text
	}
	if !plainType(f.typeOf(x)) {
		text = "bool(" + text + ")"
	}
	return "func() bool {\n" + kept + "return " + text + "\n}()"
}

// declaredBool is the text of an operation with the type that its value has, where that is a declared bool.
func (f *fn) declaredBool(x ast.Expr, text string) string {
	t := f.typeOf(x)
	if b, ok := t.Underlying().(*types.Basic); !ok || b.Info()&types.IsBoolean == 0 || plainType(t) {
		return text
	}
	return f.typ(t) + "(" + text + ")"
}
