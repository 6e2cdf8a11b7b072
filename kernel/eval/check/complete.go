package check

import (
	"cmp"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"cancha/kernel/cell"
)

// Complete returns the names that may complete the one at a cursor: members after a dot, fields in a literal, otherwise what is visible at
// that place. They are matched with the part of the name before the cursor, and replace the whole name. In a string see completeString.
func (s *Scope) Complete(code string, cursor int) cell.Completion {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.nameCells()()
	at := locate(code, ByteOffset(code, cursor))
	if at.literal {
		return s.plainly(s.completeString(code, at))
	}
	if at.number || at.text {
		return at.replaced(code, nil)
	}
	var found candidates
	if b := s.sketch(at.with(code, hole)); b != nil {
		if id, around := b.find(at.start); id != nil {
			found = b.candidates(id, around, at.start < at.cursor)
		}
	}
	return s.plainly(at.replaced(code, found.matching(code[at.start:at.cursor])))
}

// plainly writes the types of what is offered as a user knows them.
func (s *Scope) plainly(c cell.Completion) cell.Completion {
	for i, m := range c.Matches {
		c.Matches[i].Signature = s.plainNames(m.Signature, func(string) bool { return false })
	}
	return c
}

// replaced offers matches for the name at a cursor.
func (p place) replaced(code string, matches []cell.Match) cell.Completion {
	if len(matches) == 0 {
		cursor := codePoints(code[:p.cursor])
		return cell.Completion{Matches: []cell.Match{}, Start: cursor, End: cursor}
	}
	return cell.Completion{Matches: matches, Start: codePoints(code[:p.start]), End: codePoints(code[:p.end])}
}

// candidate is a name to offer. Those of a lower rank come first.
type candidate struct {
	cell.Match
	rank int
}

// The ranks, nearest first.
const (
	rankField = iota
	rankLocal
	rankSession
	rankImported
	rankLanguage
	rankLibrary // not imported: of the standard library
	rankForeign // and of others
)

type candidates []candidate

// matching are those that begin with a prefix, in its case or, if there are none, in any.
func (c candidates) matching(prefix string) []cell.Match {
	fits := c.begin(func(text string) bool { return strings.HasPrefix(text, prefix) })
	if len(fits) == 0 {
		fits = c.begin(func(text string) bool {
			return len(text) >= len(prefix) && strings.EqualFold(text[:len(prefix)], prefix)
		})
	}
	return fits
}

func (c candidates) begin(fits func(string) bool) []cell.Match {
	var kept candidates
	for _, one := range c {
		if fits(one.Text) && !strings.Contains(one.Text, "ᐧ") && one.Text != "_" {
			kept = append(kept, one)
		}
	}
	slices.SortStableFunc(kept, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(a.Text, b.Text))
	})
	var out []cell.Match
	seen := map[string]bool{}
	for _, one := range kept {
		if !seen[one.Text] {
			seen[one.Text] = true
			out = append(out, one.Match)
		}
	}
	return out
}

func (c *candidates) add(rank int, text, kind, signature string) {
	*c = append(*c, candidate{cell.Match{Text: text, Type: kind, Signature: signature}, rank})
}

func (c *candidates) object(rank int, o types.Object) {
	c.add(rank, o.Name(), kindOfObject(o), brief(o))
}

// kindOfObject is the word of Match.Type.
func kindOfObject(o types.Object) string {
	switch o := o.(type) {
	case *types.Const, *types.Nil:
		return "constant"
	case *types.TypeName:
		return "type"
	case *types.PkgName:
		return "module"
	case *types.Builtin:
		return "function"
	case *types.Func:
		if o.Signature().Recv() != nil {
			return "method"
		}
		return "function"
	case *types.Var:
		if o.IsField() {
			return "field"
		}
	}
	return "variable"
}

// brief is a function's signature without the word func, and the type of anything else that has one.
func brief(o types.Object) string {
	switch o := o.(type) {
	case *types.Func:
		return strings.TrimPrefix(types.TypeString(o.Type(), qualifier), "func")
	case *types.Var, *types.Const:
		return types.TypeString(o.Type(), qualifier)
	}
	return ""
}

// qualifier writes packages by their names and leaves out the cells' own, but for their marks (see nameCells).
func qualifier(p *types.Package) string {
	if p.Name() == "main" {
		return ""
	}
	return p.Name()
}

// paths are the import paths that begin with a text or, if there are none, those with an element that does: stat is enough for
// gonum.org/v1/gonum/stat.
func (s *Scope) paths(text string) []cell.Match {
	var c candidates
	for _, p := range s.packages {
		c.add(rankLibrary, p.Path, "module", "")
	}
	if found := c.matching(text); len(found) > 0 {
		return found
	}
	return c.begin(func(path string) bool { return strings.Contains(path, "/"+text) })
}

