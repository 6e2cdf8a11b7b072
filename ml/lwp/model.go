package lwp

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"cancha/ml"
	"cancha/ml/forest"
	"cancha/ml/tree"
	"cancha/runtime/grid"
)

// Target is what a forest learns.
type Target string

// The targets; see the package comment.
const (
	Outcome        Target = "outcome"
	RemainingGoals Target = "remaining-goals"
	Average        Target = "average"           // what Poisson regressions of remaining goals miss, averaged with them
	Regression     Target = "poisson"           // no forest: the Poisson regression of FitRatedPoisson
	Published      Target = "poisson-published" // no forest: the Poisson regression of FitPoisson
)

// regression tells whether it is a Poisson regression without a forest.
func (t Target) regression() bool { return t == Regression || t == Published }

// formula is what such a regression looks at.
func (t Target) formula() formula {
	if t == Published {
		return published()
	}
	return rated()
}

// Config says how a model is trained.
type Config struct {
	Name   string // in tables; empty: "forest, " and the target, "average of Poisson and forest", "Poisson + xG + ratings" or "Poisson + xG"
	Target Target // empty: RemainingGoals
	// Calibrate puts the probabilities of a forest of outcomes right on matches that it has not seen; it costs four more forests. The
	// others are calibrated as they are: for them it is an error.
	Calibrate bool
	// Forest is the forest's own configuration. What is left 0: 100 trees; leaves of at least a 200th of the rows; the square root of
	// the number of columns. Rows are always drawn by whole matches, whatever ByGroup says; on a Trainer, which knows no groups, row by
	// row. With Calibrate its Trainer grows all five forests, for a calibration must see forests like the one that it puts right. An
	// Average is fitted here: it is made of many small fits, and with a Trainer it is an error. So it is for a Regression or Published, which have no
	// forest and do not look at the rest.
	Forest forest.Config
}

// normalize fills what was left 0 for a table of so many rows.
func (c Config) normalize(rows int) (Config, error) {
	if c.Target == "" {
		c.Target = RemainingGoals
	}
	if !slices.Contains([]Target{Outcome, RemainingGoals, Average, Regression, Published}, c.Target) {
		return c, fmt.Errorf("lwp: target %q is not %q, %q, %q, %q or %q", c.Target, Outcome, RemainingGoals, Average, Regression, Published)
	}
	if c.Calibrate && c.Target != Outcome {
		return c, fmt.Errorf("lwp: Calibrate on target %q; only a forest of target %q is calibrated", c.Target, Outcome)
	}
	if c.Target == Average && c.Forest.Trainer != nil {
		return c, fmt.Errorf("lwp: target %q with a Trainer (%s): it is many small fits beside regressions; leave Trainer out, or choose %q or %q", Average, c.Forest.Trainer, Outcome, RemainingGoals)
	}
	if c.Target.regression() && c.Forest.Trainer != nil {
		return c, fmt.Errorf("lwp: target %q with a Trainer (%s): a regression has no forest to grow there; leave Trainer out", c.Target, c.Forest.Trainer)
	}
	if c.Name == "" {
		c.Name = c.usualName()
	}
	if c.Target != Average { // which fits forests of several sizes
		c.Forest.MinSamplesLeaf = leaves(c.Forest, rows)
	}
	if c.Forest.MaxFeatures == 0 {
		c.Forest.MaxFeatures = forest.Sqrt
	}
	c.Forest.ByGroup = !c.Forest.NoBootstrap && c.Forest.Trainer == nil
	return c, nil
}

func (c Config) usualName() string {
	switch {
	case c.Target == Average:
		return "average of Poisson and forest"
	case c.Target.regression():
		return c.Target.formula().name
	case c.Calibrate:
		return "forest, " + string(c.Target) + ", calibrated"
	}
	return "forest, " + string(c.Target)
}

// leaves is the least number of rows in a leaf: as told, or a 200th of all.
func leaves(c forest.Config, rows int) int {
	if c.MinSamplesLeaf == 0 {
		return max(rows/200, 1)
	}
	return c.MinSamplesLeaf
}

