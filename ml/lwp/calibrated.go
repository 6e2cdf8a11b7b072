package lwp

import (
	"context"
	"fmt"
	"math"

	"cancha/ml"
	"cancha/ml/forest"
	"cancha/ml/linear"
	"cancha/ml/modelfile"
)

// calibrated answers by a forest of outcomes whose probabilities a logistic regression has put right: of the logarithms of their
// ratios, and of these times the share of the match that is over (Dirichlet calibration, Kull et al. 2019, for three classes). A
// forest's leaves hold many rows and so many minutes: towards the end of a match it is never sure enough.
type calibrated struct {
	outcomes
	by *linear.Logistic
}

// calibrationFolds is into how many parts the matches are cut: each is answered by a forest that has not seen it.
const calibrationFolds = 4

// calibrationColumns name what the regression looks at.
func calibrationColumns() []string {
	return []string{"log_home_draw", "log_away_draw", "log_home_draw_elapsed", "log_away_draw_elapsed"}
}

// leastVote is the least probability of a forest whose logarithm is taken.
const leastVote = 1e-3

// appendCalibrationRow appends one row of calibrationColumns.
func appendCalibrationRow(dst []float32, p []float64, left float32) []float32 {
	logs := [3]float64{}
	for k, v := range p {
		logs[k] = math.Log(max(v, leastVote))
	}
	home, away, elapsed := logs[0]-logs[1], logs[2]-logs[1], 1-float64(left)/fullTime
	return append(dst, float32(home), float32(away), float32(home*elapsed), float32(away*elapsed))
}

// fitCalibrated fits a forest and, on what forests say of matches they have not seen, the regression.
func fitCalibrated(ctx context.Context, train *Matches, c forest.Config) (*calibrated, error) {
	next := func() { c.Progress = nil } // the further forests take a moment here
	if c.Trainer != nil && c.Progress != nil {
		all := &tasks{to: c.Progress}
		c.Progress, next = all.set, all.next
	}
	f, err := forest.FitClassifier(ctx, OutcomeDataset(train), c)
	if err != nil {
		return nil, err
	}
	d := &ml.Dataset{Features: calibrationColumns(), Classes: Classes()}
	for fold := range calibrationFolds {
		next()
		if err := addFold(ctx, d, train, fold, c); err != nil {
			return nil, fmt.Errorf("calibrate, fold %d of %d: %w", fold+1, calibrationFolds, err)
		}
	}
	by, err := linear.FitLogistic(d, linear.Config{})
	if err != nil {
		return nil, fmt.Errorf("calibrate: %w", err)
	}
	return &calibrated{outcomes{trees{f}, ""}, by}, nil
}

// tasks adds up the tasks of one fit after the other.
type tasks struct {
	to           func(done, total int)
	before, done int // in fits that are over, and in this one
}

func (t *tasks) set(done, total int) {
	t.done = done
	t.to(t.before+done, t.before+total)
}

func (t *tasks) next() { t.before, t.done = t.before+t.done, 0 }

// addFold adds the rows of every fourth match, as a forest of the others answers.
func addFold(ctx context.Context, d *ml.Dataset, train *Matches, fold int, c forest.Config) error {
	seen, rest := *train, *train
	seen.Matches, rest.Matches = nil, nil
	for i, m := range train.Matches {
		if i%calibrationFolds == fold {
			rest.Matches = append(rest.Matches, m)
		} else {
			seen.Matches = append(seen.Matches, m)
		}
	}
	f, err := forest.FitClassifier(ctx, OutcomeDataset(&seen), c)
	if err != nil {
		return err
	}
	p := predict("", outcomes{trees{f}, ""}, &rest).P
	for i, label := range rest.Labels() {
		d.Values = appendCalibrationRow(d.Values, p[i], float32(minutesLeft(i%(LastMinute+1))))
		d.Labels = append(d.Labels, label)
	}
	return nil
}

func (c *calibrated) answer(b *batch, dst [][]float64) {
	if c.outcomes.answer(b, dst); b.failed != nil {
		return
	}
	columns := len(b.values) / len(b.rests)
	for i, p := range dst {
		b.row = appendCalibrationRow(b.row[:0], p, b.values[i*columns])
		c.by.ProbaTo(p, b.row)
	}
}

// calibrationMeta is the regression in a file's header.
type calibrationMeta struct {
	Features    []string    `json:"features"`
	Intercept   []float64   `json:"intercept"`
	Coefficient [][]float64 `json:"coefficient"`
}

func (c *calibrated) store(f *modelfile.File) error {
	if err := f.SetMeta("calibration", calibrationMeta{c.by.Features, c.by.Intercept, c.by.Coefficient}); err != nil {
		return err
	}
	return c.outcomes.store(f)
}

// loadCalibrated puts the regression that store wrote around a forest.
func loadCalibrated(f *modelfile.File, o outcomes) (*calibrated, error) {
	var m calibrationMeta
	if err := f.Meta("calibration", &m); err != nil {
		return nil, err
	}
	if err := sameColumns(m.Features, calibrationColumns()); err != nil {
		return nil, err
	}
	free, sound := len(Classes())-1, within(mostCoefficient, m.Intercept...)
	for _, c := range m.Coefficient {
		sound = sound && len(c) == len(m.Features) && within(mostCoefficient, c...)
	}
	if !sound || len(m.Intercept) != free || len(m.Coefficient) != free {
		return nil, fmt.Errorf("the calibration %+v: %w", m, modelfile.ErrDamaged)
	}
	return &calibrated{o, &linear.Logistic{Features: m.Features, Classes: Classes(), Intercept: m.Intercept, Coefficient: m.Coefficient}}, nil
}
