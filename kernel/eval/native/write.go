package native

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"cancha/kernel/eval/check"
	"cancha/kernel/eval/native/support"
)

// Names that no cell can spell by accident: the letter is Canadian syllabics, and an upper-case letter in front exports.
const (
	machineName = "mᐧ"
	stopName    = "stopᐧ"
	runName     = "runᐧ"
	cellType    = "Xᐧcell"
	hiddenMark  = support.HiddenMark
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
	structs  []*types.TypeName // without a name, see anonymous
	replaced []*types.Func     // methods of types of earlier cells, declared anew
	names    *names
	Changed  []*types.Func  // functions with switches, in the order of declaration
	guarded  []export       // see escape.go
	calls    map[*Unit]bool // of whose guarded functions some are called directly
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
	inside   map[*ast.BlockStmt]string  // what to put at the beginning of a block
	after    map[ast.Stmt]string        // what to put behind a statement
	clause   map[*ast.CaseClause]string // what to put behind its colon
	renamed  map[*ast.Ident]string      // parameters without a name
	replaced map[ast.Node]string        // what is written instead of a node

	imports      map[string]string // name → path, used ones
	dots         map[string]bool
	places       map[string]string // place → type text
	order        []string          // of places
	aliases      map[string]string // name of an earlier cell's type or constant → its declaration
	named        []string          // their order
	cells        map[*Unit]string  // package of an earlier cell → its name here
	cellOrder    []*Unit
	unused       map[token.Pos]bool
	flagged      map[*types.Func]bool // functions that ask for interrupts
	recovering   map[*types.Func]bool // functions that call recover
	slow         map[*types.Func]bool // functions that do so in a second one
	guarded      map[*types.Func]bool // see escape.go
	direct       bool                 // calls of guarded functions are written as they are
	directCalls  bool                 // there was one
	called       map[ast.Expr]bool
	assigned     map[*ast.SelectorExpr]bool // what is not read, or not only
	heap         bool                       // what is new lies on the heap, see indirect.go
	closedFuncs  map[*types.Func]bool       // see closed
	trusted      map[*ast.FuncLit]bool      // see trust
	deferLits    map[*ast.FuncLit]bool      // see deferred
	linknames    bool                       // there are names for go:linkname
	loops        int                        // around what is being written
	statements   bool                       // the cell's own are being written
	looped       []string                   // places of variables that loops of the statements mention, see inLoop
	copied       map[*types.Var]string      // in a loop over copies
	stored       map[*ast.BlockStmt]string
	labeled      map[ast.Stmt]bool
	sharing      map[*check.Cell]map[*types.Var]bool // see shared
	own          map[types.Object]bool               // of earlier cells, declared again
	ownField     map[*types.Var]bool
	structs      []*types.Struct   // to be exported
	structsAgain []*types.TypeName // of earlier cells
	*names
	out Source
}

// Write writes a checked cell. Place returns the name of a session's variable; serial is the cell's number. The error is one
// of [check.Cell.Refuse].
func (e *Engine) Write(c *check.Cell, serial int64, place func(*types.Var) string) (s *Source, err error) {
	w := e.newWriter(c)
	w.serial, w.place = serial, place
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

func (e *Engine) newWriter(c *check.Cell) *writer {
	return &writer{
		engine: e, cell: c, source: c, info: c.Info, code: c.Code(), unused: c.Unused,
		flagged: map[*types.Func]bool{}, recovering: map[*types.Func]bool{}, slow: map[*types.Func]bool{}, guarded: map[*types.Func]bool{},
		out: Source{calls: map[*Unit]bool{}},
		own: map[types.Object]bool{}, ownField: map[*types.Var]bool{},
		closedFuncs: map[*types.Func]bool{}, called: map[ast.Expr]bool{}, assigned: map[*ast.SelectorExpr]bool{}, trusted: map[*ast.FuncLit]bool{}, deferLits: map[*ast.FuncLit]bool{}, copied: map[*types.Var]string{}, stored: map[*ast.BlockStmt]string{},
		labeled: map[ast.Stmt]bool{}, sharing: map[*check.Cell]map[*types.Var]bool{},
		inside: map[*ast.BlockStmt]string{}, after: map[ast.Stmt]string{}, clause: map[*ast.CaseClause]string{},
		renamed: map[*ast.Ident]string{}, replaced: map[ast.Node]string{},
		imports: map[string]string{}, dots: map[string]bool{}, places: map[string]string{},
		aliases: map[string]string{}, cells: map[*Unit]string{},
		names: newNames(c, e.dropped.with(c.Dropped)),
	}
}

// write writes the package: what it needs of others comes last, since it is known last.
func (w *writer) write() *Source {
	var body strings.Builder
	var inits []string
	w.out.cell, w.out.names = w.cell, w.names
	w.borrow()
	again := w.engine.again(w.cell)
	w.findGuarded(again)
	body.WriteString(w.writeAgain(again))
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
	fmt.Fprintf(&head, "var %s %s.Machine\nvar %s %s.Flag\n", machineName, supportName, stopName, supportName)
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
	if w.linknames {
		b.WriteString("import _ \"unsafe\"\n")
	}
	for _, path := range w.cell.Blank {
		fmt.Fprintf(b, "import _ %q\n", path)
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
	cell, line, column := w.source.Place(n.Pos())
	return fmt.Sprintf("\n//line %s:%d:%d\n", cell, line, column)
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
		case token.CONST:
			return w.line(d) + w.text(d) + "\n", ""
		case token.TYPE: // one by one: those that earlier cells have declared are left out
			for _, spec := range d.Specs {
				text += w.line(spec) + "type " + w.text(spec) + "\n"
			}
			return text, ""
		}
	}
	return "", ""
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
