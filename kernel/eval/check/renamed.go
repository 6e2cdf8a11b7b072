package check

import (
	"go/types"
	"regexp"
	"slices"
	"strings"
)

// Renamed is a module that has been edited since cells took it: what it is now has another path than they write.
type Renamed struct {
	Path  string // as cells write it
	As    string // of what they import by it; Path itself for what keeps it: a package of a renamed module, or a module in its path
	Exact bool   // it is one package
}

// renames are what cells import by other paths than they write, and what they did before.
type renames struct{ now, ever []Renamed }

// actual is the path of the package that cells import by a path.
func (r *renames) actual(path string) string {
	to, length := path, 0
	for _, one := range r.now {
		if rest, ok := below(path, one.Path); ok && (rest == "" || !one.Exact) && len(one.Path) > length { // a module may lie in another's path
			to, length = one.As+rest, len(one.Path)
		}
	}
	return to
}

// written is the path by which cells import a package, or did before its module was edited; former tells that.
func (r *renames) written(actual string) (path string, former bool) {
	path = actual
	for _, one := range r.ever {
		if rest, ok := below(actual, one.As); ok {
			path = one.Path + rest
		}
	}
	return path, r.actual(path) != actual
}

func below(path, module string) (rest string, ok bool) {
	rest, ok = strings.CutPrefix(path, module)
	return rest, ok && (rest == "" || rest[0] == '/')
}

// Rename has cells import these modules, and no others, under other paths from now on: packages of these are added next. Names that earlier
// cells have imported mean the new packages, too.
func (s *Scope) Rename(list []Renamed) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := &s.importer.(*listed).renames
	r.now = list
	for _, one := range list {
		if one.As != one.Path && !slices.Contains(r.ever, one) {
			r.ever = append(r.ever, one)
		}
	}
	s.library = nil
}

// Former are the names of the session that hold something of a module as it was before it was edited: variables and constants of its types,
// types and functions that mention one.
func (s *Scope) Former(module string) (names []string) {
	for _, name := range s.Names() {
		s.mu.Lock()
		if o := s.objects[name]; o != nil && s.formerIn(o.Type(), module, map[types.Type]bool{}) {
			names = append(names, name)
		}
		s.mu.Unlock()
	}
	return names
}

func (s *Scope) formerIn(t types.Type, module string, seen map[types.Type]bool) bool {
	if t == nil || seen[t] {
		return false
	}
	seen[t] = true
	in := func(all ...types.Type) bool {
		return slices.ContainsFunc(all, func(t types.Type) bool { return s.formerIn(t, module, seen) })
	}
	switch t := t.(type) {
	case *types.Named:
		if p := t.Obj().Pkg(); p != nil {
			path, former := s.importer.(*listed).renames.written(p.Path())
			if _, of := below(path, module); former && of {
				return true
			}
		}
		return in(slices.Collect(t.TypeArgs().Types())...) || in(t.Underlying())
	case *types.Alias:
		return in(types.Unalias(t))
	case *types.Pointer:
		return in(t.Elem())
	case *types.Slice:
		return in(t.Elem())
	case *types.Array:
		return in(t.Elem())
	case *types.Chan:
		return in(t.Elem())
	case *types.Map:
		return in(t.Key(), t.Elem())
	case *types.Tuple:
		return slices.ContainsFunc(slices.Collect(t.Variables()), func(v *types.Var) bool { return in(v.Type()) })
	case *types.Signature:
		return in(t.Params(), t.Results())
	case *types.Struct:
		return slices.ContainsFunc(slices.Collect(t.Fields()), func(f *types.Var) bool { return in(f.Type()) })
	case *types.Interface:
		return slices.ContainsFunc(slices.Collect(t.Methods()), func(f *types.Func) bool { return in(f.Type()) })
	}
	return false
}

// formerMark follows a package's name where go/types works with its types as they were before its module was edited.
const formerMark = "ˑ"

var formerType = regexp.MustCompile(`([\pL_][\pL\pN_]*)` + formerMark + `\.([\pL_][\pL\pN_]*)`)

// plainFormer writes such types as a user knows them.
func plainFormer(text string) string {
	return formerType.ReplaceAllString(text, "$1.$2 (as it was before the edit)")
}

// Uses are the paths of the packages that a cell uses: by an import, or by something of theirs that it names.
func (c *Cell) Uses() (paths []string) {
	seen := map[string]bool{}
	add := func(path string) {
		if !seen[path] && path != "main" {
			seen[path] = true
			paths = append(paths, path)
		}
	}
	for _, o := range c.Info.Uses {
		switch p, ok := o.(*types.PkgName); {
		case ok:
			add(p.Imported().Path())
		case o.Pkg() != nil:
			add(o.Pkg().Path())
		}
	}
	for _, path := range c.Blank {
		add(path)
	}
	slices.Sort(paths)
	return paths
}
