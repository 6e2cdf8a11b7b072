package nn

import (
	"fmt"
	"math"
	"math/rand/v2"
)

// shape is the size of a network. Its parameters stand in one slice: the first layer's weights (in × hidden) and biases, then the
// second's (hidden × out).
type shape struct{ in, hidden, out int }

// Where each part of the parameters begins, and how many there are.
func (s shape) bias1() int   { return s.in * s.hidden }
func (s shape) weight2() int { return s.bias1() + s.hidden }
func (s shape) bias2() int   { return s.weight2() + s.hidden*s.out }
func (s shape) params() int  { return s.bias2() + s.out }

// check refuses a network, or data of so many rows, that is beyond the 32-bit numbers in which devices count.
func (s shape) check(rows, batch int) error {
	for _, most := range []struct {
		name string
		a, b int
	}{
		{"the data", rows, s.in}, {"the weights", s.in + 2*s.out + 1, s.hidden}, {"the inputs of a batch", batch, s.in},
		{"the hidden layer of a batch", batch, s.hidden}, {"the outputs of a batch", batch, s.out},
	} {
		if most.a > math.MaxInt32/most.b {
			return fmt.Errorf("nn: %s: %d × %d numbers are more than a device counts (%d); take fewer rows, columns, units or classes",
				most.name, most.a, most.b, math.MaxInt32)
		}
	}
	return nil
}

// first returns the parameters before the first step: normal weights of variance 2/in where relu follows (He et al., 2015) and 1/hidden
// where it does not (LeCun et al., 1998), and biases of 0.
func (s shape) first(seed uint64) []float32 {
	r := rand.New(rand.NewPCG(seed, 0))
	p := make([]float32, s.params())
	draw := func(w []float32, variance float64) {
		for i := range w {
			w[i] = float32(r.NormFloat64() * math.Sqrt(variance))
		}
	}
	draw(p[:s.bias1()], 2/float64(s.in))
	draw(p[s.weight2():s.bias2()], 1/float64(s.hidden))
	return p
}

// order is the order in which an epoch, from 1, sees the rows.
func order(seed uint64, epoch, rows int) []int32 {
	r := rand.New(rand.NewPCG(seed, uint64(epoch)))
	all := make([]int32, rows)
	for i := range all {
		all[i] = int32(i)
	}
	r.Shuffle(rows, func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all
}
