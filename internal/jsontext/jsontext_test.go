package jsontext_test

import (
	"encoding/binary"
	"encoding/json"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"cancha/internal/jsontext"
)

// valid tells whether the scanner takes a text for one JSON value.
func valid(b []byte) bool {
	i := jsontext.SkipValue(b, jsontext.SkipSpace(b, 0), 0)
	return i >= 0 && jsontext.SkipSpace(b, i) == len(b)
}

func TestTheScannerAgreesWithEncodingJSON(t *testing.T) {
	for _, text := range []string{`{}`, ` [1, -2.5e+3, "a\u00e9\n", true, null] `, `{"a":{"b":[[]]}}`, ``, `{`, `[1,]`, `01`, `1.`, `-`, `"a`, "\"a\x01\"", `"\x"`, `tru`,
		`{"a" 1}`, `{"a":1,}`, `1e`, `{1:2}`, `[1 2]`, `""x`, "\"\xff\"", strings.Repeat("[", 10001) + strings.Repeat("]", 10001)} {
		if got, want := valid([]byte(text)), json.Valid([]byte(text)); got != want {
			t.Errorf("%.40q: got %t, want %t", text, got, want)
		}
	}
	if !valid([]byte(`[NaN]`)) {
		t.Error("NaN, which Python writes, is not read")
	}
}

func FuzzScan(f *testing.F) {
	for _, text := range []string{`{"a":[1,2.5e3,"x\u00e9",null]}`, `[[],{}]`, `"\ud83d\ude00"`, `-0.1`} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if strings.Contains(string(b), "NaN") {
			return
		}
		if got, want := valid(b), json.Valid(b); got != want {
			t.Fatalf("%q: got %t, want %t", b, got, want)
		}
		if problem := jsontext.Problem(b); (problem == "") != json.Valid(b) {
			t.Fatalf("%q: %s", b, problem)
		}
		var x float64
		got, next, ok := jsontext.ParseFloat(b, 0)
		if err := json.Unmarshal(b, &x); err == nil && next == len(b) && (!ok || math.Float64bits(got) != math.Float64bits(x)) {
			t.Fatalf("%q: got %v, want %v", b, got, x)
		}
		var s string
		if json.Unmarshal(b, &s) == nil && len(b) > 1 && b[0] == '"' && b[len(b)-1] == '"' {
			if text, _ := jsontext.Unquote(b); strings.ToValidUTF8(string(text), "\uFFFD") != s && !strings.Contains(s, "\uFFFD") {
				t.Fatalf("%q: got %q, want %q", b, text, s)
			}
		}
	})
}

// TestNumbers reads numbers of all lengths, and what is nearly one, each before what may follow it, and near the end of the text.
func TestNumbers(t *testing.T) {
	random := rand.New(rand.NewPCG(4, 4))
	const letters = "0123456789012345678900..--+eE,}] x"
	for range 300_000 {
		text := make([]byte, random.IntN(12))
		for i := range text {
			text[i] = letters[random.IntN(len(letters))]
		}
		number := string(text[:len(text)-len(strings.TrimLeft(string(text), "0123456789.-+eE"))])
		got, next, ok := jsontext.ParseFloat(text, 0)
		skipped, is := jsontext.SkipNumber(text, 0), json.Valid([]byte(number))
		if number != "" && (is != (next == len(number)) || is != (skipped == len(number))) {
			t.Fatalf("%q: read up to %d, stepped over up to %d; a number: %t", text, next, skipped, is)
		}
		var want float64
		if fits := json.Unmarshal([]byte(number), &want) == nil; is && (ok != fits || fits && math.Float64bits(got) != math.Float64bits(want)) {
			t.Fatalf("%q: got %v, %t, want %v, %t", text, got, ok, want, fits)
		}
		word := binary.LittleEndian.Uint64(append(slices.Clone(text), "        "...))
		if m, fraction, length := jsontext.Short(word); length > 0 && (length != next || jsontext.Decimal(m, fraction) != got) {
			t.Fatalf("%q: got %d/10^%d up to %d, want %v up to %d", text, m, fraction, length, got, next)
		} else if length == 0 && is && len(number) < 8 && !strings.ContainsAny(number, "-eE") {
			t.Fatalf("%q: not read as a short number", text)
		}
		if n, end := jsontext.ShortInt(text, 0); end > 0 && (end != next || float64(n) != got) {
			t.Fatalf("%q: got %d up to %d, want %v up to %d", text, n, end, got, next)
		}
	}
}
