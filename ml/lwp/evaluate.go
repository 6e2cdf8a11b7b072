package lwp

import (
	"fmt"
	"slices"

	"cancha/ml/metric"
	"cancha/runtime/grid"
)

// lastTenth is the minute from which a row belongs to the last tenth of the match, where calibration is hardest.
const lastTenth = 81

// resamples is how many bootstrap samples of matches an interval rests on.
const resamples = 2000

// Scores are a model's figures on matches it has not seen; all are means over the minutes 0..LastMinute of all matches.
type Scores struct {
	Name                string
	RPS, LogLoss, Brier float64
	ECE, ECELastTenth   float64 // class-wise, ten bins; of minutes 81 to 90
	Accuracy, MacroF1   float64
	Difference          metric.Interval // RPS less that of the report's Best, 95 %, matches drawn; positive: Best is better
	LogLossDifference   metric.Interval // the same of the log loss
	Predictions         *Predictions
	rps, logLoss        []float64 // of each row
}

// Report compares models on the same later matches.
type Report struct {
	Models  []Scores // baselines first, then the models
	Best    string   // what differences refer to: the model with the least RPS, or the one that Refer has named
	later   *Matches
	trained int
	chosen  bool   // Refer has named Best
	called  string // what the models are: forests, or of several kinds
}

// Evaluate fits the baselines on the training matches, lets them and the models predict the later ones, and compares.
// It also writes each model's figures into its Info.Metrics. A baseline that is among the models by its name stands there alone. At least
// one model is needed.
func Evaluate(train, later *Matches, models ...*Model) (*Report, error) {
	if len(models) == 0 || len(later.Matches) == 0 {
		return nil, fmt.Errorf("lwp: %d models and %d later matches; an evaluation needs one of each", len(models), len(later.Matches))
	}
	baselines, err := fitBaselines(train)
	if err != nil {
		return nil, err
	}
	r := &Report{later: later, trained: len(train.Matches), called: "forest"}
	for _, b := range baselines {
		if !slices.ContainsFunc(models, func(m *Model) bool { return m.Name() == b.Name() }) {
			r.Models = append(r.Models, score(b.Predict(later)))
		}
	}
	best := len(r.Models)
	for _, m := range models {
		if m.Info.Kind != "" || m.Info.Target == Average || m.Info.Target.regression() {
			r.called = "model"
		}
		s := score(m.Predict(later))
		m.Info.Metrics = s.metrics(later)
		r.Models = append(r.Models, s)
		if s.RPS < r.Models[best].RPS {
			best = len(r.Models) - 1
		}
	}
	r.refer(&r.Models[best])
	return r, nil
}

// refer has the differences refer to one of the models.
func (r *Report) refer(best *Scores) {
	r.Best = best.Name
	for i := range r.Models {
		s := &r.Models[i]
		s.Difference = metric.Paired(s.rps, best.rps, r.later.Groups(), resamples, 1)
		s.LogLossDifference = metric.Paired(s.logLoss, best.logLoss, r.later.Groups(), resamples, 1)
	}
}

// Refer has the report refer to the model of this name, which was chosen without the later matches (see [Choose]), and no longer to the one
// that is best on them: that one owes a part of it to chance.
func (r *Report) Refer(name string) error {
	s, err := r.Find(name)
	if err != nil {
		return err
	}
	r.refer(s)
	r.chosen = true
	return nil
}

// fitBaselines fits what a forest has to beat.
func fitBaselines(train *Matches) ([]Predictor, error) {
	logistic, err := FitLogistic(train)
	if err != nil {
		return nil, err
	}
	poisson, err := FitPoisson(train)
	if err != nil {
		return nil, err
	}
	rated, err := FitRatedPoisson(train)
	if err != nil {
		return nil, err
	}
	return []Predictor{FitFrequencies(train), logistic, poisson, rated}, nil
}

// score works out all figures of one model.
func score(p *Predictions) Scores {
	labels := p.Matches.Labels()
	lateP, lateLabels := lateRows(p, labels)
	s := Scores{Name: p.Name, Predictions: p, rps: metric.RPSs(p.P, labels), logLoss: metric.LogLosses(p.P, labels), Brier: metric.Brier(p.P, labels),
		ECE: metric.ECE(p.P, labels, metric.CalibrationBins), ECELastTenth: metric.ECE(lateP, lateLabels, metric.CalibrationBins),
		Accuracy: metric.Accuracy(p.P, labels), MacroF1: metric.MacroF1(len(Classes()), p.P, labels)}
	s.RPS, s.LogLoss = metric.Mean(s.rps), metric.Mean(s.logLoss)
	return s
}

