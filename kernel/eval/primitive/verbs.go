package primitive

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// rewrite replaces what fmt does not ask its operands for: %T by the name of a type, %p by an address, %w where nothing is wrapped, widths
// that are values of declared types, and operands of declared types that no verb asks for. The other verbs then get the numbers of their
// operands.
func (m *Machine) rewrite(format string, args []any, wraps bool) (string, []any) {
	r := rewriting{m: m, args: args, given: len(args), wraps: wraps}
	for rest := format; ; {
		text, behind, found := strings.Cut(rest, "%")
		r.out.WriteString(text)
		if !found {
			break
		}
		v := readVerb(behind, r.next, r.given)
		r.next, r.reordered, rest = v.next, r.reordered || v.indexed, behind[v.size:]
		r.write(v)
	}
	extra := !r.reordered && r.next < r.given
	if !r.changed && !(extra && slices.ContainsFunc(args[r.next:], m.wants)) {
		return format, args
	}
	if extra {
		r.extra()
	}
	return r.out.String(), r.args
}

// rewriting is a format in the course of being rewritten.
type rewriting struct {
	m         *Machine
	out       strings.Builder
	args      []any // those given, and behind them what takes the place of some
	given     int
	next      int  // the operand whose turn it is
	reordered bool // an operand was asked for by its number
	wraps     bool // %w takes errors
	changed   bool
}

func (r *rewriting) write(v verb) {
	flags := v.flags
	for _, star := range v.stars {
		flags = strings.Replace(flags, "\x00", r.star(star), 1)
	}
	switch {
	case v.letter == 0:
		r.out.WriteString("%" + flags)
		return
	case v.letter == '%':
		r.out.WriteString("%%")
		return
	case v.lost:
		r.out.WriteString("%%!" + string(v.letter) + "(BADINDEX)")
		return
	case v.operand >= r.given:
		r.out.WriteString("%%!" + string(v.letter) + "(MISSING)")
		return
	}
	operand, letter := v.operand, v.letter
	if with, ok := r.instead(v); ok {
		operand = r.add(with)
		if letter = 's'; v.letter == 'w' {
			letter = 'v'
		}
		flags = strings.ReplaceAll(flags, "#", "")
	}
	fmt.Fprintf(&r.out, "%%%s[%d]%c", flags, operand+1, letter)
}

// instead is what is printed in place of the operand.
func (r *rewriting) instead(v verb) (any, bool) {
	x := r.args[v.operand]
	switch {
	case x == nil:
	case v.letter == 'T':
		return r.m.typeName(reflect.TypeOf(r.m.unwrap(x))), true
	case v.letter == 'p' && r.m.wants(x):
		return r.m.pointerText(x, strings.Contains(v.flags, "#")), true
	case v.letter == 'w' && r.m.wants(x):
		if _, isError := r.m.asError(x); isError && r.wraps {
			return nil, false
		}
		return operand{m: r.m, v: reflect.ValueOf(x), wrong: 'w'}, true
	}
	return nil, false
}

// star writes the width or precision that an operand gives.
func (r *rewriting) star(n int) string {
	if n >= r.given {
		r.out.WriteString("%%!(BADWIDTH)")
		r.changed = true
		return ""
	}
	if v := reflect.ValueOf(r.args[n]); v.IsValid() && r.m.isOwn(v.Type()) && (v.CanInt() || v.CanUint()) {
		n = r.add(basic(v))
	}
	return fmt.Sprintf("[%d]*", n+1)
}

// add puts an operand behind those given and returns its number.
func (r *rewriting) add(x any) int {
	r.changed = true
	r.args = append(r.args[:len(r.args):len(r.args)], x)
	return len(r.args) - 1
}

// extra tells of operands that no verb has asked for.
func (r *rewriting) extra() {
	r.out.WriteString("%%!(EXTRA ")
	for i := r.next; i < r.given; i++ {
		if i > r.next {
			r.out.WriteString(", ")
		}
		if x := r.m.unwrap(r.args[i]); x == nil {
			r.out.WriteString("<nil>")
		} else {
			fmt.Fprintf(&r.out, "%s=%%[%d]v", strings.ReplaceAll(r.m.typeName(reflect.TypeOf(x)), "%", "%%"), i+1)
		}
	}
	r.out.WriteString(")")
}

// pointerText is a value as %p prints it, or %#p if it is plain.
func (m *Machine) pointerText(x any, plain bool) any {
	v := reflect.ValueOf(m.unwrap(x))
	if d := m.ofValue(v); d != nil && d.box != nil {
		v = v.Field(0)
	}
	switch v.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map, reflect.Chan, reflect.Func, reflect.UnsafePointer:
	default:
		return operand{m: m, v: reflect.ValueOf(x), wrong: 'p'}
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
	flags   string // flags, width and precision; NUL where an operand gives one
	stars   []int  // these operands
	letter  rune   // 0 where the format ends
	operand int    // from 0
	next    int    // the operand whose turn is next
	indexed bool   // a number of an operand was given
	lost    bool   // one that there is not
}

// readVerb reads what follows a percent sign, as doPrintf in fmt/print.go does; next is the operand whose turn it is, given their
// number.
func readVerb(text string, next, given int) verb {
	r := verbReader{verb: verb{next: next}, text: text, given: given}
	r.take("+-# 0")
	r.index()
	if !r.star() && r.take("0123456789") && r.behind {
		r.lost = true
	}
	if strings.HasPrefix(r.rest(), ".") {
		r.lost = r.lost || r.behind
		r.flags += "."
		r.size++
		r.index()
		if !r.star() {
			r.take("0123456789")
		}
	}
	if !r.behind {
		r.index()
	}
	r.operand = r.next
	letter, size := utf8.DecodeRuneInString(r.rest())
	if size == 0 {
		return r.verb
	}
	r.letter, r.size = letter, r.size+size
	if letter != '%' && !r.lost {
		r.next++
	}
	return r.verb
}

type verbReader struct {
	verb
	text   string
	given  int
	behind bool // the last thing read was the number of an operand
}

func (r *verbReader) rest() string { return r.text[r.size:] }

// take reads the characters of a set.
func (r *verbReader) take(set string) bool {
	n := len(r.rest()) - len(strings.TrimLeft(r.rest(), set))
	r.flags += r.rest()[:n]
	r.size += n
	return n > 0
}

// star reads one and the operand that it stands for.
func (r *verbReader) star() bool {
	if !strings.HasPrefix(r.rest(), "*") {
		return false
	}
	r.size++
	r.flags += "\x00"
	r.stars = append(r.stars, r.next)
	if r.next < r.given {
		r.next++
	}
	r.behind = false
	return true
}

// index reads the number of an operand in brackets, if there is one.
func (r *verbReader) index() {
	r.behind = false
	if !strings.HasPrefix(r.rest(), "[") {
		return
	}
	r.indexed = true
	number, _, closed := strings.Cut(r.rest()[1:], "]")
	if !closed {
		r.size++
		r.lost = true
		return
	}
	r.size += len(number) + 2
	n, err := strconv.Atoi(number)
	r.behind = err == nil
	if err != nil || n < 1 || n > r.given {
		r.lost = true
		return
	}
	r.next = n - 1
}
