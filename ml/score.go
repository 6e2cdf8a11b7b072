package ml

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"

	"cancha/ml/metric"
)

// Scorer judges a model on rows. Greater is better.
type Scorer interface {
	Name() string // as it stands in tables
	Score(ctx context.Context, m Model, d *Dataset) (float64, error)
}

// Metric is a Scorer by the name that scikit-learn has for it. What is an error or a loss there is negative here as there. Rows count by their weights.
type Metric string

// The metrics of classifiers, and those of regressors.
const (
	Accuracy         Metric = "accuracy"
	NegLogLoss       Metric = "neg_log_loss"
	NegBrier         Metric = "neg_brier_score"   // of two classes half of [metric.Brier], as in scikit-learn
	NegRPS           Metric = "neg_rps"           // of classes in their natural order; scikit-learn has none
	ROCAUC           Metric = "roc_auc"           // of two classes that of the second, of more one against the rest: roc_auc_ovr
	AveragePrecision Metric = "average_precision" // of two classes that of the second, of more the mean
	F1Macro          Metric = "f1_macro"

	R2                      Metric = "r2"
	NegMeanSquaredError     Metric = "neg_mean_squared_error"
	NegRootMeanSquaredError Metric = "neg_root_mean_squared_error"
	NegMeanAbsoluteError    Metric = "neg_mean_absolute_error"
	NegPoissonDeviance      Metric = "neg_mean_poisson_deviance"
	D2Poisson               Metric = "d2_poisson" // the score of PoissonRegressor
)

// Name is the metric itself.
func (m Metric) Name() string { return string(m) }

// Score judges a model. A metric of another kind of model is an error, and so is a score that there is not: that of a ranking of rows of one class, for
// instance.
func (m Metric) Score(ctx context.Context, model Model, d *Dataset) (float64, error) {
	var v float64
	var err error
	switch of := model.(type) {
	case Classifier:
		v, err = m.classes(ctx, of, d)
	case Regressor:
		v, err = m.numbers(ctx, of, d)
	default:
		err = fmt.Errorf("ml: a %T is neither Classifier nor Regressor", model)
	}
	if err != nil {
		return 0, err
	}
	if math.IsNaN(v) {
		return 0, fmt.Errorf("ml: the rows have no %s: a class that no row has, or a single row, cannot be ranked or compared; take larger or stratified folds", m)
	}
	return v, nil
}

// known refuses a name that no metric has, before any model is fitted.
func (m Metric) known() error {
	if ofClasses()[m] == nil && ofNumbers()[m] == nil {
		return fmt.Errorf("ml: there is no metric %q; there are %q of classifiers and %q of regressors", m, metricNames(ofClasses()), metricNames(ofNumbers()))
	}
	return nil
}

// metricNames lists metrics.
func metricNames[F any](metrics map[Metric]F) []Metric { return slices.Sorted(maps.Keys(metrics)) }

// classes judges probabilities.
func (m Metric) classes(ctx context.Context, c Classifier, d *Dataset) (float64, error) {
	measure := ofClasses()[m]
	if measure == nil {
		return 0, fmt.Errorf("ml: %q is no metric of classifiers; there are %q", m, metricNames(ofClasses()))
	}
	if err := d.ValidateLabels(d.Classes); err != nil {
		return 0, err
	}
	if err := d.validateRows(); err != nil {
		return 0, err
	}
	p, err := PredictProba(ctx, c, d)
	if err != nil {
		return 0, err
	}
	return measure(p, d), nil
}

// ofClasses are the metrics of classifiers.
func ofClasses() map[Metric]func(p [][]float64, d *Dataset) float64 {
	return map[Metric]func(p [][]float64, d *Dataset) float64{
		Accuracy:         func(p [][]float64, d *Dataset) float64 { return metric.Share(MostProbable(p), d.Labels, d.Weights) },
		F1Macro:          func(p [][]float64, d *Dataset) float64 { return metric.F1(MostProbable(p), d.Labels, d.Weights) },
		ROCAUC:           func(p [][]float64, d *Dataset) float64 { return metric.ROCAUC(p, d.Labels, d.Weights) },
		AveragePrecision: func(p [][]float64, d *Dataset) float64 { return metric.MacroAveragePrecision(p, d.Labels, d.Weights) },
		NegLogLoss: func(p [][]float64, d *Dataset) float64 {
			return -metric.WeightedMean(metric.LogLosses(p, d.Labels), d.Weights)
		},
		NegRPS: func(p [][]float64, d *Dataset) float64 {
			return -metric.WeightedMean(metric.RPSs(p, d.Labels), d.Weights)
		},
		NegBrier: func(p [][]float64, d *Dataset) float64 {
			loss := metric.WeightedMean(metric.Briers(p, d.Labels), d.Weights)
			if len(d.Classes) == 2 {
				loss /= 2
			}
			return -loss
		},
	}
}

// numbers judges predictions of targets.
func (m Metric) numbers(ctx context.Context, r Regressor, d *Dataset) (float64, error) {
	measure := ofNumbers()[m]
	if measure == nil {
		return 0, fmt.Errorf("ml: %q is no metric of regressors; there are %q", m, metricNames(ofNumbers()))
	}
	if err := d.ValidateTargets(); err != nil {
		return 0, err
	}
	predicted, err := PredictNumbers(ctx, r, d)
	if err != nil {
		return 0, err
	}
	return measure(predicted, d.Targets, d.Weights), nil
}

// ofNumbers are the metrics of regressors.
func ofNumbers() map[Metric]func(predicted, targets, weights []float64) float64 {
	return map[Metric]func(predicted, targets, weights []float64) float64{
		R2:                      metric.R2,
		D2Poisson:               metric.D2Poisson,
		NegMeanSquaredError:     func(p, y, w []float64) float64 { return -metric.MeanSquaredError(p, y, w) },
		NegRootMeanSquaredError: func(p, y, w []float64) float64 { return -math.Sqrt(metric.MeanSquaredError(p, y, w)) },
		NegMeanAbsoluteError:    func(p, y, w []float64) float64 { return -metric.MeanAbsoluteError(p, y, w) },
		NegPoissonDeviance:      func(p, y, w []float64) float64 { return -metric.WeightedMean(metric.PoissonDeviances(p, y), w) },
	}
}

// OwnScore is the Scorer that asks a model's own Score: what is measured where no scorer is named.
type OwnScore struct{}

// Name is "score".
func (OwnScore) Name() string { return "score" }

// Score is the model's.
func (OwnScore) Score(ctx context.Context, m Model, d *Dataset) (float64, error) {
	return m.Score(ctx, d)
}
