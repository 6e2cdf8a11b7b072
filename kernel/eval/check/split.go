package check

import (
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"strings"
)

// kind is what a top-level piece of a cell is.
type kind int

const (
	statement   kind = iota
	declaration      // func, type, const
	variable         // var
	importing
	clause // package clause
	waits  // a declaration that waits for later cells, see Waiting
)

// piece is a top-level element of a cell: the bytes [start, end), its semicolon included.
type piece struct {
	kind       kind
	start, end int
	list       bool // it looks like several expressions with commas between them, which are no statement in Go
	stop       int  // its end without the semicolon
}

// fault is what is wrong with a cell's tokens, at a byte offset. Open tells that more text could mend it; depth is the
// number of brackets that are not closed.
type fault struct {
	offset int
	text   string
	open   bool
	depth  int
}

// split cuts a cell at its top-level semicolons, written or implied, in one pass over its tokens.
func split(code string) ([]piece, *fault) {
	s := splitter{code: code, start: -1, comments: -1}
	file := token.NewFileSet().AddFile("", -1, len(code))
	s.scan.Init(file, []byte(code), func(pos token.Position, msg string) { s.report(pos.Offset, msg) }, scanner.ScanComments)
	for s.fault == nil {
		pos, tok, lit := s.scan.Scan()
		offset := min(file.Offset(pos), len(code))
		if tok == token.EOF {
			s.finish(len(code))
			break
		}
		if tok == token.COMMENT {
			s.comment(offset)
			continue
		}
		s.token(offset, tok, lit)
		s.comments = -1
	}
	return s.pieces, s.fault
}

// Imports are what the text of a cell imports, wherever in it that stands, as far as its tokens can be read.
func Imports(code string) (specs []*ast.ImportSpec) {
	pieces, _ := split(code)
	for _, p := range pieces {
		if p.kind != importing {
			continue
		}
		if file, _ := parser.ParseFile(token.NewFileSet(), "", declPrefix+code[p.start:p.end], parser.ImportsOnly); file != nil {
			specs = append(specs, file.Imports...)
		}
	}
	return specs
}

type splitter struct {
	code   string
	scan   scanner.Scanner
	pieces []piece
	fault  *fault

	start int           // of the piece at hand, -1 between pieces
	head  []token.Token // its first tokens at depth 0, enough to know its kind
	open  []opening

	comments, behind int // since the last token: where comments begin, -1 without one; where the last that may have several lines ends

	commas, other bool        // at depth 0 it has commas, something that no expression has
	last          token.Token // at depth 0
}

type opening struct {
	tok    token.Token
	offset int
}

func (s *splitter) report(offset int, msg string) {
	if s.fault != nil {
		return
	}
	open := msg == "comment not terminated" || msg == "raw string literal not terminated"
	s.fault = &fault{offset: offset, text: msg, open: open}
}

// comment notes where a comment is. Its text would not tell its end: the scanner takes carriage returns out of that.
func (s *splitter) comment(offset int) {
	if s.comments < 0 {
		s.comments = offset
	}
	inside := offset + len("/*")
	if n := strings.Index(s.code[inside:], "*/"); n >= 0 && s.code[offset+1] == '*' {
		s.behind = inside + n + len("*/")
	}
}

// implied is where a semicolon stands that a line's end implies, and where what it ends has stopped: before comments, which the piece keeps to
// their end.
func (s *splitter) implied(offset int) (end, stop int) {
	if s.comments < 0 {
		return offset, offset
	}
	return max(offset, s.behind), s.comments
}

func (s *splitter) token(offset int, tok token.Token, lit string) {
	if s.start < 0 {
		s.start, s.head, s.commas, s.other = offset, s.head[:0], false, false
	}
	if tok == token.SEMICOLON && len(s.open) == 0 {
		offset, stop := offset+1, offset // a lone one is an empty statement
		if lit != ";" {
			offset, stop = s.implied(stop)
		}
		s.head = append(s.head, tok)
		s.finish(offset)
		if s.fault == nil {
			s.pieces[len(s.pieces)-1].stop = stop
		}
		return
	}
	if len(s.open) == 0 {
		s.commas, s.other, s.last = s.commas || tok == token.COMMA, s.other || !inExpression(tok), tok
	}
	if len(s.open) == 0 && len(s.head) < 8 {
		s.head = append(s.head, tok)
	}
	switch tok {
	case token.LPAREN, token.LBRACK, token.LBRACE:
		s.open = append(s.open, opening{tok, offset})
	case token.RPAREN, token.RBRACK, token.RBRACE:
		s.close(offset, tok)
	}
}

