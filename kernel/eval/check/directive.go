package check

import (
	"fmt"
	"go/ast"
	"go/scanner"
	"go/token"
	"go/types"
	"os"
	"slices"
	"strconv"
	"strings"

	"cancha/kernel/eval/check/embed"
)

// A directive is a comment that the compiler obeys. Those about functions are handed to it (native); //go:embed is done here: its variable
// gets an initial value, a call of [Scope.Embedded]. The others would need the linker, or the whole program, and are refused: a cell
// that ran without them would give other results than Go.

// directive is one comment of the form //go:name. The offsets are those of the cell's code; next is where the token behind it begins.
type directive struct {
	name, args   string
	offset, next int
}

// unfit are the directives that no cell can have, with what to do instead.
var unfit = map[string]string{
	"linkname":           "a cell is not linked: put it into a package of its own, and import that (%get ./DIR)",
	"debug":              "it is for a whole program: %env GODEBUG=name=value sets it for the session",
	"wasmimport":         "a cell is no WebAssembly module",
	"wasmexport":         "a cell is no WebAssembly module",
	"cgo_import_dynamic": "only code that cgo has written may have it",
	"cgo_import_static":  "only code that cgo has written may have it",
	"cgo_export_static":  "only code that cgo has written may have it",
	"cgo_export_dynamic": "only code that cgo has written may have it",
	"cgo_dynamic_linker": "only code that cgo has written may have it",
	"cgo_ldflag":         "only code that cgo has written may have it",
	"cgo_unsafe_args":    "only code that cgo has written may have it",
	"systemstack":        "only package runtime may have it",
	"nowritebarrier":     "only package runtime may have it",
	"nowritebarrierrec":  "only package runtime may have it",
	"yeswritebarrierrec": "only package runtime may have it",
}

// directivesOf are the directives of a cell, wherever they stand.
func directivesOf(code string) (list []directive) {
	if !strings.Contains(code, "//go:") {
		return nil
	}
	var scan scanner.Scanner
	file := token.NewFileSet().AddFile("", -1, len(code))
	scan.Init(file, []byte(code), nil, scanner.ScanComments)
	waiting := 0 // those of list whose next is not known
	for {
		pos, tok, lit := scan.Scan()
		switch {
		case tok == token.COMMENT && strings.HasPrefix(lit, "//go:"):
			text := strings.TrimRight(strings.TrimPrefix(lit, "//go:"), "\r")
			name, args := text, ""
			if i := strings.IndexAny(text, " \t"); i >= 0 {
				name, args = text[:i], text[i+1:]
			}
			list = append(list, directive{name, args, file.Offset(pos), len(code)})
		case tok == token.COMMENT, tok == token.SEMICOLON && lit == "\n": // what a line's end implies is no token of the cell's
		case tok == token.EOF:
			return list
		default:
			for ; waiting < len(list); waiting++ {
				list[waiting].next = min(file.Offset(pos), len(code))
			}
		}
	}
}

// Embeds reports whether a cell's code has a go:embed directive, so that what it means depends on files.
func Embeds(code string) bool {
	return slices.ContainsFunc(directivesOf(code), func(d directive) bool { return d.name == "embed" })
}

// embedName is what the package that reads embedded files is called in the cell's syntax tree. No cell can spell it by accident.
const embedName = "embedded" + nameMark

// embedded is a variable over which go:embed stands.
type embedded struct {
	spec *ast.ValueSpec
	at   int // offset of the first directive
	args []string
	isFS bool
}

// directives does what the cell's directives ask for.
func (b *builder) directives() {
	code := b.cell.text.code
	specs := b.varSpecs()
	found := map[*ast.ValueSpec]*embedded{}
	var order []*embedded
	for _, d := range directivesOf(code) {
		if why, isUnfit := unfit[d.name]; isUnfit {
			b.errs.add(d.offset, fmt.Sprintf("a cell cannot have //go:%s: %s", d.name, why))
			continue
		}
		if d.name != "embed" {
			continue
		}
		spec := specs[d.next]
		if spec == nil {
			b.errs.add(d.offset, "misplaced go:embed directive: it stands above a var declaration of the cell, outside of functions and blocks")
			continue
		}
		if found[spec] == nil {
			found[spec] = &embedded{spec: spec, at: d.offset}
			order = append(order, found[spec])
		}
		found[spec].args = append(found[spec].args, d.args)
	}
	for _, e := range order {
		if err := b.embed(e); err != nil {
			b.errs.add(e.at, err.Error())
		}
	}
}

