package decode

// maxSpots is how many values that are needed one run finds at most.
const maxSpots = 64

// spot is where a value begins that a path needs, or in which there is one.
type spot struct {
	at int // in the text
	id int // of its node
}