// Info tells where a model comes from. It is part of the model file.
type Info struct {
	Name      string    `json:"name"`
	Target    Target    `json:"target"`
	Kind      string    `json:"kind,omitempty"` // what learned in a forest's place, see FitClassifier; empty: a forest
	Classes   []string  `json:"classes"`        // order of the probabilities
	Source    string    `json:"source"`         // of the training matches: "open-data", "api" or "simulator"
	Matches   int       `json:"matches"`        // trained on
	Rows      int       `json:"rows"`
	From      string    `json:"from"` // dates of the first and the last of them
	To        string    `json:"to"`
	Trees     int       `json:"trees"`
	Seed      uint64    `json:"seed"`
	TrainedAt time.Time `json:"trained_at"`
	// ForestWeight is the forest's part in an average, from 0 to 1; nil of other models.
	ForestWeight *float64           `json:"forest_weight,omitempty"`
	Calibrated   bool               `json:"calibrated,omitempty"` // a forest of outcomes, see Config.Calibrate
	Place        string             `json:"place,omitempty"`      // the Trainer that grew the forest; empty: it was grown where Fit was called
	Metrics      map[string]float64 `json:"metrics,omitempty"`    // on later matches, set by Evaluate
}

// Model is what was trained, a forest, another classifier or an average, with the ratings of the teams it knows. It is safe
// for concurrent use once trained.
type Model struct {
	Info    Info
	of      stored
	ratings *Ratings // at the end of training
}

// Fit trains a model. It returns early with ctx's error when ctx is done.
func Fit(ctx context.Context, train *Matches, c Config) (*Model, error) {
	rows := len(train.Matches) * (LastMinute + 1)
	switch c.Target {
	case Outcome:
	case Average:
		rows = 2 * len(train.Matches) * (LastMinute/averageStep + 1)
	default:
		rows *= 2
	}
	c, err := c.normalize(rows)
	if err != nil {
		return nil, err
	}
	m := &Model{ratings: train.ratings}
	if m.of, err = learn(ctx, train, c); err != nil {
		return nil, fmt.Errorf("lwp: train on %s: %w", c.Target, err)
	}
	m.Info = newInfo(train, c.Name, c.Target, rows)
	m.Info.Trees, m.Info.Calibrated = m.trees(), c.Calibrate
	if !c.Target.regression() {
		m.Info.Seed = c.Forest.Seed
	}
	if t := c.Forest.Trainer; t != nil {
		m.Info.Place = t.String()
	}
	if a, ok := m.of.(*average); ok {
		m.Info.ForestWeight = &a.weight
	}
	return m, nil
}

// learn fits what a model answers by.
func learn(ctx context.Context, train *Matches, c Config) (stored, error) {
	switch {
	case c.Calibrate:
		return fitCalibrated(ctx, train, c.Forest)
	case c.Target == Outcome:
		f, err := forest.FitClassifier(ctx, OutcomeDataset(train), c.Forest)
		return outcomes{trees{f}, ""}, err
	case c.Target == Average:
		return fitAverage(ctx, train, c.Forest)
	case c.Target.regression():
		return fitRegression(train, c.Target.formula())
	}
	f, err := forest.FitRegressor(ctx, GoalsDataset(train), c.Forest)
	return remaining{f}, err
}

// newInfo tells of a model that was trained just now.
func newInfo(train *Matches, name string, t Target, rows int) Info {
	return Info{Name: name, Target: t, Classes: Classes(), Source: train.Source, Matches: len(train.Matches), Rows: rows,
		From: train.Matches[0].Date, To: train.Matches[len(train.Matches)-1].Date, TrainedAt: time.Now().UTC().Truncate(time.Second)}
}

// OutcomeDataset returns one row per match and minute with the outcome as label.
func OutcomeDataset(ms *Matches) *ml.Dataset {
	d := &ml.Dataset{Features: outcomeColumns(), Classes: Classes(), Labels: ms.Labels(), Groups: ms.Groups()}
	for i := range ms.Matches {
		m := &ms.Matches[i]
		for k := range m.States {
			home, _ := views(&m.States[k], m.Prior)
			d.Values = appendOutcomeRow(d.Values, home)
		}
	}
	return d
}

// GoalsDataset returns two rows per match and minute, the home team's and the away team's. The target is how many times
// the goals that the prior promised for the rest the side still scored; the weight is that promise, for a number of
// goals is the more uncertain a measure of a rate the fewer are expected.
func GoalsDataset(ms *Matches) *ml.Dataset {
	d := &ml.Dataset{Features: goalColumns()}
	each(ms, func(m *Match, v view, remaining float64) {
		d.Values = appendGoalRow(d.Values, v)
		addGoals(d, m, v, remaining)
	})
	return d
}

