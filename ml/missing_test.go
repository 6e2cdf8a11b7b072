package ml

import (
	"math"
	"strings"
	"testing"
)

// TestMissing: a NaN is a mistake unless the dataset says that values may be missing; an infinity always is one.
func TestMissing(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	rows := [][]float64{{1, 16777217}, {nan, 2}, {3, nan}}
	if _, err := FromRows([]string{"a", "b"}, rows); err == nil || !strings.Contains(err.Error(), `"a" of row 1 is NaN`) {
		t.Errorf("without Missing: got %v", err)
	}
	d, err := FromRowsMissing([]string{"a", "b"}, rows)
	if err != nil {
		t.Fatal(err)
	}
	if err := d.ValidateFor([]string{"a", "b"}); err != nil || d.Exact == nil {
		t.Errorf("got %v, exact values %v", err, d.Exact)
	}
	if err := d.Complete(); err == nil || !strings.Contains(err.Error(), `"a" of row 1 is missing`) {
		t.Errorf("complete: got %v", err)
	}
	for name, part := range map[string]*Dataset{"selected": d.Select([]int{2, 0}), "sliced": d.Slice(1, 3), "targets": d.WithTargets([]float64{1, 2, 3})} {
		if err := part.Validate(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := d.Slice(0, 1).Complete(); err != nil {
		t.Errorf("a complete part: %v", err)
	}
	d.Exact[0], d.Values[0] = nan, 1
	if err := d.Validate(); err == nil {
		t.Error("missing in Exact alone: no error")
	}
	d.Exact[0], d.Values[0] = 1, float32(nan)
	if err := d.Validate(); err == nil {
		t.Error("missing in Values alone: no error")
	}
	if _, err := FromRowsMissing([]string{"a"}, [][]float64{{inf}}); err == nil {
		t.Error("an infinity was accepted")
	}
}

// TestMissingColumns: what is known of a column decides whether it tells rows apart.
func TestMissingColumns(t *testing.T) {
	nan := math.NaN()
	d, err := FromRowsMissing([]string{"some", "all", "none"}, [][]float64{{5, nan, 16777216}, {nan, nan, 16777217}})
	if err != nil {
		t.Fatal(err)
	}
	if d.Constant(0) || !d.Constant(1) || d.Constant(2) {
		t.Errorf("constant: got %v, %v, %v", d.Constant(0), d.Constant(1), d.Constant(2))
	}
	if got := d.WideColumn(); got != 2 {
		t.Errorf("wide column: got %d", got)
	}
}
