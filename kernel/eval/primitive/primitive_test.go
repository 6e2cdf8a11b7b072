package primitive

import (
	"errors"
	"fmt"
	"math/big"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
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
		{"%p|%#p|%20p|%v", []any{(*point)(nil), (*point)(nil), (*point)(nil), 1}, "0x0|0|                 0x0|1"},
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

// TestText prints values as %+v does, but cuts what is long or deep.
func TestText(t *testing.T) {
	type ring struct{ Next any }
	r := &ring{}
	r.Next = r
	deep := any(1)
	for range 20 {
		deep = []any{deep}
	}
	many := make([]int, 1_000_000)
	table := map[string]level{}
	for i := range 1000 {
		table[fmt.Sprintf("k%04d", i)] = level(i)
	}
	tests := []struct {
		name       string
		v          any
		head, tail string
	}{
		{"declared", point{1, "a"}, "{X:1 name:a}", ""},
		{"pointer with words", &point{1, "a"}, "error a", ""},
		{"words inside", []level{1, 2}, "[L1 L2]", ""},
		{"compiled fields that are not exported", struct{ a, B any }{1, []int{2}}, "{a:1 B:[2]}", ""},
		{"compiled words", []any{time.Second, errors.New("e"), nil}, "[1s e <nil>]", ""},
		{"nil", nil, "<nil>", ""},
		{"nil pointer", (*point)(nil), "<nil>", ""},
		{"nil map", map[string]int(nil), "map[]", ""},
		{"function", func(int) string { return "" }, "func(int) string", ""},
		{"ring", r, "&{Next:0x", "}"},
		{"slice", many, "[0 0", "0 … (1,000,000 in all) … 0 0 0 0 0 0 0 0 0 0]"},
		{"declared slice", slices.Repeat([]point{{1, "a"}}, 1000), "[{X:1 name:a} {X:1", "… (1,000 in all) … " + strings.Repeat("{X:1 name:a} ", 9) + "{X:1 name:a}]"},
		{"rows", slices.Repeat([][]int{many}, 1000), "[[0 0 0 0 0 0 0 0 0 0 … (1,000,000 in all) … 0 0 0] [0", "[0 0 0 0 0 0 0 0 0 0 … (1,000,000 in all) … 0 0 0]]"},
		{"map", table, "map[k0000:L0 k0001:L1", "(1,000 in all) … k0990:L990 k0991:L991 k0992:L992 k0993:L993 k0994:L994 k0995:L995 k0996:L996 k0997:L997 k0998:L998 k0999:L999]"},
		{"string", strings.Repeat("é", 100_000), "éé", "… (200,000 bytes in all) …" + strings.Repeat("é", 256)},
		{"strings", slices.Repeat([]any{strings.Repeat("a", 3000)}, 1000), "[aa", "… (1,000 in all)]"},
		{"deep", deep, "[[[[[[[[[…]]]]]]]]]", ""},
	}
	m := newMachine()
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := m.Text(tt.v)
			if tt.tail == "" && got != tt.head || !strings.HasPrefix(got, tt.head) || !strings.HasSuffix(got, tt.tail) {
				t.Errorf("got %.100s … %s\nwant %s … %s", got, got[max(0, len(got)-200):], tt.head, tt.tail)
			}
			if len(got) > 10_000 {
				t.Errorf("%d bytes", len(got))
			}
		})
	}
}

// TestShort does not look into what others may be working with.
func TestShort(t *testing.T) {
	m := newMachine()
	for _, tt := range []struct {
		v    any
		want string
	}{
		{[]string{"a\nb", strings.Repeat("é", 50)}, "[a b ééééééééééééé…"},
		{map[string]int{"a": 1}, "1 entry"},
		{[]map[string]int{nil, {"a": 1}}, "[0 entries 1 entry]"},
		{&point{1, "a"}, "error a"},
		{&struct{ X int }{1}, "&{X:1}"},
		{new(strings.Builder), "0x"},
		{new(big.Int), "0x"},
		{errors.New("e"), "e"},
		{time.Second, "1s"},
		{level(2), "L2"},
	} {
		if got := m.Short(tt.v, 19); !strings.HasPrefix(got, tt.want) {
			t.Errorf("%T: got %q, want %q", tt.v, got, tt.want)
		}
	}
}

// TestOldName names types that have been declared anew, wherever in a type they are.
func TestOldName(t *testing.T) {
	m := newMachine()
	type elsewhere struct{}
	m.DeclaredIn(new(point), "P", "cell 3")
	m.DeclaredIn(new(level), "L", "cell 4")
	m.OnOrigin(func(t reflect.Type) (name, cell string, ok bool) {
		return "E", "cell 5", t == reflect.TypeFor[elsewhere]()
	})
	m.OnNewest(func(name string) string { return map[string]string{"P": "cell 7", "L": "cell 4", "E": "cell 7"}[name] })
	for _, tt := range []struct {
		v    any
		want string
	}{
		{point{}, "P (cell 3)"}, {&point{}, "*P (cell 3)"}, {map[level][]point{}, "map[L][]P (cell 3)"}, {func(point) level { return 0 }, "func(P (cell 3)) L"},
		{level(1), ""}, {nil, ""}, {1, ""}, {[]elsewhere{}, "[]primitive.elsewhere (cell 5)"},
	} {
		name, old := m.OldName(tt.v)
		if !old {
			name = ""
		}
		if name != tt.want {
			t.Errorf("%T: got %q, want %q", tt.v, name, tt.want)
		}
	}
	defer func() {
		if got, want := fmt.Sprint(recover()), "interface conversion: interface {} is P (cell 3), not P"; got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}()
	type newPoint struct{}
	m.Declare(new(newPoint), "main.P", nil)
	m.DeclaredIn(new(newPoint), "P", "cell 7")
	var to newPoint
	m.Must(point{}, &to, "interface {}")
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
		if got := fmt.Sprint(newMachine().translate(tt.p)); got != tt.want {
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
