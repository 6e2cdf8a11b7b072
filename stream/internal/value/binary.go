package value

import "encoding/binary"

// AppendBinary appends a value in the form in which snapshots keep it: its kind, and what it holds. ReadBinary reads it back, to the last bit.
func (v Value) AppendBinary(dst []byte) []byte {
	dst = append(dst, byte(v.kind))
	switch v.kind {
	case Null:
		return dst
	case Text, JSON:
		return append(binary.AppendUvarint(dst, uint64(len(v.text))), v.text...)
	case Float:
		return binary.LittleEndian.AppendUint64(dst, uint64(v.n))
	}
	return binary.AppendVarint(dst, v.n)
}

// ReadBinary reads a value from the beginning of b and returns how many bytes it takes, 0 if there is none. Its text is its own.
func ReadBinary(b []byte) (v Value, n int) {
	if len(b) == 0 || Kind(b[0]) > JSON {
		return Value{}, 0
	}
	v.kind = Kind(b[0])
	switch v.kind {
	case Null:
		return v, 1
	case Text, JSON:
		size, k := binary.Uvarint(b[1:])
		if k <= 0 || size > uint64(len(b)-1-k) {
			return Value{}, 0
		}
		end := 1 + k + int(size)
		v.text = string(b[1+k : end])
		return v, end
	case Float:
		if len(b) < 9 {
			return Value{}, 0
		}
		v.n = int64(binary.LittleEndian.Uint64(b[1:]))
		return v, 9
	}
	whole, k := binary.Varint(b[1:])
	if k <= 0 {
		return Value{}, 0
	}
	v.n = whole
	return v, 1 + k
}