func (s *splitter) close(offset int, tok token.Token) {
	pairs := map[token.Token]token.Token{token.RPAREN: token.LPAREN, token.RBRACK: token.LBRACK, token.RBRACE: token.LBRACE}
	n := len(s.open)
	if n == 0 || s.open[n-1].tok != pairs[tok] {
		s.report(offset, "syntax error: unexpected "+tok.String())
		return
	}
	s.open = s.open[:n-1]
	if len(s.open) == 0 && len(s.head) < 8 {
		s.head = append(s.head, tok)
	}
}

func (s *splitter) finish(end int) {
	if s.fault != nil {
		return
	}
	if n := len(s.open); n > 0 {
		s.fault = &fault{len(s.code), "syntax error: unexpected end of cell, " + s.open[n-1].tok.String() + " is not closed", true, n}
		return
	}
	if s.start < 0 {
		return
	}
	p := piece{kind: kindOf(s.head), start: s.start, end: end, stop: end}
	p.list = p.kind == statement && s.commas && !s.other && s.last != token.COMMA
	s.pieces = append(s.pieces, p)
	s.start = -1
}

// inExpression reports whether tok is a token that an expression may have outside of brackets.
func inExpression(tok token.Token) bool {
	switch tok {
	case token.FUNC, token.MAP, token.CHAN, token.STRUCT, token.INTERFACE:
		return true
	case token.ASSIGN, token.DEFINE, token.INC, token.DEC, token.COLON, token.ELLIPSIS,
		token.ADD_ASSIGN, token.SUB_ASSIGN, token.MUL_ASSIGN, token.QUO_ASSIGN, token.REM_ASSIGN,
		token.AND_ASSIGN, token.OR_ASSIGN, token.XOR_ASSIGN, token.SHL_ASSIGN, token.SHR_ASSIGN, token.AND_NOT_ASSIGN:
		return false
	}
	return !tok.IsKeyword()
}

// listAtEnd is the last statement if it is several expressions with commas between them, nil otherwise. In a cell it shows their
// values.
func listAtEnd(pieces []piece) *piece {
	for i := len(pieces) - 1; i >= 0; i-- {
		switch p := &pieces[i]; {
		case p.kind == statement && p.list:
			return p
		case p.kind == statement || p.kind == variable:
			return nil
		}
	}
	return nil
}

// kindOf tells a piece's kind from its first tokens outside of brackets (the brackets themselves included).
func kindOf(head []token.Token) kind {
	switch head[0] {
	case token.IMPORT:
		return importing
	case token.PACKAGE:
		return clause
	case token.TYPE, token.CONST:
		return declaration
	case token.VAR:
		return variable
	case token.FUNC:
		if isFuncDecl(head[1:]) {
			return declaration
		}
	}
	return statement
}

// isFuncDecl tells "func name" and "func (r T) name(" from a function literal, whose parameters may be followed by a name
// too, but never by one and a parenthesis.
func isFuncDecl(head []token.Token) bool {
	if len(head) > 0 && head[0] == token.IDENT {
		return true
	}
	method := []token.Token{token.LPAREN, token.RPAREN, token.IDENT, token.LPAREN}
	if len(head) < len(method) {
		return false
	}
	for i, want := range method {
		if head[i] != want {
			return false
		}
	}
	return true
}

// keep returns code with every byte outside of the pieces of the given kinds blanked out, line breaks aside. Comments are
// kept with the piece that follows them, so that declarations find their doc comments.
func keep(code string, pieces []piece, kinds ...kind) string {
	wanted := func(k kind) bool {
		for _, w := range kinds {
			if w == k {
				return true
			}
		}
		return false
	}
	var b strings.Builder
	b.Grow(len(code))
	at := 0
	for _, p := range pieces {
		if wanted(p.kind) {
			b.WriteString(code[at:p.end])
		} else {
			blank(&b, code[at:p.end])
		}
		at = p.end
	}
	blank(&b, code[at:])
	return b.String()
}

func blank(b *strings.Builder, text string) {
	for i := range len(text) {
		if text[i] == '\n' {
			b.WriteByte('\n')
		} else {
			b.WriteByte(' ')
		}
	}
}
