package primitive

import (
	"reflect"
	"strconv"
	"strings"
)

// declared is a type of the cells.
type declared struct {
	name     string
	fields   []string // names as the cell has them, since the interpreter exports all
	embedded []bool
	ifaces   []string // of fields of interface types: the type's name
	promoted map[string]promotion
	shapes   []*Shape     // of fields; nil for most
	shape    *Shape       // of the wrapped value
	pointers reflect.Type // the wrapper of pointers to the wrapped type
	box      reflect.Type // type of the field V for a value that is wrapped in a struct while in an interface
	pointer  bool         // the wrapped value is a pointer to one of the type
	methods  map[string]method
}

// nameless reports whether the wrapper is that of a type without a name. Other names have the name of their package in front.
func (d *declared) nameless() bool {
	i := strings.IndexAny(d.name, ".[(*< ")
	return i >= 0 && d.name[i] != '.'
}

// method is a function with the receiver in front.
type method struct {
	fn      reflect.Value
	pointer bool         // the receiver is a pointer
	bound   reflect.Type // of the function without receiver; making it anew with each call took longer than the call
}

// methodKey is a key: its fields are compared, and nothing else.
type methodKey struct {
	//lint:ignore U1000 see above
	t reflect.Type
	//lint:ignore U1000 see above
	name string
}

func itoa(n int) string { return strconv.Itoa(n) }

// Declare tells the machine of a type, given as a pointer to one; the name is empty for a struct type without one. fields are
// the names of a struct's fields, embedded ones with a star in front, those of interface types with that type behind.
func (m *Machine) Declare(pointer any, name string, fields []string) {
	d := &declared{name: name, methods: map[string]method{}}
	for _, f := range fields {
		name, iface, _ := strings.Cut(strings.TrimPrefix(f, "*"), " ")
		d.fields = append(d.fields, name)
		d.ifaces = append(d.ifaces, iface)
		d.embedded = append(d.embedded, strings.HasPrefix(f, "*"))
	}
	m.add(reflect.TypeOf(pointer).Elem(), d)
}

// DeclareBox tells the machine of a type whose values are wrapped while in an interface, and of the wrapper of pointers.
func (m *Machine) DeclareBox(box, pointerBox any, name string) {
	d := &declared{name: name, methods: map[string]method{}}
	t := reflect.TypeOf(box).Elem()
	d.box = t.Field(0).Type
	d.pointers = reflect.TypeOf(pointerBox).Elem()
	p := *d
	p.pointer = true
	m.add(t, d)
	m.add(reflect.TypeOf(pointerBox).Elem(), &p)
}

// Shape tells where in a value there are values of wrapped types, which reflection shows as plain ones.
type Shape struct {
	name      string       // of the type
	box       reflect.Type // the wrapper of the value itself
	key, elem *Shape
}

// Boxed is the shape of a value of the type that has the wrapper box points to.
func (m *Machine) Boxed(box any) *Shape { return &Shape{box: reflect.TypeOf(box).Elem()} }

// Holding is the shape of a slice, array or map of the type called name.
func (m *Machine) Holding(name string, key, elem *Shape) *Shape {
	return &Shape{name: name, key: key, elem: elem}
}

// FieldShape sets the shape of a field of a declared struct.
func (m *Machine) FieldShape(pointer any, i int, s *Shape) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if d := m.declared[reflect.TypeOf(pointer).Elem()]; d != nil && i < len(d.fields) {
		if d.shapes == nil {
			d.shapes = make([]*Shape, len(d.fields))
		}
		d.shapes[i] = s
	}
}

// BoxShape sets the shape of what two wrappers hold.
func (m *Machine) BoxShape(box, pointerBox any, s *Shape) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, b := range []any{box, pointerBox} {
		if d := m.declared[reflect.TypeOf(b).Elem()]; d != nil {
			d.shape = s
		}
	}
}

// fieldShape is the shape of the i-th field, nil without one.
func (d *declared) fieldShape(i int) *Shape {
	if d == nil || i >= len(d.shapes) {
		return nil
	}
	return d.shapes[i]
}

// keys and elems are the shapes of what is held; both may be asked of nil.
func (s *Shape) keys() *Shape {
	if s == nil {
		return nil
	}
	return s.key
}

func (s *Shape) elems() *Shape {
	if s == nil {
		return nil
	}
	return s.elem
}

// boxes tells whether values of wrapped types are held.
func (s *Shape) boxes() bool {
	return s != nil && (s.box != nil || s.key.boxes() || s.elem.boxes())
}

// inBox returns a value of a wrapped type in its wrapper.
func (s *Shape) inBox(v reflect.Value) reflect.Value {
	if s == nil || s.box == nil || v.Type() != s.box.Field(0).Type {
		return v
	}
	b := reflect.New(s.box).Elem()
	b.Field(0).Set(v)
	return b
}

func (m *Machine) add(t reflect.Type, d *declared) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.declared[t] = d
}

// Method tells the machine of a method of a declared type, given as a pointer to one. A later one by that name replaces it.
func (m *Machine) Method(pointer any, name string, fn any) {
	t := reflect.TypeOf(pointer).Elem()
	m.mu.Lock()
	defer m.mu.Unlock()
	d := m.declared[t]
	if d == nil {
		return
	}
	value := t
	if d.box != nil {
		value = d.box
	}
	f := reflect.ValueOf(fn)
	d.methods[name] = method{f, f.Type().In(0) == reflect.PointerTo(value), withoutReceiver(f.Type())}
}

// WithoutMethod tells the machine that a declared type, given as a pointer to one, has a method no more.
func (m *Machine) WithoutMethod(pointer any, name string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if d := m.declared[reflect.TypeOf(pointer).Elem()]; d != nil {
		delete(d.methods, name)
	}
}

// of returns what is known of a type, nil for types that no cell declared.
func (m *Machine) of(t reflect.Type) *declared {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.declared[t]
}

// isOwn tells whether a type, or what it points to, is one of the cells.
func (m *Machine) isOwn(t reflect.Type) bool {
	if m.of(t) != nil {
		return true
	}
	return t.Kind() == reflect.Pointer && m.of(t.Elem()) != nil
}

// withoutReceiver is a method's type without its first argument.
func withoutReceiver(t reflect.Type) reflect.Type {
	in := make([]reflect.Type, t.NumIn()-1)
	for i := range in {
		in[i] = t.In(i + 1)
	}
	out := make([]reflect.Type, t.NumOut())
	for i := range out {
		out[i] = t.Out(i)
	}
	return reflect.FuncOf(in, out, t.IsVariadic())
}

// bind puts the receiver in front of a method's arguments.
func bind(m method, recv reflect.Value) reflect.Value {
	if want := m.fn.Type().In(0); !recv.Type().AssignableTo(want) {
		recv = recv.Convert(want)
	}
	return reflect.MakeFunc(m.bound, func(args []reflect.Value) []reflect.Value {
		all := make([]reflect.Value, 0, len(args)+1)
		all = append(append(all, recv), args...)
		if m.bound.IsVariadic() {
			return m.fn.CallSlice(all)
		}
		return m.fn.Call(all)
	})
}
