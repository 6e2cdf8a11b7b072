package avro

import (
	"encoding/binary"
	"slices"
	"strings"

	"cancha/stream"
)

const (
	// maxDepth is how deep values may lie in one another, as for JSON: a schema that has itself as a field must not exhaust the stack.
	maxDepth = 10000
	// maxEmpty is how many elements without a byte of their own a record may have: three bytes can state millions of nulls.
	maxEmpty = 4096
	// maxNames is how many names of a path a reason has.
	maxNames = 8
)

// Reasons why bytes are no record of their schema.
const (
	tooShort = "the record ends within it"
	tooLong  = "more bytes than its schema has: was it written with another one?"
	tooDeep  = "values in values, 10,000 deep"
	noLength = "a length or a count beyond the record's end"
	noNumber = "an integer of more than its 32 or 64 bits"
	noTruth  = "a truth that is neither 0 nor 1"
	noBranch = "a union's branch that its schema does not have"
	noSymbol = "an enum's symbol that its schema does not have"
	manyNone = "more than 4,096 elements without bytes"
	badBlock = "a block that is not as long as it states"
)

// scan reads records into slots. Its methods return where the value behind ends, or -1: then reason and trail say what is wrong and where.
type scan struct {
	slots  []stream.Slot
	seen   []bool
	b      []byte
	row    []stream.Value
	reason string
	whole  bool     // the reason names its path itself
	trail  []string // names on the way to the fault, the innermost first
	empty  int64    // elements without bytes that may still come
	json   []byte
}

func newScan(slots []stream.Slot) scan {
	return scan{slots: slots, seen: make([]bool, len(slots))}
}

// Seen implements stream.Decoder.
func (s *scan) Seen(slot int) bool { return s.seen[slot] }

// record reads one record as n says, and returns "", or why it is bad.
func (s *scan) record(n *node, b []byte, row []stream.Value) (reason string) {
	s.b, s.row, s.reason, s.whole, s.trail, s.empty = b, row, "", false, s.trail[:0], maxEmpty
	end := s.value(n, 0, 0)
	if end >= 0 && end != len(b) {
		return tooLong
	}
	if end >= 0 || s.whole {
		return s.reason
	}
	return s.where() + ": " + s.reason
}

// where is the path of a fault.
func (s *scan) where() string {
	if len(s.trail) == 0 {
		return "record"
	}
	slices.Reverse(s.trail)
	path := strings.ReplaceAll(strings.Join(s.trail[:min(len(s.trail), maxNames)], "."), ".[", "[")
	if len(s.trail) > maxNames {
		path += "…"
	}
	return path
}

func (s *scan) fail(reason string) int {
	s.reason = reason
	return -1
}

// misfit says that a slot cannot have what is there.
func (s *scan) misfit(reason string) int {
	s.whole = true
	return s.fail(reason)
}

// within notes on the way out of a fault where it was.
func (s *scan) within(name string) int {
	s.trail = append(s.trail, name)
	return -1
}

// value reads the value at i into the slots of n.
func (s *scan) value(n *node, i, depth int) int {
	if len(n.beyond) > 0 {
		return s.misfit(s.slots[n.beyond[0]].Misfit(n.got()))
	}
	if len(n.slots) > 0 && !n.deep && n.kind >= record {
		return s.container(n, i, depth)
	}
	end := -1
	switch n.kind {
	case union:
		return s.branch(n, i, depth)
	case record:
		end = s.fields(n, i, depth)
	case array:
		end = s.elements(n, i, depth)
	case mapping:
		end = s.entries(n, i, depth)
	default:
		return s.scalar(n, i)
	}
	if end >= 0 && len(n.slots) > 0 {
		return s.container(n, i, depth)
	}
	return end
}

// got says what a value of a type is where it does not fit.
func (s *schema) got() string {
	switch s.kind {
	case record, mapping:
		return "an object"
	case array:
		return "an array"
	case boolean:
		return "true or false"
	case integer, long, float, double:
		return "another number"
	}
	return "another text"
}

