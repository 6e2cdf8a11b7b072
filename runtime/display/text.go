package display

import (
	"cmp"
	"encoding/hex"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"cancha/internal/cellio"
)

// What a text shows at most. fmt would build the whole text of a slice of ten million before anybody could cut it, and
// overflows the stack, which no recover catches, on a slice that holds itself.
const (
	maxText  = 8 << 10 // bytes; what is begun is ended, so that a text can be a little longer
	maxDepth = 8
	maxHex   = 64 // bytes of binary data
)

// ends is how many elements at the head and at the tail of a slice, array or map are shown that lies within so many others.
func ends(nested int) (head, tail int) {
	switch nested {
	case 0:
		return 50, 10
	case 1:
		return 10, 3
	}
	return 5, 2
}

// Text returns v as plain text: what fmt.Println would print, except that strings are quoted, field names are given, and
// what is long or deep is cut: head and tail are left, with the length between them.
func Text(v any) string {
	if s, ok := ownWords(v); ok {
		return cut(s)
	}
	switch v := v.(type) {
	case nil:
		return "<nil>"
	case string:
		return quote(v)
	case []byte:
		return textOfBytes(v)
	}
	var p printer
	p.value(reflect.ValueOf(v), 0)
	return cut(p.String())
}

// ownWords returns what v says of itself as an error, a Formatter or a Stringer. A panic is told instead; a nil pointer has no words.
func ownWords(v any) (s string, ok bool) {
	if r := reflect.ValueOf(v); r.Kind() == reflect.Pointer && r.IsNil() {
		return "", false
	}
	method := "Error"
	defer func() {
		p := recover()
		if p == nil {
			return
		}
		if cellio.Stops(p) { // an interrupt, or os.Exit
			panic(p)
		}
		s, ok = fmt.Sprintf("panic in the %s method of a %T: %s", method, v, strings.TrimPrefix(cellio.FaultOf(p).Error(), "panic: ")), true
	}()
	switch v := v.(type) {
	case error:
		return "error: " + v.Error(), true
	case fmt.Formatter:
		return fmt.Sprintf("%v", v), true // fmt contains its panics itself
	case fmt.Stringer:
		method = "String"
		return v.String(), true
	}
	return "", false
}

func quote(s string) string {
	if len(s) <= maxText/2 {
		return strconv.Quote(s)
	}
	head, tail := bothEnds(s, maxText/2)
	return strconv.Quote(head) + inAll(len(s)) + strconv.Quote(tail)
}

// inAll stands for what is left out of n bytes.
func inAll(n int) string { return fmt.Sprintf("… (%s bytes in all) …", group(n)) }

// bothEnds returns the head and the tail of a string that is longer than n bytes; together they have n at most.
func bothEnds(s string, n int) (head, tail string) {
	head = wholeRunes(s, n*3/4)
	at := len(s) - n/4
	for at < len(s) && !utf8.RuneStart(s[at]) {
		at++
	}
	return head, s[at:]
}

func textOfBytes(b []byte) string {
	switch {
	case b == nil:
		return "[]byte(nil)"
	case len(b) <= maxText && utf8.Valid(b) && !strings.ContainsFunc(string(b), unprintable):
		return "[]byte(" + strconv.Quote(string(b)) + ")"
	case len(b) <= maxHex:
		return fmt.Sprintf("[]byte, %d bytes: % x", len(b), b)
	default:
		return fmt.Sprintf("[]byte, %s bytes:\n%s…", group(len(b)), hex.Dump(b[:maxHex]))
	}
}

func unprintable(r rune) bool { return !unicode.IsPrint(r) && !unicode.IsSpace(r) }

// cut shortens s to maxText bytes and says so.
func cut(s string) string {
	if len(s) <= maxText {
		return s
	}
	head, tail := bothEnds(s, maxText)
	return head + inAll(len(s)) + tail
}

