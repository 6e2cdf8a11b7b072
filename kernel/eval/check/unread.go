package check

import (
	"go/ast"
	"go/token"
	"go/types"
	"regexp"
	"slices"
)

// Go refuses a function that sets a variable and never uses it. A cell may do so, since a later one may use it; so an error in it is
// easily missed. What follows finds the statements that leave an error where nothing looks at it, by the cell alone.

// unread finds the error variables of the session that a statement sets and that nothing behind it in the cell reads: not before they
// are set again, and not by its end. A variable that a function or a pointer may read is left out.
type unread struct {
	b      *builder
	nodes  []ast.Node // the statements, and declarations that were moved
	shared map[*types.Var]bool
	jumps  bool
	known  map[ast.Node][]*ast.Ident // what reads has found
}

// findUnread fills the cell's Unread.
func (b *builder) findUnread() {
	c := b.cell
	u := &unread{b: b, shared: map[*types.Var]bool{}, known: map[ast.Node][]*ast.Ident{}}
	for _, stmt := range c.Body.Body.List {
		var n ast.Node = stmt
		if decl := b.placeholders[stmt]; decl != nil {
			n = decl
		}
		u.nodes = append(u.nodes, n)
	}
	u.survey()
	for i, n := range u.nodes {
		if isPlain(n) {
			u.leaves(c.Body.Body.List[i], u.sets(n), i)
			continue
		}
		for _, inner := range assignments(n) {
			u.leaves(inner, u.sets(inner), i)
		}
	}
}

// leaves notes the variables that a statement sets, which is the i-th or within it, and that nothing reads.
func (u *unread) leaves(stmt ast.Stmt, ids []*ast.Ident, i int) {
	unread := u.b.cell.Unread
	for _, id := range ids {
		if v := u.variable(id); v != nil && !u.shared[v] && !u.read(v, i) {
			unread[stmt] = append(unread[stmt], id)
		}
	}
}

// assignments are those in the blocks of a statement, function literals left out.
func assignments(n ast.Node) []ast.Stmt {
	var found []ast.Stmt
	take := func(list []ast.Stmt) {
		for _, s := range list {
			if a, ok := s.(*ast.AssignStmt); ok && a.Tok == token.ASSIGN {
				found = append(found, a)
			}
		}
	}
	ast.Inspect(n, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			return false
		case *ast.BlockStmt:
			take(n.List)
		case *ast.CaseClause:
			take(n.Body)
		case *ast.CommClause:
			take(n.Body)
		}
		return true
	})
	return found
}

// survey notes what may read variables at any time: functions, pointers, and what a goto runs again.
func (u *unread) survey() {
	inside := func(n ast.Node) {
		for _, id := range u.reads(n) {
			if v := u.variable(id); v != nil {
				u.shared[v] = true
				u.b.cell.readBy = append(u.b.cell.readBy, v.Name()) // what reads it may outlive the cell
			}
		}
	}
	visit := func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			inside(n.Body)
		case *ast.UnaryExpr:
			if n.Op == token.AND {
				inside(n.X)
			}
		case *ast.BranchStmt:
			u.jumps = u.jumps || n.Tok == token.GOTO
		}
		return true
	}
	for _, n := range u.nodes {
		ast.Inspect(n, visit)
	}
	for _, d := range u.b.cell.Decls {
		f, ok := d.(*ast.FuncDecl)
		if ok && f.Body != nil {
			inside(f.Body)
		}
	}
}

// variable is the error variable of the session that a name means, nil for anything else.
func (u *unread) variable(id *ast.Ident) *types.Var {
	c := u.b.cell
	v, ok := c.Info.ObjectOf(id).(*types.Var)
	if !ok || v.IsField() || v.Name() == "_" || !types.Identical(v.Type(), types.Universe.Lookup("error").Type()) {
		return nil
	}
	_, local := c.Local[v]
	if !local && (v.Pkg() == nil || v.Parent() != v.Pkg().Scope() || v.Pkg().Path() != "main") && u.b.objects[v.Name()] != types.Object(v) {
		return nil
	}
	if u.b.readErrors[v.Name()] {
		return nil
	}
	return v
}

