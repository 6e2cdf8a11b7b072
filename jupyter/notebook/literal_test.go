package notebook

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"slices"
	"strings"
	"testing"
)

// ways are the shapes in which a parameters cell declares something.
const ways = `name := "x"
n := 3
rate, quick := 1.5, false
const k = 3
var small int8 = 1
var count uint16
var wait = 3 * time.Second
var grace time.Duration
var share float32 = 0.5
type Level string
type Rates map[Level][]Level
var named Rates
var level Level = "low"
letter := 'a'
teams := []string{"a"}
var grid [2][]int
var limits map[string]float64
var years = map[int]bool{2024: true}
type Point struct {
	X, Y int
	Note string ` + "`json:\"note\"`" + `
	Next *Point
	hidden bool
	Off  int ` + "`json:\"-\"`" + `
}
type Twins struct {
	A int ` + "`json:\"twin\"`" + `
	B int ` + "`json:\"twin\"`" + `
	C int
	D int ` + "`json:\"C\"`" + `
	E int ` + "`json:\"-,\"`" + `
	F int ` + "`json:\"a\\\\b\"`" + `
	g int ` + "`json:\"G\"`" + `
	G int
}
var twins Twins
type Share float32
var part Share
var parts []Share
var at Point
var near *Point
type Near *Point
var nearer Near
var anything any
var what fmt.Stringer
var call func()
var line chan int
var first *int
var odd map[bool]int
unknown := f()
var stamp = time.Now()
var level2 slog.Level
var z complex128
if inner := 1; inner > 0 {
}`