// container puts a record, an array or a map into slots, as JSON.
func (s *scan) container(n *node, i, depth int) int {
	s.json = s.json[:0]
	end := s.render(n.schema, i, depth)
	if end < 0 {
		return -1
	}
	v := stream.JSONOf(string(s.json))
	for _, k := range n.slots {
		if s.put(k, v) < 0 {
			return -1
		}
	}
	return end
}

// put fills a slot.
func (s *scan) put(k int, v stream.Value) int {
	slot := &s.slots[k]
	fit, reason := slot.Fit(v)
	if reason != "" {
		return s.misfit(reason)
	}
	s.row[slot.At] = fit
	s.seen[k] = s.seen[k] || !fit.IsNull()
	return 0
}

// fields reads a record field by field.
func (s *scan) fields(n *node, i, depth int) int {
	if depth >= maxDepth {
		return s.fail(tooDeep)
	}
	for k := range n.fields {
		f := &n.schema.fields[k]
		if below := n.fields[k]; below != nil {
			i = s.value(below, i, depth+1)
		} else {
			i = s.skip(f.schema, i, depth+1)
		}
		if i < 0 {
			return s.within(f.name)
		}
	}
	return i
}

// branch reads the branch of a union that a record has chosen.
func (s *scan) branch(n *node, i, depth int) int {
	k, i := s.choice(n.schema, i)
	if i < 0 {
		return -1
	}
	if below := n.branches[k]; below != nil {
		return s.value(below, i, depth)
	}
	return s.skip(n.schema.branches[k], i, depth)
}

func (s *scan) choice(t *schema, i int) (branch, next int) {
	k, next := s.long(i)
	if next >= 0 && (k < 0 || k >= int64(len(t.branches))) {
		return 0, s.fail(noBranch)
	}
	return int(k), next
}

// elements reads those elements of an array that n knows.
func (s *scan) elements(n *node, i, depth int) int {
	if depth >= maxDepth {
		return s.fail(tooDeep)
	}
	place := 0
	return s.blocks(i, n.items, 0, func(i int) int {
		if place++; place <= len(n.elements) && n.elements[place-1] != nil {
			i = s.value(n.elements[place-1], i, depth+1)
		} else {
			i = s.skip(n.items, i, depth+1)
		}
		if i < 0 {
			return s.within("[]")
		}
		return i
	}, func() bool { return place >= len(n.elements) })
}

// entries reads those entries of a map that n knows. Of entries of one key the last counts.
func (s *scan) entries(n *node, i, depth int) int {
	if depth >= maxDepth {
		return s.fail(tooDeep)
	}
	return s.blocks(i, n.items, 1, func(i int) int {
		key, i := s.bytes(i)
		if i < 0 {
			return -1
		}
		below := n.keys[string(key)]
		if below == nil {
			i = s.skip(n.items, i, depth+1)
		} else {
			s.forget(below)
			i = s.value(below, i, depth+1)
		}
		if i < 0 {
			return s.within("[]")
		}
		return i
	}, func() bool { return len(n.keys) == 0 })
}

// forget empties the slots below a node.
func (s *scan) forget(n *node) {
	for _, k := range n.slots {
		s.row[s.slots[k].At] = stream.Value{}
	}
	for _, list := range [...][]*node{n.fields, n.elements, n.branches} {
		for _, below := range list {
			if below != nil {
				s.forget(below)
			}
		}
	}
	for _, below := range n.keys {
		s.forget(below)
	}
}

// blocks reads the blocks of an array or a map: each gives every element of a block to each, unless enough says that no more is wanted and
// the block tells its length. extra is what an element has beside an item: the length of its key.
func (s *scan) blocks(i int, item *schema, extra int, each func(i int) int, enough func() bool) int {
	for {
		count, size, next := s.block(i, item, extra)
		if i = next; i < 0 || count == 0 {
			return i
		}
		if size >= 0 && enough() {
			i += size
			continue
		}
		for begin := i; count > 0; count-- {
			if i = each(i); i < 0 {
				return -1
			}
			if count == 1 && size >= 0 && i != begin+size {
				return s.fail(badBlock)
			}
		}
	}
}

