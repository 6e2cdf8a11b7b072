package notebook

import (
	"bytes"
	"go/scanner"
	"go/token"
)

// A cell may hold what no file of Go can at one place: imports and functions beside statements, in any order, and lines that are no Go. Here it
// is taken apart, so far as a parameters cell needs that. Every byte stays at its place, and what is left out is blank.

// mark is a token, and where it begins.
type mark struct {
	at  int
	tok token.Token
	lit string
}

// marks are the tokens of a text. What is no token has the kind token.ILLEGAL.
func marks(text []byte) (all []mark) {
	files := token.NewFileSet()
	file := files.AddFile("", -1, len(text))
	var s scanner.Scanner
	s.Init(file, text, func(token.Position, string) {}, 0)
	for {
		pos, tok, lit := s.Scan()
		all = append(all, mark{file.Offset(pos), tok, lit})
		if tok == token.EOF {
			return all
		}
	}
}

// stretches calls do with the tokens of each statement or declaration of the top level, and with where it ends, until it returns false.
func stretches(all []mark, do func(first []mark, end int) bool) {
	deep, begin := 0, 0
	for i, m := range all {
		switch m.tok {
		case token.LPAREN, token.LBRACK, token.LBRACE:
			deep++
		case token.RPAREN, token.RBRACK, token.RBRACE:
			deep--
		}
		if m.tok != token.EOF && (m.tok != token.SEMICOLON || deep > 0) {
			continue
		}
		if i > begin && !do(all[begin:i], m.at) {
			return
		}
		begin = i + 1
	}
}

// onlyGo blanks lines that are commands: %name, !command, ?name and name? where a statement could begin. Package kernel/eval/magic says what
// such a line is.
func onlyGo(source string) string {
	text := []byte(source)
	for from := 0; ; { // behind a command, another statement begins
		at := command(text[from:])
		if at < 0 {
			return string(text)
		}
		at += from
		end := at
		for end < len(text) && (text[end] != '\n' || text[at] == '!' && text[end-1] == '\\') {
			end++
		}
		blank(text[at:end])
		from = end
	}
}

// command is where the first line begins that is a command; -1: there is none.
func command(text []byte) (at int) {
	at = -1
	stretches(marks(text), func(first []mark, _ int) bool {
		m := first[0]
		switch before := text[:m.at]; {
		case len(bytes.TrimSpace(before[bytes.LastIndexByte(before, '\n')+1:])) > 0:
		case m.tok == token.REM, m.tok == token.NOT, m.lit == "?", m.tok == token.IDENT && len(first) > 1 && first[1].lit == "?":
			at = m.at
		}
		return at < 0
	})
	return at
}

func blank(text []byte) {
	for i, c := range text {
		if c != '\n' {
			text[i] = ' '
		}
	}
}

// parts are a cell's imports, its types and functions, and the rest of it.
func parts(source string) (imports, declared, rest string) {
	var all [3][]byte
	for i := range all {
		all[i] = []byte(source)
		blank(all[i])
	}
	stretches(marks([]byte(source)), func(first []mark, end int) bool {
		if end < len(source) && source[end] == ';' {
			end++
		}
		copy(all[partOf(first)][first[0].at:], source[first[0].at:end])
		return true
	})
	return string(all[0]), string(all[1]), string(all[2])
}

func partOf(first []mark) int {
	switch {
	case first[0].tok == token.IMPORT:
		return 0
	case first[0].tok == token.TYPE, first[0].tok == token.FUNC && !literal(first[1:]):
		return 1
	}
	return 2
}

// literal tells whether what follows func is no name of a function, nor a receiver and the name of a method.
func literal(after []mark) bool {
	if len(after) > 0 && after[0].tok == token.IDENT {
		return false
	}
	deep := 0
	for i, m := range after {
		switch m.tok {
		case token.LPAREN:
			deep++
		case token.RPAREN:
			deep--
		}
		if deep == 0 {
			return i+2 >= len(after) || after[i+1].tok != token.IDENT || after[i+2].tok != token.LPAREN
		}
	}
	return true
}
