package check

// docs finds doc comments and source text.
type docs struct{}
