package flow

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// TestEnding takes and gives at random: what comes out is the earliest of what is in.
func TestEnding(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	var e ending[int64]
	var in []int64
	for range 20_000 {
		if len(in) == 0 || random.IntN(5) < 3 {
			at := random.Int64N(500)
			e.put(at, at)
			in = append(in, at)
			continue
		}
		slices.Sort(in)
		if got := e.next(); got.at != in[0] || got.of != got.at {
			t.Fatalf("got %+v, want %d", got, in[0])
		}
		in = in[1:]
	}
	if len(e) != len(in) {
		t.Errorf("%d are left, want %d", len(e), len(in))
	}
	for _, left := range e[:cap(e)][len(e):] {
		if left != (due[int64]{}) {
			t.Fatalf("%+v is held on to", left)
		}
	}
}
