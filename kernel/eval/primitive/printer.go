package primitive

import (
	"fmt"
	"go/token"
	"reflect"
	"strconv"
	"strings"
)

// printer prints a value by one verb. Its steps are those of printValue in fmt/print.go.
type printer struct {
	m           *Machine
	state       fmt.State
	verb        rune
	format      string // of what is not composed
	plus, sharp bool   // %+v and %#v
	erroring    bool   // within what is said of a verb that does not fit: no methods are called there
}

func (p *printer) text(s string) { _, _ = p.state.Write([]byte(s)) }

// value prints v. methods tells whether methods count: not below fields that are not exported. static is the name of the
// interface type that v came from, if that is known, shape tells what v holds.
func (p *printer) value(v reflect.Value, depth int, methods bool, shape *Shape, static ...string) {
	p.m.measure("") // a value may contain itself
	v = shape.inBox(v)
	if v.Kind() == reflect.Interface {
		if static = append(static, ""); static[0] == "" {
			static[0] = p.m.typeName(v.Type())
			if shape != nil {
				static[0] = shape.name
			}
		}
		v, shape = v.Elem(), nil
	}
	if !v.IsValid() {
		p.none(static)
		return
	}
	if inner := p.m.unwrap(v.Interface()); inner != nil {
		v = reflect.ValueOf(inner)
	}
	own := p.m.isOwn(v.Type())
	if own && methods && p.callMethod(v) {
		return
	}
	d := p.m.of(v.Type())
	switch {
	case d != nil && d.box != nil:
		p.boxed(v, d, depth, methods)
	case shape != nil && shape.name != "":
		p.kind(v, shape.name, depth, methods, shape)
	case !own && p.isCompiled(v, depth):
		p.compiled(v, depth, methods)
	default:
		p.kind(v, p.m.typeName(v.Type()), depth, methods, nil)
	}
}

// none prints a nil interface.
func (p *printer) none(static []string) {
	if !p.sharp {
		p.text("<nil>")
		return
	}
	if len(static) == 0 || static[0] == "" {
		static = []string{"interface {}"}
	}
	p.text(static[0] + "(nil)")
}

// isCompiled reports whether fmt can print v itself: no type of the cells shows in it.
func (p *printer) isCompiled(v reflect.Value, depth int) bool {
	if p.m.mentions(v.Type(), depth) {
		return false
	}
	switch v.Kind() {
	case reflect.Pointer, reflect.Chan, reflect.Func:
		return depth == 0 || v.Type().Name() != "" || hasMethods(v)
	case reflect.Struct, reflect.Slice, reflect.Array, reflect.Map, reflect.UnsafePointer:
		return true
	}
	return v.NumMethod() > 0
}

// hidden holds a value where fmt does not call its methods, shown where it does.
type (
	hidden struct{ value any }
	shown  struct{ Value any }
)

// compiled prints a value that no cell's type is part of, in a struct if it is in something, as fmt goes by that.
func (p *printer) compiled(v reflect.Value, depth int, methods bool) {
	format := p.format
	if p.erroring {
		format, methods = p.spec('v', false), false
	}
	if methods && depth == 0 {
		fmt.Fprintf(p.state, format, v.Interface())
		return
	}
	var in any = shown{v.Interface()}
	if !methods {
		in = hidden{v.Interface()}
	}
	_, text, _ := strings.Cut(fmt.Sprintf(format, in), "{")
	if p.plus || p.sharp {
		_, text, _ = strings.Cut(text, ":")
	}
	p.text(strings.TrimSuffix(text, "}"))
}

func hasMethods(v reflect.Value) bool {
	switch v.Interface().(type) {
	case error, fmt.Stringer, fmt.Formatter:
		return true
	}
	return false
}

// boxed prints what is in the wrapper v.
func (p *printer) boxed(v reflect.Value, d *declared, depth int, methods bool) {
	name, inner := p.m.typeName(v.Type()), v.Field(0)
	if d.pointer && depth == 0 && !inner.IsNil() && isComposite(inner.Elem()) {
		p.text("&")
		p.kind(inner.Elem(), d.name, depth+1, methods, d.shape)
		return
	}
	if d.pointer {
		p.address(inner, name)
		return
	}
	p.kind(inner, name, depth, methods, d.shape)
}

