package calibrate

import (
	"context"
	"fmt"
	"slices"

	"cancha/ml"
)

// Config says how a classifier is calibrated. The zero value is scikit-learn's default: sigmoids, and a model of each fold.
type Config struct {
	Method Method // empty: Sigmoid
	// Single makes one model of all rows, calibrated by what the models of the folds have answered for rows that they had not learned from
	// (ensemble=False). False: the models of all folds stay, each with its own curves, and answer together.
	Single bool
}

func (c Config) normalize() (Config, error) {
	if c.Method == "" {
		c.Method = Sigmoid
	}
	if !c.Method.known() {
		return c, fmt.Errorf("calibrate: there is no method %q; take %q, %q or %q", c.Method, Sigmoid, Isotonic, Temperature)
	}
	return c, nil
}

func (m Method) known() bool { return m == Sigmoid || m == Isotonic || m == Temperature }

// Classifier is a classifier whose probabilities are calibrated: several models with curves of their own, whose answers are averaged. It is safe for
// concurrent use if its models are.
type Classifier struct {
	Features []string // names of the columns of a row
	Classes  []string // order of the probabilities
	Method   Method
	parts    []part
}

// part is a model with its curves: one for each class, or one alone where there are two classes, or one power.
type part struct {
	model  ml.Classifier
	curves []curve
}

var _ ml.Classifier = (*Classifier)(nil)

// String says how which model is calibrated.
func (c *Classifier) String() string {
	return fmt.Sprintf("%v, calibrated (%s, %d times)", c.parts[0].model, c.Method, len(c.parts))
}

// Fit has learn fit a model to the train side of each split, and calibrates it on the test side. The folds should keep classes even and groups whole,
// as [ml.StratifiedKFold]'s do. Rows count by their weights. A test side without a row of some class is an error, for nothing is learned about it there.
func Fit(ctx context.Context, d *ml.Dataset, folds []ml.Split, learn ml.Learner, c Config) (*Classifier, error) {
	c, err := c.normalize()
	if err != nil {
		return nil, err
	}
	if err := check(d); err != nil {
		return nil, err
	}
	out := &Classifier{Features: d.Features, Classes: d.Classes, Method: c.Method}
	if c.Single {
		err = out.single(ctx, d, folds, learn)
	} else {
		_, err = ml.CrossValidate(ctx, d, folds, learn, keeper{out})
	}
	if err != nil {
		return nil, fmt.Errorf("calibrate: %w", err)
	}
	return out, nil
}

// FitOn calibrates a model that is there already, on rows that it has not learned from: scikit-learn's FrozenEstimator. Classes are those of the rows, in the
// order of the model's probabilities.
func FitOn(ctx context.Context, m ml.Classifier, held *ml.Dataset, c Config) (*Classifier, error) {
	c, err := c.normalize()
	if err != nil {
		return nil, err
	}
	if err := check(held); err != nil {
		return nil, err
	}
	out := &Classifier{Features: held.Features, Classes: held.Classes, Method: c.Method}
	if err := out.add(ctx, m, held); err != nil {
		return nil, fmt.Errorf("calibrate: %w", err)
	}
	return out, nil
}

// check refuses rows that nothing can be calibrated on.
func check(d *ml.Dataset) error {
	if err := d.Validate(); err != nil {
		return fmt.Errorf("calibrate: %w", err)
	}
	if err := d.ValidateLabels(d.Classes); err != nil {
		return fmt.Errorf("calibrate: %w", err)
	}
	if len(d.Classes) < 2 {
		return fmt.Errorf("calibrate: the dataset has %d classes: with fewer than two there are no probabilities", len(d.Classes))
	}
	return nil
}

// keeper takes each fold's model into a Classifier, instead of giving it a score.
type keeper struct{ of *Classifier }

// Name implements ml.Scorer.
func (k keeper) Name() string { return "calibration" }

// Score implements ml.Scorer.
func (k keeper) Score(ctx context.Context, m ml.Model, test *ml.Dataset) (float64, error) {
	model, ok := m.(ml.Classifier)
	if !ok {
		return 0, fmt.Errorf("a %T has no probabilities to calibrate", m)
	}
	return 0, k.of.add(ctx, model, test)
}

// single learns one model of all rows and curves of the folds' answers.
func (f *Classifier) single(ctx context.Context, d *ml.Dataset, folds []ml.Split, learn ml.Learner) error {
	p, err := ml.CrossPredictProba(ctx, d, folds, learn)
	if err != nil {
		return err
	}
	curves, err := f.curves(p, d)
	if err != nil {
		return err
	}
	m, err := learn(ctx, d)
	if err != nil {
		return fmt.Errorf("learn from all rows: %w", err)
	}
	model, ok := m.(ml.Classifier)
	if !ok {
		return fmt.Errorf("a %T has no probabilities to calibrate", m)
	}
	f.parts = []part{{model, curves}}
	return nil
}

