package decode

import (
	"math"
	"strconv"

	"cancha/internal/jsontext"
	"cancha/stream/internal/value"
)

// KindSet is a set of kinds that a value may be of. Null is in each.
type KindSet uint16

// Kinds is the set of these kinds. Where any number may be, an integer may.
func Kinds(kinds ...value.Kind) KindSet {
	set := KindSet(1) << value.Null
	for _, k := range kinds {
		set |= 1 << k
		if k == value.Float {
			set |= 1 << value.Int
		}
	}
	return set
}

// Has tells whether a value is of one of the kinds. A number that no float64 holds, which a decoder keeps as its text, is of none.
func (s KindSet) Has(v value.Value) bool {
	switch k := v.Kind(); {
	case s>>k&1 == 0:
		return false
	case k == value.Text:
		return !beyond(v.Text())
	case k == value.Float:
		return !math.IsInf(v.Float(), 0)
	}
	return true
}

// beyond tells whether a text is a number as JSON writes it that no float64 holds.
func beyond(text string) bool {
	const longest = 18 // digits, without an exponent, are far from the end of float64
	switch {
	case text == "" || text[0] != '-' && (text[0] < '0' || text[0] > '9'):
		return false
	case len(text) <= longest && !hasExponent(text):
		return false
	}
	if jsontext.SkipNumber([]byte(text), 0) != len(text) {
		return false
	}
	x, _ := strconv.ParseFloat(text, 64) // infinite where it overflows
	return math.IsInf(x, 0)
}

func hasExponent(text string) bool {
	for i := range len(text) {
		if text[i]|0x20 == 'e' {
			return true
		}
	}
	return false
}
