package eval

import (
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"math/bits"
	"reflect"

	"cancha/kernel/eval/check"
)

// quick is how many turns of loops may be interpreted: some 20 ms of plain statements.
const quick = 10_000

// few is what a function counts for that a library calls now and then: for each tree that has grown, each sample of a drawn line.
const few = 100

// once are the library functions that call a function they are given no more than once.
var once = map[string]bool{
	"time.AfterFunc": true, "context.AfterFunc": true, "sync.OnceFunc": true, "sync.OnceValue": true, "sync.OnceValues": true,
	"(*sync.Once).Do": true, "(*sync.WaitGroup).Go": true, "(*golang.org/x/sync/errgroup.Group).Go": true, "(*golang.org/x/sync/errgroup.Group).TryGo": true,
}

// nowAndThen are those that call it so seldom that the time between is what counts.
var nowAndThen = map[string]bool{
	"cancha/runtime/live.Every": true, "cancha/ml/lwp.Load": true, "gonum.org/v1/plot/plotter.NewFunction": true,
}

// overAll are those that call it for the elements of their first argument: once each, or as often as sorting compares.
var overAll = map[string]func(n int) int{
	"sort.Slice": compared, "sort.SliceStable": compared, "slices.SortFunc": compared, "slices.SortStableFunc": compared,
	"slices.IndexFunc": each, "slices.ContainsFunc": each, "slices.DeleteFunc": each, "slices.MinFunc": each, "slices.MaxFunc": each,
	"slices.IsSortedFunc": each, "slices.CompactFunc": each, "maps.DeleteFunc": each,
}

func each(n int) int { return n }

// compared is an upper bound of what sorting n elements compares.
func compared(n int) int { return 2 * n * (bits.Len(uint(n)) + 1) }

// slow tells whether a cell may run for long: whether its statements, or the cell's own functions that they call, loop or hand a function
// to others that may call it often, in a way that is not plainly short. A cell is interpreted only if what it runs can be counted before it
// runs, and is at most quick iterations.
//
// Loops over known integers, over what has a known length, and up to a known bound can be counted. The length is known of a literal, and of
// a variable that the cell declares with a literal or with make and never assigns again. It is also known of a variable of an earlier cell,
// and of its fields and elements, by what they hold now, unless this cell or a function of a cell that it calls may change that variable.
//
// A function literal counts as its body where it is called in place. It does so too where it is handed to a library function that is known
// to call it once, now and then, or for all elements of what has a known length, and then counts as many times. With any other literal the
// cell is compiled, because nobody knows how often the literal will be called: by a stream, a forest, a later cell's loop.
func (p *Program) slow(c *check.Cell) bool { return p.newSlowness(c).look() }

// slowBeside is slow for a cell that will run beside others, which may change any variable meanwhile: nothing is known of what
// variables hold, and nobody may look at that.
func (p *Program) slowBeside(c *check.Cell) bool {
	s := p.newSlowness(c)
	s.unknown = true
	return s.look()
}

func (p *Program) newSlowness(c *check.Cell) *slowness {
	s := &slowness{p: p, c: c, changed: map[*types.Var]bool{}, inside: map[*types.Var]bool{}, lengths: map[*types.Var]int{}}
	s.bodies, s.within = map[*types.Func]*ast.BlockStmt{}, map[*types.Func]bool{}
	for _, d := range c.Decls {
		if d, ok := d.(*ast.FuncDecl); ok {
			if f, ok := c.Info.Defs[d.Name].(*types.Func); ok {
				s.bodies[f] = d.Body
			}
		}
	}
	return s
}

// look tells whether the cell is slow.
func (s *slowness) look() bool {
	s.survey()
	for _, stmt := range s.c.Body.Body.List {
		s.walk(stmt, 1)
	}
	return s.found
}

// slowness looks for what may take long in a cell's statements.
type slowness struct {
	p       *Program
	c       *check.Cell
	found   bool
	changed map[*types.Var]bool // by the cell, but for where it declares them
	inside  map[*types.Var]bool // of those it changes an element or a field
	lengths map[*types.Var]int  // of those that it declares with one
	unknown bool                // it calls functions of which nobody knows what they change

	bodies map[*types.Func]*ast.BlockStmt // of the cell's functions
	within map[*types.Func]bool           // those whose calls are being looked at
	ran    int                            // calls of them, so far
}

