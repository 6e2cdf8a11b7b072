package forest

import (
	"fmt"
	"runtime"

	"cancha/ml/tree"
	"cancha/runtime/gpu"
)

// Values of MaxFeatures beside counts and fractions, and of MaxBins beside counts.
const (
	All  = tree.All
	Sqrt = tree.Sqrt
	Log2 = tree.Log2

	Exact = tree.Exact // of MaxBins
)

// Config says how a forest is grown. The zero value is scikit-learn's default: 100 unlimited trees on bootstrap
// samples, gini and the square root of the columns for classes, squared error and all columns for numbers.
type Config struct {
	Trees               int            // n_estimators, at most a million; 0: 100
	Criterion           tree.Criterion // criterion: tree.Gini, tree.Entropy, tree.LogLoss, tree.SquaredError, tree.Poisson; empty: what fits
	MaxDepth            int            // max_depth; 0: no limit
	MaxFeatures         float64        // max_features: a count up to that of the columns, a fraction below 1, All, Sqrt or Log2; 0: Sqrt for classes, All for numbers
	MinSamplesSplit     int            // min_samples_split, in distinct rows; 0: 2
	MinSamplesLeaf      int            // min_samples_leaf, in distinct rows; 0: 1
	MaxLeafNodes        int            // max_leaf_nodes: the leaves that gain most are split first; 0: no limit
	MinImpurityDecrease float64        // min_impurity_decrease; 0: any split
	// MaxBins is into how many bins a column is put, 2 to 65536; columns with no more distinct values are split exactly.
	// More than 256 cost time. Exact: a bin for each value, and so scikit-learn's splits. 0: 256.
	MaxBins int

	NoBootstrap bool    // bootstrap=False: every tree sees every row once
	MaxSamples  float64 // max_samples as a fraction of the rows (or groups) drawn for each tree, up to 1; 0: 1
	// ByGroup draws whole groups, such as matches, with replacement instead of single rows: rows of one group resemble
	// each other, and a sample of rows hardly leaves a group out. The dataset names the groups. scikit-learn has no word for it.
	ByGroup bool

	// OOB (oob_score) lets the forest answer for its training rows, each by the trees that did not see it: see
	// [Classifier].OOBScore. With ByGroup they have not seen its group either.
	OOB bool

	// Weights of rows and classes weigh the rows that were drawn, as in scikit-learn before 1.9, which draws rows by their
	// weight instead.
	Balanced    bool               // class_weight="balanced": rows / (classes x rows of the class)
	ClassWeight map[string]float64 // class_weight: by name, 0 or from 1e-60 to 1e60; classes not named weigh 1; not together with Balanced

	Seed uint64 // random_state
	// Session chooses where the forest is grown, nil being the CPU: the trees are the same to the bit. On a GPU it counts the rows of
	// nodes above 4,096, for two or three classes judged by Gini's impurity, without weights and MaxLeafNodes, in up to 256 bins;
	// anything else is grown on the CPU. Session.Explain tells why, under "forest fit". Progress must not use the session.
	Session *gpu.Session
	Workers int // n_jobs: goroutines, which share trees where there are more of them; 0: all cores
	// Trainer grows the forest elsewhere, such as on a cluster: see [On]. It refuses by name what it has no counterpart of. Nil: it is grown here.
	Trainer Trainer
	// Progress, if set, is called after each tree, from one goroutine at a time, with the number of trees done.
	Progress func(done, total int)
}

// normalize fills what was left 0 and names the first contradiction.
func (c Config) normalize(classes bool) (Config, error) {
	if c.Trees == 0 {
		c.Trees = 100
	}
	if c.MaxFeatures == 0 && classes {
		c.MaxFeatures = Sqrt
	}
	if c.MaxBins == 0 {
		c.MaxBins = 256
	}
	if c.MaxSamples == 0 {
		c.MaxSamples = 1
	}
	if c.Workers == 0 {
		c.Workers = runtime.GOMAXPROCS(0)
	}
	return c, c.validate(classes)
}

// mostTrees is far above what any table needs, and low enough that a slip of the keyboard does not take all memory.
const mostTrees = 1_000_000

// validate reports the first setting that makes no sense here; those of a single tree are checked by package tree.
func (c Config) validate(classes bool) error {
	switch {
	case c.Trees < 0 || c.Trees > mostTrees:
		return fmt.Errorf("forest: %d trees; between 1 and %d are possible, and 0 means 100", c.Trees, mostTrees)
	case c.Workers < 0:
		return fmt.Errorf("forest: %d workers; 0 means all cores", c.Workers)
	case !(c.MaxSamples > 0 && c.MaxSamples <= 1):
		return fmt.Errorf("forest: max samples %v is not a fraction between 0 and 1", c.MaxSamples)
	case c.NoBootstrap && (c.ByGroup || c.MaxSamples < 1):
		return fmt.Errorf("forest: without bootstrap every tree sees all rows; drop ByGroup and MaxSamples")
	case c.NoBootstrap && c.OOB:
		return fmt.Errorf("forest: without bootstrap every tree sees all rows, so none is out of bag; drop OOB")
	case !classes && (c.Balanced || c.ClassWeight != nil):
		return fmt.Errorf("forest: a regression has no classes to weigh")
	case c.Balanced && c.ClassWeight != nil:
		return fmt.Errorf("forest: Balanced and ClassWeight exclude each other")
	}
	for name, w := range c.ClassWeight {
		if w != 0 && !(w >= leastWeight && w <= mostWeight) {
			return fmt.Errorf("forest: class weight %v of %q; a weight is 0, or from %g to %g", w, name, leastWeight, mostWeight)
		}
	}
	return nil
}

// tree returns the part of the settings that a single tree needs.
func (c Config) tree(class []float64) tree.Config {
	return tree.Config{Criterion: c.Criterion, MaxDepth: c.MaxDepth, MinSamplesSplit: c.MinSamplesSplit, MinSamplesLeaf: c.MinSamplesLeaf,
		MaxLeafNodes: c.MaxLeafNodes, MinImpurityDecrease: c.MinImpurityDecrease, MaxFeatures: c.MaxFeatures, ClassWeight: class}
}
