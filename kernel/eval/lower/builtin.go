package lower

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"runtime"
	"strings"
)

// replaced are functions of the standard library for which the primitives have a version that knows cells: whose output it
// is, how an interpreted value prints, that a wait may be interrupted.
var replaced = map[string]string{
	"builtin.fail": "Fail",
	"fmt.Print":    "Print", "fmt.Println": "Println", "fmt.Printf": "Printf",
	"fmt.Sprint": "Sprint", "fmt.Sprintln": "Sprintln", "fmt.Sprintf": "Sprintf",
	"fmt.Fprint": "Fprint", "fmt.Fprintln": "Fprintln", "fmt.Fprintf": "Fprintf",
	"fmt.Append": "Append", "fmt.Appendln": "Appendln", "fmt.Appendf": "Appendf",
	"fmt.Errorf": "Errorf",
	"errors.As":  "ErrorsAs", "errors.Is": "ErrorsIs",
	"log.Print": "LogPrint", "log.Println": "LogPrintln", "log.Printf": "LogPrintf",
	"log.Panic": "LogPanic", "log.Panicln": "LogPanicln", "log.Panicf": "LogPanicf",
	"log.Fatal": "LogFatal", "log.Fatalln": "LogFatalln", "log.Fatalf": "LogFatalf",
	"encoding/json.Marshal": "JSONMarshal", "encoding/json.MarshalIndent": "JSONMarshalIndent",
	"encoding/json.Unmarshal": "JSONUnmarshal",
	"encoding/xml.Marshal":    "XMLMarshal", "encoding/xml.MarshalIndent": "XMLMarshalIndent",
	"reflect.TypeOf": "ReflectTypeOf", "reflect.ValueOf": "ReflectValueOf",
	"os.Exit":    "Exit",
	"flag.Parse": "FlagParse",
	"time.Sleep": "Sleep",
}

// replacedMethods are methods of compiled types for which the primitives have a function, the receiver in front.
var replacedMethods = map[string]string{
	"(*encoding/json.Encoder).Encode": "JSONEncode", "(*encoding/json.Decoder).Decode": "JSONDecode",
	"(*encoding/xml.Encoder).Encode": "XMLEncode",
	"(*sync.Mutex).Lock":             "Lock", "(*sync.RWMutex).Lock": "Lock", "(*sync.RWMutex).RLock": "RLock",
	"(*sync.WaitGroup).Wait": "WaitGroupWait", "(*sync.Cond).Wait": "CondWait",
	"(*os/exec.Cmd).Start": "CmdStart", "(*os/exec.Cmd).Run": "CmdRun", "(*os/exec.Cmd).Wait": "CmdWait",
	"(*os/exec.Cmd).Output": "CmdOutput", "(*os/exec.Cmd).CombinedOutput": "CmdCombinedOutput",
	"(*log.Logger).Printf": "LoggerPrintf", "(*log.Logger).Panicf": "LoggerPanicf", "(*log.Logger).Fatalf": "LoggerFatalf",
	"(*log.Logger).Fatal": "LoggerFatal", "(*log.Logger).Fatalln": "LoggerFatalln", "(*flag.FlagSet).Parse": "FlagSetParse",
	"(*text/template.Template).Funcs": "TemplateFuncs", "(*html/template.Template).Funcs": "HTMLTemplateFuncs",
	"(*text/template.Template).Execute":         "TemplateExecute",
	"(*text/template.Template).ExecuteTemplate": "TemplateExecuteTemplate",
	"(*html/template.Template).Execute":         "HTMLTemplateExecute",
	"(*html/template.Template).ExecuteTemplate": "HTMLTemplateExecuteTemplate",
}

var printers = map[string]string{"print": runtimeAlias + ".BuiltinPrint", "println": runtimeAlias + ".BuiltinPrintln"}