// block reads the head of a block: how many elements it has, and how many bytes, or -1 if it does not say.
func (s *scan) block(i int, item *schema, extra int) (count int64, size, next int) {
	count, i = s.long(i)
	size = -1
	if i >= 0 && count < 0 {
		count = -count
		var stated int64
		if stated, i = s.long(i); i >= 0 && (stated < 0 || stated > int64(len(s.b)-i)) {
			return 0, 0, s.fail(badBlock)
		}
		size = int(stated)
	}
	if i < 0 {
		return 0, 0, -1
	}
	least := int64(item.least + extra)
	switch {
	case count < 0: // the least of all integers
		return 0, 0, s.fail(noLength)
	case least > 0 && count > int64(len(s.b)-i)/least:
		return 0, 0, s.fail(noLength)
	case least == 0:
		if s.empty -= count; s.empty < 0 || count > maxEmpty {
			return 0, 0, s.fail(manyNone)
		}
	}
	return count, size, i
}

// skip steps over a value.
func (s *scan) skip(t *schema, i, depth int) int {
	if t.exact >= 0 {
		if t.exact > len(s.b)-i {
			return s.fail(tooShort)
		}
		return i + t.exact
	}
	switch t.kind {
	case integer, long:
		_, i = s.integer(t, i)
	case enum:
		_, i = s.symbol(t, i)
	case octets, text:
		_, i = s.bytes(i)
	case union:
		var k int
		if k, i = s.choice(t, i); i >= 0 {
			return s.skip(t.branches[k], i, depth)
		}
	case record:
		return s.skipFields(t, i, depth)
	case array, mapping:
		return s.skipItems(t, i, depth)
	}
	return i
}

func (s *scan) skipFields(t *schema, i, depth int) int {
	if depth >= maxDepth {
		return s.fail(tooDeep)
	}
	for k := range t.fields {
		if i = s.skip(t.fields[k].schema, i, depth+1); i < 0 {
			return s.within(t.fields[k].name)
		}
	}
	return i
}

func (s *scan) skipItems(t *schema, i, depth int) int {
	if depth >= maxDepth {
		return s.fail(tooDeep)
	}
	extra := 0
	if t.kind == mapping {
		extra = 1
	}
	return s.blocks(i, t.items, extra, func(i int) int {
		if t.kind == mapping {
			if _, i = s.bytes(i); i < 0 {
				return -1
			}
		}
		if i = s.skip(t.items, i, depth+1); i < 0 {
			return s.within("[]")
		}
		return i
	}, func() bool { return true })
}

// integer reads an int, of 32 bits in at most five bytes, or a long.
func (s *scan) integer(t *schema, i int) (x int64, next int) {
	x, next = s.long(i)
	if next >= 0 && t.kind == integer && (x != int64(int32(x)) || next-i > 5) {
		return 0, s.fail(noNumber)
	}
	return x, next
}

// long reads an integer of variable length.
func (s *scan) long(i int) (x int64, next int) {
	b := s.b
	if i < len(b) && b[i] < 0x80 {
		return int64(b[i]>>1) ^ -int64(b[i]&1), i + 1
	}
	u, n := binary.Uvarint(b[i:])
	switch {
	case n > 0:
		return int64(u>>1) ^ -int64(u&1), i + n
	case n == 0:
		return 0, s.fail(tooShort)
	}
	return 0, s.fail(noNumber)
}

// bytes reads a length and as many bytes, which are not copied.
func (s *scan) bytes(i int) (data []byte, next int) {
	n, i := s.long(i)
	if i < 0 {
		return nil, -1
	}
	if n < 0 || n > int64(len(s.b)-i) {
		return nil, s.fail(noLength)
	}
	end := i + int(n)
	return s.b[i:end:end], end
}

func (s *scan) symbol(t *schema, i int) (name string, next int) {
	k, next := s.long(i)
	if next < 0 {
		return "", -1
	}
	if k < 0 || k >= int64(len(t.symbols)) {
		return "", s.fail(noSymbol)
	}
	return t.symbols[k], next
}
