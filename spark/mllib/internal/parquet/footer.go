package parquet

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// File is a Parquet file in memory. It is read-only and safe for concurrent use.
type File struct {
	rows   int
	leaves []leaf
	data   []byte // the whole file
	groups []group
}

// leaf is a column of values.
type leaf struct {
	path  string // names from below the root, joined by dots
	typ   int    // see the types below
	def   int    // definition level of a value: how many of the names on its path may be absent
	list  int    // definition level from which on the list has an entry; 0: no list
	lists int    // how many of the names on its path are repeated
}

// Physical types.
const (
	typeInt32     = 1
	typeDouble    = 5
	typeByteArray = 6
)

// group is a group of rows.
type group struct {
	rows   int64
	chunks []chunk // one for each leaf
}

// chunk is where the pages of a column lie.
type chunk struct {
	typ, codec       int
	size             int64 // of all pages
	data, dictionary int64 // offsets of the first page and of the dictionary's
}

// A row of what is read here has numbers of its own, and takes an eighth of a byte at the very least; a footer that says more is damaged. Values
// of lists may be the same a thousand times, which is one run in the file.
const (
	rowsPerByte   = 8
	valuesPerByte = 2048
	freeRows      = 1024
)

// magic stands at both ends of a file.
const magic = "PAR1"

// Open reads the footer of a file. The bytes are not copied: they stay as they are while the File is used.
func Open(data []byte) (*File, error) {
	footer, err := footerOf(data)
	if err != nil {
		return nil, err
	}
	f := &File{data: data}
	t := &compact{data: footer}
	var schema []element
	rows := int64(0)
	t.fields(func(id int16, typ byte) bool {
		switch {
		case id == 2 && typ == thriftList:
			t.list(thriftStruct, func() { schema = append(schema, readElement(t)) })
		case id == 3 && typ == thriftI64:
			rows = t.number()
		case id == 4 && typ == thriftList:
			t.list(thriftStruct, func() { f.groups = append(f.groups, readGroup(t)) })
		default:
			return false
		}
		return true
	})
	if t.err != nil {
		return nil, fmt.Errorf("the footer is damaged: %w", t.err)
	}
	if f.leaves, err = leavesOf(schema); err != nil {
		return nil, err
	}
	return f, f.check(rows)
}

// footerOf returns the bytes of the footer: its length and the magic number stand behind it.
func footerOf(data []byte) ([]byte, error) {
	if len(data) < len(magic)+4+len(magic) {
		return nil, fmt.Errorf("%d bytes are no Parquet file; it was cut short, copy it again", len(data))
	}
	if end := string(data[len(data)-4:]); end != magic || string(data[:4]) != magic {
		if end == "PARE" {
			return nil, errors.New("it is encrypted; write it without encryption")
		}
		return nil, errors.New("it does not begin and end as a Parquet file does; it was cut short, or is another file: copy it again")
	}
	size, end := binary.LittleEndian.Uint32(data[len(data)-8:]), len(data)-8
	if int64(size) > int64(end-len(magic)) {
		return nil, fmt.Errorf("a footer of %d bytes in a file of %d; it is damaged, copy it again", size, len(data))
	}
	return data[end-int(size) : end], nil
}

// check compares what the footer says with the file's size.
func (f *File) check(rows int64) error {
	if rows < 0 || rows > rowsPerByte*int64(len(f.data))+freeRows {
		return fmt.Errorf("the footer speaks of %d rows in %d bytes; it is damaged, copy it again", rows, len(f.data))
	}
	sum := int64(0)
	for k, g := range f.groups {
		if len(g.chunks) != len(f.leaves) || g.rows < 0 || g.rows > rows {
			return fmt.Errorf("group %d has %d rows and %d columns, the file %d and %d; it is damaged, copy it again", k, g.rows, len(g.chunks), rows, len(f.leaves))
		}
		sum += g.rows
		for i, c := range g.chunks {
			if err := f.checkChunk(c, f.leaves[i]); err != nil {
				return fmt.Errorf("column %s of group %d: %w", f.leaves[i].path, k, err)
			}
		}
	}
	if sum != rows {
		return fmt.Errorf("%d rows in its groups and %d in the file; it is damaged, copy it again", sum, rows)
	}
	f.rows = int(rows)
	return nil
}

