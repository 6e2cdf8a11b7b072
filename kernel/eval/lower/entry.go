package lower

import (
	"go/ast"
	"go/types"
	"strings"
)

// entry lowers the statements of the cell into the function that runs it.
func (l *Lowerer) entry(serial int64) (shows bool, name string) {
	c := l.cell
	name = l.unique("cell")
	body := &fn{l: l, info: c.Info, pkg: c.Pkg, names: map[types.Object]string{}, outer: c.Info.Scopes[c.Body.Type], statements: true, shared: sharedVars(c.Info, c.Body)}
	body.lowered = name
	if !l.cfg.Unmarked {
		body.marker = "*" + LineVariable
	}
	list := c.Body.Body.List
	run := func() {
		inits := l.inits()
		initialise := func() { // after the variables in front, as in a program
			for _, init := range inits {
				body.line("%s()", init)
			}
			inits = nil
		}
		for i, stmt := range list {
			if _, isVar := stmt.(*ast.DeclStmt); !isVar && c.Moved[stmt] == nil {
				initialise()
			}
			l.at = stmt.Pos()
			body.mark(stmt, true)
			if x := c.Shown(); x != nil && i == len(list)-1 {
				shows = true
				body.show(serial, x)
				continue
			}
			body.cellStmt(stmt)
			if n := c.Ran(stmt); n > 0 {
				body.line("%s.Ran(%d, %d)", runtimeAlias, serial, n)
			}
			body.unread(stmt)
		}
		initialise()
		if c.Main != nil {
			body.line("%s()", l.function(c.Main, nil, c.Main.Pos()))
		}
	}
	l.out.body = body.body("", nil, c.Body.Body, run)
	l.out.names[name] = Function{Cell: c.Name}
	return shows, name
}

// inits lowers the functions called init.
func (l *Lowerer) inits() []string {
	var names []string
	for _, d := range l.cell.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok || f.Recv != nil || f.Name.Name != "init" {
			continue
		}
		name := l.unique("init")
		l.emit(name, "init", &decl{fn: f, info: l.cell.Info, pkg: l.cell.Pkg}, nil)
		names = append(names, name)
	}
	return names
}

// cellStmt lowers a statement of the cell's outermost block, which may be the place of a moved variable.
func (f *fn) cellStmt(stmt ast.Stmt) {
	m := f.l.cell.Moved[stmt]
	if m == nil {
		f.stmt(stmt, "")
		return
	}
	for _, v := range m.Vars {
		f.set(f.variable(v, v.Pos()), f.zero(v.Type()), v.Type())
	}
	for _, init := range m.Inits {
		f.initialise(init)
	}
}

func (f *fn) initialise(init *types.Initializer) {
	f.inOrderOf(init.Rhs)
	if len(init.Lhs) == 1 {
		v := init.Lhs[0]
		t := target{text: f.variable(v, v.Pos()), typ: v.Type()}
		if v.Name() == "_" {
			t = f.blank(v.Type())
		}
		f.store([]target{t}, []string{f.conv(init.Rhs, v.Type())})
		return
	}
	lhs := make([]target, len(init.Lhs))
	for i, v := range init.Lhs {
		if v.Name() != "_" {
			lhs[i] = target{text: f.variable(v, v.Pos()), typ: v.Type()}
		}
	}
	f.assignTuple(lhs, init.Rhs)
}

func (f *fn) show(serial int64, x ast.Expr) {
	if values := f.l.cell.Values(x); values != nil {
		uses, texts := make([]operandUse, len(values)), make([]string, len(values))
		for i, v := range values {
			uses[i] = operandUse{x: v, to: anyType}
		}
		f.inOrder(uses...)
		for i, v := range values {
			texts[i] = f.conv(v, anyType)
		}
		f.line("%s.Show(%d, %s)", runtimeAlias, serial, strings.Join(texts, ", "))
		return
	}
	f.inOrder(operandUse{x: x, to: anyType})
	t := f.typeOf(x)
	if tuple, ok := t.(*types.Tuple); ok {
		temps := f.temps(tuple.Len(), "v")
		f.line("%s := %s", strings.Join(temps, ", "), f.expr(x))
		args := make([]string, len(temps))
		for i, name := range temps {
			args[i] = f.convText(name, tuple.At(i).Type(), anyType, x.Pos())
		}
		f.line("%s.Show(%d, %s)", runtimeAlias, serial, strings.Join(args, ", "))
		return
	}
	f.line("%s.Show(%d, %s)", runtimeAlias, serial, f.conv(x, anyType))
}

var anyType = types.Universe.Lookup("any").Type()
var errorType = types.Universe.Lookup("error").Type()
