package value_test

import (
	"bytes"
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"cancha/stream/internal/value"
)

var at = time.Date(2026, 3, 1, 15, 4, 5, 123_456_789, time.UTC)

func TestForms(t *testing.T) {
	for _, each := range []struct {
		of         any
		kind       value.Kind
		text, json string
	}{
		{nil, value.Null, "", "null"}, {true, value.Bool, "true", "true"}, {false, value.Bool, "false", "false"},
		{-7, value.Int, "-7", "-7"}, {int8(-8), value.Int, "-8", "-8"}, {uint16(16), value.Int, "16", "16"},
		{int64(math.MinInt64), value.Int, "-9223372036854775808", "-9223372036854775808"},
		{0.1, value.Float, "0.1", "0.1"}, {float32(0.5), value.Float, "0.5", "0.5"}, {1e21, value.Float, "1e+21", "1e+21"},
		{1e20, value.Float, "100000000000000000000", "100000000000000000000"},
		{1e-7, value.Float, "1e-07", "1e-07"}, {math.NaN(), value.Null, "", "null"}, {math.Inf(1), value.Float, "null", "null"},
		{"", value.Text, "", `""`}, {"a \"b\" \\ \n\t\r\x01 ñ", value.Text, "a \"b\" \\ \n\t\r\x01 ñ", `"a \"b\" \\ \n\t\r\u0001 ñ"`},
		{at, value.Time, "2026-03-01T15:04:05.123456789Z", `"2026-03-01T15:04:05.123456789Z"`},
		{at.In(time.FixedZone("x", 7200)), value.Time, "2026-03-01T15:04:05.123456789Z", `"2026-03-01T15:04:05.123456789Z"`},
		{90 * time.Second, value.Float, "90", "90"}, {value.JSONOf(`{"a":1}`), value.JSON, `{"a":1}`, `{"a":1}`},
		{time.Date(1600, 1, 1, 0, 0, 0, 0, time.UTC), value.Null, "", "null"}, {time.Time{}, value.Null, "", "null"},
	} {
		v, ok := value.Of(each.of)
		if !ok || v.Kind() != each.kind || v.String() != each.text || string(v.AppendJSON(nil)) != each.json {
			t.Errorf("%v: got %v %q %s, want %v %q %s", each.of, v.Kind(), v.String(), v.AppendJSON(nil), each.kind, each.text, each.json)
		}
		if !json.Valid(v.AppendJSON(nil)) {
			t.Errorf("%v: %s is no JSON", each.of, v.AppendJSON(nil))
		}
	}
	for _, x := range []any{uint64(1 << 63), uint(1 << 63), []int{1}, struct{}{}, map[string]int{}} {
		if v, ok := value.Of(x); ok {
			t.Errorf("%v: got %v, want none", x, v)
		}
	}
}

func TestAsGo(t *testing.T) {
	for _, x := range []any{nil, true, int64(3), 2.5, "text", at} {
		v, _ := value.Of(x)
		if got := v.Go(); got != x {
			t.Errorf("got %v, want %v", got, x)
		}
	}
	if got := value.JSONOf("[1]").Go(); got != "[1]" {
		t.Errorf("got %v", got)
	}
}

// TestReadingAnotherKind: what is asked for another kind is nothing, never a panic or a wrong number.
func TestReadingAnotherKind(t *testing.T) {
	for _, v := range []value.Value{{}, value.TextOf("7"), value.JSONOf("7"), value.Nanos(7)} {
		if _, ok := v.Number(); ok || v.Int() != 0 || !math.IsNaN(v.Float()) || v.Bool() {
			t.Errorf("%v: read as a number", v)
		}
	}
	if v := value.FloatOf(-2.9); v.Int() != -2 || v.Bool() || !v.Time().IsZero() || v.Nanos() != 0 {
		t.Errorf("got %d", v.Int())
	}
	if x, ok := value.BoolOf(true).Number(); !ok || x != 1 {
		t.Errorf("got %v, %t", x, ok)
	}
}

// samples are values of all kinds, near each other where kinds have edges.
func samples() []value.Value {
	list := []value.Value{{}, value.BoolOf(false), value.BoolOf(true)}
	for _, n := range []int64{math.MinInt64, -1, 0, 1, 2, 1 << 53, 1<<53 + 1, math.MaxInt64} {
		list = append(list, value.IntOf(n), value.Nanos(n))
	}
	for _, x := range []float64{math.Inf(-1), -1e300, -1 << 63, -1, -0.5, 0, math.Copysign(0, -1), 0.5, 1, 2, 1 << 53, 1 << 63, 1e300, math.Inf(1)} {
		list = append(list, value.FloatOf(x))
	}
	for _, s := range []string{"", "a", "ab", "b", "1", "\x00", "null"} {
		list = append(list, value.TextOf(s), value.JSONOf(s))
	}
	return list
}

