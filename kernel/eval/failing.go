package eval

import (
	"fmt"
	"reflect"
	"strings"

	"cancha/kernel/cell"
	"cancha/kernel/eval/check"
	"cancha/kernel/eval/primitive"
)

// The ways in which errors that cells leave behind are taken.
const (
	errorsFail = "fail" // the cell fails
	errorsShow = "show" // the error is shown
	errorsOff  = "off"  // it is shown, and one in a variable is not told
)

// SetErrors chooses what happens to errors from now on: "fail", the default, "show" or "off".
func (p *Program) SetErrors(mode string) error {
	if err := isErrors(mode); err != nil {
		return err
	}
	p.errors.set(mode)
	return nil
}

func isErrors(mode string) error {
	switch mode {
	case errorsFail, errorsShow, errorsOff:
		return nil
	}
	return fmt.Errorf("there is no mode %q for errors: use fail, show or off", mode)
}

// Errors tells what SetErrors chose, and what that means.
func (p *Program) Errors() (mode, meaning string) {
	switch p.errors.get() {
	case errorsShow:
		return errorsShow, "a cell whose last value is an error shows it and goes on; an error variable that is set and not looked at makes a note"
	case errorsOff:
		return errorsOff, "a cell whose last value is an error shows it and goes on; an error variable that is set and not looked at makes no note"
	}
	return errorsFail, "a cell whose last value is an error fails; an error variable that is set and not looked at makes a note"
}

// failsByErrors tells whether an error as its last value fails a cell.
func (p *Program) failsByErrors() bool {
	mode, _ := p.Errors()
	return mode == errorsFail
}

// failure is the panic of a cell that fails by its last value.
type failure struct{ err *cell.Error }

// judge fails the cell if the last of its values is an error that says so, else it returns what there is to show. It is called in
// the cell's run.
func (p *Program) judge(name string, last check.Last, values []any) []any {
	n := len(values) - 1
	if n < 0 || !last.Fails {
		return values
	}
	if v := reflect.ValueOf(values[n]); last.Pointer && v.Kind() == reflect.Pointer && v.IsNil() {
		return append(values[:n:n], nil)
	}
	if !p.failsByErrors() {
		return values
	}
	text, typ, ok := p.machine.ErrorText(values[n])
	if !ok {
		return values
	}
	e := p.errorFault(text, typ, []primitive.Frame{{Cell: name, Line: last.Line}})
	if others := p.others(values[:n]); others != "" {
		e.Traceback = append(e.Traceback, others)
	}
	panic(failure{p.exitedBy(values[n], e)})
}

// errorFault is the failure of a cell with an error as its cause.
func (p *Program) errorFault(text, typ string, trace []primitive.Frame) *cell.Error {
	return &cell.Error{Name: "error", Value: text, Traceback: p.traceback("error: "+primitive.WithType(text, typ), trace)}
}

// others tells of the results that came with an error, "" where there is nothing in them.
func (p *Program) others(values []any) string {
	texts, told := make([]string, len(values)), false
	for i, v := range values {
		texts[i] = p.machine.Short(v, shortWidth)
		told = told || !empty(reflect.ValueOf(v))
	}
	if !told {
		return ""
	}
	return "with it came " + strings.Join(texts, ", ")
}

// empty reports whether v is zero or has no elements.
func empty(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Invalid:
		return true
	case reflect.Slice, reflect.Map:
		return v.Len() == 0
	}
	return v.IsZero()
}
