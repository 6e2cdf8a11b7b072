package forest

import (
	"math/rand/v2"

	"cancha/ml"
)

// streamOfRows sets a tree's draws of rows apart from its draws of columns.
const streamOfRows = 0x726f7773

// bootstrap draws the rows of each tree.
type bootstrap struct {
	config Config
	base   []float64 // weight of each row before any draw
	unit   []int32   // what is drawn: for each row, its own number or that of its group
	units  int
}

// newBootstrap numbers what can be drawn; rows that weigh nothing are drawn all the same, as in scikit-learn.
func newBootstrap(d *ml.Dataset, c Config, base []float64) *bootstrap {
	b := &bootstrap{config: c, base: base, unit: make([]int32, d.Rows())}
	number := map[int64]int32{}
	for i := range b.unit {
		if !c.ByGroup {
			b.unit[i] = int32(i)
			continue
		}
		g := d.Group(i)
		if _, ok := number[g]; !ok {
			number[g] = int32(len(number))
		}
		b.unit[i] = number[g]
	}
	b.units = len(b.unit)
	if c.ByGroup {
		b.units = len(number)
	}
	return b
}

// weights fills dst with each row's weight times how often it was drawn for the tree of this seed.
func (b *bootstrap) weights(dst []float64, seed uint64) {
	if b.config.NoBootstrap {
		copy(dst, b.base)
		return
	}
	rng := rand.New(rand.NewPCG(seed, streamOfRows))
	drawn := make([]int32, b.units)
	for range max(int(b.config.MaxSamples*float64(b.units)+0.5), 1) {
		drawn[rng.IntN(b.units)]++
	}
	for i, w := range b.base {
		dst[i] = w * float64(drawn[b.unit[i]])
	}
}
