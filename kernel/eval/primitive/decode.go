package primitive

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/token"
	"reflect"
	"strconv"
	"strings"
)

// JSONUnmarshal is json.Unmarshal.
func (m *Machine) JSONUnmarshal(data []byte, target any) error {
	return m.jsonDecode(target, func(target any) error { return json.Unmarshal(data, target) })
}

// JSONDecode is the method Decode of a json.Decoder.
func (m *Machine) JSONDecode(decoder, target any) error {
	d := decoder.(*json.Decoder)
	return m.jsonDecode(target, func(into any) error {
		if _, raw := into.(*json.RawMessage); raw && isStrict(d) {
			return errors.New("json: DisallowUnknownFields and UseNumber do not reach types of cells with methods or embedded fields: leave them out, or decode into a type without")
		}
		return d.Decode(into)
	})
}

// isStrict tells whether DisallowUnknownFields or UseNumber was called, which nothing but the decoder's own fields tells.
func isStrict(d *json.Decoder) bool {
	state := reflect.ValueOf(d).Elem().FieldByName("d")
	return state.FieldByName("disallowUnknownFields").Bool() || state.FieldByName("useNumber").Bool()
}

// jsonDecode decodes into target: by itself where its types have methods or embedded fields, which encoding/json cannot
// see, else through decode.
func (m *Machine) jsonDecode(target any, decode func(any) error) error {
	target = m.unwrap(target)
	v := reflect.ValueOf(target)
	if d := m.ofValue(v); d != nil && d.box != nil && (d.pointer || d.box.Kind() == reflect.Pointer) {
		if m.findable(v, "UnmarshalJSON", "UnmarshalText") {
			var raw json.RawMessage
			if err := decode(&raw); err != nil {
				return err
			}
			return (&decoder{m: m}).own(raw, v)
		}
		v = v.Field(0)
		target = v.Interface()
	}
	if v.Kind() != reflect.Pointer || v.IsNil() || !m.decodesItself(v.Type().Elem(), map[reflect.Type]bool{}) {
		return m.nameStruct(decode(target), v)
	}
	var raw json.RawMessage
	if err := decode(&raw); err != nil {
		return err
	}
	d := decoder{m: m}
	if err := d.value(raw, v.Elem(), nil); err != nil {
		return err
	}
	return d.first
}

func (m *Machine) findable(v reflect.Value, names ...string) bool {
	for _, name := range names {
		if _, ok := m.find(v, name); ok {
			return true
		}
	}
	return false
}

// decodesItself reports whether encoding/json would not decode t as it has to be decoded.
func (m *Machine) decodesItself(t reflect.Type, seen map[reflect.Type]bool) bool {
	if seen[t] {
		return false
	}
	seen[t] = true
	if d := m.of(t); d != nil {
		if m.findable(reflect.New(t), "UnmarshalJSON", "UnmarshalText") {
			return true
		}
		for _, embedded := range d.embedded {
			if embedded {
				return true
			}
		}
	} else if t.PkgPath() != "" {
		return false
	}
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array:
		return m.decodesItself(t.Elem(), seen)
	case reflect.Map:
		return m.decodesItself(t.Key(), seen) || m.decodesItself(t.Elem(), seen)
	case reflect.Struct:
		for i := range t.NumField() {
			if m.decodesItself(t.Field(i).Type, seen) {
				return true
			}
		}
	}
	return false
}

// decoder decodes JSON into values of the cells' types. Like encoding/json it goes on after a value of the wrong type and
// tells of the first.
type decoder struct {
	m     *Machine
	first error
}

// wrongType keeps the first error about a value of the wrong type, with where it is; any other error ends the decoding.
func (d *decoder) wrongType(err error, path []place) error {
	var e *json.UnmarshalTypeError
	if !errors.As(err, &e) {
		return err
	}
	if d.first == nil {
		var names []string
		for _, p := range path {
			e.Struct, names = p.structure, append(names, p.field)
		}
		if e.Field != "" {
			names = append(names, e.Field)
		}
		e.Field = strings.Join(names, ".")
		d.first = err
	}
	return nil
}

