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
	part := d.Select(s.Test)
	if part.Rows() != 6 || part.Row(0)[0] != 24 || part.Group(0) != 8 {
		t.Errorf("selected rows: got %d rows, first %v of group %d; want 6, [24], 8", part.Rows(), part.Row(0), part.Group(0))
	}
}
