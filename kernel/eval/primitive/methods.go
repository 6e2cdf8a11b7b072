package primitive

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
)

// Methods of declared types, which reflection does not see. Whether a value has one is for its type alone to say, as in Go: those
// that cannot run, because of a nil pointer, panic when they are called.

// promotion is where a struct has a method from.
type promotion struct {
	path    []int        // of embedded fields
	pointer bool         // only a pointer to the struct has the method
	form    reflect.Type // without receiver, where the fields' types do not tell it
}

// Promoted tells the machine of the methods that a declared struct, given as a pointer to one, has from its embedded fields: the
// name, with a star in front if only a pointer to the struct has it, and the numbers of the fields on the way to it.
func (m *Machine) Promoted(pointer any, methods []string) {
	promoted := map[string]promotion{}
	for _, text := range methods {
		words := strings.Split(text, " ")
		p := promotion{pointer: strings.HasPrefix(words[0], "*")}
		for _, w := range words[1:] {
			i, _ := strconv.Atoi(w)
			p.path = append(p.path, i)
		}
		promoted[strings.TrimPrefix(words[0], "*")] = p
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if d := m.declared[reflect.TypeOf(pointer).Elem()]; d != nil {
		d.promoted = promoted
	}
}

// PromotedForm sets the type of a promoted method, given as a pointer to it.
func (m *Machine) PromotedForm(pointer any, name string, form any) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if d := m.declared[reflect.TypeOf(pointer).Elem()]; d != nil {
		p := d.promoted[name]
		p.form = reflect.TypeOf(form).Elem()
		d.promoted[name] = p
	}
}

// find returns a method of a value as a function without receiver.
func (m *Machine) find(v reflect.Value, name string) (reflect.Value, bool) {
	if !v.IsValid() {
		return reflect.Value{}, false
	}
	if f, ok := m.findOwn(v, name); ok {
		return f, true
	}
	if f, ok := m.findPromoted(v, name); ok {
		return f, true
	}
	if f := v.MethodByName(name); f.IsValid() {
		return f, true
	}
	return reflect.Value{}, false
}

// findOwn finds a method that a declared type has itself.
func (m *Machine) findOwn(v reflect.Value, name string) (reflect.Value, bool) {
	d, pointer := m.behind(v.Type())
	if d == nil {
		return reflect.Value{}, false
	}
	if d.box != nil {
		v, pointer = v.Field(0), d.pointer
	}
	f, ok := m.methodOf(d, name)
	switch {
	case !ok, f.pointer && !pointer:
		return reflect.Value{}, false
	case f.pointer || !pointer:
		return bind(f, v), true
	case v.IsNil():
		return m.withoutValue(f, d.name, name), true
	}
	return bind(f, v.Elem()), true
}

// behind returns what is known of a type or, if it is a pointer, of what it points to.
func (m *Machine) behind(t reflect.Type) (d *declared, pointer bool) {
	if d := m.of(t); d != nil || t.Kind() != reflect.Pointer {
		return d, false
	}
	if d := m.of(t.Elem()); d != nil && d.box == nil {
		return d, true
	}
	return nil, false
}

func (m *Machine) methodOf(d *declared, name string) (method, bool) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	f, ok := d.methods[name]
	return f, ok
}

// needsValue tells whether a value is a nil pointer and its type's own method takes what it would point to.
func (m *Machine) needsValue(v reflect.Value, name string) bool {
	d, _ := m.behind(v.Type())
	if d == nil || !m.isNil(v) {
		return false
	}
	f, ok := m.methodOf(d, name)
	return ok && !f.pointer
}

// isNil reports whether v is a pointer, in its wrapper or not, that is nil.
func (m *Machine) isNil(v reflect.Value) bool {
	if d := m.of(v.Type()); d != nil && d.pointer {
		v = v.Field(0)
	}
	return v.Kind() == reflect.Pointer && v.IsNil()
}

// withoutValue stands for a method whose receiver is a value, of a nil pointer: calling it panics as the runtime does.
func (m *Machine) withoutValue(f method, declared, name string) reflect.Value {
	return panicking(f.bound, nilReceiver(declared, name))
}