// place is a field on the way to a value.
type place struct{ structure, field string }

func (d *decoder) value(raw json.RawMessage, v reflect.Value, path []place) error {
	raw = bytes.TrimSpace(raw)
	null := string(raw) == "null"
	if null && (v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface || v.Kind() == reflect.Map || v.Kind() == reflect.Slice) {
		v.SetZero()
		return nil
	}
	if v.Kind() == reflect.Pointer {
		if v.IsNil() {
			v.Set(reflect.New(v.Type().Elem()))
		}
		return d.value(raw, v.Elem(), path)
	}
	if d.m.isOwn(v.Type()) && d.m.findable(v.Addr(), "UnmarshalJSON") {
		return d.own(raw, v.Addr())
	}
	if d.m.isOwn(v.Type()) && !null && raw[0] == '"' && d.m.findable(v.Addr(), "UnmarshalText") {
		return d.own(raw, v.Addr())
	}
	if null {
		return nil
	}
	if !d.m.decodesItself(v.Type(), map[reflect.Type]bool{}) {
		return d.wrongType(json.Unmarshal(raw, v.Addr().Interface()), path)
	}
	switch {
	case v.Kind() == reflect.Struct && raw[0] == '{':
		return d.structure(raw, v, path)
	case v.Kind() == reflect.Map && raw[0] == '{':
		return d.mapping(raw, v, path)
	case (v.Kind() == reflect.Slice || v.Kind() == reflect.Array) && raw[0] == '[':
		return d.list(raw, v, path)
	}
	kind := map[byte]string{'{': "object", '[': "array", '"': "string", 't': "bool", 'f': "bool"}[raw[0]]
	if kind == "" {
		kind = "number"
	}
	return d.wrongType(&json.UnmarshalTypeError{Value: kind, Type: shownAs{v.Type(), d.m.typeName(v.Type())}}, path)
}

// own calls the method by which a value decodes itself. v is a pointer to it.
func (d *decoder) own(raw json.RawMessage, v reflect.Value) error {
	if f, ok := d.m.find(v, "UnmarshalJSON"); ok {
		if fn, ok := f.Interface().(func([]byte) error); ok {
			return fn(raw)
		}
	}
	if f, ok := d.m.find(v, "UnmarshalText"); ok {
		if fn, ok := f.Interface().(func([]byte) error); ok {
			var text string
			if err := json.Unmarshal(raw, &text); err != nil {
				return err
			}
			return fn([]byte(text))
		}
	}
	return fmt.Errorf("json: %s has a method of another signature than encoding/json expects", d.m.typeName(v.Type()))
}

func (d *decoder) list(raw json.RawMessage, v reflect.Value, path []place) error {
	var elems []json.RawMessage
	if err := json.Unmarshal(raw, &elems); err != nil {
		return err
	}
	if v.Kind() == reflect.Slice {
		v.Set(reflect.MakeSlice(v.Type(), len(elems), len(elems)))
	} else {
		v.SetZero()
	}
	for i := range min(len(elems), v.Len()) {
		if err := d.value(elems[i], v.Index(i), path); err != nil {
			return err
		}
	}
	return nil
}

func (d *decoder) mapping(raw json.RawMessage, v reflect.Value, path []place) error {
	var elems map[string]json.RawMessage
	if err := json.Unmarshal(raw, &elems); err != nil {
		return err
	}
	if v.IsNil() {
		v.Set(reflect.MakeMap(v.Type()))
	}
	for name, elem := range elems {
		key := reflect.New(v.Type().Key()).Elem()
		text, _ := json.Marshal(name)
		if k := key.Kind(); k != reflect.String && !d.m.findable(key.Addr(), "UnmarshalText") {
			text = []byte(name)
		}
		if err := d.value(text, key, path); err != nil {
			return err
		}
		value := reflect.New(v.Type().Elem()).Elem()
		if err := d.value(elem, value, path); err != nil {
			return err
		}
		v.SetMapIndex(key, value)
	}
	return nil
}

