package lower

import (
	"go/ast"
	"go/constant"
	"go/types"
	"log"
)

// unfit are functions that would tell of the interpreter what is asked of the program, and why.
var unfit = map[string]string{
	"runtime.Caller":           noFrames,
	"runtime.Callers":          noFrames,
	"runtime.CallersFrames":    noFrames,
	"runtime.FuncForPC":        noFrames,
	"runtime.Stack":            noFrames,
	"runtime/debug.Stack":      noFrames,
	"runtime/debug.PrintStack": noFrames,
	"runtime.SetFinalizer":     keepsValues,
	"runtime.AddCleanup":       keepsValues,
	"runtime.MemProfile":       allocates,
	"testing.AllocsPerRun":     allocates,
}

const (
	noFrames    = "interpreted functions are not on the stack"
	keepsValues = "the interpreter keeps values longer than compiled code does"
	allocates   = "the interpreter allocates memory of its own"
)

// refuseUnfit refuses the use of such a function.
func refuseUnfit(x *ast.Ident, o *types.Func) {
	if why, ok := unfit[o.Pkg().Path()+"."+o.Name()]; ok {
		refuse(x.Pos(), "%s.%s cannot be used while the cell is interpreted: %s", o.Pkg().Name(), o.Name(), why)
	}
}

// refuseFileNames refuses to make a logger write where it was called: that is in the interpreter.
func (f *fn) refuseFileNames(a ast.Expr, callee *types.Func) {
	v := f.info.Types[a].Value
	if callee.Pkg().Path() != "log" || v == nil || v.Kind() != constant.Int {
		return
	}
	if flags, ok := constant.Int64Val(v); ok && flags&(log.Lshortfile|log.Llongfile) != 0 {
		refuse(a.Pos(), "log.Lshortfile and log.Llongfile cannot be used while the cell is interpreted: %s", noFrames)
	}
}

// looksInto reports whether callee is a function of package reflect through which a program looks into a value or its type.
func looksInto(callee *types.Func) bool {
	if callee.Pkg().Path() != "reflect" || callee.Signature().Recv() != nil {
		return false
	}
	return callee.Name() == "TypeOf" || callee.Name() == "ValueOf"
}

// refuseDisguised refuses to look into values of types that the interpreter builds otherwise than Go. Where the type is known
// only when the cell runs, the primitives refuse.
func (f *fn) refuseDisguised(a ast.Expr, t types.Type) {
	if types.IsInterface(t) {
		return
	}
	if n := f.l.disguised(t, map[types.Type]bool{}); n != "" {
		refuse(a.Pos(), "package reflect does not see %s as Go does while the cell is interpreted", n)
	}
}

// disguised names a type in t that reflection sees otherwise than in compiled Go, "" for none.
func (l *Lowerer) disguised(t types.Type, seen map[types.Type]bool) string {
	if seen[t] {
		return ""
	}
	seen[t] = true
	var inside []types.Type
	switch t := types.Unalias(t).(type) {
	case *types.Named:
		switch {
		case t.Obj().Pkg() == nil || t.Obj().Pkg().Path() != "main" || l.ofCompiledCell(t.Obj()):
			return ""
		case types.IsInterface(t):
			return "the interface " + t.Obj().Name()
		}
		return "type " + t.Obj().Name()
	case *types.Struct:
		for v := range t.Fields() {
			if !v.Exported() {
				return "a struct with the field " + v.Name()
			}
			inside = append(inside, v.Type())
		}
	case *types.Pointer:
		inside = []types.Type{t.Elem()}
	case *types.Slice:
		inside = []types.Type{t.Elem()}
	case *types.Array:
		inside = []types.Type{t.Elem()}
	case *types.Chan:
		inside = []types.Type{t.Elem()}
	case *types.Map:
		inside = []types.Type{t.Key(), t.Elem()}
	case *types.Signature:
		for v := range t.Params().Variables() {
			inside = append(inside, v.Type())
		}
		for v := range t.Results().Variables() {
			inside = append(inside, v.Type())
		}
	}
	for _, u := range inside {
		if name := l.disguised(u, seen); name != "" {
			return name
		}
	}
	return ""
}