// checkChunk checks that the pages of a column lie in the file.
func (f *File) checkChunk(c chunk, l leaf) error {
	if c.typ != l.typ {
		return fmt.Errorf("values of type %d, and the schema says %d; it is damaged, copy it again", c.typ, l.typ)
	}
	start, all := c.start(), int64(len(f.data))
	if start < int64(len(magic)) || c.size < 0 || start > all || c.size > all-start {
		return fmt.Errorf("%d bytes from %d on, in a file of %d; it was cut short, copy it again", c.size, start, all)
	}
	return nil
}

// start is where the first page of a chunk lies: the dictionary's, if there is one.
func (c chunk) start() int64 {
	if c.dictionary > 0 && c.dictionary < c.data {
		return c.dictionary
	}
	return c.data
}

// Rows is the number of rows.
func (f *File) Rows() int { return f.rows }

// Has tells whether there is a column of this path: its names, joined by dots.
func (f *File) Has(path string) bool {
	return slices.ContainsFunc(f.leaves, func(l leaf) bool { return l.path == path || strings.HasPrefix(l.path, path+".") })
}

// element is an entry of the schema, which is a tree in the order of a walk.
type element struct {
	name                  string
	typ, repeat, children int64
}

// Repetitions of an element.
const (
	optional = 1
	repeated = 2
)

func readElement(t *compact) (e element) {
	t.fields(func(id int16, typ byte) bool {
		switch {
		case id == 1 && typ == thriftI32:
			e.typ = t.number()
		case id == 3 && typ == thriftI32:
			e.repeat = t.number()
		case id == 4 && typ == thriftBinary:
			e.name = string(t.bytes())
		case id == 5 && typ == thriftI32:
			e.children = t.number()
		default:
			return false
		}
		return true
	})
	return e
}

func readGroup(t *compact) (g group) {
	t.fields(func(id int16, typ byte) bool {
		switch {
		case id == 1 && typ == thriftList:
			t.list(thriftStruct, func() { g.chunks = append(g.chunks, readChunk(t)) })
		case id == 3 && typ == thriftI64:
			g.rows = t.number()
		default:
			return false
		}
		return true
	})
	return g
}

func readChunk(t *compact) (c chunk) {
	t.fields(func(id int16, typ byte) bool {
		switch {
		case id == 1: // file_path
			t.fail("a column that lies in another file")
		case id == 3 && typ == thriftStruct:
			t.fields(func(id int16, typ byte) bool { return c.field(t, id, typ) })
			return true
		}
		return false
	})
	return c
}

// field reads a field of a ColumnMetaData.
func (c *chunk) field(t *compact, id int16, typ byte) bool {
	if typ != thriftI32 && typ != thriftI64 {
		return false
	}
	switch id {
	case 1:
		c.typ = int(t.number())
	case 4:
		c.codec = int(t.number())
	case 7:
		c.size = t.number()
	case 9:
		c.data = t.number()
	case 11:
		c.dictionary = t.number()
	default:
		return false
	}
	return true
}

// branch is an element of the schema whose children are still to come.
type branch struct {
	leaf
	left int64 // children
}

// leavesOf walks the schema, whose first element is the root.
func leavesOf(schema []element) (leaves []leaf, err error) {
	if len(schema) == 0 || schema[0].children < 1 {
		return nil, errors.New("the footer has no schema; it is damaged, copy it again")
	}
	open := []branch{{left: schema[0].children}}
	for _, e := range schema[1:] {
		for len(open) > 0 && open[len(open)-1].left == 0 {
			open = open[:len(open)-1]
		}
		if len(open) == 0 || len(open) > deepest || e.children < 0 {
			return nil, fmt.Errorf("the schema is no tree of columns at %q; it is damaged, copy it again", e.name)
		}
		open[len(open)-1].left--
		l := open[len(open)-1].below(e)
		if e.children > 0 {
			open = append(open, branch{l, e.children})
			continue
		}
		leaves = append(leaves, l)
	}
	for _, b := range open {
		if b.left > 0 {
			return nil, errors.New("the schema ends early; it is damaged, copy it again")
		}
	}
	return leaves, nil
}

// below returns a leaf as far as it is known from the names above it and e.
func (l leaf) below(e element) leaf {
	if l.path != "" {
		l.path += "."
	}
	l.path += e.name
	l.typ = int(e.typ)
	switch e.repeat {
	case optional:
		l.def++
	case repeated:
		l.def++
		l.lists++
		l.list = l.def
	}
	return l
}
