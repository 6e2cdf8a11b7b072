// Package decode reads the fields that a query names out of records, into the places of a row.
package decode

import (
	"math"

	"cancha/internal/jsontext"
	"cancha/stream/internal/value"
)

// Want says what is read at a path.
type Want uint8

const (
	Natural Want = iota // whatever is there: integers, numbers, texts, truths, and objects and arrays as their JSON
	Number              // a number; true and false count as 1 and 0
	Text                // a text
	Instant             // a time in RFC 3339
	Truth               // true or false
)

var wants = [...]string{Natural: "a value", Number: "a number", Text: "a text", Instant: "an RFC 3339 time", Truth: "true or false"}

func (w Want) String() string { return wants[w] }

// Slot is one path that a query reads, and the place of a row that its value goes to. A path may come twice, with different wants.
type Slot struct {
	Path string
	Want Want
	At   int
}

// Fit makes a value of the kind that the slot wants out of one that was read, by the rules that hold for all formats: true and false count as 1
// and 0 where a number is wanted, a text in RFC 3339 counts as a time where a time is, an absent value stays one. Otherwise the reason, which
// names the path, says why the record is bad.
func (s Slot) Fit(v value.Value) (fits value.Value, reason string) {
	switch k := v.Kind(); {
	case k == value.Null || s.Want == Natural && k != value.Float:
		return v, ""
	case s.Want == Text && k == value.Text || s.Want == Instant && k == value.Time || s.Want == Truth && k == value.Bool:
		return v, ""
	case s.Want == Number && k == value.Int:
		return numberOf(v.Int()), ""
	case s.Want == Instant && k == value.Text:
		var times jsontext.Instants
		if ns, ok := times.Parse([]byte(v.Text())); ok {
			return value.Nanos(ns), ""
		}
	case s.Want == Number || s.Want == Natural && k == value.Float:
		x, ok := v.Number()
		if ok && math.Abs(x) <= maxNumber {
			return value.FloatOf(x), ""
		}
		if ok && s.Want == Number {
			return value.Value{}, s.Misfit(describe(tooLarge))
		}
		if ok && !math.IsInf(x, 0) {
			return v, ""
		}
	}
	return value.Value{}, s.Misfit(kindly(v))
}

// numberOf is an integer as a number; one that a float64 may not hold is kept as what it is.
func numberOf(n int64) value.Value {
	if n >= 1<<53 || n <= -1<<53 {
		return value.IntOf(n)
	}
	return value.FloatOf(float64(n))
}

// Misfit is the reason why a record is bad that has something else at the path than the slot wants: "total: want a number, got an object".
func (s Slot) Misfit(got string) (reason string) { return wrong(s.Path, s.Want, got) }

// Describe says what a value is that does not fit, as reasons do: "another number".
func Describe(v value.Value) string {
	if v.Kind() == value.Text && beyond(v.Text()) {
		return describe('0')
	}
	return kindly(v)
}

// kindly says what a value is that does not fit.
func kindly(v value.Value) string {
	switch v.Kind() {
	case value.Bool:
		return describe('t')
	case value.Text:
		return describe('"')
	case value.JSON:
		if text := v.Text(); text != "" {
			return describe(text[0])
		}
	case value.Time:
		return "a time"
	case value.Float:
		if math.IsInf(v.Float(), 0) {
			return "one without end"
		}
	}
	return describe('0')
}

// maxNumber bounds numbers: the moments of a sample square them, and sum the squares up.
const maxNumber = 1e150

func wrong(path string, want Want, got string) string {
	return path + ": want " + want.String() + ", got " + got
}
