package forest

import (
	"context"
	"fmt"
	"slices"

	"cancha/ml"
	"cancha/ml/tree"
)

// Classifier is a forest that answers with a probability for each class. It is safe for concurrent use.
type Classifier struct {
	Features []string // names of the columns of a row
	Classes  []string // order of the probabilities
	ensemble
}

// Regressor is a forest that answers with a number. It is safe for concurrent use.
type Regressor struct {
	Features []string // names of the columns of a row
	ensemble
}

// ensemble is a list of trees of the same shape, and what they learned by.
type ensemble struct {
	trees      []*tree.Tree
	importance []float64
	walker     *walker // the trees laid out for answers; nil where they cannot be
	missing    bool    // the trees know where to send a row that lacks a number
}

// FitClassifier grows a forest on the labels of the dataset. It returns early with ctx's error when ctx is done.
func FitClassifier(ctx context.Context, d *ml.Dataset, c Config) (*Classifier, error) {
	c, err := check(d, c, true)
	if err != nil {
		return nil, err
	}
	class, err := classWeights(d, c)
	if err != nil {
		return nil, err
	}
	if err := checkWeights(d, class); err != nil {
		return nil, err
	}
	g, err := newGrower(ctx, d, c)
	if err != nil {
		return nil, err
	}
	g.builder, g.tree = tree.NewClassifier, c.tree(class)
	if err := g.fit(ctx, "classifier"); err != nil {
		return nil, err
	}
	return &Classifier{Features: d.Features, Classes: d.Classes, ensemble: newEnsemble(g.trees)}, nil
}

// FitRegressor grows a forest on the targets of the dataset. It returns early with ctx's error when ctx is done.
func FitRegressor(ctx context.Context, d *ml.Dataset, c Config) (*Regressor, error) {
	c, err := check(d, c, false)
	if err != nil {
		return nil, err
	}
	g, err := newGrower(ctx, d, c)
	if err != nil {
		return nil, err
	}
	g.builder, g.tree = tree.NewRegressor, c.tree(nil)
	if err := g.fit(ctx, "regressor"); err != nil {
		return nil, err
	}
	return &Regressor{Features: d.Features, ensemble: newEnsemble(g.trees)}, nil
}

// check validates the dataset and completes the settings.
func check(d *ml.Dataset, c Config, classes bool) (Config, error) {
	if err := d.Validate(); err != nil {
		return c, fmt.Errorf("forest: %w", err)
	}
	if d.Rows() == 0 {
		return c, fmt.Errorf("forest: the dataset has no rows")
	}
	if c.ByGroup && d.Groups == nil {
		return c, fmt.Errorf("forest: ByGroup draws groups of rows, and the dataset names none; set its Groups, or leave ByGroup out")
	}
	return c.normalize(classes)
}

// readyEnsemble returns an ensemble that can answer.
func readyEnsemble(trees []*tree.Tree, importance []float64) ensemble {
	missing := slices.ContainsFunc(trees, func(t *tree.Tree) bool { return t.MissingLeft != nil })
	return ensemble{trees: trees, importance: importance, walker: newWalker(trees), missing: missing}
}

// newEnsemble averages the trees' importances, each normalized to 1, as scikit-learn does.
func newEnsemble(trees []*tree.Tree) ensemble {
	e := readyEnsemble(trees, make([]float64, trees[0].Columns))
	for _, t := range trees {
		sum := 0.0
		for _, v := range t.Importance {
			sum += v
		}
		if sum <= 0 {
			continue
		}
		for k, v := range t.Importance {
			e.importance[k] += max(v, 0) / sum // a split without gain may have a little less than none, by rounding
		}
	}
	total := 0.0
	for _, v := range e.importance {
		total += v
	}
	for k := range e.importance {
		if total > 0 {
			e.importance[k] /= total
		}
	}
	return e
}

// Trees returns the trees. They are shared with the forest: do not change them.
func (e *ensemble) Trees() []*tree.Tree { return e.trees }

// Importance returns, for each column, its share of the impurity that all splits removed. The shares sum to 1 unless
// no tree has a split. Columns with many values are favoured, as with every impurity importance.
func (e *ensemble) Importance() []float64 { return e.importance }

// Nodes returns the number of nodes of all trees.
func (e *ensemble) Nodes() int {
	n := 0
	for _, t := range e.trees {
		n += len(t.Nodes)
	}
	return n
}
