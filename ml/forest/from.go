package forest

import (
	"fmt"

	"cancha/ml"
	"cancha/ml/tree"
)

// NewClassifier makes a forest of trees that were grown elsewhere, such as those of a file in another format. Features name the columns of a
// row and classes the numbers in a leaf, no two the same; a leaf holds the share of each class, which sum to 1. The trees are one or more,
// all with [tree.Tree].Exact or none, MissingLeft and Classes likewise, and are not copied. What walking them could not survive, and answers that are no shares, are an error
// that names the tree.
func NewClassifier(features, classes []string, trees []*tree.Tree) (*Classifier, error) {
	if len(classes) == 0 {
		return nil, fmt.Errorf("forest: a classifier needs the names of its classes")
	}
	e, err := ensembleOf(features, classes, trees)
	if err != nil {
		return nil, err
	}
	for i, t := range trees {
		if err := checkShares(t); err != nil {
			return nil, fmt.Errorf("forest: tree %d: %w", i, err)
		}
	}
	return &Classifier{Features: features, Classes: classes, ensemble: e}, nil
}

// NewRegressor makes a forest of trees that were grown elsewhere, as [NewClassifier] does. A leaf holds one number, and the forest answers
// with the mean over the trees.
func NewRegressor(features []string, trees []*tree.Tree) (*Regressor, error) {
	e, err := ensembleOf(features, nil, trees)
	if err != nil {
		return nil, err
	}
	return &Regressor{Features: features, ensemble: e}, nil
}

// ensembleOf checks that the trees are of one shape and safe to walk. Classes are nil for numbers.
func ensembleOf(features, classes []string, trees []*tree.Tree) (ensemble, error) {
	if len(trees) == 0 {
		return ensemble{}, fmt.Errorf("forest: no trees; a forest has one or more")
	}
	if err := (&ml.Dataset{Features: features, Classes: classes}).Validate(); err != nil {
		return ensemble{}, fmt.Errorf("forest: %w", err)
	}
	for i, t := range trees {
		if t.Columns != len(features) || t.Outputs != max(len(classes), 1) {
			return ensemble{}, fmt.Errorf("forest: tree %d takes %d columns and answers with %d numbers; the forest has %d features and %d classes",
				i, t.Columns, t.Outputs, len(features), len(classes))
		}
		if first := trees[0]; (t.Exact == nil) != (first.Exact == nil) || (t.MissingLeft == nil) != (first.MissingLeft == nil) || (t.Classes == nil) != (first.Classes == nil) {
			return ensemble{}, fmt.Errorf("forest: tree %d and the first tree differ in whether they have Exact, MissingLeft or Classes; all have them, or none", i)
		}
		if err := t.Validate(); err != nil {
			return ensemble{}, fmt.Errorf("forest: tree %d: %w", i, err)
		}
	}
	return newEnsemble(trees), nil
}