// addGoals appends what a row of GoalsDataset is to teach.
func addGoals(d *ml.Dataset, m *Match, v view, remaining float64) {
	d.Targets = append(d.Targets, remaining/v.exposure())
	d.Weights = append(d.Weights, v.exposure())
	d.Groups = append(d.Groups, m.ID)
}

// each calls f for every match, minute and side, with the goals that the side still scores within the 90 minutes.
func each(ms *Matches, f func(m *Match, v view, remaining float64)) {
	for i := range ms.Matches {
		m := &ms.Matches[i]
		for k := range m.States {
			s := &m.States[k]
			home, away := views(s, m.Prior)
			f(m, home, float64(m.Final.Home.Goals-s.Home.Goals))
			f(m, away, float64(m.Final.Away.Goals-s.Away.Goals))
		}
	}
}

// trees returns the number of trees.
func (m *Model) trees() int {
	if f := m.forest(); f != nil {
		return len(f.Trees())
	}
	return 0
}

// grown is what both kinds of forests tell.
type grown interface {
	Trees() []*tree.Tree
	Importance() []float64
}

// forest returns a model's forest, nil of what is none.
func (m *Model) forest() grown {
	var c Classifier
	switch e := m.of.(type) {
	case remaining:
		return e.Regressor
	case *average:
		return e.forest
	case *calibrated:
		c = e.Classifier
	case outcomes:
		c = e.Classifier
	}
	if f, ok := c.(trees); ok {
		return f.Classifier
	}
	return nil
}

// Name returns the model's name in tables.
func (m *Model) Name() string { return m.Info.Name }

// Predict returns the probabilities at every minute of the matches.
func (m *Model) Predict(ms *Matches) *Predictions { return predict(m.Name(), m.of, ms) }

// Share is a feature's share of what a forest learned.
type Share struct {
	Feature string
	Share   float64
}

// Importance returns the features by their impurity importance, the greatest first. The shares sum to 1. Of an average they are its forest's, which learns
// what the regressions miss. It is nil of what is no forest.
func (m *Model) Importance() []Share {
	f := m.forest()
	if f == nil {
		return nil
	}
	names, shares := goalColumns(), f.Importance()
	if m.Info.Target == Outcome {
		names = outcomeColumns()
	}
	out := make([]Share, len(names))
	for i := range out {
		out[i] = Share{names[i], shares[i]}
	}
	slices.SortStableFunc(out, func(a, b Share) int {
		switch {
		case a.Share > b.Share:
			return -1
		case a.Share < b.Share:
			return 1
		}
		return 0
	})
	return out
}

// MIMEBundle shows where the model comes from.
func (m *Model) MIMEBundle() map[string]any {
	i := m.Info
	learned := []string{"trees, seed", fmt.Sprintf("%d, %d", i.Trees, i.Seed)}
	if i.Kind != "" {
		learned = []string{"learned by a", i.Kind}
	}
	if i.Target.regression() {
		learned = []string{"learned by a", "Poisson regression"}
	}
	if i.ForestWeight != nil {
		learned[1] += fmt.Sprintf("; the forest's weight is %g", *i.ForestWeight)
	}
	g := grid.Grid{Caption: "Win-probability model: " + m.Name(), Header: []string{"", ""}, Rows: [][]string{
		{"trained on", fmt.Sprintf("%s matches, %s – %s (%s)", count(i.Matches), i.From, i.To, sourceName(i.Source))},
		{"rows", count(i.Rows)},
		learned,
		{"classes", strings.Join(i.Classes, ", ")},
		{"teams rated", fmt.Sprint(len(m.ratings.teams))},
		{"trained at", i.TrainedAt.UTC().Format("2006-01-02 15:04 UTC")},
	}}
	if i.Place != "" {
		g.Rows = append(g.Rows, []string{"forest grown on", i.Place})
	}
	if rps, ok := i.Metrics["rps"]; ok {
		g.Rows = append(g.Rows, []string{"RPS, log loss on later matches", four(rps) + ", " + four(i.Metrics["log_loss"])})
	}
	return g.MIMEBundle()
}

// count writes n with a comma every three digits.
func count(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// DayAfter returns the first day, YYYY-MM-DD, after the last training match: matches from then on are new to the model.
func (i Info) DayAfter() string {
	last, err := time.Parse(time.DateOnly, i.To)
	if err != nil {
		return "" // no date, no matches that are known to be later
	}
	return last.AddDate(0, 0, 1).Format(time.DateOnly)
}
