package primitive

import (
	"encoding"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"go/token"
	"reflect"
	"strings"
)

// Package encoding/json looks for methods and embedded fields by reflection, which sees neither on types of the cells. So a
// value that has any is turned into one of compiled types that encodes alike.

// JSONMarshal is json.Marshal.
func (m *Machine) JSONMarshal(v any) ([]byte, error) {
	out, err := m.encodable(v)
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(out)
	return text, blame(err)
}

// JSONMarshalIndent is json.MarshalIndent.
func (m *Machine) JSONMarshalIndent(v any, prefix, indent string) ([]byte, error) {
	out, err := m.encodable(v)
	if err != nil {
		return nil, err
	}
	text, err := json.MarshalIndent(out, prefix, indent)
	return text, blame(err)
}

// JSONEncode is the method Encode of a json.Encoder.
func (m *Machine) JSONEncode(encoder, v any) error {
	out, err := m.encodable(v)
	if err != nil {
		return err
	}
	return blame(encoder.(*json.Encoder).Encode(out))
}

// XMLMarshal is xml.Marshal.
func (m *Machine) XMLMarshal(v any) ([]byte, error) { return xml.Marshal(m.xmlValue(v)) }

// XMLMarshalIndent is xml.MarshalIndent.
func (m *Machine) XMLMarshalIndent(v any, prefix, indent string) ([]byte, error) {
	return xml.MarshalIndent(m.xmlValue(v), prefix, indent)
}

// XMLEncode is the method Encode of an xml.Encoder.
func (m *Machine) XMLEncode(encoder, v any) error {
	return encoder.(*xml.Encoder).Encode(m.xmlValue(v))
}

// xmlValue gives a struct the name of its type, which is that of its element, in a field XMLName.
func (m *Machine) xmlValue(x any) any {
	x = m.unwrap(x)
	v := reflect.ValueOf(x)
	for v.Kind() == reflect.Pointer && !v.IsNil() {
		v = v.Elem()
	}
	if v.Kind() != reflect.Struct {
		return x
	}
	d := m.of(v.Type())
	if d == nil || d.name == "" {
		return x
	}
	_, name, _ := strings.Cut(d.name, ".")
	name, _, _ = strings.Cut(name, "[") // type arguments are no part of it
	fields := []reflect.StructField{{Name: "XMLName", Type: reflect.TypeFor[xml.Name](), Tag: reflect.StructTag(`xml:"` + name + `"`)}}
	var values []reflect.Value
	for i, field := range d.fields {
		if field == "XMLName" {
			return x
		}
		if token.IsExported(field) {
			fields = append(fields, reflect.StructField{Name: field, Type: v.Field(i).Type(), Tag: v.Type().Field(i).Tag})
			values = append(values, v.Field(i))
		}
	}
	out := reflect.New(reflect.StructOf(fields)).Elem()
	for i, f := range values {
		out.Field(i + 1).Set(f)
	}
	return out.Interface()
}

// Encodable returns a value as compiled code is to encode it in JSON.
func (m *Machine) Encodable(x any) any {
	if out, err := m.encodable(x); err == nil {
		return out
	}
	return x // encoding fails on it too
}

// encodable returns a value that encoding/json encodes as it would encode x if x's types were compiled.
func (m *Machine) encodable(x any) (any, error) {
	x = m.unwrap(x)
	if x == nil || !m.mentions(reflect.TypeOf(x), 0) {
		return x, nil
	}
	e := encoder{m: m}
	v := e.value(reflect.ValueOf(x), 0, nil)
	if e.err != nil {
		return nil, e.err
	}
	if !v.IsValid() {
		return nil, nil
	}
	return v.Interface(), nil
}

// encoder turns values into ones of compiled types.
type encoder struct {
	m   *Machine
	err error
}

// maxNesting is how deep values may be in each other; beyond it is a circle, which encoding/json refuses too.
const maxNesting = 1000

