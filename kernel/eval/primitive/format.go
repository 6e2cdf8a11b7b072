package primitive

import (
	"fmt"
	"go/token"
	"reflect"
	"sort"
	"strconv"
	"strings"
)

// operand is a value, of a declared type or holding some, as fmt is to print it. It does what fmt does with a value of a
// compiled type: the same methods are called at the same places.
type operand struct {
	m *Machine
	v reflect.Value
}

// MarshalJSON encodes the value, for loggers that write JSON.
func (o operand) MarshalJSON() ([]byte, error) { return o.m.JSONMarshal(o.v.Interface()) }

// Printable returns a value as compiled code is to print it.
func (m *Machine) Printable(x any) any {
	if m.wants(x) {
		return operand{m, reflect.ValueOf(x)}
	}
	return x
}

// Printables is Printable of each value in a list.
func (m *Machine) Printables(list []any) []any { return m.operands(list) }

// operands returns the arguments of a print function as fmt is to see them.
func (m *Machine) operands(args []any) []any {
	var out []any
	for i, a := range args {
		if !m.wants(a) {
			continue
		}
		if out == nil {
			out = append([]any(nil), args...)
		}
		out[i] = operand{m, reflect.ValueOf(a)}
	}
	if out == nil {
		return args
	}
	return out
}

func (m *Machine) wants(a any) bool {
	switch a.(type) {
	case nil, string, int, float64, bool, error, fmt.Formatter:
		return false
	}
	return m.mentions(reflect.TypeOf(a), 0)
}

// mentions tells whether a type may hold values of declared types.
func (m *Machine) mentions(t reflect.Type, depth int) bool {
	if m.isOwn(t) {
		return true
	}
	if t.Kind() == reflect.Interface {
		return true
	}
	if t.PkgPath() != "" || depth > 6 {
		return false
	}
	switch t.Kind() {
	case reflect.Pointer:
		return depth == 0 && m.mentions(t.Elem(), depth+1)
	case reflect.Slice, reflect.Array:
		return m.mentions(t.Elem(), depth+1)
	case reflect.Map:
		return m.mentions(t.Key(), depth+1) || m.mentions(t.Elem(), depth+1)
	case reflect.Struct:
		for i := range t.NumField() {
			if !t.Field(i).IsExported() { // the interpreter has no such fields
				return false
			}
		}
		return true // names of fields may need mending
	}
	return false
}

// Format prints the value.
func (o operand) Format(s fmt.State, verb rune) {
	p := printer{m: o.m, state: s, verb: verb, format: fmt.FormatString(s, verb)}
	p.plus, p.sharp = s.Flag('+') && verb == 'v', s.Flag('#') && verb == 'v'
	p.value(o.v, 0, true, nil)
}

type printer struct {
	m           *Machine
	state       fmt.State
	verb        rune
	format      string
	plus, sharp bool
}

func (p *printer) text(s string) { _, _ = p.state.Write([]byte(s)) }

// value prints v. methods tells whether methods count: not below fields that are not exported. static is the name of the
// interface type that v came from, if that is known, shape tells what v holds.
func (p *printer) value(v reflect.Value, depth int, methods bool, shape *Shape, static ...string) {
	v = shape.inBox(v)
	if v.Kind() == reflect.Interface {
		v = v.Elem()
	}
	if !v.IsValid() {
		p.text(p.none(depth, static))
		return
	}
	if inner := p.m.unwrap(v.Interface()); inner != nil {
		v = reflect.ValueOf(inner)
	}
	own := p.m.isOwn(v.Type())
	if own && methods && p.callMethod(v) {
		return
	}
	if d := p.m.of(v.Type()); d != nil && d.box != nil {
		p.boxed(v.Field(0), d, depth, methods)
		return
	}
	if shape != nil && shape.name != "" {
		p.typed(v, shape.name, depth, methods, shape)
		return
	}
	if !own && !p.m.mentions(v.Type(), depth) && (v.Kind() != reflect.Pointer || depth == 0 || hasMethods(v)) {
		p.compiled(v, methods)
		return
	}
	p.kind(v, depth, methods)
}

// none is how nil prints.
func (p *printer) none(depth int, static []string) string {
	switch {
	case p.sharp && len(static) > 0 && static[0] != "":
		return static[0] + "(nil)"
	case p.sharp && depth > 0:
		return "interface {}(nil)"
	}
	return "<nil>"
}

// hidden holds a value where fmt does not call its methods.
type hidden struct{ value any }

