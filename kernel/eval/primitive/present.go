package primitive

import (
	"fmt"
	"reflect"
	"strings"
)

// rich is a value of a declared type that shows itself in several MIME types.
type rich struct {
	bundle   func() map[string]any
	metadata func() map[string]any
	silent   bool // MIMEBundle has given nothing
}

// MIMEBundle calls the declared type's method.
func (r *rich) MIMEBundle() map[string]any {
	bundle := r.bundle()
	r.silent = len(bundle) == 0
	return bundle
}

// IsTextOf tells whether the text that Present has given is that of what it has returned as shown, where a display has no more than a text: a
// value's own MIMEBundle, and what went wrong in it, has another.
func IsTextOf(shown any) bool {
	r, ok := shown.(*rich)
	return !ok || r.silent
}

// Named writes the name of a value's type where a text names the machine's own, which stands for it.
func (m *Machine) Named(text string, x any) string {
	own := fmt.Sprintf("%T", &rich{})
	if !strings.Contains(text, own) {
		return text
	}
	return strings.ReplaceAll(text, own, m.typeName(reflect.TypeOf(m.unwrap(x))))
}

// MIMEMetadata calls the declared type's method, if it has one.
func (r *rich) MIMEMetadata() map[string]any {
	if r.metadata == nil {
		return nil
	}
	return r.metadata()
}

// Present prepares a value for display: what compiled code should see of it, and, where own is set because the value is of
// a declared type or holds one, its text.
func (m *Machine) Present(x any) (shown any, text string, own bool) {
	x = m.unwrap(x)
	if x == nil {
		return nil, "<nil>", false
	}
	if err, ok := m.asError(x); ok {
		return err, "error: " + m.Text(err.Error()), m.isOwn(reflect.TypeOf(x))
	}
	if !m.wants(x) {
		return x, "", false
	}
	v := reflect.ValueOf(x)
	text = m.Text(x)
	if f, ok := m.find(v, "MIMEBundle"); ok && m.isOwn(v.Type()) {
		if bundle, ok := f.Interface().(func() map[string]any); ok {
			r := &rich{bundle: bundle}
			if f, ok := m.find(v, "MIMEMetadata"); ok {
				r.metadata, _ = f.Interface().(func() map[string]any)
			}
			return r, text, true
		}
	}
	if d := m.of(v.Type()); d != nil && d.box != nil {
		x = v.Field(0).Interface()
	}
	return x, text, true
}

// OldName is the name of a value's type if one in it has been declared anew since, as in "[]P (cell 3)".
func (m *Machine) OldName(x any) (name string, old bool) {
	if x = m.unwrap(x); x == nil {
		return "", false
	}
	return m.oldName(reflect.TypeOf(x))
}
