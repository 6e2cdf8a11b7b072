package primitive

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
)

type level int

type point struct {
	X    int
	Name string
}

// newMachine knows a struct main.P{X int; name string} and a number main.L with a method String, as a cell would declare
// them.
func newMachine() *Machine {
	m := New(Config{})
	m.Declare(new(point), "main.P", []string{"X", "name"})
	m.Declare(new(level), "main.L", nil)
	m.Method(new(level), "String", func(l level) string { return fmt.Sprintf("L%d", int(l)) })
	m.Method(new(point), "Error", func(p *point) string { return "error " + p.Name })
	return m
}

// TestSprintf prints as fmt would if the types were the cell's.
func TestSprintf(t *testing.T) {
	tests := []struct {
		format string
		args   []any
		want   string
	}{
		{"%v %+v", []any{point{1, "a"}, point{1, "a"}}, "{1 a} {X:1 name:a}"},
		{"%#v %T", []any{point{1, "a"}, point{}}, `main.P{X:1, name:"a"} main.P`},
		{"%v %d %s %q %x", []any{level(3), level(3), level(3), level(3), level(3)}, `L3 3 L3 "L3" 4c33`},
		{"%v %v", []any{[]level{1, 2}, map[string]level{"k": 4}}, "[L1 L2] map[k:L4]"},
		{"%T %T %T", []any{level(1), []level{}, map[string]*point{}}, "main.L []main.L map[string]*main.P"},
		{"%[2]v %[1]T %[1]v", []any{level(1), 7}, "7 main.L L1"},
		{"%T %v|%5T|", []any{level(1), level(2), 1}, "main.L L2|  int|"},
		{"%*d|%T", []any{4, 7, level(1)}, "   7|main.L"},
		{"%t %", []any{level(1)}, "%!t(main.L=1) %!(NOVERB)"},
		{"%v", []any{&point{1, "b"}}, "error b"},
		{"100%% %v", []any{level(1)}, "100% L1"},
		{"%v", []any{nil}, "<nil>"},
	}
	m := newMachine()
	for _, tt := range tests {
		if got := m.Sprintf(tt.format, tt.args...); got != tt.want {
			t.Errorf("%q: got %q, want %q", tt.format, got, tt.want)
		}
	}
}

// TestFrame runs deferred calls in Go's order and by Go's rules for panics.
func TestFrame(t *testing.T) {
	var log []string
	note := func(s string) func() { return func() { log = append(log, s) } }
	tests := []struct {
		name string
		body func(m *Machine, d *Deferred)
		want string // the calls, then the panic that is left
	}{
		{"order", func(_ *Machine, d *Deferred) { d.Defer(note("a")); d.Defer(note("b")) }, "b a"},
		{"panic", func(_ *Machine, d *Deferred) { d.Defer(note("a")); panic("p") }, "a panic:p"},
		{"recovered", func(_ *Machine, d *Deferred) {
			d.Defer(note("a"))
			d.Defer(func() { log = append(log, fmt.Sprint("got ", d.Recover())) })
			panic("p")
		}, "got p a"},
		{"no panic to recover", func(_ *Machine, d *Deferred) { d.Defer(func() { log = append(log, fmt.Sprint(d.Recover())) }) }, "<nil>"},
		{"panic in a deferred call", func(_ *Machine, d *Deferred) {
			d.Defer(note("a"))
			d.Defer(func() { panic("second") })
			panic("first")
		}, "a panic:second"},
		{"recovered in a nested frame", func(m *Machine, d *Deferred) {
			m.Frame(func(inner *Deferred) { inner.Defer(func() { inner.Recover() }); panic("p") })
			d.Defer(note("after"))
		}, "after"},
		{"an interrupt cannot be recovered", func(_ *Machine, d *Deferred) {
			d.Defer(func() { log = append(log, fmt.Sprint(d.Recover())) })
			panic(interrupted{})
		}, "<nil> panic:interrupted"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			log = nil
			m := newMachine()
			func() {
				defer func() {
					if p := recover(); p != nil {
						log = append(log, fmt.Sprint("panic:", p))
					}
				}()
				m.Frame(func(d *Deferred) { tt.body(m, d) })
			}()
			if got := strings.Join(log, " "); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

// TestTranslate gives the interpreter's panics the words of the runtime.
func TestTranslate(t *testing.T) {
	panicOf := func(f func()) (p any) {
		defer func() { p = recover() }()
		f()
		return nil
	}
	var s []int
	tests := []struct {
		name string
		p    any
		want string
	}{
		{"index", panicOf(func() { reflect.ValueOf(s).Index(3) }), "runtime error: index out of range"},
		{"slice", panicOf(func() { reflect.ValueOf(s).Slice(0, 3) }), "runtime error: slice bounds out of range"},
		{"nil", panicOf(func() { reflect.Value{}.Field(0) }), "runtime error: invalid memory address or nil pointer dereference"},
		{"own", "text", "text"},
		{"error", errors.New("e"), "e"},
	}
	for _, tt := range tests {
		if got := fmt.Sprint(translate(tt.p)); got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
}

// TestAssertions tells types apart by what they were declared as.
func TestAssertions(t *testing.T) {
	m := newMachine()
	if !m.Is(level(1), new(level)) || m.Is(1, new(level)) || m.Is(level(1), new(int)) || m.Is(nil, new(level)) {
		t.Error("Is does not tell main.L from int and nil")
	}
	if !m.Has(level(1), []string{"String"}) || m.Has(level(1), []string{"String", "Other"}) || m.Has(point{}, []string{"Error"}) || !m.Has(&point{}, []string{"Error"}) {
		t.Error("Has does not know the methods of main.L, main.P and *main.P")
	}
	if m.Equal(level(1), 1) || !m.Equal(level(1), level(1)) || m.Equal(nil, level(0)) {
		t.Error("Equal does not compare types")
	}
	defer func() {
		if got, want := fmt.Sprint(recover()), "interface conversion: interface {} is main.L, not main.P"; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}()
	m.Must(level(1), new(point), "interface {}")
}

// TestRunes counts bytes that are no UTF-8 as characters of their own.
func TestRunes(t *testing.T) {
	at, runes := newMachine().Runes("aé\xffz")
	if fmt.Sprint(at, runes) != "[0 1 3 4] [97 233 65533 122]" {
		t.Errorf("got %v %v", at, runes)
	}
}
