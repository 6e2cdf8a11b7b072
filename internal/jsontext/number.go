package jsontext

import (
	"math/bits"
	"strconv"
)

// powers of ten that a float64 holds exactly.
var exactPowers = [...]float64{1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11,
	1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22}

// ParseFloat reads the number at i and returns the position after it: -1 if it is not a JSON number; ok is false if it
// overflows float64. The value is strconv.ParseFloat's. A mantissa below 2^53 and a power of ten up to 22 are both exact
// in float64, so that one multiplication or division rounds correctly (Clinger, How to Read Floating Point Numbers
// Accurately, 1990); coordinates always are of this kind. The rest goes to strconv.
func ParseFloat(b []byte, i int) (v float64, next int, ok bool) {
	start := i
	negative := i < len(b) && b[i] == '-'
	if negative {
		i++
	}
	first := i
	mantissa, i := digits(b, i, 0)
	if i == first || b[first] == '0' && i > first+1 {
		return 0, -1, false
	}
	count, exponent := i-first, 0
	if i < len(b) && b[i] == '.' {
		point := i + 1
		if mantissa, i = digits(b, point, mantissa); i == point {
			return 0, -1, false
		}
		exponent = point - i
		count += i - point
	}
	if i < len(b) && b[i]|0x20 == 'e' || count > 18 || mantissa >= 1<<53 || exponent < -22 {
		return parseFloatSlow(b, start)
	}
	v = Decimal(mantissa, -exponent)
	if negative {
		v = -v
	}
	return v, i, true
}

// Short reads a number of at most seven letters, without sign and exponent, out of a word that has more behind it: the value is mantissa divided by
// ten to the power of fraction. length is 0 for all else. There is no loop in it, whose end a processor would have to guess: numbers of a stream are
// seldom as long as the last ones.
func Short(word uint64) (mantissa uint64, fraction, length int) {
	t := word ^ ones*'0'
	others := (t&^highs + ones*(0x80-10) | t) & highs // the bytes that are no digits
	length = bits.TrailingZeros64(others) >> 3
	count := length
	if count == 0 || count == 8 || t&0xff == 0 && count > 1 {
		return 0, 0, 0
	}
	if byte(word>>(8*count)) == '.' {
		others &= others - 1
		length = bits.TrailingZeros64(others) >> 3
		if fraction = length - count - 1; fraction == 0 || length == 8 {
			return 0, 0, 0
		}
		before := uint64(1)<<(8*count) - 1
		t = t&before | t>>8&^before
		count += fraction
	}
	if byte(word>>(8*length))|0x20 == 'e' {
		return 0, 0, 0
	}
	return eight(t << (64 - 8*count)), fraction, length
}

// eight is the number of eight digits, the first in the lowest byte: pairs, fours and all of them are added up in one word (Lemire, Number Parsing
// at a Gigabyte per Second, 2021).
func eight(t uint64) uint64 {
	t = t*10 + t>>8
	return (t&0x000000ff000000ff*(100+1000000<<32) + t>>16&0x000000ff000000ff*(1+10000<<32)) >> 32
}

// Decimal is mantissa divided by ten to the power of fraction, which is below 22; mantissa is below 2^53. It is rounded once.
func Decimal(mantissa uint64, fraction int) float64 {
	return float64(mantissa) / exactPowers[fraction]
}

// digits appends the digits at i to mantissa; more than 18 of them wrap around and are not to be used.
func digits(b []byte, i int, mantissa uint64) (uint64, int) {
	for i < len(b) && b[i]-'0' < 10 {
		mantissa = mantissa*10 + uint64(b[i]-'0')
		i++
	}
	return mantissa, i
}

// ShortInt reads an integer of at most 18 digits at i, behind which another character follows; next is -1 for all else, which ParseInt reads.
func ShortInt(b []byte, i int) (v int64, next int) {
	j := i
	if j < len(b) && b[j] == '-' {
		j++
	}
	first := j
	m, j := digits(b, j, 0)
	if j == first || j-first > 18 || b[first] == '0' && j > first+1 || j >= len(b) || b[j] == '.' || b[j]|0x20 == 'e' {
		return 0, -1
	}
	if first > i {
		return -int64(m), j
	}
	return int64(m), j
}

func parseFloatSlow(b []byte, i int) (v float64, next int, ok bool) {
	if next = SkipNumber(b, i); next < 0 {
		return 0, -1, false
	}
	v, err := strconv.ParseFloat(string(b[i:next]), 64)
	return v, next, err == nil
}

// ParseInt reads the number at i; ok is false if it is a number but not an int64 written in digits alone.
func ParseInt(b []byte, i int) (v int64, next int, ok bool) {
	if next = SkipNumber(b, i); next < 0 {
		return 0, -1, false
	}
	if next-i <= 18 {
		j := i
		if b[i] == '-' {
			j++
		}
		m, end := digits(b, j, 0)
		if v = int64(m); j > i {
			v = -v
		}
		return v, next, end == next
	}
	v, err := strconv.ParseInt(string(b[i:next]), 10, 64)
	return v, next, err == nil
}
