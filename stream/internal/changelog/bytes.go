package changelog

import (
	"encoding/binary"
	"math"

	"cancha/stream/internal/value"
)

// Bytes reads what items have written, one part after another. After something that is not there all further reads give zero values, and Ok is false:
// a snapshot that is whole can still be of another program.
type Bytes struct {
	rest []byte
	bad  bool
}

// BytesOf reads b.
func BytesOf(b []byte) *Bytes { return &Bytes{rest: b} }

// Ok tells whether all reads have found what they asked for, and nothing is left.
func (b *Bytes) Ok() bool { return !b.bad && len(b.rest) == 0 }

// Refuse notes that what was read cannot be: Ok is false then.
func (b *Bytes) Refuse() { b.bad = true }

// More tells whether something is left.
func (b *Bytes) More() bool { return !b.bad && len(b.rest) > 0 }

// Rest is what has not been read.
func (b *Bytes) Rest() []byte {
	rest := b.rest
	b.rest = nil
	return rest
}

func (b *Bytes) take(n int) []byte {
	if n <= 0 || n > len(b.rest) || b.bad {
		b.bad = true
		return nil
	}
	taken := b.rest[:n]
	b.rest = b.rest[n:]
	return taken
}

// Int reads what AppendInt has written.
func (b *Bytes) Int() int64 {
	n, k := binary.Varint(b.rest)
	if b.take(k) == nil {
		return 0
	}
	return n
}

// Float reads what AppendFloat has written.
func (b *Bytes) Float() float64 {
	if eight := b.take(8); eight != nil {
		return math.Float64frombits(binary.LittleEndian.Uint64(eight))
	}
	return 0
}

// Bool reads what AppendBool has written.
func (b *Bytes) Bool() bool {
	one := b.take(1)
	if one != nil && one[0] > 1 {
		b.bad = true
	}
	return one != nil && one[0] == 1
}

// Kind reads one byte.
func (b *Bytes) Kind() byte {
	if one := b.take(1); one != nil {
		return one[0]
	}
	return 0
}

// ID reads an id, which AppendCount has written.
func (b *Bytes) ID() uint64 {
	n, k := binary.Uvarint(b.rest)
	if b.take(k) == nil {
		return 0
	}
	return n
}

// Text reads what AppendText has written.
func (b *Bytes) Text() string {
	size, k := binary.Uvarint(b.rest)
	if b.take(k) == nil || size == 0 {
		return ""
	}
	if size > uint64(len(b.rest)) {
		b.bad = true
		return ""
	}
	return string(b.take(int(size)))
}

// Count reads how many things follow, each of which takes at least a byte.
func (b *Bytes) Count() int {
	n, k := binary.Uvarint(b.rest)
	if b.take(k) == nil {
		return 0
	}
	if n > uint64(len(b.rest)) {
		b.bad = true
		return 0
	}
	return int(n)
}

// Value reads a value.
func (b *Bytes) Value() value.Value {
	v, n := value.ReadBinary(b.rest)
	b.take(n)
	return v
}

// Row reads what AppendRow has written. A row of another width than wanted is bad; -1 wants none.
func (b *Bytes) Row(width int) []value.Value {
	n := b.Count()
	if width >= 0 && n != width {
		b.bad = true
	}
	if b.bad {
		return nil
	}
	row := make([]value.Value, n)
	for i := range row {
		row[i] = b.Value()
	}
	return row
}

// AppendInt appends an integer.
func AppendInt(dst []byte, n int64) []byte { return binary.AppendVarint(dst, n) }

// AppendFloat appends a number, to the last bit.
func AppendFloat(dst []byte, x float64) []byte {
	return binary.LittleEndian.AppendUint64(dst, math.Float64bits(x))
}

// AppendBool appends a truth.
func AppendBool(dst []byte, yes bool) []byte {
	if yes {
		return append(dst, 1)
	}
	return append(dst, 0)
}

// AppendText appends a text of any bytes.
func AppendText(dst []byte, s string) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(s))), s...)
}

// AppendCount appends how many things follow.
func AppendCount(dst []byte, n int) []byte { return binary.AppendUvarint(dst, uint64(n)) }

// AppendRow appends values, with how many they are.
func AppendRow(dst []byte, row []value.Value) []byte {
	dst = AppendCount(dst, len(row))
	for _, v := range row {
		dst = v.AppendBinary(dst)
	}
	return dst
}
