package lower

import (
	"fmt"
	"go/scanner"
	"go/token"
	"regexp"
	"slices"
	"strings"
)

// A cell's declarations stay for the life of the program, in one interpreter. Its statements run once: their function is given
// pointers to the variables and the functions that it mentions, and repeats the types, so that it can run in an interpreter
// that is thrown away. Yaegi keeps every function that it has ever compiled.

// ownName finds the names that the lowerer made; they are unique in the program.
var ownName = regexp.MustCompile(`[\pL\pN_]*ᐧ[\pL\pN_ᐧ]*`)

// markTag is the tag that makes a type one of a kind: it names the type itself.
var markTag = regexp.MustCompile(`cancha:\\?"[^"\\]*\\?"`)

// mentions are the lowerer's names in a text, each once, in order.
func mentions(text string) []string {
	var names []string
	seen := map[string]bool{}
	for _, name := range ownName.FindAllString(text, -1) {
		if !seen[name] {
			seen[name] = true
			names = append(names, name)
		}
	}
	return names
}

// assemble makes the unit of what the writer has collected.
func (l *Lowerer) assemble(name string) *Unit {
	l.record()
	u := &Unit{Body: Body{Name: name, Line: new(int)}, Names: l.out.names, Moves: l.out.moves, Notes: l.out.notes}
	l.assembleBody(&u.Body)
	l.assembleSource(u)
	return u
}

// record keeps what bodies may want of the writer's declarations.
func (l *Lowerer) record() {
	for _, text := range l.out.types {
		set(l, l.texts, nameIn(text, "type "), Declaration{Name: nameIn(text, "type "), Text: text})
	}
	for _, text := range l.out.funcs {
		if !strings.HasPrefix(text, "func ") {
			continue
		}
		set(l, l.heads, nameIn(text, "func "), head(text))
	}
}

// nameIn is the name that a declaration declares.
func nameIn(text, keyword string) string {
	return ownName.FindString(strings.TrimPrefix(text, keyword))
}

// assembleBody completes the function of the statements: its parameters, and what it needs besides.
func (l *Lowerer) assembleBody(b *Body) {
	params := []string{LineVariable + " *int"}
	b.Params = []string{LineVariable}
	names := mentions(l.out.body)
	for _, name := range names {
		switch {
		case l.variables[name] != "":
			params = append(params, name+" *"+l.variables[name])
		case l.heads[name] != "":
			params = append(params, name+" "+l.heads[name])
			l.share(name)
		default:
			continue
		}
		b.Params = append(b.Params, name)
	}
	text := "(" + strings.Join(params, ", ") + ")"
	b.Source = "func " + b.Name + text + l.out.body
	uses := list{texts: l.texts, state: map[string]int{}}
	for _, name := range mentions(text + l.out.body) {
		uses.add(name)
	}
	b.Stays, b.Uses = uses.circle, slices.Concat(uses.imports, uses.types)
}

// share hands a function to those who give functions to bodies.
func (l *Lowerer) share(name string) {
	if !l.shared[name] {
		set(l, l.shared, name, true)
		l.setup("%s.%s(%q, %s)", runtimeAlias, ShareFunction, name, name)
	}
}

// list collects types and imports, each behind what it mentions itself.
type list struct {
	texts          map[string]Declaration
	state          map[string]int // 1: being added, 2: added
	imports, types []Declaration
	circle         bool // a type mentions itself
}

func (u *list) add(name string) {
	d, ok := u.texts[name]
	if !ok || u.state[name] == 2 {
		return
	}
	if d.Path != "" {
		u.state[name] = 2
		u.imports = append(u.imports, d)
		return
	}
	if u.state[name] == 1 {
		u.circle = true
		return
	}
	u.state[name] = 1
	for _, other := range mentions(markTag.ReplaceAllString(strings.TrimPrefix(d.Text, "type "+name), "")) {
		u.add(other)
	}
	u.state[name] = 2
	u.types = append(u.types, d)
}

// assembleSource writes the declarations, with the imports that those of the cells before have not brought.
func (l *Lowerer) assembleSource(u *Unit) {
	parts := slices.Concat(l.out.types, l.out.vars, l.out.funcs)
	if len(l.out.setup) > 0 {
		parts = append(parts, "func init() {\n"+strings.Join(l.out.setup, "\n")+"\n}")
	}
	text := strings.Join(parts, "\n") + "\n"
	scanned := text
	if u.Body.Stays {
		u.Body.Uses = nil
		scanned += u.Body.Source
	}
	for _, name := range mentions(scanned) {
		d, ok := l.texts[name]
		if !ok || d.Path == "" || l.imported[name] {
			continue
		}
		set(l, l.imported, name, true)
		u.Imports = append(u.Imports, d)
	}
	if strings.TrimSpace(text) == "" {
		return
	}
	u.Source = "package main\n" + text
	for _, v := range l.out.vars {
		u.Vars = append(u.Vars, nameIn(v, "var "))
	}
}

// head is the type of a function, out of its declaration.
func head(decl string) string {
	var s scanner.Scanner
	s.Init(token.NewFileSet().AddFile("", -1, len(decl)), []byte(decl), nil, 0)
	start, depth, before := 0, 0, token.ILLEGAL
	for {
		pos, tok, _ := s.Scan()
		at := int(pos) - 1
		switch {
		case tok == token.EOF:
			panic(fmt.Sprintf("no body in %s", decl)) // ours
		case tok == token.LPAREN && start == 0:
			start = at
		case tok == token.LBRACE && (depth > 0 || before == token.STRUCT || before == token.INTERFACE):
			depth++
		case tok == token.RBRACE:
			depth--
		case tok == token.LBRACE:
			return "func" + strings.TrimSpace(decl[start:at])
		}
		before = tok
	}
}
