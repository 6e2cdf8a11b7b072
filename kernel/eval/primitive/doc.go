// Package primitive is what lowered cells call: interfaces, channels, goroutines, deferred calls, panics, interrupts and
// formatted output, in compiled code that knows the types which cells declare. It ends at the values: how a cell becomes
// calls of these functions is the lowerer's business, and who runs the calls is the back end's.
//
// A type that a cell declares reaches compiled code as a type that reflection can tell from any other, but without name and
// methods. [Machine.Declare] and [Machine.Method] tell the machine what they are; everything here that would use a method
// asks it. See package lower for the forms.
package primitive