// value converts v. The result is invalid for nil.
func (e *encoder) value(v reflect.Value, depth int, shape *Shape) reflect.Value {
	v = shape.inBox(v)
	if v.Kind() == reflect.Interface {
		v, shape = v.Elem(), nil
	}
	if !v.IsValid() {
		return v
	}
	if depth > maxNesting {
		e.err = fmt.Errorf("json: unsupported value: encountered a cycle via %s", e.m.typeName(v.Type()))
		return reflect.Value{}
	}
	if inner := e.m.unwrap(v.Interface()); inner != nil && reflect.TypeOf(inner) != v.Type() {
		v = reflect.ValueOf(inner)
	}
	if d := e.m.of(v.Type()); d == nil && shape == nil && !e.m.mentions(v.Type(), 0) {
		return v
	}
	if own, ok := e.ownMethod(v); ok {
		return own
	}
	t := v.Type()
	if d := e.m.of(v.Type()); d != nil && d.box != nil {
		v, shape = v.Field(0), d.shape
	}
	switch v.Kind() {
	case reflect.Pointer:
		return e.pointer(v, depth, shape)
	case reflect.Struct:
		return e.structure(v, depth)
	case reflect.Slice, reflect.Array:
		return e.list(v, depth, shape.elems())
	case reflect.Map:
		return e.mapping(v, depth, shape)
	case reflect.Chan, reflect.Func:
		e.err = &json.UnsupportedTypeError{Type: shownAs{t, e.m.typeName(t)}}
		return reflect.Value{}
	}
	return reflect.ValueOf(basic(v))
}

// ownMethod handles values that encode themselves.
func (e *encoder) ownMethod(v reflect.Value) (reflect.Value, bool) {
	if e.m.isNil(v) {
		return reflect.Value{}, false
	}
	if d := e.m.of(v.Type()); v.Kind() != reflect.Pointer && v.CanAddr() && d != nil && d.box == nil {
		v = v.Addr()
	}
	if f, ok := e.m.find(v, "MarshalJSON"); ok {
		if fn, ok := f.Interface().(func() ([]byte, error)); ok {
			return reflect.ValueOf(jsonMarshaler{fn, shownAs{v.Type(), e.m.typeName(v.Type())}}), true
		}
	}
	if f, ok := e.m.find(v, "MarshalText"); ok {
		if fn, ok := f.Interface().(func() ([]byte, error)); ok {
			return reflect.ValueOf(textMarshaler{fn, shownAs{v.Type(), e.m.typeName(v.Type())}}), true
		}
	}
	return reflect.Value{}, false
}

type jsonMarshaler struct {
	marshal func() ([]byte, error)
	as      shownAs
}

// MarshalJSON calls the declared type's method.
func (j jsonMarshaler) MarshalJSON() ([]byte, error) {
	text, err := j.marshal()
	if err != nil {
		return nil, &marshalFailure{err, j.as}
	}
	return text, nil
}

// marshalFailure is the error of a declared type's method, which encoding/json blames on the type that stands for it.
type marshalFailure struct {
	error
	as shownAs
}

// Unwrap is the method's own error.
func (f *marshalFailure) Unwrap() error { return f.error }

// blame puts the declared type into an error of encoding/json.
func blame(err error) error {
	if e, ok := err.(*json.MarshalerError); ok {
		if f, ok := e.Err.(*marshalFailure); ok {
			e.Type, e.Err = f.as, blame(f.error)
		}
	}
	return err
}

type textMarshaler struct {
	marshal func() ([]byte, error)
	as      shownAs
}

// MarshalText calls the declared type's method.
func (t textMarshaler) MarshalText() ([]byte, error) {
	text, err := t.marshal()
	if err != nil {
		return nil, &marshalFailure{err, t.as}
	}
	return text, nil
}

var _ encoding.TextMarshaler = textMarshaler{}

// pointer converts a pointer to a value of that shape.
func (e *encoder) pointer(v reflect.Value, depth int, shape *Shape) reflect.Value {
	if v.IsNil() {
		return reflect.Value{}
	}
	inner := e.value(v.Elem(), depth+1, shape)
	if !inner.IsValid() {
		return inner
	}
	p := reflect.New(inner.Type())
	p.Elem().Set(inner)
	return p
}

