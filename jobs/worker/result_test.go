package worker

import (
	"encoding/json"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"
)

type circle struct{ Next *circle }

// What is counted before a result is written is never more than what is written.
func TestAtLeast(t *testing.T) {
	type inner struct {
		A string
		B []int `json:"b,omitempty"`
		c int
		D *inner
		E string `json:"-"`
		time.Time
	}
	long := strings.Repeat("x", 5000)
	for _, v := range []any{nil, "", long, 1.5, true, []string{"a", long}, []byte(long), [3]int{1, 2, 3},
		map[string]any{"a": []any{long, nil, 1}, "b": map[int]bool{1: true}},
		inner{A: "a", D: &inner{A: long, c: 1, E: long}}, &inner{}, json.RawMessage(`{"a":1}`), time.Now(), []any{}, struct{}{},
		[]struct{}{{}, {}}, (*inner)(nil)} {
		text, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		if n := atLeast(reflect.ValueOf(v), 1<<20); n > len(text)+1 {
			t.Errorf("%.100s has %d bytes, and was counted as %d", text, len(text), n)
		}
	}
}

// A result of a gigabyte is refused without a second gigabyte, whatever it is made of; one that is no JSON says what it is.
func TestLargeResult(t *testing.T) {
	around := &circle{}
	around.Next = around
	rows := make([][]float64, 1<<16)
	for i := range rows {
		rows[i] = make([]float64, 64)
	}
	for name, c := range map[string]struct {
		result any
		why    string
	}{
		"bytes":     {make([]byte, 1<<30), "has more than 1048576 bytes of JSON; at most"},
		"in a map":  {map[string]any{"data": []any{make([]byte, 1<<30)}}, "has more than"},
		"a field":   {&struct{ Data []byte }{make([]byte, 1<<30)}, "has more than"},
		"raw":       {json.RawMessage(`"` + strings.Repeat("x", 3<<20) + `"`), "has 3145730 bytes"},
		"rows":      {rows, "has more than"},
		"near":      {strings.Repeat("x", mostResult-1), "has 1048577 bytes of JSON"},
		"no number": {map[string]float64{"loss": math.NaN()}, "cannot be written as JSON: json: unsupported value: NaN"},
		"infinite":  {[]float64{1, math.Inf(-1)}, "unsupported value: -Inf"},
		"a circle":  {around, "encountered a cycle"},
	} {
		if text, err := encode(c.result); err == nil || !IsFinal(err) || !strings.Contains(err.Error(), c.why) {
			t.Errorf("%s: got %.100s, %v", name, text, err)
		}
	}
	if text, err := encode(strings.Repeat("x", mostResult-2)); err != nil || len(text) != mostResult {
		t.Errorf("%d bytes, %v", len(text), err)
	}
}
