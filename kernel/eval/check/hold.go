package check

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"slices"
	"strings"
)

// holder looks for the declarations of a refused cell that may wait.
type holder struct {
	*Scope
	name, code string
	anew       []string
	pieces     []piece
	text       *text
	held       map[int]*Waiting // by the start of their pieces
	own        map[string]int   // type → the start of the piece that declares it
	woken      []*Waiting
	found      []finding         // about others that wait
	alike      map[string]string // a name that is missing → the one that it may have been meant for
	reason     string            // why a declaration does not wait
	refused    string            // what that declaration misses
}

// hold checks a refused cell again, with what has waited for its names, and without those of its declarations that miss some. If that does
// not help, the error is the first one.
func (s *Scope) hold(name, code string, anew []string, first error) (*Cell, error) {
	h := &holder{Scope: s, name: name, code: code, anew: anew, text: newText(name, code), held: map[int]*Waiting{}, alike: map[string]string{}}
	var e *Error
	var fault *fault
	if h.pieces, fault = split(code); fault != nil || !errors.As(first, &e) {
		return nil, first
	}
	h.own = h.types()
	if slices.ContainsFunc(e.all, func(d Diagnostic) bool { return d.missing == "" }) {
		return nil, h.explained(e)
	}
	mentioned := Mentioned(code)
	h.woken = s.complete(func(name string) bool { return mentioned[lastName(name)] }, func(*Waiting) bool { return true })
	err := first
	if len(h.woken) > 0 {
		var c *Cell
		if c, err = h.check(); err == nil {
			return c, nil
		}
	}
	for h.goOn(err) {
		var c *Cell
		if c, err = h.check(); err == nil {
			return c, nil
		}
	}
	return nil, h.explained(e)
}

func (h *holder) check() (*Cell, error) {
	c, err := h.checkOnce(h.name, h.code, h.anew, h.held, h.woken)
	if err != nil {
		return nil, err
	}
	c.found = h.found
	for _, start := range slices.Sorted(maps.Keys(h.held)) {
		c.Waits = append(c.Waits, h.held[start])
	}
	return c, nil
}

// goOn takes out of the cell what is wrong with it, if that may wait.
func (h *holder) goOn(err error) bool {
	var e *Error
	if !errors.As(err, &e) {
		return false
	}
	missing := map[string]bool{}
	for _, d := range e.all {
		missing[d.missing] = true
	}
	own := map[*piece][]Diagnostic{}
	for _, d := range e.all {
		if d.of != nil || d.missing == "" {
			continue
		}
		p := h.pieceAt(d.there)
		if p == nil || p.kind != declaration {
			return false
		}
		if known := h.similar(d.missing, missing); known != "" {
			h.alike[d.missing] = known
			return false
		}
		own[p] = append(own[p], d)
	}
	right, wrong := sorted(h.woken, e)
	h.woken, h.found = right, append(h.found, wrong...)
	for p, list := range own {
		if !h.keep(p, list) {
			return false
		}
	}
	if len(own) == 0 && len(wrong) == 0 && len(h.woken) > 0 { // the cell itself does not go with what has waited
		h.woken = nil
		return true
	}
	return len(own) > 0 || len(wrong) > 0
}

// pieceAt is the piece of the cell that holds a byte.
func (h *holder) pieceAt(offset int) *piece {
	for i := range h.pieces {
		if p := &h.pieces[i]; p.start <= offset && offset < p.end {
			return p
		}
	}
	return nil
}

// keep has a declaration of the cell wait, and with a method the type; false if it may not.
func (h *holder) keep(p *piece, missing []Diagnostic) bool {
	w := h.held[p.start]
	if w == nil {
		w = h.declaration(p)
	}
	if w == nil {
		h.refused = missing[0].missing
		return false
	}
	w.miss(missing)
	h.held[p.start] = w
	for _, name := range w.Names {
		typ, _, isMethod := strings.Cut(name, ".")
		start, ok := h.own[typ]
		if !isMethod || !ok || h.held[start] != nil {
			continue
		}
		if !h.keep(h.pieceAt(start), missing) {
			return false
		}
		h.held[start].Missing = []string{name}
	}
	return true
}

// declaration is what a piece declares, nil if it may not wait.
func (h *holder) declaration(p *piece) *Waiting {
	names := declaredNames(h.code[p.start:p.end])
	if len(names) == 0 {
		return nil
	}
	for _, name := range names {
		if h.reason = h.mustNotWait(name); h.reason != "" {
			return nil
		}
	}
	start := 0
	for _, before := range h.pieces {
		if before.end <= p.start {
			start = max(start, before.end)
		}
	}
	text := h.code[start:p.end]
	start += len(text) - len(strings.TrimLeft(text, " \t\r\n"))
	return &Waiting{Names: names, Cell: h.name, text: h.text, start: start, end: p.end, mentions: Mentioned(h.code[start:p.end])}
}

// mustNotWait says why somebody could use a name, or values of the type of a method, before the declaration has taken effect; "" if nobody can.
func (h *holder) mustNotWait(name string) string {
	typ, _, isMethod := strings.Cut(name, ".")
	switch {
	case isMethod && h.objects[typ] != nil:
		return typ + " is in use, so its methods do not wait"
	case isMethod:
		return ""
	case name == "init", name == "main":
		return name + " would run, so it does not wait"
	case name == "_":
		return "what has no name does not wait"
	case h.means(name), types.Universe.Lookup(name) != nil, isUniverse(name), len(h.standard(name)) > 0:
		return name + " means something already, so what is to take its place does not wait"
	}
	return ""
}

// types tells where types are declared.
func (h *holder) types() map[string]int {
	found := map[string]int{}
	for _, p := range h.pieces {
		if p.kind != declaration {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), "", declPrefix+h.code[p.start:p.end], parser.SkipObjectResolution)
		if err != nil {
			continue
		}
		for _, d := range f.Decls {
			for _, ts := range typeSpecs(d) {
				found[ts.Name.Name] = p.start
			}
		}
	}
	return found
}

// declaredNames are the names that a declaration declares, nil if it cannot be read.
func declaredNames(code string) (names []string) {
	f, err := parser.ParseFile(token.NewFileSet(), "", declPrefix+code, parser.SkipObjectResolution)
	if err != nil {
		return nil
	}
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Recv == nil {
				names = append(names, d.Name.Name)
				continue
			}
			if len(d.Recv.List) != 1 {
				return nil
			}
			base, _ := receiverName(d.Recv.List[0].Type)
			if base == nil {
				return nil
			}
			names = append(names, base.Name+"."+d.Name.Name)
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				for _, id := range specNames(spec) {
					names = append(names, id.Name)
				}
			}
		}
	}
	return names
}

// explained adds to the names that an error calls undefined what they wait for, or that they may be misspelled.
func (h *holder) explained(e *Error) *Error {
	for i, d := range e.Diagnostics {
		if known := h.alike[d.missing]; known != "" {
			e.Diagnostics[i].Text += fmt.Sprintf(" (it is like %s: if a later cell is to declare it, run that one first)", known)
		}
		if h.reason != "" && d.missing == h.refused {
			e.Diagnostics[i].Text += fmt.Sprintf(" (%s for later cells: declare %s first)", h.reason, d.missing)
		}
		for _, w := range h.Scope.waiting {
			if d.missing != "" && slices.Contains(w.Names, d.missing) {
				e.Diagnostics[i].Text += " (" + w.why(h.Scope.waiting) + ")"
			}
		}
	}
	return e
}
