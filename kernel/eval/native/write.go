package native

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"cancha/kernel/eval/check"
)

// Names that no cell can spell by accident: the letter is Canadian syllabics, and an upper-case letter in front exports.
const (
	machineName = "mᐧ"
	stopName    = "stopᐧ"
	runName     = "runᐧ"
	cellType    = "Xᐧcell"
	hiddenMark  = "Ꞌ" // in front of a method that is not exported; upper-case
	supportPath = "cancha/kernel/eval/native/support"
	supportName = "supportᐧ"
	mark        = "ᐧ"
)

// Source is a cell as a Go package.
type Source struct {
	Text     string
	Cells    []*Unit // packages of earlier cells that it imports
	Shows    bool    // the cell hands the value of its last expression to the machine
	exports  []export
	fields   []fieldExport
	cell     *check.Cell
	again    []*declaration
	replaced []*types.Func // methods of types of earlier cells, declared anew
	Changed  []*types.Func // functions with switches, in the order of declaration
}

// export is an object of the cell and the name under which other cells use it.
type export struct {
	object types.Object
	name   string
}

type fieldExport struct {
	field *types.Var
	owner *types.TypeName
	index int
}

// refusal ends the writing of a cell; it is raised as a panic and caught in Write.
type refusal struct {
	pos  token.Pos
	text string
}

func refuse(pos token.Pos, format string, args ...any) {
	panic(refusal{pos, fmt.Sprintf(format, args...)})
}

// writer writes one cell.
type writer struct {
	engine *Engine
	cell   *check.Cell
	source *check.Cell // whose text is being written: cell, or an earlier one
	info   *types.Info
	serial int64
	place  func(*types.Var) string // name of a variable of the session

	code     string
	inside   map[*ast.BlockStmt]string // what to put at the beginning of a block
	after    map[ast.Stmt]string       // what to put behind a statement
	renamed  map[*ast.Ident]string     // parameters without a name
	replaced map[ast.Node]string       // what is written instead of a node

	imports   map[string]string // name → path, used ones
	dots      map[string]bool
	places    map[string]string // place → type text
	order     []string          // of places
	aliases   map[string]string // name of an earlier cell's type or constant → its declaration
	aliased   map[string]types.Object
	named     []string         // their order
	cells     map[*Unit]string // package of an earlier cell → its name here
	cellOrder []*Unit
	unused    map[token.Pos]bool
	copied    map[*types.Var]string // in a loop over copies
	stored    map[*ast.BlockStmt]string
	own       map[types.Object]bool // of earlier cells, declared again
	ownField  map[*types.Var]bool
	out       Source
}

// Write writes a checked cell. Place returns the name of a session's variable; serial is the cell's number. The error is one
// of [check.Cell.Refuse].
func (e *Engine) Write(c *check.Cell, serial int64, place func(*types.Var) string) (s *Source, err error) {
	w := &writer{engine: e, cell: c, source: c, own: map[types.Object]bool{}, copied: map[*types.Var]string{}, stored: map[*ast.BlockStmt]string{}, ownField: map[*types.Var]bool{}, info: c.Info, serial: serial, place: place, code: c.Code(),
		inside: map[*ast.BlockStmt]string{}, after: map[ast.Stmt]string{}, renamed: map[*ast.Ident]string{}, replaced: map[ast.Node]string{},
		imports: map[string]string{}, dots: map[string]bool{}, places: map[string]string{}, aliases: map[string]string{}, aliased: map[string]types.Object{},
		cells: map[*Unit]string{}, unused: c.Unused}
	defer func() {
		p := recover()
		if p == nil {
			return
		}
		r, ok := p.(refusal)
		if !ok {
			panic(p)
		}
		s, err = nil, c.Refuse(r.pos, "%s", r.text)
	}()
	return w.write(), nil
}

