package check

import (
	"go/ast"
	"go/scanner"
	"go/token"
	"go/types"
	"slices"
	"strings"
	"unicode/utf8"
)

// hole stands for the name that is being written. As in bodyName, no cell spells it by accident.
const hole = "holeᐧ"

// place is where a cursor stands in a cell that may be half written. Offsets are bytes.
type place struct {
	start, end int  // of the name at the cursor; equal where there is none
	cursor     int  // start ≤ cursor ≤ end
	text       bool // inside of a string or comment
	number     bool // at the end of a number
	literal    bool // inside of a string: its text is from start to end
	quote      byte // the sign that the string begins with,
	closed     bool // and whether it ends with it
	path       bool // inside of the string of an import
	open       []call
}

// call is an open bracket in front of a cursor, with the name right before it.
type call struct {
	tok        token.Token
	start, end int // of the name, equal without one
}

// ByteOffset turns a cursor that counts code points into a byte offset.
func ByteOffset(code string, cursor int) int {
	for i := range code {
		if cursor <= 0 {
			return i
		}
		cursor--
	}
	return len(code)
}

// locate finds what is around a byte offset.
func locate(code string, cursor int) place {
	l := locator{place: place{start: cursor, end: cursor, cursor: cursor}}
	file := token.NewFileSet().AddFile("", -1, len(code))
	var scan scanner.Scanner
	scan.Init(file, []byte(code), func(token.Position, string) {}, scanner.ScanComments)
	for {
		pos, tok, lit := scan.Scan()
		offset := min(file.Offset(pos), len(code))
		if tok == token.EOF || offset > cursor || offset == cursor && !isName(tok) {
			return l.place
		}
		if l.take(offset, tok, lit, cursor) {
			return l.place
		}
	}
}

type locator struct {
	place
	inside    bool // between the first token of a piece and its end
	importing bool
	start     int // of the name before this token
	end       int
}

func isName(tok token.Token) bool { return tok == token.IDENT || tok.IsKeyword() }

// take notes a token that begins before the cursor, or is a name that begins there; done tells that the cursor is in it.
func (l *locator) take(offset int, tok token.Token, lit string, cursor int) (done bool) {
	end := offset + len(lit)
	if !l.inside && tok != token.COMMENT {
		l.inside, l.importing = true, tok == token.IMPORT
	}
	switch tok {
	case token.COMMENT:
		lineComment := strings.HasPrefix(lit, "//")
		if cursor < end || cursor == end && (lineComment || !strings.HasSuffix(lit, "*/")) {
			l.text = true
			return true
		}
		return false
	case token.STRING, token.CHAR:
		if cursor < end || cursor == end && unterminated(lit) {
			l.text, l.literal, l.quote, l.closed = true, tok == token.STRING, lit[0], !unterminated(lit)
			l.path = l.importing && l.literal
			l.place.start, l.place.end = offset+1, max(end-1, offset+1)
			if !l.closed {
				l.place.end = end
			}
			return true
		}
	case token.INT, token.FLOAT, token.IMAG:
		l.number = cursor <= end
		return l.number
	case token.LPAREN, token.LBRACK, token.LBRACE:
		l.open = append(l.open, call{tok, l.start, l.end})
	case token.RPAREN, token.RBRACK, token.RBRACE:
		if n := len(l.open); n > 0 {
			l.open = l.open[:n-1]
		}
	case token.SEMICOLON:
		l.inside = len(l.open) > 0
	}
	l.start, l.end = offset, offset
	if isName(tok) {
		l.end = end
		if cursor <= end {
			l.place.start, l.place.end = offset, end
			return true
		}
	}
	return false
}

func unterminated(lit string) bool { return len(lit) < 2 || lit[len(lit)-1] != lit[0] }

// closers ends what is open in front of the cursor.
func (p place) closers() string {
	pairs := map[token.Token]string{token.LPAREN: ")", token.LBRACK: "]", token.LBRACE: "}"}
	var b strings.Builder
	for _, o := range slices.Backward(p.open) {
		b.WriteString(pairs[o.tok])
	}
	return b.String()
}

// with returns the code with another name in the place, cut off behind it and closed where the whole is not balanced.
func (p place) with(code, name string) string {
	whole := code[:p.start] + name + code[p.end:]
	if _, fault := split(whole); fault == nil {
		return whole
	}
	return code[:p.start] + name + p.closers()
}

// sketch checks as much of a cell as can be understood; errors do not matter and the scope stays as it is. It returns nil
// where nothing can.
func (s *Scope) sketch(code string) (b *builder) {
	b = newBuilder(&Scope{
		fset: token.NewFileSet(), importer: s.importer, packages: s.packages, byPath: s.byPath, byName: s.byName,
		library: s.unimported(), objects: s.objects, imports: s.imports, dots: s.dots, texts: map[string]*text{}, phantom: s.phantom,
		universe: s.universe, waiting: s.waiting,
	}, "this cell", code)
	defer func() {
		if recover() != nil { // the checker, on a tree that it was not made for
			b = nil
		}
	}()
	b.parse()
	if b.body == nil || b.decls == nil {
		return nil
	}
	for _, step := range []func(){b.imports, b.moveVariables, b.resolve} {
		step()
	}
	if b.cell.Body == nil {
		return nil
	}
	b.check()
	return b
}

// find returns the identifier that starts at a byte of the sketched code, and the nodes around it, outermost first.
func (b *builder) find(offset int) (found *ast.Ident, around []ast.Node) {
	return nodeAt[*ast.Ident](b, offset)
}

// nodeAt is find for any kind of node.
func nodeAt[N interface {
	comparable
	ast.Node
}](b *builder, offset int) (found N, around []ast.Node) {
	var none N
	for _, f := range []*ast.File{b.decls, b.body} {
		ast.PreorderStack(f, nil, func(n ast.Node, stack []ast.Node) bool {
			if x, ok := n.(N); ok && found == none && b.startsAt(x, offset) {
				found, around = x, slices.Clone(stack)
			}
			return found == none
		})
	}
	return found, around
}

// startsAt tells whether a node was written at a byte of the cell.
func (b *builder) startsAt(n ast.Node, offset int) bool {
	if id, ok := n.(*ast.Ident); ok && id.Name == valuesName {
		return false
	}
	file := b.fset.File(n.Pos())
	return file != nil && b.cell.text.files[file.Name()].offset(file.Offset(n.Pos())) == offset
}

// object is what an identifier means, nil where the checker does not know.
func (b *builder) object(id *ast.Ident, around []ast.Node) types.Object {
	if o := b.cell.Info.ObjectOf(id); o != nil {
		return o
	}
	sel, ok := around[len(around)-1].(*ast.SelectorExpr)
	if !ok || sel.Sel != id {
		return nil
	}
	t := b.cell.Info.TypeOf(sel.X)
	if t == nil {
		return nil
	}
	o, _, _ := types.LookupFieldOrMethod(t, true, b.cell.Pkg, id.Name) // a method expression of the wrong receiver
	return o
}

// codePoints counts those of a text.
func codePoints(text string) int { return utf8.RuneCountInString(text) }