// candidates are the names that make sense for an identifier. Begun tells that a letter of it was written.
func (b *builder) candidates(id *ast.Ident, around []ast.Node, begun bool) candidates {
	var c candidates
	if sel, ok := around[len(around)-1].(*ast.SelectorExpr); ok && sel.Sel == id {
		b.members(&c, sel.X)
		return c
	}
	b.literalFields(&c, id, around)
	b.visible(&c, id)
	for tok := token.BREAK; tok <= token.VAR; tok++ {
		c.add(rankLanguage, tok.String(), "keyword", "")
	}
	if begun {
		c = append(c, b.unimported()...)
	}
	return c
}

// members are what may follow "x.".
func (b *builder) members(c *candidates, x ast.Expr) {
	if id, ok := x.(*ast.Ident); ok {
		if p, ok := b.cell.Info.Uses[id].(*types.PkgName); ok {
			exported(c, rankField, p.Imported())
			if b.assumed[id.Name] {
				b.unimportedMembers(c, id.Name)
			}
			return
		}
		if b.cell.Info.ObjectOf(id) == nil {
			b.unimportedMembers(c, id.Name)
			return
		}
	}
	if t := b.cell.Info.TypeOf(x); t != nil {
		fieldsAndMethods(c, t)
	}
}

func exported(c *candidates, rank int, p *types.Package) {
	for _, name := range p.Scope().Names() {
		if o := p.Scope().Lookup(name); o.Exported() {
			c.object(rank, o)
		}
	}
}

// fieldsAndMethods are the members of a type, promoted ones included, that a cell may name.
func fieldsAndMethods(c *candidates, t types.Type) {
	_, isPointer := t.Underlying().(*types.Pointer)
	receiver := t
	if !isPointer && !types.IsInterface(t) {
		receiver = types.NewPointer(t) // what can be addressed has these methods too
	}
	methods := types.NewMethodSet(receiver)
	for i := range methods.Len() {
		if o := methods.At(i).Obj(); accessible(o) {
			c.object(rankLocal, o)
		}
	}
	fields(c, t, map[types.Type]bool{})
}

func accessible(o types.Object) bool {
	return o.Exported() || o.Pkg() != nil && o.Pkg().Path() == "main"
}

func fields(c *candidates, t types.Type, seen map[types.Type]bool) {
	s, ok := structOf(t)
	if !ok || seen[t] {
		return
	}
	seen[t] = true
	for f := range s.Fields() {
		if accessible(f) {
			c.object(rankField, f)
		}
		if f.Embedded() {
			fields(c, f.Type(), seen)
		}
	}
}

// structOf is the struct that a type, or what it points to, is made of.
func structOf(t types.Type) (*types.Struct, bool) {
	if p, ok := t.Underlying().(*types.Pointer); ok {
		t = p.Elem()
	}
	s, ok := t.Underlying().(*types.Struct)
	return s, ok
}

// literalFields are the fields of the struct whose literal the identifier is an element or key of.
func (b *builder) literalFields(c *candidates, id *ast.Ident, around []ast.Node) {
	around = slices.Clone(around)
	if kv, ok := around[len(around)-1].(*ast.KeyValueExpr); ok && kv.Key == ast.Expr(id) && len(around) > 1 {
		around = around[:len(around)-1]
	}
	lit, ok := around[len(around)-1].(*ast.CompositeLit)
	if !ok || lit.Type == ast.Expr(id) {
		return
	}
	t := b.cell.Info.TypeOf(lit)
	if t == nil {
		return
	}
	if s, ok := structOf(t); ok {
		for f := range s.Fields() {
			if accessible(f) {
				c.object(rankField, f)
			}
		}
	}
}

// visible are the names of all scopes around an identifier, the session's and the language's.
func (b *builder) visible(c *candidates, id *ast.Ident) {
	pkg := b.cell.Pkg.Scope()
	for scope := pkg.Innermost(id.Pos()); scope != nil && scope != pkg && scope != types.Universe; scope = scope.Parent() {
		for _, name := range scope.Names() {
			o := scope.Lookup(name)
			if _, imported := o.(*types.PkgName); imported {
				c.object(rankImported, o)
			} else if o.Pos() < id.Pos() {
				c.object(rankLocal, o)
			}
		}
	}
	for _, name := range pkg.Names() {
		c.object(rankSession, pkg.Lookup(name))
	}
	for _, o := range b.objects {
		c.object(rankSession, o)
	}
	b.waitingNames(c)
	for name := range b.Scope.imports {
		c.add(rankImported, name, "module", "")
	}
	for _, path := range b.dots {
		if p, err := b.importer.Import(path); err == nil {
			exported(c, rankImported, p)
		}
	}
	c.visibleKnown()
	for _, name := range types.Universe.Names() {
		c.object(rankLanguage, types.Universe.Lookup(name))
	}
}
