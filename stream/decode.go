package stream

import (
	"cmp"
	"math"
	"math/bits"
	"strings"

	"cancha/internal/jsontext"
)

// maxLearned bounds how many unknown members a node remembers, so that foreign records cannot grow it without end.
const maxLearned = 96

// decoder reads the slots of a projection out of records. It reads the whole record, so that text that is not JSON never
// passes, and gives the values encoding/json would give. In the steady state it allocates nothing.
//
// Members of an object come nearly always in the same order. So a node keeps its members in the order in which they were
// last seen, members that no path needs included, and compares the next name with the next member as one string; the
// prototype gained a factor of 1.8 by this alone.
type decoder struct {
	slots []slot
	root  *node
	dict  *dictionary
	codes map[string]int64 // codes of texts, by their JSON form
	times instants

	present uint64 // slots that hold a value
	wrong   uint64 // slots whose value is of another type than wanted
	bare    uint64 // slots below the root's own members
	inEvent bool   // the record has an envelope: members beside "event" are not the event's
	event   span   // the envelope's event, if inEvent
	number  [maxSlots]float64
	key     [maxSlots]int64 // keys and times
	saw     [maxSlots]byte  // first byte of a wrong value
}

// span is a part of a record's text.
type span struct{ start, end int }

func newDecoder(p *projection, dict *dictionary) *decoder {
	d := &decoder{slots: p.slots, root: p.compile(), dict: dict, codes: map[string]int64{}}
	for _, m := range d.root.members {
		if m.bare {
			d.bare |= m.below
		}
	}
	return d
}

// decode reads a record and returns "", or the reason why it is bad.
func (d *decoder) decode(b []byte) (reason string) {
	d.present, d.wrong, d.inEvent = 0, 0, false
	i := jsontext.SkipSpace(b, 0)
	if i < len(b) && b[i] == '{' {
		i = d.object(b, i, d.root, 0)
	} else if i = jsontext.SkipValue(b, i, 0); i >= 0 && jsontext.SkipSpace(b, i) == len(b) {
		return "not an event: want a JSON object"
	}
	if i < 0 || jsontext.SkipSpace(b, i) != len(b) {
		return cmp.Or(jsontext.Problem(b), jsontext.NotJSON) // both readers agree, which the fuzz test checks
	}
	if w := d.wrong &^ d.present; w != 0 {
		return d.wrongReason(bits.TrailingZeros64(w))
	}
	return ""
}

func (d *decoder) wrongReason(slot int) string {
	s := d.slots[slot]
	return s.path + ": want " + kindWants[s.kind] + ", got " + describeJSON(d.saw[slot])
}

// describeJSON names the type of the value that starts with c.
func describeJSON(c byte) string {
	switch c {
	case '"':
		return "another text"
	case '{':
		return "an object"
	case '[':
		return "an array"
	case 't', 'f':
		return "true or false"
	case tooLarge:
		return "one beyond ±1e150, whose square would not be a number"
	default:
		return "another number"
	}
}

// maxNumber bounds numbers: the moments of a sample square them, and sum the squares up. tooLarge stands for the first byte of one beyond.
const (
	maxNumber = 1e150
	tooLarge  = '+'
)

// value reads the value at i, of which n is known. i is after white space.
func (d *decoder) value(b []byte, i int, n *node, depth int) int {
	if n.below == 0 || d.inEvent && n.bare {
		return jsontext.SkipValue(b, i, depth)
	}
	if i >= len(b) {
		return -1
	}
	switch b[i] {
	case '{':
		return d.objectValue(b, i, n, depth)
	case '[':
		return d.arrayValue(b, i, n, depth)
	case '"':
		return d.text(b, i, n)
	case 'n':
		d.forget(n.below) // null means absent
		return jsontext.SkipWord(b, i, "null")
	case 'N':
		d.forget(n.below) // what Python writes for an empty place of a flattened row
		return jsontext.SkipWord(b, i, "NaN")
	case 't', 'f':
		return d.boolean(b, i, n)
	default:
		return d.numeral(b, i, n)
	}
}

// forget empties slots.
func (d *decoder) forget(slots uint64) {
	d.present &^= slots
	d.wrong &^= slots
}

