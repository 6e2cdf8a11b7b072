package spark

import (
	"cmp"
	"fmt"
	"strconv"

	"cancha/ml/forest"
	"cancha/ml/tree"
	"cancha/spark/internal/protocol"
)

// deepest is the most that Spark's trees have: a node is found by a number of 32 bits.
const deepest = 30

// forestParams are the settings in Spark's names. What has no counterpart there is an error by its name here.
func forestParams(c forest.Config, classes bool) (params map[string]*protocol.Literal, notes []string, err error) {
	if err := uncounted(c); err != nil {
		return nil, nil, err
	}
	depth := c.MaxDepth
	if depth == 0 {
		depth, notes = deepest, append(notes, fmt.Sprintf("MaxDepth 0 has no limit here; Spark's trees have %d levels at most.", deepest))
	}
	impurity, err := impurityOf(c.Criterion, classes)
	if err != nil {
		return nil, nil, err
	}
	strategy, err := strategyOf(c.MaxFeatures, classes)
	if err != nil {
		return nil, nil, err
	}
	t := treeParams{trees: cmp.Or(c.Trees, 100), depth: depth, bins: cmp.Or(c.MaxBins, 256), leaf: cmp.Or(c.MinSamplesLeaf, 1), sample: cmp.Or(c.MaxSamples, 1)}
	if err := t.validate(); err != nil {
		return nil, nil, err
	}
	if c.MinSamplesLeaf > 1 {
		notes = append(notes, "MinSamplesLeaf counts rows as often as they were drawn; here it counts distinct rows.")
	}
	if c.MinImpurityDecrease > 0 {
		notes = append(notes, "MinImpurityDecrease is what a split gains within its node; here that counts by the node's share of all rows, so that trees grown there are larger.")
	}
	params = t.params(strategy, c.Seed)
	params["numTrees"] = integer(int32(t.trees))
	params["impurity"] = word(impurity)
	params["minInfoGain"] = double(c.MinImpurityDecrease)
	params["bootstrap"] = &protocol.Literal{Of: &protocol.Literal_Boolean{Boolean: !c.NoBootstrap}}
	return params, notes, nil
}

// uncounted names the first setting that Spark's forests do not have.
func uncounted(c forest.Config) error {
	switch {
	case c.MaxLeafNodes != 0:
		return without("MaxLeafNodes", "limit trees by MaxDepth")
	case c.MinSamplesSplit > 2:
		return without("MinSamplesSplit", "use MinSamplesLeaf")
	case c.MinImpurityDecrease < 0:
		return fmt.Errorf("spark: MinImpurityDecrease %v is below 0", c.MinImpurityDecrease)
	case c.ByGroup:
		return without("ByGroup", "its samples are of rows; train here if groups matter")
	case c.OOB:
		return without("OOB", "keep rows apart for Evaluate")
	case c.Balanced, c.ClassWeight != nil:
		return without("Balanced and ClassWeight", "make a column of weights and name it in Roles.Weight")
	case c.MaxBins == forest.Exact:
		return without("MaxBins: Exact", "name how many bins a column has")
	case c.Session != nil:
		return without("Session", "a GPU of this machine cannot help there; servers have a plugin of their own, spark.connect.ml.backend.classes")
	case c.Workers != 0:
		return without("Workers", "the work is spread by the frame's partitions: Repartition")
	case c.Progress != nil:
		return without("Progress", "Config.Progress of the session tells of stages")
	case c.NoBootstrap && c.MaxSamples != 0 && c.MaxSamples < 1:
		return fmt.Errorf("spark: without bootstrap every tree sees all rows; drop MaxSamples")
	}
	return nil
}

func without(setting, instead string) error {
	return fmt.Errorf("spark: %s has no counterpart in Spark's trees: %s", setting, instead)
}

func impurityOf(c tree.Criterion, classes bool) (string, error) {
	switch {
	case classes && (c == "" || c == tree.Gini):
		return "gini", nil
	case classes && (c == tree.Entropy || c == tree.LogLoss):
		return "entropy", nil
	case !classes && (c == "" || c == tree.SquaredError):
		return "variance", nil
	}
	return "", without(fmt.Sprintf("Criterion %q", string(c)), "Spark has gini and entropy for classes, and squared_error for numbers")
}

// strategyOf says how many columns a split looks at.
func strategyOf(f float64, classes bool) (string, error) {
	switch {
	case f == forest.All, f == 0 && !classes:
		return "all", nil
	case f == forest.Sqrt, f == 0:
		return "sqrt", nil // rounded up, where it is rounded down here
	case f == forest.Log2:
		return "log2", nil
	case f > 0 && f < 1:
		return strconv.FormatFloat(f, 'f', -1, 64), nil
	case f >= 1 && f == float64(int32(f)):
		return strconv.Itoa(int(f)), nil
	}
	return "", fmt.Errorf("spark: MaxFeatures %v is no count of columns, no fraction below 1 and none of All, Sqrt and Log2", f)
}

// treeParams are what forests and boosted trees have in common.
type treeParams struct {
	trees, depth, bins, leaf int
	sample                   float64
}

func (t treeParams) validate() error {
	switch {
	case t.trees < 1 || t.trees > 1_000_000:
		return fmt.Errorf("spark: %d trees; want 1 to 1000000", t.trees)
	case t.depth < 1 || t.depth > deepest:
		return fmt.Errorf("spark: MaxDepth %d; Spark's trees have 1 to %d levels", t.depth, deepest)
	case t.bins < 2 || t.bins > 65536:
		return fmt.Errorf("spark: MaxBins %d; want 2 to 65536", t.bins)
	case t.leaf < 1 || t.leaf != int(int32(t.leaf)):
		return fmt.Errorf("spark: MinSamplesLeaf %d; want 1 or more", t.leaf)
	case !(t.sample > 0 && t.sample <= 1):
		return fmt.Errorf("spark: MaxSamples %v is not a fraction between 0 and 1", t.sample)
	}
	return nil
}

func (t treeParams) params(strategy string, seed uint64) map[string]*protocol.Literal {
	return map[string]*protocol.Literal{
		"maxDepth": integer(int32(t.depth)), "maxBins": integer(int32(t.bins)), "minInstancesPerNode": integer(int32(t.leaf)),
		"featureSubsetStrategy": word(strategy), "subsamplingRate": double(t.sample), "seed": long(int64(seed)),
	}
}

func (c Boosting) params() (map[string]*protocol.Literal, error) {
	t := treeParams{trees: cmp.Or(c.Trees, 100), depth: cmp.Or(c.MaxDepth, 5), bins: cmp.Or(c.MaxBins, 32), leaf: cmp.Or(c.MinSamplesLeaf, 1), sample: cmp.Or(c.MaxSamples, 1)}
	if err := t.validate(); err != nil {
		return nil, err
	}
	rate := cmp.Or(c.LearningRate, 0.1)
	if !(rate > 0 && rate <= 1) {
		return nil, fmt.Errorf("spark: LearningRate %v is not above 0 and up to 1", rate)
	}
	strategy, err := strategyOf(c.MaxFeatures, false)
	if err != nil {
		return nil, err
	}
	params := t.params(strategy, c.Seed)
	params["maxIter"], params["stepSize"] = integer(int32(t.trees)), double(rate)
	return params, nil
}
