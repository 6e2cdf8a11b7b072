// Package native compiles cells: it writes a checked cell as a Go package of its own, builds that as a plugin with the tools of the user's
// Go toolchain, and loads it into the running engine. It ends at the loaded cell's functions: its caller decides which cells are compiled,
// and what their variables are.
//
// The package keeps the cell's text. What is changed in it:
//
//   - variables of the session are reached by pointers, since they outlive the cell;
//   - functions begin with a look at their switches: has the cell been interrupted, has a later cell declared the function
//     anew; so do the bodies of loops, interrupts only;
//   - channel operations, sleeps and locks end when the cell is interrupted; goroutines report their panics to their cell;
//   - what an earlier cell declared is imported from its package under an exported name (an alias, a function), since the
//     language hides from a package what another has not exported. Methods that are not exported get names that are; fields
//     keep theirs and are reached through a type of the same memory, see fields.go.
//
// Each cell's package is called main, so that %T prints main.Point, though its path is its own.
package native
