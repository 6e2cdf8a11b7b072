package avro

import (
	"fmt"
	"strings"

	"github.com/twmb/avro"
)

// kind is one of Avro's types.
type kind uint8

const (
	null kind = iota
	boolean
	integer
	long
	float
	double
	octets
	text
	fixed
	enum
	record
	array
	mapping
	union
)

var kindNames = [...]string{null: "null", boolean: "boolean", integer: "int", long: "long", float: "float", double: "double", octets: "bytes",
	text: "string", fixed: "fixed", enum: "enum", record: "record", array: "array", mapping: "map", union: "union"}

// logical is what a type stands for, where its schema says so.
type logical uint8

const (
	plain logical = iota
	date
	secondsMilli // time-millis
	secondsMicro // time-micros
	milli        // timestamp-millis
	micro
	nano
	decimal
	uuid
	duration
)

// schema is one type, with all that reading a value needs. Types that lie in one another through names are cycles of pointers.
type schema struct {
	kind     kind
	logical  logical
	name     string // of a record, an enum or a fixed, with its namespace
	fields   []field
	items    *schema // of an array, or the values of a map
	branches []*schema
	symbols  []string
	size     int // of a fixed
	scale    int
	digits   int // a decimal's precision
	least    int // bytes that a value has at least
	exact    int // bytes that each value has; -1: they differ
	measured bool
}

type field struct {
	name string
	*schema
}

// String names a type for people, a named one with its name: "int", "record shop.Order".
func (s *schema) String() string {
	if s.name != "" {
		return kindNames[s.kind] + " " + s.name
	}
	return kindNames[s.kind]
}

// parse reads a schema's text. Types that it refers to were parsed into known before.
func parse(known *avro.SchemaCache, source string) (*schema, error) {
	parsed, err := known.Parse(source)
	if err != nil {
		return nil, err
	}
	t := translator{named: map[string]*schema{}}
	s, err := t.translate(parsed.Root(), "")
	if err != nil {
		return nil, err
	}
	s.measure()
	for _, each := range t.all {
		each.measure()
	}
	return s, nil
}

// translator makes schemas of what the library has read.
type translator struct {
	named map[string]*schema
	all   []*schema
}

// primitive finds a type without parts by its name.
func primitive(name string) (kind, bool) {
	for k := null; k <= text; k++ {
		if kindNames[k] == name {
			return k, true
		}
	}
	return 0, false
}

func (t *translator) translate(n *avro.SchemaNode, space string) (*schema, error) {
	s := &schema{}
	t.all = append(t.all, s)
	if k, ok := primitive(n.Type); ok {
		s.kind = k
		s.setLogical(n)
		return s, nil
	}
	switch n.Type {
	case "array":
		s.kind = array
		return s, t.part(&s.items, n.Items, space)
	case "map":
		s.kind = mapping
		return s, t.part(&s.items, n.Values, space)
	case "union":
		s.kind = union
		s.branches = make([]*schema, len(n.Branches))
		for i := range n.Branches {
			if err := t.part(&s.branches[i], &n.Branches[i], space); err != nil {
				return nil, err
			}
		}
		return s, nil
	case "record", "error", "enum", "fixed":
		return s, t.define(s, n)
	}
	return t.find(n.Type, space)
}

func (t *translator) part(to **schema, n *avro.SchemaNode, space string) (err error) {
	if n == nil {
		return fmt.Errorf("an array or a map without a type for what is in it")
	}
	*to, err = t.translate(n, space)
	return err
}

// define makes a named type, which may refer to itself.
func (t *translator) define(s *schema, n *avro.SchemaNode) error {
	space := n.Namespace
	s.name = n.Name
	if i := strings.LastIndexByte(n.Name, '.'); i >= 0 {
		space = n.Name[:i]
	} else if space != "" {
		s.name = space + "." + n.Name
	}
	t.named[s.name] = s
	switch n.Type {
	case "enum":
		s.kind, s.symbols = enum, n.Symbols
	case "fixed":
		s.kind, s.size = fixed, n.Size
		s.setLogical(n)
	default:
		s.kind = record
		s.fields = make([]field, len(n.Fields))
		for i := range n.Fields {
			s.fields[i].name = n.Fields[i].Name
			if err := t.part(&s.fields[i].schema, &n.Fields[i].Type, space); err != nil {
				return err
			}
		}
	}
	return nil
}

// find finds a named type by the name that a schema wrote within a namespace.
func (t *translator) find(name, space string) (*schema, error) {
	if space != "" && !strings.Contains(name, ".") {
		if s := t.named[space+"."+name]; s != nil {
			return s, nil
		}
	}
	if s := t.named[strings.TrimPrefix(name, ".")]; s != nil {
		return s, nil
	}
	return nil, fmt.Errorf("no type %q is known", name)
}

// setLogical takes a logical type that fits the type; any other is ignored.
func (s *schema) setLogical(n *avro.SchemaNode) {
	name := strings.TrimPrefix(n.LogicalType, "local-")
	switch {
	case s.kind == integer && name == "date":
		s.logical = date
	case s.kind == integer && name == "time-millis":
		s.logical = secondsMilli
	case s.kind == long && name == "time-micros":
		s.logical = secondsMicro
	case s.kind == long && name == "timestamp-millis":
		s.logical = milli
	case s.kind == long && name == "timestamp-micros":
		s.logical = micro
	case s.kind == long && name == "timestamp-nanos":
		s.logical = nano
	case (s.kind == octets || s.kind == fixed) && name == "decimal" && n.Precision > 0 && n.Scale >= 0:
		s.logical, s.digits, s.scale = decimal, n.Precision, n.Scale
	case s.kind == fixed && name == "uuid" && s.size == 16:
		s.logical = uuid
	case s.kind == fixed && name == "duration" && s.size == 12:
		s.logical = duration
	}
}

// most bounds sums of sizes: no record has that many bytes.
const most = 1 << 40

// measure computes how many bytes a value has. A record that has itself as a field, which no bytes can hold, counts as nothing within itself.
func (s *schema) measure() {
	if s.measured {
		return
	}
	s.measured, s.exact = true, -1
	switch s.kind {
	case null:
		s.exact = 0
	case boolean:
		s.exact = 1
	case float:
		s.exact = 4
	case double:
		s.exact = 8
	case fixed:
		s.exact = min(s.size, most)
	case record:
		s.sum()
		return
	default:
		s.least = 1
		return
	}
	s.least = s.exact
}

func (s *schema) sum() {
	exact := 0
	for _, f := range s.fields {
		f.measure()
		s.least = min(s.least+f.least, most)
		if f.exact < 0 || exact < 0 {
			exact = -1
			continue
		}
		exact = min(exact+f.exact, most)
	}
	s.exact = exact
}