// builtin lowers a use of a predeclared function.
func (f *fn) builtin(x *ast.CallExpr) string {
	id, ok := ast.Unparen(x.Fun).(*ast.Ident)
	if !ok {
		refuse(x.Pos(), "package unsafe is not supported by the interpreter")
	}
	if len(x.Args) == 1 {
		if tuple, ok := f.info.TypeOf(x.Args[0]).(*types.Tuple); ok && tuple.Len() > 1 {
			refuse(x.Pos(), "%s of a call that gives several values is not supported by the interpreter; assign them to variables first", id.Name)
		}
	}
	switch id.Name {
	case "append":
		return f.appendCall(x)
	case "make":
		args := []string{f.typ(f.typeOf(x))}
		for i, a := range x.Args[1:] {
			args = append(args, f.size(x, a, i))
		}
		if c, ok := f.typeOf(x).Underlying().(*types.Chan); ok && c.Dir() != types.SendRecv { // the interpreter makes no others
			directed := args[0]
			args[0] = f.typ(types.NewChan(types.SendRecv, c.Elem()))
			return "(" + directed + ")(make(" + strings.Join(args, ", ") + "))"
		}
		return "make(" + strings.Join(args, ", ") + ")"
	case "new":
		return f.newCall(x)
	case "len", "cap":
		if p, ok := f.typeOf(x.Args[0]).Underlying().(*types.Pointer); ok { // which may be nil
			return fmt.Sprintf("func(%s) int { return %d }(%s)", f.typ(p), p.Elem().Underlying().(*types.Array).Len(), f.expr(x.Args[0]))
		}
		return id.Name + "(" + f.expr(x.Args[0]) + ")"
	case "delete":
		m := f.typeOf(x.Args[0]).Underlying().(*types.Map)
		return "delete(" + f.expr(x.Args[0]) + ", " + f.key(x.Args[1], m.Key()) + ")"
	case "clear":
		return f.clearer(f.typeOf(x.Args[0])) + "(" + f.expr(x.Args[0]) + ")"
	case "min", "max":
		return f.extreme(x, id.Name)
	case "panic":
		return runtimeAlias + ".Throw(" + f.conv(x.Args[0], anyType) + ")"
	case "recover":
		return f.recoverCall()
	case "print", "println":
		args := make([]string, len(x.Args))
		for i, a := range x.Args {
			args[i] = f.printed(a)
		}
		return printers[id.Name] + "(" + strings.Join(args, ", ") + ")"
	}
	args := make([]string, len(x.Args))
	for i, a := range x.Args {
		args[i] = f.expr(a)
	}
	return id.Name + "(" + strings.Join(args, ", ") + ")"
}

// size lowers the i-th size that make is given: of a slice it is checked where it varies, since the interpreter makes other
// errors of it.
func (f *fn) size(x *ast.CallExpr, a ast.Expr, i int) string {
	s, ok := f.typeOf(x).Underlying().(*types.Slice)
	if !ok || !f.varies(a) {
		return f.indexValue(a)
	}
	return fmt.Sprintf("%s.%s(int(%s), %d)", runtimeAlias, []string{"SliceLen", "SliceCap"}[i], f.expr(a), layout.Sizeof(s.Elem()))
}

// layout is how large Go's types are.
var layout = types.SizesFor("gc", runtime.GOARCH)

// printed lowers an argument of print and println, which write of an interface's value only where it is.
func (f *fn) printed(a ast.Expr) string {
	text := f.conv(a, anyType)
	if types.IsInterface(f.typeOf(a)) {
		return runtimeAlias + ".Interface(" + text + ")"
	}
	return text
}

// recoverCall is recover() as Go means it: only in a function that was deferred, and only while its caller panics.
func (f *fn) recoverCall() string {
	if f.recoverVar == "" {
		return "interface{}(nil)"
	}
	return f.recoverVar + ".Recover()"
}

func (f *fn) appendCall(x *ast.CallExpr) string {
	slice := f.typeOf(x)
	elem := slice.Underlying().(*types.Slice).Elem()
	first := f.conv(x.Args[0], slice)
	if first == "nil" {
		first = f.typ(slice) + "(nil)"
	}
	args := []string{first}
	circular := types.Identical(slice, elem) // then the interpreter takes an element for a list of them
	if !x.Ellipsis.IsValid() && len(x.Args) > 1 && (circular || len(x.Args) > 2 && !f.settled(x.Args[1:])) {
		// The interpreter reads an element after it has stored those before it, which may be in the same place.
		return "append(" + first + ", " + f.typ(types.NewSlice(elem)) + "{" + strings.Join(f.elements(x.Args[1:], elem), ", ") + "}...)"
	}
	for i, a := range x.Args[1:] {
		if x.Ellipsis.IsValid() && i == len(x.Args)-2 {
			more := f.expr(a)
			if more == "nil" {
				more = "(" + f.typ(slice) + ")(nil)"
			}
			args = append(args, more+"...")
		} else {
			args = append(args, f.conv(a, elem))
		}
	}
	return "append(" + strings.Join(args, ", ") + ")"
}