func (w *writer) write() *Source {
	var body strings.Builder
	var inits []string
	w.out.cell = w.cell
	body.WriteString(w.writeAgain(w.engine.again(w.cell)))
	for _, d := range w.cell.Decls {
		text, init := w.declaration(d)
		body.WriteString(text)
		if init != "" {
			inits = append(inits, init)
		}
	}
	body.WriteString(w.run(inits))
	exports := w.exports()
	var head strings.Builder
	head.WriteString("package main\n")
	w.writeImports(&head)
	for _, name := range w.named {
		head.WriteString(w.aliases[name])
	}
	fmt.Fprintf(&head, "var %s %s.Machine\nvar %s uint32\n", machineName, supportName, stopName)
	for _, p := range w.order {
		fmt.Fprintf(&head, "var %s *%s\n", p, w.places[p])
	}
	for _, u := range w.cellOrder {
		fmt.Fprintf(&head, "var %sx %s.%s\n", w.cells[u], w.cells[u], cellType)
	}
	w.out.Text = head.String() + body.String() + exports
	w.out.Cells = w.cellOrder
	return &w.out
}

func (w *writer) writeImports(b *strings.Builder) {
	fmt.Fprintf(b, "import %s %q\n", supportName, supportPath)
	names := sortedKeys(w.imports)
	for _, name := range names {
		fmt.Fprintf(b, "import %s %q\n", name, w.imports[name])
	}
	for _, path := range sortedKeys(w.dots) {
		fmt.Fprintf(b, "import . %q\n", path)
	}
	for _, u := range w.cellOrder {
		fmt.Fprintf(b, "import %s %q\n", w.cells[u], u.Path)
	}
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// line is the directive that gives the text after it its place in the cell.
func (w *writer) line(n ast.Node) string {
	line, column := w.source.Position(n.Pos())
	return fmt.Sprintf("\n//line %s:%d:%d\n", w.source.Name, line, column)
}

// declaration writes a declaration of the package level. Variables have their places elsewhere.
func (w *writer) declaration(d ast.Decl) (text, init string) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		for _, m := range w.cell.Methods {
			if m.Decl == d {
				return w.methodText(method{w.cell, m.Func, d, true}), ""
			}
		}
		return w.function(d)
	case *ast.GenDecl:
		switch d.Tok {
		case token.CONST, token.TYPE:
			return w.line(d) + w.text(d) + "\n", ""
		}
	}
	return "", ""
}

// run writes the function that runs the cell's statements.
func (w *writer) run(inits []string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "\nfunc %s() {\n", runName)
	if defers(w.cell.Body.Body) {
		b.WriteString(w.leaveCheck())
	}
	list := w.cell.Body.Body.List
	initialise := func() { // after the variables in front, as in a program
		for _, init := range inits {
			fmt.Fprintf(&b, "%s()\n", init)
		}
		inits = nil
	}
	for i, stmt := range list {
		moved := w.cell.Moved[stmt]
		if _, isVar := stmt.(*ast.DeclStmt); !isVar && moved == nil {
			initialise()
		}
		b.WriteString(w.line(stmt))
		switch x, isExpr := stmt.(*ast.ExprStmt); {
		case moved != nil:
			b.WriteString(w.moved(moved))
		case isExpr && i == len(list)-1 && w.shown(x.X):
			w.out.Shows = true
			fmt.Fprintf(&b, "%s.ShowOf(%d)(%s)", machineName, w.serial, w.text(x.X))
		default:
			b.WriteString(w.outer(stmt))
		}
		b.WriteString("\n")
	}
	initialise()
	if w.cell.Main != nil {
		fmt.Fprintf(&b, "main%s()\n", mark)
	}
	b.WriteString("}\n")
	return b.String()
}

func (w *writer) moved(m *check.Moved) string {
	var parts []string
	for _, v := range m.Vars {
		if v.Name() != "_" {
			parts = append(parts, fmt.Sprintf("%s.Zero(%s)", supportName, w.variable(v, v.Pos())))
		}
	}
	for _, init := range m.Inits {
		lhs := make([]string, len(init.Lhs))
		for i, v := range init.Lhs {
			lhs[i] = "_"
			if v.Name() != "_" {
				lhs[i] = "*" + w.variable(v, v.Pos())
			}
		}
		if len(lhs) == 1 && lhs[0] == "_" { // nil and untyped constants have a type only where they are declared
			parts = append(parts, fmt.Sprintf("{ var _ %s = %s }", w.typeText(init.Lhs[0].Type(), init.Rhs.Pos()), w.text(init.Rhs)))
			continue
		}
		parts = append(parts, strings.Join(lhs, ", ")+" = "+w.text(init.Rhs))
	}
	return strings.Join(parts, "; ")
}

