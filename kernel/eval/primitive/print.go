package primitive

import (
	"fmt"
	"io"
	"reflect"
	"strings"

	"cancha/internal/cellio"
)

// The functions of package fmt and log that cells use, over values of declared types.

// Print is fmt.Print to the cell's output.
func (m *Machine) Print(args ...any) (int, error) { return m.Fprint(cellio.Stdout, args...) }

// Println is fmt.Println to the cell's output.
func (m *Machine) Println(args ...any) (int, error) { return m.Fprintln(cellio.Stdout, args...) }

// Printf is fmt.Printf to the cell's output.
func (m *Machine) Printf(format string, args ...any) (int, error) {
	return m.Fprintf(cellio.Stdout, format, args...)
}

// Fprint is fmt.Fprint.
func (m *Machine) Fprint(w io.Writer, args ...any) (int, error) {
	return fmt.Fprint(w, m.spaced(args)...)
}

// Fprintln is fmt.Fprintln.
func (m *Machine) Fprintln(w io.Writer, args ...any) (int, error) {
	return fmt.Fprintln(w, m.operands(args)...)
}

// Fprintf is fmt.Fprintf.
func (m *Machine) Fprintf(w io.Writer, format string, args ...any) (int, error) {
	format, args = m.typeVerbs(format, args)
	return fmt.Fprintf(w, format, m.operands(args)...)
}

// Sprint is fmt.Sprint.
func (m *Machine) Sprint(args ...any) string { return fmt.Sprint(m.spaced(args)...) }

// Sprintln is fmt.Sprintln.
func (m *Machine) Sprintln(args ...any) string { return fmt.Sprintln(m.operands(args)...) }

// Sprintf is fmt.Sprintf.
func (m *Machine) Sprintf(format string, args ...any) string {
	format, args = m.typeVerbs(format, args)
	return fmt.Sprintf(format, m.operands(args)...)
}

// Append is fmt.Append.
func (m *Machine) Append(b []byte, args ...any) []byte { return fmt.Append(b, m.spaced(args)...) }

// Appendln is fmt.Appendln.
func (m *Machine) Appendln(b []byte, args ...any) []byte { return fmt.Appendln(b, m.operands(args)...) }

// Appendf is fmt.Appendf.
func (m *Machine) Appendf(b []byte, format string, args ...any) []byte {
	format, args = m.typeVerbs(format, args)
	return fmt.Appendf(b, format, m.operands(args)...)
}

// Errorf is fmt.Errorf; %w takes declared types with a method Error.
func (m *Machine) Errorf(format string, args ...any) error {
	format, args = m.typeVerbs(format, args)
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
		if o, ok := a.(operand); ok && o.v.Kind() == reflect.String {
			out[i] = fmt.Sprint(o)
		}
	}
	return out
}

// typeVerbs puts the name of a type in place of each operand of %T, since fmt asks nobody for it.
func (m *Machine) typeVerbs(format string, args []any) (string, []any) {
	if !strings.Contains(format, "T") {
		return format, args
	}
	args = append([]any(nil), args...)
	text := []byte(format)
	n := 0
	for i := 0; i < len(text); i++ {
		if text[i] != '%' {
			continue
		}
		for i++; i < len(text) && strings.IndexByte("+-# 0123456789.*[]", text[i]) >= 0; i++ {
			switch text[i] {
			case '*':
				n++
			case '[':
				n = argNumber(text[i+1:], n)
			}
		}
		if i >= len(text) || text[i] == '%' {
			continue
		}
		if text[i] == 'T' && n < len(args) {
			text[i] = 's'
			args[n] = m.typeName(reflect.TypeOf(m.unwrap(args[n])))
		}
		n++
	}
	return string(text), args
}

// argNumber reads the number of an explicit argument index, "2]…", and returns it from 0.
func argNumber(text []byte, otherwise int) int {
	n := 0
	for _, c := range text {
		if c == ']' && n > 0 {
			return n - 1
		}
		if c < '0' || c > '9' {
			break
		}
		n = n*10 + int(c-'0')
	}
	return otherwise
}

// BuiltinPrint is the predeclared print, to the cell's error output.
func (m *Machine) BuiltinPrint(args ...any) {
	for _, a := range m.operands(args) {
		_, _ = fmt.Fprint(cellio.Stderr, a)
	}
}

// BuiltinPrintln is the predeclared println, to the cell's error output.
func (m *Machine) BuiltinPrintln(args ...any) {
	_, _ = fmt.Fprintln(cellio.Stderr, m.operands(args)...)
}
