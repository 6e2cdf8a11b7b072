package check

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"slices"
	"strings"
)

// bodyName is the function that holds a cell's statements. No cell can spell it by accident: the letter is Canadian
// syllabics.
const bodyName = "cellᐧbody"

const (
	declPrefix = "package main;"
	bodyPrefix = "package main;func " + bodyName + "(){"
)

// GoVersion is the language version that cells are checked against.
const GoVersion = "go1.26"

// Cell is a cell that go/types has accepted, not yet part of the scope.
type Cell struct {
	Name string // "cell 3"
	Pkg  *types.Package
	Info *types.Info

	Decls   []ast.Decl                // package level: constants, types, functions and moved variables, in order
	Body    *ast.FuncDecl             // the statements
	Moved   map[ast.Stmt]*Moved       // placeholders of variables that were moved from Body to Decls
	Methods []Method                  // methods of types of earlier cells
	Dropped []Method                  // methods that such types have no more, or with another signature; Decl is nil
	Objects []types.Object            // what the cell declares, in order; local variables of Body as variables of the package
	Local   map[*types.Var]*types.Var // variable of Body's outermost block → its entry in Objects
	Main    *types.Func               // func main, nil without one
	Unused  map[token.Pos]bool        // where variables are declared that nothing uses, which a cell may
	Unread  map[ast.Stmt][]*ast.Ident // statement of Body → error variables that it sets and nothing behind it looks at

	Blank   []string // paths imported for what their initialization does
	Remarks []string // what go vet says of its calls that print

	Waits []*Waiting // declarations of the cell that are not among Decls, since they wait for names of later cells
	Woken []*Waiting // declarations of earlier cells that have waited, and are among Decls

	found   []finding                     // about declarations that wait
	readBy  []string                      // error variables of the session that functions, literals and pointers of the cell may read
	kept    []*types.TypeName             // types of earlier cells that the cell declares again as they are
	again   map[*types.TypeName]token.Pos // where it does
	beside  map[string]map[string]bool    // type → methods that the cell declares for it
	methods map[*types.Func]*methodSource
	leaving *bool // what mayLeave has found

	imported map[string]string
	dots     []string
	text     *text
	scope    *Scope
}

// Moved stands for a variable declaration at its place among the statements.
type Moved struct {
	Vars  []*types.Var         // to be set to their zero values
	Inits []*types.Initializer // to be run, in order
}

// Method is a method that a cell adds to a type of an earlier cell, or defines anew with the same signature. Decl is a
// function whose first parameter is the receiver.
type Method struct {
	Type *types.Named
	Func *types.Func
	Decl *ast.FuncDecl
}

// Position returns the line and column, from 1, of a node of this cell.
func (c *Cell) Position(pos token.Pos) (line, column int) {
	return c.text.position(c.text.offset(c.scope.fset, pos))
}

// Place is Position with the name of the cell: another one for what has waited there, see [Waiting].
func (c *Cell) Place(pos token.Pos) (cell string, line, column int) {
	home, offset := c.text.home(c.text.offset(c.scope.fset, pos))
	line, column = home.position(offset)
	return home.cell, line, column
}

// Code is the cell's text, and behind it the expressions that the check has added.
func (c *Cell) Code() string { return c.text.code }

// Offset returns the byte of the cell's text at which a node of this cell begins or ends.
func (c *Cell) Offset(pos token.Pos) int { return c.text.offset(c.scope.fset, pos) }

// Import returns a package that cells may import.
func (c *Cell) Import(path string) (*types.Package, error) { return c.scope.importer.Import(path) }

// Refuse returns the error that refuses the cell because of a node.
func (c *Cell) Refuse(pos token.Pos, format string, args ...any) error {
	col := collector{text: c.text}
	col.add(c.text.offset(c.scope.fset, pos), fmt.Sprintf(format, args...))
	return col.err(c.Name)
}

// RefuseLine is Refuse for a line of the cell, counted from 1.
func (c *Cell) RefuseLine(line int, format string, args ...any) error {
	return c.RefusePlace(c.Name, line, format, args...)
}

