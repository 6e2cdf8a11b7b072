package parquet

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/klauspost/compress/zstd"
)

// Int32 calls each for the value of every row, in order. A null is an error.
func (f *File) Int32(path string, each func(row int, v int32)) error {
	return f.single(path, typeInt32, func(row int, v []byte) { each(row, int32(binary.LittleEndian.Uint32(v))) })
}

// Float64 is Int32 for a column of doubles.
func (f *File) Float64(path string, each func(row int, v float64)) error {
	return f.single(path, typeDouble, func(row int, v []byte) { each(row, float64Of(v)) })
}

// Text is Int32 for a column of texts; v is a view, which stays as it is during the call alone.
func (f *File) Text(path string, each func(row int, v []byte)) error {
	return f.single(path, typeByteArray, each)
}

func float64Of(v []byte) float64 { return math.Float64frombits(binary.LittleEndian.Uint64(v)) }

// single reads a column that is no list.
func (f *File) single(path string, typ int, each func(row int, v []byte)) error {
	return f.read(path, typ, false, func(c *column) error {
		for row := 0; ; row++ {
			e, err := c.next()
			if err != nil || !e.ok {
				return c.ended(row, err)
			}
			if e.def != c.leaf.def {
				return fmt.Errorf("row %d has no value", row)
			}
			v, err := c.value()
			if err != nil {
				return fmt.Errorf("row %d: %w", row, err)
			}
			each(row, v)
		}
	})
}

// List calls each for the numbers of every row of a column of lists of doubles, in order, until it returns an error. The slice is valid during the call.
// A list that is null is empty. One of more than most numbers, and a null in a list, are errors.
func (f *File) List(path string, most int, each func(row int, list []float64) error) error {
	return f.read(path, typeDouble, true, func(c *column) error {
		var list []float64
		row := -1
		for {
			e, err := c.next()
			if err != nil {
				return c.ended(row+1, err)
			}
			if row >= 0 && !e.more {
				if err := each(row, list); err != nil {
					return err
				}
			}
			if !e.ok {
				return c.ended(row+1, nil)
			}
			if !e.more {
				row, list = row+1, list[:0]
			}
			if list, err = c.add(list, e, most); err != nil {
				return fmt.Errorf("row %d: %w", row, err)
			}
		}
	})
}

// add appends the value of an entry, if it has one, to its list.
func (c *column) add(list []float64, e entry, most int) ([]float64, error) {
	switch {
	case e.def < c.leaf.list:
		return list, nil
	case e.def != c.leaf.def:
		return nil, errors.New("a number of its list is null")
	case len(list) == most:
		return nil, fmt.Errorf("its list has more than %d numbers", most)
	}
	v, err := c.value()
	if err != nil {
		return nil, err
	}
	return append(list, float64Of(v)), nil
}

// read finds a column and has it read.
func (f *File) read(path string, typ int, list bool, all func(*column) error) error {
	at, err := f.find(path, typ, list)
	if err != nil {
		return err
	}
	c := &column{file: f, at: at, leaf: f.leaves[at], most: valuesPerByte*len(f.data) + freeRows}
	defer func() {
		if c.zstd != nil {
			c.zstd.Close()
		}
	}()
	if err := all(c); err != nil {
		return fmt.Errorf("column %s: %w", path, err)
	}
	return nil
}

// find returns the place of a column. How a list's inner names are, two or three of them, differs among writers.
func (f *File) find(path string, typ int, list bool) (int, error) {
	lists, at := 0, -1
	if list {
		lists = 1
	}
	for i, l := range f.leaves {
		if l.path != path && !(list && strings.HasPrefix(l.path, path+".")) {
			continue
		}
		if at >= 0 || l.lists != lists || l.typ != typ {
			return 0, fmt.Errorf("column %s is of another type (%d, %d lists in each other) than a model of Spark has there", path, l.typ, l.lists)
		}
		at = i
	}
	if at < 0 {
		return 0, fmt.Errorf("there is no column %s", path)
	}
	return at, nil
}

// column reads a column entry by entry.
type column struct {
	file  *File
	at    int // of the column among the leaves
	leaf  leaf
	group int // the next group of rows
	rest  []byte
	codec int
	rows  int64 // that are left of the group
	zstd  *zstd.Decoder
	most  int // entries that may still come

	entries    int // that are left of the page
	rep, def   hybrid
	coded      bool   // values are places in the dictionary
	places     hybrid // if so
	plain      []byte // if not
	dictionary [][]byte
}

// entry is what levels say: a value, or that there is none.
type entry struct {
	ok   bool // false: the column has ended
	def  int
	more bool // it belongs to the row of the entry before
}

// next returns the next entry.
func (c *column) next() (entry, error) {
	for c.entries == 0 {
		if more, err := c.turn(); err != nil || !more {
			return entry{}, err
		}
	}
	c.entries--
	if c.most--; c.most < 0 {
		return entry{}, errors.New("more values than such a file can have; it is damaged, copy it again")
	}
	e := entry{ok: true}
	if c.leaf.lists > 0 {
		v, err := c.rep.next()
		if err != nil {
			return entry{}, err
		}
		e.more = v > 0
	}
	if c.leaf.def > 0 {
		v, err := c.def.next()
		if err != nil {
			return entry{}, err
		}
		e.def = int(v)
	}
	return e, c.count(e)
}

// count counts rows.
func (c *column) count(e entry) error {
	if e.more {
		if c.rows == c.file.groups[c.group-1].rows {
			return errors.New("it begins in the middle of a row; it is damaged, copy it again")
		}
		return nil
	}
	if c.rows--; c.rows < 0 {
		return errors.New("it has more rows than its group; it is damaged, copy it again")
	}
	return nil
}

