package decode

import (
	"bytes"
	"encoding/binary"
	"math"
	"slices"
	"unicode/utf8"
	"unsafe"

	"cancha/internal/jsontext"
	"cancha/stream/internal/value"
)

// Shape says where records keep what paths name, where that is not simply below the record.
type Shape struct {
	// Envelope is the member that holds the record proper, where there is one: a path is then found below it, or, with its own name in
	// front, beside it. Records without that member are read as they are.
	Envelope string
	// Beside lists the members beside the envelope.
	Beside []string
	// Flat is what joins names in flattened records: with "_" the path shot.outcome.id is found at shot_outcome_id too.
	Flat string
	// TextNumbers lets texts that are numbers count as numbers where numbers are wanted.
	TextNumbers bool
}

// JSON reads the slots out of JSON records. It reads the whole record, so that text that is not JSON never passes, and gives the values
// encoding/json would give. In the steady state it allocates nothing.
//
// Members of an object come nearly always in the same order. So a node knows, members that no path needs included, which came last behind
// each of them, and compares the next name with that one's; a prototype gained a factor of 1.8 by this alone. That holds within what no path
// needs, too: to know a name costs less than to look for its end. And objects repeat: see memo.
type JSON struct {
	slots   []Slot
	parts   [][]Part // the paths of the slots, in steps
	root    *node
	times   jsontext.Instants
	row     []value.Value
	record  uint64 // counts records: what a node saw of an earlier one is no repetition
	inside  bool   // the envelope has come: members that are not beside it are not the record's
	bare    bool   // one of these came before it
	misfit  []misfit
	lax     bool // a text where an object is wanted is no fault: flattened records have the object's name there
	shape   Shape
	seen    []bool
	memos   int     // nodes that no path needs and that remember
	learned int     // nodes that no path needs
	full    bool    // there is room for no more of them
	began   uint64  // the record at which it began to learn
	needed  []*node // the nodes that paths need, by their ids
	spots   [maxSpots]spot
}

// misfit is a value of another type than a slot wants. It is a fault if the slot gets no value in the end.
type misfit struct {
	slot  uint16
	first byte // of the value; tooLarge for a number beyond maxNumber
}

const tooLarge = '+'

// NewJSON returns a decoder. A slot with the path "" is the record itself.
func NewJSON(slots []Slot, shape Shape) (*JSON, error) {
	d := &JSON{slots: slots, parts: make([][]Part, len(slots)), shape: shape, lax: shape.Flat != "", seen: make([]bool, len(slots))}
	for i, s := range slots {
		if s.Path == "" {
			continue
		}
		var err error
		if d.parts[i], err = ParsePath(s.Path); err != nil {
			return nil, err
		}
	}
	d.begin()
	return d, nil
}

// begin makes the nodes that the paths need, and forgets all that was learned.
func (d *JSON) begin() {
	d.root, d.memos, d.learned, d.full, d.began = &node{}, 0, 0, false, d.record
	for i, parts := range d.parts {
		if len(parts) == 0 {
			d.root.plant(nil, i, "")
			continue
		}
		d.plant(parts, i)
	}
	d.needed = d.root.number(d.needed[:0])
}

// plant puts slot i where the shape says that records keep it.
func (d *JSON) plant(parts []Part, i int) {
	if d.shape.Envelope == "" {
		d.root.plant(parts, i, d.shape.Flat)
		return
	}
	for _, name := range d.shape.Beside {
		if parts[0].Name == name {
			d.root.plant(parts, i, "")
			return
		}
	}
	d.root.plant(parts, i, d.shape.Flat)
	for _, m := range d.root.members {
		if m.name != d.shape.Envelope && !slices.Contains(d.shape.Beside, m.name) {
			m.bare = true
		}
	}
	envelope := d.root.member(d.shape.Envelope)
	envelope.envelope = true
	envelope.plant(parts, i, d.shape.Flat)
}