// RefusePlace is RefuseLine for a line of any cell that has a part in this one.
func (c *Cell) RefusePlace(cell string, line int, format string, args ...any) error {
	home, start := c.text, 0
	for _, p := range c.text.parts {
		if p.text.cell == cell {
			home, start = p.text, p.start-p.from
			break
		}
	}
	line = min(max(line, 1), len(home.lines))
	offset := home.lines[line-1]
	for offset < len(home.code) && (home.code[offset] == ' ' || home.code[offset] == '\t') {
		offset++
	}
	if home == c.text {
		col := collector{text: c.text}
		col.add(offset, fmt.Sprintf(format, args...))
		return col.err(c.Name)
	}
	at, column := home.position(offset)
	d := Diagnostic{Offset: start + offset, Line: at, Column: column, Text: fmt.Sprintf(format, args...), of: home, there: offset}
	return &Error{Cell: c.Name, Code: c.text.own(), Diagnostics: []Diagnostic{d}, all: []Diagnostic{d}}
}

// Check checks a cell against what the cells before it declared. The error is an *Error. The scope is as before until
// Commit.
func (s *Scope) Check(name, code string) (*Cell, error) {
	return s.CheckAnew(name, code, nil)
}

// CheckAnew is Check for a cell whose declarations of some types are to make new types, even if they are made of the same as before.
func (s *Scope) CheckAnew(name, code string, anew []string) (*Cell, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.check(name, code, anew)
}

// check checks a cell, and again with or without declarations that wait where something in it is missing.
func (s *Scope) check(name, code string, anew []string) (*Cell, error) {
	c, err := s.checkOnce(name, code, anew, nil, nil)
	if err != nil {
		return s.hold(name, code, anew, err)
	}
	return c, nil
}

// checkOnce checks a cell without the pieces that begin where held says, and with declarations of earlier cells that have waited.
func (s *Scope) checkOnce(name, code string, anew []string, held map[int]*Waiting, woken []*Waiting) (*Cell, error) {
	s.takeBack()
	b := newBuilder(s, name, code)
	b.held = held
	for _, w := range woken {
		b.cell.text.append(w.text, w.start, w.end)
	}
	b.cell.Woken = woken
	for _, n := range anew {
		b.anew[n] = true
	}
	return b.run()
}

// run takes the cell through all steps.
func (b *builder) run() (c *Cell, err error) {
	name := b.cell.Name
	defer func() {
		if p := recover(); p != nil { // the checker, on a tree it was not made for
			b.errs.add(0, fmt.Sprintf("the cell cannot be checked: %v", p))
			c, err = nil, b.errs.err(name)
		}
	}()
	for _, step := range []func(){b.parse, b.constraints, b.imports, b.directives, b.moveVariables, b.resolve, b.wrapNames, b.keepTypes, b.wrapNames, b.adoptMethods, b.check, b.refuseEmbedded, b.refuseOverflow, b.refuseEarly, b.refuseJumps, b.refuseLabelled, b.collect, b.findUnread, b.findRemarks} {
		step()
		if err := b.errs.err(name); err != nil {
			return nil, err
		}
	}
	return b.cell, nil
}

func newInfo() *types.Info {
	return &types.Info{
		Types:      map[ast.Expr]types.TypeAndValue{},
		Defs:       map[*ast.Ident]types.Object{},
		Uses:       map[*ast.Ident]types.Object{},
		Instances:  map[*ast.Ident]types.Instance{},
		Selections: map[*ast.SelectorExpr]*types.Selection{},
		Implicits:  map[ast.Node]types.Object{},
		Scopes:     map[ast.Node]*types.Scope{},
	}
}

// builder carries a cell through the steps of its check.
type builder struct {
	*Scope
	cell *Cell
	errs collector

	imps, decls, body *ast.File
	declared          map[string]bool   // names that Decls declare
	anew              map[string]bool   // types that are to be new ones
	recalled          map[string]bool   // types that the cell declares as they are
	named             []*types.TypeName // see typeAlias
	assumed           map[string]bool   // names of packages that the cell uses without importing them
	specs             []ast.Spec        // imports that the cell needs
	placeholders      map[ast.Stmt]*ast.GenDecl
	short             map[*ast.GenDecl]bool // those that were written :=
	known             []*known              // names of functions of the universe
	embeds            []*embedded           // variables that get the content of files
	held              map[int]*Waiting      // pieces that are left out, by their starts
}

