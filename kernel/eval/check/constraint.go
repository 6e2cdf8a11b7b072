package check

import (
	"fmt"
	"go/ast"
	"go/build"
	"go/build/constraint"
	"go/scanner"
	"go/token"
	"go/version"
	"io"
	"runtime"
	"strings"
)

// A build constraint at the head of a cell is obeyed as at the head of a file. Go would leave a file out without a word; a cell that it
// would leave out is refused, since its user expects it to run.

// cellFile is what a cell's head is called while package build looks at it. The name itself has to imply no constraint.
const cellFile = "cell.go"

// constraints refuses a cell whose build constraint does not hold.
func (b *builder) constraints() {
	code := b.cell.text.code[b.cell.text.head:]
	line, end := constraintOf(code)
	if line == nil {
		return
	}
	at := b.cell.text.head + line.offset
	switch holds, err := obeyed(code[:end]); {
	case err != nil:
		b.errs.add(at, strings.TrimPrefix(err.Error(), cellFile+": "))
	case !holds:
		b.errs.add(at, fmt.Sprintf("%s does not hold here (%s, %s, %s, no tags of your own), and Go would leave this code out: remove the line to run it",
			line.text, runtime.GOOS, runtime.GOARCH, GoVersion))
	case line.sharesLoops() && b.declaresInLoops():
		b.errs.add(at, fmt.Sprintf("with %s all turns of a loop share its variables in Go, and they do not in a cell: remove the line", line.text))
	}
}

// constraintLine is the first line of a head that may be a build constraint, at its offset in the code.
type constraintLine struct {
	text   string
	offset int
}

// constraintOf returns that line, nil if there is none, and the offset at which the head ends: that of the first token.
func constraintOf(code string) (line *constraintLine, end int) {
	var scan scanner.Scanner
	file := token.NewFileSet().AddFile("", -1, len(code))
	scan.Init(file, []byte(code), nil, scanner.ScanComments)
	for {
		pos, tok, text := scan.Scan()
		if tok != token.COMMENT {
			return line, min(file.Offset(pos), len(code))
		}
		text = strings.TrimSpace(text)
		isGoBuild := constraint.IsGoBuild(text)
		if isGoBuild && (line == nil || !constraint.IsGoBuild(line.text)) || line == nil && constraint.IsPlusBuild(text) {
			line = &constraintLine{text, file.Offset(pos)}
		}
	}
}

// obeyed reports whether Go would take a file with this head on this machine. What a +build line needs to count is Go's to know.
func obeyed(head string) (bool, error) {
	ctx := build.Default
	ctx.GOOS, ctx.GOARCH = runtime.GOOS, runtime.GOARCH // not those of the environment: the cell runs here
	ctx.OpenFile = func(string) (io.ReadCloser, error) {
		return io.NopCloser(strings.NewReader(head + "package main\n")), nil
	}
	return ctx.MatchFile("", cellFile)
}

// sharesLoops reports whether the line sets the file's language to one before Go 1.22.
func (l *constraintLine) sharesLoops() bool {
	if !constraint.IsGoBuild(l.text) {
		return false
	}
	x, err := constraint.Parse(l.text)
	if err != nil {
		return false
	}
	least := constraint.GoVersion(x)
	return least != "" && version.Compare(least, "go1.22") < 0
}

// declaresInLoops reports whether a loop of the cell declares variables of its own.
func (b *builder) declaresInLoops() (found bool) {
	for _, f := range []*ast.File{b.decls, b.body} {
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.RangeStmt:
				found = found || n.Tok == token.DEFINE
			case *ast.ForStmt:
				init, ok := n.Init.(*ast.AssignStmt)
				found = found || ok && init.Tok == token.DEFINE
			}
			return !found
		})
	}
	return found
}
