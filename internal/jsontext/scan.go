package jsontext

import (
	"encoding/binary"
	"math/bits"
)

// Scanning functions take the text and a position, and return the position after what they read, or -1 when the text is
// not JSON: RFC 8259 as encoding/json reads it (invalid UTF-8 is let through, nesting ends at MaxDepth), and NaN, which
// Python writes where a flattened row has nothing. They allocate nothing and never read outside b; what is wrong, and
// where, is found by encoding/json on the rare bad record.

// MaxDepth is how deep values may lie in one another: encoding/json's own limit.
const MaxDepth = 10000

// SkipSpace returns the position of the first byte at or after i that is not white space.
func SkipSpace(b []byte, i int) int {
	for i < len(b) && b[i] <= ' ' && (b[i] == ' ' || b[i] == '\n' || b[i] == '\t' || b[i] == '\r') {
		i++
	}
	return i
}

// SkipValue reads any value that starts at i.
func SkipValue(b []byte, i, depth int) int {
	if i >= len(b) {
		return -1
	}
	switch c := b[i]; c {
	case '"':
		return SkipString(b, i+1)
	case '{':
		return SkipObject(b, i, depth)
	case '[':
		return SkipArray(b, i, depth)
	case 't':
		return SkipWord(b, i, "true")
	case 'f':
		return SkipWord(b, i, "false")
	case 'n':
		return SkipWord(b, i, "null")
	case 'N':
		return SkipWord(b, i, "NaN")
	default:
		return SkipNumber(b, i)
	}
}

// SkipWord reads one word, such as null, that starts at i.
func SkipWord(b []byte, i int, word string) int {
	if len(b)-i < len(word) || string(b[i:i+len(word)]) != word {
		return -1
	}
	return i + len(word)
}

// SkipObject reads an object whose brace is at i and that lies depth levels deep.
func SkipObject(b []byte, i, depth int) int {
	if depth >= MaxDepth {
		return -1
	}
	i = SkipSpace(b, i+1)
	if i < len(b) && b[i] == '}' {
		return i + 1
	}
	for {
		if i = SkipKey(b, i); i < 0 {
			return -1
		}
		if i = SkipValue(b, i, depth+1); i < 0 {
			return -1
		}
		if i >= len(b) || b[i] <= ' ' {
			i = SkipSpace(b, i)
		}
		if i >= len(b) {
			return -1
		}
		switch b[i] {
		case ',':
			i = SkipSpace(b, i+1)
		case '}':
			return i + 1
		default:
			return -1
		}
	}
}

// SkipKey reads `"key" :` and the space after it.
func SkipKey(b []byte, i int) int {
	if i >= len(b) || b[i] != '"' {
		return -1
	}
	if i = SkipString(b, i+1); i < 0 {
		return -1
	}
	return SkipColon(b, i)
}

// SkipColon reads the colon behind a name, and the space around it.
func SkipColon(b []byte, i int) int {
	if i = SkipSpace(b, i); i >= len(b) || b[i] != ':' {
		return -1
	}
	return SkipSpace(b, i+1)
}

// SkipArray reads an array whose bracket is at i and that lies depth levels deep.
func SkipArray(b []byte, i, depth int) int {
	if depth >= MaxDepth {
		return -1
	}
	i = SkipSpace(b, i+1)
	if i < len(b) && b[i] == ']' {
		return i + 1
	}
	for {
		if i = SkipValue(b, i, depth+1); i < 0 {
			return -1
		}
		if i >= len(b) || b[i] <= ' ' {
			i = SkipSpace(b, i)
		}
		if i >= len(b) {
			return -1
		}
		switch b[i] {
		case ',':
			i = SkipSpace(b, i+1)
		case ']':
			return i + 1
		default:
			return -1
		}
	}
}

const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

