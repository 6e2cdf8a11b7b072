package primitive

import (
	"fmt"
	"reflect"
	"runtime"

	"cancha/kernel/eval/native/support"
)

// Fail is how lowered cells fail with an error.
func (m *Machine) Fail(err error) { panic(support.Failure{Err: err}) }

// OnUnread sets the function that is told of errors that variables were set to and that nothing reads. Call it before the first cell runs.
func (m *Machine) OnUnread(f func(name, text string)) { m.unread = f }

// Unread reports such an error.
func (m *Machine) Unread(name string, err error) {
	if err != nil && m.unread != nil {
		m.unread(name, m.Text(m.clean(m.Sprint(err))))
	}
}

// recovered is what recover returns to a cell of a panic: of a failure the error.
func (m *Machine) recovered(p any) any {
	if f, ok := p.(support.Failure); ok {
		return m.unwrap(f.Err)
	}
	return m.cleanError(p)
}

// cleanError writes the types and methods in the text of the runtime's own errors as a program would: main.T and not the path of a cell. Such an
// error is a text with a type of its own, which it keeps.
func (m *Machine) cleanError(p any) any {
	v := reflect.ValueOf(p)
	if _, ok := p.(runtime.Error); !ok || v.Kind() != reflect.String || v.Type().PkgPath() != "runtime" {
		return p
	}
	text := m.clean(v.String())
	if text == v.String() {
		return p
	}
	cleaned := reflect.New(v.Type()).Elem()
	cleaned.SetString(text)
	return cleaned.Interface()
}

// Failure returns the error that a cell has failed with, if its panic is of check or must: its text, and the name of its type as
// [Machine.ErrorText] returns it.
func (m *Machine) Failure(p any) (text, typ string, ok bool) {
	f, ok := p.(support.Failure)
	if !ok {
		return "", "", false
	}
	defer func() { // it runs outside of the cell
		if fault := recover(); fault != nil {
			text = fmt.Sprintf("(panic in its method Error: %v)", fault)
		}
	}()
	typ = m.errorType(f.Err)
	text, _, _ = m.ErrorText(f.Err)
	return text, typ, true
}

// ErrorText is the text of an error and the name of its type, which is "" if the name says nothing beyond the text; ok is false if x is not
// an error.
func (m *Machine) ErrorText(x any) (text, typ string, ok bool) {
	x = m.unwrap(x)
	err, ok := m.asError(x)
	if !ok {
		return "", "", false
	}
	return m.text(m.clean(err.Error())), m.errorType(x), true // an interrupted cell, too, tells what its library has answered
}

func (m *Machine) errorType(x any) string {
	typ := m.typeName(reflect.TypeOf(m.unwrap(x)))
	if plainErrors[typ] {
		return ""
	}
	return typ
}

// plainErrors are the types of errors that are nothing but a text, or texts of others.
var plainErrors = map[string]bool{"*errors.errorString": true, "*errors.joinError": true, "*fmt.wrapError": true, "*fmt.wrapErrors": true}

// WithType is an error's text with its type behind it, as a traceback tells it.
func WithType(text, typ string) string {
	if typ == "" {
		return text
	}
	return text + " (" + typ + ")"
}