// TestKeysAreEqualWhereValuesAre: and hashes, so that groups are the same in maps and in lists.
func TestKeysAreEqualWhereValuesAre(t *testing.T) {
	for _, a := range samples() {
		for _, b := range samples() {
			equal := value.Equal(a, b)
			ka, kb := a.AppendKey(nil), b.AppendKey(nil)
			if bytes.Equal(ka, kb) != equal || equal && a.Hash() != b.Hash() {
				t.Errorf("%v %q and %v %q: equal %t, keys %x and %x, hashes %x and %x", a.Kind(), a, b.Kind(), b, equal, ka, kb, a.Hash(), b.Hash())
			}
			if !equal && bytes.HasPrefix(ka, kb) {
				t.Errorf("the key of %v %q begins with that of %v %q", a.Kind(), a, b.Kind(), b)
			}
			if equal != value.Equal(b, a) || value.Compare(a, b) != -value.Compare(b, a) || equal && value.Compare(a, b) != 0 {
				t.Errorf("%v %q and %v %q: equal %t, compared %d and %d", a.Kind(), a, b.Kind(), b, equal, value.Compare(a, b), value.Compare(b, a))
			}
		}
	}
}

func TestOrder(t *testing.T) {
	list := []value.Value{value.JSONOf("[]"), value.TextOf("b"), value.Nanos(0), value.FloatOf(1.5), value.IntOf(2), value.IntOf(-3), value.BoolOf(true),
		{}, value.TextOf("a"), value.BoolOf(false), value.FloatOf(-1e9)}
	slices.SortFunc(list, value.Compare)
	var got []string
	for _, v := range list {
		got = append(got, v.String())
	}
	if want := "|false|true|-1000000000|-3|1.5|2|a|b|1970-01-01T00:00:00Z|[]"; strings.Join(got, "|") != want {
		t.Errorf("got %s, want %s", strings.Join(got, "|"), want)
	}
}

// TestACloneHasItsOwnText: what is kept longer than a record's bytes does not change with them.
func TestACloneHasItsOwnText(t *testing.T) {
	b := []byte("abc")
	v := value.TextOf(string(b)).Clone()
	b[0] = 'x'
	if v.Text() != "abc" || v.Size() != 35 || (value.Value{}).Size() != 32 {
		t.Errorf("got %q of %d bytes", v.Text(), v.Size())
	}
}

// FuzzQuoted: texts come back from their JSON as they were, and so do keys of several values.
func FuzzQuoted(f *testing.F) {
	f.Add("a\"b\\c\n", "d")
	f.Add("", "\x00\x1f\u2028")
	f.Fuzz(func(t *testing.T, a, b string) {
		var back string
		if text := value.AppendQuoted(nil, a); json.Unmarshal(text, &back) != nil || back != strings.ToValidUTF8(a, "\uFFFD") && !strings.Contains(back, "\uFFFD") {
			t.Errorf("%q: got %s, read back as %q", a, text, back)
		}
		one := value.TextOf(b).AppendKey(value.TextOf(a).AppendKey(nil))
		other := value.TextOf("").AppendKey(value.TextOf(a + b).AppendKey(nil))
		if b != "" && bytes.Equal(one, other) {
			t.Errorf("%q and %q have the key of %q and nothing", a, b, a+b)
		}
	})
}

func FuzzNumbers(f *testing.F) {
	f.Add(0.1, int64(3))
	f.Add(-9.3e18, int64(math.MinInt64))
	f.Fuzz(func(t *testing.T, x float64, n int64) {
		v, i := value.FloatOf(x), value.IntOf(n)
		if same := bytes.Equal(v.AppendKey(nil), i.AppendKey(nil)); same != value.Equal(v, i) {
			t.Errorf("%v and %d: same key %t, equal %t", x, n, same, value.Equal(v, i))
		}
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return
		}
		var back float64
		if err := json.Unmarshal(v.AppendJSON(nil), &back); err != nil || back != x {
			t.Errorf("%v: got %s, read back as %v, %v", x, v.AppendJSON(nil), back, err)
		}
	})
}
