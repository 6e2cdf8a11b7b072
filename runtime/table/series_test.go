package table

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

func ExampleNew() {
	t, err := New(Series{Name: "city", Values: []string{"Lima", "Oslo"}}, Series{Name: "orders", Values: []int64{3, 0}, Missing: []bool{false, true}})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(t)
	// Output:
	// city  orders
	// Lima       3
	// Oslo       –
	// 2 rows × 2
}

func TestNewKinds(t *testing.T) {
	at := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	got, err := New(
		Series{Name: "i", Values: []int64{1, 2}}, Series{Name: "f", Values: []float64{1, 2}}, Series{Name: "s", Values: []string{"a", "b"}},
		Series{Name: "b", Values: []bool{true, false}}, Series{Name: "t", Values: []time.Time{at, at}}, Series{Name: "d", Values: []time.Duration{1, 2}},
		Series{Name: "x", Values: []any{[]int{1}, nil}}, Series{Name: "n", Values: []any{int64(1), 2.5}}, Series{Name: "m", Values: []any{int64(1), int64(2)}, Missing: []bool{true, false}})
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"int", "float", "string", "bool", "time", "duration", "any", "float", "int"}; !slices.Equal(got.Types(), want) {
		t.Errorf("types %v, want %v", got.Types(), want)
	}
	if v := got.Value(0, "t"); v != at {
		t.Errorf("time %v, want %v", v, at)
	}
	if a, b := got.Value(1, "x"), got.Value(0, "m"); a != nil || b != nil {
		t.Errorf("missing values are %v and %v, want nil", a, b)
	}
}

func TestNewRefuses(t *testing.T) {
	for want, series := range map[string][]Series{
		`two columns are called "a"`:           {{Name: "a", Values: []int64{1}}, {Name: "a", Values: []int64{1}}},
		`"b" has 2 values where "a" has 1`:     {{Name: "a", Values: []int64{1}}, {Name: "b", Values: []int64{1, 2}}},
		`has a []int: want []int64`:            {{Name: "a", Values: []int{1}}},
		`1 values and 2 marks of missing ones`: {{Name: "a", Values: []int64{1}, Missing: []bool{true, true}}},
		`1 values and 0 marks of missing ones`: {{Name: "a", Values: []any{1}, Missing: []bool{}}},
	} {
		if _, err := New(series...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got error %v, want %q in it", err, want)
		}
	}
}
