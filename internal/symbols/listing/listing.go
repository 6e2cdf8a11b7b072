// Package listing holds the shape of the generated tables: what one package exports, as static data. It ends at the
// shape: the tables themselves are in the packages beside it, and the interpreter's form of them is made by symbols.
package listing

import "go/token"

// Package is what a package exports, generic functions and types left out: their instances do not exist until a
// program asks for them. The parts are slices of static data, not maps, so that a table costs nothing at start.
type Package struct {
	Path, Name string
	Values     []Symbol  // functions and typed constants
	Constants  []Literal // untyped constants
	Variables  []Symbol  // pointers to the variables
	Types      []Symbol  // nil pointers to the types
	Wrappers   []Symbol  // nil pointers to the wrapper of each interface, under the interface's name
}

// Symbol is a name and what it stands for. It is an unnamed struct so that tables may leave out the field names.
type Symbol = struct {
	Name  string
	Value any
}

// Literal is an untyped constant: its value as Go source of the kind. Boolean constants are not literals but Values.
type Literal = struct {
	Name string
	Kind token.Token // INT, FLOAT or STRING; a rune is an INT
	Text string
}