// objectValue reads an object. A member that comes twice counts as its last value, as in encoding/json: so whatever an
// earlier one filled is forgotten.
func (d *decoder) objectValue(b []byte, i int, n *node, depth int) int {
	d.forget(n.below)
	if n.event {
		d.forget(d.bare)
		d.inEvent = true
	}
	for _, s := range n.slots {
		d.reject(s, '{')
	}
	if len(n.members) == 0 {
		d.rejectBelow(n, '{')
		return jsontext.SkipObject(b, i, depth)
	}
	end := d.object(b, i, n, depth)
	if n.event {
		d.event = span{i, end}
	}
	return end
}

// reject marks a slot as filled by a value of the wrong type, which starts with c. For kindAny no type is wrong.
func (d *decoder) reject(s uint8, c byte) {
	if d.slots[s].kind == kindAny {
		d.present |= 1 << s
		return
	}
	d.present &^= 1 << s
	d.wrong |= 1 << s
	d.saw[s] = c
}

// object reads the members of the object whose brace is at i.
func (d *decoder) object(b []byte, i int, n *node, depth int) int {
	if depth >= jsontext.MaxDepth {
		return -1
	}
	i = jsontext.SkipSpace(b, i+1)
	if i < len(b) && b[i] == '}' {
		return i + 1
	}
	cursor := 0
	for {
		var m *node
		if m, i, cursor = d.memberAt(b, i, n, cursor); i < 0 {
			return -1
		}
		if i < len(b) && b[i] <= ' ' {
			i = jsontext.SkipSpace(b, i)
		}
		if m == nil {
			i = jsontext.SkipValue(b, i, depth+1)
		} else {
			i = d.value(b, i, m, depth+1)
		}
		if i < 0 {
			return -1
		}
		if i < len(b) && b[i] <= ' ' {
			i = jsontext.SkipSpace(b, i)
		}
		if i >= len(b) {
			return -1
		}
		switch b[i] {
		case ',':
			i = jsontext.SkipSpace(b, i+1)
		case '}':
			return i + 1
		default:
			return -1
		}
	}
}

// memberAt reads a member's name and colon. It looks first where the order of earlier records says, then further on.
func (d *decoder) memberAt(b []byte, i int, n *node, cursor int) (m *node, next, at int) {
	rest := b[i:]
	for k := cursor; k < len(n.members); k++ {
		if q := n.members[k].quoted; startsWith(rest, q) {
			return n.members[k], i + len(q), k + 1
		}
	}
	for k := 0; k < cursor && k < len(n.members); k++ {
		if q := n.members[k].quoted; startsWith(rest, q) {
			return n.members[k], i + len(q), k + 1
		}
	}
	return d.newMember(b, i, n, cursor)
}

// startsWith compares one letter before the whole: most misses end there.
func startsWith(rest []byte, quoted string) bool {
	return len(rest) >= len(quoted) && rest[1] == quoted[1] && string(rest[:len(quoted)]) == quoted
}

// newMember reads a name that no member of n equals byte for byte: an unknown one, which is learned, or one with escapes or
// with space before its colon.
func (d *decoder) newMember(b []byte, i int, n *node, cursor int) (m *node, next, at int) {
	if i >= len(b) || b[i] != '"' {
		return nil, -1, 0
	}
	end := jsontext.SkipString(b, i+1)
	if end < 0 {
		return nil, -1, 0
	}
	if next = jsontext.SkipColon(b, end); next < 0 {
		return nil, -1, 0
	}
	if m := n.find(unquoted(b[i:end])); m != nil {
		return m, next, cursor
	}
	if len(n.members) < maxLearned && b[end] == ':' {
		m = &node{quoted: string(b[i : end+1])}
		members := make([]*node, 0, len(n.members)+1)
		members = append(append(append(members, n.members[:cursor]...), m), n.members[cursor:]...)
		n.members = members
		return m, next, cursor + 1
	}
	return nil, next, cursor
}

// unquoted returns the text of a scanned JSON string.
func unquoted(quoted []byte) string {
	text, _ := jsontext.Unquote(quoted)
	return string(text)
}

