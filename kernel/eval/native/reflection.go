package native

import (
	"fmt"
	"go/ast"
	"go/types"
)

// reflected are methods of package reflect that would show how cells are compiled, and the functions for them.
var reflected = map[string]string{
	"(reflect.Type).NumMethod": "NumMethod", "(reflect.Value).NumMethod": "NumMethodOf",
	"(reflect.Type).Methods": "Methods", "(reflect.Value).Methods": "MethodsOf", "(reflect.Type).PkgPath": "PkgPath",
}

// reflection writes a call of such a method, or of one with a type's name; ok is false for any other.
func (w *writer) reflection(x *ast.CallExpr, sel *ast.SelectorExpr, s *types.Selection) (text string, ok bool) {
	name := s.Obj().(*types.Func).FullName()
	if name == "(reflect.Type).String" || name == "(reflect.Type).Name" { // that of a generic type has the paths of its arguments
		return machineName + ".Sprint(" + w.copy(x) + ")", true
	}
	if name == "(*runtime.Func).Name" && len(s.Index()) == 1 {
		return fmt.Sprintf("%s.FuncName(%s)", supportName, w.text(sel.X)), true
	}
	_, pointer := s.Recv().Underlying().(*types.Pointer)
	if reflected[name] == "" || pointer || len(s.Index()) > 1 {
		return "", false
	}
	return fmt.Sprintf("%s.%s(%s)", supportName, reflected[name], w.text(sel.X)), true
}