// NilReceiver panics as a method expression of a pointer type does when it gets nil for a method that takes a value.
func (m *Machine) NilReceiver(declared, name string) { panic(nilReceiver(declared, name)) }

// nilReceiver is the error of runtime.panicwrap.
func nilReceiver(declared, name string) plainError {
	if generic, _, ok := strings.Cut(declared, "["); ok {
		declared = generic + "[...]"
	}
	return plainError(fmt.Sprintf("value method %s.%s called using nil *%s pointer", declared, name, declared[strings.Index(declared, ".")+1:]))
}

// panicking is a function that only panics.
func panicking(form reflect.Type, value any) reflect.Value {
	return reflect.MakeFunc(form, func([]reflect.Value) []reflect.Value { panic(value) })
}

// findPromoted finds a method that a struct has from an embedded field.
func (m *Machine) findPromoted(v reflect.Value, name string) (reflect.Value, bool) {
	d, pointer := m.behind(v.Type())
	if d == nil {
		return reflect.Value{}, false
	}
	m.mu.RLock()
	p, ok := d.promoted[name]
	m.mu.RUnlock()
	if !ok || p.pointer && !pointer {
		return reflect.Value{}, false
	}
	if holder, ok := m.follow(v, p.path); ok && !m.needsValue(holder, name) {
		return m.find(holder, name)
	}
	return panicking(m.formOf(v.Type(), p, name), errNilPointer), true
}

// follow goes through embedded fields to the value that has a promoted method: not ok where something on the way is nil.
func (m *Machine) follow(v reflect.Value, path []int) (reflect.Value, bool) {
	for _, i := range path {
		if v = indirect(v); !v.IsValid() {
			return v, false
		}
		d := m.of(v.Type())
		if d == nil {
			break // compiled: the rest of the way is there for reflection to see
		}
		v = m.embeddedValue(d, v.Field(i), i)
	}
	if v.Kind() == reflect.Pointer && v.Elem().Kind() == reflect.Pointer {
		v = v.Elem()
	}
	if v.Kind() == reflect.Interface {
		v = v.Elem()
	}
	return v, v.IsValid()
}

// indirect is what a pointer or an interface, or a pointer in an interface, holds.
func indirect(v reflect.Value) reflect.Value {
	for v.Kind() == reflect.Interface || v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	return v
}

// embeddedValue is a field in the form that has most methods: a pointer to it where it has an address, in its wrapper if it has one.
func (m *Machine) embeddedValue(d *declared, f reflect.Value, i int) reflect.Value {
	if s := d.fieldShape(i); s != nil && s.box != nil {
		return m.boxedField(s, f)
	}
	if f.CanAddr() && f.Kind() != reflect.Interface && f.Kind() != reflect.Pointer {
		return f.Addr()
	}
	return f
}

// boxedField is a field of a wrapped type in its wrapper.
func (m *Machine) boxedField(s *Shape, f reflect.Value) reflect.Value {
	d := m.of(s.box)
	if d == nil || d.pointer || !f.CanAddr() {
		return s.inBox(f)
	}
	b := reflect.New(d.pointers).Elem()
	b.Field(0).Set(f.Addr())
	return b
}

// formOf is the type of a promoted method, without receiver.
func (m *Machine) formOf(t reflect.Type, p promotion, name string) reflect.Type {
	if p.form != nil {
		return p.form
	}
	for _, i := range p.path {
		if t.Kind() == reflect.Pointer {
			t = t.Elem()
		}
		d := m.of(t)
		if d == nil {
			break
		}
		t = t.Field(i).Type
		if s := d.fieldShape(i); s != nil && s.box != nil {
			t = s.box
		}
	}
	if d, _ := m.behind(t); d != nil {
		if f, ok := m.methodOf(d, name); ok {
			return f.bound
		}
	}
	switch f, ok := t.MethodByName(name); {
	case ok && t.Kind() == reflect.Interface:
		return f.Type
	case ok:
		return withoutReceiver(f.Type)
	}
	return reflect.TypeFor[func()]() // a method of what is nil is told by its name alone
}