func newBuilder(s *Scope, name, code string) *builder {
	b := &builder{
		Scope: s, assumed: map[string]bool{}, anew: map[string]bool{}, recalled: map[string]bool{},
		cell: &Cell{
			Name: name, Pkg: types.NewPackage("main", "main"), Info: newInfo(), Moved: map[ast.Stmt]*Moved{},
			Local: map[*types.Var]*types.Var{}, Unused: map[token.Pos]bool{}, Unread: map[ast.Stmt][]*ast.Ident{}, imported: map[string]string{}, text: newText(name, code), scope: s,
			again: map[*types.TypeName]token.Pos{}, beside: map[string]map[string]bool{}, methods: map[*types.Func]*methodSource{},
		},
	}
	b.errs.text, b.errs.plain, b.errs.hints = b.cell.text, b.plainNames, map[string]string{}
	return b
}

func (b *builder) parse() {
	code := b.cell.text.code
	pieces, fault := split(code)
	if fault != nil {
		b.errs.add(fault.offset, fault.text)
		return
	}
	for i, p := range pieces {
		if b.held[p.start] != nil {
			pieces[i].kind = waits
		}
	}
	for _, p := range pieces {
		if p.kind == clause && !isMain(code[p.start:p.end]) {
			b.errs.add(p.start, "a cell belongs to package main: remove the package clause")
		}
	}
	b.imps = b.file(file{prefix: len(declPrefix)}, declPrefix+keep(code, pieces, importing))
	b.decls = b.file(file{prefix: len(declPrefix)}, declPrefix+keep(code, pieces, declaration))
	list := listAtEnd(pieces)
	b.body = b.file(file{len(bodyPrefix), list}, bodyPrefix+enclose(keep(code, pieces, statement, variable), list)+"\n}")
}

// isMain reports whether a package clause is that of package main. Comments may stand in it and behind it.
func isMain(text string) bool {
	file, err := parser.ParseFile(token.NewFileSet(), "", text, parser.PackageClauseOnly)
	return err == nil && file.Name.Name == "main"
}

// file parses one of the files of the cell. Unresolved identifiers are wanted, so objects are resolved.
func (b *builder) file(place file, code string) *ast.File {
	f, err := b.Scope.parse(b.cell.text, place, code)
	if err != nil {
		b.errs.addSyntax(err, place)
	}
	return f
}

func (s *Scope) parse(t *text, place file, code string) (*ast.File, error) {
	s.serial++
	name := fmt.Sprintf("%d", s.serial)
	t.files[name] = place
	s.texts[name] = t
	return parser.ParseFile(s.fset, name, code, parser.ParseComments)
}

// parseBehind parses an expression that the check adds: it stands behind the cell's code, and its errors are told at origin.
func (s *Scope) parseBehind(t *text, origin int, expression string) (ast.Expr, error) {
	start := t.add(expression, origin)
	s.serial++
	name := fmt.Sprintf("%d", s.serial)
	t.files[name] = file{prefix: -start}
	s.texts[name] = t
	return parser.ParseExprFrom(s.fset, name, expression, 0)
}

// collect gathers what the checked cell declares.
func (b *builder) collect() {
	c := b.cell
	for _, d := range c.Decls {
		b.collectDecl(d)
	}
	outer := c.Info.Scopes[c.Body.Type]
	for _, stmt := range c.Body.Body.List {
		if l, ok := stmt.(*ast.LabeledStmt); ok {
			stmt = l.Stmt
		}
		for _, id := range declaredBy(stmt) {
			v, ok := c.Info.Defs[id].(*types.Var)
			if !ok || v.Parent() != outer || id.Name == "_" {
				continue
			}
			global := types.NewVar(v.Pos(), c.Pkg, v.Name(), v.Type())
			c.Local[v] = global
			c.Objects = append(c.Objects, global)
		}
	}
	if len(b.placeholders) > 0 {
		b.orderInits()
	}
}

