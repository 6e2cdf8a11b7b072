package ml

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"cancha/ml/metric"
	"cancha/runtime/grid"
)

// Learner fits a model to rows, such as
//
//	func(ctx context.Context, train *ml.Dataset) (ml.Model, error) { return forest.FitClassifier(ctx, train, config) }
type Learner func(ctx context.Context, train *Dataset) (Model, error)

// CrossScores are the scores of models that have each learned from one part of the rows and were judged on another. They show themselves as a table.
type CrossScores struct {
	Scores             []CrossScore    // in the order of the scorers
	FitTime, ScoreTime []time.Duration // of each fold
}

// CrossScore is one score over all folds.
type CrossScore struct {
	Name  string
	Folds []float64
	Mean  float64
	Std   float64 // standard deviation over the folds, as numpy's std
}

// CrossValidate has learn fit a model to the train side of each split, and scores it on the test side: scikit-learn's cross_validate. Without
// scorers it is the model's own Score. Rows count by their weights, in fits and in scores. Folds come from [KFold], [StratifiedKFold], [ForwardFolds] or
// are any others; one with a row, or a group, on both sides is an error: a model that has seen a match knows how it ended. It ends with ctx's cause when ctx is
// done.
func CrossValidate(ctx context.Context, d *Dataset, folds []Split, learn Learner, scorers ...Scorer) (*CrossScores, error) {
	if len(scorers) == 0 {
		scorers = []Scorer{OwnScore{}}
	}
	c := &CrossScores{}
	for _, s := range scorers {
		if m, ok := s.(Metric); ok {
			if err := m.known(); err != nil {
				return nil, err
			}
		}
		c.Scores = append(c.Scores, CrossScore{Name: s.Name()})
	}
	err := eachFold(ctx, d, folds, learn, func(i int, m Model, test *Dataset, fit time.Duration) error {
		start := time.Now()
		for k, s := range scorers {
			v, err := s.Score(ctx, m, test)
			if err != nil {
				return fmt.Errorf("%s: %w", s.Name(), err)
			}
			c.Scores[k].Folds = append(c.Scores[k].Folds, v)
		}
		c.FitTime, c.ScoreTime = append(c.FitTime, fit), append(c.ScoreTime, time.Since(start))
		return nil
	})
	if err != nil {
		return nil, err
	}
	for k := range c.Scores {
		s := &c.Scores[k]
		s.Mean, s.Std = metric.Mean(s.Folds), deviation(s.Folds)
	}
	return c, nil
}

// eachFold fits a model to the train side of each split and hands it on with the rows of the test side. Errors name the fold, from 1.
func eachFold(ctx context.Context, d *Dataset, folds []Split, learn Learner, judge func(i int, m Model, test *Dataset, fit time.Duration) error) error {
	if err := d.Validate(); err != nil {
		return err
	}
	if len(folds) == 0 {
		return fmt.Errorf("ml: no folds; KFold, StratifiedKFold and ForwardFolds make some")
	}
	for i, s := range folds {
		if err := s.check(d); err != nil {
			return fmt.Errorf("ml: fold %d: %w", i+1, err)
		}
	}
	for i, s := range folds {
		if ctx.Err() != nil {
			return fmt.Errorf("ml: fold %d of %d: %w", i+1, len(folds), context.Cause(ctx))
		}
		start := time.Now()
		m, err := learn(ctx, d.Select(s.Train))
		if err == nil {
			err = judge(i, m, d.Select(s.Test), time.Since(start))
		}
		if err != nil {
			return fmt.Errorf("ml: fold %d of %d: %w", i+1, len(folds), err)
		}
	}
	return nil
}

