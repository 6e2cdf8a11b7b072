package check

import (
	"go/importer"
	"go/token"
	"go/types"
	"io"
	"maps"
	"slices"
	"sync"

	"cancha/kernel/eval/check/vet"
)

// Package is a package that cells may import.
type Package struct {
	Path, Name string
	Standard   bool
}

// Scope is what the accepted cells have declared: the newest meaning of each name. Its methods may be called from any
// goroutine; one works at a time.
type Scope struct {
	mu       sync.Mutex
	fset     *token.FileSet
	importer types.Importer
	packages []Package
	byPath   map[string]Package
	byName   map[string][]Package
	library  candidates // see unimported

	objects map[string]types.Object      // constants, types, functions and variables
	imports map[string]string            // name → path
	dots    []string                     // paths imported with a dot
	texts   map[string]*text             // file name → the cell it was made of
	serial  int                          // of the files made so far
	phantom map[*types.Func]bool         // methods that a refused cell tried to add
	cells   map[*types.Package]string    // those that declare types, with their names
	called  map[string][]*types.TypeName // the types that cells have declared under a name, oldest first
	stopped map[string]forgotten         // by name
	waiting []*Waiting                   // in the order of their cells
	wokenBy map[string][]*Waiting        // cell → what it has completed, see sleep
	marked  *mark                        // the one that may be undone, see Mark

	methods  map[*types.Func]*methodSource       // how methods of cells are written
	mentions map[types.Object][]*types.TypeName  // function, or variable → types of cells that its code names
	besides  map[*types.TypeName]map[string]bool // names of the methods that stand beside a type, in the cell that declared it last
	again    map[*types.TypeName]token.Pos       // where a type has been declared again as it was
	edits    []func()                            // see editMethods

	generics  map[*types.TypeName]*typeSource // generic types of cells
	instances map[*types.Named]bool           // of such types, see renewInstances

	universe *Universe

	readErrors map[string]bool // error variables that functions, literals and pointers of cells may read
	printers   vet.Printers

	// Embedded is the path of the package whose functions Text and Files read the files that //go:embed names. Without it the directive is
	// refused. Set it before the first use of the scope.
	Embedded string
	// Library is asked by Inspect. Set it before the first use of the scope.
	Library Library
	// Outside is asked by Complete. Set it before the first use of the scope.
	Outside Outside
	// Keeps tells whether a type of an earlier cell can stay what it is where a cell declares it again; nil for all. Set it before the
	// first use of the scope.
	Keeps func(*types.TypeName) bool
}

// NewScope returns an empty scope over the packages that cells may import. Export opens a package's export data in the form
// of the gc compiler; it is called once a package, at its first use.
func NewScope(packages []Package, export func(path string) (io.ReadCloser, error)) *Scope {
	s := &Scope{
		fset:     token.NewFileSet(),
		packages: packages,
		byPath:   map[string]Package{},
		byName:   map[string][]Package{},
		objects:  map[string]types.Object{},
		imports:  map[string]string{},
		texts:    map[string]*text{},
		phantom:  map[*types.Func]bool{},
		cells:    map[*types.Package]string{},
		called:   map[string][]*types.TypeName{},
		methods:  map[*types.Func]*methodSource{},
		besides:  map[*types.TypeName]map[string]bool{},
		mentions: map[types.Object][]*types.TypeName{},
		again:    map[*types.TypeName]token.Pos{},

		generics: map[*types.TypeName]*typeSource{}, instances: map[*types.Named]bool{},

		readErrors: map[string]bool{},
	}
	for _, p := range packages {
		s.byPath[p.Path] = p
		s.byName[p.Name] = append(s.byName[p.Name], p)
	}
	s.universe = newUniverse(s.fset)
	s.importer = &listed{known: s.byPath, loaded: map[string]bool{}, next: importer.ForCompiler(s.fset, "gc", export)}
	return s
}

// listed imports only what is listed, so that the error for anything else is ours.
type listed struct {
	known   map[string]Package
	loaded  map[string]bool
	renames renames
	later   []string // packages that are added when a cell imports them
	next    types.Importer
}

func (l *listed) Import(path string) (*types.Package, error) {
	if path == "unsafe" {
		return types.Unsafe, nil
	}
	path = l.renames.actual(path)
	if _, ok := l.known[path]; !ok {
		return nil, l.unknown(path)
	}
	l.loaded[path] = true
	return l.next.Import(path)
}

