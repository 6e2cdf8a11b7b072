package tree

import (
	"fmt"
	"math"

	"cancha/ml"
)

// Criterion names how splits are judged, in scikit-learn's words.
type Criterion string

// Gini, Entropy and LogLoss are for classes, SquaredError and Poisson for numbers.
const (
	Gini         Criterion = "gini"
	Entropy      Criterion = "entropy"
	LogLoss      Criterion = "log_loss" // another name of Entropy, as in scikit-learn
	SquaredError Criterion = "squared_error"
	Poisson      Criterion = "poisson" // half the Poisson deviance; for targets from 0, such as counts
)

// Special values of MaxFeatures.
const (
	All  = -1 // every column
	Sqrt = -2 // the square root of the number of columns, rounded down
	Log2 = -3 // the base-2 logarithm of the number of columns, rounded down
)

// Config limits how a tree grows. The names are scikit-learn's in Go's form; the zero value is scikit-learn's
// DecisionTreeClassifier(): gini, all columns, grown until every leaf is pure.
type Config struct {
	Criterion           Criterion // criterion; empty: gini for classes, squared error for numbers
	MaxDepth            int       // max_depth, the root being at depth 0; 0: no limit
	MinSamplesSplit     int       // min_samples_split: fewer distinct rows are not split; 0: 2
	MinSamplesLeaf      int       // min_samples_leaf: least distinct rows in a leaf; 0: 1
	MaxLeafNodes        int       // max_leaf_nodes: the leaves that gain most are split first; 0: no limit
	MinImpurityDecrease float64   // min_impurity_decrease, weighted by the node's share of all rows; 0: any split
	// MaxFeatures (max_features) is how many columns each split looks at: a count from 1 to that of the columns, a
	// fraction strictly between 0 and 1, or All, Sqrt, Log2. 0: All. Note that 1 is one column, as scikit-learn's int 1.
	MaxFeatures float64
	// Workers is how many goroutines grow one tree, which is the same for any number; 0: one. With MaxLeafNodes it is one.
	Workers int
	// ClassWeight (class_weight) multiplies the weight of the rows of each class, 0 or from 1e-60 to 1e60, one per class
	// of the dataset; nil: 1 each.
	ClassWeight []float64
}

// normalize fills what was left 0 and names the first setting that makes no sense. Classes tells which criteria fit.
func (c Config) normalize(classes int) (Config, error) {
	if c.Criterion == "" {
		c.Criterion = SquaredError
		if classes > 0 {
			c.Criterion = Gini
		}
	}
	if c.MinSamplesSplit == 0 {
		c.MinSamplesSplit = 2
	}
	if c.MinSamplesLeaf == 0 {
		c.MinSamplesLeaf = 1
	}
	if c.MaxFeatures == 0 {
		c.MaxFeatures = All
	}
	if c.Criterion == LogLoss {
		c.Criterion = Entropy
	}
	return c, c.validate(classes)
}

// validate reports the first setting out of range.
func (c Config) validate(classes int) error {
	ofNumbers := c.Criterion == SquaredError || c.Criterion == Poisson
	switch {
	case c.Criterion != Gini && c.Criterion != Entropy && !ofNumbers:
		return fmt.Errorf("tree: criterion %q is not gini, entropy, log_loss, squared_error or poisson", c.Criterion)
	case (classes > 0) == ofNumbers:
		return fmt.Errorf("tree: criterion %q does not fit: gini, entropy and log_loss judge classes, squared_error and poisson judge numbers", c.Criterion)
	case c.MaxDepth < 0:
		return fmt.Errorf("tree: max depth %d is negative; 0 means no limit", c.MaxDepth)
	case c.Workers < 0:
		return fmt.Errorf("tree: %d workers; 0 means one", c.Workers)
	case c.MaxLeafNodes < 0 || c.MaxLeafNodes == 1:
		return fmt.Errorf("tree: max leaf nodes %d; it is 2 or more, or 0 for no limit", c.MaxLeafNodes)
	case c.ClassWeight != nil && len(c.ClassWeight) != classes:
		return fmt.Errorf("tree: %d class weights for %d classes", len(c.ClassWeight), classes)
	case c.MinSamplesSplit < 2:
		return fmt.Errorf("tree: min samples split %d; it is 2 or more, or 0 for 2", c.MinSamplesSplit)
	case c.MinSamplesLeaf < 1:
		return fmt.Errorf("tree: min samples leaf %d; it is 1 or more, or 0 for 1", c.MinSamplesLeaf)
	case !(c.MinImpurityDecrease >= 0) || math.IsInf(c.MinImpurityDecrease, 0):
		return fmt.Errorf("tree: min impurity decrease %v is not a number from 0", c.MinImpurityDecrease)
	}
	for k, w := range c.ClassWeight {
		if w != 0 && !(w >= leastWeight && w <= mostWeight) {
			return fmt.Errorf("tree: weight %v of class %d; a weight is 0, or from %g to %g", w, k, leastWeight, mostWeight)
		}
	}
	_, err := c.columns(1 << 30)
	return err
}

// columns resolves MaxFeatures for p columns: from 1 to p. A count above p is an error: it was meant for another table.
func (c Config) columns(p int) (int, error) {
	f := c.MaxFeatures
	n := 0
	switch {
	case f == All:
		n = p
	case f == Sqrt:
		n = int(math.Sqrt(float64(p)))
	case f == Log2:
		n = int(math.Log2(float64(p)))
	case f > 0 && f < 1:
		n = int(f * float64(p))
	case f > float64(p) && f == math.Trunc(f):
		return 0, fmt.Errorf("tree: max features %v of %d columns; it is a count up to that, a fraction below 1, or one of All, Sqrt, Log2", f, p)
	case f >= 1 && f == math.Trunc(f):
		n = int(f)
	default:
		return 0, fmt.Errorf("tree: max features %v is not a count, a fraction below 1, or one of All, Sqrt, Log2", f)
	}
	return min(max(n, 1), p), nil
}

// rowWeights returns the weight of each row: the dataset's times that of its class; nil where all weigh 1.
func (c Config) rowWeights(d *ml.Dataset) []float64 {
	if d.Weights == nil && c.ClassWeight == nil {
		return nil
	}
	weights := make([]float64, d.Rows())
	for i := range weights {
		weights[i] = d.Weight(i)
		if c.ClassWeight != nil {
			weights[i] *= c.ClassWeight[d.Labels[i]]
		}
	}
	return weights
}
