package check

import (
	"go/ast"
	"go/doc"
	"go/token"
	"go/types"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Test is a function of the session that go test would run.
type Test struct {
	Kind string // Test, Benchmark, Fuzz or Example
	Func *types.Func
	Cell string // that has declared it: "cell 3"
	Line int
}

// testArguments are what functions of these kinds take.
var testArguments = map[string]string{"Test": "*testing.T", "Benchmark": "*testing.B", "Fuzz": "*testing.F", "Example": ""}

// Tests lists the functions of the session that are called as go test wants it, in the order in which they were declared.
func (s *Scope) Tests() []Test {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []Test
	for name, o := range s.objects {
		f, ok := o.(*types.Func)
		if kind := testKind(name); ok && kind != "" {
			cell, line, _, _ := s.Position(o.Pos())
			all = append(all, Test{kind, f, cell, line})
		}
	}
	slices.SortFunc(all, func(a, b Test) int { return int(a.Func.Pos() - b.Func.Pos()) })
	return all
}

// IsTest reports whether a function of that name is one that go test would run.
func IsTest(name string) bool { return testKind(name) != "" }

// testKind tells TestX, and Test alone, from Testing; "" is for any other name.
func testKind(name string) string {
	for kind := range testArguments {
		if rest, ok := strings.CutPrefix(name, kind); ok {
			if first, _ := utf8.DecodeRuneInString(rest); rest == "" || !unicode.IsLower(first) {
				return kind
			}
		}
	}
	return ""
}

// Signature is what the function has to look like, "" if it does.
func (t Test) Signature() string {
	sig, want := t.Func.Signature(), testArguments[t.Kind]
	fits := sig.Results().Len() == 0 && sig.TypeParams().Len() == 0
	switch sig.Params().Len() {
	case 0:
		fits = fits && want == ""
	case 1:
		fits = fits && types.TypeString(sig.Params().At(0).Type(), nil) == want
	default:
		fits = false
	}
	if fits {
		return ""
	}
	if want != "" {
		want = strings.ToLower(want[len("*testing."):]) + " " + want
	}
	return "func " + t.Func.Name() + "(" + want + ")"
}

// Examples are the examples in the Go of a cell, with the outputs that their comments want.
func Examples(code string) []*doc.Example {
	pieces, fault := split(code)
	if fault != nil {
		return nil
	}
	s := &Scope{fset: token.NewFileSet(), texts: map[string]*text{}}
	f, err := s.parse(newText("", code), file{prefix: len(declPrefix)}, declPrefix+keep(code, pieces, declaration))
	if err != nil {
		return nil
	}
	f.Name = ast.NewIdent("main_test")
	return doc.Examples(f)
}
