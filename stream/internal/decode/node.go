package decode

import (
	"encoding/binary"
	"iter"
	"slices"
	"strings"

	"cancha/stream/internal/value"
)

// What is learned is bounded, so that foreign records cannot grow a decoder without end.
const (
	maxMembers = 96      // of a node
	mapMembers = 16      // that an object has at least which is given up to make room
	maxName    = 128     // bytes of a name
	maxLearned = 2048    // nodes of a decoder, beside those that paths need
	relearn    = 1 << 17 // records after which a decoder that has learned so many starts anew: they may have been an odd record's
)

// node is what the decoder knows of one place in a record: the slots to fill, and the members or elements below it.
type node struct {
	head              // how its own name begins
	after    follow   // what comes behind it
	name     string   // in the object that it is a member of
	quoted   string   // its name as records have it: `"name":`
	members  []*node  // of an object
	first    follow   // of them
	elements []*node  // of an array; nil where an element is not read
	each     *node    // all other elements
	slots    []uint16 // filled by this very value: a path may be read in two ways
	below    []uint16 // slots filled by this value or by what lies in it
	record   uint64   // in which it was seen last
	id       int      // among the nodes that paths need
	memo     *memo    // nil until an object or array was seen here
	envelope bool     // run looks at this and the next as at one word
	bare     bool     // beside an envelope it is not the record's
	wild     bool     // nothing is learned here and below: the value is stepped over
}

// plant puts slot i at the end of a path, and marks it in every node on the way; with flat also where flattened records have it.
func (n *node) plant(parts []Part, i int, flat string) {
	n.put(parts, i)
	end := len(parts)
	for end > 1 && parts[end-1].Index >= 0 {
		end--
	}
	if flat == "" || end < 2 {
		return
	}
	names := make([]string, end)
	for k := range names {
		names[k] = parts[k].Name
	}
	n.put(append([]Part{{Name: strings.Join(names, flat), Index: -1}}, parts[end:]...), i)
}

func (n *node) put(parts []Part, i int) {
	if !slices.Contains(n.below, uint16(i)) {
		n.below = append(n.below, uint16(i))
	}
	if len(parts) == 0 {
		n.slots = append(n.slots, uint16(i))
		return
	}
	if at := parts[0].Index; at >= 0 {
		n.element(at).put(parts[1:], i)
		return
	}
	n.member(parts[0].Name).put(parts[1:], i)
}

// find returns the member of a name, nil for none.
func (n *node) find(name []byte) *node {
	for _, m := range n.members {
		if m.name == string(name) {
			return m
		}
	}
	return nil
}

func (n *node) member(name string) *node {
	if m := n.find([]byte(name)); m != nil {
		return m
	}
	return n.add(name, string(value.AppendQuoted(nil, name))+":")
}

// add adds a member by its name, and as records have it.
func (n *node) add(name, quoted string) *node {
	m := &node{head: headOf(quoted), name: name, quoted: quoted}
	n.members = append(n.members, m)
	return m
}

func (n *node) element(at int) *node {
	for len(n.elements) <= at {
		n.elements = append(n.elements, nil)
	}
	if n.elements[at] == nil {
		n.elements[at] = &node{}
	}
	return n.elements[at]
}

// follow is which members came behind one of them: the last time, and before that.
type follow struct{ last, before *node }

// head is how a member's name begins: `"name":`, in two words and what is left. run reads the words, and the masks, as one of sixteen bytes.
type head struct {
	word, word2 uint64 // the first eight letters, and the next eight
	mask, mask2 uint64 // which of them count
	length      int
}

// isNext tells whether a text begins with the member's name.
func (n *node) isNext(text []byte) bool {
	if len(text) < 16 {
		return strings.HasPrefix(view(text), n.quoted)
	}
	return binary.LittleEndian.Uint64(text)&n.mask == n.word && binary.LittleEndian.Uint64(text[8:])&n.mask2 == n.word2 && (n.length <= 16 || n.endsIn(text))
}

// endsIn tells whether what follows the first sixteen letters is the name too.
func (n *node) endsIn(text []byte) bool {
	return len(text) >= len(n.quoted) && string(text[16:len(n.quoted)]) == n.quoted[16:]
}

func headOf(quoted string) head {
	h := head{length: len(quoted)}
	var letters [16]byte
	n := copy(letters[:], quoted)
	h.word, h.word2 = binary.LittleEndian.Uint64(letters[:]), binary.LittleEndian.Uint64(letters[8:])
	h.mask, h.mask2 = letterMask(n), letterMask(n-8)
	return h
}

// letterMask covers the first n letters of a word.
func letterMask(n int) uint64 {
	if n >= 8 {
		return ^uint64(0)
	}
	return 1<<(8*max(n, 0)) - 1
}

// learns tells whether a node may have one more member. Objects of many names are taken for maps from keys to values, of which the next record has
// others, and are no longer learned: those of more than maxMembers, and where there is no room for more nodes that of the most.
func (d *JSON) learns(n *node) bool {
	if len(n.members) >= maxMembers {
		if n.below == nil {
			d.giveUp(n)
		}
		return false
	}
	if d.learned >= maxLearned && !d.full {
		if m := d.root.largest(); m != nil && len(m.members) >= mapMembers {
			d.giveUp(m)
		}
		d.full = d.learned >= maxLearned
	}
	return d.learned < maxLearned && !n.wild
}

// giveUp forgets what was learned below a node that no path needs, and learns no more there.
func (d *JSON) giveUp(n *node) {
	n.unlearn()
	d.learned, d.memos = d.root.count()
}

// unlearn makes all nodes below n learn no more, too: one of them may be in hand.
func (n *node) unlearn() {
	for m := range n.all() {
		m.unlearn()
	}
	n.members, n.first, n.each, n.wild = nil, follow{}, nil, true
}

// largest is the node of the most members among those that no path needs; nil for none.
func (n *node) largest() *node {
	var found *node
	if n.below == nil {
		found = n
	}
	for m := range n.all() {
		if l := m.largest(); l != nil && (found == nil || len(l.members) > len(found.members)) {
			found = l
		}
	}
	return found
}

// count returns how many nodes at n and below no path needs, and how many of them remember.
func (n *node) count() (learned, memos int) {
	for m := range n.all() {
		l, r := m.count()
		learned, memos = learned+l, memos+r
	}
	if n.below != nil {
		return learned, memos
	}
	if n.memo != nil {
		memos++
	}
	return learned + 1, memos
}

// all are the nodes right below n.
func (n *node) all() iter.Seq[*node] {
	return func(yield func(*node) bool) {
		for _, m := range n.members {
			if !yield(m) {
				return
			}
		}
		for _, m := range n.elements {
			if m != nil && !yield(m) {
				return
			}
		}
		if n.each != nil {
			yield(n.each)
		}
	}
}

// number gives all nodes at n and below a number.
func (n *node) number(to []*node) []*node {
	n.id = len(to)
	to = append(to, n)
	for m := range n.all() {
		to = m.number(to)
	}
	return to
}
