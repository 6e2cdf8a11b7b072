package decode

import (
	"encoding/binary"
	"slices"

	"cancha/internal/jsontext"
	"cancha/stream/internal/value"
)

// The objects in a stream's records repeat: a team, a type, a product with its name. A node remembers small objects and arrays that it has
// read, and what of them went into the row. One that comes again is known by its bytes: an object's text ends with its own brace, so a text
// that begins with a known one has that value there. Comparing 40 bytes costs a tenth of reading them.
const (
	memoText   = 128  // bytes of a text that is remembered
	memoPlaces = 128  // of a node, for two texts each; a power of two
	memoTries  = 64   // after which a node sees whether remembering pays
	memoRest   = 4096 // values that a node reads without remembering, where it did not
	memoNodes  = 64   // of a decoder: foreign records cannot make it remember more than some MiB
)

// Odd numbers that mix the bits of a text.
const (
	hash1 = 0x9e3779b97f4a7c15
	hash2 = 0xff51afd7ed558ccd
)

// memo is what a node remembers.
type memo struct {
	places      [memoPlaces]place
	tries, hits int
	rest        int
	//lint:ignore U1000 run_amd64.s has its place
	last int // where among the texts the last one was found
}

// place is where two texts are remembered, the one that came last first.
type place [2]*entry

// at returns what is known of the text at i, nil for nothing.
func (p *place) at(b []byte, i int) *entry {
	if p[0].isAt(b, i) {
		return p[0]
	}
	if p[1].isAt(b, i) {
		p[0], p[1] = p[1], p[0]
		return p[0]
	}
	return nil
}

// put remembers a text in place of the one that came longer ago.
func (p *place) put(e *entry) { p[0], p[1] = e, p[0] }

// entry is one text, and what reading it does.
type entry struct {
	text    string
	fills   []fill
	misfits []misfit
}

type fill struct {
	slot uint16
	at   int
	v    value.Value
}

// keep copies a text; sixteen bytes may be read of it.
func keep(text []byte) string {
	return view(append(make([]byte, 0, max(len(text), 16)), text...))
}

// placeOf is where a text would be remembered, by its first sixteen bytes: the next ones seldom tell more. It is nil where the node does not
// remember now.
func (m *memo) placeOf(b []byte, i int) *place {
	if m.rest > 0 {
		m.rest--
		return nil
	}
	if len(b)-i < 16 {
		return nil
	}
	h := binary.LittleEndian.Uint64(b[i:])*hash1 ^ binary.LittleEndian.Uint64(b[i+8:])*hash2
	if m.tries++; m.tries == memoTries {
		if m.hits < memoTries/4 {
			m.rest = memoRest
		}
		m.tries, m.hits = 0, 0
	}
	return &m.places[h>>57]
}

// isAt tells whether the text is at i.
func (e *entry) isAt(b []byte, i int) bool {
	return e != nil && len(b)-i >= len(e.text) && string(b[i:i+len(e.text)]) == e.text
}

// known reads an object or array that begins at i with first, from memory where it is known.
func (d *JSON) known(b []byte, i int, n *node, depth int, first byte) int {
	if n.envelope || !d.remembers(n, depth) {
		return d.container(b, i, n, depth, first)
	}
	place := n.memo.placeOf(b, i)
	if place == nil || !d.empty(n) {
		return d.container(b, i, n, depth, first)
	}
	if e := place.at(b, i); e != nil {
		n.memo.hits++
		d.repeat(e)
		return i + len(e.text)
	}
	end := d.container(b, i, n, depth, first)
	if end > 0 && end-i <= memoText {
		place.put(d.remember(keep(b[i:end]), n))
	}
	return end
}

// maxMemoDepth keeps what is remembered within the depth that is read.
const maxMemoDepth = 1000

// remembers tells whether a node has a memo, and gives it one if there may be more.
func (d *JSON) remembers(n *node, depth int) bool {
	if n.memo == nil && (n.below != nil || !n.wild && d.memos < memoNodes) {
		if n.memo = (&memo{}); n.below == nil {
			d.memos++
		}
	}
	return n.memo != nil && depth <= maxMemoDepth
}

// skip reads a value that no slot needs.
func (d *JSON) skip(b []byte, i int, n *node, depth int) int {
	switch b[i] {
	case '"':
		return jsontext.SkipString(b, i+1)
	case '{', '[':
		return d.skipKnown(b, i, n, depth)
	}
	return jsontext.SkipValue(b, i, depth)
}

func (d *JSON) skipKnown(b []byte, i int, n *node, depth int) int {
	if !d.remembers(n, depth) {
		return d.foreign(b, i, n, depth)
	}
	place := n.memo.placeOf(b, i)
	if place == nil {
		return d.foreign(b, i, n, depth)
	}
	if e := place.at(b, i); e != nil {
		n.memo.hits++
		return i + len(e.text)
	}
	end := d.foreign(b, i, n, depth)
	if end > 0 && end-i <= memoText {
		place.put(&entry{text: keep(b[i:end])})
	}
	return end
}

// foreign reads an object or array that no slot needs.
func (d *JSON) foreign(b []byte, i int, n *node, depth int) int {
	switch {
	case n.wild:
		return jsontext.SkipValue(b, i, depth)
	case b[i] == '{':
		return d.object(b, i, n, depth)
	default:
		return d.array(b, i, n, depth)
	}
}

// empty tells whether nothing has been put into the slots below n, and no misfit is known: what is read there does not depend on what came before.
func (d *JSON) empty(n *node) bool {
	if len(d.misfit) > 0 {
		return false
	}
	for _, s := range n.below {
		if !d.row[d.slots[s].At].IsNull() {
			return false
		}
	}
	return true
}

func (d *JSON) repeat(e *entry) {
	for i := range e.fills {
		f := &e.fills[i]
		d.row[f.at] = f.v
		d.seen[f.slot] = true
	}
	if len(e.misfits) > 0 {
		d.misfit = append(d.misfit, e.misfits...)
		for _, m := range e.misfits {
			d.seen[m.slot] = true
		}
	}
}

// remember notes what reading a text below n has done.
func (d *JSON) remember(text string, n *node) *entry {
	e := &entry{text: text, misfits: slices.Clone(d.misfit)}
	for _, s := range n.below {
		if v := d.row[d.slots[s].At]; !v.IsNull() {
			e.fills = append(e.fills, fill{s, d.slots[s].At, v.Clone()})
		}
	}
	return e
}
