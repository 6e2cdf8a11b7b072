package flow

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// TestEnding takes and gives in sorted runs and at random: what comes out is the earliest of what is in.
func TestEnding(t *testing.T) {
	for _, disorder := range []int64{0, 3, 5000} {
		random := rand.New(rand.NewPCG(1, 2))
		var e ending[int64]
		var in []int64
		base := int64(0)
		for range 3000 {
			base += 20
			at := base
			for range random.IntN(40) { // a run
				at += random.Int64N(5)
				each := at + random.Int64N(disorder+1)
				e.put(each, each)
				in = append(in, each)
			}
			slices.Sort(in)
			for range random.IntN(40) {
				first, ok := e.first()
				if ok != (len(in) > 0) {
					t.Fatalf("something is left: %t, want %d", ok, len(in))
				}
				if !ok {
					break
				}
				if got := e.next(); got.at != in[0] || got.of != in[0] || first != in[0] {
					t.Fatalf("got %+v, first %d, want %d", got, first, in[0])
				}
				in = in[1:]
			}
		}
		held := slices.Clone(e.heap[len(e.heap):cap(e.heap)])
		for _, q := range e.runs {
			held = append(held, q.list[len(q.list):cap(q.list)]...)
			held = append(held, q.list[:q.head]...)
		}
		if slices.ContainsFunc(held, func(d due[int64]) bool { return d != due[int64]{} }) {
			t.Errorf("disorder %d: something that was taken is held on to", disorder)
		}
	}
}