// lateRows returns the rows of the last tenth.
func lateRows(p *Predictions, labels []int) ([][]float64, []int) {
	var late [][]float64
	var out []int
	for i, row := range p.P {
		if i%(LastMinute+1) >= lastTenth {
			late, out = append(late, row), append(out, labels[i])
		}
	}
	return late, out
}

// metrics are the figures that go into a model file.
func (s Scores) metrics(later *Matches) map[string]float64 {
	return map[string]float64{"matches": float64(len(later.Matches)), "rps": s.RPS, "log_loss": s.LogLoss, "brier": s.Brier,
		"ece": s.ECE, "ece_last_tenth": s.ECELastTenth, "accuracy": s.Accuracy, "macro_f1": s.MacroF1}
}

// Find returns the figures of the model with this name.
func (r *Report) Find(name string) (*Scores, error) {
	for i := range r.Models {
		if r.Models[i].Name == name {
			return &r.Models[i], nil
		}
	}
	return nil, fmt.Errorf("lwp: the report has no model %q", name)
}

// best returns the figures of the best model.
func (r *Report) best() *Scores {
	s, err := r.Find(r.Best)
	if err != nil {
		panic(err) // Evaluate names one of its own rows
	}
	return s
}

// BestPredictions returns the predictions of the best model.
func (r *Report) BestPredictions() *Predictions { return r.best().Predictions }

// Confusion counts the best model's rows by outcome and most probable class.
func (r *Report) Confusion() *metric.Confusion {
	return metric.NewConfusion(Classes(), r.best().Predictions.P, r.later.Labels())
}

// Calibration returns the reliability curve of the best model for a class: 0 home, 1 draw, 2 away.
func (r *Report) Calibration(class int) []metric.Bin {
	return metric.Reliability(r.best().Predictions.P, r.later.Labels(), class, metric.CalibrationBins)
}

// Compare returns the difference of RPS between two models by name, a less b, paired by match. Negative: a is better.
func (r *Report) Compare(a, b string) (metric.Interval, error) {
	return r.compare(a, b, func(s *Scores) []float64 { return s.rps })
}

// CompareLogLoss is Compare with the log loss.
func (r *Report) CompareLogLoss(a, b string) (metric.Interval, error) {
	return r.compare(a, b, func(s *Scores) []float64 { return s.logLoss })
}

func (r *Report) compare(a, b string, loss func(*Scores) []float64) (metric.Interval, error) {
	x, err := r.Find(a)
	if err != nil {
		return metric.Interval{}, err
	}
	y, err := r.Find(b)
	if err != nil {
		return metric.Interval{}, err
	}
	return metric.Paired(loss(x), loss(y), r.later.Groups(), resamples, 1), nil
}

// MIMEBundle shows the comparison as two tables, for one of all columns is wider than a notebook's page: each model's figures, and its differences from
// the best model.
func (r *Report) MIMEBundle() map[string]any {
	figures, differences := r.figures(), r.differences()
	return map[string]any{"text/plain": figures.Text() + "\n\n" + differences.Text(), "text/html": figures.HTML() + differences.HTML()}
}

func (r *Report) figures() grid.Grid {
	g := grid.Grid{
		Caption: fmt.Sprintf("%d later matches, one row a minute (%s; trained on %d earlier matches)", len(r.later.Matches), sourceName(r.later.Source), r.trained),
		Header:  []string{"model", "RPS", "log loss", "Brier", "ECE", "ECE 81–90", "accuracy", "macro F1"},
		Note:    "RPS, log loss, Brier, ECE: less is better. Best " + r.called + " by RPS, baselines apart: " + r.Best + ".",
	}
	if r.chosen {
		g.Note = "RPS, log loss, Brier, ECE: less is better. Chosen inside the training matches: " + r.Best + "."
	}
	for _, s := range r.Models {
		g.Rows = append(g.Rows, []string{s.Name, four(s.RPS), four(s.LogLoss), four(s.Brier), three(s.ECE), three(s.ECELastTenth), three(s.Accuracy), three(s.MacroF1)})
	}
	return g
}

func (r *Report) differences() grid.Grid {
	which := "best " + r.called
	if r.chosen {
		which = "chosen model"
	}
	g := grid.Grid{
		Caption: "How much worse than the " + which + ", with 95 % intervals",
		Header:  []string{"model", "RPS", "log loss"},
		Note:    "Above 0 the " + which + " is better. The intervals draw whole matches.",
	}
	for _, s := range r.Models {
		if s.Name != r.Best {
			g.Rows = append(g.Rows, []string{s.Name, s.Difference.String(), s.LogLossDifference.String()})
		}
	}
	return g
}

func four(v float64) string  { return fmt.Sprintf("%.4f", v) }
func three(v float64) string { return fmt.Sprintf("%.3f", v) }