// wholeRunes returns at most n bytes of s, ending on a rune's edge.
func wholeRunes(s string, n int) string {
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// group writes n with a comma every three digits.
func group(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// printer writes values in fmt's %+v form, within the limits above.
type printer struct {
	strings.Builder
	nested int // open slices, arrays and maps
}

func (p *printer) value(v reflect.Value, depth int) {
	switch {
	case !v.IsValid():
		p.WriteString("<nil>")
		return
	case p.Len() > maxText || depth > maxDepth:
		p.WriteString("…")
		return
	case depth > 0 && v.CanInterface():
		if s, ok := ownWords(v.Interface()); ok {
			p.WriteString(strings.TrimPrefix(s, "error: "))
			return
		}
	}
	p.kind(v, depth)
}

func (p *printer) kind(v reflect.Value, depth int) {
	switch v.Kind() {
	case reflect.String:
		p.WriteString(quote(v.String()))
	case reflect.Slice, reflect.Array:
		p.list(v, depth)
	case reflect.Map:
		p.table(v, depth)
	case reflect.Struct:
		p.fields(v, depth)
	case reflect.Interface:
		p.value(v.Elem(), depth)
	case reflect.Pointer:
		p.pointer(v, depth)
	case reflect.Func, reflect.Chan, reflect.UnsafePointer:
		p.reference(v)
	default:
		fmt.Fprint(p, v) // fmt prints the value that a reflect.Value holds
	}
}

func (p *printer) list(v reflect.Value, depth int) {
	p.elements("[", v.Len(), func(i int) { p.value(v.Index(i), depth+1) })
}

// elements writes the head and the tail of n elements.
func (p *printer) elements(open string, n int, element func(i int)) {
	head, tail := ends(p.nested)
	p.nested++
	defer func() { p.nested-- }()
	p.WriteString(open)
	for i := 0; i < n; i++ {
		if i > 0 {
			p.WriteByte(' ')
		}
		if i == head && n > head+tail+1 {
			p.WriteString("… (" + group(n) + " in all) … ")
			i = n - tail
		}
		if p.Len() > maxText {
			p.WriteString("… (" + group(n) + " in all)")
			break
		}
		element(i)
	}
	p.WriteByte(']')
}

func (p *printer) table(v reflect.Value, depth int) {
	keys := sortedKeys(v)
	p.elements("map[", len(keys), func(i int) {
		p.value(keys[i], depth+1)
		p.WriteByte(':')
		p.value(v.MapIndex(keys[i]), depth+1)
	})
}

// sortedKeys orders numbers and strings as such and everything else by its text, so that a map always looks the same.
func sortedKeys(v reflect.Value) []reflect.Value {
	keys := v.MapKeys()
	slices.SortFunc(keys, func(a, b reflect.Value) int {
		switch {
		case a.CanInt() && b.CanInt():
			return cmp.Compare(a.Int(), b.Int())
		case a.CanUint() && b.CanUint():
			return cmp.Compare(a.Uint(), b.Uint())
		case a.CanFloat() && b.CanFloat():
			return cmp.Compare(a.Float(), b.Float())
		default:
			return cmp.Compare(keyText(a), keyText(b))
		}
	})
	return keys
}

func keyText(v reflect.Value) string {
	if v.Kind() == reflect.String {
		return v.String()
	}
	var p printer
	p.value(v, 1)
	return p.String()
}

func (p *printer) fields(v reflect.Value, depth int) {
	p.WriteByte('{')
	for i := range v.NumField() {
		if i > 0 {
			p.WriteByte(' ')
		}
		p.WriteString(fieldName(v.Type(), i))
		p.WriteByte(':')
		p.value(v.Field(i), depth+1)
	}
	p.WriteByte('}')
}

// fieldName undoes what an interpreter does to fields of its own struct types: reflect.StructOf takes exported names only,
// so minute arrives as Xminute in a type without a name.
func fieldName(t reflect.Type, i int) string {
	name := t.Field(i).Name
	if t.Name() == "" && len(name) > 1 && name[0] == 'X' && !unicode.IsUpper(rune(name[1])) {
		return name[1:]
	}
	return name
}

// pointer follows a pointer at the top, as fmt does; deeper ones are addresses, so that rings end.
func (p *printer) pointer(v reflect.Value, depth int) {
	if v.IsNil() {
		p.WriteString("<nil>")
		return
	}
	switch v.Elem().Kind() {
	case reflect.Struct, reflect.Map, reflect.Slice, reflect.Array:
		if depth == 0 {
			p.WriteByte('&')
			p.value(v.Elem(), depth+1)
			return
		}
	}
	p.reference(v)
}

// reference writes what has no contents to show: its address as fmt does, a function's type, or nil.
func (p *printer) reference(v reflect.Value) {
	if v.IsNil() {
		p.WriteString("<nil>")
		return
	}
	if v.Kind() == reflect.Func {
		p.WriteString(v.Type().String())
		return
	}
	fmt.Fprintf(p, "%#x", v.Pointer())
}