// withParameters is a notebook of one parameters cell.
func withParameters(t testing.TB, cell string) *Notebook {
	t.Helper()
	text, err := json.Marshal(map[string]any{"nbformat": 4, "cells": []any{map[string]any{"cell_type": "code", "source": cell, "metadata": map[string]any{"tags": []string{"parameters"}}}}})
	if err != nil {
		t.Fatal(err)
	}
	n, err := Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestSetData: what a submission sends becomes a literal of the declared type, or is refused by name.
func TestSetData(t *testing.T) {
	for _, c := range []struct{ name, object, want, fail string }{
		{"nothing", ``, "", ""},
		{"null", `null`, "", ""},
		{"no object", `[1]`, "", "want an object of the notebook's own parameters, got a list of 1"},
		{"a text", `{"name": "a\"b\nc\u0000\ufeff` + "`" + `"}`, `name = "a\"b\nc\x00\ufeff` + "`" + `"`, ""},
		{"a number for a text", `{"name": 3}`, "", "parameter name: want a text, got 3"},
		{"a whole number", `{"n": 21}`, "n = 21", ""},
		{"less than nothing", `{"n": -21}`, "n = -21", ""},
		{"an exponent", `{"n": 1.5e3}`, "n = 1500", ""},
		{"whole with a point", `{"n": 7.0}`, "n = 7", ""},
		{"the largest", `{"n": 9223372036854775807}`, "n = 9223372036854775807", ""},
		{"more than the largest", `{"n": 9223372036854775808}`, "", "parameter n: want a whole number from -9223372036854775808 to 9223372036854775807 (int), got 9223372036854775808"},
		{"an exponent without end", `{"n": 1e999999999}`, "", "parameter n: want a whole number"},
		{"an exponent that no number has", `{"n": 1e99999999999999999999}`, "", "parameter n: want a whole number"},
		{"no whole number", `{"n": 1.5}`, "", "(int), got 1.5"},
		{"a function as text", `{"n": "func() int { os.Exit(1); return 1 }()"}`, "", `parameter n: want a whole number from -9223372036854775808 to 9223372036854775807 (int), got the text "func() int {`},
		{"a name as text", `{"n": "n"}`, "", `got the text "n"`},
		{"null for a number", `{"n": null}`, "", "got null"},
		{"an object for a number", `{"n": {"a": {"b": 1}}}`, "", "got an object of 1"},
		{"a list for a number", `{"n": [1]}`, "", "got a list of 1"},
		{"truth for a number", `{"n": true}`, "", "got true"},
		{"many digits", `{"n": ` + strings.Repeat("9", 100_000) + `}`, "", "parameter n: want a whole number"},
		{"int8", `{"small": -128}`, "small = -128", ""},
		{"more than int8", `{"small": 128}`, "", "from -128 to 127 (int8), got 128"},
		{"uint16", `{"count": 65535}`, "count = 65535", ""},
		{"less than uint16", `{"count": -1}`, "", "from 0 to 65535 (uint16), got -1"},
		{"a number", `{"rate": 2.5e-3}`, "rate = 0.0025", ""},
		{"a whole one", `{"rate": 3}`, "rate = 3", ""},
		{"too large a number", `{"rate": 1e309}`, "", "parameter rate: want a number (float64) in its range, got 1e309"},
		{"too small a number", `{"rate": 1e-400}`, "", "in its range"},
		{"not a number", `{"rate": "NaN"}`, "", `parameter rate: want a number (float64), got the text "NaN"`},
		{"too large for float32", `{"share": 1e39}`, "", "(float32) in its range"},
		{"truth", `{"quick": true}`, "quick = true", ""},
		{"truth as text", `{"quick": "true"}`, "", `want true or false, got the text "true"`},
		{"a constant", `{"k": 3}`, "", "k is a constant"},
		{"a duration", `{"wait": "1m30s"}`, "wait = 90000000000", ""},
		{"a duration without default", `{"grace": "-2ms"}`, "grace = -2000000", ""},
		{"a bare number for a duration", `{"wait": 3}`, "", `parameter wait: want a duration with its unit, such as "90s" or "1h30m", got 3`},
		{"an expression for a duration", `{"wait": "time.Minute"}`, "", `got the text "time.Minute"`},
		{"a type of the cell", `{"level": "high"}`, `level = "high"`, ""},
		{"a rune", `{"letter": 98}`, "letter = 98", ""},
		{"texts", `{"teams": ["a", "\"}); panic(1); _ = []string{\""]}`, `teams = []string{"a", "\"}); panic(1); _ = []string{\""}`, ""},
		{"no texts", `{"teams": null}`, "teams = nil", ""},
		{"a number among texts", `{"teams": ["a", 1]}`, "", "parameter teams[1]: want a text, got 1"},
		{"an array", `{"grid": [[1], null]}`, "grid = [2][]int{[]int{1}, nil}", ""},
		{"a short array", `{"grid": [[1]]}`, "", "want a list ([2][]int), got a list of 1"},
		{"a map", `{"limits": {"a\n": 1}}`, `limits = map[string]float64{"a\n": 1}`, ""},
		{"a map of numbers", `{"years": {"-3": true}}`, "years = map[int]bool{-3: true}", ""},
		{"a key that is no number", `{"years": {"f()": true}}`, "", `parameter years["f()"]: want a whole number as the key`},
		{"a key in another form", `{"years": {"007": true}}`, "", `want the key as 7`},
		{"a key of another type", `{"odd": {"true": 1}}`, "", "no key of the type bool"},
		{"two of one key", `{"limits": {"a": 1, "a": 2}}`, "", `two of the name "a"`},
		{"two of one name", `{"n": 1, "n": 2}`, "", `two of the name "n"`},
		{"a struct", `{"at": {"X": 1, "note": "f()", "Next": {"Y": 2}, "hidden": true}}`, `at = Point{X: 1, Note: "f()", Next: &Point{Y: 2}, hidden: true}`, ""},
		{"an unknown field", `{"at": {"Z": 1}}`, "", `parameter at: it has no field "Z"; it has X, Y, note, Next, hidden`},
		{"a field that is none", `{"at": {"X": 1, "Off": 2}}`, "", `no field "Off"`},
		{"a pointer", `{"near": {"X": 1}}`, "near = &Point{X: 1}", ""},
		{"a named pointer", `{"nearer": {"X": 1}}`, "nearer = &Point{X: 1}", ""},
		{"named types", `{"named": {"a": ["b"]}}`, `named = Rates{"a": []Level{"b"}}`, ""},
		{"no pointer", `{"near": null}`, "near = nil", ""},
		{"a pointer to a number", `{"first": 1}`, "", "no value of JSON but null is a *int; got 1"},
		{"anything", `{"anything": [1, "f()", null, {"a": true}]}`, `anything = []interface{}{float64(1), "f()", nil, map[string]interface{}{"a": true}}`, ""},
		{"two fields of one name", `{"twins": {"twin": 1}}`, "", `parameter twins: the fields A and B are both called "twin" in JSON`},
		{"the others beside them", `{"twins": {"C": 1, "-": 2, "F": 3, "G": 4}}`, `twins = Twins{D: 1, E: 2, F: 3, G: 4}`, ""},
		{"a name of two once in the list", `{"twins": {"X": 1}}`, "", `it has no field "X"; it has twin, C, -, F, G`},
		{"less than zero and none", `{"rate": -0}`, `rate = -[1]float64{}[0]`, ""},
		{"in a type of the cell", `{"part": -0.0}`, `part = -[1]Share{}[0]`, ""},
		{"among others", `{"parts": [0, -0e5, -1]}`, `parts = []Share{0, -[1]Share{}[0], -1}`, ""},
		{"in anything", `{"anything": [-0, -0.0]}`, `anything = []interface{}{float64(-[1]float64{}[0]), float64(-[1]float64{}[0])}`, ""},
		{"of a whole number", `{"n": -0}`, "n = 0", ""},
		{"of a complex number", `{"z": -0}`, "", "parameter z: want a number (complex128) without a sign of zero, got -0"},
		{"an interface", `{"what": "x"}`, "", "parameter what: the parameters cell alone does not tell its type"},
		{"a function", `{"call": "f"}`, "", "parameter call: no value of JSON is a func()"},
		{"a channel", `{"line": null}`, "", "parameter line: no value of JSON is a chan int"},
		{"a complex number", `{"z": 2}`, "z = 2", ""},
		{"a type that cannot be told", `{"unknown": 1}`, "", "parameter unknown: the parameters cell alone does not tell its type"},
		{"a moment", `{"stamp": "2026-01-01"}`, "", "parameter stamp: the parameters cell alone does not tell its type"},
		{"a type of elsewhere", `{"level2": 1}`, "", "parameter level2: the parameters cell alone does not tell its type"},
		{"a name of a block", `{"inner": 1}`, "", `no parameter "inner"`},
		{"no name", `{"n = 1; panic(1); n": 1}`, "", `no parameter "n = 1; panic(1); n"`},
		{"the blank name", `{"_": 1}`, "", `no parameter "_"`},
		{"too deep", `{"anything": ` + strings.Repeat("[", 500) + strings.Repeat("]", 500) + `}`, "", "more than 64 levels"},
	} {
		t.Run(c.name, func(t *testing.T) {
			n := withParameters(t, ways)
			err := n.SetData(json.RawMessage(c.object))
			if c.fail != "" {
				if err == nil || !strings.Contains(err.Error(), c.fail) || len(err.Error()) > 500 {
					t.Fatalf("got %v, want an error with %q", err, c.fail)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			got := ""
			if len(n.Cells) > 1 {
				got = strings.TrimPrefix(n.Cells[1].Source, "// Parameters\n")
			}
			if got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
			if fault := errors.Join(onlyLiterals(got), compiles(ways, got)); fault != nil {
				t.Error(fault)
			}
		})
	}
}

// TestSetDataInOtherCells: a cell of declarations is read, too, and one that cannot be read is refused.
func TestSetDataInOtherCells(t *testing.T) {
	for _, c := range []struct{ name, cell, want, fail string }{
		{"with an import", "import (\n\t\"time\"\n)\nvar n = 2\nvar wait time.Duration", "n = 4", ""},
		{"with another import", "import \"os\"\nvar n int", "n = 4", ""},
		{"with a function", "func f() int { return 1 }\nvar n int64", "n = 4", ""},
		{"declared twice", "n := 1\nn, m := 2, 3", "n = 4", ""},
		{"a type that hides Go's", "type int string\nvar n int", "", "want a text, got 4"},
		{"a name that hides time", "time := 3\nn := time", "n = 4", ""},
		{"no Go", "n := := 1", "", "line 1:6"},
		{"an import and a statement", "import \"time\"\n\nn := 2\nwait := 3 * time.Second", "n = 4", ""},
		{"an import behind a statement", "m := 2\nimport (\n\t\"os\"\n)\nn := m", "n = 4", ""},
		{"two imports in one line", "import \"os\"; import \"time\"; n := 2", "n = 4", ""},
		{"a function and a statement", "func f() int { return 1 }\nn := f()", "n = 4", ""},
		{"a generic function, and its use", "func f[T any](t T) T { n := t; return n }\n\nn := f(1)", "n = 4", ""},
		{"a type with a method, and a statement", "type T struct{ A int }\n\nfunc (t T) F() int { return t.A }\n\nn := T{1}.F()", "n = 4", ""},
		{"a function that is called where it stands", "import \"os\"\nfunc(a int) error { n := \"\"; _ = n; return nil }(1)\nn := 1", "n = 4", ""},
		{"a fault behind an import", "import \"os\"\nm := 1\nn := := 1", "", "line 3:6"},
		{"a magic", "n := 1\n%get .", "n = 4", ""},
		{"a magic with quotes, and an import", "%get ./it's\nimport \"os\"\n!echo `n := \"\nn := 1\n?n\nn?", "n = 4", ""},
		{"a command of two lines", "!echo \\\nn := false\nn := 1", "n = 4", ""},
		{"a cell magic", "%%time\nn := 1", "n = 4", ""},
		{"no magic in a text", "m := `\n%get .\n`\nn := len(m)", "n = 4", ""},
		{"no magic in an expression", "m := 9 +\n9\nn := (m\n%7)", "", "line 3:"},
		{"semicolons", ";n := 2;; import \"os\";; type T int;", "n = 4", ""},
		{"a fault behind a magic", "%get .\nn := := 1", "", "line 2:6"},
	} {
		t.Run(c.name, func(t *testing.T) {
			n := withParameters(t, c.cell)
			err := n.SetData(json.RawMessage(`{"n": 4}`))
			if c.fail != "" {
				if err == nil || !strings.Contains(err.Error(), c.fail) {
					t.Errorf("got %v, want an error with %q", err, c.fail)
				}
				return
			}
			if err != nil || n.Cells[1].Source != "// Parameters\n"+c.want {
				t.Errorf("got %v, %v", n.Cells, err)
			}
		})
	}
}

// TestTypesOfPackages: a literal names package time as the parameters cell does.
func TestTypesOfPackages(t *testing.T) {
	for _, c := range []struct{ name, cell, want, fail string }{
		{"not imported", "var w []time.Duration", "w = []time.Duration{1000000000}", ""},
		{"imported", "import \"time\"\nvar w []time.Duration", "w = []time.Duration{1000000000}", ""},
		{"by another name", "import tm \"time\"\nvar w []tm.Duration", "w = []tm.Duration{1000000000}", ""},
		{"by another name, as a value", "import (\n\ttm \"time\"\n)\nvar w = []tm.Duration{tm.Second}", "w = []tm.Duration{1000000000}", ""},
		{"without a name", "import . \"time\"\nvar w []Duration", "w = []Duration{1000000000}", ""},
		{"another package of the name", "import time \"example.org/clock\"\nvar w []time.Duration", "", "the parameters cell alone does not tell its type"},
		{"another package by its path", "import \"example.org/time\"\nvar w []time.Duration", "", "the parameters cell alone does not tell its type"},
	} {
		t.Run(c.name, func(t *testing.T) {
			n := withParameters(t, c.cell)
			err := n.SetData(json.RawMessage(`{"w": ["1s"]}`))
			if c.fail != "" {
				if err == nil || !strings.Contains(err.Error(), c.fail) {
					t.Errorf("got %v, want an error with %q", err, c.fail)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.TrimPrefix(n.Cells[1].Source, "// Parameters\n"); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

// onlyLiterals tells where source has anything but assignments of literals.
func onlyLiterals(source string) error {
	file, err := parser.ParseFile(token.NewFileSet(), "", "package p\nfunc _() {\n"+source+"\n}", 0)
	if err != nil {
		return err
	}
	for _, s := range file.Decls[0].(*ast.FuncDecl).Body.List {
		a, ok := s.(*ast.AssignStmt)
		if !ok || a.Tok != token.ASSIGN || len(a.Rhs) != 1 {
			return fmt.Errorf("%T is no assignment: %s", s, source)
		}
		ast.Inspect(a.Rhs[0], func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.CallExpr:
				name, _ := n.Fun.(*ast.Ident)
				if name == nil || name.Name != "float64" {
					err = fmt.Errorf("a call: %s", source)
				}
			case *ast.UnaryExpr:
				if n.Op != token.SUB && n.Op != token.AND {
					err = fmt.Errorf("an operator: %s", source)
				}
			case *ast.Ident:
				if known := []string{"true", "false", "nil", "string", "int", "float64", "bool", "Point", "Rates", "Level", "X", "Y", "Note", "Next", "hidden", "Twins", "D", "E", "F", "G", "Share", "part", "parts"}; !slices.Contains(known, n.Name) {
					err = fmt.Errorf("the name %s: %s", n.Name, source)
				}
			case nil, *ast.BasicLit, *ast.CompositeLit, *ast.IndexExpr, *ast.KeyValueExpr, *ast.ArrayType, *ast.MapType, *ast.InterfaceType, *ast.FieldList:
			default:
				err = fmt.Errorf("%T: %s", n, source)
			}
			return true
		})
	}
	return err
}

// compiles tells where assignments are no Go behind the cell that declares their variables.
func compiles(cell, assignments string) (fault error) {
	files := token.NewFileSet()
	head := "package p\nimport \"time\"\nfunc _() {\n" + cell + "\n"
	file, err := parser.ParseFile(files, "", head+assignments+"\n}", 0)
	if err != nil {
		return err
	}
	checker := types.Config{Importer: onlyTime{"time"}, Error: func(err error) {
		if e, ok := err.(types.Error); ok && files.Position(e.Pos).Offset >= len(head) {
			fault = err
		}
	}}
	_, _ = checker.Check("p", files, []*ast.File{file}, nil)
	return fault
}

// FuzzSetData: whatever is sent, nothing but literals gets into a cell, and what gets there is Go.
func FuzzSetData(f *testing.F) {
	for _, seed := range []string{
		`{"n": "func() int { return 1 }()"}`, `{"name": "\"+f()+\"", "teams": ["\\", "\n!ls"]}`, `{"anything": {"a": [1e3, null, {"b": "c"}]}}`,
		`{"at": {"note": "\u2028", "Next": {"X": -0}}}`, `{"years": {"1": true, "01": false}}`, `{"wait": "1h", "rate": 1e300, "z": -0.0, "grid": [[], null]}`, `{"n": 1}{`, `{"n`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, object string) {
		n := withParameters(t, ways)
		if n.SetData(json.RawMessage(object)) != nil || len(n.Cells) < 2 {
			return
		}
		if err := errors.Join(onlyLiterals(n.Cells[1].Source), compiles(ways, n.Cells[1].Source)); err != nil {
			t.Errorf("%s: %v", object, err)
		}
	})
}