// outer writes a statement of the cell's outermost block, where declarations are assignments to the session's variables.
func (w *writer) outer(stmt ast.Stmt) string {
	w.note(stmt)
	if text, ok := w.pureLoop(stmt); ok {
		return text
	}
	switch s := stmt.(type) {
	case *ast.LabeledStmt:
		return s.Label.Name + ": " + w.outer(s.Stmt)
	case *ast.AssignStmt:
		if s.Tok != token.DEFINE {
			break
		}
		lhs := make([]string, len(s.Lhs))
		for i, x := range s.Lhs {
			lhs[i] = w.text(x)
		}
		return strings.Join(lhs, ", ") + " = " + w.commaOK(s.Rhs, len(s.Lhs))
	case *ast.DeclStmt:
		if d := s.Decl.(*ast.GenDecl); d.Tok == token.VAR {
			return w.outerVars(d)
		}
	}
	return w.text(stmt)
}

func (w *writer) outerVars(d *ast.GenDecl) string {
	var parts []string
	for _, spec := range d.Specs {
		vs := spec.(*ast.ValueSpec)
		lhs := make([]string, len(vs.Names))
		for i, id := range vs.Names {
			lhs[i] = w.text(id)
			if v, ok := w.info.Defs[id].(*types.Var); ok && len(vs.Values) == 0 && id.Name != "_" {
				parts = append(parts, fmt.Sprintf("%s.Zero(%s)", supportName, w.variable(v, id.Pos())))
			}
		}
		if len(vs.Values) == 0 {
			continue
		}
		if vs.Type != nil && slices.Contains(lhs, "_") {
			parts = append(parts, fmt.Sprintf("{ var %s %s = %s }", strings.Repeat("_, ", len(lhs)-1)+"_", w.text(vs.Type), w.commaOK(vs.Values, len(lhs))))
			if len(lhs) > 1 {
				refuse(vs.Pos(), "a blank name among several of a var declaration with a type cannot be compiled: leave out the type")
			}
			continue
		}
		parts = append(parts, strings.Join(lhs, ", ")+" = "+w.commaOK(vs.Values, len(lhs)))
	}
	return strings.Join(parts, "; ")
}

// commaOK writes the right side of an assignment to n places.
func (w *writer) commaOK(values []ast.Expr, n int) string {
	texts := make([]string, len(values))
	for i, x := range values {
		texts[i] = w.text(x)
	}
	return strings.Join(texts, ", ")
}

// shown tells whether a person wants to see the value of the cell's last expression: it has one, and the call was not made
// to print something.
func (w *writer) shown(x ast.Expr) bool {
	tv, ok := w.info.Types[x]
	if !ok || tv.IsVoid() || tv.IsType() || tv.IsBuiltin() || tv.IsNil() {
		return false
	}
	call, ok := ast.Unparen(x).(*ast.CallExpr)
	if !ok {
		return true
	}
	f := callee(w.info, call)
	prints := f != nil && f.Pkg() != nil && f.Pkg().Path() == "fmt" && (strings.HasPrefix(f.Name(), "Print") || strings.HasPrefix(f.Name(), "Fprint"))
	return !prints
}

// callee is the function that a call names, nil where it calls a value.
func callee(info *types.Info, x *ast.CallExpr) *types.Func {
	fun := ast.Unparen(x.Fun)
	switch ix := fun.(type) {
	case *ast.IndexExpr:
		fun = ix.X
	case *ast.IndexListExpr:
		fun = ix.X
	}
	var id *ast.Ident
	switch fun := fun.(type) {
	case *ast.Ident:
		id = fun
	case *ast.SelectorExpr:
		id = fun.Sel
	default:
		return nil
	}
	f, _ := info.Uses[id].(*types.Func)
	return f
}

// variable returns the name of the pointer to a variable of the session.
func (w *writer) variable(v *types.Var, pos token.Pos) string {
	if global := w.source.Local[v]; global != nil {
		v = global
	}
	name := w.place(v)
	if name == "" {
		refuse(pos, "variable %s is not known to the compiled cell", v.Name())
	}
	name = "v" + mark + name
	if _, ok := w.places[name]; !ok {
		w.places[name] = w.typeText(v.Type(), pos)
		w.order = append(w.order, name)
	}
	return name
}
