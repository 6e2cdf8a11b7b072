package check

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"regexp"
	"strconv"
	"strings"
)

// Universe are the functions that every cell knows without an import, beside those of the language: check(err) and must(f()). A name that a
// cell declares or imports comes first. They are checked as a package builtin, which exists nowhere else.
//
// Go has no function that takes any number of results, so must is several functions: one for each number of values before the error. Which
// of them a call means is known once its argument has been checked.
type Universe struct {
	Decls []*ast.FuncDecl
	Info  *types.Info
	Pkg   *types.Package
}

// maxMust is how many values there can be before must's error. Package support has a function for each number.
const maxMust = 8

const (
	checkName = "check"
	mustName  = "must"
	// valuesName is the function that a list of expressions at the end of a cell is checked as the arguments of. No cell can
	// spell it by accident.
	valuesName = "values" + nameMark
)

// mustVariant matches the name of one of the functions that must is.
var mustVariant = regexp.MustCompile(`\bmust` + nameMark + `\d+`)

func variant(n int) string { return mustName + nameMark + strconv.Itoa(n) }

// isUniverse reports whether name is the name of one of the functions.
func isUniverse(name string) bool { return name == checkName || name == mustName }

// universeSource is the text of the functions.
func universeSource() string {
	var b strings.Builder
	b.WriteString("package builtin\nfunc " + loopCheck + "(err error) { check(err) }\nfunc fail(err error)\nfunc " + valuesName + "(values ...any)\nfunc check(err error) { if err != nil { fail(err) } }\n")
	fmt.Fprintf(&b, "func %s(err error) { check(err) }\n", variant(0))
	for n := 1; n <= maxMust; n++ {
		var types, params, results []string
		for i := range n {
			types = append(types, fmt.Sprintf("T%d", i))
			params = append(params, fmt.Sprintf("v%d T%d", i, i))
			results = append(results, fmt.Sprintf("v%d", i))
		}
		list := strings.Join(types, ", ")
		fmt.Fprintf(&b, "func %s[%s any](%s, err error) (%s) { check(err); return %s }\n", variant(n), list, strings.Join(params, ", "), list, strings.Join(results, ", "))
	}
	return b.String()
}

func newUniverse(fset *token.FileSet) *Universe {
	f, err := parser.ParseFile(fset, "universe", universeSource(), parser.SkipObjectResolution)
	if err != nil {
		panic(err) // ours
	}
	u := &Universe{Info: newInfo()}
	conf := types.Config{Error: func(error) {}} // fail has no body
	u.Pkg, _ = conf.Check("builtin", fset, []*ast.File{f}, u.Info)
	for _, d := range f.Decls {
		u.Decls = append(u.Decls, d.(*ast.FuncDecl))
	}
	return u
}

// Known tells whether f is a function that every cell knows, under which name, and how many values it takes before the error: -1 for check.
func Known(f *types.Func) (name string, values int, ok bool) {
	if f.Pkg() == nil || f.Pkg().Path() != "builtin" {
		return "", 0, false
	}
	name, number, _ := strings.Cut(f.Name(), nameMark)
	values, err := strconv.Atoi(number)
	if err != nil {
		values = -1
	}
	return name, values, isUniverse(name)
}

// known is a name of a cell that means one of these functions.
type known struct {
	id     *ast.Ident
	call   *ast.CallExpr // nil where the function is not called
	values int           // of must, in front of the error
}

// meet notes that a name of the cell means one of the functions.
func (b *builder) meet(id *ast.Ident, calls map[*ast.Ident]*ast.CallExpr) {
	k := &known{id: id, call: calls[id], values: 1}
	if k.call != nil {
		k.values = guessed(k.call)
	}
	b.known = append(b.known, k)
}

// guessed is how many values a call of must hands over in front of the error, as far as its text says.
func guessed(x *ast.CallExpr) int {
	if len(x.Args) != 1 {
		return max(len(x.Args)-1, 0)
	}
	if _, isCall := ast.Unparen(x.Args[0]).(*ast.CallExpr); isCall {
		return 1
	}
	return 0
}

// nameKnown gives the names that mean these functions those of the functions, until restore is called, and makes them visible.
func (b *builder) nameKnown() (restore func()) {
	for _, k := range b.known {
		if k.id.Name == mustName {
			k.id.Name = variant(min(k.values, maxMust))
		}
		b.cell.Pkg.Scope().Insert(b.universe.Pkg.Scope().Lookup(k.id.Name))
	}
	for _, name := range []string{valuesName, loopCheck} {
		b.cell.Pkg.Scope().Insert(b.universe.Pkg.Scope().Lookup(name))
	}
	return func() {
		for _, k := range b.known {
			k.id.Name, _, _ = strings.Cut(k.id.Name, nameMark)
		}
	}
}

// fitKnown tells whether arguments, now that they have been checked, have another number of values than was thought.
func (b *builder) fitKnown() (changed bool) {
	for _, k := range b.known {
		if k.call == nil || k.id.Name != mustName || len(k.call.Args) != 1 {
			continue
		}
		tv := b.cell.Info.Types[k.call.Args[0]]
		if !tv.IsValue() || tv.Type == types.Typ[types.Invalid] {
			continue
		}
		values := 0
		if t, ok := tv.Type.(*types.Tuple); ok {
			values = t.Len() - 1
		}
		if values != k.values {
			k.values, changed = values, true
		}
	}
	return changed
}

// callsOf finds the calls of plain names in files.
func callsOf(files ...*ast.File) map[*ast.Ident]*ast.CallExpr {
	calls := map[*ast.Ident]*ast.CallExpr{}
	for _, f := range files {
		ast.Inspect(f, func(n ast.Node) bool {
			x, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			if id, ok := ast.Unparen(x.Fun).(*ast.Ident); ok {
				calls[id] = x
			}
			return true
		})
	}
	return calls
}

// knownSignatures and knownDocs explain the functions to those who ask.
var (
	knownSignatures = map[string]string{
		checkName: "func check(err error)",
		mustName:  "func must[T any](value T, err error) T",
	}
	knownDocs = map[string]string{
		checkName: "check fails the cell with err as its cause, unless err is nil. Deferred functions run, and recover returns err.\n\n" +
			"Every cell knows it without an import. A function or variable of yours that is called check comes first.",
		mustName: "must returns what a call returned without the error behind it, and fails the cell with that error, unless it is nil:\n\n" +
			"\ttext := must(os.ReadFile(name))\n\n" +
			"The call may return several values, or only the error. Deferred functions run, and recover returns the error.\n\n" +
			"Every cell knows it without an import. A function or variable of yours that is called must comes first.",
	}
)

// visibleKnown offers the functions for completion.
func (c *candidates) visibleKnown() {
	for _, name := range []string{checkName, mustName} {
		c.add(rankLanguage, name, "function", strings.TrimPrefix(knownSignatures[name], "func "+name))
	}
}

// Universe are the functions that the cells of the scope know.
func (s *Scope) Universe() *Universe { return s.universe }
