package table

import (
	"fmt"
	"math"
	"testing"
)

// degrees has words of its own, so that a column keeps it as it is.
type degrees float64

func (d degrees) String() string { return fmt.Sprintf("%.1f°", float64(d)) }

// TestNaNIsLackingEverywhere: NaN counts as missing and stands last, whatever else is in the column.
func TestNaNIsLackingEverywhere(t *testing.T) {
	nan := math.NaN()
	for _, c := range []struct {
		name   string
		values any
		want   string // count, missing, the value that is last in each order
	}{
		{"floats", []float64{1, nan, 2}, "2 1 NaN NaN"},
		{"among texts", []any{1.0, nan, "n/a"}, "2 1 NaN NaN"},
		{"a float32 among texts", []any{float32(nan), "n/a"}, "1 1 NaN NaN"},
		{"with words of its own", []degrees{1, degrees(nan), 2}, "2 1 NaN° NaN°"},
		{"with nothing", []any{nil, "x", true}, "2 1 <nil> <nil>"},
	} {
		table := of(t, c.values)
		d := table.Describe()
		got := fmt.Sprint(d.Value(0, "count"), " ", d.Value(0, "missing"))
		for _, descending := range []bool{false, true} {
			sorted, err := table.Sort("value", descending)
			if err != nil {
				t.Fatal(err)
			}
			got += fmt.Sprint(" ", sorted.Value(sorted.Len()-1, "value"))
		}
		if got != c.want {
			t.Errorf("%s: got %s, want %s", c.name, got, c.want)
		}
	}
}

// TestDescribeExtremes: what an infinite value leaves defined is told, and no square overflows; numpy gives the same but for quartiles beside −∞.
func TestDescribeExtremes(t *testing.T) {
	inf := math.Inf(1)
	for _, c := range []struct {
		name   string
		values []float64
		want   string // mean, sd, min, p25, p50, p75, max
	}{
		{"two", []float64{1, inf, inf}, "[+Inf NaN 1 +Inf +Inf +Inf +Inf]"},
		{"one of five", []float64{1, 2, 3, 4, inf}, "[+Inf NaN 1 2 3 4 +Inf]"},
		{"below", []float64{-inf, 1, 2}, "[-Inf NaN -Inf -Inf 1 1.5 2]"},
		{"both", []float64{-inf, 0, inf}, "[NaN NaN -Inf -Inf 0 +Inf +Inf]"},
		{"both alone", []float64{-inf, inf}, "[NaN NaN -Inf NaN NaN NaN +Inf]"},
		{"all", []float64{inf, inf}, "[+Inf NaN +Inf +Inf +Inf +Inf +Inf]"},
		{"one", []float64{inf}, "[+Inf NaN +Inf +Inf +Inf +Inf +Inf]"},
		{"with NaN", []float64{math.NaN(), inf, 1}, "[+Inf NaN 1 +Inf +Inf +Inf +Inf]"},
		{"tiny", []float64{1e-200, 3e-200, 2e-200}, "[2e-200 1e-200 1e-200 1.5e-200 2e-200 2.5e-200 3e-200]"},
		{"huge", []float64{-1e200, -3e200, -2e200}, "[-2e+200 1e+200 -3e+200 -2.5e+200 -2e+200 -1.5e+200 -1e+200]"},
		{"far apart", []float64{-1.5e308, 1.5e308}, "[0 +Inf -1.5e+308 -7.5e+307 0 7.5e+307 1.5e+308]"},
	} {
		d := of(t, c.values).Describe()
		var all []any
		for _, name := range statistics {
			all = append(all, d.Value(0, name))
		}
		if got := fmt.Sprintf("%.6g", all); got != c.want {
			t.Errorf("%s: got %s, want %s", c.name, got, c.want)
		}
	}
}

// TestMixedOrder: numbers among values of other kinds are ordered by their size, and stand before what has none.
func TestMixedOrder(t *testing.T) {
	for _, c := range []struct {
		name   string
		values any
		want   string
	}{
		{"floats and a text", []any{10.5, "n/a", 9.5, math.NaN(), 100.0}, "[9.5 10.5 100 n/a NaN]"},
		{"ints, floats and texts", []any{"1a", 10, 9.5, "95", 9, true, nil}, "[9 9.5 10 1a 95 true <nil>]"},
		{"floats with words of their own", []degrees{10, 9, -1}, "[-1.0° 9.0° 10.0°]"},
		{"below zero", []any{-10, -9.5, "x"}, "[-10 -9.5 x]"},
	} {
		sorted, err := of(t, c.values).Sort("value", false)
		if err != nil {
			t.Fatal(err)
		}
		var got []any
		for i := range sorted.Len() {
			got = append(got, sorted.Value(i, "value"))
		}
		if fmt.Sprint(got) != c.want {
			t.Errorf("%s: got %v, want %s", c.name, got, c.want)
		}
	}
}
