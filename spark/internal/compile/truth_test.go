package compile

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"cancha/stream"
	"cancha/stream/plan"
)

// parsed is a file of package stream's rooms.
func parsed(t *testing.T, file string) *ast.File {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), "../../../stream/"+file, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// keysOf are the texts that are keys of the map which a function returns.
func keysOf(t *testing.T, f *ast.File, function string) (keys []string) {
	t.Helper()
	for _, d := range f.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if !ok || fn.Name.Name != function {
			continue
		}
		ret := fn.Body.List[len(fn.Body.List)-1].(*ast.ReturnStmt)
		for _, e := range ret.Results[0].(*ast.CompositeLit).Elts {
			key, err := strconv.Unquote(e.(*ast.KeyValueExpr).Key.(*ast.BasicLit).Value)
			if err != nil {
				t.Fatal(err)
			}
			keys = append(keys, key)
		}
	}
	return keys
}

// casesOf are the texts of the cases of all switches over a.Kind in some functions.
func casesOf(f *ast.File, functions ...string) (cases []string) {
	for _, d := range f.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if !ok || !slices.Contains(functions, fn.Name.Name) {
			continue
		}
		ast.Inspect(fn, func(n ast.Node) bool {
			if c, ok := n.(*ast.CaseClause); ok {
				for _, e := range c.List {
					if l, ok := e.(*ast.BasicLit); ok && l.Kind == token.STRING {
						text, _ := strconv.Unquote(l.Value)
						cases = append(cases, text)
					}
				}
			}
			return true
		})
	}
	slices.Sort(cases)
	return slices.Compact(cases)
}

// TestOperators: each operator of the local engine's expressions becomes SQL, and there is one of each among the expressions of the golden file.
func TestOperators(t *testing.T) {
	local := keysOf(t, parsed(t, "internal/eval/operators.go"), "operators")
	if len(local) < 45 {
		t.Fatalf("%d operators found in stream/internal/eval: it has been misread", len(local))
	}
	seen := map[string]bool{}
	var see func(e plan.Expr)
	see = func(e plan.Expr) {
		seen[e.Op] = true
		for _, a := range e.Args {
			see(a)
		}
	}
	for _, e := range expressions() {
		see(e)
	}
	for _, op := range local {
		if _, ok := operators()[op]; !ok {
			t.Errorf("the operator %q has no SQL, and no reason is given why", op)
		} else if !seen[op] {
			t.Errorf("no expression of the golden file has the operator %q", op)
		}
	}
	for op := range operators() {
		if !slices.Contains(local, op) {
			t.Errorf("the operator %q is none of the local engine's", op)
		}
	}
}

// TestStatistics: each kind of statistic of the local engine is compiled.
func TestStatistics(t *testing.T) {
	local := casesOf(parsed(t, "internal/aggregate/aggregate.go"), "compile", "other")
	if len(local) < 14 {
		t.Fatalf("%q found in stream/internal/aggregate: it has been misread", local)
	}
	for _, kind := range local {
		if statistics()[kind] == nil {
			t.Errorf("the statistic %q is not compiled, and no reason is given why", kind)
		}
	}
}

// TestSteps: each operator that a plan can have is compiled, or refused by its name and with what to write instead.
func TestSteps(t *testing.T) {
	examples := map[plan.Op]*stream.Query{
		plan.Filter:      orders().Filter(stream.Field("total").Gt(1)).Select("id"),
		plan.Require:     orders().Require("id", stream.Int).Select("id"),
		plan.With:        orders().With("x", stream.Field("total").Add(1)).Select("x"),
		plan.Select:      orders().Select("id"),
		plan.Drop:        orders().Select("id", "x").Drop("x"),
		plan.Explode:     orders().Explode("items", "item").Select("item"),
		plan.Aggregation: orders().Window(stream.Tumbling(time.Minute)).Agg(stream.Count("n")),
		plan.Deduplicate: orders().Deduplicate("id").Select("id"),
		plan.Union:       orders().Select("id").Union(orders().Select("id")),
		plan.Join:        orders().Select("id").Join(payments(), stream.On{Left: []string{"id"}, Right: []string{"order"}}, stream.Within{}),
		plan.Lookup:      orders().Lookup(goods(), stream.Same("sku")).Select("price"),
		plan.Top:         orders().Window(stream.Tumbling(time.Minute)).Agg(stream.Count("n")).Top(1, "n"),
	}
	refusals := map[plan.Op]string{plan.MapFunc: "write With(", plan.FilterFunc: "write Filter(", plan.Process: "write an Agg",
		plan.Records: "run this locally"}
	ops := stepsOf(t)
	for _, op := range ops {
		q, want := examples[op], refusals[op]
		switch {
		case q != nil:
			compiled(t, q, Options{})
		case want == "":
			t.Errorf("the operator %q is neither compiled nor refused", op)
		default:
			p := orders().Select("id").Plan()
			p.Steps = append([]plan.Step{{Op: op, Name: "mine"}}, p.Steps...)
			if _, err := Query(p, Options{}); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "mine") {
				t.Errorf("%s: got %v, want a refusal with %q", op, err, want)
			}
		}
	}
	if len(ops) != len(examples)+len(refusals) {
		t.Errorf("%d operators in package plan, %d known here", len(ops), len(examples)+len(refusals))
	}
}

// stepsOf are the constants of type plan.Op.
func stepsOf(t *testing.T) (ops []plan.Op) {
	t.Helper()
	for _, d := range parsed(t, "plan/plan.go").Decls {
		g, ok := d.(*ast.GenDecl)
		if !ok || g.Tok != token.CONST {
			continue
		}
		for _, s := range g.Specs {
			v := s.(*ast.ValueSpec)
			if of, ok := v.Type.(*ast.Ident); ok && of.Name == "Op" {
				text, err := strconv.Unquote(v.Values[0].(*ast.BasicLit).Value)
				if err != nil {
					t.Fatal(err)
				}
				ops = append(ops, plan.Op(text))
			}
		}
	}
	return ops
}
