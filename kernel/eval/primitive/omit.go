package primitive

import (
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// omission decides by a field whether what it has been turned into is left out: that looks otherwise, and has no method IsZero.
// What is left out becomes nil, which either option leaves out.
func (e *encoder) omission(f reflect.StructField, value, field reflect.Value, shape *Shape) (reflect.StructField, reflect.Value) {
	options := strings.Split(f.Tag.Get("json"), ",")[1:]
	omitZero := slices.Contains(options, "omitzero")
	switch {
	case omitZero && e.isZero(field, shape), slices.Contains(options, "omitempty") && marshalsItself(value) && isEmpty(field):
		f.Type = reflect.TypeFor[any]()
		return f, reflect.Value{}
	case omitZero:
		f.Tag = withoutOption(f.Tag, "omitzero")
	}
	return f, value
}

// isZero asks the method IsZero of a field's type, if there is one.
func (e *encoder) isZero(field reflect.Value, shape *Shape) bool {
	v := shape.inBox(field)
	if v.Kind() == reflect.Pointer && v.IsNil() {
		return true
	}
	if d := e.m.of(v.Type()); d != nil && d.box == nil { // the receiver may be a pointer
		p := reflect.New(v.Type())
		p.Elem().Set(v)
		v = p
	}
	if f, ok := e.m.find(v, "IsZero"); ok {
		if is, ok := f.Interface().(func() bool); ok {
			return is()
		}
	}
	return field.IsZero()
}

func marshalsItself(value reflect.Value) bool {
	switch value.Interface().(type) {
	case jsonMarshaler, textMarshaler:
		return true
	}
	return false
}

// isEmpty tells what encoding/json leaves out for omitempty.
func isEmpty(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Array, reflect.Map, reflect.Slice, reflect.String:
		return v.Len() == 0
	case reflect.Struct:
		return false
	}
	return v.IsZero()
}

// withoutOption takes an option out of a tag's json.
func withoutOption(tag reflect.StructTag, option string) reflect.StructTag {
	text := tag.Get("json")
	parts := strings.Split(text, ",")
	rest := slices.DeleteFunc(parts[1:], func(o string) bool { return o == option })
	text, without := strconv.Quote(text), strconv.Quote(strings.Join(append(parts[:1], rest...), ","))
	return reflect.StructTag(strings.Replace(string(tag), "json:"+text, "json:"+without, 1))
}
