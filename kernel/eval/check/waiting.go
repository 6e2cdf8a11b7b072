package check

import (
	"errors"
	"fmt"
	"go/types"
	"maps"
	"slices"
	"strings"

	"cancha/kernel/cell"
)

// Waiting is a declaration of a cell that waits, because names that it needs are to be declared by later cells. Until then its own names mean
// nothing: whoever uses one is told what it waits for. When the last of them is declared, it is checked as if it stood in that cell. Functions,
// constants and types can wait, and methods with their types. Nothing waits that would run, or whose name means something already, since
// that meaning would be used without a word.
type Waiting struct {
	Names   []string // that it declares: "f", or "P.Area" of a method
	Missing []string // what nothing declares yet, in the same form
	Cell    string   // "cell 1"
	Fault   *Error   // what is wrong with it although nothing is missing, nil while that is not known

	text       *text
	start, end int
	mentions   map[string]bool
	told       []Diagnostic // names that are missing, where they stand
}

// String is what the declaration declares: "f", or "A, B".
func (w *Waiting) String() string { return strings.Join(w.Names, ", ") }

// Lines tell where the names that are missing stand, each with its source line and a caret.
func (w *Waiting) Lines() []string {
	return (&Error{Cell: w.Cell, Code: w.text.code, Diagnostics: w.told}).Lines()
}

// Needs are the names that nobody has declared, where some of what it misses waits itself among others.
func (w *Waiting) Needs(others []*Waiting) (names []string) {
	seen := map[*Waiting]bool{}
	var look func(w *Waiting)
	look = func(w *Waiting) {
		if seen[w] {
			return
		}
		seen[w] = true
		for _, name := range w.Missing {
			if i := slices.IndexFunc(others, func(o *Waiting) bool { return slices.Contains(o.Names, name) && o.Fault == nil }); i >= 0 {
				look(others[i])
			} else if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	look(w)
	slices.Sort(names)
	return names
}

// why is what somebody is told who uses a name of it.
func (w *Waiting) why(others []*Waiting) string {
	if w.Fault != nil {
		return fmt.Sprintf("%s declares it, but: %s", w.Cell, w.Fault.Error())
	}
	return fmt.Sprintf("%s declares it, and it waits for %s", w.Cell, strings.Join(w.Needs(others), ", "))
}

// Waiting lists the declarations that wait, in the order of their cells.
func (s *Scope) Waiting() []*Waiting {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.waiting)
}

// Wake checks those declarations that wait for nothing any more, now that a cell has been committed, as a cell of their own with its name. It
// is nil where there are none. Faults are those in which something turns out to be wrong.
func (s *Scope) Wake(c *Cell) (woken *Cell, faults []*Waiting) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.waiting) == 0 {
		return nil, nil
	}
	declared := c.names()
	list := s.complete(func(name string) bool { return false }, func(w *Waiting) bool {
		return slices.ContainsFunc(declared, func(name string) bool { return w.mentions[lastName(name)] })
	})
	for len(list) > 0 {
		woken, err := s.checkOnce(c.Name, "", nil, nil, list)
		if err == nil {
			return woken, faults
		}
		var wrong []finding
		if list, wrong = sorted(list, err); len(wrong) == 0 {
			return nil, faults // nothing that is known of any of them
		}
		for _, f := range wrong {
			f.note()
			if f.waiting.Fault != nil {
				faults = append(faults, f.waiting)
			}
		}
	}
	return nil, faults
}

// finding is what has been found out about a declaration that waits.
type finding struct {
	waiting *Waiting
	now     Waiting
}

func (f finding) note() { *f.waiting = f.now }

// Faults are declarations of earlier cells that this cell has completed, and that turn out to be wrong.
func (c *Cell) Faults() (list []*Waiting) {
	for _, f := range c.found {
		if f.now.Fault != nil {
			list = append(list, &f.now)
		}
	}
	return list
}

// Spoiled notes that declarations which have been woken cannot be taken into the program: they are wrong until a name that they mention is
// declared anew.
func (s *Scope) Spoiled(woken *Cell, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var e *Error
	for _, w := range woken.Woken {
		w.Missing, w.Fault = nil, &Error{Cell: w.Cell, Code: w.text.code, Diagnostics: []Diagnostic{{Line: 1, Column: 1, Text: err.Error()}}}
		if errors.As(err, &e) {
			w.Fault = e
		}
	}
}

// sorted parts declarations that have been checked together into those that may be right, and those that are not: they still miss something, or,
// where nothing is missed any more, something else is wrong with them.
func sorted(list []*Waiting, err error) (right []*Waiting, wrong []finding) {
	var e *Error
	if !errors.As(err, &e) {
		return nil, nil
	}
	missed := slices.ContainsFunc(e.all, func(d Diagnostic) bool { return d.missing != "" })
	for _, w := range list {
		own := slices.DeleteFunc(slices.Clone(e.all), func(d Diagnostic) bool { return !w.holds(d) || missed && d.missing == "" })
		if len(own) == 0 {
			right = append(right, w)
			continue
		}
		f := finding{w, *w}
		if missed {
			f.now.miss(own)
		} else {
			f.now.Missing, f.now.Fault = nil, &Error{Cell: w.Cell, Code: w.text.code, Diagnostics: own[:min(len(own), maxDiagnostics)]}
		}
		wrong = append(wrong, f)
	}
	return right, wrong
}

// miss notes names that are missing.
func (w *Waiting) miss(list []Diagnostic) {
	w.Missing, w.Fault, w.told = nil, nil, nil
	for _, d := range list {
		if !slices.Contains(w.Missing, d.missing) {
			w.Missing = append(w.Missing, d.missing)
		}
		if len(w.told) < maxDiagnostics {
			d.of = w.text
			w.told = append(w.told, d)
		}
	}
}

