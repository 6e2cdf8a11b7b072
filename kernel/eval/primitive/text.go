package primitive

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"unicode/utf8"
)

// What a text shows at most. Beyond it the head and the tail of what is long are left, with its length between them.
const (
	textLimit  = 8 << 10 // bytes; what is begun is ended, so that a text can be a little longer
	textDepth  = 8
	textString = 2 << 10 // bytes of one string
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

// Text returns a value as %+v prints it, cut if it is long or deep: of a slice, array, map or string it keeps head and tail, with the
// length. It takes as long for a slice of a million elements as for one of a hundred.
func (m *Machine) Text(x any) string {
	text := m.text(x)
	m.Check() // fmt swallows the panic of a method that was interrupted
	return text
}

func (m *Machine) text(x any) string {
	b := brief{m: m, limit: textLimit}
	b.value(reflect.ValueOf(x), 0, true, nil)
	return b.String()
}

// Short is Text in one line of at most width characters, for values that other goroutines may be using. Reading a map while it is written
// ends the process, so of a map it gives only the length. What a pointer to a compiled type points to may be locked, so such a pointer is
// not followed.
func (m *Machine) Short(x any, width int) string {
	b := brief{m: m, limit: 4 * width, live: true}
	b.value(reflect.ValueOf(x), 0, true, nil)
	m.Check()
	text := strings.Join(strings.Fields(b.String()), " ")
	if utf8.RuneCountInString(text) <= width {
		return text
	}
	return string([]rune(text)[:width-1]) + "…"
}

// brief writes values within the limits. It takes the names and shapes of declared types into account, as printer does, and
// looks into compiled ones itself, since fmt would write all of them.
type brief struct {
	strings.Builder
	m      *Machine
	limit  int
	live   bool // see Short
	nested int  // open slices, arrays and maps
}

func (b *brief) value(v reflect.Value, depth int, methods bool, shape *Shape) {
	v = shape.inBox(v)
	if v.Kind() == reflect.Interface {
		v, shape = v.Elem(), nil
	}
	switch {
	case !v.IsValid():
		b.WriteString("<nil>")
		return
	case b.Len() > b.limit || depth > textDepth:
		b.WriteString("…")
		return
	}
	if v.CanInterface() {
		if inner := b.m.unwrap(v.Interface()); inner != nil {
			v = reflect.ValueOf(inner)
		}
		if methods && b.words(v) {
			return
		}
	}
	if d := b.m.of(v.Type()); d != nil && d.box != nil {
		b.boxed(v.Field(0), d, depth, methods)
		return
	}
	b.kind(v, depth, methods, shape)
}

// words writes what a value says of itself.
func (b *brief) words(v reflect.Value) bool {
	if b.m.isOwn(v.Type()) {
		for _, name := range []string{"Format", "Error", "String"} {
			if _, ok := b.m.find(v, name); ok {
				b.cut(fmt.Sprintf("%+v", operand{m: b.m, v: v}))
				return true
			}
		}
		return false
	}
	if v.Kind() == reflect.Pointer && v.IsNil() || !hasMethods(v) {
		return false
	}
	if _, isError := v.Interface().(error); b.live && v.Kind() == reflect.Pointer && !isError {
		return false
	}
	b.cut(fmt.Sprintf("%+v", v.Interface()))
	return true
}

func (b *brief) boxed(v reflect.Value, d *declared, depth int, methods bool) {
	switch {
	case !d.pointer:
		b.kind(v, depth, methods, d.shape)
	case v.IsNil():
		b.WriteString("<nil>")
	case depth > 0:
		b.address(v)
	default:
		b.WriteString("&")
		b.kind(v.Elem(), depth+1, methods, d.shape)
	}
}

func (b *brief) kind(v reflect.Value, depth int, methods bool, shape *Shape) {
	switch v.Kind() {
	case reflect.Pointer:
		b.pointer(v, depth, methods)
	case reflect.Struct:
		b.structure(v, depth, methods)
	case reflect.Slice, reflect.Array:
		b.list("[", v.Len(), func(i int) { b.value(v.Index(i), depth+1, methods, shape.elems()) })
	case reflect.Map:
		if b.live {
			b.WriteString(entries(v.Len()))
			return
		}
		list := sortedEntries(v)
		b.list("map[", len(list), func(i int) {
			b.value(list[i].key, depth+1, methods, shape.keys())
			b.WriteString(":")
			b.value(list[i].value, depth+1, methods, shape.elems())
		})
	case reflect.String:
		b.cut(v.String())
	case reflect.Func:
		if v.IsNil() {
			b.WriteString("<nil>")
		} else {
			b.WriteString(b.m.typeName(v.Type()))
		}
	case reflect.Chan, reflect.UnsafePointer:
		b.address(v)
	default:
		fmt.Fprint(b, v) // fmt prints the value that a reflect.Value holds
	}
}

// list writes the head and the tail of n elements.
func (b *brief) list(open string, n int, element func(i int)) {
	head, tail := ends(b.nested)
	b.nested++
	defer func() { b.nested-- }()
	b.WriteString(open)
	for i := 0; i < n; i++ {
		if i > 0 {
			b.WriteByte(' ')
		}
		if i == head && n > head+tail+1 {
			b.WriteString("… (" + grouped(n) + " in all) … ")
			i = n - tail
		}
		if b.Len() > b.limit {
			b.WriteString("… (" + grouped(n) + " in all)")
			break
		}
		element(i)
	}
	b.WriteString("]")
}

func (b *brief) structure(v reflect.Value, depth int, methods bool) {
	d := b.m.of(v.Type())
	n := v.NumField()
	if d != nil {
		n = len(d.fields)
	}
	b.WriteString("{")
	for i := range n {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(fieldName(v.Type(), d, i) + ":")
		b.value(v.Field(i), depth+1, methods && v.Field(i).CanInterface(), d.fieldShape(i))
	}
	b.WriteString("}")
}

// pointer follows a pointer at the top, as fmt does; deeper ones are addresses, so that rings end.
func (b *brief) pointer(v reflect.Value, depth int, methods bool) {
	if v.IsNil() {
		b.WriteString("<nil>")
		return
	}
	switch v.Elem().Kind() {
	case reflect.Struct, reflect.Slice, reflect.Array, reflect.Map:
		if depth == 0 && !(b.live && b.foreign(v.Type().Elem())) {
			b.WriteString("&")
			b.value(v.Elem(), depth+1, methods, nil)
			return
		}
	}
	b.address(v)
}

// foreign reports whether t is a type that no cell has declared.
func (b *brief) foreign(t reflect.Type) bool {
	return !b.m.isOwn(t) && t.PkgPath() != "" && !strings.HasPrefix(t.String(), "main.")
}

func (b *brief) address(v reflect.Value) {
	if v.Pointer() == 0 {
		b.WriteString("<nil>")
		return
	}
	fmt.Fprintf(b, "%#x", v.Pointer())
}

// cut writes a string, of a long one head and tail.
func (b *brief) cut(s string) {
	limit := min(textString, b.limit)
	if len(s) <= limit {
		b.WriteString(s)
		return
	}
	head, tail := limit*3/4, len(s)-limit/4
	for head > 0 && !utf8.RuneStart(s[head]) {
		head--
	}
	for tail < len(s) && !utf8.RuneStart(s[tail]) {
		tail++
	}
	b.WriteString(s[:head] + "… (" + grouped(len(s)) + " bytes in all) …" + s[tail:])
}

func entries(n int) string {
	if n == 1 {
		return "1 entry"
	}
	return grouped(n) + " entries"
}

// grouped writes a number with a comma every three digits.
func grouped(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
