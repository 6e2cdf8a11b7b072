package stream

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"cancha/statsbomb"
)

// kind is what a slot holds.
type kind uint8

const (
	kindNumber kind = iota // float64; true and false are 1 and 0
	kindKey                // an integer, or a text by its code in the dictionary
	kindTime               // RFC 3339 text, as nanoseconds since 1970
	kindAny                // anything but null: only whether it is there
)

var kindWants = [...]string{kindNumber: "a number", kindKey: "an integer or a text", kindTime: "an RFC 3339 time", kindAny: "a value"}

// maxSlots is how many different paths a query may read: one bit each in a mask.
const maxSlots = 64

// slot is one path of an event, read into a place of its own.
type slot struct {
	path string
	kind kind
}

// projection says which paths of a record are read, and where to. It is fixed when a query starts; each partition reads
// with a decoder of its own.
//
// A path such as "pass.end_location.0" is relative to the event. It is found in the envelope's event, in a bare event, and
// in rows flattened in the manner of statsbombpy ("pass_end_location"). A path that starts with "metadata." is found in the
// envelope.
type projection struct{ slots []slot }

// add returns the slot of a path, the same one for the same path and kind.
func (p *projection) add(path string, k kind) (int, error) {
	if err := checkPath(path); err != nil {
		return 0, err
	}
	path = unflatten(path)
	if i := slices.Index(p.slots, slot{path, k}); i >= 0 {
		return i, nil
	}
	if len(p.slots) == maxSlots {
		return 0, fmt.Errorf("stream: a query reads at most %d paths of a record; split it in two queries", maxSlots)
	}
	p.slots = append(p.slots, slot{path, k})
	return len(p.slots) - 1, nil
}

func checkPath(path string) error {
	for part := range strings.SplitSeq(path, ".") {
		if part == "" || strings.ContainsFunc(part, func(r rune) bool { return r == '"' || r == '\\' || unicode.IsControl(r) }) {
			return fmt.Errorf(`stream: path %q: want names separated by dots, such as "pass.end_location.0"`, path)
		}
	}
	return nil
}

// references are the parts of every event that StatsBomb gives as {id, name}; statsbombpy flattens the id of team to
// "team_id", and leaves the name as "team".
var references = []string{"type", "team", "possession_team", "player", "play_pattern", "position"}

// unflatten turns the flattened name of a reference's id into its path: "team_id" into "team.id".
func unflatten(path string) string {
	if name, ok := strings.CutSuffix(path, "_id"); ok && slices.Contains(references, name) {
		return name + ".id"
	}
	return path
}

// node is what the decoder knows of one place in a record: the slot to fill, and the members or elements below it.
type node struct {
	quoted   string  // `"name":`, compared as a whole
	members  []*node // of an object, in the order in which records were seen to hold them
	elements []*node // of an array; nil where an element is not read
	slots    []uint8 // filled by this very value: a path may be read as two kinds
	below    uint64  // slots filled by this value or by what lies in it
	names    map[string]int64
	event    bool // the envelope's event
	bare     bool // part of an event without an envelope
}

// compile builds the tree that a decoder walks and, since it learns from what it sees, keeps to itself.
func (p *projection) compile() *node {
	root := &node{}
	event := root.member("event")
	event.event = true
	for i, s := range p.slots {
		parts := strings.Split(s.path, ".")
		if parts[0] == "metadata" {
			root.plant(parts, i)
			continue
		}
		event.plant(parts, i)
		event.plantFlat(parts, i)
		root.plant(parts, i)
		root.plantFlat(parts, i)
	}
	for _, m := range root.members {
		m.bare = !m.event && m.name() != "metadata"
	}
	for _, n := range []*node{root, event} {
		if t := n.find("type"); t != nil {
			t.names = typeIDs()
		}
	}
	return root
}

// plant puts slot i at the end of a path, and marks it in every node on the way.
func (n *node) plant(parts []string, i int) {
	n.below |= 1 << i
	if len(parts) == 0 {
		n.slots = append(n.slots, uint8(i))
		return
	}
	if at, err := strconv.Atoi(parts[0]); err == nil && at >= 0 && at < 1000 {
		n.element(at).plant(parts[1:], i)
		return
	}
	n.member(parts[0]).plant(parts[1:], i)
}

// plantFlat puts slot i where statsbombpy would flatten it to; array elements stay arrays.
func (n *node) plantFlat(parts []string, i int) {
	end := len(parts)
	for end > 1 && isIndex(parts[end-1]) {
		end--
	}
	if end < 2 {
		return
	}
	n.plant(append([]string{strings.Join(parts[:end], "_")}, parts[end:]...), i)
}

func isIndex(s string) bool {
	_, err := strconv.Atoi(s)
	return err == nil
}

func (n *node) name() string { return strings.TrimSuffix(strings.TrimPrefix(n.quoted, `"`), `":`) }

func (n *node) find(name string) *node {
	for _, m := range n.members {
		if m.name() == name {
			return m
		}
	}
	return nil
}

func (n *node) member(name string) *node {
	if m := n.find(name); m != nil {
		return m
	}
	m := &node{quoted: `"` + name + `":`}
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

// typeIDs maps the names of event types to their ids, for rows that hold the name alone. "Ball Receipt" without its star
// is in streams that were made by hand.
func typeIDs() map[string]int64 {
	ids := map[string]int64{"Ball Receipt": statsbomb.TypeBallReceipt}
	for id := range 100 {
		if name := statsbomb.TypeName(id); name != "" {
			ids[name] = int64(id)
		}
	}
	return ids
}