// Decode implements stream.Decoder.
func (d *JSON) Decode(b []byte, row []value.Value) (reason string) {
	d.row, d.inside, d.bare, d.misfit = row, false, false, d.misfit[:0]
	if d.record++; d.full && d.record-d.began >= relearn {
		d.begin()
	}
	i := jsontext.SkipSpace(b, 0)
	if i < len(b) && b[i] == '{' || len(d.root.slots) > 0 {
		i = d.value(b, i, d.root, 0)
	} else if i = jsontext.SkipValue(b, i, 0); i >= 0 && jsontext.SkipSpace(b, i) == len(b) {
		return "not an object: want a JSON object"
	}
	if i < 0 || i < len(b) && jsontext.SkipSpace(b, i) != len(b) {
		return problem(b)
	}
	for _, m := range d.misfit {
		if s := d.slots[m.slot]; row[s.At].IsNull() {
			return wrong(s.Path, s.Want, describe(m.first))
		}
	}
	return ""
}

// Seen implements stream.Decoder.
func (d *JSON) Seen(slot int) bool { return d.seen[slot] }

func problem(b []byte) string {
	if p := jsontext.Problem(b); p != "" {
		return p
	}
	return jsontext.NotJSON // unreachable as long as both readers agree, which the fuzz test checks
}