// read tells whether something looks at what the i-th statement has left in a variable.
func (u *unread) read(v *types.Var, i int) bool {
	if u.jumps {
		return slices.ContainsFunc(u.nodes, func(n ast.Node) bool { return u.readsIn(n, v) })
	}
	if !isPlain(u.nodes[i]) && u.readsIn(u.nodes[i], v) {
		return true
	}
	for _, n := range u.nodes[i+1:] {
		if u.readsIn(n, v) {
			return true
		}
		if isPlain(n) && slices.ContainsFunc(u.sets(n), func(id *ast.Ident) bool { return u.variable(id) == v }) {
			return false
		}
	}
	return false
}

func (u *unread) readsIn(n ast.Node, v *types.Var) bool {
	return slices.ContainsFunc(u.reads(n), func(id *ast.Ident) bool { return u.variable(id) == v })
}

// isPlain reports whether n is an assignment or a declaration, which sets its variables whenever it runs.
func isPlain(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.AssignStmt, *ast.GenDecl:
		return true
	case *ast.DeclStmt:
		return true
	case *ast.LabeledStmt:
		return isPlain(n.Stmt)
	}
	return false
}

// reads are the names that a node mentions otherwise than to assign to them.
func (u *unread) reads(n ast.Node) []*ast.Ident {
	if found, ok := u.known[n]; ok {
		return found
	}
	assigned := map[*ast.Ident]bool{}
	var found []*ast.Ident
	defer func() { u.known[n] = found }()
	ast.Inspect(n, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			for _, x := range n.Lhs {
				if id, ok := ast.Unparen(x).(*ast.Ident); ok && (n.Tok == token.ASSIGN || n.Tok == token.DEFINE) {
					assigned[id] = true
				}
			}
		case *ast.RangeStmt:
			for _, x := range []ast.Expr{n.Key, n.Value} {
				if id, ok := x.(*ast.Ident); ok {
					assigned[id] = true
				}
			}
		case *ast.Ident:
			if u.b.cell.Info.Uses[n] != nil && !assigned[n] {
				found = append(found, n)
			}
		}
		return true
	})
	return found
}

// sets are the names that a statement gives a value, in function literals left out. An error that a declaration makes itself is not
// one that anybody misses.
func (u *unread) sets(n ast.Node) []*ast.Ident {
	var found []*ast.Ident
	add := func(x ast.Expr) {
		if id, ok := ast.Unparen(x).(*ast.Ident); ok {
			found = append(found, id)
		}
	}
	ast.Inspect(n, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			return false
		case *ast.AssignStmt:
			for i, x := range n.Lhs {
				if len(n.Rhs) != len(n.Lhs) || !u.isSentinel(x, n.Rhs[i], false) {
					add(x)
				}
			}
		case *ast.ValueSpec:
			for i, id := range n.Names {
				if len(n.Values) > 0 && (len(n.Values) != len(n.Names) || !u.isSentinel(id, n.Values[i], true)) {
					add(id)
				}
			}
		}
		return true
	})
	return found
}

var sentinelName = regexp.MustCompile(`^[eE]rr\p{Lu}`)

// isSentinel reports whether a declaration is one such as var ErrClosed = errors.New("closed"), of an error to compare others with.
func (u *unread) isSentinel(x, value ast.Expr, declared bool) bool {
	call, ok := ast.Unparen(value).(*ast.CallExpr)
	if !ok {
		return false
	}
	f := Callee(u.b.cell.Info, call)
	if f == nil || f.FullName() != "errors.New" && f.FullName() != "fmt.Errorf" {
		return false
	}
	id, ok := x.(*ast.Ident)
	return ok && (declared || sentinelName.MatchString(id.Name))
}

// LeaveToLater takes out of Unread what later pieces of the cell mention.
func (c *Cell) LeaveToLater(mentioned map[string]bool) {
	for stmt, ids := range c.Unread {
		c.Unread[stmt] = slices.DeleteFunc(slices.Clone(ids), func(id *ast.Ident) bool { return mentioned[id.Name] })
	}
}

// IsError reports whether id declares a variable of type error.
func IsError(info *types.Info, id *ast.Ident) bool {
	v, ok := info.Defs[id].(*types.Var)
	return ok && types.Identical(v.Type(), types.Universe.Lookup("error").Type())
}
