package primitive

import (
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"

	"cancha/internal/cellio"
)

// The functions of package fmt and log that cells use, over values of declared types.

// Print is fmt.Print to the cell's output.
func (m *Machine) Print(args ...any) (int, error) { return m.Fprint(m.Stdout(), args...) }

// Println is fmt.Println to the cell's output.
func (m *Machine) Println(args ...any) (int, error) { return m.Fprintln(m.Stdout(), args...) }

// Printf is fmt.Printf to the cell's output.
func (m *Machine) Printf(format string, args ...any) (int, error) {
	return m.Fprintf(m.Stdout(), format, args...)
}

// Fprint is fmt.Fprint.
func (m *Machine) Fprint(w io.Writer, args ...any) (int, error) {
	return m.Writer(w).Write([]byte(m.Sprint(args...)))
}

// Fprintln is fmt.Fprintln.
func (m *Machine) Fprintln(w io.Writer, args ...any) (int, error) {
	return m.Writer(w).Write([]byte(m.Sprintln(args...)))
}

// Fprintf is fmt.Fprintf.
func (m *Machine) Fprintf(w io.Writer, format string, args ...any) (int, error) {
	return m.Writer(w).Write([]byte(m.Sprintf(format, args...)))
}

// Sprint is fmt.Sprint.
func (m *Machine) Sprint(args ...any) string {
	text := m.clean(fmt.Sprint(m.spaced(args)...))
	m.Check() // fmt swallows the panic of a method that was interrupted
	return text
}

// Sprintln is fmt.Sprintln.
func (m *Machine) Sprintln(args ...any) string {
	text := m.clean(fmt.Sprintln(m.operands(args)...))
	m.Check()
	return text
}

// Sprintf is fmt.Sprintf.
func (m *Machine) Sprintf(format string, args ...any) string {
	format, args = m.rewrite(format, args, false)
	text := m.clean(fmt.Sprintf(format, m.operands(args)...))
	m.Check()
	return text
}

// Append is fmt.Append.
func (m *Machine) Append(b []byte, args ...any) []byte { return append(b, m.Sprint(args...)...) }

// Appendln is fmt.Appendln.
func (m *Machine) Appendln(b []byte, args ...any) []byte { return append(b, m.Sprintln(args...)...) }

// Appendf is fmt.Appendf.
func (m *Machine) Appendf(b []byte, format string, args ...any) []byte {
	return append(b, m.Sprintf(format, args...)...)
}

// Errorf is fmt.Errorf; %w takes declared types with a method Error.
func (m *Machine) Errorf(format string, args ...any) error {
	format, args = m.rewrite(format, args, true)
	for i, a := range args {
		if err, ok := m.asError(a); ok {
			args[i] = err
		}
	}
	return fmt.Errorf(format, m.operands(args)...)
}

// spaced prepares the arguments of Print, which puts spaces between operands that are no strings: a declared string has to
// look like one.
func (m *Machine) spaced(args []any) []any {
	out := m.operands(args)
	for i, a := range out {
		if v := reflect.ValueOf(m.unwrap(args[i])); v.Kind() == reflect.String && m.isOwn(v.Type()) {
			out = slices.Clone(out)
			out[i] = fmt.Sprint(a)
		}
	}
	return out
}

// BuiltinPrint is the predeclared print, to the cell's error output.
func (m *Machine) BuiltinPrint(args ...any) {
	_, _ = io.WriteString(cellio.Stderr, strings.Join(m.builtin(args), ""))
}

// BuiltinPrintln is the predeclared println, to the cell's error output.
func (m *Machine) BuiltinPrintln(args ...any) {
	_, _ = io.WriteString(cellio.Stderr, strings.Join(m.builtin(args), " ")+"\n")
}

// builtin writes values as the runtime does: numbers and strings plainly, of everything else where it is.
func (m *Machine) builtin(args []any) []string {
	out := make([]string, len(args))
	for i, a := range args {
		if held, ok := a.(held); ok {
			out[i] = heldText(m.unwrap(held.value))
			continue
		}
		v := reflect.ValueOf(m.unwrap(a))
		if d := m.ofValue(v); d != nil && d.box != nil {
			v = v.Field(0)
		}
		out[i] = builtinText(v)
	}
	return out
}

// held is an interface's value that is printed as such.
type held struct{ value any }

// Interface marks an argument of print and println whose static type is an interface.
func (m *Machine) Interface(x any) any { return held{x} }

// heldText writes an interface as the runtime does: where its type is, and where its value.
func heldText(x any) string {
	if x == nil {
		return "(0x0,0x0)"
	}
	at := reflect.New(reflect.TypeOf(x))
	if v := reflect.ValueOf(x); v.Kind() == reflect.Pointer {
		at = v
	}
	return fmt.Sprintf("(%p,%p)", reflect.TypeOf(x), at.Interface())
}

func (m *Machine) ofValue(v reflect.Value) *declared {
	if !v.IsValid() {
		return nil
	}
	return m.of(v.Type())
}

func builtinText(v reflect.Value) string {
	switch v.Kind() {
	case reflect.Invalid:
		return "0x0"
	case reflect.Slice:
		return fmt.Sprintf("[%d/%d]0x%x", v.Len(), v.Cap(), v.Pointer())
	case reflect.Pointer, reflect.Map, reflect.Chan, reflect.Func, reflect.UnsafePointer:
		return fmt.Sprintf("0x%x", v.Pointer())
	case reflect.Float32, reflect.Float64, reflect.Complex64, reflect.Complex128,
		reflect.Struct, reflect.Array, reflect.Interface: // of the last three only what is in an interface comes here
		if !v.CanFloat() && !v.CanComplex() {
			return fmt.Sprintf("(%s) %v", v.Type(), v.Interface())
		}
	}
	return fmt.Sprint(basic(v))
}
