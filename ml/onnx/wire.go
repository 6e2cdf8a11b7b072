package onnx

import (
	"encoding/binary"
	"fmt"
	"math"

	"google.golang.org/protobuf/encoding/protowire"
)

// field is one field of a message: a number, or the bytes of a text, of a message or of packed numbers.
type field struct {
	num    protowire.Number
	typ    protowire.Type
	number uint64
	bytes  []byte
}

// each calls f with every field of a message, in their order.
func each(message []byte, f func(field) error) error {
	for len(message) > 0 {
		var v field
		var n int
		v.num, v.typ, n = protowire.ConsumeTag(message)
		if n < 0 {
			return damaged(n)
		}
		message = message[n:]
		switch v.typ {
		case protowire.VarintType:
			v.number, n = protowire.ConsumeVarint(message)
		case protowire.Fixed32Type:
			var x uint32
			x, n = protowire.ConsumeFixed32(message)
			v.number = uint64(x)
		case protowire.Fixed64Type:
			v.number, n = protowire.ConsumeFixed64(message)
		case protowire.BytesType:
			v.bytes, n = protowire.ConsumeBytes(message)
		default:
			return fmt.Errorf("field %d has wire type %d, which ONNX does not use: this is no ONNX model, or it is damaged", v.num, v.typ)
		}
		if n < 0 {
			return damaged(n)
		}
		message = message[n:]
		if err := f(v); err != nil {
			return err
		}
	}
	return nil
}

// damaged is the error of a message that cannot be taken apart.
func damaged(n int) error {
	return fmt.Errorf("this is no ONNX model, or it is damaged (%w); export it again, or copy it again", protowire.ParseError(n))
}

// count returns how many fields of this number a message has.
func count(message []byte, num protowire.Number) (n int, err error) {
	err = each(message, func(v field) error {
		if v.num == num {
			n++
		}
		return nil
	})
	return n, err
}

// list reads a repeated field of numbers, packed or not: each is written by one encoder or another. size says how many numbers packed bytes
// hold, and take takes one from their front; both know the wire type. The numbers are counted before there is room for them.
func list[T any](message []byte, num protowire.Number, typ protowire.Type, size func([]byte) int, take func([]byte) (T, int)) ([]T, error) {
	n := 0
	err := each(message, func(v field) error {
		switch {
		case v.num != num:
		case v.typ == typ:
			n++
		case v.typ == protowire.BytesType:
			n += size(v.bytes)
		default:
			return fmt.Errorf("field %d has wire type %d, want %d: this is no ONNX model, or it is damaged", num, v.typ, typ)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	out := make([]T, 0, n)
	var scratch [binary.MaxVarintLen64]byte
	err = each(message, func(v field) error {
		packed := v.bytes
		if v.num != num {
			return nil
		}
		if v.typ != protowire.BytesType {
			packed = unpacked(scratch[:0], v)
		}
		for len(packed) > 0 {
			x, n := take(packed)
			if n < 0 {
				return damaged(n)
			}
			out, packed = append(out, x), packed[n:]
		}
		return nil
	})
	return out, err
}

// unpacked appends a number as it stands among packed ones.
func unpacked(dst []byte, v field) []byte {
	switch v.typ {
	case protowire.Fixed32Type:
		return protowire.AppendFixed32(dst, uint32(v.number))
	case protowire.Fixed64Type:
		return protowire.AppendFixed64(dst, v.number)
	}
	return protowire.AppendVarint(dst, v.number)
}

// varints counts the numbers in packed bytes: each ends with a byte below 128.
func varints(packed []byte) (n int) {
	for _, b := range packed {
		if b < 0x80 {
			n++
		}
	}
	return n
}

// ints reads a repeated field of int64, int32 or an enumeration.
func ints(message []byte, num protowire.Number) ([]int64, error) {
	return list(message, num, protowire.VarintType, varints, func(b []byte) (int64, int) {
		v, n := protowire.ConsumeVarint(b)
		return int64(v), n
	})
}

// floats reads a repeated field of float, with each number as a float64.
func floats(message []byte, num protowire.Number) ([]float64, error) {
	return list(message, num, protowire.Fixed32Type, func(b []byte) int { return len(b) / 4 }, func(b []byte) (float64, int) {
		v, n := protowire.ConsumeFixed32(b)
		return float64(math.Float32frombits(v)), n
	})
}

// doubles reads a repeated field of double.
func doubles(message []byte, num protowire.Number) ([]float64, error) {
	return list(message, num, protowire.Fixed64Type, func(b []byte) int { return len(b) / 8 }, func(b []byte) (float64, int) {
		v, n := protowire.ConsumeFixed64(b)
		return math.Float64frombits(v), n
	})
}

// appendMessage appends a field that holds bytes: a text, a message, or packed numbers.
func appendMessage[T string | []byte](dst []byte, num protowire.Number, content T) []byte {
	dst = protowire.AppendTag(dst, num, protowire.BytesType)
	dst = protowire.AppendVarint(dst, uint64(len(content)))
	return append(dst, content...)
}

// appendNumber appends a field that holds a whole number.
func appendNumber(dst []byte, num protowire.Number, v int64) []byte {
	dst = protowire.AppendTag(dst, num, protowire.VarintType)
	return protowire.AppendVarint(dst, uint64(v))
}
