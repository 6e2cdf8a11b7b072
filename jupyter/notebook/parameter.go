package notebook

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
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
// must be a Go expression. A name that the cell does not declare is an error that lists those it does.
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
	name string
	text bool // its default is a string
}

// defaults finds what a parameters cell declares.
func defaults(source string) ([]parameter, error) {
	file, err := parser.ParseFile(token.NewFileSet(), "", "package p\nfunc _() {\n"+source+"\n}", parser.SkipObjectResolution)
	if err != nil {
		return nil, fmt.Errorf("the parameters cell: %w", err)
	}
	var found []parameter
	add := func(names, values []ast.Expr) {
		for i, n := range names {
			if id, ok := n.(*ast.Ident); ok {
				found = append(found, parameter{id.Name, i < len(values) && isText(values[i])})
			}
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			add(n.Lhs, n.Rhs)
		case *ast.ValueSpec:
			names := make([]ast.Expr, len(n.Names))
			for i, id := range n.Names {
				names[i] = id
			}
			add(names, n.Values)
		}
		return true
	})
	return found, nil
}

func isText(e ast.Expr) bool {
	lit, ok := e.(*ast.BasicLit)
	return ok && lit.Kind == token.STRING
}

// assignments is the source that sets the values, in the order of the declarations.
func assignments(declared []parameter, values map[string]string) (string, error) {
	b := strings.Builder{}
	b.WriteString("// Parameters\n")
	var names []string
	for _, p := range declared {
		names = append(names, p.name)
		value, ok := values[p.name]
		if !ok {
			continue
		}
		if p.text {
			value = strconv.Quote(value)
		} else if _, err := parser.ParseExpr(value); err != nil {
			return "", fmt.Errorf("parameter %s: %q is not a Go expression", p.name, value)
		}
		fmt.Fprintf(&b, "%s = %s\n", p.name, value)
	}
	for name := range values {
		if !slices.Contains(names, name) {
			return "", fmt.Errorf("the notebook has no parameter %q; it has %s", name, strings.Join(names, ", "))
		}
	}
	return b.String(), nil
}