func (e *encoder) list(v reflect.Value, depth int, elem *Shape) reflect.Value {
	if v.Kind() == reflect.Slice && v.IsNil() {
		return reflect.ValueOf([]any(nil))
	}
	if v.Kind() == reflect.Slice && v.Type().Elem().Kind() == reflect.Uint8 {
		return reflect.ValueOf(v.Bytes())
	}
	out := make([]any, v.Len())
	for i := range out {
		if c := e.value(v.Index(i), depth+1, elem); c.IsValid() {
			out[i] = c.Interface()
		}
	}
	return reflect.ValueOf(out)
}

func (e *encoder) mapping(v reflect.Value, depth int, shape *Shape) reflect.Value {
	if v.IsNil() {
		return reflect.ValueOf(map[string]any(nil))
	}
	var out reflect.Value
	for _, k := range v.MapKeys() {
		key := k
		if e.m.isOwn(k.Type()) {
			if own, ok := e.ownMethod(k); ok && k.Kind() != reflect.String { // a string is its own text
				if t, ok := own.Interface().(textMarshaler); ok {
					text, err := t.marshal()
					if err != nil && e.err == nil {
						e.err = err
					}
					key = reflect.ValueOf(string(text))
				}
			}
			if key == k {
				key = reflect.ValueOf(basic(k))
			}
		}
		if !out.IsValid() {
			out = reflect.MakeMap(reflect.MapOf(key.Type(), reflect.TypeFor[any]()))
		}
		c := e.value(v.MapIndex(k), depth+1, shape.elems())
		if !c.IsValid() {
			c = reflect.Zero(reflect.TypeFor[any]())
		}
		out.SetMapIndex(key, c)
	}
	if !out.IsValid() {
		return reflect.ValueOf(map[string]any{})
	}
	return out
}

// structure builds a struct with the fields that are encoded, embedded ones embedded.
func (e *encoder) structure(v reflect.Value, depth int) reflect.Value {
	d := e.m.of(v.Type())
	if d == nil {
		return v
	}
	var fields []reflect.StructField
	var values []reflect.Value
	for i, name := range d.fields {
		f, value, ok := e.field(v, d, i, name, depth)
		if ok {
			fields, values = append(fields, f), append(values, value)
		}
	}
	out := reflect.New(reflect.StructOf(fields)).Elem()
	for i, value := range values {
		if value.IsValid() {
			out.Field(i).Set(value)
		}
	}
	return out
}

func (e *encoder) field(v reflect.Value, d *declared, i int, name string, depth int) (f reflect.StructField, value reflect.Value, ok bool) {
	tag := v.Type().Field(i).Tag
	field := v.Field(i)
	embedded := d.embedded[i] && plainEmbedding(field.Type(), userTag(tag))
	if !token.IsExported(name) && !embedded || userTag(tag).Get("json") == "-" {
		return f, value, false
	}
	f = reflect.StructField{Name: name, Tag: userTag(tag)}
	if embedded {
		if field.Kind() == reflect.Pointer {
			if field.IsNil() {
				return f, value, false
			}
			field = field.Elem()
		}
		f.Name, f.Anonymous = "E"+itoa(i), true
		value = e.structure(field, depth+1)
		if value.Type() == field.Type() { // compiled: its methods would come along
			f.Anonymous = value.Type().NumMethod() == 0
		}
		f.Type = value.Type()
		return f, value, true
	}
	value = e.value(field, depth+1, d.fieldShape(i))
	f.Type = reflect.TypeFor[any]()
	if value.IsValid() && field.Kind() != reflect.Interface {
		f.Type = value.Type()
		if f.Type != field.Type() {
			f, value = e.omission(f, value, field, d.fieldShape(i))
		}
	}
	return f, value, true
}

// plainEmbedding reports whether t is an embedded field whose own fields count as those of the struct around it.
func plainEmbedding(t reflect.Type, tag reflect.StructTag) bool {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	name, _, _ := strings.Cut(tag.Get("json"), ",")
	return t.Kind() == reflect.Struct && name == ""
}

// userTag is a field's tag as the cell has it.
func userTag(tag reflect.StructTag) reflect.StructTag {
	text, _, _ := strings.Cut(string(tag), `cancha:"`)
	text = strings.TrimSuffix(strings.TrimSpace(text), hiddenTag)
	return reflect.StructTag(strings.TrimSpace(text))
}
