// Package lower turns a checked cell into the small part of Go that the interpreter runs faithfully. It ends at the text of that program.
// Of who runs it, and of the primitives that it calls, it knows nothing but the primitives' names.
//
// What is left of Go after lowering:
//
//   - constants are folded; types are written out; every name is unique, so nothing shadows anything;
//   - no generics: each instance is a function or a type of its own;
//   - no methods: a method is a function with its receiver in front. What a value can do at run time is told to the
//     primitives by an init function in [Unit.Source]; they build from it what interfaces need;
//   - no interfaces of the cell's own: their values are kept as interface{}, whose dynamic type tells each declared type
//     apart. A struct gets a mark in a field tag; a number or a string a type of its own from a pool; anything else is
//     put into a marked struct while it is in an interface;
//   - where a call comes after an operand that it might change, the calls of the statement come first, as the compiler makes them;
//   - conversions to and from interfaces, type switches, channel operations, select, go, defer, recover and range over
//     functions are calls of primitives;
//   - loops and functions begin with a check whether the cell has been interrupted.
//
// What cannot be lowered is refused with an error that names it. One known difference is neither lowered nor refused. The interpreter
// leaves out arguments that equal their zero value, so it hands a negative zero to an interpreted function as zero, and likewise a struct
// or array that differs from its zero value in negative zeros only.
package lower
