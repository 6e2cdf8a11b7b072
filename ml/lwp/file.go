package lwp

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"slices"

	"cancha/ml/forest"
	"cancha/ml/modelfile"
)

// A model file is a modelfile of this kind. Its header carries Info under "info" and the averages of the ratings under
// "averages"; the forest stands under "forest", and what learned in its place (in files of version 2) under "classifier";
// the ratings are four arrays, an entry per team: "ratings.team" and "ratings.played" (int32), "ratings.elo",
// "ratings.attack" and "ratings.defence" (float64). Version 1 is a forest with leaves of float32, version 3 one with leaves
// of float64. Version 4 is an average, or a forest whose probabilities are
// calibrated, by the regression under meta "calibration". An average's regressions stand as meta "poisson" and the array "poisson.coefficient" (float64, one regression
// after another). What the ratings know of strengths stands in "ratings.strengths" (float64, a team's one after another), "ratings.seen" (int32,
// the day of its last match) and meta "levels"; files of
// older programs have none. Version 5 is a regression alone: meta "regression" and the array "poisson.coefficient". Version 6 is the same
// of the regression as it is published.
const (
	fileKind       = "lwp"
	forestVersion  = 3 // of forests
	otherVersion   = 2 // of what learned in a forest's place
	averageVersion = 4
	// of a regression without a forest
	regressionVersion = 5
	// of the published one, which looks at other columns
	publishedVersion = 6
	fileVersion      = publishedVersion // the newest
)

// averages are the parts of Ratings that belong to no team.
type averages struct {
	Base      float64 `json:"base"`
	Advantage float64 `json:"advantage"`
}

// Save writes the model to path, whole or not at all; missing folders are made.
func (m *Model) Save(path string) error {
	f := &modelfile.File{Kind: fileKind, Version: forestVersion}
	if m.Info.Kind != "" {
		f.Version = otherVersion
	}
	if m.Info.Target == Average || m.Info.Calibrated {
		f.Version = averageVersion
	}
	switch m.Info.Target {
	case Regression:
		f.Version = regressionVersion
	case Published:
		f.Version = publishedVersion
	}
	if err := m.store(f); err != nil {
		return fmt.Errorf("lwp: save model: %w", err)
	}
	if err := f.Save(path); err != nil {
		return fmt.Errorf("lwp: %w", err)
	}
	return nil
}

func (m *Model) store(f *modelfile.File) error {
	if err := f.SetMeta("info", m.Info); err != nil {
		return err
	}
	if err := f.SetMeta("averages", averages{m.ratings.Base, m.ratings.Advantage}); err != nil {
		return err
	}
	if err := m.ratings.store(f); err != nil {
		return err
	}
	return m.of.store(f)
}

// prefix is where a classifier of that kind stands.
func prefix(kind string) string {
	if kind == "" {
		return "forest"
	}
	return "classifier"
}

func (r *Ratings) store(f *modelfile.File) error {
	var team, played []int32
	var elo, attack, defence []float64
	for _, t := range r.Teams() {
		team, played = append(team, int32(t.Team)), append(played, int32(t.Played))
		elo, attack, defence = append(elo, t.Elo), append(attack, t.Attack), append(defence, t.Defence)
	}
	f.SetInt32("ratings.team", team)
	f.SetInt32("ratings.played", played)
	f.SetFloat64("ratings.elo", elo)
	f.SetFloat64("ratings.attack", attack)
	f.SetFloat64("ratings.defence", defence)
	return r.storeStrengths(f)
}

// Open reads a model that Save wrote: of a forest, of an average or of a regression. The errors of package modelfile tell a file that is cut short, damaged, of another
// kind or newer than this program; each names the file and says what to do.
func Open(path string) (*Model, error) {
	return open(path, "", func(file *modelfile.File, prefix string) (Classifier, error) {
		f, err := forest.LoadClassifier(file, prefix)
		return trees{f}, err
	})
}

// open reads a model whose classifier is of that kind.
func open(path, kind string, load func(file *modelfile.File, prefix string) (Classifier, error)) (*Model, error) {
	f, err := modelfile.Open(path, fileKind, fileVersion)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("lwp: %w: Model.Save writes one, as notebook 02_train_lwp does", err)
	}
	if err != nil {
		return nil, fmt.Errorf("lwp: %w", err)
	}
	m := &Model{}
	if err := m.load(f, kind, load); err != nil {
		return nil, fmt.Errorf("lwp: open model %s: %w", path, err)
	}
	return m, nil
}

