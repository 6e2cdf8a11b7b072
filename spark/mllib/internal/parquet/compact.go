package parquet

import (
	"encoding/binary"
	"fmt"
)

// Types of fields in Thrift's compact protocol, in which footers and the headers of pages are written:
// https://github.com/apache/thrift/blob/master/doc/specs/thrift-compact-protocol.md
const (
	thriftTrue   = 1
	thriftFalse  = 2
	thriftByte   = 3
	thriftI16    = 4
	thriftI32    = 5
	thriftI64    = 6
	thriftDouble = 7
	thriftBinary = 8
	thriftList   = 9
	thriftSet    = 10
	thriftMap    = 11
	thriftStruct = 12
)

// deepest is how many structs and lists may stand in each other: a footer has five. A file of nothing but openings ends here, not in the stack.
const deepest = 16

// compact reads a value of the compact protocol. After the first error, which it keeps, it reads zeros and stops all loops.
type compact struct {
	data []byte
	at   int
	deep int
	err  error
}

// fail keeps the first error.
func (t *compact) fail(format string, args ...any) {
	if t.err == nil {
		t.err = fmt.Errorf(format, args...)
	}
}

// octet reads one byte.
func (t *compact) octet() byte {
	if t.err == nil && t.at >= len(t.data) {
		t.fail("it ends in the middle of a value")
	}
	if t.err != nil {
		return 0
	}
	t.at++
	return t.data[t.at-1]
}

// varint reads an unsigned number of variable length.
func (t *compact) varint() uint64 {
	if t.err != nil {
		return 0
	}
	v, n := binary.Uvarint(t.data[t.at:])
	if n <= 0 {
		t.fail("it ends in the middle of a number")
		return 0
	}
	t.at += n
	return v
}

// number reads a signed number, of 16, 32 or 64 bits.
func (t *compact) number() int64 {
	v := t.varint()
	return int64(v>>1) ^ -int64(v&1)
}

// bytes reads a length and so many bytes: a view.
func (t *compact) bytes() []byte {
	n := t.varint()
	if n > uint64(len(t.data)-t.at) {
		t.fail("%d bytes of text where %d are left", n, len(t.data)-t.at)
	}
	if t.err != nil {
		return nil
	}
	t.at += int(n)
	return t.data[t.at-int(n) : t.at]
}

// fields reads a struct: it calls field for each of its fields, which reads the value, or else returns false for it to be passed over.
func (t *compact) fields(field func(id int16, typ byte) bool) {
	if t.deep++; t.deep > deepest {
		t.fail("more than %d structs in each other", deepest)
	}
	for id := int16(0); t.err == nil; {
		head := t.octet()
		typ := head & 15
		if typ == 0 {
			break
		}
		if delta := int16(head >> 4); delta > 0 {
			id += delta
		} else {
			id = int16(t.number())
		}
		if t.err == nil && !field(id, typ) {
			t.skip(typ)
		}
	}
	t.deep--
}

// list reads a list: it calls item for each entry, which reads it, if they are of the type that is wanted.
func (t *compact) list(want byte, item func()) {
	head := t.octet()
	n, typ := uint64(head>>4), head&15
	if n == 15 {
		n = t.varint()
	}
	if typ != want && n > 0 {
		t.fail("a list of type %d where %d was expected", typ, want)
	}
	for ; n > 0 && t.err == nil; n-- {
		item()
	}
}

// skip passes over a value.
func (t *compact) skip(typ byte) {
	switch typ {
	case thriftTrue, thriftFalse:
	case thriftByte:
		t.octet()
	case thriftI16, thriftI32, thriftI64:
		t.varint()
	case thriftDouble:
		for range 8 {
			t.octet()
		}
	case thriftBinary:
		t.bytes()
	case thriftList, thriftSet:
		t.skipList()
	case thriftMap:
		t.skipMap()
	case thriftStruct:
		t.fields(func(int16, byte) bool { return false })
	default:
		t.fail("a field of type %d, which there is not", typ)
	}
}

// skipList passes over a list. A boolean in a list has a byte of its own.
func (t *compact) skipList() {
	if t.deep++; t.deep > deepest {
		t.fail("more than %d lists in each other", deepest)
	}
	head := t.octet()
	n, typ := uint64(head>>4), head&15
	if n == 15 {
		n = t.varint()
	}
	for ; n > 0 && t.err == nil; n-- {
		t.skipItem(typ)
	}
	t.deep--
}

// skipMap passes over a map: its size, both types in one byte, then keys and values in turn.
func (t *compact) skipMap() {
	if t.deep++; t.deep > deepest {
		t.fail("more than %d maps in each other", deepest)
	}
	if n := t.varint(); n > 0 {
		types := t.octet()
		for ; n > 0 && t.err == nil; n-- {
			t.skipItem(types >> 4)
			t.skipItem(types & 15)
		}
	}
	t.deep--
}

// skipItem passes over an entry of a list or map; each takes a byte at least, so that a count alone costs nothing.
func (t *compact) skipItem(typ byte) {
	if typ == thriftTrue || typ == thriftFalse {
		typ = thriftByte
	}
	t.skip(typ)
}
