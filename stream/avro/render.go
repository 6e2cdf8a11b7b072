package avro

import (
	"cancha/stream"
)

// render appends a value as JSON and returns where it ends.
func (s *scan) render(t *schema, i, depth int) int {
	switch t.kind {
	case union:
		k, i := s.choice(t, i)
		if i < 0 {
			return -1
		}
		return s.render(t.branches[k], i, depth)
	case record, array, mapping:
		if depth >= maxDepth {
			return s.fail(tooDeep)
		}
	}
	switch t.kind {
	case record:
		return s.renderFields(t, i, depth)
	case array:
		return s.renderItems(t, i, depth)
	case mapping:
		return s.renderEntries(t, i, depth)
	}
	v, end := s.leaf(t, i)
	if end < 0 {
		return -1
	}
	if t.logical == decimal && v.Kind() == stream.Text {
		s.json = append(s.json, v.Text()...)
		return end
	}
	s.json = v.AppendJSON(s.json)
	return end
}

func (s *scan) renderFields(t *schema, i, depth int) int {
	s.json = append(s.json, '{')
	for k := range t.fields {
		s.renderName(k == 0, stream.TextOf(t.fields[k].name))
		if i = s.render(t.fields[k].schema, i, depth+1); i < 0 {
			return s.within(t.fields[k].name)
		}
	}
	s.json = append(s.json, '}')
	return i
}

func (s *scan) renderName(first bool, name stream.Value) {
	if !first {
		s.json = append(s.json, ',')
	}
	s.json = append(name.AppendJSON(s.json), ':')
}

func (s *scan) renderItems(t *schema, i, depth int) int {
	first := true
	s.json = append(s.json, '[')
	i = s.blocks(i, t.items, 0, func(i int) int {
		if !first {
			s.json = append(s.json, ',')
		}
		first = false
		if i = s.render(t.items, i, depth+1); i < 0 {
			return s.within("[]")
		}
		return i
	}, never)
	s.json = append(s.json, ']')
	return i
}

// renderEntries writes a map. Entries of one key are all written: who reads JSON takes the last.
func (s *scan) renderEntries(t *schema, i, depth int) int {
	first := true
	s.json = append(s.json, '{')
	i = s.blocks(i, t.items, 1, func(i int) int {
		key, i := s.bytes(i)
		if i < 0 {
			return -1
		}
		s.renderName(first, stream.TextOfBytes(key))
		first = false
		if i = s.render(t.items, i, depth+1); i < 0 {
			return s.within("[]")
		}
		return i
	}, never)
	s.json = append(s.json, '}')
	return i
}

// never is for blocks all of whose elements are wanted.
func never() bool { return false }
