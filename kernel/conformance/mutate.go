package main

import (
	"go/ast"
	"math/rand/v2"
	"strings"
)

// mutants returns copies of a program, each with another check inverted, in an order that seed chooses: what complains when
// something is not as it should be then complains when it is.
func mutants(source string, seed uint64) []string {
	if strings.Contains(source, "runtime.ReadMemStats") || strings.Contains(source, "runtime.SetFinalizer") {
		return nil // what the collector has done by then is not the program's alone
	}
	_, file, err := parseProgram(source)
	if err != nil {
		return nil
	}
	if !settled(file) {
		return nil
	}
	var checks []ast.Expr
	ast.Inspect(file, func(n ast.Node) bool {
		if s, ok := n.(*ast.IfStmt); ok && complains(s.Body) {
			checks = append(checks, s.Cond)
		}
		return true
	})
	out := make([]string, len(checks))
	for i, k := range rand.New(rand.NewPCG(seed, 1)).Perm(len(checks)) {
		from, to := int(checks[k].Pos()-file.FileStart), int(checks[k].End()-file.FileStart)
		out[i] = source[:from] + "!(" + source[from:to] + ")" + source[to:]
	}
	return out
}

// settled reports whether a program does the same each time, whatever check is inverted: it has no goroutines and no random numbers.
func settled(file *ast.File) bool {
	for _, i := range file.Imports {
		if i.Path.Value == `"math/rand"` || i.Path.Value == `"math/rand/v2"` {
			return false
		}
	}
	found := false
	ast.Inspect(file, func(n ast.Node) bool {
		_, is := n.(*ast.GoStmt)
		found = found || is
		return !found
	})
	return !found
}

// complains reports whether block panics or prints, itself and not in a function literal.
func complains(block *ast.BlockStmt) bool {
	found := false
	ast.Inspect(block, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			return false
		case *ast.CallExpr:
			found = found || complaint(n.Fun)
		}
		return !found
	})
	return found
}

// complaint reports whether fun is one of the functions with which Go's test programs complain.
func complaint(fun ast.Expr) bool {
	switch fun := fun.(type) {
	case *ast.Ident:
		switch fun.Name {
		case "panic", "print", "println", "fail", "die", "bug", "BUG", "errorf", "error_", "fatal", "report":
			return true
		}
	case *ast.SelectorExpr:
		pkg, ok := fun.X.(*ast.Ident)
		if !ok {
			return false
		}
		switch pkg.Name + "." + fun.Sel.Name {
		case "fmt.Print", "fmt.Println", "fmt.Printf", "log.Fatal", "log.Fatalf", "log.Fatalln", "log.Panic", "log.Panicf", "os.Exit":
			return true
		}
	}
	return false
}