// survey finds what the cell does to variables.
func (s *slowness) survey() {
	ast.Inspect(s.c.Body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			for i, x := range n.Lhs {
				s.assigned(x, n, i)
			}
		case *ast.ValueSpec:
			for i, id := range n.Names {
				if v, ok := s.c.Info.Defs[id].(*types.Var); ok && i < len(n.Values) && len(n.Values) == len(n.Names) {
					s.declared(v, n.Values[i])
				}
			}
		case *ast.RangeStmt:
			s.change(n.Key)
			s.change(n.Value)
		case *ast.IncDecStmt:
			s.change(n.X)
		case *ast.UnaryExpr:
			if n.Op == token.AND {
				s.change(n.X)
			}
		case *ast.CallExpr:
			s.calls(n)
		}
		return true
	})
}

func (s *slowness) assigned(x ast.Expr, n *ast.AssignStmt, i int) {
	if id, ok := x.(*ast.Ident); ok && n.Tok == token.DEFINE {
		if v, ok := s.c.Info.Defs[id].(*types.Var); ok {
			if len(n.Rhs) == len(n.Lhs) {
				s.declared(v, n.Rhs[i])
			}
			return
		}
	}
	s.change(x)
}

// declared notes the length of what a variable is declared with.
func (s *slowness) declared(v *types.Var, x ast.Expr) {
	switch x := ast.Unparen(x).(type) {
	case *ast.CompositeLit:
		s.lengths[v] = literalLength(x, s.c.Info.TypeOf(x))
	case *ast.CallExpr:
		if id, ok := x.Fun.(*ast.Ident); ok && id.Name == "make" && len(x.Args) > 1 {
			if n, ok := s.number(x.Args[1]); ok {
				s.lengths[v] = n
			}
		}
	}
}

// literalLength is the length of a literal's value, -1 where it has none.
func literalLength(x *ast.CompositeLit, t types.Type) int {
	switch t := t.Underlying().(type) {
	case *types.Array:
		return int(t.Len())
	case *types.Slice:
		for _, e := range x.Elts {
			if _, keyed := e.(*ast.KeyValueExpr); keyed {
				return -1 // it may name a large index
			}
		}
		return len(x.Elts)
	case *types.Map:
		return len(x.Elts)
	}
	return -1
}

// change notes that a variable is assigned, or something in it: an element of a slice leaves the slice's length as it is.
func (s *slowness) change(x ast.Expr) {
	within := false
	for {
		switch e := x.(type) {
		case *ast.ParenExpr:
			x = e.X
		case *ast.SelectorExpr:
			x, within = e.X, true
		case *ast.StarExpr:
			x, within = e.X, true
		case *ast.IndexExpr:
			_, isMap := s.c.Info.TypeOf(e.X).Underlying().(*types.Map)
			x, within = e.X, !isMap
		case *ast.Ident:
			if v, ok := s.c.Info.ObjectOf(e).(*types.Var); ok && within {
				s.inside[v] = true
			} else if ok {
				s.changed[v] = true
			}
			return
		default:
			return
		}
	}
}

// calls notes what a call may change: what a function of an earlier cell mentions, and anything where the function is a variable
// or takes the address of its receiver.
func (s *slowness) calls(n *ast.CallExpr) {
	var o types.Object
	switch f := ast.Unparen(n.Fun).(type) {
	case *ast.Ident:
		o = s.c.Info.Uses[f]
	case *ast.SelectorExpr:
		o = s.c.Info.Uses[f.Sel]
		if sel := s.c.Info.Selections[f]; sel != nil && sel.Kind() == types.MethodVal {
			if _, pointer := sel.Obj().(*types.Func).Signature().Recv().Type().(*types.Pointer); pointer {
				s.change(f.X)
			}
		}
	}
	switch o := o.(type) {
	case *types.Var:
		s.unknown = true
	case *types.Func:
		if o.Pkg() == nil || o.Pkg().Path() != "main" {
			return
		}
		variables, ok := s.p.native.Variables(o)
		s.unknown = s.unknown || !ok
		for _, v := range variables {
			s.changed[v] = true
		}
	}
}

