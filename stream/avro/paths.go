package avro

import (
	"fmt"
	"strings"

	"cancha/stream"
)

// node is a type as one query reads it: what of a value goes to which slots, and what is stepped over.
type node struct {
	*schema
	deep     bool    // something below it is read
	slots    []int   // filled with this very value; of a union they are with its branches
	beyond   []int   // want something within a value that has no parts
	fields   []*node // of a record, one for each field; nil: stepped over
	elements []*node // of an array, by place; nil: stepped over
	keys     map[string]*node
	branches []*node // of a union; nil: stepped over
}

// plan is what a query reads of records of one schema. faults has, for each slot, why no record of the schema can have what it wants, or nil.
func plan(s *schema, slots []stream.Slot) (root *node, faults []error, err error) {
	root, faults = newNode(s), make([]error, len(slots))
	for i, slot := range slots {
		var parts []stream.Part
		if slot.Path != "" {
			if parts, err = stream.ParsePath(slot.Path); err != nil {
				return nil, nil, fmt.Errorf("avro: %w", err)
			}
		}
		faults[i] = s.check(parts, slot)
		root.plant(parts, i, slot)
	}
	return root, faults, nil
}

func newNode(s *schema) *node {
	n := &node{schema: s}
	switch s.kind {
	case record:
		n.fields = make([]*node, len(s.fields))
	case union:
		n.branches = make([]*node, len(s.branches))
	case mapping:
		n.keys = map[string]*node{}
	}
	return n
}

// grow returns the node at a place below n, which is made if there is none.
func (n *node) grow(at **node, s *schema) *node {
	n.deep = true
	if *at == nil {
		*at = newNode(s)
	}
	return *at
}

// plant puts a slot at the end of a path.
func (n *node) plant(parts []stream.Part, i int, slot stream.Slot) {
	switch {
	case n.kind == union:
		n.plantBranches(parts, i, slot)
	case len(parts) == 0:
		n.slots = append(n.slots, i)
	case n.kind == record && parts[0].Index < 0:
		if k := n.field(parts[0].Name); k >= 0 {
			n.grow(&n.fields[k], n.schema.fields[k].schema).plant(parts[1:], i, slot)
		}
	case n.kind == array && parts[0].Index >= 0:
		for len(n.elements) <= parts[0].Index {
			n.elements = append(n.elements, nil)
		}
		n.grow(&n.elements[parts[0].Index], n.items).plant(parts[1:], i, slot)
	case n.kind == mapping && parts[0].Index < 0:
		each := n.keys[parts[0].Name]
		n.keys[parts[0].Name] = n.grow(&each, n.items)
		each.plant(parts[1:], i, slot)
	case n.kind != null && slot.Want != stream.WantAny:
		n.beyond = append(n.beyond, i)
	}
}

// plantBranches puts a slot into the branches that have its path, or into all of them if none has, so that a record gives the reason.
func (n *node) plantBranches(parts []stream.Part, i int, slot stream.Slot) {
	anything := stream.Slot{Path: slot.Path}
	some := n.check(parts, anything) == nil
	for k, s := range n.schema.branches {
		if s.kind != null && (!some || s.check(parts, anything) == nil) {
			n.grow(&n.branches[k], s).plant(parts, i, slot)
		}
	}
}

func (s *schema) field(name string) int {
	for k := range s.fields {
		if s.fields[k].name == name {
			return k
		}
	}
	return -1
}

// check tells why no value of a type can have what a slot wants at the rest of its path.
func (s *schema) check(parts []stream.Part, slot stream.Slot) error {
	switch {
	case s.kind == union:
		return s.checkBranches(parts, slot)
	case len(parts) == 0:
		if !s.fits(slot.Want) {
			return fmt.Errorf("path %q is of type %s in the schema, and the query wants %s there", slot.Path, s, slot.Want)
		}
		return nil
	case s.kind == record && parts[0].Index < 0:
		if k := s.field(parts[0].Name); k >= 0 {
			return s.fields[k].check(parts[1:], slot)
		}
		return fmt.Errorf("path %q: %s has no field %q; it has %s", slot.Path, s, parts[0].Name, s.fieldNames())
	case s.kind == array && parts[0].Index >= 0 || s.kind == mapping && parts[0].Index < 0:
		return s.items.check(parts[1:], slot)
	case s.kind == array:
		return fmt.Errorf("path %q: what has %q is an array, whose elements are [0], [1] and so on, or rows of Explode", slot.Path, parts[0].Name)
	}
	return fmt.Errorf("path %q: nothing is called %q within type %s", slot.Path, parts[0].Name, s)
}

func (s *schema) checkBranches(parts []stream.Part, slot stream.Slot) error {
	var first error
	for _, branch := range s.branches {
		if branch.kind == null {
			continue
		}
		err := branch.check(parts, slot)
		if err == nil {
			return nil
		}
		if first == nil {
			first = err
		}
	}
	return first
}

func (s *schema) fieldNames() string {
	names := make([]string, len(s.fields))
	for i, f := range s.fields {
		names[i] = f.name
	}
	return strings.Join(names, ", ")
}

// fits tells whether some value of a type is what is wanted.
func (s *schema) fits(want stream.Want) bool {
	switch want {
	case stream.WantNumber:
		switch s.kind {
		case boolean, float, double:
			return true
		case integer, long:
			return s.logical == plain || s.logical == secondsMilli || s.logical == secondsMicro
		}
		return s.logical == decimal || s.kind == null
	case stream.WantText:
		return s.kind == text || s.kind == enum || (s.kind == octets || s.kind == fixed) && s.logical != decimal || s.kind == null
	case stream.WantTime:
		return s.kind == text || s.logical == date || s.logical >= milli && s.logical <= nano || s.kind == null
	}
	return true
}
