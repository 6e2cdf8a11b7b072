package primitive

import (
	"fmt"
	"io"
	"reflect"
	"strconv"
	"strings"
	"unicode/utf8"

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
	return w.Write([]byte(m.Sprint(args...)))
}

// Fprintln is fmt.Fprintln.
func (m *Machine) Fprintln(w io.Writer, args ...any) (int, error) {
	return w.Write([]byte(m.Sprintln(args...)))
}

// Fprintf is fmt.Fprintf.
func (m *Machine) Fprintf(w io.Writer, format string, args ...any) (int, error) {
	return w.Write([]byte(m.Sprintf(format, args...)))
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
	format, args = m.typeVerbs(format, args)
	text := m.clean(m.nameExtra(fmt.Sprintf(format, m.operands(args)...), args))
	m.Check()
	return text
}

// nameExtra puts declared types' names into what fmt says of operands that no verb asks for.
func (m *Machine) nameExtra(text string, args []any) string {
	own := fmt.Sprintf("%T=", operand{})
	at := strings.LastIndex(text, "%!(EXTRA ")
	if at < 0 || !strings.Contains(text[at:], own) {
		return text
	}
	head, extra := text[:at], text[at:]
	ops := m.operands(args)
	for i := len(ops) - 1; i >= 0; i-- {
		last := strings.LastIndex(extra, own)
		if _, ok := ops[i].(operand); ok && last >= 0 {
			extra = extra[:last] + m.typeName(reflect.TypeOf(m.unwrap(args[i]))) + "=" + extra[last+len(own):]
		}
	}
	return head + extra
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

// typeVerbs puts the name of a type in place of each %T, and where it is in place of %p, since fmt asks nobody for them. The other verbs get the numbers of
// their operands, since that one's is no longer counted.
func (m *Machine) typeVerbs(format string, args []any) (string, []any) {
	if !strings.ContainsAny(format, "Tp") {
		return format, args
	}
	var out strings.Builder
	n, given := 0, len(args)
	for {
		text, rest, found := strings.Cut(format, "%")
		out.WriteString(text)
		if !found {
			return out.String(), args
		}
		v := readVerb(rest, n)
		format = rest[v.size:]
		switch {
		case v.letter == 0 || v.letter == '%':
			out.WriteString("%" + rest[:v.size])
			continue
		case v.letter == 'T' && v.operand < given:
			name := m.typeName(reflect.TypeOf(m.unwrap(args[v.operand])))
			args = append(args[:len(args):len(args)], name)
			fmt.Fprintf(&out, "%%%s[%d]s", v.flags, len(args))
		case v.letter == 'p' && v.operand < given && m.wants(args[v.operand]):
			args = append(args[:len(args):len(args)], m.pointerText(args[v.operand], strings.Contains(v.flags, "#")))
			fmt.Fprintf(&out, "%%%s[%d]s", strings.ReplaceAll(v.flags, "#", ""), len(args))
		default:
			fmt.Fprintf(&out, "%%%s[%d]%c", v.flags, v.operand+1, v.letter)
		}
		n = v.operand + 1
	}
}

// pointerText is a value as %p prints it, or %#p if it is plain.
func (m *Machine) pointerText(x any, plain bool) string {
	v := reflect.ValueOf(m.unwrap(x))
	if d := m.ofValue(v); d != nil && d.box != nil {
		v = v.Field(0)
	}
	switch v.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map, reflect.Chan, reflect.Func, reflect.UnsafePointer:
	default:
		return "%!p(" + m.typeName(reflect.TypeOf(x)) + "=" + m.Sprint(x) + ")"
	}
	format := "%p"
	if plain {
		format = "%#p"
	}
	return fmt.Sprintf(format, v.Interface())
}

// verb is a verb of a format.
type verb struct {
	size    int    // bytes behind the percent sign
	flags   string // flags, width and precision, a star with the number of its operand
	letter  rune   // 0 where the format ends
	operand int    // from 0
}

// readVerb reads what follows a percent sign; next is the operand whose turn it is.
func readVerb(text string, next int) verb {
	var flags strings.Builder
	for i, c := range text {
		switch {
		case c == '*':
			fmt.Fprintf(&flags, "[%d]*", next+1)
			next++
		case c == '[':
			next = argNumber(text[i+1:], next)
		case c == ']' || i > 0 && c >= '0' && c <= '9' && strings.LastIndexByte(text[:i], '[') > strings.LastIndexByte(text[:i], ']'):
		case strings.ContainsRune("+-# 0123456789.", c):
			flags.WriteRune(c)
		default:
			return verb{i + utf8.RuneLen(c), flags.String(), c, next}
		}
	}
	return verb{size: len(text)}
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

// argNumber reads the number of an explicit argument index, "2]…", and returns it from 0.
func argNumber(text string, otherwise int) int {
	number, _, ok := strings.Cut(text, "]")
	if n, err := strconv.Atoi(number); ok && err == nil && n > 0 {
		return n - 1
	}
	return otherwise
}
