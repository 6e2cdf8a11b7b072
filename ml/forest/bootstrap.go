package forest

import (
	"math"
	"math/rand/v2"

	"cancha/ml"
)

// streamOfRows sets a tree's draws of rows apart from its draws of columns.
const streamOfRows = 0x726f7773

// bootstrap draws the rows of each tree.
type bootstrap struct {
	config Config
	unit   []int32 // what is drawn: for each row the number of its group; nil: rows
	units  int
}

// newBootstrap numbers what can be drawn; rows that weigh nothing are drawn all the same, as in scikit-learn.
func newBootstrap(d *ml.Dataset, c Config) *bootstrap {
	b := &bootstrap{config: c, units: d.Rows()}
	if !c.ByGroup {
		return b
	}
	b.unit = make([]int32, d.Rows())
	number := map[int64]int32{}
	for i := range b.unit {
		g := d.Group(i)
		if _, ok := number[g]; !ok {
			number[g] = int32(len(number))
		}
		b.unit[i] = number[g]
	}
	b.units = len(number)
	return b
}

// draw returns how often each row was drawn for the tree of this seed. It fills dst, one number per row, and uses drawn,
// one per unit.
func (b *bootstrap) draw(dst, drawn []uint16, seed uint64) []uint16 {
	if b.config.NoBootstrap {
		for i := range dst {
			dst[i] = 1
		}
		return dst
	}
	if b.unit == nil {
		drawn = dst
	}
	clear(drawn)
	rng := rand.New(rand.NewPCG(seed, streamOfRows))
	for range max(int(b.config.MaxSamples*float64(b.units)+0.5), 1) {
		k := rng.IntN(b.units)
		drawn[k] = min(drawn[k], math.MaxUint16-1) + 1
	}
	for i, unit := range b.unit {
		dst[i] = drawn[unit]
	}
	return dst
}

// distinct is how many rows a tree has that were drawn, on average, where all groups have as many: of n draws among n rows, n (1 - 1/e).
func (b *bootstrap) distinct() int {
	rows := max(len(b.unit), b.units)
	if b.config.NoBootstrap {
		return rows
	}
	return int(float64(rows) * -math.Expm1(-b.config.MaxSamples))
}