// arrayValue reads an array and those of its elements that n knows.
func (d *decoder) arrayValue(b []byte, i int, n *node, depth int) int {
	d.forget(n.below)
	for _, s := range n.slots {
		d.reject(s, '[')
	}
	if len(n.elements) == 0 {
		d.rejectBelow(n, '[')
		return jsontext.SkipArray(b, i, depth)
	}
	if depth >= jsontext.MaxDepth {
		return -1
	}
	i = jsontext.SkipSpace(b, i+1)
	if i < len(b) && b[i] == ']' {
		return i + 1
	}
	for k := 0; ; k++ {
		if k < len(n.elements) && n.elements[k] != nil {
			i = d.value(b, i, n.elements[k], depth+1)
		} else {
			i = jsontext.SkipValue(b, i, depth+1)
		}
		if i < 0 {
			return -1
		}
		if i < len(b) && b[i] <= ' ' {
			i = jsontext.SkipSpace(b, i)
		}
		if i >= len(b) {
			return -1
		}
		switch b[i] {
		case ',':
			i = jsontext.SkipSpace(b, i+1)
		case ']':
			return i + 1
		default:
			return -1
		}
	}
}

// rejectBelow marks all slots below n: what lies there cannot be in a value that starts with c.
func (d *decoder) rejectBelow(n *node, c byte) {
	for m := n.below &^ d.present; m != 0; m &= m - 1 {
		if s := uint8(bits.TrailingZeros64(m)); d.slots[s].kind != kindAny {
			d.reject(s, c)
		}
	}
}

// numeral reads a number into n's slots.
func (d *decoder) numeral(b []byte, i int, n *node) int {
	next := -1
	for _, s := range n.slots {
		var ok bool
		switch d.slots[s].kind {
		case kindNumber:
			d.number[s], next, ok = jsontext.ParseFloat(b, i)
			if next > 0 && !(math.Abs(d.number[s]) <= maxNumber) {
				d.present |= 1 << s
				d.reject(s, tooLarge)
				continue
			}
		case kindKey:
			d.key[s], next, ok = jsontext.ParseInt(b, i)
		default:
			next = jsontext.SkipNumber(b, i)
		}
		if next < 0 {
			return -1
		}
		if d.present |= 1 << s; !ok {
			d.reject(s, '0')
		}
	}
	if next < 0 {
		next = jsontext.SkipNumber(b, i)
		d.rejectBelow(n, '0')
	}
	return next
}

// boolean reads true or false, which a number slot holds as 1 and 0.
func (d *decoder) boolean(b []byte, i int, n *node) int {
	v, word := 1.0, "true"
	if b[i] == 'f' {
		v, word = 0, "false"
	}
	for _, s := range n.slots {
		d.number[s] = v
		if d.present |= 1 << s; d.slots[s].kind != kindNumber {
			d.reject(s, b[i])
		}
	}
	if len(n.slots) == 0 {
		d.rejectBelow(n, b[i])
	}
	return jsontext.SkipWord(b, i, word)
}

// text reads a string. Where an object or an array is expected, a text is a flattened row's name of it: a type is known by
// its name, and of other references the row holds the id elsewhere ("team_id"), or lacks it.
func (d *decoder) text(b []byte, i int, n *node) int {
	end := jsontext.SkipString(b, i+1)
	if end < 0 {
		return -1
	}
	for _, s := range n.slots {
		ok := true
		switch d.slots[s].kind {
		case kindKey:
			d.key[s] = d.code(b[i:end])
		case kindTime:
			d.key[s], ok = d.times.parse(b[i+1 : end-1])
		default:
			ok = false
		}
		if d.present |= 1 << s; !ok {
			d.reject(s, '"')
		}
	}
	if len(n.slots) == 0 {
		d.flattened(b[i:end], n)
	}
	return end
}

// flattened fills the id below n from its name, or marks what lies below n as wrong unless the record has it elsewhere.
func (d *decoder) flattened(quoted []byte, n *node) {
	id, ok := n.names[string(quoted[1:len(quoted)-1])]
	if !ok && n.names != nil {
		id, ok = n.names[unquoted(quoted)]
	}
	if m := n.find("id"); ok && m != nil {
		for _, s := range m.slots {
			d.number[s], d.key[s] = float64(id), id
			d.present |= 1 << s
		}
	}
	if name := n.find("name"); name != nil {
		for _, s := range name.slots {
			if d.slots[s].kind == kindKey {
				d.key[s] = d.code(quoted)
				d.present |= 1 << s
			}
		}
	}
	d.rejectBelow(n, '"')
}

// code returns the dictionary code of a text.
func (d *decoder) code(quoted []byte) int64 {
	if c, ok := d.codes[string(quoted)]; ok {
		return c
	}
	if len(d.codes) >= maxCodes {
		clear(d.codes)
	}
	c := d.dict.code(strings.ToValidUTF8(unquoted(quoted), "\uFFFD"))
	d.codes[string(quoted)] = c
	return c
}
