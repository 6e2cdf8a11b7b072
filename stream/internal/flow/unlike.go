package flow

import (
	"fmt"
	"slices"

	"cancha/stream/internal/eval"
	"cancha/stream/internal/value"
)

// Doubter is an Op that tells what a user should read of what it has met: empty unless at least so many rows have come, and there is something.
type Doubter interface{ Doubt(least int64) string }

// kinds are the kinds of the values that a column has had.
type kinds [value.Any + 1]bool

// any is one of them.
func (k kinds) any() value.Kind { return value.Kind(slices.Index(k[:], true)) }

// never tells whether both have had values, and none of the one can equal any of the other.
func (k kinds) never(other kinds) bool {
	if k == (kinds{}) || other == (kinds{}) {
		return false
	}
	for a, has := range k {
		for b, also := range other {
			if has && also && eval.Alike(value.Kind(a), value.Kind(b)) {
				return false
			}
		}
	}
	return true
}

// keySide is the keys by which rows of one side find those of another, and what they have had.
type keySide struct {
	names []string
	nodes []eval.Node
	rows  int64 // with a key
	met   []kinds
}

func newKeySide(l *Layout, names []string) (keySide, error) {
	nodes, err := fields(l, names)
	return keySide{names: names, nodes: nodes, met: make([]kinds, len(names))}, err
}

// key appends the bytes of a row's key, as keyOf does.
func (s *keySide) key(dst []byte, row Row) ([]byte, bool) {
	for i := range s.nodes {
		v := s.nodes[i].Value(row)
		if v.IsNull() {
			return dst, false
		}
		s.met[i][v.Kind()] = true
		dst = v.AppendKey(dst)
	}
	s.rows++
	return dst, true
}

// apart tells by which keys rows of two sides cannot find each other; empty if they can.
func apart(left, right []string, ours, theirs []kinds) string {
	for i := range ours {
		if ours[i].never(theirs[i]) {
			return fmt.Sprintf("%q is %s on the left, and %q %s on the right, which are never equal: make them of one kind before, such as by With(%q, Field(%q).AsText()) or AsNumber()",
				left[i], ours[i].any(), right[i], theirs[i].any(), left[i], left[i])
		}
	}
	return ""
}
