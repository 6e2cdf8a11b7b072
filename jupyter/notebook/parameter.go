package notebook

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/constant"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
)

// The tags by which Jupyter's tools (papermill first) know the cell with default parameters and the one put in after it.
const (
	tagParameters = "parameters"
	tagInjected   = "injected-parameters"
)

// SetParameters puts a cell after the one tagged "parameters" that gives variables declared there other values; a cell put
// in before is replaced. It is the door of whoever runs the notebook as themselves: a value is text, taken as it is for a
// parameter whose default is a string, and a Go expression for any other, of the default's kind where that is a number or a
// truth value. What comes from somebody else goes through SetData. A name that the cell does not declare is an error that
// lists those it does.
func (n *Notebook) SetParameters(values map[string]string) error {
	return set(n, values, parameter.expression)
}

// SetData puts a cell in as SetParameters does, with values that somebody else has sent: a JSON object, or nothing. Each value
// is written as a literal of the type that the parameters cell declares, and nothing of it becomes code:
//
//   - a text for strings, true or false for bool, a number for the kinds of numbers; a whole one, in range, for integers
//   - a text such as "90s" for time.Duration
//   - a list for slices and arrays; an object for maps whose keys are texts or integers, and for structs, whose fields go by
//     their json tag or else by their name
//   - null for what can be nil
//   - for any, what encoding/json makes of it
//
// A value that does not fit is an error that names the parameter, what it wants and what came. So is a parameter whose type the
// cell alone does not tell, such as n := f().
func (n *Notebook) SetData(object json.RawMessage) error {
	values, err := fields(object)
	if err != nil {
		return fmt.Errorf("parameters: %w", err)
	}
	return set(n, values, parameter.literal)
}

// set puts in the cell that gives parameters the values that source writes.
func set[V any](n *Notebook, values map[string]V, source func(parameter, V) (string, error)) error {
	if len(values) == 0 {
		return nil
	}
	at := slices.IndexFunc(n.Cells, func(c *Cell) bool { return c.Tagged(tagParameters) })
	if at < 0 {
		return fmt.Errorf("the notebook has no cell tagged %q to set parameters in", tagParameters)
	}
	declared, err := declarations(n.Cells[at].Source)
	if err != nil {
		return err
	}
	text, err := assignments(declared, values, source)
	if err != nil {
		return err
	}
	n.Cells = slices.DeleteFunc(n.Cells, func(c *Cell) bool { return c.Tagged(tagInjected) })
	at = slices.IndexFunc(n.Cells, func(c *Cell) bool { return c.Tagged(tagParameters) })
	n.Cells = slices.Insert(n.Cells, at+1, NewCode(tagInjected, text, tagInjected))
	return nil
}

// assignments is the source that sets the values, in the order of the declarations.
func assignments[V any](declared []parameter, values map[string]V, source func(parameter, V) (string, error)) (string, error) {
	lines := []string{"// Parameters"}
	var names []string
	for _, p := range declared {
		names = append(names, p.name)
		value, ok := values[p.name]
		if !ok {
			continue
		}
		if p.constant {
			return "", fmt.Errorf("parameter %s is a constant: declare it as a variable to set it", p.name)
		}
		text, err := source(p, value)
		if err != nil {
			return "", err
		}
		lines = append(lines, p.name+" = "+text)
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if !slices.Contains(names, name) {
			return "", fmt.Errorf("the notebook has no parameter %.100q; it has %s", name, strings.Join(names, ", "))
		}
	}
	return strings.Join(lines, "\n"), nil
}

// parameter is one variable of the parameters cell.
type parameter struct {
	name     string
	shown    string     // its default as the cell has it; "" where it has none
	declared types.Type // nil: the cell alone does not tell
	constant bool
}

// declarations finds what a parameters cell declares, outside of its blocks.
func declarations(source string) ([]parameter, error) {
	const clause = "package p\n"
	const imports = clause + "import \"time\"\n" // the one package that a default is often made with
	source = onlyGo(source)
	found, err := declarationsIn(imports+"func _() {\n//line :1:1\n", source, "\n}")
	if err == nil {
		return found, nil
	}
	imported, declared, rest := parts(source)
	heads := []string{imports, clause} // it has imports, or functions
	if importsTime(clause + imported) {
		heads = heads[1:]
	}
	for _, head := range heads {
		if found, whole := declarationsIn(head+"//line :1:1\n", source, ""); whole == nil {
			return found, nil
		}
	}
	for _, head := range heads { // and statements, too
		head += "//line :1:1\n" + imported + "\n//line :1:1\n" + declared + "\nfunc _() {\n//line :1:1\n"
		if found, err = declarationsIn(head, rest, "\n}"); err == nil {
			return found, nil
		}
	}
	return nil, fmt.Errorf("the parameters cell, line %w", err)
}

// importsTime reports whether a file says itself what time is, or by which name it knows that package.
func importsTime(source string) bool {
	file, err := parser.ParseFile(token.NewFileSet(), "", source, parser.ImportsOnly)
	return err == nil && slices.ContainsFunc(file.Imports, func(s *ast.ImportSpec) bool {
		at, _ := strconv.Unquote(s.Path.Value)
		return at == "time" || localName(s) == "time"
	})
}

// localName is the name that an import gives its package, as far as its path tells.
func localName(s *ast.ImportSpec) string {
	if s.Name != nil {
		return s.Name.Name
	}
	at, _ := strconv.Unquote(s.Path.Value)
	return path.Base(at)
}

