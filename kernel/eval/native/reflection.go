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

// shownFields are fields that would show how cells are compiled, and the functions that make of them what a program would have.
var shownFields = map[string]string{"reflect.PkgPath": "CellPath", "runtime.Function": "PlainName"}

// shownField writes the value of such a field: of a reflect.StructField, a reflect.Method or a runtime.Frame. What is assigned to stays.
func (w *writer) shownField(x *ast.SelectorExpr, f *types.Var, text string) string {
	if !f.IsField() || f.Pkg() == nil || w.assigned[x] {
		return text
	}
	name := shownFields[f.Pkg().Path()+"."+f.Name()]
	if name == "" {
		return text
	}
	return fmt.Sprintf("%s.%s(%s)", supportName, name, text)
}

// assigns notes expressions that are not read.
func (w *writer) assigns(list ...ast.Expr) {
	for _, x := range list {
		if sel, ok := ast.Unparen(x).(*ast.SelectorExpr); ok {
			w.assigned[sel] = true
		}
	}
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