// ended says whether a column may end here.
func (c *column) ended(row int, err error) error {
	if err == nil && row != c.file.rows {
		err = fmt.Errorf("%d values for %d rows; it is damaged, copy it again", row, c.file.rows)
	}
	if err != nil {
		return fmt.Errorf("row %d: %w", row, err)
	}
	return nil
}

// turn goes to the next page, or to the next group of rows; false: there is none.
func (c *column) turn() (bool, error) {
	for len(c.rest) == 0 {
		if c.rows > 0 {
			return false, fmt.Errorf("%d rows of its group are missing; it is damaged, copy it again", c.rows)
		}
		if c.group == len(c.file.groups) {
			return false, nil
		}
		g := c.file.groups[c.group]
		k := g.chunks[c.at]
		c.rest, c.codec, c.rows, c.dictionary = c.file.data[k.start():k.start()+k.size], k.codec, g.rows, nil
		c.group++
	}
	p, rest, err := readPage(c.rest)
	if err != nil {
		return false, err
	}
	c.rest = rest
	switch p.kind {
	case dataPage:
		return true, c.begin(p)
	case dataPage2:
		return true, c.begin2(p)
	case dictionaryPage:
		return true, c.learn(p)
	}
	return true, nil // an index
}

// begin opens a page of version 1, in which levels and values are packed together.
func (c *column) begin(p page) error {
	data, err := c.unpack(c.codec, p.body, p.size)
	if err != nil {
		return err
	}
	c.rep, c.def = hybrid{}, hybrid{}
	if c.leaf.lists > 0 {
		c.rep.width = bitsOf(c.leaf.lists)
		if c.rep.data, data, err = cut(data); err != nil {
			return err
		}
	}
	if c.leaf.def > 0 {
		c.def.width = bitsOf(c.leaf.def)
		if c.def.data, data, err = cut(data); err != nil {
			return err
		}
	}
	if (c.leaf.lists > 0 && p.rep != rleLevels) || (c.leaf.def > 0 && p.def != rleLevels) {
		return fmt.Errorf("levels in %s and %s; write the file with a Parquet library of today", encodingName(p.rep), encodingName(p.def))
	}
	return c.open(p, data)
}

// begin2 opens a page of version 2, whose levels stand before the values, not packed.
func (c *column) begin2(p page) error {
	if p.def < 0 || p.rep < 0 || p.def > len(p.body) || p.rep > len(p.body)-p.def || p.size < p.def+p.rep {
		return fmt.Errorf("levels of %d and %d bytes in a page of %d; it is damaged, copy it again", p.rep, p.def, len(p.body))
	}
	c.rep = hybrid{data: p.body[:p.rep], width: bitsOf(c.leaf.lists)}
	c.def = hybrid{data: p.body[p.rep : p.rep+p.def], width: bitsOf(c.leaf.def)}
	data, codec := p.body[p.rep+p.def:], c.codec
	if !p.compressed {
		codec = 0
	}
	data, err := c.unpack(codec, data, p.size-p.def-p.rep)
	if err != nil {
		return err
	}
	return c.open(p, data)
}

// open makes the values of a page ready.
func (c *column) open(p page, data []byte) error {
	if p.values < 0 {
		return fmt.Errorf("a page of %d values; it is damaged, copy it again", p.values)
	}
	c.entries, c.plain, c.coded = p.values, data, false
	switch p.encoding {
	case plain:
		return nil
	case plainDictionary, rleDictionary:
		if len(data) == 0 { // all values of the page are absent
			return nil
		}
		if data[0] > 32 {
			return fmt.Errorf("places of %d bits in a dictionary; it is damaged, copy it again", data[0])
		}
		c.coded, c.places = true, hybrid{data: data[1:], width: int(data[0])}
		return nil
	}
	return fmt.Errorf("its values are encoded by %s, which is not read here; write it with pages of version 1 (parquet.writer.version)", encodingName(p.encoding))
}

// learn takes a dictionary.
func (c *column) learn(p page) error {
	if p.encoding != plain && p.encoding != plainDictionary {
		return fmt.Errorf("a dictionary encoded by %s; write it with a Parquet library of today", encodingName(p.encoding))
	}
	data, err := c.unpack(c.codec, p.body, p.size)
	if err != nil {
		return err
	}
	c.dictionary = c.dictionary[:0]
	for range p.values {
		var v []byte
		if v, data, err = c.take(data); err != nil {
			return fmt.Errorf("the dictionary: %w", err)
		}
		c.dictionary = append(c.dictionary, v)
	}
	return nil
}

// value returns the value of the entry before.
func (c *column) value() (v []byte, err error) {
	if !c.coded {
		v, c.plain, err = c.take(c.plain)
		return v, err
	}
	place, err := c.places.next()
	if err != nil {
		return nil, err
	}
	if int64(place) >= int64(len(c.dictionary)) {
		return nil, fmt.Errorf("value %d of a dictionary of %d; it is damaged, copy it again", place, len(c.dictionary))
	}
	return c.dictionary[place], nil
}

// take takes a value off plain ones.
func (c *column) take(data []byte) (v, rest []byte, err error) {
	size := 8
	switch c.leaf.typ {
	case typeInt32:
		size = 4
	case typeByteArray:
		return cut(data)
	}
	if len(data) < size {
		return nil, nil, errors.New("the values of a page end early; it is damaged, copy it again")
	}
	return data[:size], data[size:], nil
}