// kind prints a value by what it is made of; name is that of its type.
func (p *printer) kind(v reflect.Value, name string, depth int, methods bool, shape *Shape) {
	switch v.Kind() {
	case reflect.Struct:
		p.structure(v, name, depth, methods)
	case reflect.Slice, reflect.Array:
		p.list(v, name, depth, methods, shape.elems())
	case reflect.Map:
		p.mapping(v, name, depth, methods, shape)
	case reflect.Pointer:
		if depth == 0 && !v.IsNil() && isComposite(v.Elem()) {
			p.text("&")
			p.value(v.Elem(), depth+1, methods, nil)
			return
		}
		p.address(v, name)
	case reflect.Func, reflect.Chan, reflect.UnsafePointer:
		p.address(v, name)
	default:
		p.basic(v, name)
	}
}

func isComposite(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Struct, reflect.Slice, reflect.Array, reflect.Map:
		return true
	}
	return false
}

// bad prints a value to which the verb does not fit.
func (p *printer) bad(name string, print func(*printer)) {
	p.text("%!" + string(p.verb) + "(" + name + "=")
	q := *p
	q.verb, q.erroring, q.plus, q.sharp = 'v', true, false, false
	print(&q)
	p.text(")")
}

// spec is the format with another verb and, if sharp is set, the flag for it.
func (p *printer) spec(verb rune, sharp bool) string {
	text := "%"
	for _, flag := range "+- 0" {
		if p.state.Flag(int(flag)) && (flag != '+' || p.plusSign()) {
			text += string(flag)
		}
	}
	if sharp {
		text += "#"
	}
	if n, ok := p.state.Width(); ok {
		text += strconv.Itoa(n)
	}
	if n, ok := p.state.Precision(); ok {
		text += "." + strconv.Itoa(n)
	}
	return text + string(verb)
}

// plusSign tells whether a plus in the format asks for a sign, which it does not before v.
func (p *printer) plusSign() bool { return !p.plus }

// basic prints a number or string; a verb that does not fit it names the type.
func (p *printer) basic(v reflect.Value, name string) {
	plain := basic(v)
	family := verbsOf(v.Kind())
	if p.erroring {
		fmt.Fprintf(p.state, p.spec(rune(family[0]), p.state.Flag('#')), plain)
		return
	}
	text := fmt.Sprintf(p.format, plain)
	if !strings.ContainsRune(family+"v", p.verb) {
		text = fmt.Sprintf("%%!%c(%s=%s", p.verb, name, strings.TrimPrefix(text, fmt.Sprintf("%%!%c(%T=", p.verb, plain)))
	}
	p.text(text)
}

// verbsOf are the verbs that fit a kind besides v, the one that does the same as v in front.
func verbsOf(k reflect.Kind) string {
	switch k {
	case reflect.Bool:
		return "t"
	case reflect.Float32, reflect.Float64, reflect.Complex64, reflect.Complex128:
		return "gGbxXfFeE"
	case reflect.String:
		return "sxXq"
	}
	return "dboOxXcqU"
}

// basic is a number, string, function or the like as a value of a predeclared type.
func basic(v reflect.Value) any {
	t, ok := map[reflect.Kind]reflect.Type{
		reflect.Bool: reflect.TypeFor[bool](), reflect.String: reflect.TypeFor[string](),
		reflect.Int: reflect.TypeFor[int](), reflect.Int8: reflect.TypeFor[int8](), reflect.Int16: reflect.TypeFor[int16](),
		reflect.Int32: reflect.TypeFor[int32](), reflect.Int64: reflect.TypeFor[int64](),
		reflect.Uint: reflect.TypeFor[uint](), reflect.Uint8: reflect.TypeFor[uint8](), reflect.Uint16: reflect.TypeFor[uint16](),
		reflect.Uint32: reflect.TypeFor[uint32](), reflect.Uint64: reflect.TypeFor[uint64](), reflect.Uintptr: reflect.TypeFor[uintptr](),
		reflect.Float32: reflect.TypeFor[float32](), reflect.Float64: reflect.TypeFor[float64](),
		reflect.Complex64: reflect.TypeFor[complex64](), reflect.Complex128: reflect.TypeFor[complex128](),
	}[v.Kind()]
	if !ok {
		return v.Interface()
	}
	return v.Convert(t).Interface()
}

// address prints where something is.
func (p *printer) address(v reflect.Value, name string) {
	at := uint64(v.Pointer())
	switch {
	case p.sharp && at == 0:
		p.text("(" + name + ")(nil)")
	case p.sharp:
		p.text("(" + name + ")(")
		fmt.Fprintf(p.state, p.spec('x', true), at)
		p.text(")")
	case p.verb == 'v' && at == 0:
		p.padded("<nil>")
	case p.verb == 'v' || p.verb == 'p':
		fmt.Fprintf(p.state, p.spec('x', !p.state.Flag('#')), at)
	case strings.ContainsRune("bodxX", p.verb):
		fmt.Fprintf(p.state, p.format, at)
	default:
		p.bad(name, func(q *printer) { q.kind(v, name, 0, false, nil) })
	}
}