// walk looks at a node that is run turns times.
func (s *slowness) walk(n ast.Node, turns int) {
	ast.Inspect(n, func(n ast.Node) bool {
		if s.found {
			return false
		}
		switch n := n.(type) {
		case *ast.ForStmt:
			s.loop(n.Body, s.counted(n), turns)
			return false
		case *ast.RangeStmt:
			s.loop(n.Body, s.ranged(n.X), turns)
			return false
		case *ast.CallExpr:
			return s.call(n, turns)
		case *ast.KeyValueExpr: // forest.Config{Progress: func…}
			if lit, ok := n.Value.(*ast.FuncLit); ok && s.isProgress(n.Key) {
				s.loop(lit.Body, few, turns)
				return false
			}
		case *ast.FuncLit:
			s.found = true
		case *ast.Ident: // a function of the cell that is not called there, so nobody knows how often it will be
			if f, ok := s.c.Info.Uses[n].(*types.Func); ok && s.bodies[f.Origin()] != nil {
				s.found = true
			}
		}
		return true
	})
}

// call looks at the literals that a call is given; others tells whether the rest is to be looked at.
func (s *slowness) call(n *ast.CallExpr, turns int) (others bool) {
	literal := func(body *ast.BlockStmt, count int) {
		s.loop(body, count, turns)
	}
	if lit, ok := ast.Unparen(n.Fun).(*ast.FuncLit); ok {
		literal(lit.Body, 1)
	} else if f := check.Callee(s.c.Info, n); f != nil && s.bodies[f] != nil {
		s.own(f, turns)
	} else {
		s.walk(n.Fun, turns)
	}
	for _, a := range n.Args {
		if lit, ok := ast.Unparen(a).(*ast.FuncLit); ok {
			literal(lit.Body, s.called(n))
			continue
		}
		s.walk(a, turns)
	}
	return false
}

// own looks at a function of the cell that is called turns times. One that calls itself is not plain.
func (s *slowness) own(f *types.Func, turns int) {
	if s.ran += turns; s.within[f] || s.ran > quick {
		s.found = true
		return
	}
	s.within[f] = true
	s.walk(s.bodies[f], turns)
	delete(s.within, f)
}

// called is how often a call's function calls what it is given, -1 where nobody knows.
func (s *slowness) called(n *ast.CallExpr) int {
	f := check.Callee(s.c.Info, n)
	if f == nil {
		return -1
	}
	name := f.Origin().FullName()
	switch count := overAll[name]; {
	case once[name]:
		return 1
	case nowAndThen[name]:
		return few
	case count != nil && len(n.Args) > 0:
		if length := s.ranged(n.Args[0]); length >= 0 {
			return count(length)
		}
	}
	return -1
}

// isProgress reports whether key is a field of our library that is called with how far something is.
func (s *slowness) isProgress(key ast.Expr) bool {
	id, ok := key.(*ast.Ident)
	if !ok {
		return false
	}
	v, ok := s.c.Info.Uses[id].(*types.Var)
	return ok && v.IsField() && v.Name() == "Progress" && v.Pkg() != nil && v.Pkg().Path() == "cancha/ml/forest"
}

func (s *slowness) loop(body *ast.BlockStmt, count, turns int) {
	if count < 0 || count*turns > quick {
		s.found = true
		return
	}
	s.walk(body, max(count, 1)*turns)
}

// counted is how often a loop like "for i := 0; i < 10; i++" runs, -1 where that is not plain.
func (s *slowness) counted(n *ast.ForStmt) int {
	cond, ok := n.Cond.(*ast.BinaryExpr)
	if !ok {
		return -1
	}
	init, ok := n.Init.(*ast.AssignStmt)
	if !ok || len(init.Rhs) != 1 {
		return -1
	}
	post, ok := n.Post.(*ast.IncDecStmt)
	if !ok {
		return -1
	}
	from, ok1 := s.number(init.Rhs[0])
	to, ok2 := s.number(cond.Y)
	up := post.Tok == token.INC && (cond.Op == token.LSS || cond.Op == token.LEQ)
	down := post.Tok == token.DEC && (cond.Op == token.GTR || cond.Op == token.GEQ)
	if !ok1 || !ok2 || !up && !down {
		return -1
	}
	return max(to-from, from-to) + 1
}

