package check

import (
	"go/ast"
	"go/types"
	"slices"
	"strconv"
	"strings"

	"cancha/kernel/cell"
)

// completeString completes in a string: the path of an import, a key of the map that the string is an index of, a column of the table
// whose method the string is given to, else a file.
func (s *Scope) completeString(code string, at place) cell.Completion {
	head := code[at.start:at.cursor]
	if at.path {
		return at.replaced(code, s.paths(head))
	}
	whole := at
	if at.end = at.word(code); at.quote == '"' {
		var err error
		if head, err = strconv.Unquote(`"` + head + `"`); err != nil {
			return at.replaced(code, nil) // the cursor is in the middle of an escape
		}
	}
	names, files := s.names(code, whole)
	if matches := at.quoted(names.matching(head)); len(matches) > 0 || !files || s.Outside.Files == nil {
		return at.replaced(code, matches)
	}
	matches := at.quoted(s.Outside.Files(head))
	if at.end < len(code) && code[at.end] == '/' {
		for i := range matches { // the folder's separator is there
			matches[i].Text = strings.TrimSuffix(matches[i].Text, "/")
		}
	}
	return at.replaced(code, matches)
}

// word is where the word at the cursor ends: at the end of the string or a separator of paths. Where the rest does not look like one
// (the string may not be closed, and code follows), it ends at the cursor.
func (p place) word(code string) int {
	rest := code[p.cursor:p.end]
	if i := strings.IndexByte(rest, '/'); i >= 0 {
		rest = rest[:i]
	}
	if strings.ContainsAny(rest, "()[]{}'\",;+=\n") || !p.closed && rest != "" {
		return p.cursor
	}
	return p.cursor + len(rest)
}

// quoted writes matches as they stand in the string. What a raw one cannot hold is left out.
func (p place) quoted(matches []cell.Match) []cell.Match {
	matches = slices.Clone(matches)
	if p.quote == '`' {
		return slices.DeleteFunc(matches, func(m cell.Match) bool { return !strconv.CanBackquote(m.Text) })
	}
	for i, m := range matches {
		quoted := strconv.Quote(m.Text)
		matches[i].Text = quoted[1 : len(quoted)-1]
	}
	return matches
}

// names are the keys or columns that a string at the cursor may name; files tells that it may be a path, too.
func (s *Scope) names(code string, at place) (names candidates, files bool) {
	if s.Outside.Value == nil {
		return nil, true
	}
	start := at.start - 1
	if at.closed {
		at.end++
	} else {
		at.end = at.cursor // what is behind belongs to the code
	}
	b := s.sketch(at.with(code, hole+string(at.quote)))
	if b == nil {
		return nil, true
	}
	lit, around := nodeAt[*ast.BasicLit](b, start)
	if lit == nil {
		return nil, true
	}
	defer func() {
		if recover() != nil { // reflect, of a field behind a nil pointer
			names, files = nil, true
		}
	}()
	l, release := live{b: b, scope: s}.still()
	defer release()
	switch parent := around[len(around)-1].(type) {
	case *ast.IndexExpr:
		if parent.Index == ast.Expr(lit) {
			return l.keys(parent.X), false
		}
	case *ast.CallExpr:
		if i := slices.Index(parent.Args, ast.Expr(lit)); i >= 0 {
			return l.arguments(parent, i)
		}
	}
	return nil, true
}

// arguments are the names that may stand as an argument of a call: a map's keys for delete, and columns of what has the method or is
// another argument.
func (l live) arguments(call *ast.CallExpr, i int) (names candidates, files bool) {
	if id, ok := ast.Unparen(call.Fun).(*ast.Ident); ok && l.b.cell.Info.Uses[id] == types.Universe.Lookup("delete") {
		return l.keys(call.Args[0]), false
	}
	if isPath(l.b.cell.Info.TypeOf(call.Fun), i) {
		return nil, true
	}
	holders := slices.Clone(call.Args)
	if sel, ok := ast.Unparen(call.Fun).(*ast.SelectorExpr); ok {
		holders = append([]ast.Expr{sel.X}, holders...)
	}
	for _, x := range holders {
		if names := l.columns(x); len(names) > 0 {
			return names, true
		}
	}
	return nil, true
}

// isPath reports whether a parameter has a name that says that it is the path of a file.
func isPath(t types.Type, i int) bool {
	sig, ok := t.(*types.Signature)
	if !ok || sig.Params().Len() == 0 {
		return false
	}
	name := strings.ToLower(sig.Params().At(min(i, sig.Params().Len()-1)).Name())
	return slices.Contains([]string{"path", "paths", "file", "files", "filename", "dir", "folder"}, name)
}