// check refuses a split with an empty side, rows that there are not, or rows or groups on both sides.
func (s Split) check(d *Dataset) error {
	if len(s.Train) == 0 || len(s.Test) == 0 {
		return fmt.Errorf("%d rows to learn from and %d to test on; both sides need some", len(s.Train), len(s.Test))
	}
	learned := make(map[int64]bool)
	for _, i := range append(slices.Clone(s.Train), s.Test...) {
		if i < 0 || i >= d.Rows() {
			return fmt.Errorf("there is no row %d; the dataset has %d", i, d.Rows())
		}
	}
	for _, i := range s.Train {
		learned[d.Group(i)] = true
	}
	for _, i := range s.Test {
		if learned[d.Group(i)] {
			return fmt.Errorf("row %d, or its group %d, is on both sides: what was learned from it would be tested on it", i, d.Group(i))
		}
	}
	return nil
}

// CrossPredictProba returns for each row the probabilities of a classifier that has not learned from it: each fold's are of the model of all
// others, as scikit-learn's cross_val_predict with method="predict_proba". The test sides hold each row once.
func CrossPredictProba(ctx context.Context, d *Dataset, folds []Split, learn Learner) ([][]float64, error) {
	return crossPredict(ctx, d, folds, learn, func(m Model, test *Dataset) ([][]float64, error) {
		c, ok := m.(Classifier)
		if !ok {
			return nil, fmt.Errorf("a %T has no probabilities", m)
		}
		return PredictProba(ctx, c, test)
	})
}

// CrossPredict returns for each row what a regressor answers that has not learned from it; see [CrossPredictProba].
func CrossPredict(ctx context.Context, d *Dataset, folds []Split, learn Learner) ([]float64, error) {
	return crossPredict(ctx, d, folds, learn, func(m Model, test *Dataset) ([]float64, error) {
		r, ok := m.(Regressor)
		if !ok {
			return nil, fmt.Errorf("a %T does not answer with numbers", m)
		}
		return PredictNumbers(ctx, r, test)
	})
}

func crossPredict[T any](ctx context.Context, d *Dataset, folds []Split, learn Learner, predict func(Model, *Dataset) ([]T, error)) ([]T, error) {
	times := make([]int, d.Rows())
	for _, s := range folds {
		for _, i := range s.Test {
			if i >= 0 && i < len(times) {
				times[i]++
			}
		}
	}
	if i := slices.IndexFunc(times, func(n int) bool { return n != 1 }); i >= 0 {
		return nil, fmt.Errorf("ml: row %d is on %d test sides; predictions for all rows need folds in which each is tested on once, as KFold's", i, times[i])
	}
	out := make([]T, d.Rows())
	err := eachFold(ctx, d, folds, learn, func(i int, m Model, test *Dataset, _ time.Duration) error {
		answers, err := predict(m, test)
		if err != nil {
			return err
		}
		for k, row := range folds[i].Test {
			out[row] = answers[k]
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// MIMEBundle shows each score's mean, deviation and folds.
func (c *CrossScores) MIMEBundle() map[string]any {
	g := grid.Grid{Caption: fmt.Sprintf("%d folds", len(c.FitTime)), Header: []string{"score", "mean ± std"},
		Note: fmt.Sprintf("Of a fold: %s to fit, %s to score.", meanTime(c.FitTime), meanTime(c.ScoreTime))}
	for i := range c.FitTime {
		g.Header = append(g.Header, fmt.Sprintf("fold %d", i+1))
	}
	for _, s := range c.Scores {
		row := []string{s.Name, s.String()}
		for _, v := range s.Folds {
			row = append(row, four(v))
		}
		g.Rows = append(g.Rows, row)
	}
	return g.MIMEBundle()
}

// String is the table's text.
func (c *CrossScores) String() string { return c.MIMEBundle()["text/plain"].(string) }

// String is mean ± standard deviation.
func (s CrossScore) String() string { return four(s.Mean) + " ± " + four(s.Std) }

func four(v float64) string { return fmt.Sprintf("%.4f", v) }

// meanTime is rounded to what is worth telling.
func meanTime(all []time.Duration) time.Duration {
	sum := time.Duration(0)
	for _, d := range all {
		sum += d
	}
	mean := sum / time.Duration(max(len(all), 1))
	if mean == 0 {
		return 0
	}
	digits := math.Pow(10, math.Floor(math.Log10(float64(mean)))-1) // two digits
	return mean.Round(time.Duration(max(digits, 1)))
}