func (m *Model) load(f *modelfile.File, kind string, load func(file *modelfile.File, prefix string) (Classifier, error)) error {
	if err := f.Meta("info", &m.Info); err != nil {
		return err
	}
	if m.Info.Kind != kind {
		return fmt.Errorf("a %s learned it, and it is read as that of a %s: %w", cmp.Or(m.Info.Kind, "forest"), cmp.Or(kind, "forest"), modelfile.ErrKind)
	}
	if !slices.Equal(m.Info.Classes, Classes()) {
		return fmt.Errorf("its classes are %q, this program knows %q; train and save again: %w", m.Info.Classes, Classes(), modelfile.ErrDamaged)
	}
	var err error
	if m.ratings, err = loadRatings(f); err != nil {
		return err
	}
	m.of, err = loadEstimator(f, m.Info, load)
	return err
}

// loadEstimator reads what a model answers by.
func loadEstimator(f *modelfile.File, i Info, load func(file *modelfile.File, prefix string) (Classifier, error)) (stored, error) {
	switch i.Target {
	case Outcome:
		c, err := load(f, prefix(i.Kind))
		if err != nil {
			return nil, err
		}
		if err := fitting(c); err != nil || !i.Calibrated {
			return outcomes{c, i.Kind}, err
		}
		return loadCalibrated(f, outcomes{c, i.Kind})
	case RemainingGoals:
		r, err := loadGoals(f)
		return remaining{r}, err
	case Average:
		return loadAverage(f, i)
	case Regression, Published:
		return loadRegression(f, i.Target.formula())
	}
	return nil, fmt.Errorf("target %q: %w", i.Target, modelfile.ErrDamaged)
}

// loadGoals reads a forest of remaining goals.
func loadGoals(f *modelfile.File) (*forest.Regressor, error) {
	r, err := forest.LoadRegressor(f, "forest")
	if err != nil {
		return nil, err
	}
	return r, sameColumns(r.Features, goalColumns())
}

// sameColumns refuses what was fitted to other columns than this program makes.
func sameColumns(got, want []string) error {
	if !slices.Equal(got, want) {
		return fmt.Errorf("its features are %q, this program makes %q; train and save again: %w", got, want, modelfile.ErrKind)
	}
	return nil
}

func loadRatings(f *modelfile.File) (*Ratings, error) {
	var a averages
	if err := f.Meta("averages", &a); err != nil {
		return nil, err
	}
	team, err := f.Int32("ratings.team")
	if err != nil {
		return nil, err
	}
	played, err := f.Int32("ratings.played")
	if err != nil {
		return nil, err
	}
	var columns [3][]float64
	for i, name := range []string{"ratings.elo", "ratings.attack", "ratings.defence"} {
		if columns[i], err = f.Float64(name); err != nil {
			return nil, err
		}
		if len(columns[i]) != len(team) || len(played) != len(team) {
			return nil, fmt.Errorf("the ratings do not fit together: %w", modelfile.ErrDamaged)
		}
	}
	r := &Ratings{teams: map[int]*Rating{}, Base: a.Base, Advantage: a.Advantage}
	if !within(mostRate, a.Base, a.Advantage) {
		return nil, fmt.Errorf("averages of the ratings of %v and %v: %w", a.Base, a.Advantage, modelfile.ErrDamaged)
	}
	for i, id := range team {
		t := &Rating{Team: int(id), Played: int(played[i]), Elo: columns[0][i], Attack: columns[1][i], Defence: columns[2][i]}
		if r.teams[t.Team] != nil || t.Played < 0 || !within(mostElo, t.Elo) || !within(mostRate, t.Attack, t.Defence) {
			return nil, fmt.Errorf("the rating %+v, or another of the team: %w", *t, modelfile.ErrDamaged)
		}
		r.teams[t.Team] = t
	}
	return r, r.loadStrengths(f, team)
}

// Limits of what a file may say of a team, far beyond any that matches lead to: with ratings of infinity, or NaN, every
// probability would be NaN.
const (
	mostElo  = 1e6
	mostRate = 100
)

// within reports whether all values lie between -most and most.
func within(most float64, values ...float64) bool {
	for _, v := range values {
		if !(math.Abs(v) <= most) {
			return false
		}
	}
	return true
}
