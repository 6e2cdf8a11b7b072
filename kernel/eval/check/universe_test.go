package check

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestMustOfCompiledCells: package support, which compiled cells call, has the functions that must is, and no more.
func TestMustOfCompiledCells(t *testing.T) {
	f, err := parser.ParseFile(token.NewFileSet(), "../native/support/failure.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	for n := range maxMust + 2 {
		name := "Must" + strconv.Itoa(n)
		found := slices.ContainsFunc(f.Decls, func(d ast.Decl) bool { fn, ok := d.(*ast.FuncDecl); return ok && fn.Name.Name == name })
		if found != (n <= maxMust) {
			t.Errorf("%s is there: %t, want %t", name, found, !found)
		}
	}
}

// TestMustErrors says what is wrong with a call of check or must in the words of Go, and by these names.
func TestMustErrors(t *testing.T) {
	tests := []struct{ name, code, want string }{
		{"no error", "must(strings.Cut(\"a\", \"b\"))", "value of type bool) as error value in argument to must: bool does not implement error"},
		{"a function", "must(strconv.Atoi)", "in argument to must: func(s string) (int, error) does not implement error"},
		{"no argument", "must()", "not enough arguments in call to must\n\thave ()\n\twant (error)"},
		{"more than it takes", "must(1, 2, 3, 4, 5, 6, 7, 8, 9, nil)", "too many arguments in call to must"},
		{"a value and an error", "check(strconv.Atoi(\"1\"))", "too many arguments in call to check\n\thave (int, error)\n\twant (error)"},
		{"no value", "must(func() {}())", "(no value) used as value"},
		{"not called", "x := must", "cannot use generic function must without instantiation"},
		{"fewer values", "a, b := must(strconv.Atoi(\"1\"))", "assignment mismatch: 2 variables but must returns 1 value"},
		{"another type", "var x int = must(os.ReadFile(\"a\"))", "(value of type []byte) as int value in variable declaration"},
		{"unknown in it", "must(nope())", "undefined: nope"},
		{"a member", "must.Load()", "undefined: must"},
		{"a circle", "var a = must(f(b))\nvar b = must(f(a))\nfunc f(int) (int, error) { return 0, nil }", "initialization cycle"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := libraryScope(t).Check("cell 1", tt.code)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %s", err, tt.want)
			}
		})
	}
}
