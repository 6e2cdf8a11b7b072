package lower

import (
	"fmt"

	"cancha/kernel/eval/check"
)

// Names of what the back end has to provide.
const (
	RuntimePath  = "cancha/cell" // import path of the primitives
	runtimeAlias = "rtᐧ"
	StopVariable = "stopᐧ" // bool of the lowered program: set while a cell is to be interrupted

	MovedVariable = "movedᐧ" // bool of the lowered program: set when a function has been moved
	LineVariable  = "lineᐧ"  // parameter of a body: a pointer to the line that its statements are at

	ShareFunction = "Function" // primitive that takes a function of the program, for bodies to be given, and its name in front
	ShareBody     = "Body"     // primitive that takes the function of a body
)

// Share is the statement that hands the function of a body to the back end.
func Share(body string) string { return runtimeAlias + "." + ShareBody + "(" + body + ")" }

// Unit is a lowered cell: declarations to be added to those of the cells before it, and a body.
type Unit struct {
	Source     string        // declarations, "" for none
	Vars       []string      // variables that Source declares
	Imports    []Declaration // that Source needs beside those of the units before
	Body       Body
	Shows      bool                // the body hands the value of its last expression to the primitive Show
	Last       check.Last          // what is known of that expression
	Names      map[string]Function // functions of Source and Body that a user knows, for traces
	Moves      []Move
	Statements []check.Statement // of the cell; the program fills it in
	Notes      []string          // what the cell's author should know: things that differ from compiled Go
}

// Function is a function of the lowered program as a user knows it.
type Function struct {
	Name   string // "f", "T.M"; "" for a cell's statements
	Cell   string // that declares it
	Marker string // variable that holds the line that it was last at; "" for [Body.Line]
}

// Move makes a function take the place of an earlier one with the same signature: Variable has to be set to Function. The earlier function
// calls what is in Variable once it is set.
type Move struct{ Variable, Function string }

// Body is the function that runs a cell's statements. It is given the session's variables and functions that it needs. So it stands on its
// own, and the interpreter can forget it when the statements have run.
type Body struct {
	Name   string
	Source string   // the function's declaration
	Params []string // names of its parameters: for a variable of the session a pointer to it, for a function that function
	Line   *int     // the line that its statements are at; what it is given for the parameter [LineVariable]
	Uses   []Declaration
	Stays  bool // it has to be compiled beside the declarations: a type that mentions itself is another one when repeated
}

// Declaration is a type or an import that a body mentions, in an order in which they can be read.
type Declaration struct {
	Name, Text string
	Path       string // of an import
}

// writer collects the parts of a unit.
type writer struct {
	types, vars, funcs []string
	names              map[string]Function
	moves              []Move
	setup              []string // statements that tell the primitives of the declarations
	body               string   // the function that runs the statements
	notes              []string
}

// note tells the author something once a unit.
func (w *writer) note(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	for _, n := range w.notes {
		if n == text {
			return
		}
	}
	w.notes = append(w.notes, text)
}
