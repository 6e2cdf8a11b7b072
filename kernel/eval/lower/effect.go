package lower

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
)

// changes tells whether a call may change a variable: one of the session or of a package, or a local one that a function literal
// assigns to or whose address is taken.
func (f *fn) changes(id *ast.Ident) bool {
	v, ok := f.object(id).(*types.Var)
	if !ok {
		return false
	}
	_, session := f.l.names[v]
	return session || v.Pkg() == nil || v.Parent() == v.Pkg().Scope() || f.shared == nil || f.shared[v]
}

// isEffect reports whether x is a call that may change variables.
func (f *fn) isEffect(x *ast.CallExpr) bool {
	if id, ok := ast.Unparen(x.Fun).(*ast.Ident); ok && f.info.Types[x.Fun].IsBuiltin() {
		return slices.Contains([]string{"append", "copy", "recover", "clear", "delete"}, id.Name)
	}
	return !f.isPure(x)
}

// pure are packages whose functions change nothing of the cells' unless they are given a function, a pointer or an
// interface.
var pure = []string{"math", "math/bits", "math/cmplx", "math/rand", "math/rand/v2", "strconv", "strings", "time", "unicode", "unicode/utf8"}

func (f *fn) isPure(x *ast.CallExpr) bool {
	o := f.callee(x)
	if o == nil || o.Pkg() == nil || o.Signature().Recv() != nil || !slices.Contains(pure, o.Pkg().Path()) {
		return false
	}
	for v := range o.Signature().Params().Variables() {
		t := v.Type()
		if s, ok := t.(*types.Slice); ok {
			t = s.Elem()
		}
		if !isBasic(t) {
			return false
		}
	}
	return true
}

// hasEffect tells whether evaluating x makes a call that may change variables, or receives.
func (f *fn) hasEffect(x ast.Expr) bool {
	found := false
	ast.Inspect(x, func(n ast.Node) bool {
		if e, ok := n.(ast.Expr); ok && f.held[e] != "" {
			return false
		}
		switch n := n.(type) {
		case *ast.FuncLit:
			return false
		case *ast.CallExpr:
			found = found || !f.info.Types[n.Fun].IsType() && f.isEffect(n)
		case *ast.UnaryExpr:
			found = found || n.Op == token.ARROW
		}
		return !found
	})
	return found
}

func isBasic(t types.Type) bool {
	_, ok := t.Underlying().(*types.Basic)
	return ok
}

func isSlice(t types.Type) bool {
	_, ok := t.Underlying().(*types.Slice)
	return ok
}

// isDirect reports whether values of t are single pointers, which an interface holds as they are.
func isDirect(t types.Type) bool {
	switch u := t.Underlying().(type) {
	case *types.Pointer, *types.Map, *types.Chan, *types.Signature:
		return true
	case *types.Basic:
		return u.Kind() == types.UnsafePointer
	case *types.Struct:
		return u.NumFields() == 1 && isDirect(u.Field(0).Type())
	case *types.Array:
		return u.Len() == 1 && isDirect(u.Elem())
	}
	return false
}

// boxedByAddress reports whether the compiler hands values of t to the runtime by their address to make an interface of them: see
// dataWordFuncName in cmd/compile/internal/walk.
func boxedByAddress(t types.Type) bool {
	for {
		switch u := t.Underlying().(type) {
		case *types.Basic:
			return u.Info()&types.IsUntyped == 0 && (u.Kind() == types.Complex128 || layout.Sizeof(u) == 1) || u.Kind() == types.UntypedBool
		case *types.Slice, *types.Interface:
			return false
		case *types.Struct:
			if u.NumFields() != 1 {
				return !wordSized(t)
			}
			t = u.Field(0).Type()
		case *types.Array:
			if u.Len() != 1 {
				return !wordSized(t)
			}
			t = u.Elem()
		default:
			return true
		}
	}
}

// wordSized reports whether t is a struct or array without pointers that is as large, and as aligned, as a number.
func wordSized(t types.Type) bool {
	n := layout.Sizeof(t)
	return (n == 2 || n == 4 || n == 8) && layout.Alignof(t) == n && !holdsPointers(t)
}

func holdsPointers(t types.Type) bool {
	switch u := t.Underlying().(type) {
	case *types.Basic:
		return u.Info()&types.IsString != 0 || u.Kind() == types.UnsafePointer
	case *types.Struct:
		for v := range u.Fields() {
			if holdsPointers(v.Type()) {
				return true
			}
		}
		return false
	case *types.Array:
		return u.Len() > 0 && holdsPointers(u.Elem())
	}
	return true
}

// byAddress reports whether the compiler hands keys to the runtime by their address: see mapfast in cmd/compile/internal/walk.
func byAddress(key, elem types.Type) bool {
	if layout.Sizeof(elem) > 128 {
		return true
	}
	switch u := key.Underlying().(type) {
	case *types.Basic:
		return u.Info()&types.IsString == 0 && (u.Info()&types.IsInteger == 0 || layout.Sizeof(u) < 4)
	case *types.Pointer, *types.Chan:
		return false
	}
	return true
}

// sharedVars are the variables in a body that calls may change: that a function literal assigns to which they are not of, or
// whose address is taken.
func sharedVars(info *types.Info, body ast.Node) map[types.Object]bool {
	s := sharing{info: info, vars: map[types.Object]bool{}}
	ast.Inspect(body, s.visit)
	return s.vars
}

type sharing struct {
	info *types.Info
	vars map[types.Object]bool
	lits []*ast.FuncLit // that the node is in
}

func (s *sharing) visit(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.FuncLit:
		inner := sharing{s.info, s.vars, append(slices.Clone(s.lits), n)}
		ast.Inspect(n.Body, inner.visit)
		return false
	case *ast.AssignStmt:
		for _, x := range n.Lhs {
			s.assigned(x)
		}
	case *ast.IncDecStmt:
		s.assigned(n.X)
	case *ast.RangeStmt:
		s.assigned(n.Key)
		s.assigned(n.Value)
	case *ast.UnaryExpr:
		if n.Op == token.AND {
			s.share(n.X)
		}
	case *ast.SliceExpr:
		s.share(n.X)
	case *ast.SelectorExpr:
		if sel := s.info.Selections[n]; sel != nil && sel.Kind() == types.MethodVal {
			s.share(n.X)
		}
	}
	return true
}

// assigned shares a variable that a literal around the assignment does not declare.
func (s *sharing) assigned(x ast.Expr) {
	v := s.variable(x)
	if v == nil || len(s.lits) == 0 {
		return
	}
	if lit := s.lits[len(s.lits)-1]; v.Pos() < lit.Pos() || v.Pos() > lit.End() {
		s.vars[v] = true
	}
}

func (s *sharing) share(x ast.Expr) {
	if v := s.variable(x); v != nil {
		s.vars[v] = true
	}
}

// variable is the one that x is or is a part of, nil where x is behind a pointer.
func (s *sharing) variable(x ast.Expr) *types.Var {
	switch x := x.(type) {
	case *ast.ParenExpr:
		return s.variable(x.X)
	case *ast.Ident:
		v, _ := s.info.ObjectOf(x).(*types.Var)
		return v
	case *ast.SelectorExpr:
		return s.variable(x.X)
	case *ast.IndexExpr:
		return s.variable(x.X)
	}
	return nil
}
