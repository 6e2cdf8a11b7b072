package native

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"

	"cancha/kernel/eval/check"
)

// What takes a short time, so that a loop of it need not look for interrupts in each turn, see pieces.go.

// tight tells what takes a short time however large the values are that it works with: it neither loops nor waits, and calls only
// what is short, or looks for interrupts itself.
func (w *writer) tight(n ast.Node) bool { return every(n, w.short) }

// tightHead tells a for statement whose condition and post statement are tight.
func (w *writer) tightHead(n *ast.ForStmt) bool {
	return (n.Cond == nil || w.tight(n.Cond)) && (n.Post == nil || w.tight(n.Post))
}

// bounded reports whether a body is tight but for loops with tight bodies that not every turn comes to. These look for interrupts themselves,
// and a piece of a loop around them takes milliseconds. Where each turn has such a loop the look in it counts for nothing.
func (w *writer) bounded(body *ast.BlockStmt) bool {
	if !w.tight(body) && loopsEachTurn(body) {
		return false
	}
	return every(body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ForStmt:
			return w.tight(n.Body) && w.tightHead(n)
		case *ast.RangeStmt:
			switch w.info.TypeOf(n.X).Underlying().(type) {
			case *types.Slice, *types.Array, *types.Basic, *types.Map:
				return w.tight(n.Body)
			}
			return false
		}
		return w.short(n)
	})
}

// loopsEachTurn reports whether a body comes to a loop of its own list, with nothing before it that may leave the turn.
func loopsEachTurn(body *ast.BlockStmt) bool {
	for _, s := range body.List {
		switch s.(type) {
		case *ast.ForStmt, *ast.RangeStmt:
			return true
		case *ast.IfStmt, *ast.SwitchStmt, *ast.BranchStmt:
			return false
		}
	}
	return false
}

// every tells whether a node and all within it are what is asked for; nil stands for the end of each.
func every(n ast.Node, is func(ast.Node) bool) bool {
	all := true
	ast.Inspect(n, func(n ast.Node) bool {
		all = all && is(n)
		return all
	})
	return all
}

// short tells whether a node is so in itself.
func (w *writer) short(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.FuncLit, *ast.ForStmt, *ast.RangeStmt, *ast.SelectStmt, *ast.SendStmt, *ast.GoStmt, *ast.DeferStmt, *ast.LabeledStmt:
		return false
	case *ast.BranchStmt:
		return n.Tok != token.GOTO
	case *ast.UnaryExpr:
		return n.Op != token.ARROW
	case *ast.AssignStmt:
		for _, x := range n.Rhs {
			if !small(w.info.TypeOf(x), 0) {
				return false
			}
		}
		return n.Tok != token.ADD_ASSIGN || !isString(w.info.TypeOf(n.Lhs[0]))
	case *ast.ValueSpec:
		for _, id := range n.Names {
			if v := w.info.Defs[id]; v != nil && !small(v.Type(), 0) {
				return false
			}
		}
	case *ast.CompositeLit:
		return small(w.info.TypeOf(n), 0) && len(n.Elts) <= fewElements
	case *ast.BinaryExpr:
		return small(w.info.TypeOf(n.X), 0) && (n.Op != token.ADD || !isString(w.info.TypeOf(n)) || w.info.Types[n].Value != nil)
	case *ast.CallExpr:
		return w.shortCall(n)
	}
	return true
}

// shortPackages have only functions that are short.
var shortPackages = map[string]bool{"math": true, "math/bits": true, "math/cmplx": true}

// shortBuiltins are the builtin functions that are short; append is where it takes single elements, on the average.
var shortBuiltins = map[string]bool{
	"append": true, "cap": true, "complex": true, "delete": true, "imag": true, "len": true, "max": true, "min": true, "panic": true, "real": true,
}

// shortFuncs are functions and methods of other packages that are short, as append is: what they write to grows now and then.
var shortFuncs = map[string]bool{
	"(*strings.Builder).Len": true, "(*strings.Builder).WriteByte": true, "(*strings.Builder).WriteRune": true,
	"(*bytes.Buffer).Len": true, "(*bytes.Buffer).ReadByte": true, "(*bytes.Buffer).WriteByte": true, "(*bytes.Buffer).WriteRune": true,
	"unicode.IsDigit": true, "unicode.IsLetter": true, "unicode.IsLower": true, "unicode.IsPunct": true, "unicode.IsSpace": true, "unicode.IsUpper": true,
	"unicode.ToLower": true, "unicode.ToUpper": true,
}

// shortText are those that are short where the text which they write is a constant.
var shortText = map[string]bool{"(*strings.Builder).WriteString": true, "(*bytes.Buffer).WriteString": true}

func (w *writer) shortCall(n *ast.CallExpr) bool {
	if w.info.Types[n.Fun].IsType() {
		return len(n.Args) == 1 && isNumber(w.info.TypeOf(n)) && isNumber(w.info.TypeOf(n.Args[0]))
	}
	if id, ok := ast.Unparen(n.Fun).(*ast.Ident); ok {
		if b, ok := w.info.Uses[id].(*types.Builtin); ok {
			return shortBuiltins[b.Name()] && !n.Ellipsis.IsValid() && (b.Name() != "append" || w.smallArgs(n))
		}
	}
	f := check.Callee(w.info, n)
	if f == nil || f.Pkg() == nil {
		return false
	}
	switch name := f.FullName(); {
	case shortPackages[f.Pkg().Path()], shortFuncs[name]:
		return true
	case shortText[name]:
		return w.info.Types[n.Args[0]].Value != nil
	}
	return w.smallArgs(n) && w.looks(f.Origin()) || f.Pkg().Path() == "main" && w.closed(f)
}

func (w *writer) smallArgs(n *ast.CallExpr) bool {
	return !slices.ContainsFunc(n.Args, func(a ast.Expr) bool { return !small(w.info.TypeOf(a), 0) })
}

// looks reports whether f is a function of this cell that looks for interrupts at its beginning, or is short.
func (w *writer) looks(f *types.Func) bool {
	for _, d := range w.source.Decls {
		if d, ok := d.(*ast.FuncDecl); ok && w.info.Defs[d.Name] == f && d.Body != nil {
			return asks(d.Body, f) || w.tight(d.Body)
		}
	}
	return false
}

// fewElements bounds what is small.
const fewElements = 64

// small reports whether values of t are copied and compared in no time. Strings are: comparing two takes microseconds at most, if they are
// equal and very long. What has no type, a blank variable, is small too.
func small(t types.Type, depth int) bool {
	if t == nil {
		return true
	}
	if _, parameter := types.Unalias(t).(*types.TypeParam); parameter || depth > 3 {
		return false
	}
	switch t := t.Underlying().(type) {
	case *types.Array:
		return t.Len() <= fewElements && small(t.Elem(), depth+1)
	case *types.Struct:
		for v := range t.Fields() {
			if !small(v.Type(), depth+1) {
				return false
			}
		}
		return t.NumFields() <= fewElements
	case *types.Tuple:
		for v := range t.Variables() {
			if !small(v.Type(), depth+1) {
				return false
			}
		}
	}
	return true
}

func isString(t types.Type) bool {
	if t == nil {
		return false
	}
	b, ok := t.Underlying().(*types.Basic)
	return ok && b.Info()&types.IsString != 0
}