// holds reports whether a diagnostic is about it.
func (w *Waiting) holds(d Diagnostic) bool {
	return d.of == w.text && w.start <= d.there && d.there < w.end
}

// complete are those of the declarations that wait which miss nothing, if the names that declares holds for were declared. Those with a fault
// are tried again where retry holds.
func (s *Scope) complete(declares func(name string) bool, retry func(*Waiting) bool) []*Waiting {
	list := slices.DeleteFunc(slices.Clone(s.waiting), func(w *Waiting) bool { return w.Fault != nil && !retry(w) })
	for {
		own := map[string]bool{}
		for _, w := range list {
			for _, name := range w.Names {
				own[name] = true
			}
		}
		n := len(list)
		list = slices.DeleteFunc(list, func(w *Waiting) bool {
			return slices.ContainsFunc(w.Missing, func(name string) bool { return !own[name] && !declares(name) && !s.means(name) })
		})
		if len(list) == n {
			return list
		}
	}
}

// means reports whether a name, or a method's, means something to the cells that follow.
func (s *Scope) means(name string) bool {
	typ, method, ok := strings.Cut(name, ".")
	if !ok {
		return s.objects[name] != nil || s.imports[name] != ""
	}
	t, isType := s.objects[typ].(*types.TypeName)
	if !isType {
		return false
	}
	o, _, _ := types.LookupFieldOrMethod(t.Type(), true, t.Pkg(), method)
	f, isMethod := o.(*types.Func)
	return isMethod && !s.phantom[f]
}

// lastName is the method of "P.Area", and any other name itself.
func lastName(name string) string { return name[strings.LastIndex(name, ".")+1:] }

// names are what a cell declares, methods too.
func (c *Cell) names() (list []string) {
	for _, o := range c.Objects {
		list = append(list, o.Name())
	}
	for _, m := range c.Methods {
		list = append(list, m.Type.Obj().Name()+"."+m.Func.Name())
	}
	for f := range c.methods {
		if name := receiver(f); name != "" {
			list = append(list, name+"."+f.Name())
		}
	}
	return append(list, slices.Collect(maps.Keys(c.imported))...)
}

// waitingNames offers what will mean something when it waits no more, but for methods.
func (b *builder) waitingNames(c *candidates) {
	for _, w := range b.Scope.waiting {
		for _, name := range w.Names {
			if !strings.Contains(name, ".") {
				c.add(rankSession, name, w.kind(), "waits for "+strings.Join(w.Needs(b.Scope.waiting), ", "))
			}
		}
	}
}

// kind is the word of Match.Type.
func (w *Waiting) kind() string {
	switch {
	case strings.HasPrefix(w.source(), "type"):
		return "type"
	case strings.HasPrefix(w.source(), "const"):
		return "constant"
	}
	return "function"
}

func (w *Waiting) source() string { return declarationAt(w.text.code, w.end-1).source }

// explainWaiting explains a name that waits.
func (s *Scope) explainWaiting(name string, detail int) cell.Inspection {
	i := slices.IndexFunc(s.waiting, func(w *Waiting) bool { return slices.Contains(w.Names, name) })
	if i < 0 {
		return cell.Inspection{}
	}
	w := s.waiting[i]
	written := declarationAt(w.text.code, w.end-1)
	declaration, _, _ := strings.Cut(written.source, "\n")
	parts := []string{strings.TrimSuffix(declaration, " {") + "\n" + w.why(s.waiting)}
	if text := strings.TrimSpace(written.doc); text != "" {
		parts = append(parts, text)
	}
	if detail > 0 {
		parts = append(parts, written.source)
	}
	text := strings.Join(parts, "\n\n")
	return cell.Inspection{Found: true, Data: map[string]any{"text/plain": text, "text/markdown": "```go\n" + text + "\n```"}}
}

// commitWaiting takes out of those that wait what a cell has woken, or declares anew, and adds its own.
func (s *Scope) commitWaiting(c *Cell) {
	for _, f := range c.found {
		f.note()
	}
	if len(s.waiting) == 0 && len(c.Waits) == 0 {
		return
	}
	declared := c.names()
	for _, w := range c.Waits {
		declared = append(declared, w.Names...)
	}
	s.waiting = slices.DeleteFunc(slices.Clone(s.waiting), func(w *Waiting) bool {
		return slices.Contains(c.Woken, w) || slices.ContainsFunc(w.Names, func(name string) bool { return slices.Contains(declared, name) })
	})
	s.waiting = append(s.waiting, c.Waits...)
	if len(c.Woken) > 0 {
		if s.wokenBy == nil {
			s.wokenBy = map[string][]*Waiting{}
		}
		s.wokenBy[c.Name] = append(s.wokenBy[c.Name], c.Woken...)
	}
}

// sleep has functions wait again which a cell has completed with variables that it has not come to declare: they would read zero.
func (s *Scope) sleep(cell string, gone []string) {
	list := slices.Clone(s.wokenBy[cell])
	for i := 0; i < len(list); i++ {
		w := list[i]
		missing := slices.DeleteFunc(slices.Clone(w.Missing), func(name string) bool { return !slices.Contains(gone, name) })
		isFunction := func(name string) bool { _, ok := s.objects[name].(*types.Func); return ok }
		if len(missing) == 0 || slices.Contains(s.waiting, w) || slices.ContainsFunc(w.Names, func(name string) bool { return !isFunction(name) }) {
			continue
		}
		w.Missing = missing
		s.waiting = append(s.waiting, w)
		for _, name := range w.Names {
			delete(s.objects, name)
			gone = append(gone, name)
		}
		i = -1 // others may have waited for it
	}
}
