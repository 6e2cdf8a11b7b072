// Package decode reads the fields that a query names out of records, into the places of a row.
package decode

import (
	"cancha/stream/internal/value"
)

// Want says what is read at a path.
type Want uint8

const (
	Natural Want = iota // whatever is there: integers, numbers, texts, truths, and objects and arrays as their JSON
	Number              // a number; true and false count as 1 and 0
	Text                // a text
	Instant             // a time in RFC 3339
)

var wants = [...]string{Natural: "a value", Number: "a number", Text: "a text", Instant: "an RFC 3339 time"}

func (w Want) String() string { return wants[w] }

// Slot is one path, and the place of a row that its value goes to.
type Slot struct {
	Path string
	Want Want
	At   int
}

// Decoder reads a record's slots into a row that is null at all of them. It returns "", or the reason why the record is bad; the row then
// holds anything. The values share the record's bytes. A Decoder may learn from what it sees: each partition has its own.
type Decoder interface {
	Decode(record []byte, row []value.Value) (reason string)
	// Seen tells whether the path of a slot has ever been there, for the note about paths that no record has.
	Seen(slot int) bool
}

// maxNumber bounds numbers: the moments of a sample square them, and sum the squares up.
const maxNumber = 1e150

func wrong(path string, want Want, got string) string {
	return path + ": want " + want.String() + ", got " + got
}
