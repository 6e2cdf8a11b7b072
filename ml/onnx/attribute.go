package onnx

import (
	"encoding/binary"
	"fmt"
	"math"
	"unicode/utf8"
)

// about says in which attribute of an operator something is wrong.
func (n *node) about(name string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%v, %s: %w", n, name, err)
}

// ints reads an attribute of whole numbers; nil where there is none.
func (n *node) ints(name string) ([]int64, error) {
	if n.attributes[name] == nil {
		return nil, nil
	}
	v, err := ints(n.attributes[name], 8)
	return v, n.about(name, err)
}

// list reads attributes of whole numbers by their names; one that is not there is nil.
func (n *node) list(to map[string]*[]int64) (err error) {
	for name, v := range to {
		if *v, err = n.ints(name); err != nil {
			return err
		}
	}
	return nil
}

// int reads an attribute of one whole number, which is otherwise where there is none.
func (n *node) int(name string, otherwise int64) (int64, error) {
	if n.attributes[name] == nil {
		return otherwise, nil
	}
	v, err := whole(n.attributes[name], 3)
	return v, n.about(name, err)
}

// text reads an attribute of one text, which is otherwise where there is none.
func (n *node) text(name, otherwise string) (string, error) {
	if n.attributes[name] == nil {
		return otherwise, nil
	}
	v, err := text(n.attributes[name], 4)
	return v, n.about(name, err)
}

// texts calls f with each text of an attribute.
func (n *node) texts(name string, f func(string) error) error {
	return n.about(name, each(n.attributes[name], func(v field) error {
		if v.num != 9 {
			return nil
		}
		if !utf8.Valid(v.bytes) {
			return fmt.Errorf("%q is no text in UTF-8; export it again", v.bytes)
		}
		return f(string(v.bytes))
	}))
}

// numbers reads an attribute of float32, or the tensor of float64 in its place, name_as_tensor, and tells which it was.
func (n *node) numbers(name string) (v []float64, double bool, err error) {
	if n.attributes[name+"_as_tensor"] != nil {
		if n.attributes[name] != nil {
			return nil, false, fmt.Errorf("%v has both %s and %s_as_tensor; export it again", n, name, name)
		}
		name += "_as_tensor"
		v, elem, err := n.tensor(name)
		return v, elem == typeDouble, err
	}
	if n.attributes[name] == nil {
		return nil, false, nil
	}
	v, err = floats(n.attributes[name], 7)
	return v, false, n.about(name, err)
}

// tensor reads an attribute that is a tensor of one dimension, of float, double or uint8, and its type.
func (n *node) tensor(name string) (v []float64, elem int64, err error) {
	if n.attributes[name] == nil {
		return nil, 0, nil
	}
	message, err := inside(n.attributes[name], 5)
	if err != nil {
		return nil, 0, n.about(name, err)
	}
	v, elem, err = tensor(message)
	return v, elem, n.about(name, err)
}

// tensor reads the numbers of a tensor, which stand in a list of their type or in its raw bytes.
func tensor(message []byte) (v []float64, elem int64, err error) {
	if elem, err = whole(message, 2); err != nil {
		return nil, 0, err
	}
	if where, err := whole(message, 14); err != nil || where != 0 {
		return nil, 0, fmt.Errorf("its numbers lie in another file (%v); save the model as one file", err)
	}
	raw, err := inside(message, 9)
	if err != nil {
		return nil, 0, err
	}
	switch {
	case elem == typeFloat && raw != nil:
		v, err = raws(raw, 4, func(b []byte) float64 { return float64(math.Float32frombits(binary.LittleEndian.Uint32(b))) })
	case elem == typeDouble && raw != nil:
		v, err = raws(raw, 8, func(b []byte) float64 { return math.Float64frombits(binary.LittleEndian.Uint64(b)) })
	case elem == typeUint8 && raw != nil:
		v, err = raws(raw, 1, func(b []byte) float64 { return float64(b[0]) })
	case elem == typeFloat:
		v, err = floats(message, 4)
	case elem == typeDouble:
		v, err = doubles(message, 10)
	case elem == typeUint8:
		var whole []int64
		whole, err = ints(message, 5)
		v = make([]float64, len(whole))
		for i, n := range whole {
			v[i] = float64(n)
		}
	default:
		err = fmt.Errorf("a tensor of type %d; float (%d), double (%d) and uint8 (%d) are read", elem, typeFloat, typeDouble, typeUint8)
	}
	return v, elem, err
}

// raws reads numbers of so many bytes each.
func raws(raw []byte, width int, read func([]byte) float64) ([]float64, error) {
	if len(raw)%width != 0 {
		return nil, fmt.Errorf("%d bytes are no whole number of numbers of %d; export it again", len(raw), width)
	}
	v := make([]float64, len(raw)/width)
	for i := range v {
		v[i] = read(raw[i*width:])
	}
	return v, nil
}
