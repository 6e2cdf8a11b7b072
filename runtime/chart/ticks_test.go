package chart

import (
	"math"
	"strings"
	"testing"
)

// TestShort: labels on bars and cells have three significant digits at any size.
func TestShort(t *testing.T) {
	for _, c := range []struct {
		v    float64
		want string
	}{
		{0.00149, "0.00149"}, {0.0011, "0.0011"}, {0.001, "0.001"}, {0.0123456, "0.0123"}, {0.832, "0.832"}, {0.5, "0.5"}, {-0.25, "-0.25"},
		{0.9997, "1.00"}, {0.9994, "0.999"}, {-0.9997, "-1.00"}, {1.005, "1.00"}, {1.25, "1.25"}, {9.996, "10.0"}, {12.34, "12.3"}, {99.96, "100"},
		{123.4, "123"}, {12345.6, "12,346"}, {1, "1"}, {0, "0"}, {-3, "-3"}, {1e6, "1,000,000"}, {1.5e9, "1.5e+09"}, {1234567891, "1.235e+09"},
		{0.00099996, "0.001"}, {0.000123456, "0.000123"}, {1.49e-5, "1.49e-05"}, {1.1e-5, "1.1e-05"}, {math.MaxFloat64, "1.798e+308"},
	} {
		if got := short(c.v); got != c.want {
			t.Errorf("%v: got %s, want %s", c.v, got, c.want)
		}
	}
}

// TestOneIsWhole: a line that ends just below one is told as 1.00, not as "1.".
func TestOneIsWhole(t *testing.T) {
	c, err := Line(nil, []float64{0.832, 0.9997}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if text := c.String(); !strings.Contains(text, "0.832 to 1.00, last 1.00.") {
		t.Errorf("got %q", text)
	}
}

// TestTicksDiffer: no two labels of an axis are the same, however little lies between them.
func TestTicksDiffer(t *testing.T) {
	for _, c := range []struct{ min, max float64 }{{0, 1}, {1e9, 1e9 + 10}, {1e9, 1.001e9}, {-3e10, 3e10}, {1e-9, 2e-9}, {0.1, 0.1 + 1e-8}, {1e12, 1e12 + 100}} {
		seen := map[string]bool{}
		for _, tick := range (numberTicks{}).Ticks(c.min, c.max) {
			if seen[tick.Label] {
				t.Errorf("%v to %v: two ticks are called %s", c.min, c.max, tick.Label)
			}
			seen[tick.Label] = true
		}
	}
}