// specials marks, with its high bit, each byte of w that ends a run of plain string text: a quote, a backslash or a control
// character. The lowest mark is exact; marks above it may be false, because a borrow runs upward
// (Bit Twiddling Hacks, "Determine if a word has a byte less than n").
func specials(w uint64) uint64 {
	quote := w ^ ones*'"'
	slash := w ^ ones*'\\'
	return ((quote-ones)&^quote | (slash-ones)&^slash | (w-ones*0x20)&^w) & highs
}

// SkipPlain returns the position of the first byte at or after i that ends a run of plain string text: a quote, a backslash or a control
// character. It is len(b) if there is none.
func SkipPlain(b []byte, i int) int {
	for i+8 <= len(b) {
		if m := specials(binary.LittleEndian.Uint64(b[i:])); m != 0 {
			return i + bits.TrailingZeros64(m)>>3
		}
		i += 8
	}
	for i < len(b) && b[i] >= 0x20 && b[i] != '"' && b[i] != '\\' {
		i++
	}
	return i
}

// SkipString reads a string whose opening quote is before i.
func SkipString(b []byte, i int) int {
	for {
		for i+8 <= len(b) {
			m := specials(binary.LittleEndian.Uint64(b[i:]))
			if m == 0 {
				i += 8
				continue
			}
			if i += bits.TrailingZeros64(m) >> 3; b[i] == '"' {
				return i + 1
			}
			break
		}
		if i = SkipPlain(b, i); i >= len(b) {
			return -1
		}
		switch b[i] {
		case '"':
			return i + 1
		case '\\':
			if i = skipEscape(b, i+1); i < 0 {
				return -1
			}
		default:
			return -1
		}
	}
}

// skipEscape reads an escape whose backslash is before i.
func skipEscape(b []byte, i int) int {
	if i >= len(b) {
		return -1
	}
	switch b[i] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return i + 1
	case 'u':
	default:
		return -1
	}
	if i+5 > len(b) {
		return -1
	}
	for _, c := range b[i+1 : i+5] {
		if (c < '0' || c > '9') && (c|0x20 < 'a' || c|0x20 > 'f') {
			return -1
		}
	}
	return i + 5
}

// SkipNumber reads a number that starts at i.
func SkipNumber(b []byte, i int) int {
	if i < len(b) && b[i] == '-' {
		i++
	}
	switch {
	case i >= len(b) || !Digit(b[i]):
		return -1
	case b[i] == '0':
		i++
	default:
		i = skipDigits(b, i)
	}
	if i < len(b) && b[i] == '.' {
		if i++; i >= len(b) || !Digit(b[i]) {
			return -1
		}
		i = skipDigits(b, i)
	}
	if i < len(b) && b[i]|0x20 == 'e' {
		i++
		if i < len(b) && (b[i] == '+' || b[i] == '-') {
			i++
		}
		if i >= len(b) || !Digit(b[i]) {
			return -1
		}
		i = skipDigits(b, i)
	}
	return i
}

func skipDigits(b []byte, i int) int {
	for i < len(b) && Digit(b[i]) {
		i++
	}
	return i
}

// Digit tells whether c is a digit.
func Digit(c byte) bool { return c-'0' < 10 }

// Members reads the object whose brace is at i, and calls f for each member with its name and where its value begins; f returns the position
// behind the value, such as SkipValue does.
func Members(b []byte, i int, f func(name []byte, i int) int) int {
	if i = SkipSpace(b, i+1); i < len(b) && b[i] == '}' {
		return i + 1
	}
	for {
		if i >= len(b) || b[i] != '"' {
			return -1
		}
		end := SkipString(b, i+1)
		if end < 0 {
			return -1
		}
		name, _ := Unquote(b[i:end])
		if i = SkipColon(b, end); i < 0 {
			return -1
		}
		if i = f(name, i); i < 0 {
			return -1
		}
		if i = SkipSpace(b, i); i >= len(b) {
			return -1
		}
		switch b[i] {
		case ',':
			i = SkipSpace(b, i+1)
		case '}':
			return i + 1
		default:
			return -1
		}
	}
}