// compiled prints a value that no cell's type is part of.
func (p *printer) compiled(v reflect.Value, methods bool) {
	if methods {
		fmt.Fprintf(p.state, p.format, v.Interface())
		return
	}
	text := fmt.Sprintf(p.format, hidden{v.Interface()})
	_, text, _ = strings.Cut(text, "{")
	if p.plus || p.sharp {
		text = strings.TrimPrefix(text, "value:")
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

func (p *printer) boxed(v reflect.Value, d *declared, depth int, methods bool) {
	if !d.pointer {
		p.typed(v, d.name, depth, methods, d.shape)
		return
	}
	switch {
	case v.IsNil():
		p.text("<nil>")
	case depth > 0:
		p.address(v)
	default:
		p.text("&")
		p.typed(v.Elem(), d.name, depth+1, methods, d.shape)
	}
}

// kind prints a value by what it is made of.
func (p *printer) kind(v reflect.Value, depth int, methods bool) {
	switch v.Kind() {
	case reflect.Pointer:
		p.pointer(v, depth, methods)
	case reflect.Struct:
		p.structure(v, depth, methods)
	case reflect.Slice, reflect.Array, reflect.Map:
		p.typed(v, p.m.typeName(v.Type()), depth, methods, nil)
	default:
		p.basic(v)
	}
}

// typed prints a slice, array or map, called name where Go syntax is asked for; anything else by its kind.
func (p *printer) typed(v reflect.Value, name string, depth int, methods bool, shape *Shape) {
	switch v.Kind() {
	case reflect.Slice, reflect.Array:
		p.list(v, name, depth, methods, shape.elems())
	case reflect.Map:
		p.mapping(v, name, depth, methods, shape)
	case reflect.Func, reflect.Chan:
		p.reference(v, name)
	default:
		p.value(v, depth, methods, nil)
	}
}

// reference prints a function or channel of a type called name.
func (p *printer) reference(v reflect.Value, name string) {
	switch {
	case p.sharp && v.IsNil():
		p.text("(" + name + ")(nil)")
	case p.sharp:
		p.text(fmt.Sprintf("(%s)(0x%x)", name, v.Pointer()))
	default:
		fmt.Fprintf(p.state, p.format, v.Interface())
	}
}

// basic prints a number or string of a declared type; a verb that does not fit it names the type.
func (p *printer) basic(v reflect.Value) {
	plain := basic(v)
	text := fmt.Sprintf(p.format, plain)
	wrong := fmt.Sprintf("%%!%c(%T=", p.verb, plain)
	if rest, ok := strings.CutPrefix(text, wrong); ok {
		text = fmt.Sprintf("%%!%c(%s=%s", p.verb, p.m.typeName(v.Type()), rest)
	}
	p.text(text)
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

func (p *printer) pointer(v reflect.Value, depth int, methods bool) {
	if v.IsNil() {
		if p.sharp {
			p.text("(" + p.m.typeName(v.Type()) + ")(nil)")
		} else {
			p.text("<nil>")
		}
		return
	}
	switch v.Elem().Kind() {
	case reflect.Struct, reflect.Slice, reflect.Array, reflect.Map:
		if depth == 0 && p.verb != 'p' {
			p.text("&")
			p.value(v.Elem(), depth+1, methods, nil)
			return
		}
	}
	p.address(v)
}

func (p *printer) address(v reflect.Value) {
	if p.sharp {
		p.text(fmt.Sprintf("(%s)(0x%x)", p.m.typeName(v.Type()), v.Pointer()))
		return
	}
	p.text("0x" + strconv.FormatUint(uint64(v.Pointer()), 16))
}

func (p *printer) structure(v reflect.Value, depth int, methods bool) {
	d := p.m.of(v.Type())
	if p.sharp {
		p.text(p.m.typeName(v.Type()))
	}
	p.text("{")
	n := v.NumField()
	if d != nil {
		n = len(d.fields)
	}
	for i := range n {
		if i > 0 {
			if p.sharp {
				p.text(", ")
			} else {
				p.text(" ")
			}
		}
		name := fieldName(v.Type(), d, i)
		if p.plus || p.sharp {
			p.text(name + ":")
		}
		exported := d == nil || token.IsExported(name)
		static := ""
		if d != nil {
			static = d.ifaces[i]
		}
		p.value(v.Field(i), depth+1, methods && exported, d.fieldShape(i), static)
	}
	p.text("}")
}

// fieldName is a field's name as the cell has it.
func fieldName(t reflect.Type, d *declared, i int) string {
	if d != nil {
		return d.fields[i]
	}
	return t.Field(i).Name
}

func (p *printer) list(v reflect.Value, name string, depth int, methods bool, elem *Shape) {
	if v.Kind() == reflect.Slice && v.Type().Elem().Kind() == reflect.Uint8 && !p.m.isOwn(v.Type().Elem()) {
		text := fmt.Sprintf(p.format, v.Interface())
		if p.sharp {
			text = name + strings.TrimPrefix(text, "[]byte")
		}
		p.text(text)
		return
	}
	open, sep, end := "[", " ", "]"
	if p.sharp {
		open, sep, end = name+"{", ", ", "}"
		if v.Kind() == reflect.Slice && v.IsNil() {
			p.text(name + "(nil)")
			return
		}
	}
	p.text(open)
	for i := range v.Len() {
		if i > 0 {
			p.text(sep)
		}
		p.value(v.Index(i), depth+1, methods, elem)
	}
	p.text(end)
}

func (p *printer) mapping(v reflect.Value, name string, depth int, methods bool, shape *Shape) {
	open, sep, end := "map[", " ", "]"
	if p.sharp {
		open, sep, end = name+"{", ", ", "}"
		if v.IsNil() {
			p.text(name + "(nil)")
			return
		}
	}
	p.text(open)
	for i, k := range sortedKeys(v) {
		if i > 0 {
			p.text(sep)
		}
		p.value(k, depth+1, methods, shape.keys())
		p.text(":")
		p.value(v.MapIndex(k), depth+1, methods, shape.elems())
	}
	p.text(end)
}

// sortedKeys are a map's keys in the order in which fmt prints them, as far as they are numbers and strings.
func sortedKeys(v reflect.Value) []reflect.Value {
	keys := v.MapKeys()
	sort.SliceStable(keys, func(i, j int) bool { return less(keys[i], keys[j]) })
	return keys
}

func less(a, b reflect.Value) bool {
	if a.Kind() == reflect.Interface {
		a, b = a.Elem(), b.Elem()
	}
	if !a.IsValid() || !b.IsValid() {
		return !a.IsValid() && b.IsValid()
	}
	if a.Kind() != b.Kind() { // in Go the order of the types in memory; here at least the same each time
		return a.Kind() > b.Kind()
	}
	switch {
	case a.CanInt():
		return a.Int() < b.Int()
	case a.CanUint():
		return a.Uint() < b.Uint()
	case a.CanFloat():
		return a.Float() < b.Float()
	case a.Kind() == reflect.String:
		return a.String() < b.String()
	case a.Kind() == reflect.Bool:
		return !a.Bool() && b.Bool()
	case a.Kind() == reflect.Struct:
		for i := range a.NumField() {
			if less(a.Field(i), b.Field(i)) {
				return true
			}
			if less(b.Field(i), a.Field(i)) {
				return false
			}
		}
	}
	return false
}

// callMethod prints a value of a declared type by its own Format, GoString, Error or String, as fmt would.
func (p *printer) callMethod(v reflect.Value) (printed bool) {
	if f, ok := p.m.find(v, "Format"); ok {
		if format, ok := f.Interface().(func(fmt.State, rune)); ok {
			format(p.state, p.verb)
			return true
		}
	}
	names := []string{"Error", "String"}
	switch {
	case p.sharp:
		names = []string{"GoString"}
	case !strings.ContainsRune("vsxXq", p.verb):
		return false
	}
	for _, name := range names {
		f, ok := p.m.find(v, name)
		if !ok {
			continue
		}
		if text, ok := f.Interface().(func() string); ok {
			p.printResult(v, name, text)
			return true
		}
	}
	return false
}

// printResult prints what a method returns. A method that panics prints as that, a nil receiver that does as <nil>.
func (p *printer) printResult(v reflect.Value, name string, text func() string) {
	defer func() {
		r := recover()
		if r == nil {
			return
		}
		if _, ok := r.(interrupted); ok {
			panic(r)
		}
		p.m.trace.forget()
		if p.m.isNil(v) {
			p.text("<nil>")
			return
		}
		p.text(fmt.Sprintf("%%!%c(PANIC=%s method: %s)", p.verb, name, p.m.PanicText(translate(r))))
	}()
	s := text()
	if p.sharp {
		p.text(s)
		return
	}
	fmt.Fprintf(p.state, p.format, s)
}
