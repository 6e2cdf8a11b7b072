package notebook

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
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
// in before is replaced. A value is text: for a parameter whose default is a string it is taken as it is, for any other it
// must be a Go expression, and of the default's kind where that is a number or a truth value. A name that the cell does not
// declare is an error that lists those it does.
func (n *Notebook) SetParameters(values map[string]string) error {
	if len(values) == 0 {
		return nil
	}
	at := slices.IndexFunc(n.Cells, func(c *Cell) bool { return c.Tagged(tagParameters) })
	if at < 0 {
		return fmt.Errorf("the notebook has no cell tagged %q to set parameters in", tagParameters)
	}
	declared, err := defaults(n.Cells[at].Source)
	if err != nil {
		return err
	}
	source, err := assignments(declared, values)
	if err != nil {
		return err
	}
	n.Cells = slices.DeleteFunc(n.Cells, func(c *Cell) bool { return c.Tagged(tagInjected) })
	at = slices.IndexFunc(n.Cells, func(c *Cell) bool { return c.Tagged(tagParameters) })
	n.Cells = slices.Insert(n.Cells, at+1, NewCode(tagInjected, source, tagInjected))
	return nil
}

// parameter is one variable of the parameters cell.
type parameter struct {
	name     string
	shown    string        // its default as the cell has it; "" where it has none
	kind     constant.Kind // of the default; Unknown where only the kernel can tell
	whole    bool          // of numbers: an integer
	constant bool
}

// defaults finds what a parameters cell declares.
func defaults(source string) ([]parameter, error) {
	const head = "package p\nfunc _() {\n//line :1:1\n"
	file, err := parser.ParseFile(token.NewFileSet(), "", head+source+"\n}", parser.SkipObjectResolution)
	if err != nil {
		return nil, fmt.Errorf("the parameters cell, line %w", err)
	}
	text := func(e ast.Expr) string { return source[int(e.Pos())-1-len(head) : int(e.End())-1-len(head)] }
	var found []parameter
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			for i, l := range n.Lhs {
				if id, ok := l.(*ast.Ident); ok && n.Tok == token.DEFINE {
					found = append(found, newParameter(id.Name, valueOf(n.Rhs, i, text), ""))
				}
			}
		case *ast.GenDecl:
			for _, s := range n.Specs {
				found = append(found, declared(s, n.Tok == token.CONST, text)...)
			}
		}
		return true
	})
	return found, nil
}

// declared is what a line of a var or const declaration declares.
func declared(s ast.Spec, constant bool, text func(ast.Expr) string) (found []parameter) {
	v, ok := s.(*ast.ValueSpec)
	if !ok {
		return nil
	}
	kind := ""
	if id, ok := v.Type.(*ast.Ident); ok {
		kind = id.Name
	}
	for i, id := range v.Names {
		p := newParameter(id.Name, valueOf(v.Values, i, text), kind)
		p.constant = constant
		found = append(found, p)
	}
	return found
}

func valueOf(values []ast.Expr, i int, text func(ast.Expr) string) string {
	if i < len(values) {
		return text(values[i])
	}
	return ""
}

// newParameter finds the kind of a default from itself, or as a value of the type that stands before it.
func newParameter(name, value, typeName string) parameter {
	p := parameter{name: name, shown: value}
	source := value
	switch {
	case typeName == "string" && value == "":
		source = `""`
	case typeName == "bool" && value == "":
		source = "false"
	case typeName != "" && value == "":
		source = typeName + "(0)"
	case typeName != "":
		source = typeName + "(" + value + ")"
	}
	tv, err := types.Eval(token.NewFileSet(), nil, token.NoPos, source)
	if err != nil || tv.Value == nil {
		return p
	}
	p.kind = tv.Value.Kind()
	if b, ok := tv.Type.Underlying().(*types.Basic); ok {
		p.whole = b.Info()&types.IsInteger != 0
	}
	return p
}

// check returns why a value cannot be the parameter's, as far as this can be told without running the notebook.
func (p parameter) check(value string) error {
	if p.constant {
		return fmt.Errorf("parameter %s is a constant: declare it as a variable to set it", p.name)
	}
	if p.kind == constant.String {
		return nil
	}
	expr, err := parser.ParseExpr(value)
	if err != nil {
		return fmt.Errorf("parameter %s: %q is not a Go expression; %s", p.name, value, p.hint())
	}
	tv, err := types.Eval(token.NewFileSet(), nil, token.NoPos, value)
	_, name := expr.(*ast.Ident)
	switch {
	case p.kind == constant.Unknown, err != nil && !name, err == nil && tv.Value == nil:
		return nil // it may use what the notebook has imported
	case err != nil, !p.takes(tv.Value):
		return fmt.Errorf("parameter %s: %s is not %s; %s", p.name, value, p.what(), p.hint())
	}
	return nil
}

func (p parameter) takes(v constant.Value) bool {
	switch {
	case p.kind == constant.Bool:
		return v.Kind() == constant.Bool
	case p.whole:
		return constant.ToInt(v).Kind() == constant.Int
	default:
		return constant.ToComplex(v).Kind() == constant.Complex
	}
}

func (p parameter) what() string {
	switch {
	case p.kind == constant.Bool:
		return "true or false"
	case p.whole:
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

// assignments is the source that sets the values, in the order of the declarations.
func assignments(declared []parameter, values map[string]string) (string, error) {
	lines := []string{"// Parameters"}
	var names []string
	for _, p := range declared {
		names = append(names, p.name)
		value, ok := values[p.name]
		if !ok {
			continue
		}
		if err := p.check(value); err != nil {
			return "", err
		}
		if p.kind == constant.String {
			value = strconv.Quote(value)
		}
		lines = append(lines, p.name+" = "+value)
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if !slices.Contains(names, name) {
			return "", fmt.Errorf("the notebook has no parameter %q; it has %s", name, strings.Join(names, ", "))
		}
	}
	return strings.Join(lines, "\n"), nil
}
