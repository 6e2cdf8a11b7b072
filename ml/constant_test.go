package ml

import "testing"

func TestConstant(t *testing.T) {
	third := 0.1
	for _, test := range []struct {
		values []float64
		want   bool
	}{
		{nil, true}, {[]float64{5, 5}, true}, {[]float64{third + 0.2, 0.3}, true}, {[]float64{1, 0.9999999999999999}, true}, {[]float64{0, 0}, true},
		{[]float64{1, 1 + 1e-12}, false}, {[]float64{1.7e18, 1.7e18 + 1e6}, false}, {[]float64{0, 1e-300}, false}, {[]float64{-1, 1}, false},
	} {
		rows := make([][]float64, len(test.values))
		for i, v := range test.values {
			rows[i] = []float64{v}
		}
		d, err := FromRows([]string{"x"}, rows)
		if err != nil {
			t.Fatal(err)
		}
		if got := d.Constant(0); got != test.want {
			t.Errorf("%v: got %v", test.values, got)
		}
		if test.want && d.WideColumn() >= 0 {
			t.Errorf("%v: a constant column is wide", test.values)
		}
	}
}
