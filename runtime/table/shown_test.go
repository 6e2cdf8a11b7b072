package table

import (
	"fmt"
	"math"
	"strings"
	"testing"
)

func TestDecimals(t *testing.T) {
	for _, c := range []struct {
		name   string
		values []float64
		want   string
	}{
		{"whole", []float64{1, 20}, "1 20"},
		{"as many as needed", []float64{0.5, 0.25}, "0.50 0.25"},
		{"four at most", []float64{1.0 / 3, 2}, "0.3333 2.0000"},
		{"large ones beside small ones", []float64{3891560.5, 577.49, 1.75312}, "3891560.5000 577.4900 1.7531"},
		{"money", []float64{18250.5, 9.25}, "18250.50 9.25"},
		{"below zero", []float64{-123456.78, 9.95}, "-123456.78 9.95"},
		{"not exact", []float64{0.1 + 0.2, 123456.7}, "0.3 123456.7"},
		{"powers of ten", []float64{1e-7, 1e12, 1}, "1e-07 1e+12 1"},
		{"billions", []float64{1234567891, 1234567892, 2e9}, "1234567891 1234567892 2000000000"},
		{"billions with a fraction", []float64{1234567891.25, -99999999999999.1, 1}, "1234567891.25 -99999999999999.09 1.00"},
		{"more than a float holds", []float64{1.23456e15, 1}, "1.235e+15 1"},
		{"no number", []float64{math.Inf(1), 0}, "+Inf 0"},
	} {
		if got := strings.Join(of(t, c.values).columns[0].shown(len(c.values)), " "); got != c.want {
			t.Errorf("%s: got %s, want %s", c.name, got, c.want)
		}
	}
}

// TestMoneyIsNotRounded: a row or a map with large and small numbers shows both as they are.
func TestMoneyIsNotRounded(t *testing.T) {
	sales := of(t, []struct{ Price, Revenue float64 }{{9.95, 123456.78}})
	for _, c := range []struct {
		name  string
		value any
		want  []string
	}{
		{"a row", sales.Row(0), []string{"    9.95\n", "123456.78\n"}},
		{"a map", map[string]float64{"revenue": 10000.49, "price": 9.95}, []string{"10000.49\n", "    9.95\n"}},
		{"a mixed map", map[string]any{"n": "x", "revenue": 1234567891.5, "price": 9.95}, []string{" 1234567891.5\n", " 9.95\n"}},
	} {
		d, ok := Render(c.value)
		text := fmt.Sprint(d.Data["text/plain"])
		for _, want := range c.want {
			if !ok || !strings.Contains(text, want) {
				t.Errorf("%s is shown as\n%s\nwithout %q", c.name, text, want)
			}
		}
	}
}

// TestDescriptionsHaveFewDigits: a description's columns hold numbers of different things, each with about five digits.
func TestDescriptionsHaveFewDigits(t *testing.T) {
	d := of(t, []struct{ Price, Revenue float64 }{{9.95, 123456.78}, {9.94, 123456.79}}).Describe()
	for name, table := range map[string]*Table{"whole": d, "head": d.Head(2), "filtered": d.Filter(func(int) bool { return true })} {
		if text := table.String(); !strings.Contains(text, "123457") || !strings.Contains(text, "9.9450") || strings.Contains(text, "123456.7") {
			t.Errorf("%s: got\n%s", name, text)
		}
	}
}

// TestMixedValuesShown: numbers among values of other kinds are shown with their decimals.
func TestMixedValuesShown(t *testing.T) {
	for _, test := range []struct {
		value any
		want  string
	}{{43.95, "43.95"}, {1.0, "1"}, {0.1 + 0.2, "0.3"}, {1234567.125, "1234567.125"}, {1e-7, "1e-07"}, {math.NaN(), "NaN"}, {-2.5, "-2.5"}} {
		d, ok := Render(map[string]any{"a": "text", "b": test.value})
		if text := fmt.Sprint(d.Data["text/plain"]); !ok || !strings.Contains(text, "\nb    "+test.want+"\n") {
			t.Errorf("%v is shown as %q", test.value, text)
		}
	}
}
