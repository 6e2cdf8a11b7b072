// Package exactjson reads JSON that somebody has written by hand into a Go value, and leaves nothing out in silence: a name that no field has
// is an error, and so is one that comes twice. encoding/json takes "Path" for the field "path", and of two the last one. It ends at the names:
// what values mean is for encoding/json and the caller to say.
package exactjson

import (
	"bytes"
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
)

// Read reads a text into what to points to. The name of a field is to be written to the letter.
func Read(text []byte, to any) error { return read(text, to, true) }

// ReadFolded is Read where names may differ in upper and lower case, as encoding/json has it: of a type whose names are a program's affair.
func ReadFolded(text []byte, to any) error { return read(text, to, false) }

func read(text []byte, to any, exact bool) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(to); err != nil {
		return err
	}
	return names{json.NewDecoder(bytes.NewReader(text)), exact}.check(reflect.TypeOf(to))
}

// names checks the names of a text that has been read.
type names struct {
	*json.Decoder
	exact bool
}

// check checks the next value, for a type.
func (n names) check(t reflect.Type) error {
	if t == nil {
		return n.Decode(new(json.RawMessage))
	}
	for t.Kind() == reflect.Pointer && !readsItself(t) {
		t = t.Elem()
	}
	of := func(string) reflect.Type { return t.Elem() }
	switch k := t.Kind(); {
	case readsItself(t), readsItself(reflect.PointerTo(t)):
		return n.Decode(new(json.RawMessage))
	case k == reflect.Struct:
		fields := fieldsOf(t)
		of = func(name string) reflect.Type { return fields[name] }
		return n.object(of, func(name string) (string, error) { return n.field(fields, name) })
	case k == reflect.Map:
		return n.object(of, func(name string) (string, error) { return name, nil })
	case k == reflect.Slice && t.Elem().Kind() != reflect.Uint8, k == reflect.Array:
		return n.list(t.Elem())
	}
	return n.Decode(new(json.RawMessage))
}

// readsItself tells whether a type has a way of its own to be read.
func readsItself(t reflect.Type) bool {
	return t.Implements(reflect.TypeFor[json.Unmarshaler]()) || t.Implements(reflect.TypeFor[encoding.TextUnmarshaler]())
}

func (n names) list(of reflect.Type) error {
	if open, err := n.Token(); err != nil || open != json.Delim('[') { // null
		return err
	}
	for n.More() {
		if err := n.check(of); err != nil {
			return err
		}
	}
	_, err := n.Token()
	return err
}

// object checks an object; means is what a name stands for.
func (n names) object(of func(string) reflect.Type, means func(string) (string, error)) error {
	if open, err := n.Token(); err != nil || open != json.Delim('{') { // null
		return err
	}
	had := map[string]string{}
	for n.More() {
		token, err := n.Token()
		if err != nil {
			return err
		}
		name, _ := token.(string)
		field, err := means(name)
		if err != nil {
			return err
		}
		switch other, twice := had[field]; {
		case twice && other == name:
			return fmt.Errorf("json: %q is there twice", name)
		case twice:
			return fmt.Errorf("json: %q and %q are both the field %q", other, name, field)
		}
		had[field] = name
		if err := n.check(of(field)); err != nil {
			return err
		}
	}
	_, err := n.Token()
	return err
}

// field is the name of the field that a name means.
func (n names) field(fields map[string]reflect.Type, name string) (string, error) {
	if fields[name] != nil {
		return name, nil
	}
	for field := range fields {
		switch {
		case !strings.EqualFold(field, name):
		case n.exact:
			return "", fmt.Errorf("json: unknown field %q; is %q meant?", name, field)
		default:
			return field, nil
		}
	}
	return name, nil // encoding/json has found it, by a rule that is not ours
}

// fieldsOf are the fields of a struct by their names in JSON, with those that it embeds.
func fieldsOf(t reflect.Type) map[string]reflect.Type {
	all := map[string]reflect.Type{}
	for _, f := range reflect.VisibleFields(t) {
		tag := f.Tag.Get("json")
		name, _, _ := strings.Cut(tag, ",")
		switch {
		case !f.IsExported() && !f.Anonymous, tag == "-", f.Anonymous && name == "":
			continue
		case name == "":
			name = f.Name
		}
		if all[name] == nil || len(f.Index) == 1 {
			all[name] = f.Type
		}
	}
	return all
}
