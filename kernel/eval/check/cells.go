package check

import (
	"go/types"
	"iter"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// To go/types each cell is a package main of its own. So that its errors tell apart the types that several cells call P, the
// packages of earlier cells bear the names of their cells while it works; afterwards the text is what the compiler would have
// said, but for types that have been declared anew: those are called "P (cell 3)".

// nameMark encloses a cell's name where it stands for that of a package. As in bodyName, no cell spells it by accident.
const nameMark = "ᐧ"

var markedType = regexp.MustCompile(nameMark + `([^` + nameMark + `]+)` + nameMark + `\.([\pL_][\pL\pN_]*)(\[[^\[\]]*\])?`)

// nameCells gives the packages of the cells so far their names, until restore is called.
func (s *Scope) nameCells() (restore func()) {
	for pkg, name := range s.cells {
		pkg.SetName(nameMark + name + nameMark)
	}
	former := s.importer.(*listed).former()
	for _, pkg := range former {
		pkg.SetName(pkg.Name() + formerMark)
	}
	return func() {
		for pkg := range s.cells {
			pkg.SetName("main")
		}
		for _, pkg := range former {
			pkg.SetName(strings.TrimSuffix(pkg.Name(), formerMark))
		}
	}
}

// plainNames writes marked types as a user knows them. Anew tells of names that the cell at hand declares.
func (s *Scope) plainNames(text string, anew func(name string) bool) string {
	text = plainFormer(text)
	if !strings.Contains(text, nameMark) {
		return text
	}
	return markedType.ReplaceAllStringFunc(text, func(marked string) string {
		m := markedType.FindStringSubmatch(marked)
		cell, name, args := m[1], m[2], s.plainNames(m[3], anew)
		declares := func(o *types.TypeName) bool { return s.cells[o.Pkg()] == cell }
		if !slices.ContainsFunc(s.called[name], declares) {
			return name + args // a function, or a type of one
		}
		if o, ok := s.objects[name].(*types.TypeName); ok && !anew(name) && declares(o) {
			return name + args
		}
		return name + args + " (" + cell + ")"
	})
}

// typeString writes a type as a user knows it.
func (s *Scope) typeString(t types.Type) string {
	defer s.nameCells()()
	text := types.TypeString(t, func(p *types.Package) string { return p.Name() })
	return s.plainNames(text, func(string) bool { return false })
}

// Declared is what is known of a name of the session.
type Declared struct {
	Name string
	Kind string // as Match.Type: variable, constant, function, type
	Type string // of a type, what it is made of
	Cell string // "cell 3"
}

// Declared lists the names that cells have declared, in order.
func (s *Scope) Declared() []Declared {
	var all []Declared
	for _, name := range s.Names() {
		s.mu.Lock()
		all = append(all, s.declared(name))
		s.mu.Unlock()
	}
	return all
}

func (s *Scope) declared(name string) Declared {
	o := s.objects[name]
	if o == nil { // forgotten meanwhile
		return Declared{Name: name}
	}
	t := o.Type()
	if _, ok := o.(*types.TypeName); ok {
		t = t.Underlying()
	}
	cell, _, _, _ := s.Position(o.Pos())
	return Declared{Name: name, Kind: kindOfObject(o), Type: s.typeString(t), Cell: cell}
}

// TypeCell returns the cell that declared the newest type of a name, "" if the name means no type.
func (s *Scope) TypeCell(name string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	o, ok := s.objects[name].(*types.TypeName)
	if !ok {
		return ""
	}
	cell, _, _, _ := s.Position(o.Pos())
	return cell
}

// TypesCalled are the types that cells have declared under a name, the newest first, each with its cell.
func (s *Scope) TypesCalled(name string) iter.Seq2[types.Object, string] {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := slices.Clone(s.called[name])
	cells := make([]string, len(list))
	for i, o := range list {
		cells[i], _, _, _ = s.Position(o.Pos())
	}
	return func(yield func(types.Object, string) bool) {
		for i, o := range slices.Backward(list) {
			if !yield(o, cells[i]) {
				return
			}
		}
	}
}

// DeclaredIn returns the cell that an object of the session was declared in, "" for any other.
func (c *Cell) DeclaredIn(o types.Object) string {
	cell, _, _, _ := c.scope.Position(o.Pos())
	return cell
}

// Reset forgets all names and imports. What is running with them goes on.
func (s *Scope) Reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.objects)
	clear(s.imports)
	clear(s.readErrors)
	clear(s.stopped)
	s.dots, s.waiting, s.wokenBy = nil, nil, nil
}

// mark is what a scope was, and the methods that types have got since.
type mark struct {
	objects map[string]types.Object
	imports map[string]string
	dots    []string
	cells   map[*types.Package]string
	called  map[string][]*types.TypeName
	methods []*types.Func // added
	sources map[*types.Func]*methodSource
	besides map[*types.TypeName]map[string]bool
	edits   []func()
	waiting []finding // as they were
}

// Mark remembers what the scope holds. Undo takes back what was committed since then: it is for a cell in several pieces, one of which
// turns out to be wrong before the first has run. Keep keeps it. Call one of the two before the next Mark.
func (s *Scope) Mark() (undo, keep func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := &mark{
		objects: maps.Clone(s.objects), imports: maps.Clone(s.imports), dots: slices.Clone(s.dots),
		cells: maps.Clone(s.cells), called: maps.Clone(s.called), sources: maps.Clone(s.methods), besides: maps.Clone(s.besides),
	}
	for _, w := range s.waiting {
		m.waiting = append(m.waiting, finding{w, *w})
	}
	s.marked = m
	undo = func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.marked = nil
		s.objects, s.imports, s.dots, s.cells, s.called = m.objects, m.imports, m.dots, m.cells, m.called
		s.methods, s.besides, s.waiting = m.sources, m.besides, nil
		for _, f := range m.waiting {
			f.note()
			s.waiting = append(s.waiting, f.waiting)
		}
		s.takeBack()
		s.edits = m.edits
		s.takeBack()
		for _, f := range m.methods {
			s.phantom[f] = true
		}
	}
	keep = func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.marked = nil
	}
	return undo, keep
}
