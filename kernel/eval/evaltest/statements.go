package evaltest

import (
	"go/scanner"
	"go/token"
	"strings"
)

// Without returns a cell without its types and methods, which are blank, and if all is set without its constants and functions too, but for
// main and init, which run with the cell. Left are the names of what it has left out, methods with their types: "T.m".
func Without(code string, all bool) (text string, left []string) {
	var s scanner.Scanner
	file := token.NewFileSet().AddFile("", -1, len(code))
	s.Init(file, []byte(code), nil, 0)
	p := piece{start: -1}
	blanked := []byte(code)
	for {
		pos, tok, lit := s.Scan()
		offset := min(file.Offset(pos), len(code))
		if tok == token.EOF || tok == token.SEMICOLON && p.depth == 0 {
			if names, ok := p.declares(all); ok {
				left = append(left, names...)
				blank(blanked[p.start:offset])
			}
			if tok == token.EOF {
				return string(blanked), left
			}
			p = piece{start: -1}
			continue
		}
		p.take(offset, tok, lit)
	}
}

// piece is a top-level piece of a cell as far as it has been read.
type piece struct {
	start, depth int
	toks         []token.Token // with what is in brackets
	lits         []string
	depths       []int
}

func (p *piece) take(offset int, tok token.Token, lit string) {
	if p.start < 0 {
		p.start = offset
	}
	p.toks, p.lits, p.depths = append(p.toks, tok), append(p.lits, lit), append(p.depths, p.depth)
	switch tok {
	case token.LPAREN, token.LBRACK, token.LBRACE:
		p.depth++
	case token.RPAREN, token.RBRACK, token.RBRACE:
		p.depth--
	}
}

// declares returns the names of a piece that is to be left out; ok is false for any other.
func (p *piece) declares(all bool) (names []string, ok bool) {
	if len(p.toks) < 2 {
		return nil, false
	}
	switch p.toks[0] {
	case token.TYPE:
		return p.specs(), true
	case token.CONST:
		return p.specs(), all
	case token.FUNC:
		if p.toks[1] == token.IDENT {
			return p.lits[1:2], all && p.lits[1] != "main" && p.lits[1] != "init"
		}
		return p.method()
	}
	return nil, false
}

// method is declares for a method, or a function literal.
func (p *piece) method() (names []string, ok bool) {
	for i := 2; i+2 < len(p.toks); i++ {
		if p.toks[i] == token.RPAREN && p.depths[i] == 1 { // ends the receiver
			return []string{p.receiver(i) + "." + p.lits[i+1]}, p.toks[i+1] == token.IDENT && p.toks[i+2] == token.LPAREN
		}
	}
	return nil, false
}

// receiver is the last name outside of brackets in front of token i.
func (p *piece) receiver(i int) string {
	for ; i > 0; i-- {
		if p.toks[i] == token.IDENT && p.depths[i] == 1 {
			return p.lits[i]
		}
	}
	return ""
}

func (p *piece) specs() (names []string) {
	if p.toks[1] == token.IDENT {
		return p.lits[1:2]
	}
	for i, tok := range p.toks {
		if tok == token.IDENT && p.depths[i] == 1 && (i == 2 || p.toks[i-1] == token.SEMICOLON || p.toks[i-1] == token.COMMA) {
			names = append(names, p.lits[i])
		}
	}
	return names
}

func blank(text []byte) {
	for i, c := range text {
		if c != '\n' {
			text[i] = ' '
		}
	}
}

// HasMagics tells whether a cell has lines that are no Go.
func HasMagics(code string) bool {
	for line := range strings.Lines(code) {
		if l := strings.TrimSpace(line); strings.HasPrefix(l, "%") || strings.HasPrefix(l, "!") || strings.HasPrefix(l, "?") {
			return true
		}
	}
	return false
}