// describe names the type of the value that starts with c.
func describe(c byte) string {
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

// put fills a slot.
func (d *JSON) put(slot uint16, v value.Value) {
	d.row[d.slots[slot].At] = v
	d.seen[slot] = true
}

// reject notes that a slot's value is of the wrong type.
func (d *JSON) reject(slot uint16, first byte) {
	d.row[d.slots[slot].At] = value.Value{}
	d.misfit = append(d.misfit, misfit{slot, first})
	d.seen[slot] = true
}

// value reads the value at i, of which n is known. i is after white space.
func (d *JSON) value(b []byte, i int, n *node, depth int) int {
	if i >= len(b) {
		return -1
	}
	if n.below == nil {
		return d.skip(b, i, n, depth)
	}
	if n.bare {
		if d.inside {
			return jsontext.SkipValue(b, i, depth)
		}
		d.bare = true
	}
	switch c := b[i]; c {
	case '{', '[':
		d.meet(n)
		return d.known(b, i, n, depth, c)
	default:
		return d.visit(b, i, n)
	}
}

// meet notes that a node is in this record. A member that comes twice counts as its last value, as in encoding/json.
func (d *JSON) meet(n *node) {
	if n.record == d.record {
		d.forget(n)
	}
	n.record = d.record
}

// visit reads the value at i, of an object or array only that it is there.
func (d *JSON) visit(b []byte, i int, n *node) int {
	d.meet(n)
	switch b[i] {
	case '{', '[':
		return i
	case '"':
		return d.text(b, i, n)
	case 'n':
		return jsontext.SkipWord(b, i, "null")
	case 'N':
		return jsontext.SkipWord(b, i, "NaN") // what Python writes for an empty place
	case 't', 'f':
		return d.truth(b, i, n)
	default:
		return d.number(b, i, n)
	}
}

// forget empties all slots below a node.
func (d *JSON) forget(n *node) {
	for _, s := range n.below {
		d.row[d.slots[s].At] = value.Value{}
		for k := len(d.misfit) - 1; k >= 0; k-- {
			if d.misfit[k].slot == s {
				d.misfit = append(d.misfit[:k], d.misfit[k+1:]...)
			}
		}
	}
}

// container reads an object or an array, and puts its JSON where it is wanted itself.
func (d *JSON) container(b []byte, i int, n *node, depth int, first byte) int {
	if n.envelope && first == '{' {
		d.enter()
	}
	var end int
	switch {
	case first == '{' && len(n.members) > 0:
		end = d.object(b, i, n, depth)
	case first == '[' && len(n.elements) > 0:
		end = d.array(b, i, n, depth)
	default:
		end = jsontext.SkipValue(b, i, depth)
		d.rejectBelow(n, first)
	}
	if end < 0 {
		return -1
	}
	for _, s := range n.slots {
		if d.slots[s].Want == Natural {
			d.put(s, value.JSONOf(view(b[i:end])))
		} else {
			d.reject(s, first)
		}
	}
	return end
}

// enter forgets what was taken for the record before its envelope came.
func (d *JSON) enter() {
	d.inside = true
	if !d.bare {
		return
	}
	for _, m := range d.root.members {
		if m.bare && m.record == d.record {
			d.forget(m)
		}
	}
}

// rejectBelow notes that what lies below n cannot be in a value that starts with first.
func (d *JSON) rejectBelow(n *node, first byte) {
	if d.lax && first == '"' {
		return
	}
	for _, s := range n.below {
		if !slices.Contains(n.slots, s) && d.row[d.slots[s].At].IsNull() && d.slots[s].Want != Natural {
			d.misfit = append(d.misfit, misfit{s, first})
			d.seen[s] = true
		}
	}
}

// object reads the members of the object whose brace is at i.
func (d *JSON) object(b []byte, i int, n *node, depth int) int {
	if depth >= jsontext.MaxDepth {
		return -1
	}
	if i++; i < len(b) && b[i] <= ' ' {
		i = jsontext.SkipSpace(b, i)
	}
	if i < len(b) && b[i] == '}' {
		return i + 1
	}
	after := &n.first // what comes behind the member before
	for {
		if m := after.last; m != nil && !m.envelope && uint(i) < uint(len(b)) && depth < maxMemoDepth {
			if i, after = d.foreseen(b, i, after); after == nil {
				return i
			}
		}
		var m *node
		if rest := b[i:]; after.last != nil && after.last.isNext(rest) {
			m = after.last
			i += m.length
			after = &m.after
		} else if m, i = d.memberAt(b, i, n, after); m != nil {
			after = &m.after
		} else if n.wild {
			after = &n.first // what was behind the member before is forgotten
		}
		if uint(i) >= uint(len(b)) {
			return -1
		}
		if b[i] <= ' ' {
			if i = jsontext.SkipSpace(b, i); i >= len(b) {
				return -1
			}
		}
		switch c := b[i]; {
		case m == nil:
			i = jsontext.SkipValue(b, i, depth+1)
		case m.below != nil:
			i = d.value(b, i, m, depth+1)
		case c == '"': // as skip does it, with some calls less
			i = jsontext.SkipString(b, i+1)
		case c == '{' || c == '[':
			i = d.skipKnown(b, i, m, depth+1)
		case jsontext.Digit(c) || c == '-':
			i = jsontext.SkipNumber(b, i)
		default:
			i = jsontext.SkipValue(b, i, depth+1)
		}
		if uint(i) >= uint(len(b)) {
			return -1
		}
		if b[i] <= ' ' {
			if i = jsontext.SkipSpace(b, i); i >= len(b) {
				return -1
			}
		}
		switch b[i] {
		case ',':
			if i++; i < len(b) && b[i] <= ' ' {
				i = jsontext.SkipSpace(b, i)
			}
		case '}':
			return i + 1
		default:
			return -1
		}
	}
}

// foreseen reads members of an object as far as they are what came last. after is nil if the object has ended, or if the text has (next is -1).
func (d *JSON) foreseen(b []byte, i int, before *follow) (next int, after *follow) {
	next, after, found := run(b, i, before, &d.spots)
	for _, s := range d.spots[:found] {
		d.visit(b, s.at, d.needed[s.id])
	}
	if after == nil {
		return next, nil
	}
	if next = jsontext.SkipSpace(b, next); next >= len(b) {
		return -1, nil
	}
	return next, after
}

// memberAt reads a member's name and colon where it is not the one that came last. m is nil for a member that is neither needed nor learned.
func (d *JSON) memberAt(b []byte, i int, n *node, after *follow) (m *node, next int) {
	rest := b[i:]
	if m := after.before; m != nil && m.isNext(rest) {
		after.last, after.before = m, after.last
		return m, i + m.length
	}
	for _, m := range n.members {
		if m.isNext(rest) {
			after.last, after.before = m, after.last
			return m, i + m.length
		}
	}
	return d.newMember(b, i, n)
}

// newMember reads a name that no member of n equals byte for byte: an unknown one, which is learned, or one with escapes or with space
// before its colon, or near the end of the record.
func (d *JSON) newMember(b []byte, i int, n *node) (m *node, next int) {
	if i >= len(b) || b[i] != '"' {
		return nil, -1
	}
	end := jsontext.SkipString(b, i+1)
	if end < 0 {
		return nil, -1
	}
	if next = jsontext.SkipColon(b, end); next < 0 {
		return nil, -1
	}
	if n.wild {
		return nil, next
	}
	name, escaped := b[i+1:end-1], false
	if bytes.IndexByte(name, '\\') >= 0 {
		name, _ = jsontext.Unquote(b[i:end])
		escaped = true
	}
	if m := n.find(name); m != nil {
		return m, next
	}
	if escaped || b[end] != ':' || len(name) > maxName || !d.learns(n) {
		return nil, next
	}
	d.learned++
	return n.add(string(name), string(b[i:end+1])), next
}

// array reads the elements of an array.
func (d *JSON) array(b []byte, i int, n *node, depth int) int {
	if depth >= jsontext.MaxDepth {
		return -1
	}
	i = jsontext.SkipSpace(b, i+1)
	if i < len(b) && b[i] == ']' {
		return i + 1
	}
	for k := 0; ; k++ {
		if m := d.elementAt(b, i, n, k); m != nil {
			i = d.value(b, i, m, depth+1)
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

// elementAt is what is known of element k of an array, which begins at i: those that no path needs are alike. It is nil for a plain one of these.
func (d *JSON) elementAt(b []byte, i int, n *node, k int) *node {
	if k < len(n.elements) && n.elements[k] != nil {
		return n.elements[k]
	}
	if i >= len(b) || b[i] != '{' && b[i] != '[' {
		return nil
	}
	if n.each == nil && !n.wild && d.learned < maxLearned {
		n.each = &node{}
		d.learned++
	}
	return n.each
}

// number reads a number into n's slots.
func (d *JSON) number(b []byte, i int, n *node) int {
	if len(n.slots) == 1 && len(b)-i >= 8 {
		if length := d.short(binary.LittleEndian.Uint64(b[i:]), n.slots[0]); length > 0 {
			return i + length
		}
	}
	next := -1
	for _, s := range n.slots {
		switch d.slots[s].Want {
		case Number:
			var x float64
			var ok bool
			if x, next, ok = jsontext.ParseFloat(b, i); next < 0 {
				return -1
			}
			if !ok || math.Abs(x) > maxNumber {
				d.reject(s, tooLarge)
				continue
			}
			d.put(s, exact(x, b[i:next]))
		case Natural:
			var v value.Value
			if v, next = natural(b, i); next < 0 {
				return -1
			}
			d.put(s, v)
		default:
			if next = jsontext.SkipNumber(b, i); next < 0 {
				return -1
			}
			d.reject(s, '0')
		}
	}
	if next < 0 {
		next = jsontext.SkipNumber(b, i)
		d.rejectBelow(n, '0')
	}
	return next
}

// short reads a short number into a slot that wants one; it is 0 if it cannot.
func (d *JSON) short(word uint64, slot uint16) (length int) {
	s := &d.slots[slot]
	if s.Want > Number {
		return 0
	}
	mantissa, fraction, length := jsontext.Short(word)
	if length == 0 {
		return 0
	}
	if s.Want == Natural && fraction == 0 {
		d.row[s.At] = value.IntOf(int64(mantissa))
	} else {
		d.row[s.At] = value.FloatOf(jsontext.Decimal(mantissa, fraction))
	}
	d.seen[slot] = true
	return length
}

// natural reads a number as an integer if it is written as one and fits, and as a float otherwise; one that fits neither is its text.
func natural(b []byte, i int) (v value.Value, next int) {
	if n, next := jsontext.ShortInt(b, i); next > 0 {
		return value.IntOf(n), next
	}
	n, next, ok := jsontext.ParseInt(b, i)
	if next < 0 || ok {
		return value.IntOf(n), next
	}
	x, next, ok := jsontext.ParseFloat(b, i)
	if !ok && next > 0 {
		return value.TextOf(string(b[i:next])), next
	}
	return value.FloatOf(x), next
}

// truth reads true or false.
func (d *JSON) truth(b []byte, i int, n *node) int {
	word := "true"
	if b[i] == 'f' {
		word = "false"
	}
	for _, s := range n.slots {
		switch d.slots[s].Want {
		case Number:
			d.put(s, value.FloatOf(float64(len("false")-len(word))))
		case Natural, Truth:
			d.put(s, value.BoolOf(word == "true"))
		default:
			d.reject(s, b[i])
		}
	}
	if len(n.slots) == 0 {
		d.rejectBelow(n, b[i])
	}
	return jsontext.SkipWord(b, i, word)
}

// shortInstant is the length of a time with milliseconds, in its quotes. Where one ends there, the string needs no reading of its own.
const shortInstant = len(`"2006-01-02T15:04:05.000Z"`)

// text reads a string.
func (d *JSON) text(b []byte, i int, n *node) int {
	if len(n.slots) == 1 && d.slots[n.slots[0]].Want == Instant && len(b)-i >= shortInstant && b[i+shortInstant-1] == '"' {
		if ns, ok := d.times.Parse(b[i+1 : i+shortInstant-1]); ok {
			d.put(n.slots[0], value.Nanos(ns))
			return i + shortInstant
		}
	}
	end := jsontext.SkipString(b, i+1)
	if end < 0 {
		return -1
	}
	for _, s := range n.slots {
		want := d.slots[s].Want
		if d.shape.TextNumbers && end == i+2 && (want == Number || want == Truth) {
			continue // an empty text is absent, as an empty field of CSV is
		}
		switch want {
		case Instant:
			ns, ok := d.times.Parse(b[i+1 : end-1])
			if !ok {
				d.reject(s, '"')
				continue
			}
			d.put(s, value.Nanos(ns))
		case Number:
			v, ok := d.numeral(b[i+1 : end-1])
			if !ok {
				d.reject(s, '"')
				continue
			}
			d.put(s, v)
		case Truth:
			v, ok := d.truthful(b[i+1 : end-1])
			if !ok {
				d.reject(s, '"')
				continue
			}
			d.put(s, v)
		default:
			d.put(s, value.TextOf(unquoted(b[i:end])))
		}
	}
	if len(n.slots) == 0 {
		d.rejectBelow(n, '"')
	}
	return end
}

// numeral reads a number that is written as a text, where the shape has such.
func (d *JSON) numeral(text []byte) (value.Value, bool) {
	if !d.shape.TextNumbers {
		return value.Value{}, false
	}
	return plainNumber(bytes.TrimSpace(text))
}

// truthful reads true or false that is written as a text, where the shape has numbers so.
func (d *JSON) truthful(text []byte) (value.Value, bool) {
	if !d.shape.TextNumbers {
		return value.Value{}, false
	}
	return truthOf(string(bytes.TrimSpace(text)))
}

// exact is a number that was read from a text; an integer that a float64 may not hold is kept as what it is.
func exact(x float64, text []byte) value.Value {
	if math.Abs(x) >= 1<<53 {
		if n, next, ok := jsontext.ParseInt(text, 0); ok && next == len(text) {
			return value.IntOf(n)
		}
	}
	return value.FloatOf(x)
}

// unquoted returns a scanned string's text; each byte that is no UTF-8 in it becomes U+FFFD, as in encoding/json.
func unquoted(quoted []byte) string {
	text, _ := jsontext.Unquote(quoted)
	if !utf8.Valid(text) {
		return string([]rune(string(text)))
	}
	return view(text)
}

// view is the text of bytes without a copy: it is valid as long as they are.
func view(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// Bytes are the bytes of a text, not to be changed.
func Bytes(s string) []byte { return unsafe.Slice(unsafe.StringData(s), len(s)) }