// add calibrates a model on rows that it has not learned from.
func (f *Classifier) add(ctx context.Context, m ml.Classifier, held *ml.Dataset) error {
	p, err := ml.PredictProba(ctx, m, held)
	if err != nil {
		return err
	}
	curves, err := f.curves(p, held)
	if err != nil {
		return err
	}
	f.parts = append(f.parts, part{m, curves})
	return nil
}

// curves learns those of one model from what it has answered.
func (f *Classifier) curves(p [][]float64, d *ml.Dataset) ([]curve, error) {
	weights, seen := make([]float64, len(p)), make([]float64, len(f.Classes))
	for i := range p {
		weights[i] = d.Weight(i)
		seen[d.Labels[i]] += weights[i]
	}
	if k := slices.Index(seen, 0); k >= 0 {
		return nil, fmt.Errorf("no row of class %q is there to calibrate on; take fewer folds, or StratifiedKFold", f.Classes[k])
	}
	if f.Method == Temperature {
		return []curve{temperature(p, d.Labels, weights)}, nil
	}
	var all []curve
	for _, class := range f.mapped() {
		s := sample{make([]float64, len(p)), make([]bool, len(p)), weights}
		for i, row := range p {
			s.p[i], s.happened[i] = row[class], d.Labels[i] == class
		}
		c, err := f.Method.fit(s)
		if err != nil {
			return nil, fmt.Errorf("class %q: %w", f.Classes[class], err)
		}
		all = append(all, c)
	}
	return all, nil
}

// mapped are the classes that have a curve: of two the second, whose probability is all there is to know.
func (f *Classifier) mapped() []int {
	var all []int
	for k := range f.Classes {
		if k > 0 || len(f.Classes) > 2 {
			all = append(all, k)
		}
	}
	return all
}

func (m Method) fit(s sample) (curve, error) {
	if m == Isotonic {
		return s.isotonic(), nil
	}
	return s.sigmoid()
}

// PredictProba returns the calibrated probabilities of each row: the mean over the models. What else the dataset has to be, the models say. It returns early
// with ctx's cause when ctx is done.
func (f *Classifier) PredictProba(ctx context.Context, d *ml.Dataset) ([][]float64, error) {
	if err := d.ValidateFor(f.Features); err != nil {
		return nil, fmt.Errorf("calibrate: %w", err)
	}
	rows, k := *d, len(f.Classes)
	rows.Classes, rows.Labels = f.Classes, nil // those to predict need not name them
	all, out, row := make([]float64, d.Rows()*k), make([][]float64, d.Rows()), make([]float64, k)
	for i := range out {
		out[i] = all[i*k : (i+1)*k : (i+1)*k]
	}
	for _, each := range f.parts {
		p, err := ml.PredictProba(ctx, each.model, &rows)
		if err != nil {
			return nil, err
		}
		for i := range out {
			f.calibrate(row, p[i], each.curves)
			for class, v := range row {
				out[i][class] += v / float64(len(f.parts))
			}
		}
	}
	return out, nil
}

// calibrate sets dst to the calibrated probabilities p of one model.
func (f *Classifier) calibrate(dst, p []float64, curves []curve) {
	if f.Method == Temperature {
		soften(dst, p, curves[0].x[0])
		return
	}
	sum := 0.0
	for i, class := range f.mapped() {
		dst[class] = curves[i].at(f.Method, p[class])
		sum += dst[class]
	}
	switch {
	case len(dst) == 2:
		dst[0] = 1 - dst[1]
	case sum == 0: // no curve gives its class a chance: then all have the same
		for k := range dst {
			dst[k] = 1 / float64(len(dst))
		}
	default:
		for k := range dst {
			dst[k] /= sum
		}
	}
}

// Predict returns the most probable class of each row, an index into Classes; the first of equals.
func (f *Classifier) Predict(ctx context.Context, d *ml.Dataset) ([]int, error) {
	p, err := f.PredictProba(ctx, d)
	if err != nil {
		return nil, err
	}
	return ml.MostProbable(p), nil
}

// Score returns the accuracy on rows with labels, by their weights; see [ml.ScoreClassifier].
func (f *Classifier) Score(ctx context.Context, d *ml.Dataset) (float64, error) {
	return ml.ScoreClassifier(ctx, f, f.Classes, d)
}