// padded prints a text in the width of the format, whatever its precision.
func (p *printer) padded(text string) {
	format, _, _ := strings.Cut(p.spec('s', false), ".")
	fmt.Fprintf(p.state, strings.TrimSuffix(format, "s")+"s", text)
}

func (p *printer) structure(v reflect.Value, name string, depth int, methods bool) {
	d := p.m.of(v.Type())
	if p.sharp {
		p.text(name)
	}
	p.text("{")
	n := v.NumField()
	if d != nil {
		n = len(d.fields)
	}
	for i := range n {
		p.separate(i)
		field := fieldName(v.Type(), d, i)
		if p.plus || p.sharp {
			p.text(field + ":")
		}
		exported := d == nil || token.IsExported(field)
		static := ""
		if d != nil {
			static = d.ifaces[i]
		}
		p.value(v.Field(i), depth+1, methods && exported, d.fieldShape(i), static)
	}
	p.text("}")
}

// separate prints what stands in front of the i-th of several elements.
func (p *printer) separate(i int) {
	switch {
	case i == 0:
	case p.sharp:
		p.text(", ")
	default:
		p.text(" ")
	}
}

// fieldName is a field's name as the cell has it.
func fieldName(t reflect.Type, d *declared, i int) string {
	if d != nil {
		return d.fields[i]
	}
	return t.Field(i).Name
}

func (p *printer) list(v reflect.Value, name string, depth int, methods bool, elem *Shape) {
	if v.Type().Elem().Kind() == reflect.Uint8 && strings.ContainsRune("sqxX", p.verb) {
		fmt.Fprintf(p.state, p.format, bytesOf(v))
		return
	}
	if !p.open(v, name, "[") {
		return
	}
	for i := range v.Len() {
		p.separate(i)
		p.value(v.Index(i), depth+1, methods, elem)
	}
	p.end()
}

// bytesOf are the elements of a slice or an array of bytes.
func bytesOf(v reflect.Value) []byte {
	if v.Kind() == reflect.Slice {
		return v.Bytes()
	}
	bytes := make([]byte, v.Len())
	for i := range bytes {
		bytes[i] = byte(v.Index(i).Uint())
	}
	return bytes
}

func (p *printer) mapping(v reflect.Value, name string, depth int, methods bool, shape *Shape) {
	if !p.open(v, name, "map[") {
		return
	}
	for i, e := range sortedEntries(v) {
		p.separate(i)
		p.value(e.key, depth+1, methods, shape.keys())
		p.text(":")
		p.value(e.value, depth+1, methods, shape.elems())
	}
	p.end()
}

// open prints what stands in front of the elements of a slice, array or map. If it is nil in Go syntax, that is all.
func (p *printer) open(v reflect.Value, name, bracket string) bool {
	switch {
	case !p.sharp:
		p.text(bracket)
	case v.Kind() != reflect.Array && v.IsNil():
		p.text(name + "(nil)")
		return false
	default:
		p.text(name + "{")
	}
	return true
}

func (p *printer) end() {
	if p.sharp {
		p.text("}")
	} else {
		p.text("]")
	}
}

// callMethod prints a value of a declared type by its own Format, GoString, Error or String, as fmt would.
func (p *printer) callMethod(v reflect.Value) (printed bool) {
	if p.erroring {
		return false
	}
	if f, ok := p.m.find(v, "Format"); ok {
		if format, ok := f.Interface().(func(fmt.State, rune)); ok {
			p.guard(v, "Format", func() { format(p.state, p.verb) })
			return true
		}
	}
	names := []string{"Error", "String"}
	format := p.format
	switch {
	case p.sharp:
		names, format = []string{"GoString"}, p.spec('s', false)
	case !strings.ContainsRune("vsxXq", p.verb):
		return false
	}
	for _, name := range names {
		f, ok := p.m.find(v, name)
		if !ok {
			continue
		}
		if text, ok := f.Interface().(func() string); ok {
			p.guard(v, name, func() { fmt.Fprintf(p.state, format, text()) })
			return true
		}
	}
	return false
}

// guard calls a method. If it panics that is printed, of a nil receiver <nil>.
func (p *printer) guard(v reflect.Value, name string, call func()) {
	defer func() {
		r := recover()
		if r == nil {
			return
		}
		if stops(r) {
			panic(r)
		}
		p.m.trace.forget()
		if p.m.isNil(v) {
			p.text("<nil>")
			return
		}
		p.text(fmt.Sprintf("%%!%c(PANIC=%s method: %s)", p.verb, name, p.m.PanicText(p.m.translated(r))))
	}()
	call()
}