func (b *builder) collectDecl(d ast.Decl) {
	c := b.cell
	add := func(id *ast.Ident) {
		if o := c.Info.Defs[id]; o != nil && id.Name != "_" && id.Name != "init" {
			c.Objects = append(c.Objects, o)
		}
	}
	switch d := d.(type) {
	case *ast.FuncDecl:
		if f, ok := c.Info.Defs[d.Name].(*types.Func); ok && d.Recv != nil {
			c.methods[f] = &methodSource{b.source(d), d, c}
		}
		if d.Recv != nil || slices.ContainsFunc(c.Methods, func(m Method) bool { return m.Decl == d }) {
			return
		}
		add(d.Name)
		if f, ok := c.Info.Defs[d.Name].(*types.Func); ok && d.Name.Name == "main" {
			c.Main = f
		}
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			for _, id := range specNames(spec) {
				add(id)
			}
		}
	}
}

func specNames(spec ast.Spec) []*ast.Ident {
	switch s := spec.(type) {
	case *ast.TypeSpec:
		return []*ast.Ident{s.Name}
	case *ast.ValueSpec:
		return s.Names
	}
	return nil
}

// declaredBy are the names on the left of a := or var statement.
func declaredBy(stmt ast.Stmt) []*ast.Ident {
	var names []*ast.Ident
	switch s := stmt.(type) {
	case *ast.AssignStmt:
		if s.Tok == token.DEFINE {
			for _, l := range s.Lhs {
				if id, ok := l.(*ast.Ident); ok {
					names = append(names, id)
				}
			}
		}
	case *ast.DeclStmt:
		if d, ok := s.Decl.(*ast.GenDecl); ok && d.Tok == token.VAR {
			for _, spec := range d.Specs {
				names = append(names, specNames(spec)...)
			}
		}
	}
	return names
}

// Shown is the cell's last statement if it is an expression whose value the user wants to see: it has a value, and is not a call made to
// print something. Otherwise Shown is nil. A call that prints to a writer does count, because of its error.
func (c *Cell) Shown() ast.Expr {
	list := c.Body.Body.List
	if len(list) == 0 {
		return nil
	}
	last, ok := list[len(list)-1].(*ast.ExprStmt)
	if !ok {
		return nil
	}
	if c.Values(last.X) != nil {
		return last.X
	}
	tv, ok := c.Info.Types[last.X]
	if !ok || tv.IsVoid() || tv.IsType() || tv.IsBuiltin() || tv.IsNil() {
		return nil
	}
	if c.callsFmt(last.X, "Print") {
		return nil
	}
	return last.X
}

// callsFmt reports whether x is a call of a function of package fmt whose name begins with begins.
func (c *Cell) callsFmt(x ast.Expr, begins string) bool {
	call, ok := ast.Unparen(x).(*ast.CallExpr)
	if !ok {
		return false
	}
	f := Callee(c.Info, call)
	return f != nil && f.Pkg() != nil && f.Pkg().Path() == "fmt" && strings.HasPrefix(f.Name(), begins)
}

// Values are the expressions of the list at the end of the cell, if x is what stands for that list; nil for any other expression.
func (c *Cell) Values(x ast.Expr) []ast.Expr {
	call, ok := x.(*ast.CallExpr)
	if !ok {
		return nil
	}
	if id, ok := call.Fun.(*ast.Ident); !ok || id.Name != valuesName {
		return nil
	}
	return call.Args
}

// Replaces returns what a name meant before this cell, nil where it had no meaning.
func (c *Cell) Replaces(name string) types.Object { return c.scope.objects[name] }

// Current tells whether an object of an earlier cell is still what its name means in this cell. Call it before the cell is committed.
func (c *Cell) Current(o types.Object) bool {
	_, isPackage := c.imported[o.Name()]
	return !isPackage && !c.declaresName(o.Name()) && c.scope.objects[o.Name()] == o
}
