package ml

import (
	"math"
	"strings"
	"testing"
)

func TestFromRows(t *testing.T) {
	d, err := FromRows([]string{"a", "b"}, [][]float64{{1, 2}, {3, 4}, {5, 6}})
	if err != nil {
		t.Fatal(err)
	}
	if got := d.Rows(); got != 3 {
		t.Errorf("rows: got %d, want 3", got)
	}
	if got := d.Row(1); got[0] != 3 || got[1] != 4 {
		t.Errorf("row 1: got %v, want [3 4]", got)
	}
	if got := d.Column("b"); got != 1 {
		t.Errorf("column b: got %d, want 1", got)
	}
	if _, err := FromRows([]string{"a"}, [][]float64{{1, 2}}); err == nil {
		t.Error("a ragged row was accepted")
	}
}

// TestFromRowsKeepsDigits gives numbers that float32 rounds: they must still be there, in parts of the table too.
func TestFromRowsKeepsDigits(t *testing.T) {
	d, err := FromRows([]string{"id", "share"}, [][]float64{{16777216, 0.5}, {16777217, 0.1}})
	if err != nil {
		t.Fatal(err)
	}
	if d.At(0, 0) == d.At(1, 0) || d.At(1, 0) != 16777217 || d.At(1, 1) != 0.1 {
		t.Errorf("got %v and %v, want 16777217 and 0.1", d.At(1, 0), d.At(1, 1))
	}
	if got := d.Select([]int{1}).At(0, 0); got != 16777217 {
		t.Errorf("selected: got %v, want 16777217", got)
	}
	if d.Row(1)[0] = 3; d.Validate() == nil {
		t.Error("a value that was changed beside its exact one was accepted")
	}
	whole, err := FromRows([]string{"id"}, [][]float64{{16777216}})
	if err != nil || whole.Exact != nil || whole.At(0, 0) != 16777216 {
		t.Errorf("got %v, %v; want no exact values where float32 holds them all", whole.Exact, err)
	}
	for value, want := range map[float64]string{1e39: "too large for float32", math.Inf(1): "fill it in", math.NaN(): "fill it in"} {
		if _, err := FromRows([]string{"a"}, [][]float64{{value}}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: got %v, want an error with %q", value, err, want)
		}
	}
}

func TestWideColumn(t *testing.T) {
	for _, tt := range []struct {
		name   string
		values []float64
		wide   bool
	}{
		{"shares", []float64{0.1, 0.2, 0.7, 1e-7}, false},
		{"temperatures", []float64{270.1, 290.2, 310.3}, false},
		{"ids", []float64{16777216, 16777217}, true},
		{"round ids", []float64{16777216, 16777218}, false},
		{"Unix times", []float64{1.7e9, 1.7e9 + 1}, true},
		{"ticks of a clock", []float64{1e6, 1e6 + 0.001, 1e6 + 0.002}, true},
		{"below float32", []float64{1e-50, 2e-50}, true},
		{"one Unix time", []float64{1.7e9 + 1, 1.7e9 + 1}, false},
	} {
		rows := make([][]float64, len(tt.values))
		for i, v := range tt.values {
			rows[i] = []float64{float64(i), v}
		}
		d, err := FromRows([]string{"row", "value"}, rows)
		if err != nil {
			t.Fatal(err)
		}
		want := -1
		if tt.wide {
			want = 1
		}
		if got := d.WideColumn(); got != want {
			t.Errorf("%s: got column %d, want %d", tt.name, got, want)
		}
	}
}

func TestValidateFor(t *testing.T) {
	d := &Dataset{Features: []string{"a", "b"}, Values: []float32{1, 2}}
	if err := d.ValidateFor([]string{"a", "b"}); err != nil {
		t.Error(err)
	}
	for _, tt := range []struct {
		features []string
		want     string
	}{{[]string{"b", "a"}, `column 0 is "a", the model learned "b"`}, {[]string{"a"}, "rows of 2 features for a model of 1"}} {
		if err := d.ValidateFor(tt.features); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%q: got %v, want an error with %q", tt.features, err, tt.want)
		}
	}
	d.Values[0] = float32(math.NaN())
	if err := d.ValidateFor(d.Features); err == nil {
		t.Error("a NaN was accepted")
	}
}

