// Package symbols is the list of what cells may import: the standard library at go.mod's Go version, a few libraries of
// others, and the library wing of this module. For each package it has the compiled names, for the interpreter, and the
// compiler's export data, for the type checker. It ends at the lists: how a cell is checked and run is the evaluator's
// business, and the evaluator is handed these lists instead of importing them.
//
// The tables are written by the program in generate; "make symbols" runs it.
package symbols

//go:generate go run ./generate -out .

import (
	"go/constant"
	"path"
	"reflect"

	"cancha/internal/symbols/foreign"
	"cancha/internal/symbols/listing"
	"cancha/internal/symbols/std"
	"cancha/internal/symbols/wing"
)

// Package is a package that a cell may import. Name is what its package clause says. Standard tells that it belongs to
// the standard library.
type Package struct {
	Path, Name string
	Standard   bool
}

// Packages lists what a cell may import, sorted within the standard library, the libraries of others and the wing.
func Packages() []Package {
	var all []Package
	for i, group := range groups() {
		for _, p := range group.tables {
			all = append(all, Package{Path: p.Path, Name: p.Name, Standard: i < standardGroups})
		}
	}
	return all
}

// group is a set of tables, and the archives of the same packages' export data and doc comments; a group without the latter
// has them in the one before it.
type group struct {
	tables  []listing.Package
	exports string
	docs    string
}

// standardGroups is how many of the groups, at the front, are of the standard library.
const standardGroups = 2

func groups() []group {
	return []group{
		{std.All(), std.AllExports(), std.Docs()},
		{std.Platform(), std.PlatformExports(), ""},
		{foreign.All(), foreign.AllExports(), foreign.Docs()},
		{wing.All(), wing.AllExports(), wing.Docs()},
	}
}

// Table returns the compiled names in the interpreter's form: under "import/path/name" each exported name's value, a
// variable as addressable value, an untyped constant as constant.Value, a type T as nil pointer to T, and under "_T"
// the wrapper that gives an interpreted value the methods of the interface T. Generic functions and types are not in it.
// The maps are made anew at each call; the caller may change them.
func Table() map[string]map[string]reflect.Value {
	table := map[string]map[string]reflect.Value{}
	for _, g := range groups() {
		for _, p := range g.tables {
			table[path.Join(p.Path, p.Name)] = values(p)
		}
	}
	addSpecial(table)
	return table
}

func values(p listing.Package) map[string]reflect.Value {
	m := make(map[string]reflect.Value, len(p.Values)+len(p.Constants)+len(p.Variables)+len(p.Types)+len(p.Wrappers))
	for _, s := range p.Values {
		m[s.Name] = reflect.ValueOf(s.Value)
	}
	for _, c := range p.Constants {
		m[c.Name] = reflect.ValueOf(constant.MakeFromLiteral(c.Text, c.Kind, 0))
	}
	for _, s := range p.Variables {
		m[s.Name] = reflect.ValueOf(s.Value).Elem()
	}
	for _, s := range p.Types {
		m[s.Name] = reflect.ValueOf(s.Value)
	}
	for _, s := range p.Wrappers {
		m["_"+s.Name] = reflect.ValueOf(s.Value)
	}
	return m
}
