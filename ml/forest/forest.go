package forest

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"cancha/ml"
	"cancha/ml/tree"
)

// Classifier is a forest that answers with a probability for each class. It is safe for concurrent use.
type Classifier struct {
	Features []string // names of the columns of a row
	Classes  []string // order of the probabilities
	// OOBProba, of a forest grown with Config.OOB, are the probabilities of each training row by the trees that did not see it
	// (oob_decision_function_), NaN of a row that all have seen, and OOBScore is their accuracy, by weights (oob_score_). They are
	// not saved.
	OOBProba [][]float64
	OOBScore float64
	ensemble
}

// Regressor is a forest that answers with a number. It is safe for concurrent use.
type Regressor struct {
	Features []string // names of the columns of a row
	// OOBPrediction and OOBScore, their R², are as a [Classifier]'s.
	OOBPrediction []float64
	OOBScore      float64
	ensemble
}

// ensemble is a list of trees of the same shape, and what they learned by.
type ensemble struct {
	trees      []*tree.Tree
	importance []float64
	walker     *walker // the trees laid out for answers; nil where they cannot be
	missing    bool    // the trees know where to send a row that lacks a number
}

// String says what the forest answers, and from which columns.
func (f *Classifier) String() string {
	return fmt.Sprintf("random forest of %d trees for %s from %s", len(f.trees), strings.Join(f.Classes, ", "), strings.Join(f.Features, ", "))
}

// String says what the forest answers from.
func (f *Regressor) String() string {
	return fmt.Sprintf("random forest of %d trees for a number from %s", len(f.trees), strings.Join(f.Features, ", "))
}

// FitClassifier grows a forest on the labels of the dataset, here or by [Config].Trainer. It returns early with ctx's error when ctx is done.
func FitClassifier(ctx context.Context, d *ml.Dataset, c Config) (*Classifier, error) {
	if c.Trainer != nil {
		return elsewhere(ctx, d, c, true, c.Trainer.FitClassifier)
	}
	return (&Classifier{}).Extend(ctx, d, c)
}

// Extend returns a forest of c.Trees trees, the first of which are those of f: scikit-learn's warm_start. The dataset has f's
// features and classes, and needs exact values ([ml.Dataset.WideColumn]) where f's did; with the same rows, settings and seed the result is the forest
// that is grown at once. F stays as it is.
func (f *Classifier) Extend(ctx context.Context, d *ml.Dataset, c Config) (*Classifier, error) {
	c, err := check(d, c, true)
	if err != nil {
		return nil, err
	}
	if err := f.extensible(d, f.Features, d.Classes, f.Classes, c); err != nil {
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
	g.builder, g.tree, g.from = tree.NewClassifier, c.tree(class), f.trees
	if err := g.fit(ctx, "classifier"); err != nil {
		return nil, err
	}
	out := &Classifier{Features: d.Features, Classes: d.Classes, ensemble: f.extended(g.trees)}
	if c.OOB {
		if err := out.judgeOutOfBag(ctx, g); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// FitRegressor grows a forest on the targets of the dataset, here or by [Config].Trainer. It returns early with ctx's error when ctx is done.
func FitRegressor(ctx context.Context, d *ml.Dataset, c Config) (*Regressor, error) {
	if c.Trainer != nil {
		return elsewhere(ctx, d, c, false, c.Trainer.FitRegressor)
	}
	return (&Regressor{}).Extend(ctx, d, c)
}

// Extend returns a forest of c.Trees trees, the first of which are those of f, as a [Classifier]'s does.
func (f *Regressor) Extend(ctx context.Context, d *ml.Dataset, c Config) (*Regressor, error) {
	c, err := check(d, c, false)
	if err != nil {
		return nil, err
	}
	if err := f.extensible(d, f.Features, nil, nil, c); err != nil {
		return nil, err
	}
	g, err := newGrower(ctx, d, c)
	if err != nil {
		return nil, err
	}
	g.builder, g.tree, g.from = tree.NewRegressor, c.tree(nil), f.trees
	if err := g.fit(ctx, "regressor"); err != nil {
		return nil, err
	}
	out := &Regressor{Features: d.Features, ensemble: f.extended(g.trees)}
	if c.OOB {
		if err := out.judgeOutOfBag(ctx, g); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// extensible reports why trees of other data or settings cannot stand beside those of e. An empty ensemble fits anything.
func (e *ensemble) extensible(d *ml.Dataset, has, classes, hasClasses []string, c Config) error {
	switch {
	case c.Trainer != nil:
		return fmt.Errorf("forest: %s grows whole forests, and extends none; leave Trainer out, or grow all trees there", c.Trainer)
	case len(e.trees) == 0:
		return nil
	case c.Trees < len(e.trees):
		return fmt.Errorf("forest: a forest of %d trees cannot be extended to %d; Trees counts all of them", len(e.trees), c.Trees)
	case !slices.Equal(d.Features, has):
		return fmt.Errorf("forest: the forest has features %q, the dataset %q; extend it with rows of the same", has, d.Features)
	case !slices.Equal(classes, hasClasses):
		return fmt.Errorf("forest: the forest has classes %q, the dataset %q; extend it with rows of the same", hasClasses, classes)
	}
	if exact := d.WideColumn() >= 0; exact != (e.trees[0].Exact != nil) {
		return fmt.Errorf("forest: the forest learned from exact values: %v, and the dataset has a column that needs them: %v; extend it with rows of the same kind, or grow all trees anew", !exact, exact)
	}
	return nil
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
func newEnsemble(trees []*tree.Tree) ensemble { return (&ensemble{}).extended(trees) }

// extended returns the ensemble of trees, the first of which are those of e. Where those were read from a file, their
// importance is e's.
func (e *ensemble) extended(trees []*tree.Tree) ensemble {
	importance, fresh := make([]float64, trees[0].Columns), trees
	if trees[0].Importance == nil {
		fresh = trees[len(e.trees):]
		for k, v := range e.importance {
			importance[k] = v * float64(len(e.trees))
		}
	}
	for _, t := range fresh {
		sum := 0.0
		for _, v := range t.Importance {
			sum += v
		}
		if sum <= 0 {
			continue
		}
		for k, v := range t.Importance {
			importance[k] += max(v, 0) / sum // a split without gain may have a little less than none, by rounding
		}
	}
	total := 0.0
	for _, v := range importance {
		total += v
	}
	for k := range importance {
		if total > 0 {
			importance[k] /= total
		}
	}
	return readyEnsemble(alike(trees), importance)
}

// alike returns trees that all have MissingLeft, and Classes, if one of them has: some may have grown on rows that lack numbers and others on
// complete ones, and trees of other programs have dense leaves for many classes. Their answers stay what they are.
func alike(trees []*tree.Tree) []*tree.Tree {
	missing := slices.ContainsFunc(trees, func(t *tree.Tree) bool { return t.MissingLeft != nil })
	sparse := slices.ContainsFunc(trees, func(t *tree.Tree) bool { return t.Classes != nil })
	out := slices.Clone(trees)
	for i, t := range trees {
		same := *t
		if missing && t.MissingLeft == nil {
			same.MissingLeft = slices.Repeat([]bool{true}, len(t.Nodes)) // without it, left
		}
		if sparse {
			same.Classes = namedClasses(t)
		}
		if (same.MissingLeft != nil) != (t.MissingLeft != nil) || (same.Classes != nil) != (t.Classes != nil) {
			out[i] = &same
		}
	}
	return out
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