// declarationsIn finds them with a head and a tail that make a file of the cell.
func declarationsIn(head, source, tail string) (found []parameter, err error) {
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, "", head+source+tail, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	about := types.Info{Defs: map[*ast.Ident]types.Object{}}
	checker := types.Config{Importer: onlyTime{nameOfTime(file)}, Error: func(error) {}} // names of earlier cells are not known here
	_, _ = checker.Check("p", files, []*ast.File{file}, &about)
	text := func(e ast.Expr) string { return source[int(e.Pos())-1-len(head) : int(e.End())-1-len(head)] }
	add := func(constant bool, id *ast.Ident, values []ast.Expr, i int) {
		object := about.Defs[id]
		if id.Name == "_" || object == nil { // declared before
			return
		}
		found = append(found, parameter{name: id.Name, shown: valueOf(values, i, text), declared: known(object.Type()), constant: constant})
	}
	for _, s := range statements(file) {
		switch s := s.(type) {
		case *ast.AssignStmt:
			for i, l := range s.Lhs {
				if id, ok := l.(*ast.Ident); ok && s.Tok == token.DEFINE {
					add(false, id, s.Rhs, i)
				}
			}
		case *ast.DeclStmt:
			eachName(s.Decl, add)
		}
	}
	return found, nil
}

// statements are those of a cell, whether its file has them in a function or is the cell itself.
func statements(file *ast.File) (all []ast.Stmt) {
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Name.Name == "_" && d.Body != nil {
				all = append(all, d.Body.List...)
			}
		case *ast.GenDecl:
			all = append(all, &ast.DeclStmt{Decl: d})
		}
	}
	return all
}

// eachName does something with each variable and constant of a declaration.
func eachName(d ast.Decl, do func(constant bool, id *ast.Ident, values []ast.Expr, i int)) {
	general, ok := d.(*ast.GenDecl)
	if !ok {
		return
	}
	for _, s := range general.Specs {
		if v, ok := s.(*ast.ValueSpec); ok {
			for i, id := range v.Names {
				do(general.Tok == token.CONST, id, v.Values, i)
			}
		}
	}
}

func valueOf(values []ast.Expr, i int, text func(ast.Expr) string) string {
	if i < len(values) {
		return text(values[i])
	}
	return ""
}

// known is a type, or nil where the checker has found none.
func known(t types.Type) types.Type {
	if t == nil || types.Unalias(t) == types.Typ[types.Invalid] {
		return nil
	}
	return t
}

// kind is that of the parameter's values where it is one of Go's own types, and whole whether they are integers.
func (p parameter) kind() (k constant.Kind, whole bool) {
	b, ok := p.declared.(*types.Basic)
	switch {
	case !ok:
		return constant.Unknown, false
	case b.Info()&types.IsString != 0:
		return constant.String, false
	case b.Info()&types.IsBoolean != 0:
		return constant.Bool, false
	case b.Info()&types.IsInteger != 0:
		return constant.Int, true
	case b.Info()&types.IsNumeric != 0:
		return constant.Float, false
	}
	return constant.Unknown, false
}

// expression is the source of a value that a person has given, or why it cannot be the parameter's, as far as this can be told without running the notebook.
func (p parameter) expression(value string) (string, error) {
	kind, whole := p.kind()
	if kind == constant.String {
		return strconv.Quote(value), nil
	}
	expr, err := parser.ParseExpr(value)
	if err != nil {
		return "", fmt.Errorf("parameter %s: %q is not a Go expression; %s", p.name, value, p.hint())
	}
	tv, err := types.Eval(token.NewFileSet(), nil, token.NoPos, value)
	_, name := expr.(*ast.Ident)
	switch {
	case kind == constant.Unknown, err != nil && !name, err == nil && tv.Value == nil:
		return value, nil // it may use what the notebook has imported
	case err != nil, !takes(kind, whole, tv.Value):
		return "", fmt.Errorf("parameter %s: %s is not %s; %s", p.name, value, what(kind, whole), p.hint())
	}
	return value, nil
}

func takes(kind constant.Kind, whole bool, v constant.Value) bool {
	switch {
	case kind == constant.Bool:
		return v.Kind() == constant.Bool
	case whole:
		return constant.ToInt(v).Kind() == constant.Int
	default:
		return constant.ToComplex(v).Kind() == constant.Complex
	}
}

func what(kind constant.Kind, whole bool) string {
	switch {
	case kind == constant.Bool:
		return "true or false"
	case whole:
		return "a whole number"
	default:
		return "a number"
	}
}

func (p parameter) hint() string {
	if p.shown == "" {
		return "it has no default"
	}
	return "its default is " + p.shown
}

// nameOfTime is what a file calls package time; ".": it names what is in it without a package.
func nameOfTime(file *ast.File) string {
	for _, s := range file.Imports {
		if at, _ := strconv.Unquote(s.Path.Value); at != "time" {
			continue
		}
		if name := localName(s); name != "_" {
			return name
		}
	}
	return "time"
}

// onlyTime imports what of package time makes durations: the rest of the world is the kernel's to know.
type onlyTime struct {
	name string // of the package, to the cell
}

func (o onlyTime) Import(path string) (*types.Package, error) {
	if path != "time" {
		return nil, fmt.Errorf("%q is not looked into", path)
	}
	p := types.NewPackage("time", o.name)
	name := types.NewTypeName(token.NoPos, p, "Duration", nil)
	duration := types.NewNamed(name, types.Typ[types.Int64], nil)
	p.Scope().Insert(name)
	for unit, length := range map[string]int64{"Nanosecond": 1, "Microsecond": 1e3, "Millisecond": 1e6, "Second": 1e9, "Minute": 60e9, "Hour": 3600e9} {
		p.Scope().Insert(types.NewConst(token.NoPos, p, unit, duration, constant.MakeInt64(length)))
	}
	p.MarkComplete()
	return p, nil
}
