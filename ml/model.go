package ml

import (
	"context"
	"fmt"
	"math"
	"slices"

	"cancha/ml/metric"
)

// Model is what has learned from a dataset: a [Classifier] or a [Regressor].
type Model interface {
	// Score tells how good the answers for the rows are, by the measure that suits the model: 1 is perfect.
	Score(ctx context.Context, d *Dataset) (float64, error)
	// Save writes the model to path, whole or not at all. Missing folders are made.
	Save(path string) error
}

// Classifier answers with classes. The models of this house learn the classes of their dataset in its order, so a class is the same number
// in [Dataset].Labels, in Predict and among the probabilities. Each of its methods returns early, with ctx's cause, when ctx is done.
type Classifier interface {
	Model // Score is the accuracy, see [ScoreClassifier]
	// Predict returns the most probable class of each row, an index into the classes.
	Predict(ctx context.Context, d *Dataset) ([]int, error)
	// PredictProba returns the probabilities of each row, one number per class, from 0 to 1, with a sum of 1.
	PredictProba(ctx context.Context, d *Dataset) ([][]float64, error)
}

// Regressor answers with numbers. Each of its methods returns early, with ctx's cause, when ctx is done.
type Regressor interface {
	Model // Score is R², see [ScoreRegressor], unless the model says otherwise
	// Predict returns the expected target of each row.
	Predict(ctx context.Context, d *Dataset) ([]float64, error)
}

// MostProbable returns the class of each row that has the greatest probability; the first of equals, as numpy's argmax does.
func MostProbable(p [][]float64) []int {
	out := make([]int, len(p))
	for i, row := range p {
		for k, v := range row {
			if v > row[out[i]] {
				out[i] = k
			}
		}
	}
	return out
}

// By how much probabilities may leave 0 to 1, and their sum 1, as package metric has it.
const (
	probaRounding = 1e-6
	probaSlack    = 0.05
)

// PredictProba asks a classifier for the probabilities of each row, and checks that they are some, for the rows and classes of the dataset. Whoever takes
// classifiers of other people asks them this way.
func PredictProba(ctx context.Context, c Classifier, d *Dataset) ([][]float64, error) {
	p, err := c.PredictProba(ctx, d)
	if err != nil {
		return nil, err
	}
	if len(p) != d.Rows() {
		return nil, fmt.Errorf("ml: a %T has probabilities of %d rows for a dataset of %d", c, len(p), d.Rows())
	}
	for i, row := range p {
		if len(row) != len(d.Classes) {
			return nil, fmt.Errorf("ml: the model has %d classes, the dataset %d: %q; set Classes to those of the model", len(row), len(d.Classes), d.Classes)
		}
		sum := 0.0
		for k, v := range row {
			if sum += v; !(v >= -probaRounding && v <= 1+probaRounding) {
				return nil, fmt.Errorf("ml: a %T gives class %q of row %d a probability of %v", c, d.Classes[k], i, v)
			}
		}
		if math.Abs(sum-1) > probaSlack {
			return nil, fmt.Errorf("ml: the probabilities that a %T gives row %d sum to %v, not to 1", c, i, sum)
		}
	}
	return p, nil
}

// PredictNumbers asks a regressor for each row, and checks that it answers with as many numbers, none of them NaN or infinite.
func PredictNumbers(ctx context.Context, r Regressor, d *Dataset) ([]float64, error) {
	v, err := r.Predict(ctx, d)
	if err != nil {
		return nil, err
	}
	if len(v) != d.Rows() {
		return nil, fmt.Errorf("ml: a %T answers %d rows of a dataset of %d", r, len(v), d.Rows())
	}
	for i, v := range v {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return nil, fmt.Errorf("ml: a %T answers row %d with %v", r, i, v)
		}
	}
	return v, nil
}

// ScoreClassifier is the accuracy: the share of the rows' weight whose label the model predicts, from 0 to 1: accuracy_score of scikit-learn with sample_weight.
// Classes are those that the model knows, in their order; a dataset without labels, or with other classes, is an error.
func ScoreClassifier(ctx context.Context, c Classifier, classes []string, d *Dataset) (float64, error) {
	if err := d.ValidateLabels(classes); err != nil {
		return 0, err
	}
	predicted, err := c.Predict(ctx, d)
	if err != nil {
		return 0, err
	}
	if len(predicted) != d.Rows() || slices.ContainsFunc(predicted, func(k int) bool { return k < 0 || k >= len(classes) }) {
		return 0, fmt.Errorf("ml: a %T answers %d rows of a dataset of %d, or with classes that it has not", c, len(predicted), d.Rows())
	}
	return metric.Share(predicted, d.Labels, d.Weights), nil
}

// ScoreRegressor is R²: the share of the targets' variance that the model explains: 1 is perfect, 0 is as good as their mean, less is worse; see
// [metric.R2]. A dataset without targets is an error.
func ScoreRegressor(ctx context.Context, r Regressor, d *Dataset) (float64, error) {
	if err := d.ValidateTargets(); err != nil {
		return 0, err
	}
	predicted, err := PredictNumbers(ctx, r, d)
	if err != nil {
		return 0, err
	}
	return metric.R2(predicted, d.Targets, d.Weights), nil
}

// ValidateLabels reports why the answers of a model that knows these classes cannot be compared with the labels: there are none, or no rows
// that weigh anything, or the classes are others or stand in another order.
func (d *Dataset) ValidateLabels(classes []string) error {
	if d.Labels == nil {
		return fmt.Errorf("ml: the dataset has no labels to compare with; set Labels and Classes")
	}
	if err := d.validateColumns(); err != nil {
		return err
	}
	if !slices.Equal(d.Classes, classes) {
		return fmt.Errorf("ml: the dataset's classes are %q, the model learned %q; labels count in the model's order", d.Classes, classes)
	}
	return d.weighs()
}

// ValidateTargets reports why the answers of a regression cannot be compared with the targets: there are none, or no rows that weigh anything.
func (d *Dataset) ValidateTargets() error {
	if d.Targets == nil {
		return fmt.Errorf("ml: the dataset has no targets to compare with; set Targets")
	}
	if err := d.validateColumns(); err != nil {
		return err
	}
	return d.weighs()
}

// weighs refuses a dataset over which there is no mean.
func (d *Dataset) weighs() error {
	for i := range d.Rows() {
		if d.Weight(i) > 0 {
			return nil
		}
	}
	return fmt.Errorf("ml: the dataset has no row that weighs more than 0; a score is a mean over rows")
}
