package decode

// run steps over members of an object that come in the order in which they came last and whose values are plain: strings without escapes, short
// numbers, words, objects and arrays of these, and those that the memo knows. next is where the first member begins that is left to the caller, and
// last what came before it; last is nil where the object has ended, before next. The values that paths need, and the objects and arrays they lie
// in, are the first found of spots. It reads up to the capacity of text, but what is there does not count.
//
//go:noescape
func run(text []byte, i int, after *follow, spots *[maxSpots]spot) (next int, last *follow, found int)