// former are the packages of modules as they were before these were edited.
func (l *listed) former() (list []*types.Package) {
	for path := range l.loaded {
		if _, former := l.renames.written(path); !former {
			continue
		}
		if pkg, err := l.next.Import(path); err == nil { // it is kept there
			list = append(list, pkg)
		}
	}
	return list
}

// Offer names packages that will be added when a cell imports them. Call it before the first use of the scope.
func (s *Scope) Offer(paths []string) { s.importer.(*listed).later = paths }

// Loaded are the packages whose export data has been read: for cells, refused ones too, and to complete and explain names that nothing
// imports yet. What is known of them is kept.
func (s *Scope) Loaded() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(maps.Keys(s.importer.(*listed).loaded))
}

// Use notes that a package has been loaded though no cell has imported it: Loaded names it from now on.
func (s *Scope) Use(path string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.importer.(*listed).loaded[path] = true
}

// Add adds packages to those that cells may import.
func (s *Scope) Add(packages []Package) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.library = nil
	for _, p := range packages {
		if _, known := s.byPath[p.Path]; known {
			continue
		}
		s.byPath[p.Path] = p
		p.Path, _ = s.importer.(*listed).renames.written(p.Path)
		if !slices.ContainsFunc(s.byName[p.Name], func(q Package) bool { return q.Path == p.Path }) {
			s.packages = append(s.packages, p)
			s.byName[p.Name] = append(s.byName[p.Name], p)
		}
	}
}

// Knows tells whether cells may import a package.
func (s *Scope) Knows(path string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, ok := s.byPath[s.importer.(*listed).renames.actual(path)]
	return ok || path == "unsafe"
}

// Importer returns the packages that cells see. Call it only while no other method of the scope runs.
func (s *Scope) Importer() types.Importer { return s.importer }

// FileSet holds the files of all cells.
func (s *Scope) FileSet() *token.FileSet { return s.fset }

// Position returns where something of a cell was written: the cell's name, line and column; ok is false for what is not
// from a cell.
func (s *Scope) Position(pos token.Pos) (cell string, line, column int, ok bool) {
	file := s.fset.File(pos)
	if file == nil {
		return "", 0, 0, false
	}
	t := s.texts[file.Name()]
	if t == nil {
		return "", 0, 0, false
	}
	home, offset := t.home(t.offset(s.fset, pos))
	line, column = home.position(offset)
	return home.cell, line, column, true
}

// Lookup returns the newest meaning of a name, nil where it has none.
func (s *Scope) Lookup(name string) types.Object { return s.objects[name] }

// Names are all declared names in order.
func (s *Scope) Names() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(maps.Keys(s.objects))
}

// Commit makes a checked cell's declarations the newest meaning of their names. Call it between Lock and Unlock.
func (s *Scope) Commit(c *Cell) {
	for name, path := range c.imported {
		s.imports[name] = path
		delete(s.stopped, name)
		delete(s.objects, name)
	}
	for _, path := range c.dots {
		if !slices.Contains(s.dots, path) {
			s.dots = append(s.dots, path)
		}
	}
	for _, o := range c.Objects {
		s.objects[o.Name()] = o
		delete(s.stopped, o.Name())
		delete(s.imports, o.Name())
		if t, ok := o.(*types.TypeName); ok {
			s.cells[c.Pkg] = c.Name
			s.called[t.Name()] = append(s.called[t.Name()], t)
			s.besides[t] = c.beside[t.Name()]
		}
	}
	for _, o := range c.kept {
		s.besides[o], s.again[o] = c.beside[o.Name()], c.again[o]
	}
	s.noteGenerics(c)
	s.noteInstances(c)
	s.noteMentions(c)
	maps.Copy(s.methods, c.methods)
	if s.marked != nil {
		s.marked.edits = append(s.marked.edits, s.edits...)
	}
	s.edits = nil
	for _, name := range c.readBy {
		s.readErrors[name] = true
	}
	s.commitWaiting(c)
	for _, m := range c.Methods {
		if s.marked != nil && s.phantom[m.Func] { // one defined anew exists without this cell
			s.marked.methods = append(s.marked.methods, m.Func)
		}
		delete(s.phantom, m.Func)
	}
}

// Lock keeps others from using the scope and its importer while a cell is lowered, because types may be completed as they are read.
func (s *Scope) Lock() { s.mu.Lock() }

// Unlock ends Lock.
func (s *Scope) Unlock() { s.mu.Unlock() }