func (d *decoder) structure(raw json.RawMessage, v reflect.Value, path []place) error {
	dec := json.NewDecoder(bytes.NewReader(raw))
	if _, err := dec.Token(); err != nil {
		return err
	}
	_, owner, _ := strings.Cut(d.m.typeName(v.Type()), ".")
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			return err
		}
		var elem json.RawMessage
		if err := dec.Decode(&elem); err != nil {
			return err
		}
		field, option, ok := d.find(v, name.(string))
		if !ok {
			continue
		}
		if strings.Contains(option, "string") && len(elem) > 1 && elem[0] == '"' && field.Kind() != reflect.Struct {
			if text, err := strconv.Unquote(string(elem)); err == nil {
				elem = json.RawMessage(text)
			}
		}
		if err := d.value(elem, field, append(path[:len(path):len(path)], place{owner, name.(string)})); err != nil {
			return err
		}
	}
	return nil
}

// find returns the field for a JSON name: of the struct itself or, where it has none, of an embedded one. An exact name is
// preferred to one that differs in case.
func (d *decoder) find(v reflect.Value, name string) (field reflect.Value, option string, ok bool) {
	for _, same := range []func(a, b string) bool{func(a, b string) bool { return a == b }, strings.EqualFold} {
		if field, option, ok = d.findBy(v, name, same); ok {
			return field, option, ok
		}
	}
	return field, "", false
}

func (d *decoder) findBy(v reflect.Value, name string, same func(a, b string) bool) (field reflect.Value, option string, ok bool) {
	own := d.m.of(v.Type())
	var embedded []reflect.Value
	for i := range v.NumField() {
		tag, goName, inside := v.Type().Field(i).Tag, v.Type().Field(i).Name, v.Type().Field(i).Anonymous
		if own != nil {
			tag, goName, inside = userTag(tag), own.fields[i], own.embedded[i]
		}
		if inside && plainEmbedding(v.Field(i).Type(), tag) {
			embedded = append(embedded, v.Field(i))
			continue
		}
		jsonName, options, _ := strings.Cut(tag.Get("json"), ",")
		if !token.IsExported(goName) || tag.Get("json") == "-" {
			continue
		}
		if jsonName == "" {
			jsonName = goName
		}
		if same(jsonName, name) {
			return v.Field(i), options, true
		}
	}
	for _, e := range embedded {
		if e.Kind() == reflect.Pointer {
			if e.IsNil() {
				e.Set(reflect.New(e.Type().Elem()))
			}
			e = e.Elem()
		}
		if field, option, ok = d.findBy(e, name, same); ok {
			return field, option, ok
		}
	}
	return field, "", false
}

// shownAs is a type under the name that the cell gave it.
type shownAs struct {
	reflect.Type
	name string
}

// String is the name.
func (s shownAs) String() string { return s.name }

// nameStruct puts the declared names of the types into an error of encoding/json.
func (m *Machine) nameStruct(err error, v reflect.Value) error {
	if e, ok := err.(*json.InvalidUnmarshalError); ok && e.Type != nil {
		return &json.InvalidUnmarshalError{Type: shownAs{e.Type, m.typeName(e.Type)}}
	}
	var e *json.UnmarshalTypeError
	if !errors.As(err, &e) || v.Kind() != reflect.Pointer {
		return err
	}
	if e.Type != nil {
		e.Type = shownAs{e.Type, m.typeName(e.Type)}
	}
	if e.Struct != "" || e.Field == "" {
		return err
	}
	t := v.Type().Elem()
	d := decoder{m: m}
	for _, name := range strings.Split(e.Field, ".") {
		for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice || t.Kind() == reflect.Array || t.Kind() == reflect.Map {
			t = t.Elem()
		}
		if t.Kind() != reflect.Struct {
			break
		}
		_, e.Struct, _ = strings.Cut(m.typeName(t), ".")
		f, _, ok := d.find(reflect.New(t).Elem(), name)
		if !ok {
			break
		}
		t = f.Type()
	}
	return err
}
