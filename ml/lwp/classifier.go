package lwp

import (
	"context"
	"fmt"
	"slices"

	"cancha/ml"
	"cancha/ml/forest"
	"cancha/ml/modelfile"
)

// Classifier answers with the probabilities of the outcomes: a forest, or what was trained in its place, such as a network. It is safe
// for concurrent use.
type Classifier interface {
	// Columns returns the names of the columns of a row, and of the classes in the order of the probabilities.
	Columns() (features, classes []string)
	// ProbasTo fills dst, one number per row and class, with the probabilities for rows that stand one after the other in values.
	ProbasTo(dst []float64, values []float32)
	// Store writes the classifier into a model file under a prefix.
	Store(file *modelfile.File, prefix string) error
}

// trees is a forest as a Classifier.
type trees struct{ *forest.Classifier }

func (t trees) Columns() (features, classes []string) { return t.Features, t.Classes }

// FitClassifier trains a model of target Outcome, with what learn makes of [OutcomeDataset] in a forest's place. Its kind, "network" say,
// stands in the model file, and in tables where no name is given. OpenClassifier reads what its Save writes.
func FitClassifier(ctx context.Context, train *Matches, name, kind string, learn func(context.Context, *ml.Dataset) (Classifier, error)) (*Model, error) {
	if kind == "" || kind == "forest" {
		return nil, fmt.Errorf("lwp: a classifier of kind %q: Fit trains forests", kind)
	}
	d := OutcomeDataset(train)
	c, err := learn(ctx, d)
	if err == nil {
		err = fitting(c)
	}
	if err != nil {
		return nil, fmt.Errorf("lwp: train a %s: %w", kind, err)
	}
	if name == "" {
		name = kind + ", " + string(Outcome)
	}
	m := &Model{Info: newInfo(train, name, Outcome, d.Rows()), of: outcomes{c, kind}, ratings: train.ratings}
	m.Info.Kind = kind
	return m, nil
}

// OpenClassifier reads a model of that kind that FitClassifier trained and Save wrote; load reads the classifier that Store wrote under a
// prefix. Errors are as Open's.
func OpenClassifier(path, kind string, load func(file *modelfile.File, prefix string) (Classifier, error)) (*Model, error) {
	return open(path, kind, load)
}

// fitting refuses a classifier of other columns, or of classes in another order.
func fitting(c Classifier) error {
	features, classes := c.Columns()
	if err := sameColumns(features, outcomeColumns()); err != nil {
		return err
	}
	if !slices.Equal(classes, Classes()) {
		return fmt.Errorf("its classes are %q, this program knows %q; train and save again: %w", classes, Classes(), modelfile.ErrDamaged)
	}
	return nil
}
