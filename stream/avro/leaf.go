package avro

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"math"
	"math/big"
	"strconv"
	"strings"
	"time"

	"cancha/stream"
)

// Reasons why a value that has its bytes is none all the same.
const (
	noTime   = "a time that is not of the years 1678 to 2262"
	noDigits = "a decimal with more digits than its schema has"
)

// scalar reads a value without parts into the slots of n.
func (s *scan) scalar(n *node, i int) int {
	v, end := s.leaf(n.schema, i)
	if end < 0 {
		return -1
	}
	for _, k := range n.slots {
		at := v
		if n.logical == decimal && s.slots[k].Want == stream.WantNumber {
			at = number(v)
		}
		if s.put(k, at) < 0 {
			return -1
		}
	}
	return end
}

// leaf reads a value without parts.
func (s *scan) leaf(t *schema, i int) (v stream.Value, end int) {
	switch t.kind {
	case null:
		return v, i
	case boolean:
		return s.truth(i)
	case integer, long:
		return s.whole64(t, i)
	case float, double:
		return s.fraction(t, i)
	case enum:
		name, end := s.symbol(t, i)
		return stream.TextOf(name), end
	case text:
		data, end := s.bytes(i)
		return stream.TextOfBytes(data), end
	case octets:
		data, end := s.bytes(i)
		if end < 0 {
			return v, -1
		}
		return s.opaque(t, data, end)
	}
	if t.size > len(s.b)-i {
		return v, s.fail(tooShort)
	}
	return s.opaque(t, s.b[i:i+t.size], i+t.size)
}

func (s *scan) truth(i int) (stream.Value, int) {
	switch {
	case i >= len(s.b):
		return stream.Value{}, s.fail(tooShort)
	case s.b[i] > 1:
		return stream.Value{}, s.fail(noTruth)
	}
	return stream.BoolOf(s.b[i] == 1), i + 1
}

func (s *scan) fraction(t *schema, i int) (stream.Value, int) {
	if t.exact > len(s.b)-i {
		return stream.Value{}, s.fail(tooShort)
	}
	if t.kind == float {
		return stream.FloatOf(float64(math.Float32frombits(binary.LittleEndian.Uint32(s.b[i:])))), i + 4
	}
	return stream.FloatOf(math.Float64frombits(binary.LittleEndian.Uint64(s.b[i:]))), i + 8
}

// whole64 reads an int or a long, and what they stand for.
func (s *scan) whole64(t *schema, i int) (v stream.Value, end int) {
	x, end := s.integer(t, i)
	if end < 0 {
		return v, -1
	}
	switch t.logical {
	case plain:
		return stream.IntOf(x), end
	case secondsMilli:
		return stream.FloatOf(float64(x) / 1e3), end
	case secondsMicro:
		return stream.FloatOf(float64(x) / 1e6), end
	}
	if v = stream.TimeOf(t.instant(x)); v.IsNull() {
		return v, s.fail(noTime)
	}
	return v, end
}

// instant is the time that a date or a time stamp stands for.
func (t *schema) instant(x int64) time.Time {
	switch t.logical {
	case date:
		return time.Unix(x*24*60*60, 0)
	case milli:
		return time.UnixMilli(x)
	case micro:
		return time.UnixMicro(x)
	}
	return time.Unix(0, x)
}

// opaque makes a value of bytes.
func (s *scan) opaque(t *schema, data []byte, end int) (stream.Value, int) {
	switch t.logical {
	case decimal:
		v, ok := decimalOf(data, t.digits, t.scale)
		if !ok {
			return v, s.fail(noDigits)
		}
		return v, end
	case uuid:
		return stream.TextOf(uuidOf(data)), end
	case duration:
		return stream.TextOf(durationOf(data)), end
	}
	return stream.TextOf(base64.StdEncoding.EncodeToString(data)), end
}

func uuidOf(data []byte) string {
	var digits [36]byte
	at := 0
	for i, end := range [...]int{4, 6, 8, 10, 16} {
		from := [...]int{0, 4, 6, 8, 10}[i]
		hex.Encode(digits[at:], data[from:end])
		if at += 2 * (end - from); at < len(digits) {
			digits[at] = '-'
			at++
		}
	}
	return string(digits[:])
}

// durationOf writes months, days and milliseconds as ISO 8601 does.
func durationOf(data []byte) string {
	months, days, millis := binary.LittleEndian.Uint32(data), binary.LittleEndian.Uint32(data[4:]), binary.LittleEndian.Uint32(data[8:])
	seconds := strconv.FormatUint(uint64(millis/1000), 10)
	if rest := millis % 1000; rest > 0 {
		seconds += "." + strconv.Itoa(int(1000 + rest))[1:]
	}
	return "P" + strconv.FormatUint(uint64(months), 10) + "M" + strconv.FormatUint(uint64(days), 10) + "DT" + seconds + "S"
}

// Up to so many digits a float64, and an int64, hold every decimal.
const (
	floatDigits = 15
	intDigits   = 18
)

// decimalOf makes a value of a decimal: two's complement, the most significant byte first, in units of 10^-scale. The kind of the value follows
// from the schema, so that a column has one kind.
func decimalOf(data []byte, digits, scale int) (v stream.Value, ok bool) {
	for len(data) > 1 && (data[0] == 0 && data[1] < 0x80 || data[0] == 0xff && data[1] >= 0x80) {
		data = data[1:] // bytes that only repeat the sign
	}
	if float64(8*len(data)-8) > float64(digits)*math.Log2(10)+1 {
		return v, false
	}
	asInt, asFloat := scale == 0 && digits <= intDigits, digits <= floatDigits
	if len(data) <= 8 && (asInt || asFloat) {
		unscaled := small(data)
		if asInt {
			return stream.IntOf(unscaled), true
		}
		if unscaled > -1<<53 && unscaled < 1<<53 {
			return stream.FloatOf(float64(unscaled) / math.Pow10(scale)), true // both exact, so the quotient is the nearest number
		}
	}
	v = stream.TextOf(decimalText(data, scale))
	if asFloat {
		v = number(v)
	}
	return v, true
}

// small reads two's complement of at most eight bytes.
func small(data []byte) int64 {
	var x int64
	if len(data) > 0 && data[0] >= 0x80 {
		x = -1
	}
	for _, b := range data {
		x = x<<8 | int64(b)
	}
	return x
}

// decimalText writes a decimal with all its digits: -12.30 of scale 2.
func decimalText(data []byte, scale int) string {
	x := new(big.Int).SetBytes(data)
	if len(data) > 0 && data[0] >= 0x80 {
		x.Sub(x, new(big.Int).Lsh(big.NewInt(1), uint(8*len(data))))
	}
	digits, sign := x.String(), ""
	if x.Sign() < 0 {
		digits, sign = digits[1:], "-"
	}
	if scale == 0 {
		return sign + digits
	}
	if len(digits) <= scale {
		digits = strings.Repeat("0", scale-len(digits)+1) + digits
	}
	return sign + digits[:len(digits)-scale] + "." + digits[len(digits)-scale:]
}

// number is a decimal as the nearest number.
func number(v stream.Value) stream.Value {
	if v.Kind() != stream.Text {
		return v
	}
	x, err := strconv.ParseFloat(v.Text(), 64)
	if err != nil { // beyond all numbers: the query's rule for such is asked
		x = math.Inf(1)
	}
	return stream.FloatOf(x)
}