// ranged is how many elements a range runs over, -1 where that is not known yet.
func (s *slowness) ranged(x ast.Expr) int {
	x = ast.Unparen(x)
	if n, ok := s.number(x); ok {
		return n
	}
	if tv := s.c.Info.Types[x]; tv.Value != nil {
		return len(tv.Value.ExactString())
	}
	if lit, ok := x.(*ast.CompositeLit); ok {
		return literalLength(lit, s.c.Info.TypeOf(lit))
	}
	if id, ok := x.(*ast.Ident); ok {
		if v, ok := s.c.Info.Uses[id].(*types.Var); ok && !s.changed[v] {
			if n, ok := s.lengths[v]; ok {
				return n
			}
		}
	}
	switch v := s.value(x, false); v.Kind() {
	case reflect.Slice, reflect.Array, reflect.Map, reflect.String:
		return v.Len()
	}
	return -1
}

// value is what an expression of earlier cells' variables stands for now, and will when it is run; the zero Value where that is not
// known. Within tells that a part of it is asked for.
func (s *slowness) value(x ast.Expr, within bool) reflect.Value {
	switch x := ast.Unparen(x).(type) {
	case *ast.Ident:
		v, ok := s.c.Info.Uses[x].(*types.Var)
		if !ok || s.unknown || s.changed[v] || within && s.inside[v] || s.c.Local[v] != nil {
			return reflect.Value{}
		}
		return s.p.variable(s.p.lowerer.Place(v))
	case *ast.SelectorExpr:
		sel := s.c.Info.Selections[x]
		if sel == nil || sel.Kind() != types.FieldVal {
			return reflect.Value{}
		}
		v := s.value(x.X, true)
		for _, i := range sel.Index() {
			if v = pointed(v); v.Kind() != reflect.Struct || i >= v.NumField() {
				return reflect.Value{}
			}
			v = v.Field(i)
		}
		return v
	case *ast.IndexExpr:
		i, ok := s.number(x.Index)
		if v := pointed(s.value(x.X, true)); ok && (v.Kind() == reflect.Slice || v.Kind() == reflect.Array) && i >= 0 && i < v.Len() {
			return v.Index(i)
		}
	}
	return reflect.Value{}
}

func pointed(v reflect.Value) reflect.Value {
	if v.Kind() == reflect.Pointer {
		return v.Elem()
	}
	return v
}

// variable is a variable of the session, whoever keeps it.
func (p *Program) variable(name string) reflect.Value {
	if name == "" {
		return reflect.Value{}
	}
	if v := p.back.Variable(name); v.IsValid() {
		return v
	}
	if at, ok := p.native.places[name]; ok {
		return at.Elem()
	}
	return reflect.Value{}
}

// number is a whole number that is known before the cell runs, as far as it is small.
func (s *slowness) number(x ast.Expr) (n int, ok bool) {
	x = ast.Unparen(x)
	tv := s.c.Info.Types[x]
	if tv.Type == nil {
		return 0, false
	}
	b, ok := types.Unalias(tv.Type).Underlying().(*types.Basic)
	switch {
	case !ok || b.Info()&types.IsInteger == 0:
		return 0, false
	case tv.Value != nil:
		n, ok := constant.Int64Val(tv.Value)
		return int(max(-quick, min(n, quick+1))), ok
	}
	if call, ok := x.(*ast.CallExpr); ok {
		if id, ok := call.Fun.(*ast.Ident); ok && id.Name == "len" && len(call.Args) == 1 {
			n := s.ranged(call.Args[0])
			return n, n >= 0
		}
		return 0, false
	}
	switch v := s.value(x, false); {
	case v.CanInt():
		return int(max(-quick, min(v.Int(), quick+1))), true
	case v.CanUint():
		return int(min(v.Uint(), quick+1)), true
	}
	return 0, false
}