func TestValidate(t *testing.T) {
	nan := float32(math.NaN())
	for _, tt := range []struct {
		name string
		data Dataset
		want string // part of the message; empty: valid
	}{
		{"empty", Dataset{}, ""},
		{"good", Dataset{Features: []string{"a"}, Values: []float32{1, 2}, Classes: []string{"x"}, Labels: []int{0, 0}}, ""},
		{"no names", Dataset{Values: []float32{1}}, "no feature names"},
		{"ragged", Dataset{Features: []string{"a", "b"}, Values: []float32{1}}, "whole number of rows"},
		{"nan", Dataset{Features: []string{"a", "b"}, Values: []float32{1, 2, 3, nan}}, `feature "b" of row 1`},
		{"labels", Dataset{Features: []string{"a"}, Values: []float32{1}, Labels: []int{0}}, "outside the 0 classes"},
		{"groups", Dataset{Features: []string{"a"}, Values: []float32{1}, Groups: []int64{1, 2}}, "2 groups for 1 rows"},
		{"targets", Dataset{Features: []string{"a"}, Values: []float32{1}, Targets: []float64{math.Inf(1)}}, "target of row 0"},
		{"weights", Dataset{Features: []string{"a"}, Values: []float32{1}, Weights: []float64{-1}}, "weight of row 0"},
		{"infinite weight", Dataset{Features: []string{"a"}, Values: []float32{1}, Weights: []float64{math.Inf(1)}}, "weight of row 0"},
		{"weight whose square overflows", Dataset{Features: []string{"a"}, Values: []float32{1}, Weights: []float64{1e200}}, "from 1e-60 to 1e+60"},
		{"weight whose square vanishes", Dataset{Features: []string{"a"}, Values: []float32{1}, Weights: []float64{1e-200}}, "from 1e-60 to 1e+60"},
		{"no weight", Dataset{Features: []string{"a"}, Values: []float32{1}, Weights: []float64{0}}, ""},
		{"target whose square overflows", Dataset{Features: []string{"a"}, Values: []float32{1}, Targets: []float64{1e200}}, "target of row 0"},
		{"features of one name", Dataset{Features: []string{"a", "b", "a"}}, `features 0 and 2 are both named "a"`},
		{"classes of one name", Dataset{Classes: []string{"x", "x"}}, `classes 0 and 1 are both named "x"`},
		{"exact of another length", Dataset{Features: []string{"a"}, Values: []float32{1}, Exact: []float64{1, 2}}, "2 exact values for 1 values"},
		{"exact says otherwise", Dataset{Features: []string{"a"}, Values: []float32{1}, Exact: []float64{2}}, "2 in Exact and 1 in Values"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			err := tt.data.Validate()
			if tt.want == "" {
				if err != nil {
					t.Fatalf("got %v, want no error", err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Fatalf("got %v, want an error with %q", err, tt.want)
			}
		})
	}
}

// grouped is a dataset of ten groups of three rows.
func grouped() *Dataset {
	d := &Dataset{Features: []string{"x"}}
	for i := range 30 {
		d.Values = append(d.Values, float32(i))
		d.Groups = append(d.Groups, int64(i/3))
	}
	return d
}

func TestGroupSplitKeepsGroupsWhole(t *testing.T) {
	d := grouped()
	s, err := GroupSplit(d, 0.3, 7)
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Test) != 9 || len(s.Train) != 21 {
		t.Fatalf("got %d train and %d test rows, want 21 and 9", len(s.Train), len(s.Test))
	}
	side := map[int64]bool{}
	for _, i := range s.Test {
		side[d.Group(i)] = true
	}
	for _, i := range s.Train {
		if side[d.Group(i)] {
			t.Fatalf("group %d is on both sides", d.Group(i))
		}
	}
	again, _ := GroupSplit(d, 0.3, 7)
	for k := range s.Test {
		if s.Test[k] != again.Test[k] {
			t.Fatal("the same seed gave another split")
		}
	}
	for _, share := range []float64{0, 1, math.NaN()} {
		if _, err := GroupSplit(d, share, 1); err == nil {
			t.Errorf("share %v was accepted", share)
		}
	}
}

func TestDateSplit(t *testing.T) {
	d := grouped()
	date := func(g int64) string {
		if g < 8 {
			return "2019-05-01"
		}
		return "2020-07-01"
	}
	s, err := DateSplit(d, "2020-07-01", date)
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Train) != 24 || len(s.Test) != 6 {
		t.Errorf("got %d and %d rows, want 24 and 6", len(s.Train), len(s.Test))
	}
	if _, err := DateSplit(d, "1990-01-01", date); err == nil {
		t.Error("an empty training side was accepted")
	}
	if _, err := DateSplit(d, "2020-7-1", date); err == nil || !strings.Contains(err.Error(), "YYYY-MM-DD") {
		t.Errorf("a date in another form: got %v", err)
	}
	if _, err := DateSplit(d, "2020-07-01", func(int64) string { return "1 July 2020" }); err == nil || !strings.Contains(err.Error(), "group 0") {
		t.Errorf("a group's date in another form: got %v", err)
	}
	part := d.Select(s.Test)
	if part.Rows() != 6 || part.Row(0)[0] != 24 || part.Group(0) != 8 {
		t.Errorf("selected rows: got %d rows, first %v of group %d; want 6, [24], 8", part.Rows(), part.Row(0), part.Group(0))
	}
}
