// Package check is the front of the cell engine: it splits a cell, checks it with go/types against everything that the
// cells before it declared, and answers what an editor asks (completion, inspection, completeness). It ends at the checked
// syntax tree: how a cell is lowered and run is the business of other rooms.
//
// A cell is a mixture that no Go file may hold: imports, declarations and statements in any order. It is checked as two
// files of one package "main":
//
//   - the declarations, with everything else blanked out;
//   - a function whose body is the statements, with everything else blanked out.
//
// Blanks keep every byte at its place, so a position in either file is the position in the cell. Variables of the
// statements become variables of the session afterwards; only those that the cell's own functions mention are moved to the
// package level before the check.
package check