// varSpecs are the variables that var declarations among the statements declare, by the offset at which a directive finds them.
func (b *builder) varSpecs() map[int]*ast.ValueSpec {
	specs := map[int]*ast.ValueSpec{}
	for _, d := range b.body.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok || f.Body == nil {
			continue
		}
		for _, stmt := range f.Body.List {
			decl, ok := stmt.(*ast.DeclStmt)
			if !ok {
				continue
			}
			group, ok := decl.Decl.(*ast.GenDecl)
			if !ok || group.Tok != token.VAR {
				continue
			}
			for _, spec := range group.Specs {
				at := spec.Pos()
				if !group.Lparen.IsValid() {
					at = group.TokPos
				}
				specs[b.cell.text.offset(b.fset, at)] = spec.(*ast.ValueSpec)
			}
		}
	}
	return specs
}

// embed gives a variable the content of files as its initial value.
func (b *builder) embed(e *embedded) error {
	switch spec := e.spec; {
	case b.Embedded == "":
		return fmt.Errorf("this kernel cannot embed files: read them with os.ReadFile")
	case len(spec.Names) > 1:
		return fmt.Errorf("go:embed cannot apply to multiple vars")
	case len(spec.Values) > 0:
		return fmt.Errorf("go:embed cannot apply to var with initializer")
	case spec.Type == nil:
		return fmt.Errorf("go:embed cannot apply to var without type")
	}
	folder, files, err := e.files()
	if err != nil {
		return err
	}
	code := b.cell.text.code
	typ := code[b.cell.text.offset(b.fset, e.spec.Type.Pos()):b.cell.text.offset(b.fset, e.spec.Type.End())]
	value := ""
	e.isFS = b.isFS(e.spec.Type)
	switch {
	case e.isFS:
		value = embedName + ".Files(" + literals(append([]string{folder}, files...)) + ")"
	case len(files) > 1:
		return fmt.Errorf("invalid go:embed: multiple files for type %s", typ)
	default:
		value = "(" + typ + ")(" + embedName + ".Text(" + literals([]string{folder, files[0]}) + "))"
	}
	x, err := b.Scope.parseBehind(b.cell.text, e.at, value)
	if err != nil {
		return err
	}
	e.spec.Values = []ast.Expr{x}
	b.addSpec(embedName, b.Embedded)
	b.embeds = append(b.embeds, e)
	return nil
}

// files are the files that the directives name, below the folder that cells work in.
func (e *embedded) files() (folder string, files []string, err error) {
	var patterns []string
	for _, args := range e.args {
		list, err := embed.Patterns(args)
		if err != nil {
			return "", nil, err
		}
		patterns = append(patterns, list...)
	}
	if folder, err = os.Getwd(); err != nil {
		return "", nil, err
	}
	files, err = embed.Files(folder, patterns)
	return folder, files, err
}

// isFS reports whether a type's expression is embed.FS, as far as imports tell.
func (b *builder) isFS(x ast.Expr) bool {
	switch x := ast.Unparen(x).(type) {
	case *ast.SelectorExpr:
		pkg, ok := x.X.(*ast.Ident)
		return ok && x.Sel.Name == "FS" && b.pathOf(pkg.Name) == "embed"
	case *ast.Ident:
		return x.Name == "FS" && (slices.Contains(b.dots, "embed") || slices.Contains(b.cell.dots, "embed"))
	}
	return false
}

// pathOf is the path of the package that a name may mean.
func (b *builder) pathOf(name string) string {
	if path, ok := b.cell.imported[name]; ok {
		return path
	}
	if path, ok := b.Scope.imports[name]; ok {
		return path
	}
	return name // resolve assumes packages of the standard library
}

func literals(list []string) string {
	parts := make([]string, len(list))
	for i, s := range list {
		parts[i] = strconv.Quote(s)
	}
	return strings.Join(parts, ", ")
}

// refuseEmbedded refuses variables of other types than go:embed knows.
func (b *builder) refuseEmbedded() {
	for _, e := range b.embeds {
		t := b.cell.Info.TypeOf(e.spec.Type)
		switch {
		case t == nil, t == types.Typ[types.Invalid], e.isFS, isText(t):
		case types.Unalias(t).String() == "embed.FS":
			b.errs.add(e.at, "go:embed needs the name embed.FS itself here, no other name for it")
		default:
			b.errs.add(e.at, "go:embed cannot apply to var of type "+b.plainNames(types.TypeString(t, types.RelativeTo(b.cell.Pkg))))
		}
	}
}

// isText reports whether t is a string or a slice of bytes.
func isText(t types.Type) bool {
	switch u := t.Underlying().(type) {
	case *types.Basic:
		return u.Kind() == types.String
	case *types.Slice:
		elem, ok := u.Elem().Underlying().(*types.Basic)
		return ok && elem.Kind() == types.Uint8
	}
	return false
}
