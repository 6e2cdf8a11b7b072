package nn

import (
	"fmt"
	"math"

	"cancha/runtime/gpu"
)

// Config says how a network is trained. The zero value is 256 hidden units and ten epochs of batches of 64, on the CPU.
type Config struct {
	Hidden int      // units of the hidden layer; 0: 256
	Batch  int      // rows of a step; the last of an epoch has what is left; 0: 64
	Epochs int      // times that all rows are seen, at most a million; 0: 10
	Adam   gpu.Adam // the optimizer; what is 0 is as its paper has it

	// Standardize takes each column's mean away and divides it by its deviation, both of the training rows; the network keeps them
	// and does the same before it answers. Columns of different units need it; pixels do not.
	Standardize bool

	Seed uint64 // of the first weights and of the order of the rows

	// Session chooses where Fit runs; nil is the CPU, all cores. It tells why in its Explain, under "train a network".
	Session *gpu.Session

	// Progress, if set, is called for each batch in order, epoch and batch from 1, with the mean loss of its rows before the step. It
	// may come some batches late, so that a GPU need not wait for it. When a GPU fails and the CPU starts anew, so do the epochs.
	Progress func(epoch, batch int, loss float64)
}

// normalize fills what was left 0 and names the first setting that makes no sense.
func (c Config) normalize() (Config, error) {
	for _, set := range []struct {
		at *int
		to int
	}{{&c.Hidden, 256}, {&c.Batch, 64}, {&c.Epochs, 10}} {
		if *set.at == 0 {
			*set.at = set.to
		}
	}
	c.Adam = c.Adam.Or()
	return c, c.validate()
}

// mostEpochs is far above what any table needs, and low enough that a slip of the keyboard does not take all memory.
const mostEpochs = 1_000_000

func (c Config) validate() error {
	switch a := c.Adam; {
	case c.Hidden < 0:
		return fmt.Errorf("nn: %d hidden units", c.Hidden)
	case c.Batch < 0:
		return fmt.Errorf("nn: batches of %d rows", c.Batch)
	case c.Epochs < 0 || c.Epochs > mostEpochs:
		return fmt.Errorf("nn: %d epochs; between 1 and %d are possible, and 0 means 10", c.Epochs, mostEpochs)
	case !(a.Rate > 0) || math.IsInf(float64(a.Rate), 0):
		return fmt.Errorf("nn: a learning rate of %v; it is above 0", a.Rate)
	case !(a.Beta1 > 0 && a.Beta1 < 1 && a.Beta2 > 0 && a.Beta2 < 1):
		return fmt.Errorf("nn: betas of %v and %v; both are between 0 and 1", a.Beta1, a.Beta2)
	case !(a.Epsilon > 0) || math.IsInf(float64(a.Epsilon), 0):
		return fmt.Errorf("nn: an epsilon of %v; it is above 0", a.Epsilon)
	}
	return nil
}
