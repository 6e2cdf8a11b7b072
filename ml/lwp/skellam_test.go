package lwp

import (
	"math"
	"testing"
)

// TestOutcome compares with closed forms: a difference of two Poisson variables of mean 1 is 0 with probability
// e⁻² I₀(2) = 0.308508…; with one side at 0 it is a Poisson variable.
func TestOutcome(t *testing.T) {
	for _, tt := range []struct {
		name       string
		lead       int
		home, away float64
		want       [3]float64
	}{
		{"even", 0, 1, 1, [3]float64{0.3457458386, 0.3085083225, 0.3457458386}},
		{"over, home leads", 1, 0, 0, [3]float64{1, 0, 0}},
		{"over, draw", 0, 0, 0, [3]float64{0, 1, 0}},
		{"over, away leads", -2, 0, 0, [3]float64{0, 0, 1}},
		{"one goal behind, only home scores", -1, 2, 0, [3]float64{1 - 3*math.Exp(-2), 2 * math.Exp(-2), math.Exp(-2)}},
		{"far ahead", 15, 0.5, 0.5, [3]float64{1, 0, 0}},
	} {
		var got [3]float64
		outcomeTo(got[:], tt.lead, tt.home, tt.away)
		for k := range got {
			if math.Abs(got[k]-tt.want[k]) > 1e-9 {
				t.Errorf("%s: got %v, want %v", tt.name, got, tt.want)
				break
			}
		}
	}
	var wild [3]float64
	outcomeTo(wild[:], 0, 1e9, -3)
	if s := wild[0] + wild[1] + wild[2]; math.Abs(s-1) > 1e-12 {
		t.Errorf("means out of range: probabilities sum to %v", s)
	}
}
