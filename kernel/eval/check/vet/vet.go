// Package vet says of a cell's calls that print what go vet says of them: verbs that do not fit, arguments that are missing or too many. It
// ends at a remark's place and text: where a note about it goes is for others to say.
package vet

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"reflect"
	"runtime"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/passes/inspect"
	"golang.org/x/tools/go/analysis/passes/printf"
)

// Cell is a checked cell, and the version of the language that it was checked against.
type Cell struct {
	FileSet   *token.FileSet
	Decls     []ast.Decl
	Pkg       *types.Package
	Info      *types.Info
	GoVersion string // "go1.26"
}

// Remark is one thing that go vet has to say.
type Remark struct {
	Pos  token.Pos
	Text string
}

// Printers are the functions of cells, and the variables that hold a function, whose arguments are handed on to fmt. The zero value knows
// none. Its methods are for one goroutine at a time.
type Printers struct {
	facts map[types.Object]analysis.Fact
}

// printing are the packages of the standard library whose functions go vet knows to print.
var printing = map[string]bool{"fmt": true, "log": true, "runtime/trace": true, "testing": true}

// Called reports whether code with these uses may call something that prints. It is quick: most cells print in some way or not at all.
func (p *Printers) Called(uses map[*ast.Ident]types.Object) bool {
	for _, o := range uses {
		if p.facts[origin(o)] != nil {
			return true
		}
		if f, ok := o.(*types.Func); ok && f.Pkg() != nil && printing[f.Pkg().Path()] {
			return true
		}
	}
	return false
}

func origin(o types.Object) types.Object {
	switch o := o.(type) {
	case *types.Func:
		return o.Origin()
	case *types.Var:
		return o.Origin()
	}
	return o
}

// Alias makes an object known as what another one is: the session's variable for that of a cell.
func (p *Printers) Alias(alias, of types.Object) {
	if fact := p.facts[of]; fact != nil {
		p.facts[alias] = fact
	}
}

// Remarks returns what go vet says of a cell's calls, in their order, and keeps in mind which functions of the cell print. The error is that
// of an analysis which could not be made.
func (p *Printers) Remarks(c Cell) (remarks []Remark, err error) {
	defer func() {
		if fault := recover(); fault != nil { // of code that is checked, but not as a file
			remarks, err = nil, fmt.Errorf("printf analysis: %v", fault)
		}
	}()
	file := &ast.File{Name: ast.NewIdent("main"), Decls: c.Decls}
	if n := len(c.Decls); n > 0 {
		file.Package = c.Decls[n-1].Pos() // the length of the file is how much memory the analysis begins with
	}
	info := *c.Info
	info.FileVersions = map[*ast.File]string{file: c.GoVersion}
	pass := &analysis.Pass{
		Analyzer: printf.Analyzer, Fset: c.FileSet, Files: []*ast.File{file}, Pkg: c.Pkg, TypesInfo: &info,
		TypesSizes:       types.SizesFor("gc", runtime.GOARCH),
		ResultOf:         map[*analysis.Analyzer]any{},
		Report:           func(d analysis.Diagnostic) { remarks = append(remarks, Remark{d.Pos, d.Message}) },
		ImportObjectFact: p.fact,
		ExportObjectFact: p.keep,
	}
	for _, a := range []*analysis.Analyzer{inspect.Analyzer, printf.Analyzer} {
		if pass.ResultOf[a], err = a.Run(pass); err != nil {
			return nil, fmt.Errorf("printf analysis: %w", err)
		}
	}
	return remarks, nil
}

func (p *Printers) fact(o types.Object, to analysis.Fact) bool {
	fact := p.facts[o]
	if fact == nil {
		return false
	}
	reflect.ValueOf(to).Elem().Set(reflect.ValueOf(fact).Elem())
	return true
}

func (p *Printers) keep(o types.Object, fact analysis.Fact) {
	if p.facts == nil {
		p.facts = map[types.Object]analysis.Fact{}
	}
	p.facts[o] = fact
}