// settled reports whether the values of the expressions do not depend on what is stored in a slice.
func (f *fn) settled(list []ast.Expr) bool {
	for _, x := range list {
		if _, ok := ast.Unparen(x).(*ast.Ident); !ok && f.info.Types[x].Value == nil {
			return false
		}
	}
	return true
}

// newCall lowers new(T) and, since Go 1.26, new(value).
func (f *fn) newCall(x *ast.CallExpr) string {
	t := f.typeOf(x).(*types.Pointer).Elem()
	if f.info.Types[x.Args[0]].IsType() {
		return "new(" + f.typ(t) + ")"
	}
	text := f.typ(t)
	name := f.l.helper("new "+text, "new", func(name string) string {
		return fmt.Sprintf("func %s(v %s) *%s { return &v }", name, text, text)
	})
	return f.callable(name, nil, helperType(t, types.NewPointer(t))) + "(" + f.conv(x.Args[0], t) + ")"
}

// helperType is the type of a helper that makes one value of another.
func helperType(from, to types.Type) *types.Signature {
	one := func(t types.Type) *types.Tuple { return types.NewTuple(types.NewParam(token.NoPos, nil, "", t)) }
	return types.NewSignatureType(nil, nil, nil, one(from), one(to), false)
}

// clearer is a helper that empties a map or zeroes a slice.
func (f *fn) clearer(t types.Type) string {
	text := f.typ(t)
	return f.l.helper("clear "+text, "clear", func(name string) string {
		if s, ok := t.Underlying().(*types.Slice); ok {
			return fmt.Sprintf("func %s(s %s) { var zero %s; for i := range s { s[i] = zero } }", name, text, f.typ(s.Elem()))
		}
		return fmt.Sprintf("func %s(m %s) { %s.Clear(m) }", name, text, runtimeAlias)
	})
}

// extreme lowers min and max, of floating-point numbers to primitives: Go's own know which zero and that NaN wins, and the
// interpreter loses the sign of a zero that it hands to a function of the lowered program.
func (f *fn) extreme(x *ast.CallExpr, which string) string {
	t := f.typeOf(x)
	text := f.typ(t)
	args := make([]string, len(x.Args))
	for i, a := range x.Args {
		args[i] = f.conv(a, t)
	}
	if b := t.Underlying().(*types.Basic); b.Info()&types.IsFloat != 0 {
		return f.extremeFloat(text, which, args)
	}
	name := f.l.helper(which+" "+text, which, func(name string) string {
		op := map[string]string{"min": "<", "max": ">"}[which]
		return fmt.Sprintf("func %s(a %s, more ...%s) %s { for _, v := range more { if v %s a { a = v } }; return a }", name, text, text, text, op)
	})
	return name + "(" + strings.Join(args, ", ") + ")"
}

func (f *fn) extremeFloat(text, which string, args []string) string {
	primitive := map[string]string{"min": runtimeAlias + ".Min(", "max": runtimeAlias + ".Max("}[which]
	if text == "float64" {
		return primitive + strings.Join(args, ", ") + ")"
	}
	for i, a := range args {
		args[i] = "float64(" + a + ")"
	}
	return text + "(" + primitive + strings.Join(args, ", ") + "))"
}

// receive lowers <-ch as an expression: one value, or two where the second is asked for.
func (f *fn) receive(x *ast.UnaryExpr) string {
	t := f.typeOf(x)
	if tuple, ok := t.(*types.Tuple); ok {
		text := f.typ(tuple.At(0).Type())
		return fmt.Sprintf("func() (%s, bool) { var v %s; ok := %s.Recv(%s, &v); return v, ok }()", text, text, runtimeAlias, f.expr(x.X))
	}
	text := f.typ(t)
	return fmt.Sprintf("func() %s { var v %s; %s.Recv(%s, &v); return v }()", text, text, runtimeAlias, f.expr(x.X))
}
