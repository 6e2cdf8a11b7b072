package worker

import (
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
)

// mostResult is how large a result may be, in bytes of JSON.
const mostResult = 1 << 20

// encode writes a result as JSON. One that is too large is refused before it is written: its text would take its memory several times over,
// and of a gigabyte the worker would die.
func encode(result any) (json.RawMessage, error) {
	if least := atLeast(reflect.ValueOf(result), 2*mostResult); least > mostResult {
		return nil, large(fmt.Sprintf("more than %d", mostResult))
	}
	text, err := json.Marshal(result)
	if err != nil {
		return nil, Final(fmt.Errorf("the result cannot be written as JSON: %w", err))
	}
	if len(text) > mostResult {
		return nil, large(fmt.Sprint(len(text)))
	}
	return text, nil
}

func large(bytes string) error {
	return Final(fmt.Errorf("the result has %s bytes of JSON; at most %d: write large results into a file, and return its name", bytes, mostResult))
}

// deepest is how deep a value is counted: what refers to itself has no end, and is refused when it is written.
const deepest = 1000

// atLeast is how many bytes of JSON a value has at least, counted until there are so many: what a method or a tag may shorten does not count.
func atLeast(v reflect.Value, most int) int { return counter{most, deepest}.of(v) }

// counter has how far is counted, in bytes and levels.
type counter struct{ most, deep int }

// less is a counter for what is in a value of which n bytes are counted.
func (c counter) less(n int) counter { return counter{c.most - n, c.deep - 1} }

func (c counter) of(v reflect.Value) int {
	if !v.IsValid() || c.deep == 0 || v.CanInterface() && own(v) {
		return 1
	}
	switch v.Kind() {
	case reflect.String:
		return v.Len()
	case reflect.Pointer, reflect.Interface:
		return c.less(0).of(v.Elem())
	case reflect.Slice, reflect.Array:
		return c.items(v)
	case reflect.Map:
		return c.entries(v)
	case reflect.Struct:
		return c.fields(v)
	}
	return 1
}

// own tells whether a value writes itself.
func own(v reflect.Value) bool {
	switch v.Interface().(type) {
	case json.Marshaler, encoding.TextMarshaler:
		return true
	}
	return false
}

func (c counter) items(v reflect.Value) (n int) {
	if n = v.Len(); n > c.most || v.Type().Elem().Kind() == reflect.Uint8 { // each has a byte at least
		return n
	}
	for i := 0; i < v.Len() && n <= c.most; i++ {
		n += c.less(n).of(v.Index(i))
	}
	return n
}

func (c counter) entries(v reflect.Value) (n int) {
	for i := v.MapRange(); n <= c.most && i.Next(); {
		n += 2 + c.less(n).of(i.Value())
	}
	return n
}

// fields counts those that are written whatever their value is.
func (c counter) fields(v reflect.Value) (n int) {
	for i := 0; i < v.NumField() && n <= c.most; i++ {
		if f := v.Type().Field(i); f.IsExported() && !f.Anonymous && f.Tag.Get("json") == "" {
			n += len(f.Name) + c.less(n).of(v.Field(i))
		}
	}
	return n
}
